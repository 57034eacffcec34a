"""Detection of URLs of the same database: a copy of one would contain the other."""

from __future__ import annotations

import secrets

from sqlalchemy import text

from quietcrowd.campaign.store.database import Database

__all__ = ["same_database"]

_TAKE = text("SELECT pg_advisory_xact_lock(:key)")

_TRY = text("SELECT pg_try_advisory_xact_lock(:key)")


def same_database(one: Database, other: Database) -> bool:
    """Return whether two databases are the same.

    For SQLite, compare the files. For PostgreSQL, take a random advisory lock in one and try it in
    the other: such locks are per database, for any host, port, user or schema in the URL.
    """
    if one.path is not None and other.path is not None:
        return one.path.exists() and other.path.exists() and one.path.samefile(other.path)
    if one.path is not None or other.path is not None:
        return False
    key = {"key": secrets.randbits(63)}
    with one.write() as first, other.write() as second:
        first.execute(_TAKE, key)
        return not second.scalar(_TRY, key)
