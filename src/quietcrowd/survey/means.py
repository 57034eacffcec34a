"""Estimated means of answers to questions with levels or numbers."""

from __future__ import annotations

from collections.abc import Callable
from statistics import NormalDist
from typing import Any, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain, Interval, NumericDomain, Ordinal
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import Backend, to_native
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.report_domains import LabelSets, OneOf, sets_with
from quietcrowd.survey.shares import Decoder, Floats, decoder_for, has_more, table_of
from quietcrowd.validation import check_proportion


def estimate_means(
    reports: Reports | Answers, *, confidence: float = 0.95, backend: Backend = "pandas"
) -> Any:
    """Estimate the mean answer of people to each question with levels or numbers.

    The intervals are for the means in the population from which the workers are a random sample.

    Parameters
    ----------
    reports : Reports or Answers
        Levels or numbers by a mechanism with unbiased reports, or non-private answers.
    confidence : float
        Fraction of intervals that hold the mean, above 0 and below 1.
    backend : {"pandas", "polars", "pyarrow"}
        Kind of dataframe.

    Returns
    -------
    dataframe
        A row per question, with the columns ``task``, ``mean``, ``low``, ``high`` and ``reports``.
        A mean may be outside of the domain, the ends of intervals may not. Without reports the mean
        is missing.

    Raises
    ------
    AnswerError
        If answers are not numeric, missing answers are reported, too, or reports are sketches or do
        not depend on answers.
    ParameterError
        If `confidence` is out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> import quietcrowd as qc
    >>> frame = pd.DataFrame({"task": "noise", "worker": range(6), "label": [1, 2, 2, 3, 4, 2]})
    >>> answers = qc.Answers.from_frame(frame, domain=qc.Ordinal(range(6)))
    >>> estimate_means(answers).round(2)
        task  mean   low  high  reports
    0  noise  2.33  1.32  3.48        6
    """
    check_proportion("confidence", confidence)
    table = table_of(reports)
    found, tasks = unbiased_numbers(reports), len(table.tasks)
    numbers = found.numbers(table.values)
    count, total, squares = (
        np.bincount(table.task_codes, weights, tasks).astype(np.float64)
        for weights in (None, numbers, numbers**2)
    )
    columns = {"task": table.tasks, **found.means((count, total, squares), confidence)}
    return to_native(columns, backend)


Sums: TypeAlias = tuple[Floats, Floats, Floats]
"""By task: the number of reports, and the sums of unbiased numbers and of their squares."""


@frozen(kw_only=True, eq=False)
class UnbiasedNumbers:
    """Numbers that equal the answers on average, from reports.

    Attributes
    ----------
    domain : Ordinal or Interval
        The domain of the answers.
    numbers : callable
        Return the numbers of encoded reports.
    ends : pair of float
        Mean squares of the numbers for answers at both ends of the range.
    """

    domain: Any
    numbers: Callable[[npt.NDArray[Any]], Floats]
    ends: tuple[float, float]

    @classmethod
    def of(cls, mechanism: Mechanism, *, has_more: bool = False) -> Self:
        """Return the numbers of a mechanism's reports; AnswerError without any.

        `has_more` means that devices send more than a report for each task.
        """
        domain, channel, reports = mechanism.domain, mechanism.channel, mechanism.report_domain
        if not isinstance(domain, Ordinal | Interval):
            raise AnswerError("survey.answers-have-no-mean", domain=domain.example())
        if mechanism.every_task or has_more:
            raise AnswerError("survey.means-unsupported", name=mechanism.name)
        low, high = domain.low**2, domain.high**2
        if Decoder.of(channel) is not None:
            decoder = decoder_for(mechanism)
            numbers, ends = _of_levels(decoder, cast(Ordinal, domain), reports)
        elif channel.shift is not None:
            numbers = cast(NumericDomain, reports).numbers
            ends = (channel.shift.variance, channel.shift.variance)
        elif channel.bounded_distribution is not None:
            bounded = channel.bounded_distribution
            numbers = cast(NumericDomain, reports).numbers
            ends = (bounded.variance(0), bounded.variance(bounded.steps))
        else:
            raise AnswerError("survey.means-unsupported", name=mechanism.name)
        return cls(domain=domain, numbers=numbers, ends=(ends[0] + low, ends[1] + high))

    def means(self, sums: Sums, confidence: float) -> dict[str, npt.NDArray[Any]]:
        """Return columns with a row per task: mean, low, high and reports."""
        mean, low, high = self.intervals(sums, confidence)
        return {
            "mean": mean,
            "low": np.clip(low, self.domain.low, self.domain.high),
            "high": np.clip(high, self.domain.low, self.domain.high),
            "reports": sums[0].astype(np.int64),
        }

    def intervals(self, sums: Sums, confidence: float) -> tuple[Floats, Floats, Floats]:
        """Return means, and the ends of intervals, which may be outside of the range."""
        count, total, squares = sums
        z, domain = NormalDist().inv_cdf(0.5 + confidence / 2.0), self.domain
        with np.errstate(invalid="ignore"):
            mean = total / count
        # people at both ends of the range, z²/2 at each, as in Agresti and Coull's interval
        size = count + z * z
        middle = (total + z * z / 2.0 * (domain.low + domain.high)) / size
        variance = (squares + z * z / 2.0 * sum(self.ends)) / size - middle**2
        half = z * np.sqrt(np.maximum(variance, 0.0) / size)
        return mean, middle - half, middle + half


def unbiased_numbers(reports: Reports | Answers) -> UnbiasedNumbers:
    """Return the numbers of reports, or of answers; AnswerError without any."""
    mixed = reports.table.domain if isinstance(reports, Reports) else None
    if isinstance(reports, Reports) and isinstance(mixed, OneOf):
        return _of_parts(reports, mixed)
    if isinstance(reports, Reports):
        return UnbiasedNumbers.of(reports.mechanism, has_more=has_more(reports))
    domain: Any = reports.domain
    if not isinstance(domain, Ordinal | Interval):
        raise AnswerError("survey.answers-have-no-mean", domain=domain.example())
    ends = (domain.low**2, domain.high**2)
    return UnbiasedNumbers(domain=domain, numbers=domain.numbers, ends=ends)


def _of_parts(reports: Reports, mixed: OneOf) -> UnbiasedNumbers:
    """Return the numbers of reports of several mechanisms; a person counts once by each."""
    parts = [UnbiasedNumbers.of(one) for one in reports.mechanisms]
    people = np.bincount(reports.part_codes, minlength=len(parts)) / len(reports)

    def numbers(values: npt.NDArray[Any]) -> Floats:
        found, places = np.empty(len(values)), mixed.part_codes(values)
        for place, part in enumerate(parts):
            mine = places == place
            found[mine] = part.numbers(mixed.codes_of(place, values[mine]))
        return found

    low, high = (float(people @ [part.ends[end] for part in parts]) for end in (0, 1))
    return UnbiasedNumbers(domain=parts[0].domain, numbers=numbers, ends=(low, high))


def _of_levels(
    decoder: Decoder, domain: Ordinal, reports: Domain
) -> tuple[Callable[[npt.NDArray[Any]], Floats], tuple[float, float]]:
    """Return unbiased numbers of reports of levels, and their variances for the end levels."""
    weights: Floats = decoder.inverse @ np.array(domain.levels, np.float64)
    if isinstance(reports, LabelSets):

        def of_sets(values: npt.NDArray[Any]) -> Floats:
            held: Floats = sets_with(values, len(weights), decoder.members) @ weights
            return held

        return of_sets, (_spread(decoder, weights, 0), _spread(decoder, weights, -1))
    squares = decoder.chances[[0, -1]] @ weights**2
    variances = (float(squares[0] - domain.low**2), float(squares[1] - domain.high**2))
    return lambda values: weights[values], variances


def _spread(decoder: Decoder, weights: Floats, answer: int) -> float:
    """Return the variance of the sum of weights in a set of labels, given the answer.

    The other members are drawn at random without replacement.
    """
    held = float(decoder.chances[answer, answer])
    others = np.delete(weights, answer)
    count, mean = len(others), float(others.mean())

    def moments(drawn: int) -> tuple[float, float]:
        """Return mean and variance of the sum of this many of the others."""
        rest = (count - drawn) / max(count - 1, 1)
        return drawn * mean, drawn * float(others.var()) * rest

    own = float(weights[answer])
    with_mean, with_variance = moments(decoder.members - 1)
    without_mean, without_variance = moments(decoder.members)
    between = held * (1.0 - held) * (own + with_mean - without_mean) ** 2
    return held * with_variance + (1.0 - held) * without_variance + between
