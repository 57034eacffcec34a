"""Files of plain answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError, FormatError
from quietcrowd.formats.tables import read_note, read_table, write_table

__all__ = ["read_answers", "write_answers"]


def read_answers(
    path: str | Path,
    domain: Domain,
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
    **options: Any,
) -> Answers:
    """Read plain answers from a file.

    Parameters
    ----------
    path : str or Path
        Ends in ``.csv``, ``.csv.gz``, ``.parquet``, ``.jsonl`` or ``.jsonl.gz``. Ids in a CSV
        file are texts.
    domain : Domain
        What an answer can be.
    task, worker, label : str
        Names of the columns.
    **options
        See `Answers.from_frame`.

    Raises
    ------
    FormatError
        Where the file is not what its suffix says, or holds reports and not plain answers.
    AnswerError
        See `Answers.from_frame`; the message begins with the file's name.
    OSError
        Where the file cannot be opened.
    """
    path = Path(path)
    note = read_note(path)
    if note is not None and "mechanism" in note:
        raise FormatError(
            f"{path}: these are randomised reports. "
            "Read them with read_reports (on the command line: quietcrowd infer)."
        )
    table = read_table(path, (task, worker, label))
    try:
        return Answers.from_frame(table, domain, task, worker, label, **options)
    except AnswerError as error:
        raise AnswerError(f"{path}: {error} Rows count from 0, below the header.") from None


def write_answers(answers: Answers, path: str | Path) -> None:
    """Write plain answers to a file, in columns ``task``, ``worker``, ``label``."""
    write_table(answers.to_frame("pyarrow"), path)
