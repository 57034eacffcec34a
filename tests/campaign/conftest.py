"""What the tests of the service share: a database and a server."""

import logging
import shutil
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.campaign.mechanisms import MECHANISMS, MECHANISMS_BY_DAY
from tests.campaign.people import Desk, Running, new_desk
from tests.campaign.postgresql import HOW_TO_GET_IT, Postgresql, find_programs, postgresql
from tests.campaign.server_process import Nursery, open_nursery
from tests.nightly import nightly

from quietcrowd.campaign.server import incoming
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import migrate

ON_SQLITE_ALONE = (
    "test_client",
    "test_contract",
    "test_studio_in_browser",
    "test_studio_campaigns",
    "test_studio_screens",
    "test_first_screen",
    "test_cross_origin",
    "test_gate",
    "test_interruptions",
    "test_pages",
    "test_profile_folder",
    "test_page_refuses",
    "test_roles",
    "test_what_leaves",
    "test_whole_campaigns",
    "test_worker_page",
)

ON_POSTGRESQL_BY_DAY = (
    "tests.campaign.results.test_inference_process",
    "tests.campaign.server.api.test_participants",
    "tests.campaign.server.api.test_reports",
    "tests.campaign.store.",
    "tests.commands.campaign.test_export",
)
"""All that reads and writes by itself, and of what goes through it the way of a report; the rest of
what needs a database is tried on PostgreSQL by night."""

OWN_POSTGRESQL_BY_DAY = ("test_database", "test_opening", "test_revisions", "test_write_probe")
"""The same of tests that start servers of their own, or none."""


@pytest.fixture
def log_as_before(monkeypatch) -> None:
    """Undo what a server does to the log, and to what nobody catches, of its process."""
    for logger in (logging.getLogger(), logging.getLogger("quietcrowd.campaign")):
        for name in ("handlers", "propagate", "level"):
            monkeypatch.setattr(logger, name, getattr(logger, name))
    for module, name in (
        (sys, "excepthook"),
        (sys, "unraisablehook"),
        (threading, "excepthook"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))


@pytest.fixture
def held_briefly(monkeypatch) -> None:
    """Hold refusals of who asks too often back for less than the second that servers wait."""
    monkeypatch.setattr(incoming, "_HOLD", 0.02)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[Postgresql]:
    """Run PostgreSQL; who stops it starts it again."""
    programs = find_programs()
    if programs is None:
        pytest.skip(HOW_TO_GET_IT)
    with postgresql(programs) as running:
        yield running


@pytest.fixture(scope="session")
def database_url(request, tmp_path_factory) -> str:
    """Return the URL of an empty database: of SQLite, and once more of PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('campaigns')}/quietcrowd.db"
    return request.getfixturevalue("postgresql_server").url


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Return what starts servers in processes of their own."""
    with open_nursery() as started:
        yield started


@pytest.fixture(params=["sqlite", "postgresql"])
def new_database(request, tmp_path) -> str:
    """Return the URL of a database for servers of a test's own, on SQLite and PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/quietcrowd.db"
    return request.getfixturevalue("postgresql_server").new_database()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what needs a database on both; what is about requests alone on SQLite."""
    if "database_url" in metafunc.fixturenames:
        name = metafunc.module.__name__
        by_day = name.startswith(ON_POSTGRESQL_BY_DAY)
        alone = name.rpartition(".")[2].startswith(ON_SQLITE_ALONE)
        other = "postgresql" if by_day else nightly("postgresql")
        kinds = ["sqlite"] if alone else ["sqlite", other]
        metafunc.parametrize("database_url", kinds, indirect=True, scope="session")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the night what is tried on PostgreSQL once more."""
    others = MECHANISMS.keys() - set(MECHANISMS_BY_DAY)
    for item in items:
        given = item.callspec.params if hasattr(item, "callspec") else {}
        if given.get("database_url") == "postgresql" and given.get("name") in others:
            item.add_marker("nightly")
        if (
            given.get("new_database") == "postgresql"
            and item.path.stem not in OWN_POSTGRESQL_BY_DAY
        ):
            item.add_marker("nightly")


@pytest.fixture(scope="session")
def server(database_url) -> Iterator[Running]:
    """Run a server without limits of how often one may ask, and without inference."""
    running = Running(
        Settings(database=database_url, infer=False, requests_per_second=0, joins_per_minute=0)
    ).start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def empty_tables(tmp_path_factory) -> Path:
    """Return a database of this version: to create the tables is most of a server's start."""
    place = tmp_path_factory.mktemp("tables") / "quietcrowd.db"
    database = Database.open(f"sqlite:///{place}")
    migrate(database)
    database.close()
    return place


@pytest.fixture
def start_server(tmp_path, empty_tables) -> Iterator:
    """Return a way to start servers of one's own, on new databases of SQLite."""
    started = []

    def new_place() -> str:
        place = shutil.copy(empty_tables, tmp_path / f"own{len(started)}.db")
        with closing(sqlite3.connect(place)) as copy, copy:
            copy.execute("UPDATE identity SET id = randomblob(16)")
        return f"sqlite:///{place}"

    def start(**settings) -> Running:
        settings.setdefault("infer", False)
        if "database" not in settings:
            settings["database"] = new_place()
        running = Running(Settings(**settings)).start()
        started.append(running)
        return running

    yield start
    for running in started:
        running.stop()


@pytest.fixture
def desk(server) -> Desk:
    """Return a new requester."""
    return new_desk(server)
