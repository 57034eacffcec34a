"""Results of a Toloka pool: TSV with one answer to one task per row."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.exceptions import FormatError
from quietcrowd.formats import csv
from quietcrowd.formats.columns import Choice, check_plain_columns, choose_field, warn_left_out

NAME = "Toloka results"

_INPUT, _OUTPUT, _GOLDEN = "INPUT:", "OUTPUT:", "GOLDEN:"
_TASK, _WORKER, _STATUS = "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"

_AFTER = (
    *("HINT:text", "HINT:default_language", "ASSIGNMENT:link", "ASSIGNMENT:assignment_id"),
    *("ASSIGNMENT:task_id", "ASSIGNMENT:task_suite_id", "ASSIGNMENT:worker_id"),
    *("ASSIGNMENT:status", "ASSIGNMENT:started", "ASSIGNMENT:submitted", "ASSIGNMENT:accepted"),
    *("ASSIGNMENT:rejected", "ASSIGNMENT:skipped", "ASSIGNMENT:expired", "ASSIGNMENT:reward"),
)
_UNANSWERED = ("ACTIVE", "SKIPPED", "EXPIRED")


def read(path: Path, wanted: tuple[str, ...], choice: Choice) -> pa.Table:
    """Return the answers to one question or, without workers, the known truths.

    A task is its id or, without ids, its input columns. Rejected assignments, unless `choice`
    includes them, and assignments that were not submitted are dropped with a warning.
    """
    names = csv.names(path)
    if "label" in wanted and "worker" not in wanted:
        return _truths(path, names, choice)
    field = choose_field(path, _fields(names, _OUTPUT), choice.field, _OUTPUT)
    key = _key_columns(path, names)
    if _WORKER not in names:
        raise FormatError("formats.results-column-missing", path=path, worker=_WORKER)
    status = (_STATUS,) if _STATUS in names else ()
    table = csv.read(path, (*key, _WORKER, f"{_OUTPUT}{field}", *status))
    if status:
        table = _handed_in(path, table, rejected=choice.rejected)
    columns = {"task": _keys(table, key), "worker": table[_WORKER]}
    return pa.table({**columns, "label": table[f"{_OUTPUT}{field}"]})


def _fields(names: Sequence[str], prefix: str) -> list[str]:
    return [name.removeprefix(prefix) for name in dict.fromkeys(names) if name.startswith(prefix)]


def _key_columns(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    if _TASK in names:
        return (_TASK,)
    inputs = tuple(name for name in names if name.startswith(_INPUT))
    if not inputs:
        raise FormatError("formats.task-column-missing", path=path, task=_TASK, input=_INPUT)
    return inputs


def _keys(table: pa.Table, key: tuple[str, ...]) -> Any:
    if len(key) == 1:
        return table[key[0]]
    rows = zip(*(table[name].to_pylist() for name in key), strict=True)
    return pa.array([json.dumps(row, ensure_ascii=False) for row in rows], pa.string())


def _handed_in(path: Path, table: pa.Table, *, rejected: bool) -> pa.Table:
    status = pc.fill_null(pc.utf8_upper(table[_STATUS]), "")
    missing = pc.is_in(status, pa.array(_UNANSWERED))
    refused = pc.and_(pc.equal(status, "REJECTED"), not rejected)
    warn_left_out(
        path,
        {
            "rejected answers (convert --include-rejected includes them)": pc.sum(refused).as_py()
            or 0,
            "rows that were not submitted": pc.sum(missing).as_py() or 0,
        },
    )
    return table.filter(pc.invert(pc.or_(missing, refused)))


def _truths(path: Path, names: Sequence[str], choice: Choice) -> pa.Table:
    field = choose_field(path, _fields(names, _GOLDEN), choice.field, _GOLDEN)
    key = _key_columns(path, names)
    table = csv.read(path, (*key, f"{_GOLDEN}{field}"))
    known = pa.table({"task": _keys(table, key), "label": table[f"{_GOLDEN}{field}"]})
    known = known.filter(pc.is_valid(known["label"]))
    return known.group_by(["task", "label"], use_threads=False).aggregate([])


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write answers under the complete header; unknown columns are empty."""
    check_plain_columns(path, table, NAME)
    task, worker, label = (csv.as_text(table[name]) for name in ("task", "worker", "label"))
    held = {"INPUT:task": task, "OUTPUT:label": label, _TASK: task, _WORKER: worker}
    empty = pa.nulls(len(table), pa.string())
    header = ("INPUT:task", "OUTPUT:label", "GOLDEN:label", *_AFTER)
    csv.write(pa.table({name: held.get(name, empty) for name in header}), path, note)
