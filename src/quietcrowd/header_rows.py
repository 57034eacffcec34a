"""Rows that continue the header in exports of Qualtrics: texts, then import ids."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa

from quietcrowd.answer_errors import plain_type

ImportIds: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The import id of each column: ``{"ImportId": "QID3", "choiceId": "1"}``."""

MOST_ROWS = 2
"""Maximum number of such rows below the names."""


_DATE = re.compile("(?:[Ss]tart|[Ee]nd|[Rr]ecorded)Date")


def header_rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> tuple[int, ImportIds]:
    """Return the number of these rows at the start of a table, and the import ids.

    One of both rows may be missing. Without import ids, texts are in the place of dates.
    """
    rows = list(islice(rows, MOST_ROWS))
    for place, row in enumerate(rows):
        cells = {name: _import_id(cell) for name, cell in zip(names, row, strict=True)}
        found = {name: value for name, value in cells.items() if value is not None}
        if found:
            return place + 1, found
    dates = [
        cell
        for row in rows[:1]
        for name, cell in zip(names, row, strict=True)
        if _DATE.fullmatch(name)
    ]
    texts = [isinstance(cell, str) and re.fullmatch(r"\s*[^\s\d]\D*", cell) for cell in dates]
    return int(bool(dates) and all(texts)), {}


def without_header_rows(table: pa.Table) -> tuple[pa.Table, int]:
    """Return a table of texts without these rows, and their number."""
    columns = [column for column in table.columns if pa.types.is_string(plain_type(column.type))]
    rows = zip(*(column.slice(0, MOST_ROWS).to_pylist() for column in columns), strict=True)
    skipped, _ = header_rows([str(place) for place in range(len(columns))], rows)
    return table.slice(skipped), skipped


def _import_id(cell: Any) -> Mapping[str, Any] | None:
    if not isinstance(cell, str) or not cell.lstrip().startswith('{"ImportId"'):
        return None
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
