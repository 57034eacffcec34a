"""What a type checker knows of the package, as a user sees it."""

import runpy
import subprocess
import sys
from pathlib import Path

from tests.nightly import nightly

USE = Path(__file__).with_name("typed_use.py")


def test_the_types_are_those_of_what_comes_back():
    runpy.run_path(str(USE))


@nightly
def test_a_type_checker_knows_them(tmp_path):
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, USE]
    done = subprocess.run(words, cwd=USE.parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
