"""HTML without markup that changes nothing that readers see. An extension of Sphinx.

A page of the reference is a third smaller.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

_PARAMETER = re.compile(r'<em class="sig-param">(.*?)</em>', re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_REPLACED = [
    (re.compile(r'<span class="pre">([^<]*)</span>'), r"\1"),
    (re.compile(r'<span class="(?:sig-paren|colon|n|p|w)">([^<]*)</span>'), r"\1"),
    (
        re.compile(r'(<a class="(?:reference internal|headerlink)" href="[^"]*") title="[^"]*"'),
        r"\1",
    ),
    (re.compile(r' class="(?:code )?docutils literal notranslate"'), ' class="literal"'),
    (re.compile(r' class="field-(?:odd|even)"'), ""),
    (re.compile("</em><em>"), ""),
]


def smaller(page: str) -> str:
    """Return a page without markup that nothing uses."""
    page = _PARAMETER.sub(lambda found: f"<em>{_TAG.sub('', found[1])}</em>", page)
    for pattern, new in _REPLACED:
        page = pattern.sub(new, page)
    return page


def _write_smaller(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.name == "html":
        for path in Path(app.outdir).rglob("*.html"):
            page = path.read_text("utf-8")
            if (new := smaller(page)) != page:
                path.write_text(new, "utf-8")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Rewrite all pages at the end."""
    app.connect("build-finished", _write_smaller)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
