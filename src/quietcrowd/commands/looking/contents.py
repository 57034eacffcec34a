"""Counts of a table of answers, also if ids are missing or answers repeated."""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from quietcrowd.answer_errors import plain_type
from quietcrowd.exceptions import AnswerError
from quietcrowd.intake import Intake, decoded
from quietcrowd.label_cells import listed_labels


@frozen(kw_only=True)
class Contents:
    """Numbers of tasks, workers and answers, and of answers with each label.

    Rows without a label are `blanks`. Rows that repeat a task and a worker are `repeated`. If
    answers are `sets`, a label counts once per set. `task_labels` is the number of pairs of a task
    and a label, 0 for sets.
    """

    tasks: int
    workers: int
    answers: int
    blanks: int
    repeated: int
    labels: Mapping[str, int]
    sets: bool
    task_labels: int

    @classmethod
    def of(cls, table: pa.Table) -> "Contents":
        """Count rows; the columns are task, worker and label, or without worker for truths."""
        columns = {name: _clean(table[name], name) for name in table.column_names}
        labels = columns["label"]
        ids = [name for name in table.column_names if name != "label"]
        answered = pa.table(columns).filter(labels.is_valid())
        pairs = answered.group_by(ids).aggregate([]) if len(ids) == 2 else answered
        nested = pa.types.is_nested(labels.type)
        return cls(
            tasks=_distinct(columns, "task"),
            workers=_distinct(columns, "worker"),
            answers=len(labels) - labels.null_count,
            blanks=labels.null_count,
            repeated=len(answered) - len(pairs),
            labels=_counts(labels),
            sets=pa.types.is_list(labels.type),
            task_labels=0 if nested else len(answered.group_by(["task", "label"]).aggregate([])),
        )

    @property
    def numbers(self) -> list[float]:
        """The sorted labels if all are numbers, otherwise none."""
        try:
            return sorted(map(float, self.labels))
        except ValueError:
            return []

    @property
    def agreement(self) -> tuple[bool, int]:
        """Score of a question: high if several workers gave the same labels."""
        return len(self.labels) > 1, self.answers - len(self.labels)

    @property
    def unanimous(self) -> bool:
        """Whether the answers to a task are always the same, although some have several."""
        return self.task_labels == self.tasks < self.answers


def labels_by_task(table: pa.Table) -> dict[str, list[str]]:
    """Return the different labels of each task, as texts."""
    pairs = pa.table({"task": table["task"], "label": _clean(table["label"], "label")})
    pairs = pairs.filter(pairs["label"].is_valid()).group_by(["task", "label"], use_threads=False)
    found: dict[str, list[str]] = {}
    for row in pairs.aggregate([]).to_pylist():
        found.setdefault(row["task"], []).append(str(row["label"]))
    return found


def _clean(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column without marks of missing values, and with lists if texts are lists."""
    intake = Intake()
    try:
        return decoded(intake.encoded(column, name))
    except AnswerError:  # a list or an object in text
        lists = as_lists(column) if name == "label" else None
        return column if lists is None else lists


def as_lists(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return lists of labels if all texts are lists in JSON or Python, otherwise None.

    Lists of numbers and names, such as ``[0, 5, "PER"]``, are spans.
    """
    cells = [(cell or "").strip() for cell in column.to_pylist()]
    lists = [listed_labels(cell) if cell else None for cell in cells]
    if any(cell and found is None for cell, found in zip(cells, lists, strict=True)):
        return None
    if len({one.lstrip("-").isdecimal() for found in lists for one in found or ()}) > 1:
        return None
    return pa.chunked_array([pa.array(lists, pa.list_(pa.string()))])


def _distinct(columns: Mapping[str, pa.ChunkedArray], name: str) -> int:
    return pc.count_distinct(columns[name]).as_py() if name in columns else 0


def _counts(labels: pa.ChunkedArray) -> dict[str, int]:
    """Return the number of answers with each label, the most frequent first; none for objects."""
    if pa.types.is_list(labels.type):
        labels = pc.list_flatten(labels)
    try:
        texts = labels if pa.types.is_string(plain_type(labels.type)) else labels.cast(pa.string())
    except pa.ArrowException:
        return {}
    found = pc.value_counts(texts.drop_null()).to_pylist()
    return {one["values"]: one["counts"] for one in sorted(found, key=lambda one: -one["counts"])}
