"""Files of tasks in CSV, TSV, JSON and JSON Lines, also from Label Studio, Toloka and MTurk."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from attrs import frozen

from quietcrowd.campaign.terms.canonical import canonical_json, json_in_order
from quietcrowd.campaign.terms.task_columns import SortedColumns, TaskColumns, is_of_a_service
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import FormatError
from quietcrowd.formats.dialects import SEP, sniff_header
from quietcrowd.validation import parse_json

MAX_NAME = 200
MAX_DATA = 16_384

_OF_LABEL_STUDIO = frozenset(
    {
        *("annotations", "predictions", "drafts", "project", "meta", "file_upload", "inner_id"),
        *("created_at", "updated_at", "updated_by", "overlap", "is_labeled", "allow_skip"),
        *("total_annotations", "cancelled_annotations", "total_predictions", "comment_count"),
        *("unresolved_comment_count", "last_comment_updated_at", "comment_authors", "state"),
    }
)
"""Fields of Label Studio next to the data, which are not shown to workers."""


@frozen(kw_only=True)
class TaskRow:
    """A task of a file.

    `row` counts from 1, including a header. `data` is a JSON object shown to workers. `named_by` is
    the column of the name. `set_apart` means that the file separates shown data: in ``data``, or in
    columns of Toloka or MTurk.
    """

    row: int
    name: str | None
    data: str
    known_truth: Any = None
    named_by: str | None = None
    set_apart: bool = False


_USUAL = TaskColumns()


def _row(number: int, found: SortedColumns, set_apart: bool) -> TaskRow:
    name, truth = found.name, found.known_truth
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    named = name is None or (isinstance(name, str) and 0 < len(name) <= MAX_NAME)
    if not named or "\0" in (name or ""):
        raise FormatError("campaign.task-not-text", number=number, max_name=MAX_NAME)
    if truth is not None and not isinstance(truth, str | int | float):
        raise FormatError("campaign.gold-not-text", number=number)
    try:
        canonical_json([name, truth])
        spelled = json_in_order(found.shown)
    except (FormatError, RecursionError):
        raise FormatError("campaign.row-not-json", number=number) from None
    if len(spelled.encode()) > MAX_DATA:
        raise FormatError("campaign.data-too-large", number=number, max_data=MAX_DATA)
    return TaskRow(
        row=number,
        name=name,
        data=spelled,
        known_truth=truth,
        named_by=found.named_by,
        set_apart=set_apart,
    )


Record: TypeAlias = tuple[int, dict[str, Any], Mapping[str, Any] | None]
"""The number of a row, its fields, and the data that it separates from them, if it does."""


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("campaign.not-utf8") from None


def _table_records(content: bytes, *, usual: str) -> Iterator[Record]:
    text = _text(content)
    try:
        named = SEP.match(text)
        body = text if named is None else text[named.end() :]
        delimiter = sniff_header(body, usual)[0] if named is None else named[1]
        reader = csv.DictReader(io.StringIO(body, newline=""), strict=True, delimiter=delimiter)
        check_names(reader.fieldnames or [])
        for number, cells in enumerate(reader, start=2 + (named is not None)):
            if None in cells or None in cells.values():
                raise FormatError("campaign.cells-missing", number=number)
            yield number, cells, None
    except csv.Error:
        raise FormatError("campaign.csv-invalid") from None


def check_names(names: Sequence[str]) -> None:
    """Raise `FormatError` if names of columns are missing or repeated."""
    if not names or len(set(names)) < len(names) or "" in names:
        raise FormatError("campaign.column-names-invalid")
    if len(names) == 1 and not {";", "\t"}.isdisjoint(names[0]):
        raise FormatError("campaign.header-quoted")


def _line_records(content: bytes) -> Iterator[Record]:
    for number, line in enumerate(_text(content).split("\n"), start=1):
        if line.strip():
            yield _record(number, _parsed(number, line))


def _json_records(content: bytes) -> Iterator[Record]:
    found = _parsed(1, _text(content))
    for number, record in enumerate(found if isinstance(found, list) else [found], start=1):
        yield _record(number, record)


def _parsed(number: int, text: str) -> Any:
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        raise FormatError("campaign.line-not-json", number=number) from None


def _record(number: int, record: Any) -> Record:
    if not isinstance(record, dict):
        raise FormatError("campaign.row-not-object", number=number)
    if "data" not in record:
        return number, record, None
    data = record.pop("data")
    if not isinstance(data, Mapping):
        raise FormatError("campaign.data-not-object", number=number)
    return number, record, data


RECORDS: Mapping[str, Callable[[bytes], Iterator[Record]]] = {
    "text/csv": partial(_table_records, usual=","),
    "text/tab-separated-values": partial(_table_records, usual="\t"),
    "application/json": _json_records,
    "application/x-ndjson": _line_records,
}
"""Functions that read the rows of a file, by media type. Errors name the row, not its content."""

TABLES = ("text/csv", "text/tab-separated-values")
"""Media types in which all cells are texts, and an empty one is missing."""


def task_rows(
    records: Iterable[Record], columns: TaskColumns = _USUAL, *, texts: bool = False
) -> Iterator[TaskRow]:
    """Yield the tasks of a file; in `texts`, an empty known truth is missing."""
    for place, (number, fields, data) in enumerate(records):
        if not (texts and place):
            columns.check_spelling(1 if texts else number, fields)
        given = dict(fields)
        if texts and not given.get("gold"):
            given.pop("gold", None)
        found = columns.sort(number, given, data)
        others = given.keys() - {found.named_by, "gold"}
        if data is not None and not others <= _OF_LABEL_STUDIO:
            raise FormatError("campaign.row-has-other-keys", number=number)
        yield _row(number, found, data is not None or is_of_a_service(given))


def _read(kind: str, content: bytes, columns: TaskColumns = _USUAL) -> Iterator[TaskRow]:
    return task_rows(RECORDS[kind](content), columns, texts=kind in TABLES)


READERS: Mapping[str, Callable[..., Iterator[TaskRow]]] = {
    kind: partial(_read, kind) for kind in RECORDS
}
"""Readers of content, and of columns if the requester names some, by media type."""


def encode_known_truths(domain: Domain, rows: Sequence[TaskRow]) -> list[str | None]:
    """Encode known truths as JSON or None; `FormatError` names the row, but no truth."""
    stored: list[str | None] = []
    for row in rows:
        known = None if row.known_truth is None else as_answer(domain, row.known_truth)
        if row.known_truth is not None and known is None:
            raise FormatError("campaign.gold-not-possible", row=row.row)
        stored.append(None if known is None else json.dumps(known))
    return stored


def as_answer(domain: Domain, truth: Any) -> Any:
    """Return a known truth as one of the possible answers, else None."""
    if isinstance(domain, FiniteDomain):
        code = domain.code(truth)
        return None if code is None else domain.labels[code]
    try:
        number = float(truth)
    except (OverflowError, ValueError):
        return None
    return number if domain.low <= number <= domain.high else None  # type: ignore[attr-defined]
