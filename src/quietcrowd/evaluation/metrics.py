"""How far estimated truths are from known ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.answers import Answers
from quietcrowd.domains import FiniteDomain
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import as_frame, column_of, positions_by_text
from quietcrowd.inference.estimate import TruthEstimate

__all__ = ["KnownTruths", "constant_error_rate", "error_rate", "error_rate_change"]


class KnownTruths:
    """Known truths, matched to the tasks of answers once.

    Parameters
    ----------
    answers : Answers
        In a finite domain.
    truths : dataframe
        Columns ``task`` and ``label``; tasks match by what their ids print as.

    Raises
    ------
    AnswerError
        Where a task is not among the answers' tasks or occurs twice, a label lies outside the
        domain, or no truth is given.
    """

    def __init__(self, answers: Answers, truths: Any) -> None:
        domain = answers.domain
        if not isinstance(domain, FiniteDomain):
            raise AnswerError(f"an error rate needs labels; got {domain.example()}")
        frame = as_frame(truths)
        if missing := {"task", "label"} - set(frame.columns):
            raise AnswerError(
                f"truths: column {min(missing)!r} is missing; known truths have columns "
                f"'task' and 'label', here are {', '.join(map(repr, frame.columns))}"
            )
        names, labels = column_of(frame, "task"), column_of(frame, "label")
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
        self.codes, inside = domain.encode(labels)
        if not inside.all():
            row = int(np.argmin(inside))
            raise AnswerError(
                f"truths, row {row}: {labels[row].as_py()!r} is outside the domain "
                f"{domain.describe()}"
            )
        self.of_tasks = answers.tasks
        self.answered: npt.NDArray[np.bool_] = answers.answers_per_task[self.tasks] > 0

    def error_rate(self, estimate: TruthEstimate) -> float:
        """Return the share of known truths that an estimate gets wrong.

        Raises
        ------
        AnswerError
            Where the estimate is of other tasks, or of the same in another order.
        """
        if not estimate.answers.tasks.equals(self.of_tasks):
            raise AnswerError("the estimate and the known truths are of different tasks")
        truths = estimate.estimates.truths[self.tasks]
        return float(np.mean((truths != self.codes) | ~self.answered))

    def constant_error_rate(self) -> float:
        """Return the error rate of the best constant guess: always the most frequent label."""
        return float(1.0 - np.bincount(self.codes).max() / len(self.codes))


def error_rate(estimate: TruthEstimate, truths: Any) -> float:
    """Return the share of known truths that an estimate gets wrong.

    Parameters
    ----------
    estimate : TruthEstimate
        On a finite domain.
    truths : dataframe
        Columns ``task`` and ``label``. A task that nobody answered counts as wrong.

    Raises
    ------
    AnswerError
        Where a truth does not fit the answers; see `KnownTruths`.
    ParameterError
        Where `estimate` is not what `fit` returned.
    """
    if not isinstance(estimate, TruthEstimate):
        raise ParameterError(
            f"estimate must be what fit returned, a TruthEstimate; got {type(estimate).__name__}"
        )
    return KnownTruths(estimate.answers, truths).error_rate(estimate)


def error_rate_change(private: TruthEstimate, plain: TruthEstimate, truths: Any) -> float:
    """Return the error rate from reports minus that from the plain answers.

    The utility measure of Li et al., KDD 2018, section 7.1.2; it can be negative.
    """
    return error_rate(private, truths) - error_rate(plain, truths)


def constant_error_rate(answers: Answers, truths: Any) -> float:
    """Return the error rate of the best constant guess: no method should do worse."""
    return KnownTruths(answers, truths).constant_error_rate()
