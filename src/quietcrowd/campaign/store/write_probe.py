"""Whether anything can be written: a small write, now and then, and what became of real ones."""

from __future__ import annotations

import time
from threading import Lock

from attrs import define, field
from sqlalchemy import text

from quietcrowd.campaign.store.database import UNAVAILABLE, Database
from quietcrowd.campaign.store.failures import database_code

__all__ = ["WriteProbe"]

_EVERY = 5.0
"""Seconds between two small writes; for as long an outcome counts."""

_ROWS = 300
"""Rows that are written and taken back: several pages of either database."""

_FILL = "INSERT INTO alembic_version (version_num) VALUES (:text)"
_TOUCH = "UPDATE alembic_version SET version_num = version_num"
_BRIEFLY = "SET LOCAL lock_timeout = '2s'"


@define(kw_only=True)
class WriteProbe:
    """Tells whether a database takes what is written.

    It writes to the table of the revision, of which nothing tells who came when: rows that need
    room and are taken back, and the revision as it was. So whatever workers do changes nothing in
    when it writes.

    Attributes
    ----------
    database : Database
        With its tables.
    """

    database: Database
    _lock: Lock = field(factory=Lock, init=False)
    _tried: float | None = field(default=None, init=False)
    _told: str | None = field(default=None, init=False)

    def why_not(self) -> str | None:
        """Return what the database says where nothing can be written, and None where it can.

        It is tried at most once in a few seconds; what real writes met in that time counts too.
        """
        with self._lock:
            now = time.monotonic()
            if self._tried is None or now - self._tried >= _EVERY:
                self._told, self._tried = self._try(), now
            failed = self.database.failed_write
            if self._told is None and failed is not None and now - failed.moment < _EVERY:
                return failed.code
            return self._told

    def _try(self) -> str | None:
        try:
            with self.database.write() as connection:
                if self.database.path is None:
                    connection.execute(text(_BRIEFLY))
                taken_back = connection.begin_nested()
                rows = [{"text": f"room-{number:027d}"} for number in range(_ROWS)]
                connection.execute(text(_FILL), rows)
                taken_back.rollback()
                connection.execute(text(_TOUCH))
        except UNAVAILABLE as error:
            return database_code(error) or type(error).__name__
        return None
