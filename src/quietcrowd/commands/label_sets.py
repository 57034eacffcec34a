"""Answers with several labels: sets become yes-or-no questions, and truths become sets again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.commands import options
from quietcrowd.commands.printing import counted, note
from quietcrowd.commands.streams import STREAM
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.formats.registry import find_format
from quietcrowd.several_labels import binary_answers

if TYPE_CHECKING:
    from quietcrowd.inference import TruthEstimate

__all__ = ["SEPARATOR", "questions_of", "sets_for"]

SEPARATOR = ","
"""Separator of labels in a text."""

_LISTS = ("parquet", "jsonl")
"""Formats with a list type."""


def questions_of(
    source: Path, file_format: str | None, table: pa.Table, labels: str, separator: str | None
) -> pa.Table:
    """Convert answers that are sets of labels to "no" and "yes" per label; print the privacy loss.

    `table` has the columns ``task``, ``worker``, ``label``; sets are texts or lists. `labels` is
    the comma-separated list of all labels, and `separator` defaults to `SEPARATOR`. An empty cell
    is an empty set, except in formats with explicit missing values. Raises AnswerError and
    ParameterError as `binary_answers` does.
    """
    known, column, hint = options.split(labels), table["label"], ""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        if separator is None:
            hint = f" Labels are taken to stand between {SEPARATOR!r}; --separator names another."
            separator = SEPARATOR
        if find_format(source, file_format).name not in _LISTS:
            table = table.set_column(2, "label", pc.fill_null(column, ""))
    try:
        answers = binary_answers(table, known, separator=separator)
    except AnswerError as error:
        raise AnswerError(f"{source}: {error}{hint}") from None
    note(
        f"{counted(len(known), 'label')}: a task becomes {counted(len(known), 'question')}. What a "
        f"worker loses about it is {len(known)} times the epsilon of one answer."
    )
    return answers.to_frame("pyarrow")


def sets_for(target: Path, estimate: TruthEstimate[Any]) -> Any:
    """Return a table of the labels of each task, as lists or texts depending on the format.

    Raises ParameterError as `label_sets` does, or if a label contains the separator of a text.
    """
    from quietcrowd.inference.label_sets import label_sets

    table = label_sets(estimate, backend="pyarrow")
    if target == STREAM or find_format(target).name not in _LISTS:
        held = [one for one in pc.list_flatten(table["labels"]).unique().to_pylist() if "," in one]
        if held:
            raise ParameterError(
                f"label {held[0]!r} holds a comma, which stands between the labels of a task here: "
                "write the sets as .parquet or .jsonl, which hold lists"
            )
        table = table.set_column(1, "labels", pc.binary_join(table["labels"], SEPARATOR))
    return table.to_pandas()
