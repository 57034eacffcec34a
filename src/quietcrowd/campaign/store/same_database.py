"""Whether two names are of one database: whatever they are, a copy of one holds the other then."""

from __future__ import annotations

import secrets

from sqlalchemy import text

from quietcrowd.campaign.store.database import Database

__all__ = ["same_database"]

_TAKE = text("SELECT pg_advisory_xact_lock(:key)")

_TRY = text("SELECT pg_try_advisory_xact_lock(:key)")


def same_database(one: Database, other: Database) -> bool:
    """Return whether two databases are one.

    Of PostgreSQL a lock that nobody else knows is taken in one, and looked for in the other: locks
    are of a database, under whatever host, port, user or schema it is asked for, and anybody may
    take them. Of SQLite it is the file.
    """
    if one.path is not None and other.path is not None:
        return one.path.exists() and other.path.exists() and one.path.samefile(other.path)
    if one.path is not None or other.path is not None:
        return False
    key = {"key": secrets.randbits(63)}
    with one.write() as first, other.write() as second:
        first.execute(_TAKE, key)
        return not second.scalar(_TRY, key)
