"""A journal that was lost is not replaced without a word."""

import shutil
from contextlib import closing
from threading import Barrier, Thread

import pytest
from sqlalchemy import insert, text
from tests.campaign.older_databases import fill_older, upgrade_to
from tests.nightly import nightly

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.copies import copy_to
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import accept_loss, migrate, ready_database
from quietcrowd.campaign.store.restore import restore
from quietcrowd.campaign.store.withdrawals.copies import journal_of, matching_departures
from quietcrowd.campaign.store.withdrawals.journal import Departures
from quietcrowd.campaign.terms.tokens import new_id
from quietcrowd.exceptions import ParameterError

KEPT = bytes(32)
NOW = 1_800_000_000.0


@pytest.fixture
def settings(new_database, tmp_path):
    return Settings(database=new_database, withdrawal_log=f"sqlite:///{tmp_path}/who left.db")


def elsewhere(settings, place):
    return settings.model_copy(update={"withdrawal_log": place})


def start(settings):
    """Start and end what a server does with its database; return the id of the journal."""
    with ready_database(settings) as database:
        return journal_of(database)


def id_at(place):
    with closing(Database.open(place)) as journal:
        return journal_of(journal)


def refused(settings, match):
    with pytest.raises(ParameterError, match=match) as caught, ready_database(settings):
        pass
    assert "--accept-lost-withdrawal-log" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_and_its_journal_have_one_id(settings):
    first = start(settings)
    assert first == start(settings) == id_at(settings.withdrawal_log)
    assert len(first) == 16


def test_a_journal_that_is_lost_is_asked_for(settings, tmp_path):
    first, file = start(settings), tmp_path / "who left.db"
    kept = file.rename(tmp_path / "kept.db")
    refused(settings, "who left.db does not exist")
    assert not file.exists()
    file.touch()
    refused(settings, "is a new journal")
    other = elsewhere(settings, f"sqlite:///{tmp_path}/other.db")
    start(Settings(database=f"sqlite:///{tmp_path}/q.db", withdrawal_log=other.withdrawal_log))
    refused(other, "is another journal")
    kept.replace(file)
    assert start(settings) == first


def test_it_can_be_said_that_it_was_lost(settings, tmp_path):
    first, file = start(settings), tmp_path / "who left.db"
    assert not accept_loss(settings)
    file.rename(tmp_path / "kept.db")
    assert accept_loss(settings)
    assert not accept_loss(settings)
    assert first != start(settings) == id_at(settings.withdrawal_log)
    refused(elsewhere(settings, f"sqlite:///{tmp_path}/kept.db"), "is another journal")


def test_what_is_served_without_a_journal_has_none_any_more(settings):
    """Who left meanwhile is in no journal: that is said before one counts again."""
    none = elsewhere(settings, "none")
    assert start(none) is None
    first = start(settings)
    assert start(none) not in (None, first)
    refused(settings, "is another journal")
    with pytest.raises(ParameterError, match="omit one of the two"):
        accept_loss(none)
    assert accept_loss(settings)
    assert start(settings) == first


def test_an_older_database_gets_the_id_of_its_journal(settings):
    """And the journal of an older server gets one, with all that it has."""
    with closing(Database.open(settings.database)) as database:
        upgrade_to(database, "0008")
        with database.write() as connection:
            connection.execute(insert(tables.requester), {"id": b"r", "name": "birds"})
            fill_older(connection, b"c", at_least=1)
        campaign, worker = new_id(), new_id()
        with closing(Departures.open(settings)) as departures:
            departures.leave(campaign, worker, KEPT)
            with departures.journal.write() as connection:
                connection.execute(text("DROP TABLE journal"))
        migrate(database)
        assert journal_of(database) is None
        first = start(settings)
        assert first == journal_of(database) == id_at(settings.withdrawal_log)
        with closing(matching_departures(settings, database)) as departures:
            assert departures.left(campaign, [worker]) == {worker: KEPT}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("times", [2, nightly(5)])
def test_servers_that_start_at_once_agree(postgresql_server, times):
    for _ in range(times):
        settings = Settings(
            database=postgresql_server.new_database(),
            withdrawal_log=postgresql_server.new_database(),
        )
        gate, found = Barrier(4), []

        def begin(settings=settings, gate=gate, found=found):
            gate.wait()
            found.append(start(settings))

        threads = [Thread(target=begin) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [id_at(settings.withdrawal_log)] * 4


@pytest.fixture
def copied(tmp_path):
    """Return settings, and a copy of what a server of them has."""
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db")
    start(settings)
    with closing(Database.open(settings.database)) as database:
        copy_to(database, tmp_path / "copy.db")
    return settings, tmp_path / "copy.db"


def test_a_copy_has_the_journal_of_its_database(copied, tmp_path):
    settings, copy = copied
    first = id_at(settings.database)
    restore(copy, settings, NOW)
    assert start(settings) == first
    journal = tmp_path / "q.db.departures"
    shutil.copy(journal, tmp_path / "older.departures")
    shutil.copy(tmp_path / "older.departures", journal)
    assert start(settings) == first


def test_a_copy_is_not_restored_with_a_journal_that_does_not_know_who_left(copied, tmp_path):
    settings, copy = copied
    (tmp_path / "q.db.departures").unlink()
    with pytest.raises(ParameterError, match="--accept-lost-withdrawal-log"):
        restore(copy, settings, NOW)
    with (
        closing(Departures.open(settings)),
        pytest.raises(ParameterError, match="is a new journal"),
    ):
        restore(copy, settings, NOW)
    before = id_at(settings.database)
    restore(copy, settings, NOW, lost=True)
    assert before != start(settings)
    with pytest.raises(ParameterError, match="is another journal"):
        restore(copy, settings, NOW + 1)


def test_a_copy_that_is_restored_without_a_journal_keeps_its_own(copied):
    settings, copy = copied
    first = id_at(settings.database)
    restore(copy, elsewhere(settings, "none"), NOW)
    assert start(settings) == first
