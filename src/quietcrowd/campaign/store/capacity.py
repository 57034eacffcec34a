"""PostgreSQL connections, opened at startup so that a server does not fail later for lack of them.

The next server sees the connections that earlier servers have taken.
"""

from __future__ import annotations

from contextlib import ExitStack

from attrs import frozen
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from quietcrowd.campaign.store.database import Database
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
    """Numbers of PostgreSQL connections: allowed, without reserved ones, and in use.

    `used` includes the connections of this server.
    """

    given: int
    used: int


def claim_connections(database: Database, *, pool_size: int, others: int) -> Connections | None:
    """Open all connections of the pool; return None for SQLite, which has no limit.

    `others` is the number of connections that the server will open in its other processes. Raises
    `ParameterError` if PostgreSQL does not allow that many.
    """
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
            "campaign.too-few-connections",
            given=given,
            used=row.used,
            wanted=wanted,
        )
    try:
        with ExitStack() as held:
            for _ in range(pool_size):
                held.enter_context(database.engine.connect())
    except OperationalError:  # another process was faster
        raise ParameterError("campaign.connections-in-use", given=given, wanted=wanted) from None
    return Connections(given=given, used=row.used + more)
