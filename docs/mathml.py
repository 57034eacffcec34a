"""Formulas of the pages as MathML, which browsers draw by themselves: no script, nobody is asked.

An extension of Sphinx. Docutils knows most of LaTeX; what it does not know is an error of the build.
"""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

LOG = logging.getLogger(__name__)


def _write(translator: HTML5Translator, node: nodes.Element, *, block: bool) -> None:
    try:
        translator.body.append(tex2mathml(node.astext(), as_block=block))
    except MathError as error:
        LOG.warning("%s in the formula %r", error, node.astext(), location=node)
    raise nodes.SkipNode


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula of a sentence."""
    _write(translator, node, block=False)


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula of its own line, which scrolls by itself where a screen is narrow."""
    translator.body.append('<div class="math" style="overflow-x: auto">')
    try:
        _write(translator, node, block=True)
    finally:
        translator.body.append("</div>\n")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Make it the way in which formulas are written."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
