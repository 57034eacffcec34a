"""The start of a server: listening socket, all database connections, resources and report."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from attrs import frozen
from sqlalchemy import URL, text
from sqlalchemy.exc import OperationalError
from typing_extensions import override

from quietcrowd.campaign.server.limits import OpenConnections
from quietcrowd.campaign.server.metrics.exposition import asked_for
from quietcrowd.campaign.server.metrics.running import Metrics, running_metrics
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.clock import Clock, read_clock
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import ready_database
from quietcrowd.campaign.store.withdrawals.journal import CONNECTIONS, Departures
from quietcrowd.campaign.terms.server_address import is_here
from quietcrowd.campaign.terms.settings import place_of
from quietcrowd.exceptions import ParameterError

_ASK = """
SELECT current_setting('max_connections')::int AS most,
       current_setting('superuser_reserved_connections')::int
         + coalesce(current_setting('reserved_connections', true)::int, 0) AS reserved,
       (SELECT coalesce(sum(numbackends), 0)::int FROM pg_stat_database WHERE datid <> 0) AS used,
       (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS of_user,
       (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS of_database
"""
"""A limit of -1 means no limit. `used` includes background processes."""


@frozen(kw_only=True)
class Connections:
    """Numbers of PostgreSQL connections: allowed, without reserved ones, and in use."""

    given: int
    used: int


def claim_connections(database: Database, *, pool_size: int, others: int) -> Connections | None:
    """Open all connections of the pool, and leave `others`; None for SQLite, which has no limit."""
    if database.path is not None:
        return None
    wanted = pool_size + others
    with database.read() as connection:
        row = connection.execute(text(_ASK)).one()
        limits = (row.of_user, row.of_database)
        given = min(row.most - row.reserved, *(one for one in limits if one >= 0), row.most)
        pool = database.engine.pool
        more = wanted - pool.checkedin() - pool.checkedout()  # type: ignore[attr-defined]
    if row.used + more > given:
        raise ParameterError(
            "campaign.too-few-connections", given=given, used=row.used, wanted=wanted
        )
    try:
        with ExitStack() as held:
            for _ in range(pool_size):
                held.enter_context(database.engine.connect())
    except OperationalError:  # another process was faster
        raise ParameterError("campaign.connections-in-use", given=given, wanted=wanted) from None
    return Connections(given=given, used=row.used + more)


AT_A_TIME = 16  # connections accepted before any of them is processed
_QUEUE = 1_024  # connections that the system queues until they are accepted

_OWN_FILES = 64
"""Open files of the process itself, with a reserve: log, listener, lock of the database, journal of
withdrawals, pipes to the inference process, event loop, modules."""

_FEWEST, _MOST = 8, 2_048


def connections_within(wanted: int | None, database_files: int) -> int:
    """Return the maximum number of connections, by default 2,048; may raise ParameterError."""
    limit = file_limit()
    if limit is None:
        return wanted or _MOST
    room = limit - _OWN_FILES - database_files - 2 * AT_A_TIME
    if room < (wanted or _FEWEST):
        needed = limit - room + (wanted or _FEWEST)
        raise ParameterError(
            "campaign.too-few-files-allowed", limit=limit, wanted=wanted or _FEWEST, needed=needed
        )
    return wanted or min(room, _MOST)


def file_limit() -> int | None:
    """Return the limit on open files of this process; None for no limit."""
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


class _Taken(socket.socket):
    """An accepted connection, which counts until it is closed."""

    among: set[_Taken]

    @override
    def close(self) -> None:
        self.among.discard(self)
        super().close()


class Listener(socket.socket):
    """A listening socket that limits the number of accepted connections."""

    connections: OpenConnections | None = None
    _taken: set[_Taken]

    @override
    def listen(self, backlog: int = _QUEUE, /) -> None:
        """Ignore a shorter backlog: asyncio also uses it as the number of connections to accept."""
        super().listen(max(backlog, _QUEUE))

    @override
    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection of a source within its rate; none if the limit is reached."""
        for _ in range(AT_A_TIME):
            if self.connections is not None and (
                len(self._taken) >= self.connections.most + AT_A_TIME
            ):
                break
            given, address = super().accept()
            host = address[0] if isinstance(address, tuple) and address else None
            if self.connections is None or self.connections.may_come(host):
                taken = _Taken(given.family, given.type, given.proto, fileno=given.detach())
                taken.among = self._taken
                self._taken.add(taken)
                return taken, address
            given.close()
        raise BlockingIOError


def listener(settings: Settings) -> Listener:
    """Create the listening socket; raise ParameterError if that is impossible or insecure."""
    if not (settings.insecure or is_here(settings.host)):
        raise ParameterError("campaign.address-needs-encryption", host=settings.host)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        plain = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        raise ParameterError(
            "campaign.address-unusable",
            address=place_of(settings.host, settings.port),
            reason=error.strerror,
        ) from None
    found = Listener(plain.family, plain.type, plain.proto, fileno=plain.detach())
    found._taken = set()
    # asyncio sets this only for sockets with an explicit protocol. A response is two packets: the
    # second would wait 40 ms for the acknowledgment of the first.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


@frozen(kw_only=True)
class Resources:
    """The resources of a running server; `clock` is the reading at its start."""

    database: Database
    departures: Departures
    connections: Connections | None
    listener: Listener
    metrics: Metrics
    clock: Clock


@contextmanager
def opened_resources(
    settings: Settings, clock: Callable[[], float] = time.time
) -> Iterator[Resources]:
    """Open the resources of a server, and close them at the end."""
    with (
        ready_database(settings, clock) as database,
        closing(Departures.open(settings)) as departures,
    ):
        if departures.journal is not None:  # first, so that its connections are counted, too
            claim_connections(departures.journal, pool_size=CONNECTIONS, others=0)
        connections = claim_connections(
            database, pool_size=settings.pool_size, others=int(settings.infer)
        )
        with (
            listener(settings) as found,
            running_metrics(settings, database, departures) as metrics,
        ):
            yield Resources(
                database=database,
                departures=departures,
                connections=connections,
                listener=found,
                metrics=metrics,
                clock=read_clock(clock(), database, departures.journal),
            )


def start_lines(settings: Settings, resources: Resources, limits: OpenConnections) -> list[str]:
    """Return the lines of the start report, without passwords."""
    one, proxy = settings, settings.trusted_proxy
    each = _rate(one.requests_per_second, one.burst)
    each_at_once = min(one.at_once_each, one.at_once)
    source = _rate(one.source_requests_per_second, one.source_burst)
    infer = "on other servers"
    if one.infer:
        infer = f"in a separate process, at most {one.inference_timeout:g} seconds"
    metrics = "none"
    if resources.metrics.port is not None:
        metrics = f"http://{place_of(one.metrics_host, resources.metrics.port)}/metrics"
    memory = f"{one.bytes_at_once:,} bytes of bodies in progress, and as many arriving"
    port, limit = resources.listener.getsockname()[1], file_limit()
    files = "no known limit" if limit is None else f"at most {limit:,}"
    database, sent = resources.database, asked_for()
    joins = "no limit"
    if one.joins_per_minute:
        joins = f"{one.joins_per_minute:g} a minute, {one.joins_at_once:,} at once"
    return [
        f"Serving campaigns on http://{place_of(one.host, port)}; stop with Ctrl+C.",
        f"  Workers reach it at: {one.public_url or 'the host name of the request'}",
        f"  Database: {_database_line(database.url, one.pool_size, resources.connections)}",
        f"  Withdrawals: {_journal_line(resources.departures)}",
        f"  Requests: {one.at_once:,} at once, {each_at_once:,} with one key or credential;",
        f"    with one key or credential, or from one source without: {each};",
        f"    from one source: {source}",
        f"  Joins from one source: {joins};",
        f"    a source is {'a client' if proxy is None else f'an address stated by {proxy}'}",
        f"  Memory: {memory}",
        f"  Connections: {limits.most:,}, {limits.each:,} of them from one source; "
        f"open files: {files}",
        f"  Inference: {infer}",
        f"  Metrics: {metrics}{'' if sent is None else f'; OpenTelemetry: {sent}'}",
        *([f"  Warning: {resources.clock.describe()}"] if resources.clock.held else ()),
    ]


def _rate(rate: float, burst: int) -> str:
    return f"{rate:g} a second, {burst:,} at once" if rate else "no rate limit"


def _database_line(url: URL, pool_size: int, connections: Connections | None) -> str:
    if connections is None:
        return f"SQLite, {url.database}; {pool_size} connections"
    return (
        f"PostgreSQL, {_shown(url)}; {pool_size} connections, {connections.used} of "
        f"{connections.given} in use"
    )


def _journal_line(departures: Departures) -> str:
    if departures.journal is None:
        return "only in the database; copies restore withdrawn workers"
    if departures.path is not None:
        return f"SQLite, {departures.path}"
    return f"PostgreSQL, {_shown(departures.journal.url)}; {CONNECTIONS} connections"


def _shown(url: URL) -> str:
    """Return a URL without password and query, which may contain a password, too."""
    shown = URL.create("postgresql", url.username, None, url.host, url.port, url.database)
    return shown.render_as_string()
