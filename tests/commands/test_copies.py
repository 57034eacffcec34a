"""``quietcrowd campaign backup``, ``restore`` and ``migrate``."""

import sqlite3
import time
from contextlib import closing
from stat import S_IMODE

import pytest
from tests.campaign.older_databases import all_revisions, load_first, said_at_first

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.departures import Departures
from quietcrowd.campaign.store.opening import only_server, ready_database
from quietcrowd.campaign.store.revisions import found_revision, newest_revision


def revision(url):
    database = Database.open(url)
    with database.read() as connection:
        found = found_revision(connection)
    database.close()
    return found


@pytest.fixture
def first(tmp_path):
    url = f"sqlite:///{tmp_path}/q.db"
    load_first(url)
    with closing(sqlite3.connect(tmp_path / "q.db")) as connection:
        connection.execute("PRAGMA journal_mode=WAL")  # as a server leaves it
    return url


@pytest.fixture
def first_postgresql(postgresql_server):
    url = postgresql_server.new_database()
    load_first(url)
    return url


def test_a_dry_run_tells_and_changes_nothing(run, first, tmp_path):
    before = (tmp_path / "q.db").read_bytes()
    status, printed, told = run("campaign", "migrate", "--database", first, "--dry-run")
    assert status == 0
    assert [line.split()[0] for line in printed.splitlines()] == all_revisions()[1:]
    assert "0004  Images that tasks show." in printed
    assert "Nothing was changed." in told
    assert (tmp_path / "q.db").read_bytes() == before
    assert not list(tmp_path.glob("*copy*"))
    assert revision(first) == "0001"


def test_a_copy_comes_first(run, first, tmp_path):
    status, printed, told = run("campaign", "migrate", "--database", first)
    assert status == 0
    assert revision(first) == newest_revision()
    [copy] = tmp_path.glob("q.db.copy-*")
    assert str(copy) in told
    assert revision(f"sqlite:///{copy}") == "0001"
    assert len(printed.splitlines()) == len(all_revisions()) - 1
    status, printed, told = run("campaign", "migrate", "--database", first)
    assert (status, printed) == (0, "")
    assert "nothing to do" in told
    assert list(tmp_path.glob("q.db.copy-*")) == [copy]


def test_without_a_copy_there_is_a_warning(run, first, tmp_path):
    status, _, told = run("campaign", "migrate", "--database", first, "--no-backup")
    assert status == 0
    assert "Warning: no copy" in told
    assert not list(tmp_path.glob("*copy*"))
    assert revision(first) == newest_revision()


def test_what_a_server_has_or_is_not_there_is_not_migrated(run, first, tmp_path):
    with only_server(tmp_path / "q.db"):
        status, _, told = run("campaign", "migrate", "--database", first)
    assert (status, revision(first)) == (2, "0001")
    assert "stop that one first" in told
    status, _, told = run("campaign", "migrate", "--database", f"sqlite:///{tmp_path}/no.db")
    assert status == 2
    assert "there is no database" in told
    assert not (tmp_path / "no.db").exists()


def test_postgresql_is_dumped_first(run, first_postgresql, tmp_path, monkeypatch):
    words = ("campaign", "migrate", "--database", first_postgresql, "--copies", tmp_path)
    with monkeypatch.context() as nothing:
        nothing.setenv("PATH", str(tmp_path))
        status, _, told = run(*words)
        assert (status, "--no-backup" in told) == (2, True)
    assert revision(first_postgresql) == "0001"
    assert run(*words)[0] == 0
    [dump] = tmp_path.glob("*.dump")
    assert dump.read_bytes().startswith(b"PGDMP")
    assert revision(first_postgresql) == newest_revision()


def test_a_server_refuses_what_is_older_and_says_what_to_do(run, first, tmp_path):
    for words in (("serve",), ("campaign", "key", "me")):
        status, _, told = run(*words, "--database", first)
        assert status == 2
        [line] = told.splitlines()
        assert "quietcrowd campaign migrate" in line
    assert revision(first) == "0001"
    assert not list(tmp_path.glob("*copy*"))


def test_on_postgresql_a_server_has_to_know_where_it_is_kept_who_left(run):
    status, _, told = run("serve", "--database", "postgresql://me:secret@127.0.0.1:1/name")
    assert (status, "--departures" in told, "secret" in told) == (2, True, False)


def test_copies_in_a_folder_are_kept_for_so_many_days(run, first, tmp_path):
    folder = tmp_path / "copies"
    folder.mkdir()
    old = folder / "q.db.copy-20200101T000000Z"
    old.write_text("an old copy")
    words = ("campaign", "backup", folder, "--database", first)
    assert run(*words)[0] == 0
    assert old.exists()
    (made,) = folder.glob("q.db.copy-202[1-9]*")
    made.rename(folder / "q.db.copy-20210101T000000Z")
    status, _, told = run(*words, "--keep-days", 30)
    assert (status, told.count("Deleted ")) == (0, 2)
    [left] = folder.iterdir()
    assert left.name.startswith("q.db.copy-")
    status, _, told = run(
        "campaign", "backup", tmp_path / "one.db", "--database", first, "--keep-days", 30
    )
    assert (status, "for a folder of copies" in told) == (2, True)


def test_the_newest_copy_of_who_left_lies_beside_the_copies(run, tmp_path):
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db")
    folder = tmp_path / "copies"
    folder.mkdir()
    words = ("campaign", "backup", folder, "--database", settings.database)
    with ready_database(settings), closing(Departures.open(settings)) as departures:
        newest = folder / "q.db.departures.newest"
        for count in (1, 2):
            departures.leave(b"campaign", bytes([count]), b"kept")
            assert f"Who left is copied to {newest}." in run(*words)[2]
            time.sleep(1.1)  # a copy is named by the second
            assert S_IMODE(newest.stat().st_mode) == 0o600
            with closing(sqlite3.connect(newest)) as connection:
                assert connection.execute("SELECT count(*) FROM departure").fetchone() == (count,)
    assert len(list(folder.iterdir())) == 3
    (tmp_path / "q.db.departures").unlink()
    copy = next(folder.glob("q.db.copy-*"))
    newest.rename(tmp_path / "q.db.departures")
    restored = run("campaign", "restore", copy, "--database", settings.database)
    assert restored[0] == 0, restored


def test_a_journal_that_is_not_known_is_told(run, first, tmp_path):
    words = ("campaign", "backup", tmp_path, "--database", first, "--departures")
    assert "name the journal with --departures" in run(*words, "none")[2]


def test_a_copy_is_restored_though_the_journal_was_lost(run, tmp_path):
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db")
    with ready_database(settings):
        pass
    copy = tmp_path / "copy.db"
    run("campaign", "backup", copy, "--database", settings.database)
    (tmp_path / "q.db.departures").unlink()
    words = ("campaign", "restore", copy, "--database", settings.database)
    status, _, told = run(*words)
    assert (status, "--departures-lost" in told) == (2, True)
    assert run(*words, "--departures-lost")[0] == 0
    with ready_database(settings):
        pass


def test_a_copy_is_put_in_place(run, first, tmp_path):
    copy = tmp_path / "copy.db"
    assert run("campaign", "backup", copy, "--database", first)[0] == 0
    words = ("campaign", "restore", copy, "--database", first)
    status, _, told = run(*words)
    assert (status, "who left since" in told) == (2, True)
    status, _, told = run(*words, "--departures", "none")
    assert status == 0
    assert "Deleted again: 0 workers and 0 campaigns; closed again: 0 campaigns." in told
    [former] = tmp_path.glob("q.db.copy-*")
    assert str(former) in told
    assert revision(first) == newest_revision()
    with closing(sqlite3.connect(tmp_path / "q.db")) as connection:
        ids = connection.execute("SELECT hex(id) FROM campaign").fetchall()
    assert {one.lower() for (one,) in ids} == set(said_at_first(first)["campaigns"].values())
