"""Batch results of Amazon Mechanical Turk: CSV with one assignment per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.exceptions import FormatError
from quietcrowd.formats import csv_files
from quietcrowd.formats.columns import Choice, check_plain_columns, choose_field, warn_left_out
from quietcrowd.formats.files import read_note
from quietcrowd.formats.mturk_answers import answered_fields

__all__ = ["read", "read_note", "recognises", "write"]

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


def recognises(names: Sequence[str]) -> bool:
    """Return whether these are the columns of batch results."""
    return {_TASK, _WORKER} <= set(names)


def read(path: Path, wanted: tuple[str, ...], choice: Choice) -> pa.Table:
    """Return the answers to one question, see `mturk_answers`; a HIT is a task.

    Rejected assignments are dropped with a warning, unless `choice` includes them.
    """
    if "label" in wanted and "worker" not in wanted:
        raise FormatError(f"{path}: {NAME} hold no known truths: write a file with task and label")
    named = dict.fromkeys(csv_files.names(path))
    answers = tuple(name for name in named if name.startswith(_ANSWER))
    status = (_STATUS,) if _STATUS in named else ()
    table = csv_files.read(path, (_TASK, _WORKER, *answers, *status))
    count = 0
    if status and not choice.rejected:
        rejected = pc.fill_null(pc.equal(table[_STATUS], "Rejected"), False)
        table = table.filter(pc.invert(rejected))
        count = pc.sum(rejected).as_py() or 0
    fields = answered_fields(path, table.select(answers), _ANSWER)
    field = choose_field(path, list(fields), choice.field, _ANSWER)
    warn_left_out(path, {"rejected assignments (convert --rejected takes them)": count})
    labels = pa.array(fields[field], pa.string())
    return pa.table({"task": table[_TASK], "worker": table[_WORKER], "label": labels})


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write answers under the complete header; unknown columns are empty."""
    check_plain_columns(path, table, NAME)
    held = {_TASK: "task", _WORKER: "worker", f"{_ANSWER}label": "label"}
    empty = pa.nulls(len(table), pa.string())
    columns = {
        name: csv_files.as_text(table[held[name]]) if name in held else empty
        for name in (*_BEFORE, f"{_ANSWER}label", *_AFTER)
    }
    csv_files.write(pa.table(columns), path, note)
