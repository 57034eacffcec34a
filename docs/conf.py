"""How Sphinx builds the site for users from this folder, by ``make docs``; a warning is an error.

``research/docs`` is a site of its own below ``research/``, with the same settings. Links from one
site to the other, and to README, CONTRIBUTING and CHANGELOG, lead to their pages. Files without a
page, like scripts and tests, are copied into the site.
"""

import os
import re
import sys
from pathlib import Path

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

ROOT = Path(__file__).parents[1]
SITES = {ROOT / "docs": "", ROOT / "research" / "docs": "research/"}
"""Folders of pages, and where their sites are."""
LARGEST = {"research/": 60_000}
"""Bytes of a page, by the place of its site."""
sys.path.insert(0, str(ROOT / "docs"))

project = "quietcrowd"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml", "small_html"]
exclude_patterns = ["figures"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # docstrings say types in words
# words of docstrings that name several attributes; cells whose language only running them tells
suppress_warnings = ["ref.python", "myst-nb.lexer"]

html_theme = "furo"
html_title = "quietcrowd"
html_math_renderer = "mathml"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
html_use_index = False
html_domain_indices = False
html_static_path: list[str] = ["static"]
html_css_files = ["pages.css"]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_output_stderr = "remove"  # what takes long says so there

autodoc_typehints = "none"
autodoc_member_order = "groupwise"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_custom_sections = [("Guarantee", "notes_style")]
default_role = "code"

PAGES = {
    ROOT / "README": ROOT / "docs" / "index",
    ROOT / "CONTRIBUTING": ROOT / "docs" / "contributing",
    ROOT / "CHANGELOG": ROOT / "docs" / "releasing",
}


def lead_to_pages(app: Sphinx, document: nodes.document) -> None:
    """Let links to pages of the other site lead there."""
    here = Path(app.srcdir)
    for link in list(document.findall(addnodes.pending_xref)):
        target = ROOT / link["reftarget"].removesuffix(".md")
        target = PAGES.get(target, target)
        for folder, site in SITES.items():
            if not target.is_relative_to(folder):
                continue
            page = target.relative_to(folder).as_posix()
            if folder == here:
                link["reftarget"] = page
            else:
                start = (Path("/") / SITES[here] / app.env.docname).parent
                uri = os.path.relpath(f"/{site}{page}.html", start)
                anchor = f"#{link['reftargetid']}" if link.get("reftargetid") else ""
                link.replace_self(nodes.reference("", "", *link.children, refuri=uri + anchor))


def know_anchors(app: Sphinx, document: nodes.document) -> None:
    """Let links lead to the anchors within tables, which are HTML; others are errors."""
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for written in document.findall(nodes.raw):
        for name in re.findall(r'<a id="([^"]+)">', written.astext()):
            slugs.setdefault(name, (0, name, name))


def weigh_pages(app: Sphinx, error: Exception | None) -> None:
    """Fail if a page of the research site is too large; pictures and formulas do not count."""
    if error is not None or SITES[Path(app.srcdir)] not in LARGEST:
        return
    limit = LARGEST[SITES[Path(app.srcdir)]]
    for page in sorted(Path(app.outdir).rglob("*.html")):
        text = re.sub(r"<math.*?</math>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        if len(text.encode()) > limit:
            raise ExtensionError(
                f"{page} has {len(text.encode())} bytes; at most {limit}: split it"
            )


def setup(app: Sphinx) -> None:
    """Add what these pages need: their links, and blocks without colours."""
    app.connect("doctree-read", lead_to_pages)
    app.connect("doctree-read", know_anchors)
    app.connect("build-finished", weigh_pages)
    for name in ("csv", "output", "plain"):
        app.add_lexer(name, TextLexer)
