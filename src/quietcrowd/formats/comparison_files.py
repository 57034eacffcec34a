"""Files of paired comparisons: tables with a worker, two items and the one that was chosen."""

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
"""Of a file of comparisons, where no others are named."""


def read_comparisons(
    path: Path,
    columns: tuple[str, str, str, str] = COLUMNS,
    *,
    file_format: str | None = None,
    duplicates: Duplicates = "error",
) -> Answers:
    """Read plain paired comparisons from a table, as answers of left and right.

    Parameters
    ----------
    path : Path
        See `read_answers`; not the file of a platform.
    columns : tuple of str
        Names of the columns of workers, left items, right items and chosen items.
    file_format : str, optional
        See `read_answers`.
    duplicates : {"error", "first", "last"}
        See `comparison_answers`.

    Raises
    ------
    FormatError, ParameterError, OSError
        See `read_answers`.
    AnswerError
        See `comparison_answers`; the message begins with the file's name.
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
    """Return whether a file is a table of comparisons by its columns, and none of answers."""
    names = read_names(path, file_format) or []
    return "task" not in names and {"left", "right"} <= set(names)
