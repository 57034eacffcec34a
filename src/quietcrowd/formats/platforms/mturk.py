"""Batch results of Amazon Mechanical Turk: CSV with one assignment per row.

A form of Crowd HTML Elements is one column ``Answer.taskAnswers`` of JSON, a list of one object
from field to a value or to ``{"option": true}``. Otherwise each radio button has a column
``Answer.field.option`` with ``true`` if it was chosen.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.exceptions import FormatError
from quietcrowd.formats import csv
from quietcrowd.formats.columns import (
    Choice,
    check_plain_columns,
    choose_field,
    reject_truths,
    warn_left_out,
)

NAME = "MTurk batch results"

_TASK, _WORKER, _STATUS, _ANSWER = "HITId", "WorkerId", "AssignmentStatus", "Answer."

_BEFORE = (
    *("HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime"),
    *("MaxAssignments", "RequesterAnnotation", "AssignmentDurationInSeconds"),
    *("AutoApprovalDelayInSeconds", "Expiration", "NumberOfSimilarHITs", "LifetimeInSeconds"),
    *("AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime"),
    *("AutoApprovalTime", "ApprovalTime", "RejectionTime", "RequesterFeedback"),
    *("WorkTimeInSeconds", "LifetimeApprovalRate", "Last30DaysApprovalRate"),
    "Last7DaysApprovalRate",
)
_AFTER = ("Approve", "Reject")

_FORM = "taskAnswers"
"""The field whose column contains the JSON of a form."""

Answered: TypeAlias = dict[str, list[str | None]]
"""The answers of each field, one per row; None if missing."""

_TRUTH = {"true": True, "false": False, "": False}


def read(path: Path, wanted: tuple[str, ...], choice: Choice) -> pa.Table:
    """Return the answers to one question; a HIT is a task.

    Rejected assignments are dropped with a warning, unless `choice` includes them.
    """
    reject_truths(path, wanted, NAME)
    named = dict.fromkeys(csv.names(path))
    answers = tuple(name for name in named if name.startswith(_ANSWER))
    status = (_STATUS,) if _STATUS in named else ()
    table = csv.read(path, (_TASK, _WORKER, *answers, *status))
    count = 0
    if status and not choice.rejected:
        rejected = pc.fill_null(pc.equal(table[_STATUS], "Rejected"), False)
        table = table.filter(pc.invert(rejected))
        count = pc.sum(rejected).as_py() or 0
    fields = _answered_fields(path, table.select(answers))
    field = choose_field(path, list(fields), choice.field, _ANSWER)
    warn_left_out(path, {"rejected assignments (convert --include-rejected includes them)": count})
    labels = pa.array(fields[field], pa.string())
    return pa.table({"task": table[_TASK], "worker": table[_WORKER], "label": labels})


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write answers under the complete header; unknown columns are empty."""
    check_plain_columns(path, table, NAME)
    held = {_TASK: "task", _WORKER: "worker", f"{_ANSWER}label": "label"}
    empty = pa.nulls(len(table), pa.string())
    columns = {
        name: csv.as_text(table[held[name]]) if name in held else empty
        for name in (*_BEFORE, f"{_ANSWER}label", *_AFTER)
    }
    csv.write(pa.table(columns), path, note)


def _answered_fields(path: Path, table: pa.Table) -> Answered:
    columns: Answered = {
        name.removeprefix(_ANSWER): table[name].to_pylist() for name in table.column_names
    }
    if _FORM in columns:
        form = _of_forms(path, columns.pop(_FORM))
        columns = {**columns, **form}
    return _with_options_joined(path, columns)


def _of_forms(path: Path, cells: Sequence[str | None]) -> Answered:
    forms = [_form(path, row, cell) for row, cell in enumerate(cells)]
    names = dict.fromkeys(name for form in forms for name in form)
    return {
        name: [_answer(path, row, name, form.get(name)) for row, form in enumerate(forms)]
        for name in names
    }


def _form(path: Path, row: int, cell: str | None) -> Mapping[str, Any]:
    if cell is None:
        return {}
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if not isinstance(found, dict):
        raise FormatError(
            "formats.form-invalid", path=path, row=row, form=_FORM, text=csv.shorten(cell)
        )
    return _with_buttons_joined(found)


def _with_buttons_joined(form: dict[str, Any]) -> Mapping[str, Any]:
    """Join buttons that each have a separate name to one field.

    ``{"cat": {"cat": true}, "dog": {"dog": false}}`` becomes ``{"choice": {"cat": true, "dog":
    false}}``.
    """
    alone = {
        name: value[name]
        for name, value in form.items()
        if isinstance(value, dict) and list(value) == [name] and isinstance(value[name], bool)
    }
    if len(alone) < 2:
        return form
    return {"choice": alone, **{name: form[name] for name in form if name not in alone}}


def _answer(path: Path, row: int, field: str, value: Any) -> str | None:
    if isinstance(value, dict) and value and all(isinstance(on, bool) for on in value.values()):
        return _chosen(path, row, field, value)
    if isinstance(value, dict) and set(value) == {"label"}:  # from an image or text classifier
        value = value["label"]
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _chosen(path: Path, row: int, field: str, options: Mapping[str, bool]) -> str | None:
    on = [option for option, chosen in options.items() if chosen]
    if len(on) > 1:
        raise FormatError(
            "formats.form-with-several-labels",
            path=path,
            row=row,
            field=field,
            count=" and ".join(map(repr, on)),
        )
    return on[0] if on else None


def _with_options_joined(path: Path, columns: Answered) -> Answered:
    """Join columns ``field.option`` of radio buttons to one field."""
    groups: dict[str, list[str]] = {}
    for name, cells in columns.items():
        field, point, option = name.rpartition(".")
        if point and option and all((cell or "").lower() in _TRUTH for cell in cells):
            groups.setdefault(field, []).append(name)
    joined: Answered = {}
    for name, cells in columns.items():
        field = name.rpartition(".")[0]
        options = groups.get(field, [])
        if name not in options or len(options) < 2:
            joined[name] = cells
        elif field not in joined:
            chosen = [[_TRUTH[(cell or "").lower()] for cell in columns[one]] for one in options]
            names = [one.rpartition(".")[2] for one in options]
            joined[field] = [
                _chosen(path, row, field, dict(zip(names, cells_of_row, strict=True)))
                for row, cells_of_row in enumerate(zip(*chosen, strict=True))
            ]
    return joined
