"""Cells that a spreadsheet would run: a ``'`` stands before them in files of CSV and TSV.

A program that opens such a file takes a cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or
a carriage return for a formula. Writing puts a ``'`` before it, and before one that begins with
``'`` and would be such a cell without; plain numbers, such as ``-3``, stay as they are. Different
texts stay different, and reading takes away exactly what writing put there.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["count_formulas", "guard", "guard_cell", "unguard"]

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(
    r"'*[+-](([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|nan)", re.ASCII | re.IGNORECASE
)


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def guard_cell(text: str) -> str:
    """Return a text as it is written.

    Examples
    --------
    >>> [guard_cell(text) for text in ("=1+1", "'=1+1", "-3", "- 3", "'tis")]
    ["'=1+1", "''=1+1", '-3', "'- 3", "'tis"]
    """
    return f"'{text}" if _is_formula(text) else text


def guard(table: pa.Table) -> pa.Table:
    """Return a table with its texts as they are written."""
    for place, column in enumerate(table.columns):
        if _first_characters(column, r"^['=+\-@\t\r]"):
            cells = [cell if cell is None else guard_cell(cell) for cell in column.to_pylist()]
            name = table.column_names[place]
            table = table.set_column(place, name, pa.array(cells, column.type))
    return table


def unguard(table: pa.Table) -> pa.Table:
    """Return a table as it was before it was written.

    Where a cell is a formula without a ``'`` before it the file was not written by `guard`, and
    all of it stays as it is: no two ids of any file become one.
    """
    quoted = [
        place for place, column in enumerate(table.columns) if _first_characters(column, "^'")
    ]
    if not quoted or any(map(_has_bare_formula, table.columns)):
        return table
    for place in quoted:
        column = table.column(place)
        cells = [cell if cell is None else _unguard_cell(cell) for cell in column.to_pylist()]
        table = table.set_column(place, table.column_names[place], pa.array(cells, column.type))
    return table


def count_formulas(table: pa.Table) -> int:
    """Return how many cells of a table are written with a ``'`` before them."""
    return sum(
        cell is not None and _is_formula(cell)
        for column in table.columns
        if _first_characters(column, r"^['=+\-@\t\r]")
        for cell in column.to_pylist()
    )


def _unguard_cell(text: str) -> str:
    return text[1:] if text.startswith("'") and _is_formula(text) else text


def _has_bare_formula(column: pa.ChunkedArray) -> bool:
    if not _first_characters(column, r"^[=+\-@\t\r]"):
        return False
    return any(
        cell is not None and not cell.startswith("'") and _is_formula(cell)
        for cell in column.to_pylist()
    )


def _first_characters(column: pa.ChunkedArray, pattern: str) -> bool:
    """Return whether a text of the column begins as the pattern says."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    return bool(pc.any(pc.match_substring_regex(column, pattern)).as_py())
