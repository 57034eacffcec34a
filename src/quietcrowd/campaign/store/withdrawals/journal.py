"""Journal of withdrawals and ended campaigns, outside of the database so that no copy undoes it.

An entry is on the disk before the transaction that deletes commits. So a worker whose deletion the
server has confirmed does not return with a copy. If the transaction of a withdrawal does not
commit, the next server that starts repeats it. The entry of a campaign, or of a replaced link, is
reverted: see `campaigns` and `participants`.

Entries have no time and no names. They contain *traces*, hashes of ids, which only someone with the
ids can look up, and are ordered by these. Entries of workers are deleted when their campaign is
deleted or its retention ends; the entry that the campaign ended stays.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from threading import Event
from typing import Any, Literal, TypeAlias

from attrs import define, field
from sqlalchemy import (
    Column,
    Connection,
    LargeBinary,
    MetaData,
    Select,
    Table,
    Text,
    delete,
    inspect,
    select,
    text,
)
from sqlalchemy.exc import DBAPIError

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database, Places, look_up
from quietcrowd.campaign.store.failures import explain
from quietcrowd.campaign.store.tables import STRICT, WHOLE
from quietcrowd.exceptions import ParameterError

_TAKE = text("SELECT pg_advisory_xact_lock(:key)")
_TRY = text("SELECT pg_try_advisory_xact_lock(:key)")


def same_database(one: Database, other: Database) -> bool:
    """Return whether two databases are the same.

    For PostgreSQL, take a random advisory lock in one and try it in the other: such locks are per
    database, for any host, port, user or schema in the URL.
    """
    if one.path is not None and other.path is not None:
        return one.path.exists() and other.path.exists() and one.path.samefile(other.path)
    if one.path is not None or other.path is not None:
        return False
    key = {"key": secrets.randbits(63)}
    with one.write() as first, other.write() as second:
        first.execute(_TAKE, key)
        return not second.scalar(_TRY, key)


NOWHERE = "none"  # setting instead of a URL: withdrawals are stored only in the database

Ending: TypeAlias = Literal["closed", "deleted"]

_LOCK = 7_117_203  # of PostgreSQL, for servers that create the tables at once

_SMALL, _SELDOM = 2**20, 60.0
"""Rewrite a file of up to this many bytes whenever its log is emptied, and a larger one after this
many seconds."""

_SOME = 10_000
CONNECTIONS = 2

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
"""One row, rewritten to test whether writes succeed."""

_FIRST = text("INSERT INTO probe (line) VALUES ('') ON CONFLICT DO NOTHING")

LEAVE = text(
    "INSERT INTO departure (campaign_id, participant_id, credential_hash) "
    "VALUES (:campaign_id, :participant_id, :credential_hash) ON CONFLICT DO NOTHING"
)

_END = text(
    "INSERT INTO ending (campaign_id, kind, delete_at) VALUES (:campaign, :kind, :delete_at) "
    "ON CONFLICT (campaign_id) DO UPDATE SET kind = excluded.kind, delete_at = excluded.delete_at "
    "WHERE ending.kind <> 'deleted'"
)


def trace_of(*ids: bytes) -> bytes:
    """Return the trace of a campaign, or of a campaign and one of its workers."""
    return hashlib.sha256(b"departures " + b"".join(ids)).digest()


def place_of_departures(settings: Places) -> str | None:
    """Return the URL of the journal, which must not be the database of campaigns, or None."""
    database = Database.open(settings.database)
    try:
        if settings.withdrawal_log == NOWHERE:
            return None
        if settings.withdrawal_log is None:
            if database.path is None:
                return None
            return f"sqlite:///{database.path}.departures"
        other = Database.open(settings.withdrawal_log)
        other.close()
        same = ("host", "port", "database")
        if database.path is None:
            one, two = ([getattr(at.url, name) for name in same] for at in (database, other))
        else:
            one, two = [database.path], [other.path]
        if one == two:
            raise ParameterError("campaign.departures-in-same-database")
        return settings.withdrawal_log
    finally:
        database.close()


@define(kw_only=True)
class Departures:
    """The journal of withdrawals and ended campaigns; without a database it stores nothing."""

    journal: Database | None
    _mixed: Event = field(factory=Event, init=False, repr=False, eq=False)
    _rewritten: float = field(factory=time.monotonic, init=False, repr=False)

    @classmethod
    def open(cls, settings: Places, database: Database | None = None) -> Departures:
        """Open or create the journal of a server, which must not be the database of campaigns."""
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
                self._rewrite(self.journal)
            self.journal.close()

    def leave(self, campaign: bytes, participant: bytes, kept: bytes) -> None:
        """Record a withdrawal on disk; the hash `kept` identifies the credential."""
        values = {
            "campaign_id": trace_of(campaign),
            "participant_id": trace_of(campaign, participant),
            "credential_hash": kept,
        }
        self._write(lambda connection: connection.execute(LEAVE, values))

    def stay(self, campaign: bytes, participant: bytes, kept: bytes) -> None:
        """Delete the record of `leave`, because nothing was deleted."""
        table = departure.c
        mine = (table.campaign_id == trace_of(campaign)) & (table.credential_hash == kept)
        mine &= table.participant_id == trace_of(campaign, participant)
        with suppress(DBAPIError):
            self._write(lambda connection: connection.execute(delete(departure).where(mine)))

    def end(self, campaign: bytes, kind: Ending, delete_at: int | None = None) -> None:
        """Record on disk that a campaign was closed, until the end of retention, or deleted."""
        values = {"campaign": trace_of(campaign), "kind": kind, "delete_at": delete_at}
        self._write(lambda connection: connection.execute(_END, values))

    def take_back(
        self, campaign: bytes, *, closed: bool = False, delete_at: int | None = None
    ) -> None:
        """Delete the record that a campaign ended, because the database could not commit that.

        If this write fails as well, the next server that starts ends the campaign.
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
        """Delete the entries of workers of these campaigns, given by their traces."""
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
        """The SQLite file of the journal, if it is one."""
        return None if self.journal is None else self.journal.path

    def empty_journal(self) -> bool:
        """Remove the order of withdrawals from an SQLite file; see `Database.empty_journal`.

        Pages store new rows in the order of arrival, so the file is rewritten. A large file is
        rewritten rarely: that takes long, and few of its pages contain more than one new row.
        """
        if self.journal is None or self.journal.path is None:
            return True
        large = self.journal.path.stat().st_size > _SMALL
        if self._mixed.is_set() and (not large or time.monotonic() > self._rewritten + _SELDOM):
            self._rewrite(self.journal)
        return self.journal.empty_journal()

    def _rewrite(self, journal: Database) -> None:
        self._mixed.clear()
        if not journal.write_anew():
            self._mixed.set()
        self._rewritten = time.monotonic()

    def _rows(self, wanted: Select[Any]) -> Sequence[Any]:
        if self.journal is None:
            return ()
        with self.journal.read() as connection:
            return connection.execute(wanted).all()

    def endings(self) -> dict[bytes, Any]:
        """Return how campaigns ended and the end of their retention, by trace."""
        return {row.campaign_id: row for row in self._rows(select(ending))}

    def ending_of(self, campaign: bytes) -> Any:
        """Return how a campaign ended and the end of its retention; None if it has not ended."""
        mine = ending.c.campaign_id == trace_of(campaign)
        return next(iter(self._rows(select(ending).where(mine))), None)

    def ended(self, campaign: bytes) -> bool:
        """Return whether a campaign was closed or deleted."""
        return self.ending_of(campaign) is not None

    def campaigns_left(self) -> set[bytes]:
        """Return the traces of campaigns with withdrawals."""
        return {row.campaign_id for row in self._rows(select(departure.c.campaign_id).distinct())}

    def left(self, campaign: bytes, participants: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return which of these workers have withdrawn, with the hashes of their credentials."""
        if self.journal is None:
            return {}
        by_trace = {trace_of(campaign, one): one for one in participants}
        with self.journal.read() as connection:
            found = look_up(
                connection, departure, trace_of(campaign), "participant_id", list(by_trace)
            )
            return {by_trace[row.participant_id]: row.credential_hash for row in found}

    def credentials_left(self, campaign: bytes) -> Iterator[list[bytes]]:
        """Yield the hashes of the credentials withdrawn from a campaign, in batches."""
        table = departure.c
        wanted = select(departure).where(table.campaign_id == trace_of(campaign))
        wanted, last = wanted.order_by(table.participant_id).limit(_SOME), b""
        while some := self._rows(wanted.where(table.participant_id > last)):
            yield [row.credential_hash for row in some]
            last = some[-1].participant_id


def missing_journal(settings: Places) -> Path | None:
    """Return the file of the journal if it should exist, and does not."""
    place = place_of_departures(settings)
    if place is None:
        return None
    with closing(Database.open(place)) as journal:
        return None if journal.path is None or journal.path.exists() else journal.path


def _make_tables(journal: Database, campaigns: Database | None) -> None:
    try:
        if campaigns is not None and same_database(campaigns, journal):
            raise ParameterError("campaign.departures-in-same-database")
        with journal.write() as connection:
            if inspect(connection).has_table("campaign"):
                raise ParameterError("campaign.departures-in-same-database")
            if journal.path is None:
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            metadata.create_all(connection)
            connection.execute(_FIRST)
        journal.empty_journal()
    except (DBAPIError, sqlite3.Error) as error:
        shown = journal.url.set(query={}).render_as_string()  # the query may contain a password
        raise ParameterError(
            "campaign.journal-unusable", shown=shown, reason=explain(error)
        ) from None
