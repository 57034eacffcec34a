"""The thread that closes campaigns on schedule, and deletes data at the end of its retention."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from attrs import define, field

from quietcrowd.campaign.server.logs import log_failure
from quietcrowd.campaign.store.clock import observe_clock
from quietcrowd.campaign.store.dashboards import delete_ended, some_ended
from quietcrowd.campaign.store.database import UNAVAILABLE, Database
from quietcrowd.campaign.store.lifecycle import (
    close_due,
    delete_expired,
    due_campaigns,
    some_expired,
)
from quietcrowd.campaign.store.withdrawals.journal import Departures, trace_of

_EVERY = 600.0
"""Seconds between two checks."""

_DAY = 86_400


@define(kw_only=True)
class RetentionKeeper:
    """Scheduled closing and deletion, in a thread.

    Campaigns are closed after their last day. Workers are deleted at the end of their retention,
    and dashboard codes and tokens when they expire. Once a day the database is checked for damage.
    `changed` is called, after the commit, for each campaign whose results may change.
    """

    database: Database
    departures: Departures
    clock: Callable[[], float]
    changed: Callable[[bytes], None]
    _checked: int | None = field(default=None, init=False)
    _ended: Event = field(factory=Event, init=False)
    _thread: Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = Thread(target=self._run, name="retention", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stop the thread."""
        self._ended.set()
        self._thread.join()

    def look(self) -> None:
        """Close campaigns that are due and delete expired data, unless the clock is implausible."""
        now = self.clock()
        clock = observe_clock(now, self.database, self.departures.journal)
        if self._checked != clock.today:
            self._checked = clock.today
            self.database.is_intact()
        if clock.held:
            return
        with self.database.read() as connection:
            due = due_campaigns(connection, now)
            expired, ended = some_expired(connection, now), some_ended(connection, now)
        for campaign in due:
            with self.database.write() as connection:
                changed = close_due(connection, self.departures, campaign, now)
            if changed:
                self.changed(campaign)
        if ended:
            with self.database.write() as connection:
                delete_ended(connection, now)
        if not expired:
            return
        with self.database.write() as connection:
            over = delete_expired(connection, now)
        for campaign in over:
            self.changed(campaign)
        self.departures.forget(map(trace_of, over))

    def _run(self) -> None:
        while True:
            try:
                self.look()
            except UNAVAILABLE as error:
                log_failure("retention", error, timed=True)
            if self._ended.wait(_pause(self.clock())):
                return


def _pause(now: float) -> float:
    """Return the seconds until the next check: at most until midnight UTC."""
    return min(_EVERY, _DAY - now % _DAY)
