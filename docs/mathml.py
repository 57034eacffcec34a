"""Formulas of the pages as MathML, which browsers draw by themselves: no script, nobody is asked.

An extension of Sphinx. Docutils knows most of LaTeX; what it does not know is an error of the
build.
"""

import html
import re
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

LOG = logging.getLogger(__name__)
NAMESPACE = "http://www.w3.org/1998/Math/MathML"
NAMED = re.compile(r"&(?!amp;|lt;|gt;)[A-Za-z]+;")
"""Characters by names that HTML has and XML has not."""

ElementTree.register_namespace("", NAMESPACE)


def _tag(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"


def formula(latex: str, *, block: bool) -> str:
    """Return a formula as MathML.

    Docutils writes the subscript of a letter with an accent below the letter, as that of a sum: it
    goes beside it here.

    Raises
    ------
    docutils.utils.math.MathError
        Where a command is not known.
    """
    written = tex2mathml(latex, as_block=block)
    root = ElementTree.fromstring(NAMED.sub(lambda name: html.unescape(name[0]), written))
    for stacked in root.iter(_tag("munderover")):
        letter, index, accent = stacked
        if accent.get("stretchy") == "false":
            stacked.tag = _tag("msub")
            stacked[:] = [ElementTree.Element(_tag("mover"), {"accent": "true"}), index]
            stacked[0].extend([letter, accent])
    return ElementTree.tostring(root, encoding="unicode")


def _write(translator: HTML5Translator, node: nodes.Element, *, block: bool) -> None:
    try:
        translator.body.append(formula(node.astext(), block=block))
    except MathError as error:
        LOG.warning("%s in the formula %r", error, node.astext(), location=node)


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula of a sentence."""
    _write(translator, node, block=False)
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula of its own line, which scrolls by itself where a screen is narrow."""
    translator.body.append('<div class="math" style="overflow-x: auto">')
    _write(translator, node, block=True)
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make it the way in which formulas are written."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
