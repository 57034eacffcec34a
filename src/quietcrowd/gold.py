"""Known truths, matched to the tasks of answers, for scores and gold tasks."""

import warnings
from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.domains import FiniteDomain, NumericDomain, as_numbers
from quietcrowd.exceptions import AnswerError, DroppedRowsWarning
from quietcrowd.frames import TRUTH_ALIASES, as_frame, column_of, positions_by_text
from quietcrowd.intake import Intake, decoded

UNKNOWN = -1
"""Code of a label that is not known."""

MOST_NAMED = 5
"""Most unknown tasks that a warning names."""


class KnownTruthError(AnswerError):
    """An invalid known truth, with its row, and a remedy for Python."""

    def __init__(
        self, code: str, /, *, row: int | None = None, advice: str = "", **fields: object
    ) -> None:
        super().__init__(code, **fields)
        self.row, self.advice = row, advice

    def __str__(self) -> str:
        place = "truths" if self.row is None else f"truths, row {self.row}"
        return f"{place}: {super().__str__()}{self.advice}"

    def in_file(self, path: object, line: str | None = None) -> AnswerError:
        """Return the error for truths from a file, in which the row is `line`."""
        row = line or f"row {self.row} (the first is row 0)"
        place = path if self.row is None else f"{path}: {row}"
        return AnswerError("answers.gold-in-file", place=place, problem=super().__str__())


class MatchedTruths:
    """Known truths, matched to tasks; ids match if their text does.

    `truths` is a mapping from tasks to labels; a Series indexed by task; a dataframe with columns
    ``task`` and ``label``, ``truth``, ``true_label`` or ``agg_label``; or a `TruthEstimate`.
    `tasks` are the positions of tasks with known truths, `labels` their truths as given, and
    `of_tasks` the ids of all tasks.

    Raises KnownTruthError if a column is missing, a task is repeated, all tasks are unknown, or
    there are no truths. A DroppedRowsWarning names unknown tasks.
    """

    def __init__(self, tasks: pa.Array, truths: Any) -> None:
        frame = _frame_of(truths)
        if missing := {"task", "label"} - set(frame.columns):
            raise KnownTruthError(
                "answers.gold-column-missing",
                missing=min(missing),
                columns=", ".join(map(repr, frame.columns)),
            )
        names = column_of(frame, "task")
        if not len(names):
            raise KnownTruthError("answers.gold-empty")
        places = _places(names, tasks)
        found = _check_found(names, places)
        self.tasks, rows = places[found], np.flatnonzero(found)
        counts = np.bincount(self.tasks, minlength=len(tasks))
        if counts.max() > 1:
            twice = tasks[int(counts.argmax())].as_py()
            row = int(rows[np.flatnonzero(self.tasks == counts.argmax())[1]])
            raise KnownTruthError(
                "answers.gold-task-twice", row=row, task=twice, count=int(counts.max())
            )
        self.labels: pa.ChunkedArray = column_of(frame, "label").take(pa.array(rows))
        self._rows = rows
        self.of_tasks = tasks

    def codes(self, domain: FiniteDomain) -> npt.NDArray[Any]:
        """Return the truths' positions in the domain; raise KnownTruthError if one is outside."""
        labels = Intake().encoded(self.labels, "label", domain.labels)
        codes, inside = domain.encode(labels)
        if not inside.all():
            row = int(np.argmin(inside))
            if labels[row].as_py() is None:
                raise self._missing(row)
            method = (
                " For other truths use a method for numbers, such as Mean "
                "(on the command line: --method mean)." * isinstance(domain, NumericDomain)
            )
            raise KnownTruthError(
                "answers.gold-outside",
                row=int(self._rows[row]),
                task=self._task(row),
                value=self.labels[row].as_py(),
                domain=domain.describe(),
                method=method,
            )
        return codes

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return the truths as numbers; raise KnownTruthError if one is not finite."""
        labels = decoded(Intake().encoded(self.labels, "label"))
        numbers = as_numbers(labels)
        if not np.isfinite(numbers).all():
            row = int(np.argmin(np.isfinite(numbers)))
            if labels[row].as_py() is None:
                raise self._missing(row)
            raise KnownTruthError(
                "answers.gold-not-a-number",
                row=int(self._rows[row]),
                task=self._task(row),
                value=labels[row].as_py(),
            )
        return numbers

    def given(self) -> pa.Array:
        """Return the truths as given; raise KnownTruthError if one is missing."""
        labels = self.labels.combine_chunks()
        if labels.null_count:
            raise self._missing(labels.is_null().index(True).as_py())
        return labels

    def _missing(self, row: int) -> KnownTruthError:
        value = self.labels[row].as_py()
        mark = f", because {value!r} marks a missing value" if value else ""
        return KnownTruthError(
            "answers.gold-missing", row=int(self._rows[row]), task=self._task(row), mark=mark
        )

    def _task(self, row: int) -> Any:
        return self.of_tasks[int(self.tasks[row])].as_py()


def _places(names: pa.ChunkedArray, tasks: pa.Array) -> npt.NDArray[np.intp]:
    """Return the position of each name among tasks, or of its clean form, or -1."""
    places = positions_by_text(names, tasks)
    if (places >= 0).all():
        return places
    clean = positions_by_text(Intake().names(names, "task"), tasks)
    return np.where(places < 0, clean, places)


def _check_found(names: pa.ChunkedArray, places: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Return a mask of truths of known tasks, and warn of the others."""
    found: npt.NDArray[np.bool_] = places >= 0
    strangers = np.flatnonzero(~found)
    if not len(strangers):
        return found
    if not found.any():
        row = int(strangers[0])
        raise KnownTruthError(
            "answers.gold-tasks-unknown",
            row=row,
            advice=", or pass all names as tasks= when you create the answers.",
            task=names[row].as_py(),
        )
    shown = ", ".join(repr(names[int(row)].as_py()) for row in strangers[:MOST_NAMED])
    more = f" and {len(strangers) - MOST_NAMED:,} more" if len(strangers) > MOST_NAMED else ""
    warnings.warn(
        DroppedRowsWarning(
            "answers.gold-left-out",
            count=len(strangers),
            total=len(names),
            tasks=shown,
            more=more,
        ),
        stacklevel=4,
    )
    return found


def _frame_of(truths: Any) -> nw.DataFrame[Any]:
    if isinstance(truths, Mapping):
        return as_frame(_table_of(truths))
    if hasattr(truths, "truths_as"):  # an estimate, which may lack some truths
        found: pa.Table = truths.truths_as("pyarrow").select(["task", "truth"])
        return as_frame(found.rename_columns(["task", "label"]).drop_null())
    if _is_series(truths):
        return as_frame(truths.rename("label").rename_axis("task").reset_index())
    frame = as_frame(truths)
    meant = [name for name in TRUTH_ALIASES if name in frame.columns]
    if "label" not in frame.columns and len(meant) == 1:
        return frame.rename({meant[0]: "label"})
    return frame


def _table_of(truths: Mapping[Any, Any]) -> pa.Table:
    try:
        return pa.table({"task": pa.array(list(truths)), "label": pa.array([*truths.values()])})
    except (pa.ArrowException, OverflowError) as error:
        raise KnownTruthError("answers.gold-of-several-types", error=error) from None


def _is_series(data: Any) -> bool:
    read = nw.from_native(data, pass_through=True, allow_series=True)
    return isinstance(read, nw.Series) and read.implementation.is_pandas()


def labels_of_series(found: Any, truths: Any) -> tuple[pa.Array, MatchedTruths] | None:
    """Return the labels of a Series, indexed by task, and known truths matched to its tasks."""
    if not _is_series(found):
        return None
    frame = _frame_of(found)
    tasks = column_of(frame, "task").combine_chunks()
    MatchedTruths(tasks.unique(), frame)  # each task once
    known = MatchedTruths(tasks, truths)
    return column_of(frame, "label").combine_chunks(), known


def label_per_task(tasks: pa.Array, truths: Any, domain: FiniteDomain) -> npt.NDArray[np.int32]:
    """Return the code of each task's known label or `UNKNOWN`, shape (tasks,)."""
    codes = np.full(len(tasks), UNKNOWN, np.int32)
    if truths is not None:
        matched = MatchedTruths(tasks, truths)
        codes[matched.tasks] = matched.codes(domain)
    return codes


def number_per_task(tasks: pa.Array, truths: Any) -> npt.NDArray[np.float64]:
    """Return each task's known number or NaN, shape (tasks,)."""
    numbers = np.full(len(tasks), np.nan)
    if truths is not None:
        matched = MatchedTruths(tasks, truths)
        numbers[matched.tasks] = matched.numbers()
    return numbers
