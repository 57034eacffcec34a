"""What nobody has: posteriors of numbers, of those who know the distribution of every worker."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.answers import Answers
from quietcrowd.datasets.number_crowd import NumberDistribution
from quietcrowd.domains import Interval, check_numeric
from quietcrowd.exceptions import AnswerError
from quietcrowd.gold import MatchedTruths
from quietcrowd.mechanisms.channels.bounded_distribution import TOTAL, BoundedDistribution
from quietcrowd.mechanisms.channels.noise import Shift
from quietcrowd_research.label_oracle import normalised

Floats = npt.NDArray[np.float64]

TINY = 1e-300
"""Below every probability that matters; its logarithm is finite."""


def number_posterior(
    reports: Answers,
    distribution: NumberDistribution,
    shift: Shift | BoundedDistribution | None = None,
    *,
    points: int = 256,
) -> tuple[Floats, Floats]:
    """Return how probable each number is for each task, to one who knows how the crowd was drawn.

    Everything is summed on two grids: truths in steps of the domain's width over `points`, answers
    in steps half as wide, those that are cut off at an end a mass of their own.

    Parameters
    ----------
    reports : Answers
        Plain answers, or `Reports.table`.
    distribution : NumberDistribution
        Of the workers and the truths.
    shift : Shift or BoundedDistribution, optional
        Of the mechanism's channel; None: the answers are plain.
    points : int
        Fineness of the grids.

    Returns
    -------
    truths : ndarray of float64, shape (points,)
        Middles of the steps of the grid.
    posterior : ndarray of float64, shape (tasks, points)
        Rows sum to 1.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.make_crowd(kind="numbers", tasks=4)
    >>> truths, posterior = number_posterior(crowd.answers, crowd.distribution, points=100)
    >>> posterior.shape
    (4, 100)
    """
    low, high = distribution.domain.low, distribution.domain.high
    edges = np.linspace(low, high, points + 1)
    step = edges[1] - edges[0]
    beyond = int(np.ceil(4 * distribution.bias / step))
    seen = low + step * (np.arange(-beyond, points + beyond) + 0.5)
    logs = np.zeros((len(reports.tasks), len(seen)))
    numbers = check_numeric(reports.domain, "an oracle of numbers").numbers(reports.values)
    order = np.argsort(reports.worker_codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(reports.answers_per_worker)])
    for worker in np.flatnonzero(reports.answers_per_worker).tolist():
        rows = order[starts[worker] : starts[worker + 1]]
        chances = _report_chances(distribution, worker, seen, numbers[rows], shift)
        np.add.at(logs, reports.task_codes[rows], np.log(chances).T)
    truths = seen[beyond : beyond + points]
    if distribution.bias:
        apart = (seen[:, np.newaxis] - truths) / distribution.bias
        likely = np.exp(logs - logs.max(axis=1, keepdims=True)) @ np.exp(-(apart**2) / 2)
        logs = np.log(np.maximum(likely, TINY))
    prior = np.diff(distribution.truth_below(edges))
    return truths, normalised(logs + np.log(np.maximum(prior, TINY)))


def _report_chances(
    distribution: NumberDistribution,
    worker: int,
    seen: Floats,
    numbers: Floats,
    shift: Shift | BoundedDistribution | None,
) -> Floats:
    """Return the density of each report at each truth, shape (truths, reports), to a factor."""
    low, high = distribution.domain.low, distribution.domain.high
    edges = np.linspace(low, high, 2 * len(seen) + 1)
    below = distribution.answer_below(worker, seen[:, np.newaxis], edges[:-1])
    inside = np.diff(
        below, axis=1, append=1.0 - _at_the_top(distribution, worker, seen)[:, np.newaxis]
    )
    distributions = np.column_stack([below[:, 0], inside, _at_the_top(distribution, worker, seen)])
    places = np.concatenate([[low], (edges[1:] + edges[:-1]) / 2, [high]])
    if shift is None:
        at = np.clip(np.searchsorted(edges, numbers, side="right"), 1, len(edges) - 1)
        at = np.where(numbers <= low, 0, np.where(numbers >= high, len(places) - 1, at))
        return np.maximum(distributions[:, at], TINY)
    if isinstance(shift, BoundedDistribution):
        sent = np.rint((numbers - shift.numbers.origin) / shift.numbers.step)
        weights = shift.weights(sent, shift.grid.places(places)[:, np.newaxis])
        return np.maximum(distributions @ (weights / TOTAL), TINY)
    steps = np.rint((numbers - places[:, np.newaxis]) / shift.grid.step).astype(np.int64)
    return np.maximum(distributions @ np.exp(shift.noise.log_mass(steps)), TINY)


def _at_the_top(distribution: NumberDistribution, worker: int, seen: Floats) -> Floats:
    """Return the probability that an answer is cut off at the upper end."""
    edge = np.nextafter(distribution.domain.high, distribution.domain.low)
    return 1.0 - distribution.answer_below(worker, seen, edge)


def quantiles(truths: Floats, posterior: Floats, shares: Any) -> Floats:
    """Return quantiles of posteriors on a grid, each step of it filled evenly.

    Parameters
    ----------
    truths, posterior : ndarray of float64
        As `number_posterior` gives them.
    shares : sequence of float
        Such as 0.5, for the median.

    Returns
    -------
    ndarray of float64, shape (tasks, shares)

    Examples
    --------
    >>> quantiles(np.array([0.5, 1.5]), np.array([[0.5, 0.5]]), [0.25, 0.5])
    array([[0.5, 1. ]])
    """
    step = truths[1] - truths[0]
    edges = np.concatenate([truths - step / 2, truths[-1:] + step / 2])
    sums = np.column_stack([np.zeros(len(posterior)), posterior.cumsum(axis=1)])
    return np.stack([np.interp(shares, row, edges) for row in sums])


def counted_number_distribution(
    answers: Answers, truths: Any, *, strength: float = 4.0
) -> NumberDistribution:
    """Return the normal errors that are nearest to those of a crowd with known truths.

    A worker's sigma is the root mean square of its distances from the known truths, and of
    `strength` distances as those of the whole crowd. Truths are normal with the mean and standard
    deviation of the known ones. There are no outliers, shared errors or scales.

    Parameters
    ----------
    answers : Answers
        Plain, in an `Interval`.
    truths : dataframe or pandas Series
        Columns ``task`` and ``label``, or labels indexed by task.
    strength : float
        In answers.

    Raises
    ------
    AnswerError
        Where the answers are of another domain, or as of `MatchedTruths`.
    """
    domain = answers.domain
    if not isinstance(domain, Interval):
        raise AnswerError(
            f"such a distribution needs numbers of an interval; got {domain.example()}"
        )
    matched = MatchedTruths(answers.tasks, truths)
    known = np.full(len(answers.tasks), np.nan)
    known[matched.tasks] = matched.numbers()
    apart = answers.values - known[answers.task_codes]
    rows = ~np.isnan(apart)
    workers = answers.worker_codes[rows]
    squares = np.bincount(workers, apart[rows] ** 2, len(answers.workers))
    counts = np.bincount(workers, minlength=len(answers.workers))
    variance = (squares + strength * np.mean(apart[rows] ** 2)) / (counts + strength)
    return NumberDistribution(
        domain=domain,
        middle=float(np.nanmean(known)),
        spread=float(np.nanstd(known)),
        bias=0.0,
        sigma=np.sqrt(variance),
        scale=np.ones(len(counts)),
        outliers=0.0,
        outlier_factor=1.0,
    )
