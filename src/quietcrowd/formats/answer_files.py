"""Answers and truths, from files and into files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError, FormatError
from quietcrowd.formats import csv_files
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.tables import find_format, read_names, read_note, read_table, write_table

__all__ = [
    "in_file",
    "read_answers",
    "read_scored_truths",
    "read_truths",
    "refuse_reports",
    "write_answers",
]


def read_answers(
    path: str | Path,
    domain: Domain,
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
    *,
    file_format: str | None = None,
    field: str | None = None,
    rejected: bool = False,
    **options: Any,
) -> Answers:
    """Read plain answers from a file.

    Parameters
    ----------
    path : str or Path
        Ends in ``.csv``, ``.tsv``, ``.jsonl`` or ``.json``, or in one of these and ``.gz``, or in
        ``.parquet``, ``.xlsx`` or ``.zip``. Ids in a CSV file and in a workbook are texts.
    domain : Domain
        What an answer can be.
    task, worker, label : str
        Names of the columns of a table.
    file_format : str, optional
        ``csv``, ``parquet``, ``jsonl``, ``excel``, ``mturk``, ``toloka``, ``label-studio``,
        ``label-studio-min``, ``label-studio-csv``, ``doccano``, ``argilla`` or ``limesurvey``.
        Default: what the suffix and the header say.
    field : str, optional
        Which question of a platform's file is meant, where there are several.
    rejected : bool
        Whether answers that a platform's requester rejected are taken too.
    **options
        See `Answers.from_frame`.

    Raises
    ------
    FormatError
        Where the file is not what its suffix says, or holds reports and not plain answers.
    ParameterError
        Where the format is unknown, or columns are named where they are known, or a field where
        there is none.
    AnswerError
        See `Answers.from_frame`; the message begins with the file's name.
    OSError
        Where the file cannot be opened.

    Warns
    -----
    LeftOutWarning
        Where answers of a platform's file do not count, as rejected ones.
    """
    path = Path(path)
    refuse_reports(path, file_format, "infer")
    choice = Choice(field=field, rejected=rejected)
    table = read_table(path, (task, worker, label), file_format=file_format, choice=choice)
    try:
        return Answers.from_frame(table, domain, task, worker, label, **options)
    except AnswerError as error:
        raise in_file(path, error, file_format) from None


def refuse_reports(path: Path, file_format: str | None, command: str) -> None:
    """Raise FormatError where a file that is read as plain says that it holds reports."""
    note = read_note(path, file_format)
    if note is not None and "mechanism" in note:
        raise FormatError(
            f"{path}: these are randomised reports. "
            f"Read them with read_reports (on the command line: quietcrowd {command})."
        )


def in_file(path: Path, error: AnswerError, file_format: str | None) -> AnswerError:
    """Return an error about rows of a frame as one about rows of the file that it came from."""
    place = _place_of_rows(path, file_format) if _ROW.search(str(error)) else ""
    return AnswerError(f"{path}: {error} {place}".rstrip())


_ROW = re.compile(r"\brow \d")
"""Where a message says which row is meant."""


def _place_of_rows(path: Path, file_format: str | None) -> str:
    table = read_names(path, file_format) is not None
    lines = table and find_format(path, file_format).module is csv_files
    return "Rows count from 0, below the header" + ": row 0 is line 2 of the file" * lines + "."


def write_answers(answers: Answers, path: str | Path, *, file_format: str | None = None) -> None:
    """Write plain answers: columns ``task``, ``worker``, ``label``; what is there is replaced.

    Parameters
    ----------
    answers : Answers
        What to write.
    path : str or Path
        See `write_table`.
    file_format : str, optional
        See `write_table`; the files of platforms have their own columns.

    Raises
    ------
    FormatError, ParameterError, FileNotFoundError
        See `write_table`.
    """
    write_table(answers.to_frame("pyarrow"), path, file_format=file_format)


_NAMES = ("task", "label")
_SCORE = "confidence"


def read_truths(
    path: str | Path, *, file_format: str | None = None, field: str | None = None
) -> pa.Table:
    """Read known truths from a file.

    Parameters
    ----------
    path : str or Path
        A table with columns ``task`` and ``label``, which may be called ``truth``, as ``infer``
        writes it, or ``true_label`` or ``agg_label``, as crowd-kit does. Or Toloka's file with
        control tasks, or one of Label Studio.
    file_format, field : str, optional
        See `read_answers`.

    Returns
    -------
    pyarrow.Table
        Columns ``task`` and ``label``.

    Raises
    ------
    FormatError
        Where the file is not what its suffix says, or a column is missing.
    ParameterError
        See `read_answers`.
    OSError
        Where the file cannot be opened.
    """
    path = Path(path)
    return _read(path, _NAMES, file_format, field).select(_NAMES)


def read_scored_truths(
    path: Path, *, file_format: str | None = None, field: str | None = None
) -> pa.Table:
    """Return truths with a column ``confidence`` of numbers, where the file has one.

    Parameters and errors are those of `read_truths`.
    """
    scored = _SCORE in (read_names(path, file_format) or [])
    wanted = (*_NAMES, _SCORE) if scored else _NAMES
    table = _read(path, wanted, file_format, field)
    if not scored:
        return table
    return table.set_column(2, _SCORE, pc.cast(table[_SCORE], pa.float64()))


def _read(
    path: Path, wanted: tuple[str, ...], file_format: str | None, field: str | None
) -> pa.Table:
    table = read_table(path, wanted, file_format=file_format, choice=Choice(field=field))
    for name in _NAMES:
        if name not in table.column_names:
            raise FormatError(f"{path}: column {name!r} is missing; known truths need it")
    return table
