"""One wrong reading of the clock deletes nothing."""

from contextlib import closing

import pytest

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.clock import (
    DAY,
    MOST_DAYS,
    Clock,
    confirm_clock,
    observe_clock,
    read_clock,
)
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import migrate
from quietcrowd.campaign.store.withdrawals.journal import Departures

TODAY = 20_800
NOON = DAY // 2


@pytest.fixture
def database(new_database):
    with closing(Database.open(new_database)) as opened:
        migrate(opened)
        yield opened


@pytest.fixture
def journal(new_database, tmp_path):
    settings = Settings(database=new_database, withdrawal_log=f"sqlite:///{tmp_path}/left.db")
    with closing(Departures.open(settings)) as departures:
        yield departures.journal


@pytest.mark.parametrize(
    ("days", "held"),
    [
        (0, False),
        (-1, False),
        (-2, True),
        (-TODAY, True),
        (MOST_DAYS, False),
        (MOST_DAYS + 1, True),
        (200, True),
    ],
)
def test_a_jump_is_held(days, held):
    clock = Clock(now=(TODAY + days) * DAY + NOON, seen=TODAY)
    assert clock.held is held
    assert clock.trusted == (TODAY * DAY if held else clock.now)
    assert Clock(now=clock.now, seen=None).held is False


def test_days_are_stored_one_after_the_other(database, journal):
    def observe(day):
        return observe_clock(day * DAY + NOON, database, journal)

    assert observe(TODAY).seen is None
    assert observe(TODAY + 200).held
    for day in range(TODAY, TODAY + 50, MOST_DAYS):
        assert not observe(day).held
    last = TODAY + 49
    assert observe(last + 200).seen == last
    assert not observe(last - 1).held
    assert observe(last).seen == last
    for far in (last + 200, last - 200):
        assert observe(far).held
        confirm_clock(far * DAY, database, journal)
        assert not observe(far).held
        assert read_clock(far * DAY, database, journal).seen == far


def test_a_restored_database_has_the_day_of_its_journal(database, journal):
    confirm_clock((TODAY - 60) * DAY, database)
    assert read_clock(TODAY * DAY, database, None).held
    confirm_clock(TODAY * DAY, journal)
    assert not read_clock(TODAY * DAY, database, journal).held


def test_a_database_of_an_older_version_holds_nothing(new_database):
    with closing(Database.open(new_database)) as opened:
        assert read_clock(TODAY * DAY, opened) == Clock(now=TODAY * DAY, seen=None)


def test_an_implausible_clock_is_described():
    told = Clock(now=(TODAY + 200) * DAY, seen=TODAY).describe()
    assert "2027-07-01" in told
    assert "2026-12-13" in told
    assert "admin clock --confirm" in told
