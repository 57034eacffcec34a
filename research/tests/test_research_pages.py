"""The pages of the research site: each begins with its finding and a picture, which is fresh."""

import re
import sys
from pathlib import Path

import pytest
from tests.nightly import by_day

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {page.relative_to(DOCS).as_posix(): page.read_text() for page in DOCS.rglob("*.md")}
FIGURES = DOCS / "figures"
PICTURES = sorted(path.stem for path in FIGURES.glob("*.svg"))
LONG = {"theory-noise-aware-labels", "theory-planning", "theory-rounds", "theory-shuffling"}
"""Pictures that take seconds."""

WITHOUT_PICTURE = {
    "campaigns.md": "rules in words",
    "client-differences.md": "a table of words",
    "releases.md": "rules in words",
    "reproduction/index.md": "a list of pages",
    "server.md": "rules in words",
    "theory/index.md": "a list of pages",
    "threat-model.md": "a table of words",
} | dict.fromkeys(
    (
        f"reproduction/{name}.md"
        for name in (
            *("huai2019-3-weights", "huai2019-test", "huai2019-theorem-1", "huai2019-theorem-2"),
            *("li2018-clean", "li2018-guides", "li2018-table-1"),
            *("sun2018-profiles", "sun2018-table-2", "sun2018-theorems"),
        )
    ),
    "a table of few numbers",
)
TOLERANCE = 0.3
"""Of coordinates in a picture, in pixels: another machine may round another way."""

KILOBYTES = 60


@pytest.fixture
def pictures(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "pictures")
    import draw

    yield draw.pictures()
    for name in (*draw.FAMILIES, "draw", "chart"):
        sys.modules.pop(name, None)


def opening(text):
    """Return the paragraphs after the title."""
    return re.split(r"^# .*\n+", text, maxsplit=1, flags=re.MULTILINE)[1].split("\n\n")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_begins_with_a_sentence_and_a_picture(page):
    finding, picture, *_ = opening(PAGES[page])
    assert re.match(r"[*A-Z`0-9\[]", finding)
    assert not re.match(r"[-*] ", finding)
    assert finding.rstrip()[-1] in ".)"
    if page in WITHOUT_PICTURE:
        assert not picture.startswith("!["), f"{page} needs no exception"
        return
    found = re.match(r"!\[([^\]]+)\]\(([^)]+)\)", picture)
    assert found, f"{page}: the second paragraph is a picture"
    assert len(found[1].split()) >= 3
    assert (DOCS / page).parent.joinpath(found[2]).is_file()


def test_every_exception_is_a_page():
    assert PAGES.keys() >= WITHOUT_PICTURE.keys()


def test_every_picture_is_drawn_and_shown(pictures):
    assert sorted(pictures) == PICTURES
    text = "".join(PAGES.values())
    assert [name for name in PICTURES if f"figures/{name}.svg" not in text] == []
    sizes = {path.name: path.stat().st_size for path in FIGURES.glob("*.svg")}
    assert max(sizes.values()) < 1000 * KILOBYTES


@pytest.mark.parametrize("name", by_day([name for name in PICTURES if name not in LONG], PICTURES))
def test_a_picture_is_fresh(pictures, name):
    """Numbers may differ by rounding; words and the number of points may not."""
    number = re.compile(r"-?\d+(?:\.\d+)?")
    stored, drawn = (FIGURES / f"{name}.svg").read_text(), pictures[name]()
    remedy = f"run: python research/docs/pictures/draw.py {name}"
    words = re.compile(r">([^<]+)<")
    assert words.findall(drawn) == words.findall(stored), remedy
    assert number.split(drawn) == number.split(stored), remedy
    apart = [
        abs(float(one) - float(other))
        for one, other in zip(number.findall(drawn), number.findall(stored), strict=True)
    ]
    assert max(apart) <= TOLERANCE, remedy


def test_the_index_has_the_numbers_of_the_claims():
    assert opening(PAGES["index.md"])[0].split() == opening(PAGES["reproduction.md"])[0].split()


def test_the_index_of_the_theory_has_every_finding(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    import draw_theory

    assert draw_theory.written() == PAGES["theory/index.md"], "run: research/docs/draw_theory.py"
    names = {f"theory/{name}.md" for names in draw_theory.GROUPS.values() for name in names}
    theory = {page for page in PAGES if page.startswith("theory/")} - {"theory/index.md"}
    assert names == theory | {"theory/../error-bounds.md"}
