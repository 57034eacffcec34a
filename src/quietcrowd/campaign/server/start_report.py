"""The start report of a server."""

from __future__ import annotations

from sqlalchemy import URL

from quietcrowd.campaign.server.door import Door
from quietcrowd.campaign.server.listening import file_limit
from quietcrowd.campaign.server.metrics.otlp import asked_for
from quietcrowd.campaign.server.resources import Resources
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.capacity import Connections
from quietcrowd.campaign.store.departures import CONNECTIONS, Departures
from quietcrowd.campaign.terms.settings import place_of

__all__ = ["start_lines"]


def start_lines(settings: Settings, resources: Resources, door: Door) -> list[str]:
    """Return the lines of the start report, without passwords."""
    one = settings
    each = _rate(one.requests_per_second, one.burst)
    each_at_once = min(one.at_once_each, one.at_once)
    source = _rate(one.source_requests_per_second, one.source_burst)
    infer = "left to other servers"
    if one.infer:
        infer = f"in a process of its own, ended after {one.longest_inference:g} seconds"
    metrics = "none"
    if resources.metrics.port is not None:
        metrics = f"http://{place_of(one.metrics_host, resources.metrics.port)}/metrics"
    memory = f"{one.bytes_at_once:,} bytes of bodies worked on, as many coming in"
    port = resources.listener.getsockname()[1]
    database, sent = resources.database, asked_for()
    joins = "no limit"
    if one.joins_per_minute:
        joins = f"{one.joins_per_minute:g} a minute, {one.joins_at_once:,} at once"
    return [
        f"Serving campaigns on http://{place_of(one.host, port)}; stop with Ctrl+C.",
        f"  Workers reach it at: {one.address or 'the name under which it is asked'}",
        f"  Database: {_database_line(database.url, one.pool_size, resources.connections)}",
        f"  Who left: {_journal_line(resources.departures)}",
        f"  Requests: {one.at_once:,} at once, {each_at_once:,} with one key or credential;",
        f"    with one key or credential, or from one source without: {each};",
        f"    from one source: {source}",
        f"  Joins of what is open to all, from one source: {joins};",
        f"    a source is {'who connects' if one.proxy is None else f'what {one.proxy} says'}",
        f"  Memory: {memory}",
        f"  Connections: {_connections_line(door)}",
        f"  Inference: {infer}",
        f"  Metrics: {metrics}{'' if sent is None else f'; OpenTelemetry: {sent}'}",
        *([f"  Warning: {resources.clock.describe()}"] if resources.clock.held else ()),
    ]


def _rate(rate: float, burst: int) -> str:
    return f"{rate:g} a second, {burst:,} at once" if rate else "no limit of a rate"


def _connections_line(door: Door) -> str:
    one, limit = door.connections, file_limit()
    files = "no known limit" if limit is None else f"at most {limit:,}"
    return f"{one.most:,}, {one.each:,} of them from one source; open files: {files}"


def _database_line(url: URL, pool_size: int, connections: Connections | None) -> str:
    if connections is None:
        return f"SQLite, {url.database}; {pool_size} connections"
    return (
        f"PostgreSQL, {_shown(url)}; {pool_size} connections, {connections.used} of "
        f"{connections.given} in use"
    )


def _journal_line(departures: Departures) -> str:
    if departures.journal is None:
        return "kept in the database alone; comes back with a copy"
    if departures.path is not None:
        return f"SQLite, {departures.path}"
    return f"PostgreSQL, {_shown(departures.journal.url)}; {CONNECTIONS} connections"


def _shown(url: URL) -> str:
    """Return a URL without password and query, which may contain a password, too."""
    shown = URL.create("postgresql", url.username, None, url.host, url.port, url.database)
    return shown.render_as_string()
