"""Where campaigns are stored: SQLite, or PostgreSQL; how rows get in, many at once, and out."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attrs import field, frozen
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

__all__ = [
    "UNAVAILABLE",
    "Database",
    "FailedWrite",
    "create_private",
    "if_it_fails",
    "insert_rows",
    "look_up",
]

UNAVAILABLE = (InterfaceError, InternalError, OperationalError, PoolTimeoutError)
"""What is raised while a database cannot be reached, has no room or may only be read: try later."""

_PRAGMAS = (
    "busy_timeout=10000",
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "secure_delete=ON",
    "trusted_schema=OFF",
)
"""What is acknowledged survives a power cut; what is deleted is overwritten."""

_FULL = 2

_BRIEFLY = 0.05
"""Seconds that emptying the journal waits for readers: those who write wait as long."""

_ANEW = 0.5
"""Seconds that writing a file anew waits for others."""

_CONNECT = "5"
"""Seconds after which a PostgreSQL that does not answer is one that cannot be reached."""

_POOL_SIZE, _POOL_SECONDS = 4, 5.0
"""Of a process that serves nobody."""

_MOST_PARAMETERS = 30_000
"""Parameters of a statement: SQLite takes 32,766 and PostgreSQL 65,535."""

_MOST_IDS = 10_000
"""Ids of a statement: SQLite takes 32,766 parameters."""


def _url(text: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ParameterError(
            "the database must be a URL, as sqlite:///quietcrowd.db or postgresql://user@host/name"
        ) from None
    if url.drivername in ("postgresql", "postgresql+psycopg"):
        query = {"connect_timeout": _CONNECT, **url.query}
        return url.set(drivername="postgresql+psycopg", query=query)
    if url.drivername != "sqlite":
        raise ParameterError(f"the database must be sqlite or postgresql; got {url.drivername}")
    if url.database in (None, "", ":memory:"):
        raise ParameterError("the database must be a file, as sqlite:///quietcrowd.db")
    return url


def _file(url: URL) -> Path:
    return Path(os.path.realpath(str(url.database)))


@frozen(kw_only=True)
class FailedWrite:
    """The last write that said that nothing can be written.

    Attributes
    ----------
    moment : float
        When, of a clock that does not go back.
    code : str
        What the database said.
    """

    moment: float
    code: str


@frozen(kw_only=True)
class Database:
    """A database of campaigns.

    Attributes
    ----------
    url : URL
        Where it is.
    engine : Engine
        Its connections. Errors do not show what was to be stored.
    """

    url: URL
    engine: Engine = field(repr=False)
    _failed: list[FailedWrite] = field(factory=list, init=False, repr=False)
    _damage: list[str] = field(factory=list, init=False, repr=False)

    @classmethod
    def open(
        cls, text: str, *, pool_size: int = _POOL_SIZE, pool_seconds: float = _POOL_SECONDS
    ) -> Database:
        """Return the database at a URL; nothing is connected yet.

        Parameters
        ----------
        text : str
            The URL.
        pool_size : int
            Most connections at once.
        pool_seconds : float
            For which one is waited for.

        Raises
        ------
        ParameterError
            Where this is no URL of a file of SQLite or of PostgreSQL, or there is no such folder.
        """
        url = _url(text)
        # A pooler such as PgBouncer gives each transaction another connection: none is prepared on.
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
                raise ParameterError(f"there is no folder {folder}: create it first")
            _set_up_sqlite(engine, _file(url))
        return cls(url=url, engine=engine)

    @property
    def path(self) -> Path | None:
        """The file of SQLite, or None: what a link points to, as SQLite keeps its journal there."""
        return _file(self.url) if self.url.drivername == "sqlite" else None

    @property
    def files_at_most(self) -> int:
        """Open files that its connections take: SQLite has the database's and the journal's."""
        connections: int = self.engine.pool.size()  # type: ignore[attr-defined]
        return connections * (1 if self.path is None else 2)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection in a transaction that sees one state of the data."""
        with self._noting_damage(), self.engine.connect() as connection:
            if self.path is None:
                connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection
            connection.rollback()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """Give a connection in a transaction that is committed at the end.

        SQLite takes its lock at the start: a lock that is taken halfway cannot be waited for.
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
                self._failed[:] = [FailedWrite(moment=time.monotonic(), code=code)]
            for done in failed:
                done(self)
            raise

    @contextmanager
    def _noting_damage(self) -> Iterator[None]:
        """Note damage that a statement meets; it is one of `UNAVAILABLE`, for SQLite too."""
        try:
            yield
        except DBAPIError as error:
            if cause_of(error) != "damaged":
                raise
            self._damage[:] = [str(database_code(error))]
            if isinstance(error, UNAVAILABLE):
                raise
            found = error.orig or error
            raise OperationalError(error.statement, None, found, hide_parameters=True) from None

    @property
    def damage(self) -> str | None:
        """The code of damage that was found; only a restart, with a restored copy, ends that."""
        return next(iter(self._damage[:1]), None)

    def is_intact(self) -> bool:
        """Read a file of SQLite as a whole, and return whether it is undamaged.

        PostgreSQL reports damage when it reads a page: it is not read here.
        """
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
            self._damage[:] = ["SQLITE_CORRUPT"]
        return self.damage is None

    @property
    def failed_write(self) -> FailedWrite | None:
        """The last write that said that nothing can be written."""
        return next(iter(self._failed[:1]), None)

    def empty_journal(self) -> bool:
        """Take all that is no more, and what tells what came after what, out of SQLite's journal.

        Returns
        -------
        bool
            Whether the journal is empty: it stays as it is while somebody reads, or empties it
            just now.
        """
        if self.path is None or not self._journal_holds_something():
            return True
        with closing(sqlite3.connect(self.path, timeout=_BRIEFLY, isolation_level=None)) as raw:
            busy, *_ = raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def _journal_holds_something(self) -> bool:
        assert self.path is not None
        try:
            return self.path.with_name(f"{self.path.name}-wal").stat().st_size > 0
        except FileNotFoundError:
            return False

    def write_anew(self) -> bool:
        """Write a file of SQLite anew: within its pages rows lie in the order in which they came.

        Afterwards they lie in the order of their keys.

        Returns
        -------
        bool
            Whether that was done: not where somebody else has it just then.
        """
        assert self.path is not None
        try:
            with closing(sqlite3.connect(self.path, timeout=_ANEW)) as raw:
                raw.execute("PRAGMA temp_store=MEMORY")
                raw.execute("VACUUM")
        except sqlite3.DatabaseError as error:  # it is busy, or damaged
            if cause_of(error) == "damaged":
                self._damage[:] = [str(database_code(error))]
            return False
        return True

    def backup(self, target: Path) -> None:
        """Write a copy of one state of the data to a new file, while others go on.

        Raises
        ------
        ParameterError
            If the database is PostgreSQL, the target exists, or no whole copy can be made.
        """
        if self.path is None:
            raise ParameterError("a PostgreSQL database is backed up with pg_dump")
        try:
            create_private(target)  # SQLite fills a file that is empty
        except FileExistsError:
            raise ParameterError(f"{target} exists already: a backup overwrites nothing") from None
        try:
            with closing(self.engine.raw_connection()) as raw:
                raw.cursor().execute("VACUUM INTO ?", (str(target),))
        except BaseException as error:
            target.unlink()
            if not isinstance(error, (DBAPIError, sqlite3.Error)):
                raise
            # a damaged page can make SQLite say that the disk is full
            why = explain_code(database_code(error)) if self.is_intact() else DAMAGED
            if why is None:
                raise
            raise ParameterError(f"{self.path} cannot be copied: {why}") from None

    def behind_pooler(self) -> bool:
        """Return whether a pooler such as PgBouncer stands between this program and PostgreSQL."""
        if self.path is not None:
            return False
        with self.read() as connection:
            driver: Any = connection.connection.driver_connection
            own: int = driver.info.backend_pid  # a pooler invents one, to cancel queries with
            return own != connection.scalar(select(func.pg_backend_pid()))

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def if_it_fails(connection: Connection, done: Callable[[Database], None]) -> None:
    """Do something with the database after a transaction of `Database.write` that fails.

    Where its commit failed, it may have come to pass: PostgreSQL may be lost before it says so.
    """
    connection.get_execution_options()["quietcrowd_failed"].append(done)


def create_private(path: Path) -> None:
    """Create an empty file that is its owner's alone."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _keep_private(path: Path) -> None:
    """See to it that the files of a database are their owner's alone, before SQLite opens them.

    What SQLite makes beside the database gets the permissions that this has then.
    """
    with suppress(OSError):  # it exists, or SQLite will say why it cannot be made
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
            raise ParameterError(
                "this file system cannot hold an SQLite database in WAL mode: move it, or take "
                "PostgreSQL"
            )

    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("quietcrowd_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "do_connect", before)
    event.listen(engine, "connect", connect)
    event.listen(engine, "begin", begin)


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows, whose values are in the order of the columns of a table.

    The drivers insert many rows one by one, and Python may run another thread after each: where
    that one is busy, a thousand rows take seconds.
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
    """Yield the rows of a campaign that have one of these ids.

    Parameters
    ----------
    connection : Connection
        In a transaction.
    table : Table
        With an index that begins with campaign_id and the column.
    campaign : bytes
        Its id.
    column : str
        Which of the table's columns holds such ids.
    ids : sequence of bytes
        As many as one likes; a row is given as often as its id is.
    """
    look_up_some = _in_postgresql if connection.dialect.name == "postgresql" else _in_sqlite
    for start in range(0, len(ids), _MOST_IDS):
        statement, values = look_up_some(table, campaign, column, ids[start : start + _MOST_IDS])
        yield from connection.exec_driver_sql(statement, values)


def _in_postgresql(
    table: Table, campaign: bytes, column: str, ids: Sequence[bytes]
) -> tuple[str, tuple[Any, ...]]:
    """Return a statement, and its values; OFFSET keeps the inner query as it is."""
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
    """Return a statement, and its values; a CROSS JOIN is done in the order in which it stands."""
    columns = ", ".join(f"found.{name}" for name in table.columns.keys())  # noqa: SIM118
    statement = (
        f"WITH wanted(id) AS (VALUES {', '.join(['(?)'] * len(ids))}) "
        f"SELECT {columns} FROM wanted CROSS JOIN {table.name} AS found "
        f"ON found.campaign_id = ? AND found.{column} = wanted.id"
    )
    return statement, (*ids, campaign)
