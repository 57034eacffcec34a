"""Generations of copies: complete, checked, and never pruned to nothing."""

import json
from contextlib import closing

import pytest

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.clock import DAY, Clock
from quietcrowd.campaign.store.copies import copy_name
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.generations import (
    KEPT,
    copy_at,
    generations_in,
    identity_of,
    make_generation,
    prune,
)
from quietcrowd.campaign.store.opening import ready_database
from quietcrowd.campaign.store.withdrawals.copies import journal_of, lost_entries, merge_journal
from quietcrowd.campaign.store.withdrawals.journal import Departures, trace_of
from quietcrowd.exceptions import ParameterError

TODAY = 20_833
NOW = TODAY * DAY + 8 * 3_600.0
CLOCK = Clock(now=NOW, seen=TODAY)


def later(days):
    return Clock(now=NOW + days * DAY, seen=TODAY + days)


@pytest.fixture
def settings(new_database, request, tmp_path):
    other = f"sqlite:///{tmp_path}/left.db"
    if new_database.startswith("postgresql"):
        other = request.getfixturevalue("postgresql_server").new_database()
    return Settings(database=new_database, withdrawal_log=other)


@pytest.fixture
def database(settings):
    with ready_database(settings, clock=lambda: NOW):
        pass
    with closing(Database.open(settings.database)) as opened:
        yield opened


@pytest.fixture
def departures(settings, database):
    assert journal_of(database) is not None
    with closing(Departures.open(settings)) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "copies").mkdir()
    return tmp_path / "copies"


def leave(departures, *numbers):
    for number in numbers:
        departures.leave(b"campaign", bytes([number]), b"kept")


def test_a_generation_has_a_manifest_of_all_that_it_holds(database, departures, folder):
    leave(departures, 1, 2, 3)
    departures.end(b"another", "closed", 7)
    made = make_generation(database, departures.journal, folder, CLOCK)
    kind = "db" if database.path else "dump"
    assert {one.name for one in made.place.iterdir()} == {
        f"database.{kind}",
        "departures.db",
        "manifest.json",
    }
    assert list(folder.iterdir()) == [made.place]
    read = json.loads((made.place / "manifest.json").read_text())
    assert read["made"] == "2027-01-15T08:00:00Z"
    assert (read["number"], read["entries"], read["rows"]["campaign"]) == (1, 4, 0)
    assert read["database"] == identity_of(database)
    assert read["journal"] == journal_of(database).hex()
    assert copy_at(made.place) == made
    assert made.damaged_file() is None
    with pytest.raises(ParameterError, match="never overwrites"):
        make_generation(database, departures.journal, folder, CLOCK)
    assert made.damaged_file() is None


def test_a_journal_that_lacks_entries_replaces_nothing(database, departures, folder):
    leave(departures, 1, 2, 3)
    first = make_generation(database, departures.journal, folder, CLOCK)
    departures.forget([trace_of(b"campaign")])
    leave(departures, 1, 4)
    for journal, count in ((departures.journal, 2), (None, 3)):
        with pytest.raises(ParameterError, match=f"lacks {count} entries") as caught:
            make_generation(database, journal, folder, later(1))
        assert "\n" not in str(caught.value)
    assert list(folder.iterdir()) == [first.place]
    made = make_generation(database, departures.journal, folder, later(1), lost=True)
    assert [one.manifest.number for one in generations_in(folder, made.place.name[:-22])] == [2, 1]


def test_entries_may_go_when_a_campaign_is_deleted_or_its_time_is_over(
    database, departures, folder
):
    leave(departures, 1, 2)
    make_generation(database, departures.journal, folder, CLOCK)
    departures.end(b"campaign", "closed", int(NOW) + DAY)
    departures.forget([trace_of(b"campaign")])
    with pytest.raises(ParameterError, match="lacks 2 entries"):
        make_generation(database, departures.journal, folder, CLOCK.__class__(now=NOW + 1, seen=1))
    make_generation(database, departures.journal, folder, later(2))
    departures.end(b"campaign", "deleted")
    make_generation(database, departures.journal, folder, later(3))
    departures.take_back(b"campaign", closed=True, delete_at=None)
    with pytest.raises(ParameterError, match="lacks 1 entries"):
        make_generation(database, departures.journal, folder, later(4))


def test_a_journal_of_an_older_version_is_compared(database, departures, folder):
    leave(departures, 1, 2)
    if database.path is None:
        return
    departures.journal.backup(folder / "left.db.newest")
    departures.forget([trace_of(b"campaign")])
    with pytest.raises(ParameterError, match="lacks 2 entries"):
        make_generation(database, departures.journal, folder, CLOCK)


def test_a_copy_that_is_damaged_is_known(database, departures, folder):
    made = make_generation(database, departures.journal, folder, CLOCK)
    for file in (made.database, made.journal):
        before = file.read_bytes()
        file.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
        assert made.damaged_file() == file
        file.unlink()
        assert made.damaged_file() == file
        file.write_bytes(before)
    assert made.damaged_file() is None
    (made.place / "manifest.json").write_text('{"number": 1}')
    assert copy_at(made.place) is None


def test_old_generations_are_pruned_but_never_the_last_good_ones(database, departures, folder):
    made = [
        make_generation(database, departures.journal, folder, later(day)) for day in range(KEPT + 3)
    ]
    made[-1].database.write_bytes(b"damage")
    stem = made[0].place.name.partition(".copy-")[0]
    others = ["other.db.copy-20200101T000000Z", f"{stem}.copy-20209999T000000Z", f"{stem}.old"]
    for name in others:
        (folder / name).write_text("another file")
    assert prune(database, folder, 30, CLOCK) == []
    old = folder / copy_name(database, 0.0)
    old.write_text("a copy of an older version")
    far = Clock(now=NOW + 400 * DAY, seen=TODAY)
    assert prune(database, folder, 30, far) == [], "the clock is implausible"
    gone = prune(database, folder, 30, later(400))
    assert gone == [old, made[-1].place, made[1].place, made[0].place]
    assert prune(database, folder, 30, later(4_000)) == []
    left = {one.place.name for one in made[2:-1]} | set(others)
    assert {one.name for one in folder.iterdir()} == left


def test_copies_of_another_database_are_not_pruned(database, folder):
    made = [make_generation(database, None, folder, later(day)) for day in range(KEPT + 1)]
    with database.write() as connection:
        connection.exec_driver_sql("DELETE FROM identity")
    assert prune(database, folder, 1, later(400)) == []
    assert all(one.place.exists() for one in made)


def test_journals_are_merged_and_lose_nothing(settings, database, departures, folder, tmp_path):
    leave(departures, 1, 2)
    departures.end(b"one", "closed", 7)
    departures.end(b"two", "deleted")
    copy = make_generation(database, departures.journal, folder, CLOCK).journal
    other = Settings(database=settings.database, withdrawal_log=f"sqlite:///{tmp_path}/other.db")
    with closing(Departures.open(other)) as merged:
        leave(merged, 2, 3)
        merged.end(b"one", "closed", 9)
        merged.end(b"two", "closed", 9)
        merge_journal(merged.journal, copy)
        found = merged.left(b"campaign", [bytes([number]) for number in range(5)])
        assert found == {bytes([number]): b"kept" for number in (1, 2, 3)}
        assert merged.ending_of(b"one").delete_at == 9
        assert merged.ending_of(b"two").kind == "deleted"
        both = make_generation(database, merged.journal, folder, later(1)).journal
    assert lost_entries(both, copy, NOW) == 0
    assert lost_entries(copy, both, NOW) == 1


def test_nothing_is_left_where_no_copy_can_be_made(database, departures, folder, monkeypatch):
    monkeypatch.setattr(Database, "backup", None)
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises((ParameterError, TypeError)):
        make_generation(database, departures.journal, folder, CLOCK)
    assert list(folder.iterdir()) == []
