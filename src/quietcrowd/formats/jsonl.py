"""Objects of JSON, one per line or in a list.

In a file of reports, the first line is the note, which has a key ``mechanism``.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import resolve
from quietcrowd.formats.files import open_text, replacing_bytes
from quietcrowd.validation import one_line, parse_json

NAME = "JSON Lines in UTF-8"

_HEAD = 2**20
"""Characters that must include the first object for `first_keys`."""

_MOST_ROWS = 1000
"""Rows that include all keys."""


def first_keys(path: Path) -> list[str]:
    """Return the keys of the first object, which may be in a list, and the types of their values.

    If the first line is an object, its keys follow after ``line:``.

    Examples
    --------
    >>> path = Path(getfixture("tmp_path"), "labels.jsonl")
    >>> path.write_text('{"text": "a", "label": []}')
    26
    >>> first_keys(path)
    ['text:str', 'label:list', 'line:text:str', 'line:label:list']
    """
    with open_text(path) as file:
        head = file.read(_HEAD)
        if "\n" not in head and head.lstrip().startswith("{"):
            head += file.readline()
    return keys_of(head)


def keys_of(text: str) -> list[str]:
    """Return `first_keys` of the beginning of a file."""
    inside = text.lstrip().removeprefix("[").lstrip()
    line = text.partition("\n")[0]
    first = _typed_keys(lambda: json.JSONDecoder().raw_decode(inside)[0])
    return [*first, *(f"line:{key}" for key in _typed_keys(lambda: json.loads(line)))]


def _typed_keys(parse: Callable[[], Any]) -> list[str]:
    try:
        record = parse()
    except (ValueError, RecursionError):
        return []
    items = record.items() if isinstance(record, dict) else ()
    return [f"{key}:{type(value).__name__}" for key, value in items]


def read_note(path: Path) -> dict[str, Any] | None:
    """Return the first line if it is a note."""
    with open_text(path) as file:
        line = file.readline()
    if not line.strip() or line.lstrip().startswith("["):
        return None
    record = _object(path, "line 1", parse_part(path, "line 1", line))
    return record if isinstance(record.get("mechanism"), dict) else None


def names(path: Path) -> list[str]:
    """Return the keys of the first rows; a key may be missing in some."""
    rows = islice(_records(path), _MOST_ROWS)
    return list(dict.fromkeys(key for _, record in rows for key in record))


def place_of_row(path: Path, row: int) -> str:
    """Return where a row, counted from 0, is in the file."""
    place, _ = next(islice(_records(path), row, None), (None, None))
    return f"{place} of the file"


def read(path: Path, wanted: tuple[str, ...]) -> pa.Table:
    """Return the wanted columns; a key that only some rows have is missing in the others."""
    known = names(path)
    found = resolve(path, known, wanted)
    keys = {name: found.get(name, name) for name in wanted}
    columns: dict[str, list[Any]] = {name: [] for name in wanted}
    places, absent = [], set(keys)
    for place, record in _records(path):
        places.append(place)
        absent -= {name for name in absent if keys[name] in record}
        for name, cells in columns.items():
            cells.append(record.get(keys[name]))
    if places and absent:
        raise FormatError(
            "formats.key-in-no-row",
            path=path,
            key=next(name for name in wanted if name in absent),
            known=", ".join(map(repr, known)),
        )
    return pa.table({name: _column(path, name, cells, places) for name, cells in columns.items()})


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the object of each row, without a note."""
    with open_text(path) as file:
        line = file.readline()
        if line.lstrip().startswith("["):
            yield from parse_objects(path, line + file.read())
            return
        for number, text in enumerate(chain([line], file), start=1):
            if text.strip():
                place = f"line {number}"
                record = _object(path, place, parse_part(path, place, text))
                if number > 1 or "mechanism" not in record:
                    yield place, record


def _object(path: Path, place: str, record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise FormatError("formats.place-not-an-object", path=path, place=place, record=record)
    return record


def _column(path: Path, name: str, cells: list[Any], places: list[str]) -> pa.Array:
    cells = [None if isinstance(cell, float) and math.isnan(cell) else cell for cell in cells]
    try:
        return pa.array(cells)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        held = [place for place, cell in enumerate(cells) if cell is not None]
        one = held[0]
        kind = _kind(cells[one])
        other = next((place for place in held if _kind(cells[place]) != kind), None)
        if other is None:
            raise FormatError(
                "formats.key-unreadable", path=path, name=name, reason=one_line(error)
            ) from None
        raise FormatError(
            "formats.key-of-several-types",
            path=path,
            name=name,
            value=cells[one],
            place=places[one],
            other_value=cells[other],
            other_place=places[other],
        ) from None


def _kind(cell: Any) -> type:
    return float if type(cell) is int else type(cell)


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write the note, then one object per row."""
    columns = {
        name: pc.cast(column, pa.string()) if pa.types.is_temporal(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    with replacing_bytes(path) as file:
        if note is not None:
            file.write(f"{json.dumps(note)}\n".encode())
        for batch in pa.table(columns).to_batches(max_chunksize=10_000):
            for row in batch.to_pylist():
                cells = {name: json_ready(cell) for name, cell in row.items()}
                file.write(f"{json.dumps(cells)}\n".encode())


def json_ready(cell: Any) -> Any:
    """Return a value, but None for NaN and infinity, which JSON does not have."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def read_records(path: Path, noun: str) -> list[dict[str, Any]]:
    """Return a list of objects; `noun` names an object in messages."""
    with open_text(path) as file:
        records = parse_json(file.read())
    if not isinstance(records, list):
        raise FormatError("formats.not-a-list", path=path, noun=noun, record=str(records)[:40])
    return [_object(path, f"{noun} {place}", record) for place, record in enumerate(records)]


def read_objects(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of JSON Lines or of a list, each with its place; see `parse_objects`."""
    with open_text(path, "utf-8-sig") as file:
        return parse_objects(path, file.read())


def parse_objects(path: Path, text: str, inside: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of JSON Lines or of a list, or one object, each with its place.

    A place is `inside` followed by "line 1", "line 2", … or "record 0", "record 1", ….
    """
    if text.lstrip().startswith("[") or _is_one_object(text):
        records = parse_part(path, inside.rstrip(" :") or "the list", text)
        records = records if isinstance(records, list) else [records]
        found = [(f"{inside}record {number}", one) for number, one in enumerate(records)]
    else:  # str.splitlines would split at line separators inside strings
        lines = enumerate(text.split("\n"), start=1)
        places = [(f"{inside}line {number}", line) for number, line in lines if line.strip()]
        found = [(place, parse_part(path, place, line)) for place, line in places]
    return [(place, _object(path, place, one)) for place, one in found]


def _is_one_object(text: str) -> bool:
    """Return whether a text is an object that does not end in its first line."""
    line, _, others = text.strip().partition("\n")
    return bool(others) and not keys_of(line) and bool(_typed_keys(lambda: json.loads(text)))


def parse_part(path: Path, place: str, text: str) -> Any:
    """Parse JSON at a place of a file; raise FormatError if it is invalid."""
    try:
        return parse_json(text)
    except (ValueError, RecursionError) as error:
        raise FormatError("formats.place-not-json", path=path, place=place, error=error) from None


def object_in(path: Path, place: str, holder: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a member that is an object, or empty if it is missing; raise FormatError otherwise."""
    found = holder.get(name)
    if not isinstance(found, dict | None):
        raise FormatError("formats.key-not-an-object", path=path, place=place, name=name)
    return found or {}


def objects_in(
    path: Path, place: str, holder: Mapping[str, Any], name: str
) -> list[dict[str, Any]]:
    """Return a member that is a list of objects, or empty; raise FormatError otherwise."""
    found = holder.get(name)
    listed = isinstance(found, list) and all(isinstance(one, dict) for one in found)
    if not (listed or found is None):
        raise FormatError("formats.key-not-objects", path=path, place=place, name=name)
    return found or []


def dicts(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list; a value that is not a list has none."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
