"""A missing or empty database is not a first start if anything is left of an earlier one."""

from contextlib import closing

import pytest
from tests.campaign.people import new_desk

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.copies import copy_to
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import (
    accept_loss,
    begin_new,
    migrate,
    ready_beside_server,
    ready_database,
)
from quietcrowd.campaign.store.restore import restore
from quietcrowd.campaign.store.withdrawals.ids import journal_of
from quietcrowd.campaign.store.withdrawals.journal import Departures
from quietcrowd.exceptions import ParameterError

KEPT = bytes(32)
WITHDRAWALS = 60


@pytest.fixture
def settings(new_database, tmp_path):
    return Settings(database=new_database, departures=f"sqlite:///{tmp_path}/left.db")


def leave(settings, count):
    with closing(Departures.open(settings)) as departures:
        for number in range(count):
            departures.leave(b"campaign", number.to_bytes(4, "big"), KEPT)


def start(settings):
    with ready_database(settings) as database:
        return journal_of(database)


def refused(settings, match):
    opened = Database.open(settings.database)
    for use in (start, accept_loss, lambda one: ready_beside_server(opened, one)):
        with pytest.raises(ParameterError, match=match) as caught:
            use(settings)
        assert "serve --new" in str(caught.value)
        assert "\n" not in str(caught.value)
    opened.close()


@pytest.fixture
def lose(settings, tmp_path, request):
    """Return what loses a database, and returns settings of a missing or empty one."""

    def lost(how="missing"):
        if settings.database.startswith("postgresql"):
            url = request.getfixturevalue("postgresql_server").new_database()
            return settings.model_copy(update={"database": url})
        file = tmp_path / "quietcrowd.db"
        for name in ("", "-wal", "-shm", ".started"):
            file.with_name(f"{file.name}{name}").unlink(missing_ok=True)
        if how == "empty":
            file.touch()
        return settings

    return lost


def test_a_first_start_needs_no_option(settings):
    assert start(settings) == start(settings) is not None


def test_a_first_start_that_failed_is_tried_again(settings):
    wrong = settings.model_copy(update={"departures": settings.database})
    with pytest.raises(ParameterError, match="another database"):
        start(wrong)
    start(settings)


@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_lost_database_is_refused_next_to_its_journal(settings, lose, how):
    """A server started with an empty one before, and `readyz` said 200."""
    start(settings)
    leave(settings, WITHDRAWALS)
    lost = lose(how)
    refused(lost, f"has {WITHDRAWALS} entries")
    database = Database.open(lost.database)
    if how == "missing" and database.path is not None:
        assert not database.path.exists()
    database.close()


def test_a_journal_without_entries_says_that_there_was_a_database(settings, lose):
    start(settings)
    refused(lose(), "belongs to a database")


def test_a_database_that_only_has_a_key_is_empty(settings, lose):
    start(settings)
    leave(settings, 1)
    lost = lose()
    with closing(Database.open(lost.database)) as database:
        migrate(database)  # as `campaign key` without --departures
    refused(lost, "has 1 entries")


def test_new_overrides_and_says_what_it_leaves_behind(settings, lose):
    first = start(settings)
    assert begin_new(settings) is None
    leave(settings, WITHDRAWALS)
    lost = lose()
    [said] = begin_new(lost)
    assert "left.db has 60 entries" in said
    assert start(lost) == first
    assert begin_new(lost) is None


@pytest.fixture
def alone(tmp_path):
    """Return settings without a journal."""
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db", departures="none")
    start(settings)
    return settings


def test_without_a_journal_a_file_says_that_there_was_a_database(alone, tmp_path):
    (tmp_path / "q.db").unlink()
    refused(alone, r"q\.db\.started")
    [said] = begin_new(alone)
    assert said == f"{tmp_path}/q.db.started exists"
    start(alone)


def test_copies_and_a_log_that_are_left_are_named(alone, tmp_path):
    with closing(Database.open(alone.database)) as database:
        copy_to(database, tmp_path / "q.db.copy-20270115T080000Z")
    for name in ("q.db", "q.db.started"):
        (tmp_path / name).unlink()
    refused(alone, "q.db.copy-20270115T080000Z")
    restore(tmp_path / "q.db.copy-20270115T080000Z", alone, 0.0)
    start(alone)
    for file in tmp_path.glob("q.db*"):
        file.unlink()
    (tmp_path / "q.db-wal").write_bytes(b"changes")
    refused(alone, "q.db-wal")
    assert len(begin_new(alone)) == 1
    assert (tmp_path / "q.db-wal.left").read_bytes() == b"changes"


def test_a_server_refuses_a_lost_database(start_server, tmp_path):
    server = start_server()
    desk = new_desk(server)
    campaign = desk.campaign(join_mode="open", at_least=1)
    desk.worker(campaign).client.delete("/me").raise_for_status()
    server.stop()
    (tmp_path / "own0.db").unlink()
    with pytest.raises(ParameterError, match="has 1 entries"):
        start_server(database=server.settings.database)
