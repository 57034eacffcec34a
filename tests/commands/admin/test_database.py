"""``quietcrowd admin clock`` and ``doctor``."""

import time
from contextlib import closing

import pytest
from tests.campaign.damage import damage

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.clock import DAY, confirm_clock, read_clock
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import ready_database
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
    assert "PROBLEM clock: The clock says" in examine()[1]


def test_no_place_of_copies_is_an_error(run, settings, tmp_path):
    status, _, told = run("admin", "doctor", tmp_path / "q.db", "--database", settings.database)
    assert (status, "not a directory of copies" in told) == (2, True)
    assert run("admin", "doctor", "--database", settings.database)[0] == 0
