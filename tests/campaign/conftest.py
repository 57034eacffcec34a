"""What the tests of the service share: a database and a server."""

from collections.abc import Iterator

import pytest
from tests.campaign.people import Desk, Running, new_desk

from quietcrowd.campaign.settings import Settings


@pytest.fixture(scope="session")
def database_url(tmp_path_factory) -> str:
    """Return the URL of an empty database."""
    return f"sqlite:///{tmp_path_factory.mktemp('campaigns')}/quietcrowd.db"


@pytest.fixture(scope="session")
def server(database_url) -> Iterator[Running]:
    """Run a server without limits of how often one may ask, and without inference."""
    running = Running(Settings(database=database_url, infer=False, requests_per_second=0)).start()
    yield running
    running.stop()


@pytest.fixture
def start_server(tmp_path) -> Iterator:
    """Return a way to start servers of one's own, on new databases of SQLite."""
    started = []

    def start(**settings) -> Running:
        defaults = {"infer": False, "database": f"sqlite:///{tmp_path}/own{len(started)}.db"}
        running = Running(Settings(**{**defaults, **settings})).start()
        started.append(running)
        return running

    yield start
    for running in started:
        running.stop()


@pytest.fixture
def desk(server) -> Desk:
    """Return a new requester."""
    return new_desk(server)
