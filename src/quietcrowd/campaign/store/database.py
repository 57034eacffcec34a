"""SQLite or PostgreSQL databases: connections, transactions, backups, bulk inserts and lookups."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from attrs import define, field, frozen
from sqlalchemy import Connection, Engine, Row, Table, create_engine, event, func, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    InternalError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from quietcrowd.campaign.store.failures import (
    DAMAGED,
    cannot_write,
    cause_of,
    database_code,
    explain_code,
)
from quietcrowd.exceptions import ParameterError

UNAVAILABLE = (InterfaceError, InternalError, OperationalError, PoolTimeoutError)
"""Errors of a database that is unreachable, full or read-only: try again later."""

_PRAGMAS = (
    "busy_timeout=10000",
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "secure_delete=ON",
    "trusted_schema=OFF",
)
"""Acknowledged writes survive a power failure; deleted data is overwritten."""

_FULL = 2

_BRIEFLY = 0.05
"""Seconds that emptying the write-ahead log waits for readers, and writers wait for it."""

_ANEW = 0.5
_CONNECT = "5"  # seconds
_POOL_SIZE, _POOL_SECONDS = 4, 5.0
_MOST_PARAMETERS = 30_000  # SQLite accepts 32,766 parameters and PostgreSQL 65,535
_MOST_IDS = 10_000


def _url(text: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ParameterError("campaign.database-not-a-url") from None
    if url.drivername in ("postgresql", "postgresql+psycopg"):
        query = {"connect_timeout": _CONNECT, **url.query}
        return url.set(drivername="postgresql+psycopg", query=query)
    if url.drivername != "sqlite":
        raise ParameterError("campaign.database-kind-unknown", kind=url.drivername)
    if url.database in (None, "", ":memory:"):
        raise ParameterError("campaign.database-not-a-file")
    return url


def _file(url: URL) -> Path:
    return Path(os.path.realpath(str(url.database)))


class Places(Protocol):
    """Location and connection pool of the databases."""

    @property
    def database(self) -> str:
        """URL of the campaigns."""

    @property
    def withdrawal_log(self) -> str | None:
        """URL of the journal, or ``none``; None means a file next to an SQLite database."""

    @property
    def pool_size(self) -> int:
        """Most connections to the campaigns."""

    @property
    def pool_seconds(self) -> float:
        """Seconds to wait for a connection."""


@frozen(kw_only=True)
class FailedWrite:
    """The last write that failed for lack of writability, by `time.monotonic`, and its code."""

    moment: float
    code: str


@define(kw_only=True)
class Database:
    """A database of campaigns: its URL and its connections.

    `failed_write` is the last write that failed because nothing can be written. `damage` is the
    error code of damage found so far; it stays until a restart with a restored copy.
    """

    url: URL
    engine: Engine = field(repr=False)
    failed_write: FailedWrite | None = field(default=None, init=False, repr=False)
    damage: str | None = field(default=None, init=False, repr=False)

    @classmethod
    def open(
        cls, text: str, *, pool_size: int = _POOL_SIZE, pool_seconds: float = _POOL_SECONDS
    ) -> Database:
        """Return the database at a URL, without connecting to it, or raise `ParameterError`."""
        url = _url(text)
        # No prepared statements: a pooler such as PgBouncer changes the connection per transaction.
        arguments = {} if url.drivername == "sqlite" else {"prepare_threshold": None}
        engine = create_engine(
            url,
            connect_args=arguments,
            hide_parameters=True,
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=pool_seconds,
            pool_pre_ping=True,
        )
        if url.drivername == "sqlite":
            folder = Path(str(url.database)).absolute().parent
            if not folder.is_dir():
                raise ParameterError("campaign.database-folder-missing", folder=folder)
            _set_up_sqlite(engine, _file(url))
        return cls(url=url, engine=engine)

    @property
    def path(self) -> Path | None:
        """The SQLite file or None; links are resolved because SQLite puts its log there."""
        return _file(self.url) if self.url.drivername == "sqlite" else None

    @property
    def files_at_most(self) -> int:
        """Most files open at once: an SQLite connection opens the database and its log."""
        connections: int = self.engine.pool.size()  # type: ignore[attr-defined]
        return connections * (1 if self.path is None else 2)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the data."""
        with self._noting_damage(), self.engine.connect() as connection:
            if self.path is None:
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection
            connection.rollback()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that is committed at the end.

        SQLite locks the database at the start: a lock upgrade within a transaction cannot wait.
        """
        failed: list[Callable[[Database], None]] = []
        try:
            with self._noting_damage(), self.engine.connect() as connection:
                connection.execution_options(quietcrowd_write=True, quietcrowd_failed=failed)
                with connection.begin():
                    yield connection
        except BaseException as error:
            if isinstance(error, DBAPIError) and cannot_write(error):
                code = str(database_code(error))
                self.failed_write = FailedWrite(moment=time.monotonic(), code=code)
            for done in failed:
                done(self)
            raise

    @contextmanager
    def _noting_damage(self) -> Iterator[None]:
        """Record damage, and raise it as one of `UNAVAILABLE`."""
        try:
            yield
        except DBAPIError as error:
            if cause_of(error) != "damaged":
                raise
            self.damage = str(database_code(error))
            if isinstance(error, UNAVAILABLE):
                raise
            found = error.orig or error
            raise OperationalError(error.statement, None, found, hide_parameters=True) from None

    def is_intact(self) -> bool:
        """Check a whole SQLite file; PostgreSQL reports damage when it reads a page."""
        if self.path is None:
            return self.damage is None
        url = f"file:{quote(str(self.path))}?mode=ro"
        try:
            with closing(sqlite3.connect(url, uri=True)) as raw:
                found = raw.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            if cause_of(error) != "damaged":
                raise
            found = str(error)
        if found != "ok":
            self.damage = "SQLITE_CORRUPT"
        return self.damage is None

    def empty_journal(self) -> bool:
        """Empty SQLite's write-ahead log, which contains deleted data and the order of writes.

        Returns False if another connection is reading or checkpointing.
        """
        if self.path is None:
            return True
        try:
            if not self.path.with_name(f"{self.path.name}-wal").stat().st_size:
                return True
        except FileNotFoundError:
            return True
        with closing(sqlite3.connect(self.path, timeout=_BRIEFLY, isolation_level=None)) as raw:
            busy, *_ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def write_anew(self) -> bool:
        """Rewrite an SQLite file, so that the order within pages no longer reveals arrival.

        Returns False if the file is busy or damaged.
        """
        assert self.path is not None
        try:
            with closing(sqlite3.connect(self.path, timeout=_ANEW)) as raw:
                raw.execute("PRAGMA temp_store=MEMORY")
                raw.execute("VACUUM")
        except sqlite3.DatabaseError as error:  # busy or damaged
            if cause_of(error) == "damaged":
                self.damage = str(database_code(error))
            return False
        return True

    def backup(self, target: Path) -> None:
        """Write a consistent copy of an SQLite database to a new file; else `ParameterError`."""
        if self.path is None:
            raise ParameterError("campaign.postgresql-needs-pg-dump")
        try:
            create_private(target)  # VACUUM INTO accepts an empty file
        except FileExistsError:
            raise ParameterError("campaign.target-exists", target=target) from None
        try:
            with closing(self.engine.raw_connection()) as raw:
                raw.cursor().execute("VACUUM INTO ?", (str(target),))
        except BaseException as error:
            target.unlink()
            if not isinstance(error, (DBAPIError, sqlite3.Error)):
                raise
            # SQLite can report a damaged page as a full disk
            why = explain_code(database_code(error)) if self.is_intact() else DAMAGED
            if why is None:
                raise
            raise ParameterError("campaign.file-not-copied", path=self.path, reason=why) from None

    def behind_pooler(self) -> bool:
        """Return whether a pooler such as PgBouncer is between this program and PostgreSQL."""
        if self.path is not None:
            return False
        with self.read() as connection:
            driver: Any = connection.connection.driver_connection
            own: int = driver.info.backend_pid  # a pooler invents one
            return own != connection.scalar(select(func.pg_backend_pid()))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def if_it_fails(connection: Connection, done: Callable[[Database], None]) -> None:
    """Register a callback that runs if the current transaction of `Database.write` fails.

    A failed commit may still have succeeded: PostgreSQL can become unreachable before it answers.
    """
    connection.get_execution_options()["quietcrowd_failed"].append(done)


def create_private(path: Path) -> None:
    """Create an empty file that only its owner can read."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _keep_private(path: Path) -> None:
    """Restrict a database before SQLite opens it, whose new files get its permissions."""
    with suppress(OSError):  # it exists, or SQLite will report why it cannot be created
        create_private(path)
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm", f"{path.name}-journal"):
        file = path.with_name(name)
        with suppress(FileNotFoundError):
            if file.is_file() and file.stat().st_mode & 0o077:
                file.chmod(0o600)


def _set_up_sqlite(engine: Engine, path: Path) -> None:
    def before(*_: Any) -> None:
        _keep_private(path)

    def connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in _PRAGMAS:
            cursor.execute(f"PRAGMA {pragma}")
        durable = cursor.execute("PRAGMA synchronous").fetchone()[0] == _FULL
        journal = cursor.execute("PRAGMA journal_mode").fetchone()[0]
        if not durable or journal != "wal":
            raise ParameterError("campaign.file-system-unsuitable")

    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("quietcrowd_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "do_connect", before)
    event.listen(engine, "connect", connect)
    event.listen(engine, "begin", begin)


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows with values in the order of the table's columns.

    Multi-row statements, because the drivers insert rows one by one. Python may switch threads
    after each row, so a thousand rows would take seconds next to a busy thread.
    """
    columns = table.columns.keys()
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    row_of_marks = f"({', '.join([mark] * len(columns))})"
    step = _MOST_PARAMETERS // len(columns)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        connection.exec_driver_sql(
            f"INSERT INTO {table.name} ({', '.join(columns)}) "
            f"VALUES {', '.join([row_of_marks] * len(part))}",
            tuple(chain.from_iterable(part)),
        )


def look_up(
    connection: Connection, table: Table, campaign: bytes, column: str, ids: Sequence[bytes]
) -> Iterator[Row[Any]]:
    """Yield the rows of a campaign whose `column` equals one of the ids, which may be any number.

    The table needs an index that begins with campaign_id and the column.
    """
    look_up_some = _in_postgresql if connection.dialect.name == "postgresql" else _in_sqlite
    for start in range(0, len(ids), _MOST_IDS):
        statement, values = look_up_some(table, campaign, column, ids[start : start + _MOST_IDS])
        yield from connection.exec_driver_sql(statement, values)


def _in_postgresql(
    table: Table, campaign: bytes, column: str, ids: Sequence[bytes]
) -> tuple[str, tuple[Any, ...]]:
    """OFFSET 0 prevents the planner from flattening the inner query."""
    found = (
        f"SELECT {', '.join(table.columns.keys())} FROM {table.name} "
        f"WHERE campaign_id = %s AND {column} = wanted.id OFFSET 0"
    )
    statement = (
        f"SELECT found.* FROM unnest(%s::bytea[]) AS wanted(id) CROSS JOIN LATERAL ({found}) found"
    )
    return statement, (list(ids), campaign)


def _in_sqlite(
    table: Table, campaign: bytes, column: str, ids: Sequence[bytes]
) -> tuple[str, tuple[Any, ...]]:
    """CROSS JOIN fixes the join order in SQLite."""
    columns = ", ".join(f"found.{name}" for name in table.columns.keys())  # noqa: SIM118
    statement = (
        f"WITH wanted(id) AS (VALUES {', '.join(['(?)'] * len(ids))}) "
        f"SELECT {columns} FROM wanted CROSS JOIN {table.name} AS found "
        f"ON found.campaign_id = ? AND found.{column} = wanted.id"
    )
    return statement, (*ids, campaign)
