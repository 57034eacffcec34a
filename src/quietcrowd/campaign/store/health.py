"""Test whether databases accept writes, by small periodic writes and the outcome of real ones."""

import shutil
import time
from collections.abc import Iterator
from threading import Lock
from typing import Literal, NamedTuple, TypeAlias

from attrs import define, field
from sqlalchemy import text

from quietcrowd.campaign.store.database import UNAVAILABLE, Database
from quietcrowd.campaign.store.failures import cause_of, database_code
from quietcrowd.campaign.store.withdrawals.journal import Departures

Place: TypeAlias = Literal["database", "departures"]

_EVERY = 5.0  # seconds between probes, and for which an outcome counts
_ROWS = 300  # rows to write and roll back: several pages of either database

_COLUMNS: dict[Place, tuple[str, str]] = {
    "database": ("alembic_version", "version_num"),
    "departures": ("probe", "line"),
}

_SPACE = 2**20
_BRIEFLY = "SET LOCAL lock_timeout = '2s'"


class Unwritable(NamedTuple):
    """A database that rejects writes, and the error's code, or its class if it has none."""

    place: Place
    code: str


@define(kw_only=True)
class WriteProbe:
    """A test whether the database of campaigns and the journal of withdrawals accept writes.

    It inserts rows that need disk space and rolls them back, then rewrites an existing row. Neither
    table reveals when workers act, and workers' actions do not influence when it writes.
    """

    database: Database
    departures: Departures
    _lock: Lock = field(factory=Lock, init=False)
    _tried: float | None = field(default=None, init=False)
    _told: Unwritable | None = field(default=None, init=False)

    def why_not(self) -> Unwritable | None:
        """Return a database that rejects writes, or None; probe once in `_EVERY` seconds."""
        with self._lock:
            now = time.monotonic()
            if self._tried is None or now - self._tried >= _EVERY:
                self._told, self._tried = self._try(), now
            places = list(self._places())
            for place, database in places:
                if database.damage is not None:
                    return Unwritable(place, database.damage)
            if self._told is not None:
                return self._told
            for place, database in places:
                failed = database.failed_write
                if failed is not None and now - failed.moment < _EVERY:
                    return Unwritable(place, failed.code)
        return None

    def _places(self) -> Iterator[tuple[Place, Database]]:
        yield "database", self.database
        if self.departures.journal is not None:
            yield "departures", self.departures.journal

    def _try(self) -> Unwritable | None:
        for place, database in self._places():
            try:
                _write(database, *_COLUMNS[place])
            except UNAVAILABLE as error:
                path = database.path if cause_of(error) == "full" else None
                if path is not None and shutil.disk_usage(path.parent).free > _SPACE:
                    database.is_intact()  # damage can look like a full disk
                return Unwritable(place, database_code(error) or type(error).__name__)
        return None


def _write(database: Database, table: str, column: str) -> None:
    with database.write() as connection:
        if database.path is None:
            connection.execute(text(_BRIEFLY))
        taken_back = connection.begin_nested()
        rows = [{"text": f"room-{number:027d}"} for number in range(_ROWS)]
        connection.execute(text(f"INSERT INTO {table} ({column}) VALUES (:text)"), rows)
        taken_back.rollback()
        connection.execute(text(f"UPDATE {table} SET {column} = {column}"))
