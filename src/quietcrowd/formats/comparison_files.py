"""Files of paired comparisons: tables of a worker, two items and the chosen item."""

from __future__ import annotations

from pathlib import Path

from quietcrowd.answers import Answers
from quietcrowd.comparisons import comparison_answers
from quietcrowd.exceptions import AnswerError
from quietcrowd.formats.answer_files import in_file, refuse_reports
from quietcrowd.formats.tables import read_names, read_table
from quietcrowd.row_order import Duplicates

__all__ = ["COLUMNS", "holds_comparisons", "read_comparisons"]

COLUMNS = ("worker", "left", "right", "label")
"""The default columns."""


def read_comparisons(
    path: Path,
    columns: tuple[str, str, str, str] = COLUMNS,
    *,
    file_format: str | None = None,
    duplicates: Duplicates = "error",
) -> Answers:
    """Read non-private paired comparisons from a table, as answers of left and right.

    `columns` are those of workers, left items, right items and chosen items. Errors are those of
    `read_answers` and `comparison_answers`.
    """
    refuse_reports(path, file_format, "rank")
    table = read_table(path, columns, file_format=file_format)
    worker, left, right, label = columns
    try:
        return comparison_answers(
            table, worker=worker, left=left, right=right, label=label, duplicates=duplicates
        )
    except AnswerError as error:
        raise in_file(path, error, file_format) from None


def holds_comparisons(path: Path, file_format: str | None = None) -> bool:
    """Return whether the columns of a file are those of comparisons and not of answers."""
    names = read_names(path, file_format) or []
    return "task" not in names and {"left", "right"} <= set(names)
