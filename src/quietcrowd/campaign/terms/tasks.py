"""Files of tasks in CSV, TSV, JSON and JSON Lines, also from Label Studio, Toloka and MTurk."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import field, frozen

from quietcrowd.campaign.terms.canonical import canonical_json, json_in_order
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import FormatError
from quietcrowd.formats.dialects import sniff_header
from quietcrowd.validation import parse_json

_NAMES = ("task", "external_id", "id")
"""Columns that may name a task: the first one present does, the others are data."""

_GOLD = "gold"
_OURS = frozenset({*_NAMES, _GOLD})
_SHOWN = ("input:", "input.")
_KNOWN = "golden:"
_TASK_IDS = ("assignment:task_id", "hitid")  # task ids of Toloka and MTurk
_OF_OTHERS = ("output:", "hint:", "assignment:", "answer.")
_OF_MTURK = frozenset({"hitid", "workerid", "assignmentid"})
_WORKERS = frozenset({"worker", "worker_id", "workerid", "performer", "annotator"})
_LABELS = frozenset({"label", "answer"})
_ANNOTATIONS = frozenset({"annotations", "annotation_id", "completed_by", "drafts", "predictions"})
"""Names of answers in Label Studio's JSON, JSON_MIN and CSV."""


@frozen(kw_only=True)
class SortedColumns:
    """The columns of one task by their meaning; all except `shown` may be None."""

    name: Any
    named_by: str | None
    shown: Mapping[str, Any]
    known_truth: Any


@frozen(kw_only=True)
class TaskColumns:
    """The requester's choice of the column that names a task, and of those that workers see.

    By default, the first of ``task``, ``external_id`` and ``id`` names it, and all columns are
    shown except that one and ``gold``.
    """

    name: str | None = None
    shown: tuple[str, ...] | None = field(default=None)

    def check_spelling(self, number: int, fields: Iterable[str]) -> None:
        """Raise `FormatError` if a field differs from a reserved name only in case or spaces."""
        exact = set(fields)
        alike = {name.strip().lower() for name in exact if name not in (*_OURS, self.name)}
        unnamed = self.name is None and exact.isdisjoint(_NAMES)
        if _GOLD in alike or (unnamed and not alike.isdisjoint(_NAMES)):
            raise FormatError("campaign.column-almost-reserved", number=number)

    def sort(
        self, number: int, fields: Mapping[str, Any], data: Mapping[str, Any] | None = None
    ) -> SortedColumns:
        """Split the columns of a task into name, shown data and known truth.

        Of Toloka and MTurk, only columns that begin with ``INPUT:`` or ``Input.`` are shown, and
        ``GOLDEN:`` is the known truth. Workers' answers and hints raise `FormatError`.
        """
        outer = dict(fields)
        inner = outer if data is None else dict(data)
        named_by, name = self._take_name(number, outer, inner)
        truth = outer.pop(_GOLD, None)
        if self.shown is not None:
            inner = {one: inner[one] for one in inner if _is_kept(one, self.shown)}
        return _sort_service(number, named_by, name, inner, truth)

    def _take_name(
        self, number: int, outer: dict[str, Any], inner: dict[str, Any]
    ) -> tuple[str | None, Any]:
        if self.name is None:
            found = next((name for name in _NAMES if name in outer), None)
            return (None, None) if found is None else (found, outer.pop(found))
        for fields in (outer, inner):
            if self.name in fields:
                return self.name, fields.pop(self.name)
        raise FormatError("campaign.task-column-missing", number=number, name=self.name)


def _is_kept(name: str, shown: tuple[str, ...]) -> bool:
    """Return whether a column is shown, or is a service's task id or known truth."""
    low = name.strip().lower()
    asked = low.startswith(_SHOWN) and name.strip()[len(_SHOWN[0]) :] in shown
    return name in shown or asked or low.startswith(_KNOWN) or low in _TASK_IDS


def _sort_service(
    number: int, named_by: str | None, name: Any, fields: Mapping[str, Any], truth: Any
) -> SortedColumns:
    spelled = {name.strip().lower(): name for name in fields}
    filled = {low for low, name in spelled.items() if fields[name] not in (None, "", [])}
    labelled = "label" in filled and isinstance(fields[spelled["label"]], list)  # labels of doccano
    if filled & _ANNOTATIONS or labelled or (filled & _WORKERS and filled & _LABELS):
        raise _rejection(number)
    if not is_of_a_service(fields):
        return SortedColumns(name=name, named_by=named_by, shown=fields, known_truth=truth)
    if len(spelled) < len(fields):
        raise FormatError("campaign.columns-differ-by-case", number=number)
    shown = [low for low in spelled if low.startswith(_SHOWN)]
    named = [low for low in _TASK_IDS if low in filled]
    known = [low for low in filled if low.startswith(_KNOWN)]
    if filled - {*shown, *named, *known}:
        raise _rejection(number)
    if not shown or len(known) + (truth is not None) > 1:
        raise FormatError("campaign.template-columns-invalid", number=number)
    if name is None and named:
        named_by = spelled[named[0]]
        name = fields[named_by]
    return SortedColumns(
        name=name,
        named_by=named_by,
        shown={spelled[low].strip()[len(_SHOWN[0]) :]: fields[spelled[low]] for low in shown},
        known_truth=fields[spelled[known[0]]] if known else truth,
    )


def is_of_a_service(fields: Iterable[str]) -> bool:
    """Return whether a column is one of Toloka or MTurk, whose names define what is shown."""
    return any(
        low in _OF_MTURK or low.startswith((*_SHOWN, _KNOWN, *_OF_OTHERS))
        for low in (name.strip().lower() for name in fields)
    )


def _rejection(number: int) -> FormatError:
    return FormatError("campaign.columns-reveal-workers", number=number)


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


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("campaign.not-utf8") from None


def _read_table(content: bytes, columns: TaskColumns = _USUAL, *, usual: str) -> Iterator[TaskRow]:
    """Read a table with an optional name and ``gold``; all other columns are data."""
    text = _text(content)
    try:
        delimiter, _ = sniff_header(text, usual)
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
        names = reader.fieldnames or []
        if not names or len(set(names)) < len(names) or "" in names:
            raise FormatError("campaign.column-names-invalid")
        if len(names) == 1 and not {";", "\t"}.isdisjoint(names[0]):
            raise FormatError("campaign.header-quoted")
        columns.check_spelling(1, names)
        set_apart = is_of_a_service(names)
        for number, cells in enumerate(reader, start=2):
            if None in cells or None in cells.values():
                raise FormatError("campaign.cells-missing", number=number)
            if not cells.get("gold"):
                cells.pop("gold", None)
            yield _row(number, columns.sort(number, cells), set_apart)
    except csv.Error:
        raise FormatError("campaign.csv-invalid") from None


def _read_json_lines(content: bytes, columns: TaskColumns = _USUAL) -> Iterator[TaskRow]:
    for number, line in enumerate(_text(content).split("\n"), start=1):
        if line.strip():
            yield _record(number, _parsed(number, line), columns)


def _read_json(content: bytes, columns: TaskColumns = _USUAL) -> Iterator[TaskRow]:
    found = _parsed(1, _text(content))
    for number, record in enumerate(found if isinstance(found, list) else [found], start=1):
        yield _record(number, record, columns)


def _parsed(number: int, text: str) -> Any:
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        raise FormatError("campaign.line-not-json", number=number) from None


def _record(number: int, record: Any, columns: TaskColumns) -> TaskRow:
    """Return a task from an object with a name, ``gold`` and ``data``, else from its fields."""
    if not isinstance(record, dict):
        raise FormatError("campaign.row-not-object", number=number)
    columns.check_spelling(number, record)
    if "data" not in record:
        return _row(number, columns.sort(number, record), is_of_a_service(record))
    data = record.pop("data")
    if not isinstance(data, Mapping):
        raise FormatError("campaign.data-not-object", number=number)
    found = columns.sort(number, record, data)
    if not record.keys() - {found.named_by, "gold"} <= _OF_LABEL_STUDIO:
        raise FormatError("campaign.row-has-other-keys", number=number)
    return _row(number, found, set_apart=True)


READERS: Mapping[str, Callable[..., Iterator[TaskRow]]] = {
    "text/csv": partial(_read_table, usual=","),
    "text/tab-separated-values": partial(_read_table, usual="\t"),
    "application/json": _read_json,
    "application/x-ndjson": _read_json_lines,
}
"""Readers of content, and of columns if the requester names some, by media type.

Errors name the row, and do not quote its content.
"""


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
