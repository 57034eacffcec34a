"""How Sphinx makes a site of the pages of this folder, by ``make docs``; a warning is an error.

Pages also lead to what stands beside this folder. The README is the start page here; files without
a page, as scripts and tests, come with the site. Sphinx reads one folder only, so that the pages of
`research/docs` are linked into it.
"""

import re
import sys
from pathlib import Path

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
RESEARCH = ROOT / "research" / "docs"
LINKED = Path(__file__).parent / "research"
if not LINKED.is_symlink():
    LINKED.symlink_to(RESEARCH, target_is_directory=True)
sys.path.insert(0, str(Path(__file__).parent))

project = "quietcrowd"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml"]
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
napoleon_custom_sections = [("Guarantee", "notes_style")]
default_role = "code"

PAGES = {
    ROOT / "README": "index",
    ROOT / "CONTRIBUTING": "contributing",
    ROOT / "CHANGELOG": "changes",
}


def lead_to_pages(_: Sphinx, document: nodes.document) -> None:
    """Let links to the files beside this folder lead to their pages."""
    for link in document.findall(addnodes.pending_xref):
        target = Path(link["reftarget"])
        if target in PAGES:
            link["reftarget"] = PAGES[target]
        elif target.is_relative_to(RESEARCH):
            link["reftarget"] = f"research/{target.relative_to(RESEARCH).as_posix()}"


def know_anchors(app: Sphinx, document: nodes.document) -> None:
    """Let links lead to the anchors within tables, which are HTML; others are errors."""
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for written in document.findall(nodes.raw):
        for name in re.findall(r'<a id="([^"]+)">', written.astext()):
            slugs.setdefault(name, (0, name, name))


def setup(app: Sphinx) -> None:
    """Add what these pages need: their links, and blocks without colours."""
    app.connect("doctree-read", lead_to_pages)
    app.connect("doctree-read", know_anchors)
    for name in ("csv", "output", "plain"):
        app.add_lexer(name, TextLexer)
