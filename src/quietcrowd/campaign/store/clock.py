"""The server's clock, compared with the last day seen, so that one wrong reading deletes nothing.

Retention, closing on a date and pruning of copies cannot be undone. They follow `Clock.trusted`:
the clock, or the last day seen if the clock is implausible. That ends when the clock is plausible
again or an operator confirms it.
"""

from datetime import UTC, datetime

from attrs import frozen
from sqlalchemy import inspect, select, text

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database

DAY = 86_400

MOST_DAYS = 7
"""Days that a clock may be ahead of the last day seen, because the server may have been off."""

_MOST_BACK = 1  # days that a clock may be behind the last day seen

_STORE = text(
    "INSERT INTO clock (line, day) VALUES ('', :day) ON CONFLICT (line) DO UPDATE "
    "SET day = excluded.day"
)


@frozen(kw_only=True)
class Clock:
    """A reading, in seconds since 1970, and the last day seen before, in days since 1970."""

    now: float
    seen: int | None

    @property
    def today(self) -> int:
        """The day of the reading, in days since 1970."""
        return int(self.now // DAY)

    @property
    def date(self) -> str:
        """The day of the reading, such as 2026-12-31."""
        return _date(self.today)

    @property
    def held(self) -> bool:
        """Whether the reading is implausible."""
        if self.seen is None:
            return False
        return not self.seen - _MOST_BACK <= self.today <= self.seen + MOST_DAYS

    @property
    def trusted(self) -> float:
        """The time to use for irreversible actions, in seconds since 1970."""
        return self.now if self.seen is None or not self.held else float(self.seen * DAY)

    def describe(self) -> str:
        """Describe an implausible reading."""
        assert self.seen is not None
        return (
            f"The clock shows {self.date}, and the last day seen is {_date(self.seen)}. "
            "No campaign is closed or deleted by date until the clock is right, or you run "
            "quietcrowd admin clock --confirm."
        )


def read_clock(now: float, *databases: Database | None) -> Clock:
    """Compare a reading, in seconds since 1970, with the latest day that the databases have seen.

    The journal stores the day as well, in case an older copy of the campaigns is restored.
    """
    days = [day for one in databases if one is not None and (day := _day(one)) is not None]
    return Clock(now=now, seen=max(days, default=None))


def observe_clock(now: float, *databases: Database | None) -> Clock:
    """Call `read_clock`, and store the day if the reading is plausible."""
    clock = read_clock(now, *databases)
    if not clock.held and (clock.seen is None or clock.today > clock.seen):
        confirm_clock(now, *databases)
    return clock


def confirm_clock(now: float, *databases: Database | None) -> None:
    """Store the day of a reading, even if it is implausible."""
    for one in databases:
        if one is not None:
            with one.write() as connection:
                connection.execute(_STORE, {"day": int(now // DAY)})


def _day(database: Database) -> int | None:
    with database.read() as connection:
        if not inspect(connection).has_table(tables.clock.name):  # of an older version
            return None
        return connection.scalar(select(tables.clock.c.day))


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * DAY, UTC).date().isoformat()
