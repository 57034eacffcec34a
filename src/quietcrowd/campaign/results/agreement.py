"""How much workers agree: as reports do, as answers must have, and who agrees too much."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import FiniteDomain, NumericDomain
from quietcrowd.mechanisms import Reports
from quietcrowd.report_domains import OrNull

__all__ = ["FEWEST_REPORTS", "MOST_ERROR", "CrowdAgreement", "agreement", "too_consistent"]

MOST_ERROR = 0.1
"""A figure of a larger standard error is not told."""

FEWEST_WORKERS = 5
"""With fewer workers nothing is said of how sure a figure is."""

_SURE = 10.0
"""Fewer standard errors from 0, a denominator that came out large would make a ratio look sure."""

FEWEST_REPORTS = 50
"""Workers with fewer reports that can be compared are not judged."""

_DEVIATIONS = 3.3
"""An honest worker is this many standard errors above the bound once in 1,000 times, at most."""


@frozen(kw_only=True)
class CrowdAgreement:
    """How much workers agree.

    Attributes
    ----------
    reports : float or None
        As their reports do; None where no task has two.
    answers : float or None
        As their answers must have, from 0 to 1; None where the noise leaves that open.
    answers_error : float or None
        Standard error of `answers`, at most 0.1.
    """

    reports: float | None
    answers: float | None = None
    answers_error: float | None = None


def agreement(reports: Reports) -> CrowdAgreement:
    """Return how much reports agree, and the answers behind them.

    Of labels it is the share of pairs of reports on one task that are equal; of numbers
    ``1 - W / T``, with the mean variance W of the reports on a task and the variance T of all.
    Noise makes reports agree less than answers do: its law says by how much.

    Parameters
    ----------
    reports : Reports
        Of many workers.

    Notes
    -----
    With the probability q to keep a label and r to give one certain other one, a report counts for
    each label as ``(1 - r) / (q - r)`` if it is that label and as ``-r / (q - r)`` if it is not: in
    the mean, as the answer does with 1 and 0. Workers draw independently, so that products of
    two reports count pairs of answers. Where "no answer" is reported too, pairs of answers alone
    count.

    Of numbers ``T - W`` has no noise in it. T has that of the channel: its variance is the mean of
    what workers draw, so a crowd that drew more or less leaves T open, which the standard error
    over workers shows.
    """
    table, channel = reports.table, reports.mechanism.channel
    if isinstance(table.domain, NumericDomain) and not isinstance(table.domain, FiniteDomain):
        if reports.mechanism.every_task or channel.shift is None:
            return _of_numbers(table, None)
        return _of_numbers(table, channel.shift.variance)
    return _of_labels(table, channel.keep_and_other)


def _agreement_of(reports: float, found: tuple[float, float] | None) -> CrowdAgreement:
    """Return what is said of both; of answers nothing where the error would be too large."""
    if found is None or not found[1] <= MOST_ERROR:
        return CrowdAgreement(reports=reports)
    answers, error = found
    return CrowdAgreement(
        reports=reports, answers=float(np.clip(answers, 0.0, 1.0)), answers_error=error
    )


def _of_labels(table: Answers, rates: tuple[float, float] | None) -> CrowdAgreement:
    """Count for each report its pairs with others on its task, and those that are equal."""
    equal, others = (counts.astype(np.float64) for counts in _equal_and_others(table))
    if not others.any():
        return CrowdAgreement(reports=None)
    observed = float(equal.sum() / others.sum())
    if rates is None or rates[0] == rates[1]:
        return _agreement_of(observed, None)
    alike, both = _of_answers(table, equal, others, *rates)
    return _agreement_of(observed, _of_pairs(table, alike, both, others))


def _equal_and_others(table: Answers) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return for each report how many others its task has: those equal to it, and all of them."""
    tasks = table.task_codes
    cells = tasks.astype(np.int64) * (int(table.values.max(initial=0)) + 1) + table.values
    _, places, same = np.unique(cells, return_inverse=True, return_counts=True)
    return (same - 1)[places], (table.answers_per_task - 1)[tasks]


def _of_answers(
    table: Answers,
    equal: npt.NDArray[np.float64],
    others: npt.NDArray[np.float64],
    keep: float,
    other: float,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return for each report how many pairs of equal answers, and of answers, it stands for."""
    tasks = table.task_codes
    domain, given = table.domain, np.ones(len(table))
    if isinstance(domain, OrNull):
        given = 1.0 * (table.values != domain.null_code)
        domain = domain.domain
    assert isinstance(domain, FiniteDomain)
    labels = domain.size
    mates = np.bincount(tasks, given, len(table.tasks))[tasks] - given
    alike = given * equal - other * (given * others + mates) + other**2 * labels * others
    both = (given - other * labels) * (mates - other * labels * others)
    scale = (keep - other) ** 2
    return alike / scale, both / scale


def _of_pairs(
    table: Answers,
    alike: npt.NDArray[np.float64],
    both: npt.NDArray[np.float64],
    others: npt.NDArray[np.float64],
) -> tuple[float, float] | None:
    """Return the share of equal pairs of answers, from what each report adds to them."""
    totals = [float(each.sum()) / 2 for each in (alike, both, others)]
    rows = np.bincount(table.worker_codes, minlength=len(table.workers)) > 0
    left = [
        total - np.bincount(table.worker_codes, each, len(table.workers))[rows]
        for total, each in zip(totals, (alike, both, others), strict=True)
    ]
    pairs = np.where(left[2] > 0, left[2], np.nan)
    return _ratio_with_error(
        totals[0] / totals[2], totals[1] / totals[2], left[0] / pairs, left[1] / pairs
    )


def _of_numbers(table: Answers, noise: float | None) -> CrowdAgreement:
    """Compare the variance of the numbers of a task with that of all."""
    assert isinstance(table.domain, NumericDomain)
    numbers: npt.NDArray[np.float64] = table.domain.numbers(table.values)
    counts = table.answers_per_task
    free = int((counts - 1)[counts > 1].sum())
    if not free or not np.ptp(numbers):
        return CrowdAgreement(reports=None)
    numbers = numbers - numbers.mean()
    squares = _squares(table, numbers)
    within, total = float(squares.sum() / free), float(numbers.var(ddof=1))
    observed = 1 - within / total
    if noise is None:
        return _agreement_of(observed, None)
    withins, totals = _without_each(table, numbers, squares)
    found = _ratio_with_error(total - within, total - noise, totals - withins, totals - noise)
    return _agreement_of(observed, found)


def _squares(table: Answers, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the squared distance of each number from the mean of its task."""
    counts, tasks = table.answers_per_task, table.task_codes
    means = np.bincount(tasks, numbers, len(counts)) / np.maximum(counts, 1)
    distances: npt.NDArray[np.float64] = (numbers - means[tasks]) ** 2
    return distances


def _without_each(
    table: Answers, numbers: npt.NDArray[np.float64], squares: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return both variances without each of the workers; the numbers have a mean of 0.

    Of n numbers on a task, one takes ``n / (n - 1)`` times its squared distance from their mean
    along with it, and one degree of freedom.
    """
    counts = table.answers_per_task[table.task_codes]
    several = counts > 1
    taken = squares * counts / np.maximum(counts - 1, 1)
    mine, freed, gone, summed, squared = (
        np.bincount(table.worker_codes, each, len(table.workers))
        for each in (np.ones(len(table)), several, taken, numbers, numbers**2)
    )
    rows = mine > 0
    left = len(table) - mine
    free = float((several / counts * (counts - 1)).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        withins = (squares.sum() - gone) / (free - freed)
        totals = (squared.sum() - squared - summed**2 / left) / (left - 1)
    return withins[rows], totals[rows]


def _ratio_with_error(
    numerator: float,
    denominator: float,
    numerators: npt.NDArray[np.float64],
    denominators: npt.NDArray[np.float64],
) -> tuple[float, float] | None:
    """Return a ratio and its standard error, or None where the reports do not determine it.

    Parameters
    ----------
    numerator, denominator : float
        Of all workers.
    numerators, denominators : ndarray, shape (workers,)
        The same without one of the workers; NaN where nothing is left.

    Notes
    -----
    The jackknife of n workers: ``(n - 1) / n`` times the sum of squares about the mean of the n
    ratios that leave one worker out. (Efron and Stein, Annals of Statistics 1981: no less than the
    variance, in the mean.) It knows nothing of the noise, so it holds where a worker draws noise of
    its own, too.
    """
    if len(denominators) < FEWEST_WORKERS or not (denominators > 0).all():
        return None
    if not denominator > _SURE * _error(denominators):
        return None
    return numerator / denominator, _error(numerators / denominators)


def _error(left_out: npt.NDArray[np.float64]) -> float:
    return math.sqrt((len(left_out) - 1) * float(left_out.var()))


def too_consistent(reports: Reports) -> npt.NDArray[np.intp]:
    """Return the positions of workers whose devices seem not to randomise.

    Two randomised labels are equal with a probability of at most ``q^2 + (k - 1) r^2``, whatever
    the answers are, with the probability q to keep a label and r to give one certain other one.
    A worker who sends answers as they are agrees with the reports of others in up to q. Each task
    is one observation: the share of its other reports that are equal to the worker's.

    Parameters
    ----------
    reports : Reports
        Of one mechanism.

    Returns
    -------
    ndarray of intp
        Empty where the mechanism is no randomised response with one public law.
    """
    bound = _most_equals(reports)
    if bound is None:
        return np.zeros(0, np.intp)
    table = reports.table
    equal, others = _equal_and_others(table)
    several = others > 0
    share = equal[several] / others[several]
    workers = table.worker_codes[several]
    size = np.bincount(workers, minlength=len(table.workers))
    n = np.maximum(size, 1)
    mean = np.bincount(workers, share, len(n)) / n
    squares = np.bincount(workers, (share - mean[workers]) ** 2, len(n))
    error = np.sqrt(squares / n / np.maximum(n - 1, 1))
    return np.flatnonzero((size >= FEWEST_REPORTS) & (mean - bound > _DEVIATIONS * error))


def _most_equals(reports: Reports) -> float | None:
    """Return the largest probability with which two randomised labels are equal."""
    channel = reports.mechanism.worker_channel
    if channel is None or channel.probabilities is None or reports.mechanism.every_task:
        return None
    keep, other = channel.keep_and_other or (0.0, 0.0)
    others = len(channel.probabilities) - 1
    return keep**2 + others * other**2 if keep > other else None
