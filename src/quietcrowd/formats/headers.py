"""Columns by number, in tables without a header, and headers that are missing."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats.likely_columns import is_usual_name
from quietcrowd.header_rows import MOST_ROWS

Name: TypeAlias = str | int
"""A column's name, or its number from 1 in a table without a header."""

_NUMBER = re.compile(r"\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*", re.ASCII)


def are_numbers(wanted: Sequence[Name]) -> bool:
    """Return whether columns are numbers; raise ParameterError if only some are."""
    numbers = [name for name in wanted if not isinstance(name, str)]
    if numbers and len(numbers) < len(wanted):
        raise ParameterError("formats.columns-mixed", wanted=", ".join(map(repr, wanted)))
    return bool(numbers)


def numbered_columns(path: Path, first: Sequence[str], wanted: Sequence[Name]) -> dict[str, int]:
    """Return places from 0 of columns by number; `first` is the first row of the table."""
    _check_separated(path, [first], len(wanted))
    places = {}
    for number in wanted:
        if isinstance(number, bool) or not 1 <= int(number) <= len(first):
            raise ParameterError(
                "formats.column-number-invalid", path=path, number=number, count=len(first)
            )
        places[str(number)] = int(number) - 1
    if len(places) < len(wanted):
        raise ParameterError("formats.column-number-twice", wanted=", ".join(map(str, wanted)))
    usual = [cell for cell in first if is_usual_name(cell)]
    if len(usual) > 1:
        raise FormatError("formats.header-found", path=path, names=" and ".join(map(repr, usual)))
    return places


_MOST_COMPARED = 1000
"""Rows that are compared with a header that may be an answer."""


def check_header(
    path: Path, header: Sequence[str], below: Iterable[list[str]], wanted: int
) -> None:
    """Raise FormatError if a header without the names of `wanted` columns is not one of answers.

    It is a title if it has one cell, or fewer than the next row, and an answer if all its cells
    are numbers, or a text of it occurs `below` in the same column.
    Import ids of Qualtrics below show that rows are respondents.
    """
    filled = [cell for cell in header if cell.strip()]
    texts = {place: cell for place, cell in enumerate(header) if cell and not _is_number(cell)}
    rows = list(islice(below, _MOST_COMPARED))
    if any(cell.lstrip().startswith('{"ImportId"') for row in rows[:MOST_ROWS] for cell in row):
        raise FormatError("formats.row-per-respondent", path=path)
    _check_separated(path, [header, *rows], wanted)
    if filled and rows and (len(filled) == 1 < wanted or len(header) < len(rows[0])):
        raise FormatError("formats.title-above", path=path, cells=", ".join(map(repr, filled)))
    repeated = any(
        row[place : place + 1] == [cell] for row in rows for place, cell in texts.items()
    )
    if repeated or (filled and all(map(_is_number, filled))):
        raise FormatError("formats.header-missing", path=path, cells=", ".join(map(repr, filled)))


def _check_separated(path: Path, rows: Sequence[Sequence[str]], wanted: int) -> None:
    """Raise FormatError if all rows have one cell with several parts."""
    parts = [max(row[0].split(), row[0].split("::"), key=len) for row in rows if len(row) == 1]
    if len(parts) == len(rows) and all(1 < wanted <= len(one) == len(parts[0]) for one in parts):
        raise FormatError("formats.separated-otherwise", path=path, row=rows[0][0])


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None
