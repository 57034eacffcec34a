import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import quietcrowd

ROOT = Path(__file__).parent.parent
SOURCE = Path(quietcrowd.__file__).parent


def drawing():
    """Return the program that draws the pictures, as a module."""
    spec = spec_from_file_location("draw_architecture", ROOT / "docs" / "draw_architecture.py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


DRAWING = drawing()


@pytest.mark.parametrize("name", DRAWING.PICTURES)
def test_the_pictures_show_the_imports_as_they_are(name):
    drawn = DRAWING.picture(DRAWING.folders_of(DRAWING.PICTURES[name]))
    assert drawn == (DRAWING.FIGURES / name).read_text(), "run: python docs/draw_architecture.py"


def test_a_picture_leaves_out_what_follows_from_other_arrows():
    folders = {"top": {"middle", "ground"}, "middle": {"ground"}, "ground": frozenset()}
    assert DRAWING.floors(folders) == [["ground"], ["middle"], ["top"]]
    assert DRAWING.needed(folders) == [("top", "middle"), ("middle", "ground")]


def test_the_page_names_every_folder():
    page = (ROOT / "docs" / "architecture.md").read_text()
    folders = {
        path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("__init__.py")
    } - {"."}
    assert [folder for folder in sorted(folders) if f"`{folder}/`" not in page] == []


def test_every_folder_says_what_lives_there():
    for path in SOURCE.rglob("__init__.py"):
        assert path.read_text().startswith('"""'), f"{path} has no sentence"
