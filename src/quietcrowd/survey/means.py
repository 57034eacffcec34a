"""Estimated means of answers to questions with levels or numbers."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, cast

import numpy as np

from quietcrowd.answers import Answers
from quietcrowd.domains import Interval, NumericDomain, Ordinal
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import Backend, to_native
from quietcrowd.mechanisms.mechanism import Reports
from quietcrowd.report_domains import LabelSets, sets_with
from quietcrowd.survey.shares import Decoder, Floats, decoder_of, has_more, table_of
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
    table, tasks = table_of(reports), len(table_of(reports).tasks)
    domain, numbers, ends = unbiased(reports)
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    count, total, squares = (
        np.bincount(table.task_codes, weights, tasks) for weights in (None, numbers, numbers**2)
    )
    with np.errstate(invalid="ignore"):
        mean = total / count
    # people at both ends of the range, z²/2 at each, as in Agresti and Coull's interval
    size = count + z * z
    middle = (total + z * z / 2.0 * (domain.low + domain.high)) / size
    variance = (squares + z * z / 2.0 * sum(ends)) / size - middle**2
    half = z * np.sqrt(np.maximum(variance, 0.0) / size)
    columns = {
        "task": table.tasks,
        "mean": mean,
        "low": np.clip(middle - half, domain.low, domain.high),
        "high": np.clip(middle + half, domain.low, domain.high),
        "reports": count.astype(np.int64),
    }
    return to_native(columns, backend)


def unbiased(reports: Reports | Answers) -> tuple[Any, Floats, tuple[float, float]]:
    """Return the domain, unbiased numbers, and their mean squares for answers at both ends."""
    table = table_of(reports)
    domain: Any = reports.mechanism.domain if isinstance(reports, Reports) else reports.domain
    if not isinstance(domain, Ordinal | Interval):
        raise AnswerError("survey.answers-have-no-mean", domain=domain.example())
    if not isinstance(reports, Reports):
        return domain, domain.numbers(table.values), (domain.low**2, domain.high**2)
    mechanism, channel = reports.mechanism, reports.mechanism.channel
    counted = Decoder.of(channel)
    if mechanism.every_task or has_more(reports):
        raise AnswerError("survey.means-unsupported", name=mechanism.name)
    if counted is not None:
        decoder = decoder_of(reports)
        numbers, ends = _numbers_of_levels(decoder, cast(Ordinal, domain), table)
    elif channel.shift is not None:
        numbers, ends = _numbers(table), (channel.shift.variance, channel.shift.variance)
    elif channel.bounded_distribution is not None:
        bounded = channel.bounded_distribution
        numbers = _numbers(table)
        ends = (bounded.variance(0), bounded.variance(bounded.steps))
    else:
        raise AnswerError("survey.means-unsupported", name=mechanism.name)
    return domain, numbers, (ends[0] + domain.low**2, ends[1] + domain.high**2)


def _numbers(table: Answers) -> Floats:
    return cast(NumericDomain, table.domain).numbers(table.values)


def _numbers_of_levels(
    decoder: Decoder, domain: Ordinal, table: Answers
) -> tuple[Floats, tuple[float, float]]:
    """Return unbiased numbers of reports of levels, and their variances for the end levels."""
    weights = decoder.inverse @ np.array(domain.levels, np.float64)
    if isinstance(table.domain, LabelSets):
        held = sets_with(table.values, len(weights), decoder.members)
        return held @ weights, (_spread(decoder, weights, 0), _spread(decoder, weights, -1))
    squares = decoder.chances[[0, -1]] @ weights**2
    return weights[table.values], (squares[0] - domain.low**2, squares[1] - domain.high**2)


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
