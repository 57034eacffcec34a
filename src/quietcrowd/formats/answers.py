"""Files of answers, comparisons and truths."""

from collections.abc import Callable, Iterable
from numbers import Number
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from quietcrowd.answers import Answers
from quietcrowd.comparisons import COLUMNS, comparison_columns
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import AnswerError, FormatError, MissingMechanismError
from quietcrowd.formats.columns import Choice, unanswered_in
from quietcrowd.formats.decimals import with_decimal_points
from quietcrowd.formats.headers import Name, are_numbers
from quietcrowd.formats.registry import (
    place_of_row,
    read_names,
    read_note,
    read_table,
    write_table,
)
from quietcrowd.frames import MECHANISM, holds_reports


def read_answers(
    path: str | Path,
    domain: Domain,
    task: str | int = "task",
    worker: str | int = "worker",
    label: str | int = "label",
    *,
    file_format: str | None = None,
    field: str | None = None,
    rejected: bool = False,
    decimal: str | None = None,
    **options: Any,
) -> Answers:
    """Read non-private answers from a file.

    Parameters
    ----------
    path : str or Path
        Name with a suffix of ``quietcrowd.formats.FORMATS``, such as ``.csv``, ``.jsonl.gz`` or
        ``.xlsx``; or a folder of SageMaker's worker responses. Ids in text files and workbooks are
        read as text.
    domain : Domain
        Domain of the answers.
    task, worker, label : str or int
        Names of the columns of a table, or their numbers from 1 if it has no header.
    file_format : str, optional
        Name in ``quietcrowd.formats.FORMATS``. Default: determined by suffix and header, except
        ``hugging-face``.
    field : str, optional
        The question, if a platform's file has several.
    rejected : bool
        Whether to include answers that the platform's requester rejected.
    decimal : {".", ","}, optional
        Decimal mark of numbers. Default: a point; numbers with a comma are an error.
    **options
        See `Answers.from_frame`.

    Raises
    ------
    FormatError
        If the file does not have the format of its suffix, contains reports, or needs `decimal`.
    ParameterError
        If the format or the decimal mark is unknown, columns are named for a platform's file, or
        a field for a table.
    AnswerError
        See `Answers.from_frame`; the message begins with the name of the file.
    OSError
        If the file cannot be opened.

    Warns
    -----
    DroppedRowsWarning
        If answers of a platform's file are dropped, such as rejected ones.
    """
    return read_found_answers(
        Path(path),
        lambda _: domain,
        (task, worker, label),
        file_format=file_format,
        choice=Choice(field=field, rejected=rejected),
        decimal=decimal_mark(decimal, domain),
        **options,
    )


def read_label_sets(
    path: str | Path,
    labels: Iterable[str],
    task: str | int = "task",
    worker: str | int = "worker",
    label: str | int = "label",
    *,
    file_format: str | None = None,
    field: str | None = None,
    rejected: bool = False,
    **options: Any,
) -> Answers:
    r"""Read answers that are sets of labels, as one question with yes or no per task and label.

    Parameters
    ----------
    path : str or Path
        As for `read_answers`.
    labels : iterable of str
        All labels.
    task, worker, label, file_format, field, rejected
        As for `read_answers`.
    **options
        See `Answers.from_label_sets`; the ``separator`` of a table's sets is needed.

    Raises
    ------
    FormatError, ParameterError, AnswerError, OSError
        As for `read_answers` and `Answers.from_label_sets`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sets.csv"
    ...     _ = path.write_text("task,worker,label\n1,ann,cat|dog\n")
    ...     read_label_sets(path, ["cat", "dog", "tree"], separator="|")
    Answers(3 answers, 3 tasks, 1 workers, domain=Categorical(['no', 'yes']))
    """
    path, columns = Path(path), (task, worker, label)
    _reject_reports(path, file_format, "infer")
    choice = Choice(field=field, rejected=rejected)
    table = read_table(path, columns, file_format=file_format, choice=choice, sets=True)
    try:
        return Answers.from_label_sets(
            table, labels, task=str(task), worker=str(worker), label=str(label), **options
        )
    except AnswerError as error:
        raise in_file(path, error, file_format, columns) from None


def read_found_answers(
    path: Path,
    domain_of: Callable[[pa.Table], Domain],
    columns: tuple[Name, Name, Name],
    *,
    file_format: str | None = None,
    choice: Choice,
    decimal: str | None = None,
    **options: Any,
) -> Answers:
    """Read non-private answers as `read_answers` does, with a domain that depends on the table."""
    _reject_reports(path, file_format, "infer")
    table = read_table(
        path, columns, file_format=file_format, choice=choice, decimal=decimal, timed=True
    )
    task, worker, label = map(str, columns)
    try:
        answers = Answers.from_frame(table, domain_of(table), task, worker, label, **options)
    except AnswerError as error:
        raise in_file(path, error, file_format, columns) from None
    missing = answers.dropped.out_of_domain + unanswered_in(table)
    return evolve(answers, dropped=evolve(answers.dropped, out_of_domain=missing))


def decimal_mark(decimal: str | None, domain: Domain) -> str | None:
    """Return the decimal mark, which is a point if it is not given and labels have commas."""
    labels = domain.labels if isinstance(domain, FiniteDomain) else ()
    commas = any(isinstance(label, str) and "," in label for label in labels)
    return "." if decimal is None and commas else decimal


def _reject_reports(path: Path, file_format: str | None, command: str) -> None:
    if "mechanism" in (read_note(path, file_format) or {}):
        raise FormatError("formats.reports-not-answers", path=path, command=command)
    if names_mechanisms(path, file_format):
        raise MissingMechanismError("formats.mechanism-missing-of-rows", path=path)


def names_mechanisms(path: Path, file_format: str | None = None) -> bool:
    """Return whether rows name mechanisms; raise AnswerError if their column was renamed."""
    names = [name for name in read_names(path, file_format) or () if MECHANISM in name.lower()]
    if not names:
        return False
    return holds_reports(read_table(path, tuple(names), file_format=file_format))


def in_file(
    path: Path, error: AnswerError, file_format: str | None, columns: tuple[Name, ...]
) -> AnswerError:
    """Return an error about rows with the name of their file and the place of the row."""
    row = error.fields.get("row")
    numbered = isinstance(row, Number)  # otherwise it is in another file
    place = _place_of(path, int(str(row)), file_format, columns) if numbered else ""
    return AnswerError("formats.answer-in-file", path=path, error=error, place=place)


def _place_of(path: Path, row: int, file_format: str | None, columns: tuple[Name, ...]) -> str:
    place = place_of_row(path, row, columns, file_format)
    shown = "" if place is None else f": row {row} is {place}"
    return f"Rows count from 0{', below the header' * (not are_numbers(columns))}{shown}."


def write_answers(answers: Answers, path: str | Path, *, file_format: str | None = None) -> None:
    """Write non-private answers in columns ``task``, ``worker``, ``label``; overwrite the file.

    Parameters
    ----------
    answers : Answers
        The answers.
    path : str or Path
        See `write_table`.
    file_format : str, optional
        See `write_table`; files of platforms have other columns.

    Raises
    ------
    FormatError, ParameterError, FileNotFoundError
        See `write_table`.
    """
    write_table(answers.to_frame("pyarrow"), path, file_format=file_format)


def read_comparison_table(
    path: Path,
    columns: tuple[Name, ...] = COLUMNS,
    *,
    file_format: str | None = None,
) -> tuple[pa.Table, tuple[Name, ...]]:
    """Read a table of non-private paired comparisons; return the columns that it has, too."""
    _reject_reports(path, file_format, "lab rank")
    if columns == COLUMNS:
        columns = comparison_columns(read_names(path, file_format) or [])
    return read_table(path, columns, file_format=file_format), columns


def read_comparisons(
    path: Path,
    columns: tuple[Name, ...] = COLUMNS,
    *,
    file_format: str | None = None,
) -> Answers:
    """Read non-private paired comparisons, as answers of left and right."""
    table, columns = read_comparison_table(path, columns, file_format=file_format)
    worker, left, right, label = map(str, columns)
    try:
        return Answers.from_comparisons(table, worker=worker, left=left, right=right, label=label)
    except AnswerError as error:
        raise in_file(path, error, file_format, columns) from None


def holds_comparisons(path: Path, file_format: str | None = None) -> bool:
    """Return whether the columns of a file are those of comparisons and not of answers."""
    names = read_names(path, file_format) or []
    return "task" not in names and set(comparison_columns(names)[1:3]) <= set(names)


_NAMES = ("task", "label")
_SCORE = "confidence"


def read_truths(
    path: str | Path,
    *,
    file_format: str | None = None,
    field: str | None = None,
    decimal: str | None = None,
) -> pa.Table:
    """Read known truths from a file.

    Parameters
    ----------
    path : str or Path
        A table with columns ``task`` and ``label``, also called ``truth`` (by ``infer``), or
        ``true_label`` or ``agg_label`` (by crowd-kit). Or Toloka's file of control tasks, a file of
        Label Studio, Appen's report with test questions, SageMaker's output manifest, or
        classifications of Zooniverse with a gold standard.
    file_format, field, decimal : str, optional
        See `read_answers`.

    Returns
    -------
    pyarrow.Table
        Columns ``task`` and ``label``.

    Raises
    ------
    FormatError
        If the file does not have the format of its suffix, or lacks a column.
    ParameterError
        See `read_answers`.
    OSError
        If the file cannot be opened.
    """
    path = Path(path)
    choice = Choice(field=field)
    return _read(path, _NAMES, file_format, choice, decimal).select(_NAMES)


def read_scored_truths(
    path: Path,
    *,
    file_format: str | None = None,
    field: str | None = None,
    decimal: str | None = None,
) -> pa.Table:
    """Read truths as `read_truths` does, and ``confidence``, a float, if the file has it."""
    scored = _SCORE in (read_names(path, file_format) or [])
    wanted = (*_NAMES, _SCORE) if scored else _NAMES
    table = _read(path, wanted, file_format, Choice(field=field), decimal)
    if not scored:
        return table
    scores = with_decimal_points(path, table[_SCORE], _SCORE, decimal)
    try:
        return table.set_column(2, _SCORE, pc.cast(scores, pa.float64()))
    except pa.ArrowInvalid as error:
        raise FormatError("formats.in-file", path=path, error=f"{_SCORE!r}: {error}") from None


def _read(
    path: Path,
    wanted: tuple[str, ...],
    file_format: str | None,
    choice: Choice,
    decimal: str | None,
) -> pa.Table:
    table = read_table(path, wanted, file_format=file_format, choice=choice, decimal=decimal)
    for name in _NAMES:
        if name not in table.column_names:
            raise FormatError("formats.truth-column-missing", path=path, name=name)
    return table
