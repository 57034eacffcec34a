"""Known truths of some tasks, matched to the tasks of answers: what scores and gold tasks share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.answers import Answers
from quietcrowd.domains import FiniteDomain, NumericDomain, as_numbers
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import as_frame, column_of, positions_by_text

__all__ = ["UNKNOWN", "MatchedTruths", "label_per_task", "number_per_task"]

UNKNOWN = -1
"""The code of a task whose label is not known."""


class MatchedTruths:
    """Known truths, matched to the tasks of answers once.

    Parameters
    ----------
    answers : Answers
        Whose tasks they are.
    truths : dataframe
        Columns ``task`` and ``label``; tasks match by what their ids print as.

    Attributes
    ----------
    tasks : ndarray of intp
        Positions of the tasks whose truths are known.
    labels : pyarrow.ChunkedArray
        Their truths, as they came.
    of_tasks : pyarrow.Array
        Ids of all tasks.

    Raises
    ------
    AnswerError
        Where a column is missing, a task is not among the answers' tasks or occurs twice, or no
        truth is given.
    """

    def __init__(self, answers: Answers, truths: Any) -> None:
        frame = as_frame(truths)
        if missing := {"task", "label"} - set(frame.columns):
            raise AnswerError(
                f"truths: column {min(missing)!r} is missing; known truths have columns "
                f"'task' and 'label', here are {', '.join(map(repr, frame.columns))}"
            )
        names = column_of(frame, "task")
        if not len(names):
            raise AnswerError("there is no known truth")
        self.tasks = positions_by_text(names, answers.tasks)
        if (self.tasks < 0).any():
            row = int(np.argmin(self.tasks))
            raise AnswerError(
                f"truths, row {row}: task {names[row].as_py()!r} is no task of the answers. "
                "Drop it, or give the answers the full list with tasks=."
            )
        counts = np.bincount(self.tasks, minlength=len(answers.tasks))
        if counts.max() > 1:
            twice = answers.tasks[int(counts.argmax())].as_py()
            raise AnswerError(f"truths: task {twice!r} occurs {counts.max()} times")
        self.labels: pa.ChunkedArray = column_of(frame, "label")
        self.of_tasks = answers.tasks

    def codes(self, domain: FiniteDomain) -> npt.NDArray[Any]:
        """Return the positions of the truths in a finite domain.

        Raises
        ------
        AnswerError
            Where one lies outside of it.
        """
        codes, inside = domain.encode(self.labels)
        if not inside.all():
            numbers = isinstance(domain, NumericDomain)
            raise self._outside(
                int(np.argmin(inside)),
                f"outside the domain {domain.describe()}"
                + ". For truths that are no levels take a method for numbers, such as Mean"
                * numbers,
            )
        return codes

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return the truths as numbers; they may lie outside of the domain of the answers.

        Raises
        ------
        AnswerError
            Where one is no finite number.
        """
        numbers = as_numbers(self.labels)
        if not np.isfinite(numbers).all():
            raise self._outside(int(np.argmin(np.isfinite(numbers))), "no finite number")
        return numbers

    def _outside(self, row: int, what: str) -> AnswerError:
        return AnswerError(f"truths, row {row}: {self.labels[row].as_py()!r} is {what}")


def label_per_task(answers: Answers, truths: Any, domain: FiniteDomain) -> npt.NDArray[np.int32]:
    """Return the code of each task's known label, shape (tasks,); `UNKNOWN` where there is none.

    `truths` is None or as of `MatchedTruths`.
    """
    codes = np.full(len(answers.tasks), UNKNOWN, np.int32)
    if truths is not None:
        matched = MatchedTruths(answers, truths)
        codes[matched.tasks] = matched.codes(domain)
    return codes


def number_per_task(answers: Answers, truths: Any) -> npt.NDArray[np.float64]:
    """Return each task's known number, shape (tasks,); NaN where there is none.

    `truths` is None or as of `MatchedTruths`.
    """
    numbers = np.full(len(answers.tasks), np.nan)
    if truths is not None:
        matched = MatchedTruths(answers, truths)
        numbers[matched.tasks] = matched.numbers()
    return numbers
