"""Files of plain answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError, FormatError
from quietcrowd.formats import csv_files
from quietcrowd.formats.choice import Choice
from quietcrowd.formats.tables import find_format, read_names, read_note, read_table, write_table

__all__ = ["read_answers", "write_answers"]


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
        ``.parquet``. Ids in a CSV file are texts.
    domain : Domain
        What an answer can be.
    task, worker, label : str
        Names of the columns of a table.
    file_format : str, optional
        ``csv``, ``parquet``, ``jsonl``, ``mturk``, ``toloka``, ``label-studio``,
        ``label-studio-min`` or ``label-studio-csv``. Default: what
        the suffix and the header say.
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
    note = read_note(path, file_format)
    if note is not None and "mechanism" in note:
        raise FormatError(
            f"{path}: these are randomised reports. "
            "Read them with read_reports (on the command line: quietcrowd infer)."
        )
    choice = Choice(field=field, rejected=rejected)
    table = read_table(path, (task, worker, label), file_format=file_format, choice=choice)
    try:
        return Answers.from_frame(table, domain, task, worker, label, **options)
    except AnswerError as error:
        raise AnswerError(f"{path}: {error} {_place_of_rows(path, file_format)}") from None


def _place_of_rows(path: Path, file_format: str | None) -> str:
    table = read_names(path, file_format) is not None
    lines = table and find_format(path, file_format).module is csv_files
    return "Rows count from 0, below the header" + ": row 0 is line 2 of the file" * lines + "."


def write_answers(answers: Answers, path: str | Path, *, file_format: str | None = None) -> None:
    """Write plain answers to a file, in columns ``task``, ``worker``, ``label``.

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
