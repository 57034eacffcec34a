"""Looking up many rows of a campaign at once, each by the index.

A database that has no statistics of a campaign yet expects few rows of it: asked for those among
many ids, it reads all rows of the campaign, at every upload. These statements leave it no choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Table

__all__ = ["look_up"]

_CHUNK = 10_000
"""Ids of a statement: SQLite takes 32,766 parameters."""


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
    for start in range(0, len(ids), _CHUNK):
        statement, values = look_up_some(table, campaign, column, ids[start : start + _CHUNK])
        yield from connection.exec_driver_sql(statement, values)


def _in_postgresql(
    table: Table, campaign: bytes, column: str, ids: Sequence[bytes]
) -> tuple[str, tuple[Any, ...]]:
    """Return a statement, and its values; OFFSET keeps the inner query as it is."""
    found = f"SELECT * FROM {table.name} WHERE campaign_id = %s AND {column} = wanted.id OFFSET 0"
    statement = (
        f"SELECT found.* FROM unnest(%s::bytea[]) AS wanted(id) CROSS JOIN LATERAL ({found}) found"
    )
    return statement, (list(ids), campaign)


def _in_sqlite(
    table: Table, campaign: bytes, column: str, ids: Sequence[bytes]
) -> tuple[str, tuple[Any, ...]]:
    """Return a statement, and its values; a CROSS JOIN is done in the order in which it stands."""
    statement = (
        f"WITH wanted(id) AS (VALUES {', '.join(['(?)'] * len(ids))}) "
        f"SELECT found.* FROM wanted CROSS JOIN {table.name} AS found "
        f"ON found.campaign_id = ? AND found.{column} = wanted.id"
    )
    return statement, (*ids, campaign)
