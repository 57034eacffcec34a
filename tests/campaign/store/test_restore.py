import os
import shutil
import sqlite3
import sys
import time
from contextlib import closing

import pytest
from tests.campaign.older_databases import load_first, rows_of, said_at_first
from tests.nightly import nightly

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.clock import Clock
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.generations import make_generation
from quietcrowd.campaign.store.opening import migrate, only_server, ready_database
from quietcrowd.campaign.store.replay import Replayed
from quietcrowd.campaign.store.restore import restore
from quietcrowd.campaign.store.withdrawals.copies import matching_departures
from quietcrowd.campaign.store.withdrawals.journal import Departures
from quietcrowd.campaign.terms.tokens import participant_id, withdrawn_hash
from quietcrowd.exceptions import FormatError, ParameterError

NOW = 1_800_000_000.0


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "here").mkdir()
    return Settings(database=f"sqlite:///{tmp_path}/here/q.db")


@pytest.fixture
def copy(tmp_path):
    """Return a copy of the first revision."""
    load_first(f"sqlite:///{tmp_path}/copy.db")
    return tmp_path / "copy.db"


def keep(settings, *credentials):
    """Keep that these workers left the open campaign of the copy."""
    campaign = bytes.fromhex(said_at_first(settings.database)["campaigns"]["open"])
    with closing(Departures.open(settings)) as departures:
        for one in credentials:
            departures.leave(campaign, participant_id(one), withdrawn_hash(one))


def rows(settings):
    database = Database.open(settings.database)
    found = rows_of(database)
    database.close()
    return found


def test_an_old_copy_is_brought_up_to_date_without_those_who_left(settings, copy, tmp_path):
    then = said_at_first(settings.database)
    keep(settings, then["leaver"])
    before = copy.read_bytes()
    done, former = restore(copy, settings, NOW)
    assert (done, former) == (Replayed(workers=1, deleted=0, closed=0), None)
    assert copy.read_bytes() == before
    assert [file.name for file in tmp_path.glob("copy*")] == ["copy.db"]
    found = rows(settings)
    ids = {row["id"] for row in found["participant"]}
    assert participant_id(then["credential"]) in ids
    assert participant_id(then["leaver"]) not in ids
    assert {row["participant_id"] for row in found["report"]} <= ids
    assert {file.name for file in (tmp_path / "here").iterdir()} == {
        "q.db",
        "q.db.lock",
        "q.db.departures",
    }
    assert (tmp_path / "here" / "q.db").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_the_former_database_is_kept_beside(settings, copy, tmp_path):
    database = Database.open(settings.database)
    migrate(database)
    with database.write() as connection:
        connection.exec_driver_sql("INSERT INTO requester VALUES (x'00', 'former')")
    keep(settings)
    _, former = restore(copy, settings, NOW)  # while somebody has it open, as `admin create-key`
    database.close()
    assert former == tmp_path / "here" / "q.db.copy-20270115T080000Z"
    with closing(sqlite3.connect(former)) as connection:
        assert connection.execute("SELECT name FROM requester").fetchall() == [("former",)]
    assert {"former"}.isdisjoint(row["name"] for row in rows(settings)["requester"])
    with pytest.raises(ParameterError, match="already exists"):
        restore(copy, settings, NOW)
    assert len(rows(settings)["participant"]) == 9


def test_a_database_that_is_damaged_is_set_aside_with_its_journal(settings, copy, tmp_path):
    file = tmp_path / "here" / "q.db"
    file.write_bytes(b"a text that is no database" * 100)
    file.with_name("q.db-wal").write_bytes(b"nor is this")
    keep(settings)
    _, former = restore(copy, settings, NOW)
    assert former.read_bytes().startswith(b"a text")
    assert former.with_name(f"{former.name}-wal").read_bytes() == b"nor is this"
    assert len(rows(settings)["participant"]) == 9


def test_what_a_server_has_is_left_alone(settings, copy, tmp_path):
    keep(settings)
    file = tmp_path / "here" / "q.db"
    with only_server(file), pytest.raises(ParameterError, match="Stop it first"):
        restore(copy, settings, NOW)
    assert not file.exists()


def test_without_knowing_who_left_nothing_is_restored(settings, copy, tmp_path):
    with pytest.raises(ParameterError, match="withdrawals since"):
        restore(copy, settings, NOW)
    there = Settings(database=settings.database, withdrawal_log=f"sqlite:///{tmp_path}/other.db")
    with pytest.raises(ParameterError, match=r"other\.db"):
        restore(copy, there, NOW)
    none = Settings(database=settings.database, withdrawal_log="none")
    assert restore(copy, none, NOW)[0].workers == 0


@pytest.mark.parametrize("kind", ["no file", "a text", "another database", "damaged"])
def test_what_is_no_copy_changes_nothing(settings, copy, tmp_path, kind):
    keep(settings)
    other = tmp_path / "other copy.db"
    if kind == "a text":
        other.write_bytes(b"a text that is no database" * 100)
    elif kind == "another database":
        with closing(sqlite3.connect(other)) as connection:
            connection.execute("CREATE TABLE other (id)")
    elif kind == "damaged":
        content = bytearray(copy.read_bytes())
        content[8_192:] = bytes(len(content) - 8_192)
        other.write_bytes(content)
    with pytest.raises(ParameterError, match=r"not a copy|is damaged|does not exist"):
        restore(other, settings, NOW)
    assert {file.name for file in (tmp_path / "here").iterdir()} == {
        "q.db.lock",
        "q.db.departures",
    } - ({"q.db.lock"} if kind == "no file" else set())


def test_a_copy_of_a_newer_version_is_refused(settings, copy):
    keep(settings)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '2.0001'")
        connection.commit()
    with pytest.raises(FormatError, match="newer quietcrowd"):
        restore(copy, settings, NOW)


def test_a_copy_of_the_other_kind_is_refused(settings, copy, tmp_path):
    with pytest.raises(
        ParameterError, match=r"--database is PostgreSQL, and .* is a copy of another"
    ):
        restore(copy, Settings(database="postgresql://me@127.0.0.1:1/name"), NOW)
    keep(settings)
    (tmp_path / "dump").write_bytes(b"PGDMP")
    with pytest.raises(ParameterError, match=r"--database is SQLite, and .* is a copy of another"):
        restore(tmp_path / "dump", settings, NOW)


@pytest.mark.nightly
@pytest.mark.parametrize("journal", ["there", "lost"])
def test_postgresql_is_restored_into_an_empty_database(postgresql_server, tmp_path, journal):
    """Copies of the journal bring back nobody who withdrew before they were made."""
    settings = Settings(
        database=postgresql_server.new_database(), withdrawal_log=postgresql_server.new_database()
    )
    load_first(settings.database)
    then = said_at_first(settings.database)
    with closing(Database.open(settings.database)) as database:
        migrate(database)
        matching_departures(settings, database).close()
        made = []
        for number in range(2):
            with closing(Departures.open(settings)) as departures:
                clock = Clock(now=NOW + number, seen=None)
                made.append(make_generation(database, departures.journal, tmp_path, clock))
            keep(settings, then["leaver"])
    again = settings.model_copy(update={"database": postgresql_server.new_database()})
    with pytest.raises(ParameterError, match="not empty"):
        restore(made[0].place, settings, NOW)
    if journal == "lost":
        again = again.model_copy(update={"withdrawal_log": postgresql_server.new_database()})
        with pytest.raises(ParameterError, match="--accept-lost-withdrawal-log"):
            restore(made[0].place, again, NOW)
        again = again.model_copy(update={"database": postgresql_server.new_database()})
    done, former = restore(made[0].place, again, NOW, lost=journal == "lost")
    assert (done.workers, former) == (1, None)
    ids = {row["id"] for row in rows(again)["participant"]}
    assert participant_id(then["credential"]) in ids
    assert participant_id(then["leaver"]) not in ids
    with ready_database(again):
        pass


def test_a_file_system_without_links_will_do(settings, copy, monkeypatch):
    keep(settings)
    restore(copy, settings, NOW)

    def refuse(*_):
        raise OSError

    monkeypatch.setattr(os, "link", refuse)
    _, former = restore(copy, settings, NOW + 1)
    assert former.stat().st_mode & 0o077 == 0
    shutil.copy(former, former.with_name("again.db"))
    with closing(sqlite3.connect(former.with_name("again.db"))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


KILLED = """
import os, signal, sys, time
from pathlib import Path
from quietcrowd.campaign.store import restore
from quietcrowd.campaign.server.settings import Settings

at = int(sys.argv[3])
calls = 0
def die_at_last(name):
    kept = getattr(os, name)
    def call(*words, **more):
        global calls
        calls += 1
        if calls == at:
            signal.raise_signal(signal.SIGKILL)
        return kept(*words, **more)
    setattr(os, name, call)
for name in ("link", "replace", "fsync", "unlink"):
    die_at_last(name)
restore.restore(Path(sys.argv[1]), Settings(database=sys.argv[2]), time.time())
"""


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("moment", [1, nightly(2), nightly(3), 4])
def test_killed_at_any_moment_there_is_the_former_or_the_restored(program, settings, copy, moment):
    database = Database.open(settings.database)
    migrate(database)
    database.close()
    keep(settings)
    program(sys.executable, "-c", KILLED, copy, settings.database, moment).finished()
    found = rows(settings)
    assert len(found["participant"]) in (0, 9)
    restore(copy, settings, time.time() + 5)
    assert len(rows(settings)["participant"]) == 9
