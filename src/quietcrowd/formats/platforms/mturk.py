"""Batch results of Amazon Mechanical Turk: CSV with one assignment per row.

A form of Crowd HTML Elements is one column ``Answer.taskAnswers`` of JSON, a list of one object.
Otherwise each radio button and checkbox has a column ``Answer.field.option`` with ``true`` if it
was selected. Checkboxes of one name can also be one column with texts such as ``cat|dog``.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats import csv
from quietcrowd.formats.columns import (
    Choice,
    check_plain_columns,
    choose_field,
    warn_left_out,
)
from quietcrowd.formats.forms import BLANK, BUTTONS, Form, answer_table, fields_of, split_texts

NAME = "MTurk batch results"

ANSWER = "Answer."
"""Begins the names of columns with answers."""

_TASK, _WORKER, _STATUS, _SUBMITTED = "HITId", "WorkerId", "AssignmentStatus", "SubmitTime"

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

_BETWEEN = "|"
"""Separates the labels of checkboxes of one name."""

Columns: TypeAlias = Mapping[str, Sequence[Any]]
"""The answers of each field, one per assignment; None if missing."""

_ON = "on"
"""The option of a checkbox without a value."""

_TRUTH = {"true": True, "false": False, "": False}


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the answers to one question; a HIT is a task.

    Rejected assignments are dropped with a warning, unless `choice` includes them.
    """
    names = csv.names(path)
    for name in (_TASK, _WORKER):
        if name not in names:
            raise FormatError("formats.column-missing", path=path, missing=name)
    answers = tuple(name for name in dict.fromkeys(names) if name.startswith(ANSWER))
    others = tuple(name for name in (_STATUS, _SUBMITTED) if name in names)
    table = csv.read(path, (_TASK, _WORKER, *answers, *others))
    columns = {name: table[name].to_pylist() for name in table.column_names}
    return read_assignments(path, columns, choice, [f"row {row}" for row in range(len(table))])


def read_assignments(
    path: Path, columns: Columns, choice: Choice, places: Sequence[str]
) -> pa.Table:
    """Return the answers to one question of assignments, whose columns are those of a batch."""
    states: Sequence[Any] = columns.get(_STATUS, [None] * len(places))
    kept = [choice.rejected or state != "Rejected" for state in states]
    columns = {name: list(compress(cells, kept)) for name, cells in columns.items()}
    places = list(compress(places, kept))
    answers = {
        name.removeprefix(ANSWER): cells
        for name, cells in columns.items()
        if name.startswith(ANSWER)
    }
    field, values = _chosen(path, answers, choice.field, places)
    includes = "rejected assignments (convert --include-rejected includes them)"
    warn_left_out(path, {includes: kept.count(False)})
    times: Sequence[Any] = columns.get(_SUBMITTED, [None] * len(places))
    rows = zip(places, columns[_TASK], columns[_WORKER], times, strict=True)
    return answer_table(path, field, rows, values, choice)


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write answers under the complete header; unknown columns are empty.

    Raises ParameterError if a label would be read as several.
    """
    check_plain_columns(path, table, NAME)
    labels = csv.as_text(table["label"])
    if (row := pc.index(pc.match_substring(labels, _BETWEEN), True).as_py()) >= 0:
        label = labels[row].as_py()
        raise ParameterError(
            "formats.label-with-separator", path=path, name=NAME, separator=_BETWEEN, label=label
        )
    held = {_TASK: "task", _WORKER: "worker", f"{ANSWER}label": "label"}
    empty = pa.nulls(len(table), pa.string())
    columns = {
        name: csv.as_text(table[held[name]]) if name in held else empty
        for name in (*_BEFORE, f"{ANSWER}label", *_AFTER)
    }
    csv.write(pa.table(columns), path, note)


def _chosen(
    path: Path, answers: Columns, wanted: str | None, places: Sequence[str]
) -> tuple[str, Sequence[Any]]:
    """Return the chosen field and its values; forms are not parsed for a field outside them."""
    fields = {name: cells for name, cells in answers.items() if name != _FORM}
    name = None if wanted is None else wanted.removeprefix(ANSWER)
    if name not in fields:
        fields = _with_options_joined(fields)
    if name not in fields and _FORM in answers:
        cells = zip(places, answers[_FORM], strict=True)
        forms = [_form(path, place, cell) for place, cell in cells]
        fields = {**fields_of(forms, name), **fields}
    field = choose_field(path, list(fields), wanted, ANSWER)
    values = fields[field]
    return field, split_texts(values, _BETWEEN) if values is answers.get(field) else values


def _form(path: Path, place: str, cell: str | None) -> Form:
    try:
        found = json.loads(cell or "null")
    except (ValueError, RecursionError):
        found = cell
    if isinstance(found, list) and len(found) <= 1:
        found = found[0] if found else None
    if found is not None and not isinstance(found, dict):
        text = csv.shorten(cell or "")
        raise FormatError("formats.form-invalid", path=path, place=place, form=_FORM, text=text)
    return found or {}


def _with_options_joined(columns: Columns) -> dict[str, Sequence[Any]]:
    """Join columns ``field.option`` of radio buttons or checkboxes to one field.

    Checkboxes with only names, such as ``cat.on``, become the field `BUTTONS`. In a row without any
    cell the field is missing, or `BLANK` if no cell is ``false``.
    """
    columns = dict(map(_with_truths, columns, columns.values()))
    groups: dict[str, dict[str, str]] = {}
    for name, cells in columns.items():
        field, point, option = name.rpartition(".")
        if point and option and all(_is_truth(cell) for cell in cells):
            groups.setdefault(field, {})[option] = name
    boxes = {field: options[_ON] for field, options in groups.items() if list(options) == [_ON]}
    groups = {
        field: options
        for field, options in {BUTTONS: boxes, **groups}.items()
        if len(options) > 1 and field not in columns
    }
    owners = {name: field for field, options in groups.items() for name in options.values()}
    joined: dict[str, Sequence[Any]] = {}
    for name, cells in columns.items():
        field = owners.get(name, name)
        if field not in groups:
            joined[field] = cells
        elif field not in joined:
            joined[field] = _options({one: columns[box] for one, box in groups[field].items()})
    return joined


def _with_truths(name: str, cells: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Return the column of a checkbox of an old form, which only has the text "on", as others."""
    if not any(cells) or any(cell and cell != _ON for cell in cells):
        return name, cells
    return f"{name}.{_ON}", ["true" if cell else "" for cell in cells]


def _is_truth(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and cell.lower() in _TRUTH)


def _options(columns: Columns) -> list[Any]:
    rows = [[(cell or "").lower() for cell in row] for row in zip(*columns.values(), strict=True)]
    missing = None if any("false" in row for row in rows) else BLANK
    return [
        {option: _TRUTH[cell] for option, cell in zip(columns, row, strict=True)}
        if any(row)
        else missing
        for row in rows
    ]
