"""How far estimated truths are from known ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.answers import Answers
from quietcrowd.domains import FiniteDomain, NumericDomain, as_numbers, check_numeric
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import as_frame, column_of, positions_by_text
from quietcrowd.inference.estimate import NumericEstimate, TruthEstimate

__all__ = [
    "KnownNumbers",
    "KnownTruths",
    "centred_error",
    "constant_error_rate",
    "correlation",
    "error_rate",
    "error_rate_change",
    "mean_absolute_error",
    "mean_absolute_error_change",
]


class _MatchedTruths:
    """Known truths, matched to the tasks of answers once; see `KnownTruths`."""

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
        self.labels = column_of(frame, "label")
        self.of_tasks = answers.tasks

    def _outside(self, row: int, what: str) -> AnswerError:
        return AnswerError(f"truths, row {row}: {self.labels[row].as_py()!r} is {what}")

    def _check_tasks(self, estimate: TruthEstimate) -> None:
        if not isinstance(estimate, TruthEstimate):
            raise ParameterError(
                "estimate must be what fit returned, a TruthEstimate; "
                f"got {type(estimate).__name__}"
            )
        if not estimate.answers.tasks.equals(self.of_tasks):
            raise AnswerError("the estimate and the known truths are of different tasks")


class KnownTruths(_MatchedTruths):
    """Known labels.

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
        super().__init__(answers, truths)
        self.codes, inside = domain.encode(self.labels)
        if not inside.all():
            numbers = isinstance(domain, NumericDomain)
            raise self._outside(
                int(np.argmin(inside)),
                f"outside the domain {domain.describe()}"
                + ". For truths that are no levels take a method for numbers, such as Mean"
                * numbers,
            )

    def error_rate(self, estimate: TruthEstimate) -> float:
        """Return the share of known truths that an estimate gets wrong.

        A task of which the estimate knows no answer counts as wrong.

        Raises
        ------
        AnswerError
            Where the estimate is of other tasks, or of the same in another order, or of numbers.
        """
        self._check_tasks(estimate)
        if isinstance(estimate, NumericEstimate):
            raise AnswerError("an error rate needs estimated labels; got numbers")
        answered = estimate.answers.answers_per_task[self.tasks] > 0
        truths = estimate.estimates.truths[self.tasks]
        return float(np.mean((truths != self.codes) | ~answered))

    def constant_error_rate(self) -> float:
        """Return the error rate of the best constant guess: always the most frequent label."""
        return float(1.0 - np.bincount(self.codes).max() / len(self.codes))


class KnownNumbers(_MatchedTruths):
    """Known numbers; they may lie outside of the domain of the answers.

    Parameters and errors are those of `KnownTruths`, but that answers may be in any domain, and a
    truth has to be a finite number.
    """

    def __init__(self, answers: Answers, truths: Any) -> None:
        super().__init__(answers, truths)
        self.numbers = as_numbers(self.labels)
        if not np.isfinite(self.numbers).all():
            raise self._outside(int(np.argmin(np.isfinite(self.numbers))), "no finite number")

    def estimated(self, estimate: TruthEstimate) -> npt.NDArray[np.float64]:
        """Return the estimated numbers, one for each known one.

        A task of which the estimate knows no answer counts as the mean of the others.

        Raises
        ------
        AnswerError
            Where the estimate is of other tasks, or of the same in another order, or of labels
            that are no numbers.
        """
        self._check_tasks(estimate)
        found = estimate.estimates.truths
        if not isinstance(estimate, NumericEstimate):
            found = check_numeric(estimate.answers.domain, "an error of numbers").numbers(found)
        answered = estimate.answers.answers_per_task > 0
        middle = float(found[answered].mean())
        chosen: npt.NDArray[np.float64] = np.where(answered, found, middle)[self.tasks]
        return chosen

    def mean_absolute_error(self, estimate: TruthEstimate) -> float:
        """Return the mean distance of estimated from known numbers."""
        return float(np.abs(self.estimated(estimate) - self.numbers).mean())

    def constant_absolute_error(self) -> float:
        """Return the mean absolute error of the best constant guess: always the median."""
        return float(np.abs(self.numbers - np.median(self.numbers)).mean())

    def centred_error(self, estimate: TruthEstimate) -> float:
        """Return the root mean square error after taking the mean from both: see `correlation`."""
        estimated = self.estimated(estimate)
        return float(np.std(estimated - self.numbers))

    def constant_centred_error(self) -> float:
        """Return the centred error of any constant guess."""
        return float(np.std(self.numbers))

    def correlation(self, estimate: TruthEstimate) -> float:
        """Return the correlation of estimated and known numbers; NaN where one does not vary."""
        estimated = self.estimated(estimate)
        if np.ptp(estimated) == 0 or np.ptp(self.numbers) == 0:
            return float("nan")
        return float(np.corrcoef(estimated, self.numbers)[0, 1])


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
    return KnownTruths(_answers_of(estimate), truths).error_rate(estimate)


def error_rate_change(private: TruthEstimate, plain: TruthEstimate, truths: Any) -> float:
    """Return the error rate from reports minus that from the plain answers.

    The utility measure of Li et al., KDD 2018, section 7.1.2; it can be negative.
    """
    return error_rate(private, truths) - error_rate(plain, truths)


def constant_error_rate(answers: Answers, truths: Any) -> float:
    """Return the error rate of the best constant guess: no method should do worse."""
    return KnownTruths(answers, truths).constant_error_rate()


def mean_absolute_error(estimate: TruthEstimate, truths: Any) -> float:
    """Return the mean distance of estimated from known numbers.

    Parameters
    ----------
    estimate : TruthEstimate
        Of numbers, or of the levels of an `Ordinal` domain.
    truths : dataframe
        Columns ``task`` and ``label``. A task that nobody answered counts as the mean of the
        estimated ones.

    Raises
    ------
    AnswerError
        Where a truth does not fit the answers; see `KnownNumbers`.
    ParameterError
        Where `estimate` is not what `fit` returned.

    References
    ----------
    H. Sun et al., IEEE Big Data 2018, equation 3.
    """
    return KnownNumbers(_answers_of(estimate), truths).mean_absolute_error(estimate)


def mean_absolute_error_change(private: TruthEstimate, plain: TruthEstimate, truths: Any) -> float:
    """Return the mean absolute error from reports minus that from the plain answers.

    The utility measure of H. Sun et al., IEEE Big Data 2018, section VI-A. It can be negative:
    answers that are clipped to the domain are biased, and a constant guess may be nearer.
    """
    return mean_absolute_error(private, truths) - mean_absolute_error(plain, truths)


def centred_error(estimate: TruthEstimate, truths: Any) -> float:
    """Return the root mean square error after taking the mean from estimates and truths.

    A constant guess has the truths' standard deviation, wherever the truths lie: unlike the
    mean absolute error it does not reward a guess for lying near most of them. Parameters and
    errors as of `mean_absolute_error`.
    """
    return KnownNumbers(_answers_of(estimate), truths).centred_error(estimate)


def correlation(estimate: TruthEstimate, truths: Any) -> float:
    """Return the correlation of estimated and known numbers; NaN where one does not vary.

    Parameters and errors as of `mean_absolute_error`.
    """
    return KnownNumbers(_answers_of(estimate), truths).correlation(estimate)


def _answers_of(estimate: Any) -> Answers:
    if not isinstance(estimate, TruthEstimate):
        raise ParameterError(
            f"estimate must be what fit returned, a TruthEstimate; got {type(estimate).__name__}"
        )
    return estimate.answers
