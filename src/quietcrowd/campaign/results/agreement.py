"""Agreement of workers: of reports, of the answers behind them, and workers who agree too much.

All sums over reports are integers, so they do not depend on the order or partition of the reports.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.campaign.results.reports import ReportRows, RowBlock
from quietcrowd.domains import Domain, FiniteDomain, NumericDomain, check_numeric
from quietcrowd.inference.integer_sums import unit_for
from quietcrowd.mechanisms import Mechanism
from quietcrowd.report_domains import LabelSets, OrNull, sets_of

__all__ = [
    "FEWEST_REPORTS",
    "MOST_ERROR",
    "SHARE_ONE",
    "CrowdAgreement",
    "CrowdJudgement",
    "LabelPairs",
    "NumberSpread",
    "PairSums",
    "SpreadSums",
    "judge_crowd",
]

_Counts = npt.NDArray[np.int64]

SHARE_ONE = 2**36
"""Integer for a fraction of 1; the sums of all reports fit into 64 bits."""


class PairSums(NamedTuple):
    """Sums over the pairs of a worker's report and another on its task; each of shape (workers,).

    `equal` counts equal pairs, weighted for sets by the number of common labels. `others` counts
    all pairs, and `mates` the labels in the other reports. `given_equal` counts common labels,
    without NULL; `given_others` and `given_mates` weight each pair by the labels in the worker's
    report. `compared` counts reports with another on their task. Over these, `shares` and `squares`
    sum the fraction of equal others (for sets, of common labels) and its square, in units of
    ``1 / SHARE_ONE``.
    """

    equal: _Counts
    others: _Counts
    mates: _Counts
    given_equal: _Counts
    given_others: _Counts
    given_mates: _Counts
    compared: _Counts
    shares: _Counts
    squares: _Counts


@frozen(kw_only=True, eq=False)
class LabelPairs:
    """Pair counts of reports that are labels or sets.

    `held` is the number of labels in a report that is not NULL.
    """

    held: int
    sums: PairSums

    @classmethod
    def of(cls, rows: ReportRows) -> Self:
        """Count the pairs in two passes, one for the counts of labels and one to compare."""
        domain: Any = rows.domain
        labels = domain.domain.size if isinstance(domain, LabelSets) else domain.size
        counts = np.zeros((rows.tasks, labels), np.int64)
        for block in rows.blocks():
            first = block.tasks.astype(np.int64) * labels
            for codes in _labels_of(block.values, domain):
                counts += np.bincount(first + codes, minlength=counts.size).reshape(counts.shape)
        parts = [_compared(block, counts, domain) for block in rows.blocks()]
        return cls(
            held=_held_by_each(domain),
            sums=PairSums(*map(rows.sorted_by_worker, zip(*parts, strict=True))),
        )


def _held_by_each(domain: Domain) -> int:
    return domain.members if isinstance(domain, LabelSets) else 1


def _labels_of(values: npt.NDArray[Any], domain: Domain) -> npt.NDArray[Any]:
    """Return the codes of the labels in each report, NULL included; shape (labels, reports)."""
    if isinstance(domain, LabelSets):
        return sets_of(values, domain.domain.size, domain.members).T
    return values[np.newaxis]


def _compared(block: RowBlock, counts: _Counts, domain: Domain) -> PairSums:
    tasks, held = block.tasks, _held_by_each(domain)
    equal = np.full(len(tasks), -held, np.int64)
    for codes in _labels_of(block.values, domain):
        equal += counts[tasks, codes]
    others = counts.sum(axis=1)[tasks] // held - 1
    given, mates = np.full(len(tasks), held, np.int64), others * held
    if isinstance(domain, OrNull):
        given = (block.values != domain.null_code).astype(np.int64)
        mates = others - given + 1 - counts[tasks, domain.null_code]
    several = others > 0
    share = equal / np.maximum(others * held, 1)

    def added(numbers: _Counts) -> _Counts:
        total = np.zeros(block.people, np.int64)
        np.add.at(total, block.workers, numbers)
        return total

    return PairSums(
        equal=added(equal),
        others=added(others),
        mates=added(mates),
        given_equal=added(np.where(given > 0, equal, 0)),
        given_others=added(given * others),
        given_mates=added(given * mates),
        compared=added(several.astype(np.int64)),
        shares=added(_fixed(share * several)),
        squares=added(_fixed(share**2 * several)),
    )


def _fixed(shares: npt.NDArray[np.float64]) -> _Counts:
    return np.rint(shares * SHARE_ONE).astype(np.int64)


_Numbers = npt.NDArray[np.float64]


class SpreadSums(NamedTuple):
    """Sums over a worker's numbers; each of shape (workers,) and float64.

    `reports` counts them, and `several` those on tasks with other reports. `taken` sums
    ``n / (n - 1)`` times the squared distance from the task's mean, for n numbers on a task. This
    is how much the squares within tasks shrink without the number. `summed` and `squared` sum the
    distances from the mean of all numbers, and their squares.
    """

    reports: _Numbers
    several: _Numbers
    taken: _Numbers
    summed: _Numbers
    squared: _Numbers


@frozen(kw_only=True, eq=False)
class NumberSpread:
    """Sums over all numeric reports, scaled by their range `extent`.

    `within` is the sum of squared distances from the task means, with `free` degrees of freedom.
    `summed` and `squared` are totals of `SpreadSums`.
    """

    extent: float
    free: int
    within: float
    summed: float
    squared: float
    sums: SpreadSums

    @classmethod
    def of(cls, rows: ReportRows) -> Self | None:
        """Sum over all reports; None if no task has two or all numbers are equal."""
        domain = check_numeric(rows.domain, "agreement")
        counts = rows.per_task
        low, high = _range(rows, domain)
        free = int((counts - 1)[counts > 1].sum())
        if not free or not high > low:
            return None
        scale = _Scale(domain=domain, low=low, extent=high - low, unit=unit_for(2.0 * len(rows)))
        means = _Means.of(rows, scale)
        found = [_measured(block, scale, means) for block in rows.blocks()]
        counted = [rows.sorted_by_worker(part) for part in zip(*found, strict=True)]
        *own, within = counted
        units = (1.0, 1.0, scale.unit, scale.unit, scale.unit)
        return cls(
            extent=scale.extent,
            free=free,
            within=int(within.sum()) / scale.unit,
            summed=int(own[3].sum()) / scale.unit,
            squared=int(own[4].sum()) / scale.unit,
            sums=SpreadSums(*(part / unit for part, unit in zip(own, units, strict=True))),
        )


def _range(rows: ReportRows, domain: NumericDomain) -> tuple[float, float]:
    low, high = np.inf, -np.inf
    for block in rows.blocks():
        numbers = domain.numbers(block.values)
        low, high = min(low, numbers.min(initial=low)), max(high, numbers.max(initial=high))
    return float(low), float(high)


@frozen(kw_only=True)
class _Scale:
    """Scale of numbers to [0, 1], with the integer `unit` that represents 1 in sums."""

    domain: NumericDomain
    low: float
    extent: float
    unit: float

    def __call__(self, values: npt.NDArray[np.float64]) -> _Numbers:
        scaled: _Numbers = (self.domain.numbers(values) - self.low) / self.extent
        return scaled

    def fixed(self, numbers: _Numbers) -> _Counts:
        return np.rint(numbers * self.unit).astype(np.int64)


class _Means(NamedTuple):
    """Mean of all numbers, means of tasks, and the number of reports on each task."""

    whole: float
    of_task: _Numbers
    counts: _Counts

    @classmethod
    def of(cls, rows: ReportRows, scale: _Scale) -> Self:
        sums = np.zeros(rows.tasks, np.int64)
        for block in rows.blocks():
            np.add.at(sums, block.tasks, scale.fixed(scale(block.values)))
        counts = rows.per_task
        of_task = sums / scale.unit / np.maximum(counts, 1)
        return cls(int(sums.sum()) / scale.unit / len(rows), of_task, counts)


def _measured(block: RowBlock, scale: _Scale, means: _Means) -> tuple[_Counts, ...]:
    """Return the sums of a block's workers, with the squares within tasks last."""
    numbers, counts = scale(block.values), means.counts[block.tasks]
    several = counts > 1
    squares = (numbers - means.of_task[block.tasks]) ** 2 * several
    apart = numbers - means.whole

    def added(values: _Counts) -> _Counts:
        total = np.zeros(block.people, np.int64)
        np.add.at(total, block.workers, values)
        return total

    return (
        added(np.ones(len(numbers), np.int64)),
        added(several.astype(np.int64)),
        added(scale.fixed(squares * counts / np.maximum(counts - 1, 1))),
        added(scale.fixed(apart)),
        added(scale.fixed(apart**2)),
        added(scale.fixed(squares)),
    )


MOST_ERROR = 0.1
"""Maximum standard error of a published estimate."""

FEWEST_WORKERS = 5
"""Minimum number of workers for an estimate with a standard error."""

FEWEST_WITH_OWN_NOISE = 100
"""Minimum if each worker samples a noise level for all reports, as in two layers.

A few workers with little noise then dominate the estimate and hide its error. Of 20 workers at
epsilon 1, each estimate with a standard error below 0.1 was off by more than two of them. Of 100
workers, 4 of 63 were.
"""

_SURE = 10.0
"""Minimum ratio of a denominator to its standard error.

Below it, a denominator that is large by chance would make a ratio look precise.
"""

FEWEST_REPORTS = 50
"""Minimum number of comparable reports to flag a worker."""

_DEVIATIONS = 3.3
"""Standard errors above the bound; an honest worker exceeds them with probability at most 0.001."""


@frozen(kw_only=True)
class CrowdAgreement:
    """Agreement of reports, and of the answers behind them in [0, 1].

    `reports` is None if no task has two, and `answers` if the noise leaves it open. `answers_error`
    is a standard error, at most 0.1.
    """

    reports: float | None
    answers: float | None = None
    answers_error: float | None = None


@frozen(kw_only=True, eq=False)
class CrowdJudgement:
    """Agreement of the workers, and positions of those whose devices seem not to randomize."""

    agreement: CrowdAgreement
    too_consistent: npt.NDArray[np.intp] = field(factory=lambda: np.zeros(0, np.intp))


def judge_crowd(rows: ReportRows) -> CrowdJudgement:
    """Estimate the agreement of reports and answers, and find workers who agree too much.

    For labels, agreement is the fraction of equal pairs of reports on one task. For sets of labels,
    it is the mean fraction of a set's labels that another set contains. For numbers it is
    ``1 - W / T``, with the mean variance W of the reports on a task and the variance T of all
    reports. Noise lowers the agreement of reports by an amount that follows from its distribution.

    Two randomized labels are equal with probability at most ``q^2 + (k - 1) r^2`` for any answers.
    Here q is the probability to keep a label and r the one to report a given other label. A worker
    who sends true answers agrees with others with probability up to q. Each task is one
    observation: the fraction of its other reports that equal the worker's. No one is flagged unless
    the mechanism is randomized response with one public distribution.

    Notes
    -----
    A report counts for each label as ``(1 - r) / (q - r)`` if it is that label, otherwise as
    ``-r / (q - r)``. The expectation is 1 for the answer and 0 for other labels. Workers randomize
    independently, so products of two reports estimate pairs of answers without bias. If "no answer"
    is reported too, only pairs of answers count. For sets, q and r are the probabilities that a set
    contains the answer or a given other label; see ``docs/theory/subset-selection.md``.

    For numbers, ``T - W`` contains no noise, and T contains the noise variance of the channel. That
    is an average over workers' noise levels. If a crowd sampled more or less noise, T remains
    uncertain, which the standard error over workers shows. The noise of bounded reports depends on
    the answer, so only the agreement of reports is estimated.
    """
    mechanism, channel = rows.mechanism, rows.mechanism.channel
    if isinstance(rows.domain, NumericDomain) and not isinstance(rows.domain, FiniteDomain):
        known = not mechanism.every_task and channel.shift is not None
        noise = channel.shift.variance if known and channel.shift is not None else None
        return CrowdJudgement(agreement=_of_numbers(NumberSpread.of(rows), noise))
    pairs, rates = LabelPairs.of(rows), channel.keep_and_other
    if channel.sets is not None:
        rates = float(channel.sets.held), float(channel.sets.held_other)
    return CrowdJudgement(
        agreement=_of_labels(pairs, rows, rates),
        too_consistent=_too_consistent(pairs.sums, mechanism),
    )


def _agreement_of(reports: float, found: tuple[float, float] | None) -> CrowdAgreement:
    if found is None or not found[1] <= MOST_ERROR:
        return CrowdAgreement(reports=reports)
    answers, error = found
    return CrowdAgreement(
        reports=reports, answers=float(np.clip(answers, 0.0, 1.0)), answers_error=error
    )


def _of_labels(
    pairs: LabelPairs, rows: ReportRows, rates: tuple[float, float] | None
) -> CrowdAgreement:
    others = int(pairs.sums.others.sum())
    if not others:
        return CrowdAgreement(reports=None)
    observed = int(pairs.sums.equal.sum()) / (others * pairs.held)
    if rates is None or rates[0] == rates[1]:
        return _agreement_of(observed, None)
    domain = rows.domain.domain if isinstance(rows.domain, OrNull | LabelSets) else rows.domain
    assert isinstance(domain, FiniteDomain)
    told = rows.per_worker > 0
    if rows.mechanism.worker_channel is None and told.sum() < FEWEST_WITH_OWN_NOISE:
        return _agreement_of(observed, None)
    sums = PairSums(*(part[told] for part in pairs.sums))
    return _agreement_of(observed, _of_pairs(sums, domain.size, *rates))


def _of_pairs(sums: PairSums, labels: int, keep: float, other: float) -> tuple[float, float] | None:
    everybody = PairSums(*(part.sum(keepdims=True) for part in sums))
    alike, both = _of_answers(sums, labels, keep, other)
    totals = [part / 2 for part in _of_answers(everybody, labels, keep, other)]
    pairs = everybody.others / 2 - sums.others
    left = np.where(pairs > 0, pairs, np.nan)
    return _ratio_with_error(
        float(totals[0][0] / (everybody.others[0] / 2)),
        float(totals[1][0] / (everybody.others[0] / 2)),
        (totals[0] - alike) / left,
        (totals[1] - both) / left,
    )


def _of_answers(
    sums: PairSums, labels: int, keep: float, other: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the unbiased counts of equal pairs of answers, and of all pairs.

    A report contains g labels. The o others on its task contain m labels, of which it contains e.
    It counts as ``(e - r (g o + m) + r^2 k o) / (q - r)^2`` and
    ``(g - r k) (m - r k o) / (q - r)^2``. An answer contains one label, NULL none.
    """
    mixed, scale = other * labels, (keep - other) ** 2
    crossed = sums.given_others + sums.mates
    alike = sums.given_equal - other * crossed + other**2 * labels * sums.others
    both = sums.given_mates - mixed * crossed + mixed**2 * sums.others
    return alike / scale, both / scale


def _of_numbers(spread: NumberSpread | None, noise: float | None) -> CrowdAgreement:
    """Compare the variance of the numbers within tasks with that of all.

    Dropping one of n numbers on a task lowers the squares within tasks by ``n / (n - 1)`` times its
    squared distance from their mean, and the degrees of freedom by one.
    """
    if spread is None:
        return CrowdAgreement(reports=None)
    reports, told = float(spread.sums.reports.sum()), spread.sums.reports > 0
    sums = SpreadSums(*(part[told] for part in spread.sums))
    within = spread.within / spread.free
    total = (spread.squared - spread.summed**2 / reports) / (reports - 1)
    observed = 1 - within / total
    if noise is None:
        return _agreement_of(observed, None)
    noise = noise / spread.extent**2
    left = reports - sums.reports
    with np.errstate(divide="ignore", invalid="ignore"):
        free = np.where(spread.free > sums.several, spread.free - sums.several, np.nan)
        withins = (spread.within - sums.taken) / free
        summed = spread.summed - sums.summed
        others = np.where(left > 1, left - 1, np.nan)
        totals = (spread.squared - sums.squared - summed**2 / left) / others
    found = _ratio_with_error(total - within, total - noise, totals - withins, totals - noise)
    return _agreement_of(observed, found)


def _ratio_with_error(
    numerator: float,
    denominator: float,
    numerators: npt.NDArray[np.float64],
    denominators: npt.NDArray[np.float64],
) -> tuple[float, float] | None:
    """Return a ratio and its standard error, or None if the reports do not determine it.

    `numerators` and `denominators`, of shape (workers,), leave out one worker each; NaN if nothing
    is left.

    Notes
    -----
    The jackknife of n workers: ``(n - 1) / n`` times the sum of squares about the mean of the n
    leave-one-out ratios. In expectation it is at least the variance (Efron and Stein, Annals of
    Statistics 1981). It assumes nothing of the noise, so workers may sample noise levels.
    """
    if len(denominators) < FEWEST_WORKERS or not (denominators > 0).all():
        return None
    if not denominator > _SURE * _error(denominators):
        return None
    return numerator / denominator, _error(numerators / denominators)


def _error(left_out: npt.NDArray[np.float64]) -> float:
    return math.sqrt((len(left_out) - 1) * float(left_out.var()))


def _too_consistent(sums: PairSums, mechanism: Mechanism) -> npt.NDArray[np.intp]:
    bound = _most_equals(mechanism)
    if bound is None:
        return np.zeros(0, np.intp)
    n = np.maximum(sums.compared, 1)
    mean = sums.shares / SHARE_ONE / n
    variance = np.maximum(sums.squares / SHARE_ONE / n - mean**2, 0.0)
    error = np.sqrt(variance / np.maximum(n - 1, 1))
    found = (sums.compared >= FEWEST_REPORTS) & (mean - bound > _DEVIATIONS * error)
    return np.flatnonzero(found)


def _most_equals(mechanism: Mechanism) -> float | None:
    channel = mechanism.worker_channel
    if channel is None or channel.probabilities is None or mechanism.every_task:
        return None
    keep, other = channel.keep_and_other or (0.0, 0.0)
    others = len(channel.probabilities) - 1
    return keep**2 + others * other**2 if keep > other else None
