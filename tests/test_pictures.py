"""The pictures of docs/ are those that docs/pictures/ draws, and are small."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
FIGURES = DOCS / "figures"
QUICK = ("draw_epsilon", "draw_mechanisms", "draw_people")
"""Scripts that draw without simulating crowds."""
SLOW = ("draw_calibration", "draw_rounds")
FOR_PHONES = 400
"""Width of a picture whose text can be read on a phone."""


@pytest.fixture
def scripts(monkeypatch):
    """Return a function that imports a script, and forget what it imported afterwards."""
    monkeypatch.syspath_prepend(DOCS / "pictures")
    yield import_module
    for path in (DOCS / "pictures").glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.mark.parametrize(
    "script", [*QUICK, *(pytest.param(name, marks=pytest.mark.nightly) for name in SLOW)]
)
def test_a_picture_is_what_its_script_draws(scripts, script):
    for name, draw in scripts(script).PICTURES.items():
        stored = (FIGURES / name).read_text(encoding="utf-8")
        assert draw() == stored, f"run: python docs/pictures/{script}.py"
        assert f'width="{FOR_PHONES}"' in stored


def test_every_script_is_tested():
    known = {path.stem for path in (DOCS / "pictures").glob("draw_*.py")}
    assert known == {*QUICK, *SLOW}


SHOWING = [page for name in ("start", "learn", "run") for page in (DOCS / name).glob("*.md")]


@pytest.mark.parametrize("page", SHOWING)
def test_pictures_of_pages_have_a_text_and_are_small(page):
    for words, path in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        assert len(words.split()) >= 5
        assert (page.parent / path).stat().st_size < 60_000
