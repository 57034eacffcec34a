"""The site for users is short and whole: limits of words, numbers and bytes; links; pictures.

`make check` runs this file.
"""

import ast
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
BUILT = ROOT / "build" / "docs"
RESEARCH = ROOT / "research" / "docs"

MOST_PAGES = 50
MOST_WORDS = 30_000
MOST_WORDS_OF_A_PAGE = 1_500
WORDS_OF_A_NUMBER = 50  # two numbers per 100 words
FEW = 3  # numbers that any page may have
MOST_BYTES = 60_000

FENCE = re.compile(r"^(`{3,})(\{?[\w-]*\}?)[^\n]*\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
INCLUDED = re.compile(r"^```\{include\} (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NO_PROSE = re.compile(
    r"<!--.*?-->|<[^>\n]+>|\$\$.*?\$\$|\$[^$\n]+\$|`[^`\n]+`|\]\([^)]*\)|^\|[^\n]*$|^ *\d+\. "
    r"|^\*\*Source\.\*\*.*?(?:\n\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"(?<![\w.,-])\d[\d.,]*")
LIMITS = re.compile(r"^(?:#+ |[:`]{3,}\{admonition\} )Limits", re.MULTILINE)
TABLE = re.compile(r"^\|[-:| ]+\|\n((?:\|[^\n]*\n)+)", re.MULTILINE)
PICTURE = re.compile(r"!\[([^\]]*)\]\(")
LINK = re.compile(r"\]\(([^)\s]*)\)")
DIRECTIVE = re.compile(r"^[:`]{3,}\{(?:image|figure)\}.*?^[:`]{3,}$", re.MULTILINE | re.DOTALL)


CODE = re.compile(r"^```(\{code-cell\} ipython3|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


PAGES = sorted(DOCS.rglob("*.md"))
REFERENCE = "".join(page.read_text() for page in PAGES)
LINKING = [*ROOT.glob("*.md"), *PAGES, *sorted((ROOT / "research").rglob("*.md"))]


def names(pages):
    return [str(page.relative_to(ROOT)) for page in pages]


@cache
def text_of(page):
    """Return the text of a page with the files that it includes, without directives."""

    def included(found):
        text = (page.parent / found[1]).read_text()
        after = re.search(r':start-after: "(.*)"', found[2])
        text = text.partition(after[1])[2] if after else text
        before = re.search(r':end-before: "(.*)"', found[2])
        return text.partition(before[1])[0] if before else text

    text = INCLUDED.sub(included, page.read_text())
    return FENCE.sub(
        lambda found: "" if found[2] in ("{eval-rst}", "{toctree}") else found[0], text
    )


def words_of(text):
    """Return the words, without the lines of tables."""
    return re.findall(r"\S*\w\S*", text)


def prose_of(text):
    """Return the sentences: no code, tables, formulas, sources or targets of links."""
    return NO_PROSE.sub(" ", FENCE.sub(" ", text))


def is_of_measurements(rows):
    """Return whether most cells of a table, except those of its first column, are numbers."""
    cells = [cell for row in rows.splitlines() for cell in row.strip("|").split("|")[1:]]
    numbers = [cell for cell in cells if re.match(r"[\s*$~<>±-]*\d", cell)]
    return len(numbers) > max(3, len(cells) / 2)


def test_the_site_is_small():
    assert len(PAGES) <= MOST_PAGES
    assert sum(len(words_of(text_of(page))) for page in PAGES) <= MOST_WORDS


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_a_page_is_short(page):
    text = text_of(page)
    assert len(words_of(text)) <= MOST_WORDS_OF_A_PAGE
    prose = prose_of(text)
    numbers = NUMBER.findall(prose)
    assert len(numbers) <= max(FEW, len(words_of(prose)) / WORDS_OF_A_NUMBER), numbers
    assert len([rows for rows in TABLE.findall(text) if is_of_measurements(rows)]) <= 1
    assert len(LIMITS.findall(text)) <= 1


@pytest.mark.parametrize("page", LINKING, ids=names(LINKING))
def test_pictures_have_a_text(page):
    text = page.read_text()
    assert all(PICTURE.findall(text)), "a picture without alternative text"
    assert all(":alt: " in directive for directive in DIRECTIVE.findall(text))


FOR_USERS = [page for page in PAGES if page.name != "contributing.md"]


@pytest.mark.parametrize("page", FOR_USERS, ids=names(FOR_USERS))
def test_names_in_code_are_in_the_reference(page):
    described = set(re.findall(r"^\.\. auto\w+:: .+\.(\w+)$", REFERENCE, re.MULTILINE))
    for language, code in re.findall(CODE, text_of(page)):
        for node in ast.walk(ast.parse(code)) if "python" in language else ():
            match node:
                case ast.ImportFrom(module=module) if module.startswith("quietcrowd."):
                    assert {one.name for one in node.names} <= described
                case ast.Attribute(value=ast.Name(id="qc")):
                    assert node.attr in described


def test_every_picture_is_shown():
    text = "".join(page.read_text() for page in LINKING)
    assert [one.name for one in (DOCS / "figures").iterdir() if f"/{one.name})" not in text] == []


@cache
def anchors_of(page):
    """Return the anchors of a page, named like MyST and GitHub name those of headings."""
    text = page.read_text()
    found = set(re.findall(r'<a id="([^"]+)">', text)) | set(re.findall(r"^\((.+)\)=$", text, re.M))
    for heading in re.findall(r"^#{1,4} (.+)$", FENCE.sub("", text), re.MULTILINE):
        shown = re.sub(r"\]\([^)]*\)|[`*$\[\]]", "", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", shown).replace(" ", "-")
        again = sum(re.fullmatch(rf"{re.escape(slug)}(?:-\d+)?", one) is not None for one in found)
        found.add(f"{slug}-{again}" if again else slug)
    return found


@pytest.mark.parametrize("page", LINKING, ids=names(LINKING))
def test_links_lead_somewhere(page):
    """Also from one site to the other, which Sphinx does not check."""
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        path, _, anchor = unquote(link).partition("#")
        if ":" in path:
            continue
        target = page.parent / path if path else page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors_of(target), link


def built_pages():
    """Yield the pages of the built site that are as new as their text."""
    for page in PAGES:
        built = BUILT / page.relative_to(DOCS).with_suffix(".html")
        if built.exists() and built.stat().st_mtime >= page.stat().st_mtime:
            yield built


def test_built_pages_are_light():
    """Nothing is built by default; `make nightly` builds the site before."""
    sizes = {
        built.name: len(re.sub(r"<svg.*?</svg>", "", built.read_text(), flags=re.DOTALL).encode())
        for built in built_pages()
    }
    assert {name: size for name, size in sizes.items() if size > MOST_BYTES} == {}
