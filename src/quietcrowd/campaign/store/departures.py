"""Who left, and which campaigns ended: kept outside of the database, so that no copy undoes it.

An entry is written, and on the disk, before the transaction commits that deletes: who was told that
all is gone does not come back with a copy, whenever the server ends. An entry of a worker whose
transaction did not commit is done by the next server that starts: somebody asked for it. That of a
campaign is taken back: see `endings`.

Entries have no time, and name nobody: they hold *traces*, hashes of ids, which only who has the ids
can look up. They lie in the order of these. Those of workers go when their campaign is deleted, or
its time is over; that it ended stays.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any, Literal, TypeAlias

from attrs import field, frozen
from sqlalchemy import (
    Column,
    Connection,
    LargeBinary,
    MetaData,
    Table,
    Text,
    delete,
    inspect,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database, look_up
from quietcrowd.campaign.store.failures import explain
from quietcrowd.campaign.store.places import Places
from quietcrowd.campaign.store.same_database import same_database
from quietcrowd.campaign.store.table_kinds import STRICT, WHOLE
from quietcrowd.exceptions import ParameterError

__all__ = [
    "CONNECTIONS",
    "NOWHERE",
    "Departures",
    "Ending",
    "ending",
    "place_of_departures",
    "trace_of",
]

NOWHERE = "none"
"""Instead of a URL: who left is kept in the database alone."""

Ending: TypeAlias = Literal["closed", "deleted"]

_LOCK = 7_117_203
"""Of PostgreSQL: two servers that start at once make the tables one after the other."""

_SMALL, _SELDOM = 2**20, 60.0
"""A file of so many bytes is written anew as often as its journal is emptied, a larger one after so
many seconds."""

_SOME = 10_000
"""Entries that are read at once."""

_ANOTHER = (
    "who left must be kept in another database than the campaigns: a copy of it would undo that "
    "they left. Name another one with --departures."
)

CONNECTIONS = 2
"""Connections that a server has to where it is kept."""

metadata = MetaData()

departure = Table(
    "departure",
    metadata,
    Column("campaign_id", LargeBinary, primary_key=True),
    Column("participant_id", LargeBinary, primary_key=True),
    Column("credential_hash", LargeBinary, nullable=False),
    **STRICT,
)

ending = Table(
    "ending",
    metadata,
    Column("campaign_id", LargeBinary, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("delete_at", WHOLE),
    **STRICT,
)

tables.journal.to_metadata(metadata)

tables.clock.to_metadata(metadata)

_PROBE = Table("probe", metadata, Column("line", Text, primary_key=True), **STRICT)
"""One row, which is written again to see whether anything can be."""

_FIRST = text("INSERT INTO probe (line) VALUES ('') ON CONFLICT DO NOTHING")

_LEAVE = text(
    "INSERT INTO departure (campaign_id, participant_id, credential_hash) "
    "VALUES (:campaign, :participant, :kept) ON CONFLICT DO NOTHING"
)

_END = text(
    "INSERT INTO ending (campaign_id, kind, delete_at) VALUES (:campaign, :kind, :delete_at) "
    "ON CONFLICT (campaign_id) DO UPDATE SET kind = excluded.kind, delete_at = excluded.delete_at "
    "WHERE ending.kind <> 'deleted'"
)


def trace_of(*ids: bytes) -> bytes:
    """Return what stands for a campaign, or for a campaign and a worker of it."""
    return hashlib.sha256(b"departures " + b"".join(ids)).digest()


def place_of_departures(settings: Places) -> str | None:
    """Return the URL of where it is kept who left; None for nowhere.

    Raises
    ------
    ParameterError
        Where it is the database itself: a copy would hold it.
    """
    database = Database.open(settings.database)
    try:
        if settings.departures == NOWHERE:
            return None
        if settings.departures is None:
            if database.path is None:
                return None
            return f"sqlite:///{database.path}.departures"
        other = Database.open(settings.departures)
        other.close()
        same = ("host", "port", "database")
        if database.path is None:
            one, two = ([getattr(at.url, name) for name in same] for at in (database, other))
        else:
            one, two = [database.path], [other.path]
        if one == two:
            raise ParameterError(_ANOTHER)
        return settings.departures
    finally:
        database.close()


@frozen(kw_only=True)
class Departures:
    """What no copy may undo.

    Attributes
    ----------
    journal : Database or None
        Where it is kept; None for nowhere.
    """

    journal: Database | None
    _mixed: Event = field(factory=Event, init=False, repr=False, eq=False)
    _settled: list[float] = field(factory=lambda: [time.monotonic()], init=False, repr=False)

    @classmethod
    def open(cls, settings: Places, database: Database | None = None) -> Departures:
        """Return what a server of these settings keeps; it is there, and can be written.

        Parameters
        ----------
        settings : Places
            Of the server.
        database : Database, optional
            Of the campaigns: to see whether it is the same under another name.

        Raises
        ------
        ParameterError
            Where it cannot be kept there.
        """
        place = place_of_departures(settings)
        if place is None:
            return cls(journal=None)
        journal = Database.open(place, pool_size=CONNECTIONS, pool_seconds=settings.pool_seconds)
        try:
            _make_tables(journal, database)
        except BaseException:
            journal.close()
            raise
        return cls(journal=journal)

    def close(self) -> None:
        """Close all connections."""
        if self.journal is not None:
            if self.journal.path is not None and self._mixed.is_set():
                self._settle(self.journal)
            self.journal.close()

    def leave(self, campaign: bytes, participant: bytes, kept: bytes) -> None:
        """Keep that a worker left; on the disk when this returns.

        Parameters
        ----------
        campaign, participant : bytes
            Their ids.
        kept : bytes
            What the credential is known by, so that it does not join again.
        """
        values = {
            "campaign": trace_of(campaign),
            "participant": trace_of(campaign, participant),
            "kept": kept,
        }
        self._write(lambda connection: connection.execute(_LEAVE, values))

    def end(self, campaign: bytes, kind: Ending, delete_at: int | None = None) -> None:
        """Keep that a campaign was deleted, or closed; on the disk when this returns.

        Parameters
        ----------
        campaign : bytes
            Its id.
        kind : str
            Closed or deleted.
        delete_at : int, optional
            Of what is closed: when all of workers goes, in seconds since 1970.
        """
        values = {"campaign": trace_of(campaign), "kind": kind, "delete_at": delete_at}
        self._write(lambda connection: connection.execute(_END, values))

    def take_back(
        self, campaign: bytes, *, closed: bool = False, delete_at: int | None = None
    ) -> None:
        """Forget how a campaign ended: it did not, as the database took no write just then.

        Where this is not taken either, it is done as the next server starts.

        Parameters
        ----------
        campaign : bytes
            Its id.
        closed : bool
            Whether it was closed before.
        delete_at : int, optional
            Of what was: as of `end`.
        """
        trace = trace_of(campaign)
        before = {"campaign": trace, "kind": "closed", "delete_at": delete_at}

        def write(connection: Connection) -> None:
            connection.execute(delete(ending).where(ending.c.campaign_id == trace))
            if closed:
                connection.execute(_END, before)

        with suppress(DBAPIError):
            self._write(write)

    def forget(self, traces: Iterable[bytes]) -> None:
        """Delete entries of workers of campaigns, by their traces, that are deleted or over."""
        over = list(traces)

        def write(connection: Connection) -> None:
            for trace in over:
                connection.execute(delete(departure).where(departure.c.campaign_id == trace))

        if over:
            self._write(write)

    def _write(self, write: Any) -> None:
        if self.journal is None:
            return
        with self.journal.write() as connection:
            write(connection)
        self._mixed.set()

    @property
    def path(self) -> Path | None:
        """The file in which it is kept, if it is one of SQLite."""
        return None if self.journal is None else self.journal.path

    def empty_journal(self) -> bool:
        """Take out of a file of SQLite in which order workers left; see `Database.empty_journal`.

        Its pages hold new rows in the order in which they came: it is written anew. A large one is
        seldom, as that takes long, and few of its pages hold more than one new row.
        """
        if self.journal is None or self.journal.path is None:
            return True
        large = self.journal.path.stat().st_size > _SMALL
        if self._mixed.is_set() and (not large or time.monotonic() > self._settled[0] + _SELDOM):
            self._settle(self.journal)
        return self.journal.empty_journal()

    def _settle(self, journal: Database) -> None:
        self._mixed.clear()
        if not journal.write_anew():
            self._mixed.set()
        self._settled[0] = time.monotonic()

    def endings(self) -> dict[bytes, Any]:
        """Return how campaigns ended, by their traces, and when all of workers goes."""
        if self.journal is None:
            return {}
        with self.journal.read() as connection:
            return {row.campaign_id: row for row in connection.execute(select(ending))}

    def ending_of(self, campaign: bytes) -> Any:
        """Return how a campaign ended, and when all of workers goes; None where it did not."""
        if self.journal is None:
            return None
        with self.journal.read() as connection:
            found = select(ending).where(ending.c.campaign_id == trace_of(campaign))
            return connection.execute(found).one_or_none()

    def ended(self, campaign: bytes) -> bool:
        """Return whether a campaign was closed or deleted before."""
        return self.ending_of(campaign) is not None

    def campaigns_left(self) -> set[bytes]:
        """Return the traces of campaigns that somebody left."""
        if self.journal is None:
            return set()
        with self.journal.read() as connection:
            return set(connection.scalars(select(departure.c.campaign_id).distinct()))

    def left(self, campaign: bytes, participants: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return who of these left a campaign, and what their credentials are known by."""
        if self.journal is None:
            return {}
        by_trace = {trace_of(campaign, one): one for one in participants}
        with self.journal.read() as connection:
            found = look_up(
                connection, departure, trace_of(campaign), "participant_id", list(by_trace)
            )
            return {by_trace[row.participant_id]: row.credential_hash for row in found}

    def credentials_left(self, campaign: bytes) -> Iterator[list[bytes]]:
        """Yield what credentials are known by that left a campaign, some at a time."""
        trace, last = trace_of(campaign), b""
        while self.journal is not None:
            with self.journal.read() as connection:
                some = connection.execute(
                    select(departure)
                    .where(departure.c.campaign_id == trace, departure.c.participant_id > last)
                    .order_by(departure.c.participant_id)
                    .limit(_SOME)
                ).all()
            if not some:
                return
            yield [row.credential_hash for row in some]
            last = some[-1].participant_id


def _make_tables(journal: Database, campaigns: Database | None) -> None:
    try:
        if campaigns is not None and same_database(campaigns, journal):
            raise ParameterError(_ANOTHER)
        with journal.write() as connection:
            if inspect(connection).has_table("campaign"):
                raise ParameterError(_ANOTHER)
            if journal.path is None:
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            metadata.create_all(connection)
            connection.execute(_FIRST)
        journal.empty_journal()
    except (DBAPIError, sqlite3.Error) as error:
        shown = journal.url.set(query={}).render_as_string()  # a query may hold a password
        raise ParameterError(
            f"the journal of withdrawals {shown} cannot be used: {explain(error)} "
            "Check --departures."
        ) from None
