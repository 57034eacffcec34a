"""Errors of estimated truths, compared with known ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.description import equal_labels
from quietcrowd.domains import Domain, FiniteDomain, as_numbers, check_numeric
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.gold import MatchedTruths, labels_of_series
from quietcrowd.inference.estimate import NumericEstimate, TruthEstimate
from quietcrowd.inference.fitting import FittingMethod

if TYPE_CHECKING:
    import pandas as pd


class Score(MatchedTruths, ABC):
    """Known truths with scores of estimates; the first of `names` is the main one, an error."""

    names: ClassVar[tuple[str, ...]]

    @abstractmethod
    def of(
        self, estimate: TruthEstimate[Any], plain: TruthEstimate[Any] | None
    ) -> tuple[float, ...]:
        """Return the scores by `names`; `plain` is the non-private estimate, if any."""

    @abstractmethod
    def of_constant(self) -> tuple[float, ...]:
        """Return the scores of the best constant guess."""

    def _check_tasks(self, estimate: TruthEstimate[Any]) -> None:
        if not _checked(estimate).answers.tasks.equals(self.of_tasks):
            raise AnswerError("evaluation.tasks-differ")


class KnownLabels(Score):
    """Known labels, matched by the text of tasks; the score is the fraction of wrong estimates."""

    names: ClassVar[tuple[str, ...]] = ("error_rate",)

    def __init__(self, answers: Answers, truths: Any, domain: Domain | None = None) -> None:
        domain = answers.domain if domain is None else domain
        if not isinstance(domain, FiniteDomain):
            raise AnswerError("evaluation.truths-not-labels", domain=domain.example())
        super().__init__(answers.tasks, truths)
        self.known = self.codes(domain)

    def error_rate(self, estimate: TruthEstimate[Any]) -> float:
        """Return the fraction of known truths that an estimate gets wrong or does not answer."""
        self._check_tasks(estimate)
        if isinstance(estimate, NumericEstimate):
            raise AnswerError("evaluation.estimate-not-labels")
        answered = estimate.answers.answers_per_task[self.tasks] > 0
        truths = estimate.estimates.truths[self.tasks]
        return float(np.mean((truths != self.known) | ~answered))

    @override
    def of(
        self, estimate: TruthEstimate[Any], plain: TruthEstimate[Any] | None
    ) -> tuple[float, ...]:
        return (self.error_rate(estimate),)

    @override
    def of_constant(self) -> tuple[float, ...]:
        """Return the error rate of always guessing the most frequent label."""
        return (float(1.0 - np.bincount(self.known).max() / len(self.known)),)


class KnownNumbers(Score):
    """Known numbers, which may be outside of the answers' domain; errors as in `KnownLabels`.

    The weight distance is half the sum of the absolute differences of the workers' qualities from
    those of the same method's non-private estimate.
    """

    names: ClassVar[tuple[str, ...]] = (
        "mae",
        "rmse",
        "centred_error",
        "correlation",
        "weight_distance",
    )

    def __init__(self, answers: Answers, truths: Any) -> None:
        super().__init__(answers.tasks, truths)
        self.known = self.numbers()

    def estimated(self, estimate: TruthEstimate[Any]) -> npt.NDArray[np.float64]:
        """Return the estimates of the known numbers; without answers, the mean of the others."""
        self._check_tasks(estimate)
        found = estimate.estimates.truths
        if not isinstance(estimate, NumericEstimate):
            found = check_numeric(estimate.answers.domain, "an error of numbers").numbers(found)
        answered = estimate.answers.answers_per_task > 0
        middle = float(found[answered].mean())
        chosen: npt.NDArray[np.float64] = np.where(answered, found, middle)[self.tasks]
        return chosen

    def mean_absolute_error(self, estimate: TruthEstimate[Any]) -> float:
        """Return the mean absolute error of an estimate."""
        return float(np.abs(self.estimated(estimate) - self.known).mean())

    def root_mean_square_error(self, estimate: TruthEstimate[Any]) -> float:
        """Return the root mean square error of an estimate."""
        return float(np.sqrt(((self.estimated(estimate) - self.known) ** 2).mean()))

    def centred_error(self, estimate: TruthEstimate[Any]) -> float:
        """Return the standard deviation of the errors; see the function `centred_error`."""
        estimated = self.estimated(estimate)
        return float(np.std(estimated - self.known))

    def correlation(self, estimate: TruthEstimate[Any]) -> float:
        """Return the correlation of estimates and truths; NaN if one of them does not vary."""
        estimated = self.estimated(estimate)
        if np.ptp(estimated) == 0 or np.ptp(self.known) == 0:
            return float("nan")
        return float(np.corrcoef(estimated, self.known)[0, 1])

    @override
    def of(
        self, estimate: TruthEstimate[Any], plain: TruthEstimate[Any] | None
    ) -> tuple[float, ...]:
        distance = float("nan")
        if plain is not None:
            moved = _worker_scores(estimate) - _worker_scores(plain)
            distance = float(np.abs(moved).sum() / 2.0)
        return (
            self.mean_absolute_error(estimate),
            self.root_mean_square_error(estimate),
            self.centred_error(estimate),
            self.correlation(estimate),
            distance,
        )

    @override
    def of_constant(self) -> tuple[float, ...]:
        """Return the errors of always guessing the median, or the mean."""
        absolute = float(np.abs(self.known - np.median(self.known)).mean())
        centred = float(np.std(self.known))
        return absolute, centred, centred, float("nan"), float("nan")


def error_rate(estimate: TruthEstimate[Any] | pd.Series[Any], truths: Any) -> float:
    """Return the fraction of known truths that an estimate gets wrong.

    Parameters
    ----------
    estimate : TruthEstimate or pandas Series
        In a finite domain. A Series is indexed by task, like that of `fit_predict`; its labels
        match as numbers if all are, otherwise as text.
    truths : dataframe or pandas Series
        Columns ``task`` and ``label``, or labels indexed by task. A task without answers counts as
        wrong.

    Raises
    ------
    AnswerError
        If a task is unknown or occurs twice, or a truth is outside of the domain.
    ParameterError
        If `estimate` is neither.
    """
    if (labels := labels_of_series(estimate, truths)) is not None:
        found, known = labels
        given = found.take(pa.array(known.tasks))
        valid = given.is_valid()
        right = equal_labels(given.filter(valid), known.given().filter(valid)).sum()
        return float((len(given) - right) / len(given))
    checked = _checked(estimate)
    return KnownLabels(checked.answers, truths, checked.summary.domain).error_rate(checked)


def constant_error_rate(answers: Answers, truths: Any) -> float:
    """Return the error rate of the best constant guess: no method should do worse."""
    return KnownLabels(answers, truths).of_constant()[0]


def mean_absolute_error(estimate: TruthEstimate[Any] | pd.Series[Any], truths: Any) -> float:
    """Return the mean absolute error of estimated numbers.

    Parameters
    ----------
    estimate : TruthEstimate or pandas Series
        Of numbers, or of the levels of an `Ordinal` domain. A Series is indexed by task.
    truths : dataframe or pandas Series
        Columns ``task`` and ``label``, or labels indexed by task. A task without answers gets the
        mean of the other estimates.

    Raises
    ------
    AnswerError
        If a task is unknown or occurs twice, a truth is not a finite number, or estimated labels
        are not numeric.
    ParameterError
        If `estimate` is neither.

    References
    ----------
    H. Sun et al., IEEE Big Data 2018, equation 3.
    """
    if (labels := labels_of_series(estimate, truths)) is not None:
        found, known = labels
        numbers = as_numbers(found)
        numbers = np.where(np.isnan(numbers), np.nanmean(numbers), numbers)
        return float(np.abs(numbers[known.tasks] - known.numbers()).mean())
    checked = _checked(estimate)
    return KnownNumbers(checked.answers, truths).mean_absolute_error(checked)


def centred_error(estimate: TruthEstimate[Any], truths: Any) -> float:
    """Return the root mean square error after subtracting the means of estimates and truths.

    A constant guess scores the standard deviation of the truths. Unlike the mean absolute error,
    this does not reward a guess close to most truths. For parameters and errors see
    `mean_absolute_error`.
    """
    return KnownNumbers(_checked(estimate).answers, truths).centred_error(estimate)


def correlation(estimate: TruthEstimate[Any], truths: Any) -> float:
    """Return the correlation of estimates and truths; NaN if one of them does not vary.

    For parameters and errors see `mean_absolute_error`.
    """
    return KnownNumbers(_checked(estimate).answers, truths).correlation(estimate)


def _checked(estimate: Any) -> TruthEstimate[Any]:
    if not isinstance(estimate, TruthEstimate):
        raise ParameterError("evaluation.not-an-estimate", type_name=type(estimate).__name__)
    return estimate


def score_for(answers: Answers, truths: Any, methods: Iterable[FittingMethod]) -> Score:
    """Return the score that suits all of the methods."""
    if any(not method.infers_labels(answers.domain) for method in methods):
        return KnownNumbers(answers, truths)
    return KnownLabels(answers, truths)


def _worker_scores(estimate: TruthEstimate[Any]) -> npt.NDArray[np.float64]:
    """Return weights of the workers, of labels their accuracies; 0 if unknown."""
    name = "weight" if isinstance(estimate, NumericEstimate) else "accuracy"
    scores: npt.NDArray[np.float64] = np.nan_to_num(getattr(estimate, name))
    return scores
