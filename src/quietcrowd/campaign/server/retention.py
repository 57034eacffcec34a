"""The thread that deletes what is held of workers once its time is over."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from attrs import define, field

from quietcrowd.campaign.server.logs import log_failure
from quietcrowd.campaign.store.database import UNAVAILABLE, Database
from quietcrowd.campaign.store.retention import delete_expired, some_expired

__all__ = ["RetentionKeeper"]

_EVERY = 600.0
"""Seconds between two looks at what has to go."""


@define(kw_only=True)
class RetentionKeeper:
    """Deletes all of workers from campaigns that have been closed for long enough.

    Attributes
    ----------
    database : Database
        Of the campaigns.
    clock : callable
        Says the seconds since 1970.
    deleted : callable
        Is told, after a commit, of each campaign whose workers were deleted.
    """

    database: Database
    clock: Callable[[], float]
    deleted: Callable[[bytes], None]
    _ended: Event = field(factory=Event, init=False)
    _thread: Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = Thread(target=self._run, name="retention", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether anything is deleted at all."""
        return self._thread.is_alive()

    def close(self) -> None:
        """End."""
        self._ended.set()
        self._thread.join()

    def look(self) -> None:
        """Delete what has to go now."""
        with self.database.read() as connection:
            if not some_expired(connection, self.clock()):
                return
        with self.database.write() as connection:
            over = delete_expired(connection, self.clock())
        for campaign in over:
            self.deleted(campaign)

    def _run(self) -> None:
        while True:
            try:
                self.look()
            except UNAVAILABLE as error:
                log_failure("retention", error, timed=True)
            if self._ended.wait(_EVERY):
                return
