"""The fixtures and hooks of the library's tests that these share."""

from tests.conftest import (
    data_folder,
    program,
    pytest_collect_file,
    pytest_generate_tests,
    run,
)

__all__ = ["data_folder", "program", "pytest_collect_file", "pytest_generate_tests", "run"]
