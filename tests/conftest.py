"""What all tests share."""

import gc
import os
import sys
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings
from tests.programs import running

from quietcrowd.inference.loop import available_threads

settings.register_profile("nightly", deadline=None, derandomize=True)
settings.register_profile("quietcrowd", settings.get_profile("nightly"), max_examples=20)
settings.register_profile("fast", settings.get_profile("quietcrowd"), max_examples=8)
settings.load_profile("quietcrowd")

SERVERS = {
    "cluster",
    "database_url",
    "new_database",
    "nursery",
    "postgresql_server",
    "server",
    "start_server",
}
"""Fixtures that start a server, a database or a cluster."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make test-fast`."""
    parser.addoption("--first-case", action="store_true", help="run one case of each test")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Start one process more than cores: tests wait for browsers, servers and databases."""
    return available_threads() + 1


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for docstring examples only in files of the package that have some."""
    found = yield
    if any(isinstance(one, DoctestModule) for one in found) and (
        file_path.name.startswith("test_") or ">>> " not in file_path.read_text("utf-8")
    ):
        return [one for one in found if not isinstance(one, DoctestModule)]
    return found


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None]:
    """Collect only the first case, which takes half the time; by day, no case of the night."""
    yield
    cases, config = metafunc._calls, metafunc.config
    by_day = config.option.markexpr == "not nightly"
    # No option of this file is known where research/tests alone is run.
    if config.getoption("--first-case", default=False) or (
        by_day and metafunc.definition.get_closest_marker("grid")
    ):
        del cases[1:]
    if by_day:
        cases[:] = [
            one for one in cases if all(mark.name != "nightly" for mark in one.marks)
        ] or cases


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests of servers as slow, and all cases of a grid but the first as nightly."""
    everywhere = config.getoption("--first-case")
    first: dict[tuple[Path, str], str] = {}
    for item in items:
        if SERVERS & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
        if everywhere or item.get_closest_marker("grid"):
            name = getattr(item, "originalname", item.name)
            if first.setdefault((item.path, name), item.nodeid) != item.nodeid:
                item.add_marker("nightly")


def pytest_collection_finish() -> None:
    """Spare the garbage collector the thousands of tests, which stay to the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def data_folder() -> Path:
    """Return the folder of real data sets, which are not part of the repository."""
    folder = os.environ.get("QUIETCROWD_DATA")
    if not folder:
        pytest.skip("QUIETCROWD_DATA is not set: it names the folder of the real data sets")
    return Path(folder)


@pytest.fixture
def run(monkeypatch, capsys):
    """Return a function that runs the command line and gives (status, output, errors)."""
    from quietcrowd.commands.main import main

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["quietcrowd", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        output, errors = capsys.readouterr()
        return end.value.code, output, errors

    return call


@pytest.fixture
def program():
    """Return a function that starts a `tests.programs.Program`, which ends with the test."""
    with ExitStack() as started:
        yield lambda *words, **options: started.enter_context(running(*words, **options))
