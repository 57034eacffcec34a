import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def drawing():
    """Return the program that works out the page, as a module."""
    spec = spec_from_file_location("draw_choosing", ROOT / "docs" / "draw_choosing.py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


DRAWING = drawing()
PAGE = DRAWING.PAGE.read_text()


def test_every_table_and_picture_of_the_page_is_of_a_command():
    commands = DRAWING.commands_of(PAGE)
    assert len(commands) == PAGE.count("```output\n") == PAGE.count("quietcrowd plan ") == 4
    pictures = {
        words[-1] for words in (one.split("--plot ") for one in commands) if len(words) == 2
    }
    for picture in pictures:
        assert f"(figures/{picture})" in PAGE
        assert (DRAWING.FIGURES / picture).exists()
    assert PAGE.count("](figures/") == len(pictures) == 3


@pytest.mark.nightly
def test_what_a_command_prints_takes_the_place_of_what_it_printed(tmp_path):
    command = "quietcrowd plan --tasks 20 --workers 5 \\\n  --labels no,yes -e 1 --simulations 3"
    page = f"Before.\n\n```sh\n{command}\n```\n\n```output\nold\n```\n\nBehind.\n"
    new = DRAWING.with_output(page, tmp_path)
    assert new.startswith("Before.\n\n```sh\nquietcrowd plan")
    assert "20 questions: expected error rate, 3 crowds simulated" in new
    assert "old" not in new
    assert new.endswith("```\n\nBehind.\n")
    assert DRAWING.with_output(new, tmp_path) == new


@pytest.mark.nightly
def test_the_page_says_what_its_commands_print_today(tmp_path):
    assert DRAWING.with_output(PAGE, tmp_path) == PAGE, "run: python docs/draw_choosing.py"
