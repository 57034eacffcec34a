"""Files of tasks: CSV, TSV, JSON and JSON Lines, and those of Label Studio, Toloka and MTurk."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import frozen

from quietcrowd.campaign.terms.canonical import canonical_json, json_in_order
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import FormatError
from quietcrowd.formats.csv_files import sniff_header

__all__ = ["READERS", "TaskRow", "encode_known_truths"]

MAX_NAME = 200
MAX_DATA = 16_384

_NAMES = ("task", "external_id", "id")
"""Columns that may name a task: the first that is there does, the others are data."""

_OURS = frozenset({*_NAMES, "gold"})

_OF_LABEL_STUDIO = frozenset(
    {
        *("annotations", "predictions", "drafts", "project", "meta", "file_upload", "inner_id"),
        *("created_at", "updated_at", "updated_by", "overlap", "is_labeled", "allow_skip"),
        *("total_annotations", "cancelled_annotations", "total_predictions", "comment_count"),
        *("unresolved_comment_count", "last_comment_updated_at", "comment_authors", "state"),
    }
)
"""What Label Studio says of a task beside its data: nothing that workers are shown."""

_SHOWN = ("input:", "input.")
_KNOWN = "golden:"
_TASK_IDS = ("assignment:task_id", "hitid")
"""What names a task of Toloka or MTurk."""

_OF_OTHERS = ("output:", "hint:", "assignment:", "answer.")
_OF_MTURK = frozenset({"hitid", "workerid", "assignmentid"})
_WORKERS = frozenset({"worker", "worker_id", "workerid", "performer", "annotator"})
_LABELS = frozenset({"label", "answer"})
_ANNOTATIONS = frozenset({"annotations", "annotation_id", "completed_by", "drafts", "predictions"})
"""What Label Studio calls answers, in its JSON, JSON_MIN and CSV."""


@frozen(kw_only=True)
class TaskRow:
    """A task of a file.

    Attributes
    ----------
    row : int
        Where it stands in the file.
    name : str or None
        Its id, if the file gives one.
    data : str
        What workers see: a JSON object, its columns in the order of the file.
    known_truth : str, number, bool or None
        What is known to be true, if anything is.
    """

    row: int
    name: str | None
    data: str
    known_truth: Any = None


def _row(number: int, name: Any, data: Any, truth: Any) -> TaskRow:
    if not isinstance(data, Mapping):
        raise FormatError(f"row {number}: data must be an object")
    name, data, truth = _sort_fields(number, name, data, truth)
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    named = name is None or (isinstance(name, str) and 0 < len(name) <= MAX_NAME)
    if not named or "\0" in (name or ""):
        raise FormatError(f"row {number}: task must be a text of 1 to {MAX_NAME} characters")
    if truth is not None and not isinstance(truth, str | int | float):
        raise FormatError(f"row {number}: gold must be a text or a number")
    try:
        canonical_json([name, truth])
        spelled = json_in_order(data)
    except (FormatError, RecursionError):
        raise FormatError(f"row {number}: JSON cannot hold this exactly") from None
    if len(spelled.encode()) > MAX_DATA:
        raise FormatError(f"row {number}: data is more than {MAX_DATA:,} bytes")
    return TaskRow(row=number, name=name, data=spelled, known_truth=truth)


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("row 1: the file must be in UTF-8") from None


def _read_csv(content: bytes, usual: str = ",") -> Iterator[TaskRow]:
    """Read a table: a name and ``gold`` where there are such columns, all others are data.

    The header shows whether commas, semicolons or tabs separate the columns.
    """
    text = _text(content)
    try:
        delimiter, _ = sniff_header(text, usual)
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
        _check_header(reader.fieldnames or [])
        for number, cells in enumerate(reader, start=2):
            if None in cells or None in cells.values():
                raise FormatError(f"row {number}: it has not as many cells as there are columns")
            name, truth = _pop_name(cells), cells.pop("gold", None)
            yield _row(number, name, cells, truth or None)
    except csv.Error:
        raise FormatError("a row breaks the rules of CSV (RFC 4180)") from None


def _check_header(names: Sequence[str]) -> None:
    """Refuse columns that are not told apart."""
    if not names or len(set(names)) < len(names) or "" in names:
        raise FormatError("row 1: columns must have names, and each its own")
    if len(names) == 1 and not {";", "\t"}.isdisjoint(names[0]):
        raise FormatError("row 1: the whole header stands in one pair of quotes: take them away")
    _check_spelling(1, names)


def _check_spelling(number: int, fields: Iterable[str]) -> None:
    """Refuse what is almost called as what names a task, or as its known truth."""
    exact = set(fields)
    alike = {field.strip().lower() for field in exact if field not in _OURS}
    if "gold" in alike or (not alike.isdisjoint(_NAMES) and exact.isdisjoint(_NAMES)):
        raise FormatError(
            f"row {number}: write task, external_id, id and gold in lower case and without "
            "spaces: workers would see what is called otherwise"
        )


def _pop_name(cells: dict[str, Any]) -> Any:
    """Take the name of a task out of what a file says of it."""
    return next((cells.pop(name) for name in _NAMES if name in cells), None)


def _read_json_lines(content: bytes) -> Iterator[TaskRow]:
    """Read one object per line; see `_record`."""
    for number, line in enumerate(_text(content).split("\n"), start=1):
        if line.strip():
            yield _record(number, _parsed(number, line))


def _read_json(content: bytes) -> Iterator[TaskRow]:
    """Read a list of objects, or one object; see `_record`. A row is a place in the list."""
    found = _parsed(1, _text(content))
    for number, record in enumerate(found if isinstance(found, list) else [found], start=1):
        yield _record(number, record)


def _parsed(number: int, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise FormatError(f"row {number}: this is no JSON") from None


def _record(number: int, record: Any) -> TaskRow:
    """Return a task of JSON: a name, ``gold`` and ``data``; without ``data``, the rest is data.

    What Label Studio says of a task beside its data is not taken: annotations least of all.
    """
    if not isinstance(record, dict):
        raise FormatError(f"row {number}: it must be an object")
    _check_spelling(number, record)
    name, truth = _pop_name(record), record.pop("gold", None)
    data = record.pop("data", record)
    if data is not record and not record.keys() <= _OF_LABEL_STUDIO:
        raise FormatError(f"row {number}: beside data, task and gold there is something else")
    return _row(number, name, data, truth)


READERS: Mapping[str, Callable[[bytes], Iterator[TaskRow]]] = {
    "text/csv": _read_csv,
    "text/tab-separated-values": partial(_read_csv, usual="\t"),
    "application/json": _read_json,
    "application/x-ndjson": _read_json_lines,
}
"""What reads a file of each media type. Errors name the row, and never what stands there."""


def _sort_fields(
    number: int, name: Any, fields: Mapping[str, Any], truth: Any
) -> tuple[Any, Mapping[str, Any], Any]:
    """Return the name of a task, what workers are shown of it, and its known truth.

    Of a task with columns of Toloka or MTurk workers are shown those that begin with ``INPUT:`` or
    ``Input.`` alone, and ``GOLDEN:`` is the known truth. All fields of any other task are shown.

    Parameters
    ----------
    number : int
        Of the row, for messages.
    name, truth : any
        As far as the file says them in columns of ours; None where it does not.
    fields : mapping
        All that the file says beside these.

    Raises
    ------
    FormatError
        Where the task comes with answers of workers, or says something that is not to be shown.
    """
    spelled = {field.strip().lower(): field for field in fields}
    filled = {low for low, field in spelled.items() if fields[field] not in (None, "", [])}
    labelled = "label" in filled and isinstance(fields[spelled["label"]], list)  # by doccano
    if filled & _ANNOTATIONS or labelled or (filled & _WORKERS and filled & _LABELS):
        raise _refused(number)
    if not any(_is_of_a_service(low) for low in spelled):
        return name, fields, truth
    if len(spelled) < len(fields):
        raise FormatError(f"row {number}: columns must differ in more than upper and lower case")
    shown = [low for low in spelled if low.startswith(_SHOWN)]
    named = [low for low in _TASK_IDS if low in filled]
    known = [low for low in filled if low.startswith(_KNOWN)]
    if filled - {*shown, *named, *known}:
        raise _refused(number)
    if not shown or len(known) + (truth is not None) > 1:
        raise FormatError(f"row {number}: it must have INPUT: or Input. columns, and one gold")
    if name is None and named:
        name = fields[spelled[named[0]]]
    return (
        name,
        {spelled[low].strip()[len("input:") :]: fields[spelled[low]] for low in shown},
        fields[spelled[known[0]]] if known else truth,
    )


def _is_of_a_service(field: str) -> bool:
    return field in _OF_MTURK or field.startswith((*_SHOWN, _KNOWN, *_OF_OTHERS))


def _refused(number: int) -> FormatError:
    return FormatError(
        f"row {number}: workers would see hints, or answers and ids of other workers: take out "
        "such columns, or rename them (of Toloka leave INPUT: and GOLDEN:, of MTurk HITId and "
        "Input.)"
    )


def encode_known_truths(domain: Domain, rows: Sequence[TaskRow]) -> list[str | None]:
    """Return known truths as they are stored, in JSON; None where there is none.

    Parameters
    ----------
    domain : Domain
        Of answers.
    rows : sequence of TaskRow
        Their truths are labels or numbers, or texts that spell one.

    Raises
    ------
    FormatError
        Where a truth is outside of the domain: the message names the row, and not the truth.
    """
    stored: list[str | None] = []
    for row in rows:
        known = None if row.known_truth is None else _as_answer(domain, row.known_truth)
        if row.known_truth is not None and known is None:
            raise FormatError(f"row {row.row}: gold must be one of the campaign's possible answers")
        stored.append(None if known is None else json.dumps(known))
    return stored


def _as_answer(domain: Domain, truth: Any) -> Any:
    if isinstance(domain, FiniteDomain):
        code = domain.code(truth)
        return None if code is None else domain.labels[code]
    try:
        number = float(truth)
    except (OverflowError, ValueError):
        return None
    return number if domain.low <= number <= domain.high else None  # type: ignore[attr-defined]
