"""Results of a Toloka pool: TSV with one answer to one task per row."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.exceptions import FormatError
from quietcrowd.formats import csv
from quietcrowd.formats.columns import (
    Choice,
    check_plain_columns,
    choose_field,
    text_column,
    warn_left_out,
    with_unanswered,
)
from quietcrowd.formats.forms import answer_table
from quietcrowd.validation import parse_json

NAME = "Toloka results"

_INPUT, _OUTPUT, _GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
_TASK, _WORKER, _STATUS = "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"
_SUBMITTED, _ROW = "ASSIGNMENT:submitted", "row"
_BETWEEN = " | "

_AFTER = (
    *("HINT:text", "HINT:default_language", "ASSIGNMENT:link", "ASSIGNMENT:assignment_id"),
    *("ASSIGNMENT:task_id", "ASSIGNMENT:task_suite_id", "ASSIGNMENT:worker_id"),
    *("ASSIGNMENT:status", "ASSIGNMENT:started", "ASSIGNMENT:submitted", "ASSIGNMENT:accepted"),
    *("ASSIGNMENT:rejected", "ASSIGNMENT:skipped", "ASSIGNMENT:expired", "ASSIGNMENT:reward"),
)
_UNANSWERED = ("ACTIVE", "SKIPPED", "EXPIRED")


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the answers to one question; a task is its id or, without ids, its input columns.

    Rejected assignments, unless `choice` includes them, and assignments that were not submitted are
    dropped with a warning.
    """
    names = csv.names(path)
    field = choose_field(path, _fields(names, _OUTPUT), choice.field, _OUTPUT)
    key = _key_columns(path, names)
    if _WORKER not in names:
        raise FormatError("formats.results-column-missing", path=path, worker=_WORKER)
    others = tuple(name for name in (_STATUS, _SUBMITTED) if name in names)
    table = csv.read(path, (*key, _WORKER, f"{_OUTPUT}{field}", *others))
    table = table.append_column(_ROW, pa.array(range(len(table)), pa.int64()))
    skipped = 0
    if _STATUS in others:
        skipped = pc.sum(pc.equal(pc.utf8_upper(table[_STATUS]), "SKIPPED")).as_py() or 0
        table = _handed_in(path, table, rejected=choice.rejected)
    times = table[_SUBMITTED].to_pylist() if _SUBMITTED in others else [None] * len(table)
    places = (f"row {row}" for row in table[_ROW].to_pylist())
    tasks = _keys(path, table, key).to_pylist()
    rows = zip(places, tasks, table[_WORKER].to_pylist(), times, strict=True)
    values = [_value(cell) for cell in table[f"{_OUTPUT}{field}"].to_pylist()]
    return with_unanswered(answer_table(path, field, rows, values, choice), skipped)


def read_truths(path: Path, choice: Choice) -> pa.Table:
    """Return the known answers of control tasks."""
    names = csv.names(path)
    field = choose_field(path, _fields(names, _GOLDEN), choice.field, _GOLDEN)
    key = _key_columns(path, names)
    table = csv.read(path, (*key, f"{_GOLDEN}{field}"))
    known = pa.table({"task": _keys(path, table, key), "label": table[f"{_GOLDEN}{field}"]})
    known = known.filter(pc.fill_null(pc.not_equal(known["label"], ""), False))
    known = known.group_by(["task", "label"], use_threads=False).aggregate([])
    values = [_value(cell) for cell in known["label"].to_pylist()]
    rows = ((f"row {row}", task, None, None) for row, task in enumerate(known["task"].to_pylist()))
    return answer_table(path, field, rows, values, choice).select(["task", "label"])


def _fields(names: Sequence[str], prefix: str) -> list[str]:
    return [name.removeprefix(prefix) for name in dict.fromkeys(names) if name.startswith(prefix)]


def _key_columns(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    if _TASK in names:
        return (_TASK,)
    inputs = tuple(name for name in names if name.startswith(_INPUT))
    if not inputs:
        raise FormatError("formats.task-column-missing", path=path, task=_TASK, input=_INPUT)
    return inputs


def _keys(path: Path, table: pa.Table, key: tuple[str, ...]) -> Any:
    """Return the ids of tasks; inputs without an id are joined."""
    if len(key) == 1:
        return table[key[0]]
    columns = ([cell or "" for cell in table[name].to_pylist()] for name in key)
    inputs = list(zip(*columns, strict=True))
    names = [_BETWEEN.join(one).strip() if any(one) else None for one in inputs]
    known: dict[str | None, tuple[str, ...]] = {}
    for name, one in zip(names, inputs, strict=True):
        if known.setdefault(name, one) != one:
            raise FormatError(
                "formats.inputs-with-one-name", path=path, name=name, one=known[name], other=one
            )
    return text_column(names)


def _value(cell: str | None) -> Any:
    """Parse the array or the object of an answer with several labels."""
    if cell is None or cell[:1] not in ("[", "{"):
        return cell
    try:
        return parse_json(cell)
    except (ValueError, RecursionError):
        return cell


def _handed_in(path: Path, table: pa.Table, *, rejected: bool) -> pa.Table:
    status = pc.fill_null(pc.utf8_upper(table[_STATUS]), "")
    missing = pc.is_in(status, pa.array(_UNANSWERED))
    refused = pc.and_(pc.equal(status, "REJECTED"), not rejected)
    reasons = {
        "rejected answers (convert --include-rejected includes them)": refused,
        "rows that were not submitted": missing,
    }
    warn_left_out(path, {reason: pc.sum(rows).as_py() or 0 for reason, rows in reasons.items()})
    return table.filter(pc.invert(pc.or_(missing, refused)))


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write answers under the complete header; unknown columns are empty."""
    check_plain_columns(path, table, NAME)
    task, worker, label = (csv.as_text(table[name]) for name in ("task", "worker", "label"))
    held = {"INPUT:task": task, "OUTPUT:label": label, _TASK: task, _WORKER: worker}
    empty = pa.nulls(len(table), pa.string())
    header = ("INPUT:task", "OUTPUT:label", "GOLDEN:label", *_AFTER)
    csv.write(pa.table({name: held.get(name, empty) for name in header}), path, note)
