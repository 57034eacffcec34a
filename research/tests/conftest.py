"""The fixtures of the library's tests that these share."""

from tests.conftest import data_folder, program, run

__all__ = ["data_folder", "program", "run"]
