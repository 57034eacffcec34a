"""What a type checker knows of the package, as a user sees it."""

import sys
from pathlib import Path

import pytest
from tests import typed_use


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning")  # it is up to the draw
@pytest.mark.parametrize("use", ["frames_of_pandas", "frames_of_others", "reports_and_sets"])
def test_the_types_are_those_of_what_comes_back(use):
    getattr(typed_use, use)()


@pytest.mark.nightly
def test_a_type_checker_knows_them(program, tmp_path):
    use = Path(typed_use.__file__)
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, use]
    status, output, errors = program(*words, cwd=use.parents[1]).finished()
    assert status == 0, output + errors
