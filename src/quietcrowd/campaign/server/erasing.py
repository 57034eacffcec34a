"""A thread empties SQLite's journal: it holds what was deleted, and the order in which all came."""

from __future__ import annotations

import sqlite3
from threading import Event, Thread

from attrs import define, field

from quietcrowd.campaign.server.logs import log_failure
from quietcrowd.campaign.store.database import Database

__all__ = ["Eraser"]

_EVERY = 2.0
"""Seconds between two times."""

_AGAIN = 0.5
"""Seconds after which to try again where somebody was reading."""

_LAST = 10
"""How often to try at the end; the next server goes on."""


@define(kw_only=True)
class Eraser:
    """Empties the journal of a database every few seconds, and as soon as nobody reads.

    Attributes
    ----------
    database : Database
        Of SQLite; in PostgreSQL there is nothing to do.
    """

    database: Database
    _ended: Event = field(factory=Event, init=False)
    _thread: Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = Thread(target=self._run, name="eraser", daemon=True)
        if self.database.path is not None:
            self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the journal is emptied, where there is one."""
        return self.database.path is None or self._thread.is_alive()

    def close(self) -> None:
        """Empty the journal once more, and end."""
        self._ended.set()
        if self.database.path is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_EVERY if self._empty() else _AGAIN):
            pass
        for _ in range(_LAST):
            if self._empty():
                return

    def _empty(self) -> bool:
        try:
            return self.database.empty_journal()
        except (sqlite3.Error, OSError) as error:
            log_failure("eraser", error)
            return False
