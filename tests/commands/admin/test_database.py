"""``quietcrowd admin clock``, ``doctor``, ``backup`` and ``restore``."""

import sqlite3
import time
from contextlib import closing
from stat import S_IMODE
from types import SimpleNamespace

import pytest
from tests.campaign.damage import damage
from tests.campaign.older_databases import all_revisions, load_first, said_at_first

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.clock import DAY, confirm_clock, read_clock
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.generations import KEPT, copy_at
from quietcrowd.campaign.store.opening import only_server, ready_database
from quietcrowd.campaign.store.revisions import found_revision, newest_revision
from quietcrowd.campaign.store.withdrawals.journal import Departures, trace_of


@pytest.mark.parametrize("days", [200, -200])
def test_an_operator_confirms_a_clock(run, tmp_path, days):
    url = f"sqlite:///{tmp_path}/q.db"
    now = time.time()
    with ready_database(Settings(database=url), clock=lambda: now + days * DAY):
        pass
    words = ("admin", "clock", "--database", url)
    status, _, told = run(*words)
    assert (status, "admin clock --confirm" in told) == (0, True)
    assert "The clock is confirmed." in run(*words, "--confirm")[2]
    assert "The clock is plausible." in run(*words)[2]
    for file in (tmp_path / "q.db", tmp_path / "q.db.departures"):
        with closing(Database.open(f"sqlite:///{file}")) as database:
            assert abs(read_clock(now, database).seen - now // DAY) <= 1


def test_no_clock_is_confirmed_without_a_database(run, tmp_path):
    status, _, told = run("admin", "clock", "--database", f"sqlite:///{tmp_path}/no.db")
    assert (status, "does not exist" in told) == (2, True)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def settings(tmp_path):
    found = Settings(database=f"sqlite:///{tmp_path}/q.db")
    with ready_database(found), closing(Departures.open(found)) as departures:
        departures.leave(b"campaign", b"worker", b"kept")
    return found


@pytest.fixture
def copies(run, settings, tmp_path):
    folder = tmp_path / "copies"
    folder.mkdir()
    assert run("admin", "backup", folder, "--database", settings.database)[0] == 0
    return folder


@pytest.fixture
def examine(run, settings, copies):
    """Return what examines, and returns the status and the problems."""

    def found(**changed):
        given = settings.model_copy(update=changed)
        words = ["--withdrawal-log", given.withdrawal_log] if given.withdrawal_log else []
        status, printed, told = run("admin", "doctor", copies, "--database", given.database, *words)
        problems = [line for line in printed.splitlines() if not line.startswith("ok ")]
        assert len(told.splitlines()) == (1 if status else 0)
        return status, "\n".join(problems)

    return found


def test_all_is_well(examine, copies, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    assert examine() == (0, "")
    assert set(before) >= {one for one in tmp_path.rglob("*") if one.is_relative_to(copies)}


@pytest.mark.parametrize(
    ("name", "table", "cause"),
    [
        ("q.db", "sketch", "PROBLEM database: it is damaged."),
        ("q.db.departures", "departure", "PROBLEM journal: it is damaged."),
    ],
)
def test_damage_is_named(examine, tmp_path, name, table, cause):
    damage(tmp_path / name, table)
    status, problems = examine()
    assert status == 2
    assert problems.startswith(cause)


def test_a_copy_that_is_damaged_is_named(examine, copies):
    [made] = copies.iterdir()
    (made / "departures.db").write_bytes(b"damage")
    status, problems = examine()
    assert status == 2
    assert f"{made.name}: departures.db is damaged or missing" in problems
    assert "there is no good copy with a journal" in problems
    (made / "manifest.json").unlink()
    assert f"{made.name}: it has no manifest" in examine()[1]


def test_what_is_missing_is_named(examine, tmp_path):
    (tmp_path / "q.db.departures").unlink()
    assert "PROBLEM journal: there is no" in examine()[1]
    (tmp_path / "q.db").unlink()
    assert "PROBLEM database: there is no" in examine()[1]
    assert not (tmp_path / "q.db").exists()


@pytest.mark.slow
def test_a_journal_that_lacks_entries_or_is_another_one_is_named(examine, settings, tmp_path):
    with closing(Departures.open(settings)) as departures:
        departures.forget([trace_of(b"campaign")])
    status, problems = examine()
    assert status == 2
    assert "PROBLEM copies: the journal lacks 1 entries" in problems
    other = Settings(database=f"sqlite:///{tmp_path}/other.db")
    with ready_database(other):
        pass
    assert (
        "belongs to another database"
        in examine(withdrawal_log=f"sqlite:///{tmp_path}/other.db.departures")[1]
    )


@pytest.mark.slow
def test_a_copy_of_another_database_is_named(examine, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    again = Settings(database=f"sqlite:///{other}/q.db")
    with ready_database(again):
        pass
    assert "it is a copy of another database" in examine(database=again.database)[1]


def test_a_clock_that_is_held_is_named(examine, tmp_path):
    for name in ("q.db", "q.db.departures"):
        with closing(Database.open(f"sqlite:///{tmp_path}/{name}")) as database:
            confirm_clock(0.0, database)
    assert "PROBLEM clock: The clock shows" in examine()[1]


def test_no_place_of_copies_is_an_error(run, settings, tmp_path):
    status, _, told = run("admin", "doctor", tmp_path / "q.db", "--database", settings.database)
    assert (status, "not a directory of copies" in told) == (2, True)
    assert run("admin", "doctor", "--database", settings.database)[0] == 0


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
    status, printed, told = run("admin", "migrate", "--database", first, "--dry-run")
    assert status == 0
    assert [line.split()[0] for line in printed.splitlines()] == all_revisions()[1:]
    assert "0004  Images that tasks show." in printed
    assert "Nothing was changed." in told
    assert (tmp_path / "q.db").read_bytes() == before
    assert not list(tmp_path.glob("*copy*"))
    assert revision(first) == "0001"


def test_a_copy_comes_first(run, first, tmp_path):
    status, printed, told = run("admin", "migrate", "--database", first)
    assert status == 0
    assert revision(first) == newest_revision()
    [copy, _] = sorted(tmp_path.glob("q.db.copy-*"))
    assert str(copy) in told
    assert revision(f"sqlite:///{copy}") == "0001"
    assert len(printed.splitlines()) == len(all_revisions()) - 1
    status, printed, told = run("admin", "migrate", "--database", first)
    assert (status, printed) == (0, "")
    assert "up to date" in told
    assert len(list(tmp_path.glob("q.db.copy-*"))) == 2


def test_the_first_day_of_the_clock_is_stored_and_printed(run, first, monkeypatch):
    """Before, a server trusted its first reading after an upgrade, and deleted by it."""
    wrong = 1_900_000_000.0
    monkeypatch.setattr(
        "quietcrowd.commands.admin.database.time", SimpleNamespace(time=lambda: wrong)
    )
    status, _, told = run("admin", "migrate", "--database", first, "--no-backup")
    assert (status, "clock shows 2030-03-17" in told) == (0, True)
    with closing(Database.open(first)) as database:
        assert not read_clock(wrong, database).held
        assert read_clock(wrong - 200 * DAY, database).held
        assert read_clock(wrong + 200 * DAY, database).held


def test_without_a_copy_there_is_a_warning(run, first, tmp_path):
    status, _, told = run("admin", "migrate", "--database", first, "--no-backup")
    assert status == 0
    assert "Warning: no copy" in told
    assert not list(tmp_path.glob("*copy*"))
    assert revision(first) == newest_revision()


def test_what_a_server_has_or_is_not_there_is_not_migrated(run, first, tmp_path):
    with only_server(tmp_path / "q.db"):
        status, _, told = run("admin", "migrate", "--database", first)
    assert (status, revision(first)) == (2, "0001")
    assert "Stop it first" in told
    status, _, told = run("admin", "migrate", "--database", f"sqlite:///{tmp_path}/no.db")
    assert status == 2
    assert "does not exist" in told
    assert not (tmp_path / "no.db").exists()


@pytest.mark.nightly
def test_postgresql_is_dumped_first(run, first_postgresql, tmp_path, monkeypatch):
    words = ("admin", "migrate", "--database", first_postgresql, "--copies", tmp_path)
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
    for words in (("serve",), ("admin", "create-key", "me")):
        status, _, told = run(*words, "--database", first)
        assert status == 2
        [line] = told.splitlines()
        assert "quietcrowd admin migrate" in line
    assert revision(first) == "0001"
    assert not list(tmp_path.glob("*copy*"))


def test_on_postgresql_a_server_has_to_know_where_it_is_kept_who_left(run):
    status, _, told = run("serve", "--database", "postgresql://me:secret@127.0.0.1:1/name")
    assert (status, "--withdrawal-log" in told, "secret" in told) == (2, True, False)


def test_copies_in_a_folder_are_kept_for_so_many_days(run, first, tmp_path):
    folder = tmp_path / "copies"
    folder.mkdir()
    old = folder / "q.db.copy-20200101T000000Z"
    old.write_text("a copy of an older version")
    words = ("admin", "backup", folder, "--database", first)
    for number in range(KEPT):
        assert run(*words)[0] == 0
        [made] = folder.glob("q.db.copy-202[2-9]*")
        made.rename(folder / f"q.db.copy-2021010{number + 1}T000000Z")
    assert old.exists()
    status, _, told = run(*words, "--keep-days", 30)
    assert (status, told.count("Deleted ")) == (0, 2)
    left = sorted(one.name for one in folder.iterdir())
    assert left[: KEPT - 1] == ["q.db.copy-20210102T000000Z", "q.db.copy-20210103T000000Z"]
    assert len(left) == KEPT
    status, _, told = run(
        "admin", "backup", tmp_path / "one.db", "--database", first, "--keep-days", 30
    )
    assert (status, "requires a directory of copies" in told) == (2, True)


@pytest.mark.slow
def test_a_backup_keeps_the_journal_of_the_one_before(run, tmp_path):
    """Before, a journal of 8 entries was replaced by an empty one, with exit status 0."""
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db")
    folder = tmp_path / "copies"
    folder.mkdir()
    words = ("admin", "backup", folder, "--database", settings.database)
    with ready_database(settings), closing(Departures.open(settings)) as departures:
        for number in range(8):
            departures.leave(b"campaign", bytes([number]), b"kept")
        status, _, told = run(*words)
    [made] = folder.iterdir()
    assert (status, f"Copied to {made}." in told) == (0, True)
    made = made.rename(folder / "q.db.copy-20210101T000000Z")  # two have the same name in a second
    for file in made.iterdir():
        assert S_IMODE(file.stat().st_mode) == 0o600
    for file in tmp_path.glob("q.db*"):
        file.unlink()
    with ready_database(settings):  # on empty databases
        pass
    status, _, told = run(*words)
    [line] = told.splitlines()
    assert (status, "lacks 8 entries" in line, "--accept-lost-withdrawal-log" in line) == (
        2,
        True,
        True,
    )
    assert list(folder.iterdir()) == [made]
    status, _, told = run("admin", "restore", made, "--database", settings.database)
    assert (status, "--accept-lost-withdrawal-log" in told) == (2, True)
    words = (
        "admin",
        "restore",
        made,
        "--database",
        settings.database,
        "--accept-lost-withdrawal-log",
    )
    assert run(*words)[0] == 0
    with closing(sqlite3.connect(tmp_path / "q.db.departures")) as connection:
        assert connection.execute("SELECT count(*) FROM departure").fetchone() == (8,)


def test_a_lost_journal_is_backed_up_once_somebody_says_so(run, tmp_path):
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db")
    folder = tmp_path / "copies"
    folder.mkdir()
    words = ("admin", "backup", folder, "--database", settings.database)
    with ready_database(settings), closing(Departures.open(settings)) as departures:
        departures.leave(b"campaign", b"worker", b"kept")
        assert run(*words)[0] == 0
        [made] = folder.iterdir()
        made.rename(folder / "q.db.copy-20210101T000000Z")
        departures.forget([trace_of(b"campaign")])
        status, _, told = run(*words)
        assert (status, "lacks 1 entries" in told) == (2, True)
        assert run(*words, "--withdrawal-log", "none")[0] == 2
        assert run(*words, "--accept-lost-withdrawal-log")[0] == 0
    assert len(list(folder.iterdir())) == 2


def test_a_copy_in_a_file_has_its_manifest_beside_it(run, first, tmp_path):
    copy = tmp_path / "copy.db"
    assert run("admin", "backup", copy, "--database", first)[0] == 0
    assert copy_at(copy).damaged_file() is None
    with copy.open("r+b") as content:
        content.write(b"damage")
    status, _, told = run("admin", "restore", copy, "--database", first, "--withdrawal-log", "none")
    assert (status, "is damaged" in told) == (2, True)


def test_a_journal_that_is_not_known_is_told(run, first, tmp_path):
    words = ("admin", "backup", tmp_path, "--database", first, "--withdrawal-log")
    assert "name the journal with --withdrawal-log" in run(*words, "none")[2]


def test_a_copy_is_restored_though_the_journal_was_lost(run, tmp_path):
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db")
    with ready_database(settings):
        pass
    copy = tmp_path / "copy.db"
    run("admin", "backup", copy, "--database", settings.database)
    (tmp_path / "q.db.departures").unlink()
    words = ("admin", "restore", copy, "--database", settings.database)
    status, _, told = run(*words)
    assert (status, "--accept-lost-withdrawal-log" in told) == (2, True)
    assert run(*words, "--accept-lost-withdrawal-log")[0] == 0
    with ready_database(settings):
        pass


def test_a_copy_is_put_in_place(run, first, tmp_path):
    copy = tmp_path / "copy.db"
    assert run("admin", "backup", copy, "--database", first)[0] == 0
    words = ("admin", "restore", copy, "--database", first)
    status, _, told = run(*words)
    assert (status, "withdrawals since" in told) == (2, True)
    status, _, told = run(*words, "--withdrawal-log", "none")
    assert status == 0
    assert "Deleted again: 0 workers and 0 campaigns; closed again: 0 campaigns." in told
    [former] = tmp_path.glob("q.db.copy-*")
    assert str(former) in told
    assert revision(first) == newest_revision()
    with closing(sqlite3.connect(tmp_path / "q.db")) as connection:
        ids = connection.execute("SELECT hex(id) FROM campaign").fetchall()
    assert {one.lower() for (one,) in ids} == set(said_at_first(first)["campaigns"].values())
