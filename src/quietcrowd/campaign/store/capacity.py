"""Connections that PostgreSQL gives: asked for before a server begins, and taken at once.

What a server takes at its start is seen by the next one: none of them is refused later.
"""

from __future__ import annotations

from contextlib import ExitStack

from attrs import frozen
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from quietcrowd.campaign.store.database import Database
from quietcrowd.exceptions import ParameterError

__all__ = ["Connections", "claim_connections"]

_ASK = """
SELECT current_setting('max_connections')::int AS most,
       current_setting('superuser_reserved_connections')::int
         + coalesce(current_setting('reserved_connections', true)::int, 0) AS reserved,
       (SELECT coalesce(sum(numbackends), 0)::int FROM pg_stat_database WHERE datid <> 0) AS used,
       (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS of_user,
       (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS of_database
"""
"""A limit of -1 is none; what is in use counts helpers of queries as well."""


@frozen(kw_only=True)
class Connections:
    """Connections to PostgreSQL.

    Attributes
    ----------
    given : int
        That it gives to all together, but for those that it reserves.
    used : int
        Of them that are in use now, with those of this server.
    """

    given: int
    used: int


def claim_connections(database: Database, *, pool_size: int, others: int) -> Connections | None:
    """Take all connections of a pool; None for SQLite, which has no limit.

    Parameters
    ----------
    database : Database
        Of which the pool may have some already.
    pool_size : int
        How many the pool has.
    others : int
        How many more the server will take in processes of its own.

    Raises
    ------
    ParameterError
        Where PostgreSQL does not give as many.
    """
    if database.path is not None:
        return None
    wanted = f"this server needs {pool_size + others}"
    way_out = "take a smaller pool_size, start fewer servers, or let PostgreSQL give more"
    with database.read() as connection:
        row = connection.execute(text(_ASK)).one()
        limits = (row.of_user, row.of_database)
        given = min(row.most - row.reserved, *(one for one in limits if one >= 0), row.most)
        pool = database.engine.pool
        more = pool_size + others - pool.checkedin() - pool.checkedout()  # type: ignore[attr-defined]
    if row.used + more > given:
        raise ParameterError(
            f"PostgreSQL gives {given} connections, and {row.used} are in use: {wanted}; {way_out} "
            "(max_connections)"
        )
    try:
        with ExitStack() as held:
            for _ in range(pool_size):
                held.enter_context(database.engine.connect())
    except OperationalError:  # others came in between
        raise ParameterError(
            f"PostgreSQL gave {given} connections, and they are in use now: {wanted}; {way_out} "
            "(max_connections)"
        ) from None
    return Connections(given=given, used=row.used + more)
