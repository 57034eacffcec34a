"""Inserting many rows with one statement."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Table

__all__ = ["insert_rows"]

_MOST = 30_000
"""Parameters of a statement: SQLite takes 32,766 and PostgreSQL 65,535."""


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows, whose values are in the order of the columns of a table.

    The drivers insert many rows one by one, and Python may run another thread after each: where
    that one is busy, a thousand rows take seconds.
    """
    columns = table.columns.keys()
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    row_of_marks = f"({', '.join([mark] * len(columns))})"
    step = _MOST // len(columns)
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        connection.exec_driver_sql(
            f"INSERT INTO {table.name} ({', '.join(columns)}) "
            f"VALUES {', '.join([row_of_marks] * len(part))}",
            tuple(chain.from_iterable(part)),
        )
