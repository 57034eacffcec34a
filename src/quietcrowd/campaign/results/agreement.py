"""Agreement of workers, from integer sums that do not depend on the order of the reports."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen

from quietcrowd.campaign.results.option_rows import by_options
from quietcrowd.campaign.results.reports import MemoryRows, ReportRows, RowBlock
from quietcrowd.domains import Domain, FiniteDomain, NumericDomain
from quietcrowd.frames import positions_by_text
from quietcrowd.inference.integer_sums import unit_for
from quietcrowd.mechanisms.mixture import Mixture
from quietcrowd.report_domains import LabelSets, OrNull, sets_of

_Counts = npt.NDArray[np.int64]
_Numbers = npt.NDArray[np.float64]

_SHARE_ONE = 2**36  # integer for a fraction of 1; the sums of all reports fit into 64 bits
MOST_ERROR = 0.1  # maximum standard error of a published estimate
FEWEST_WORKERS = 5  # minimum number of workers for an estimate with a standard error

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

FEWEST_REPORTS = 50  # minimum number of comparable reports to flag a worker

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
    """Agreement of the workers, and positions of those with devices that seem not to randomize."""

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
    contains the answer or a given other label; see ``research/docs/theory/subset-selection.md``.

    For numbers, ``T - W`` contains no noise, and T contains the noise variance of the channel. That
    is an average over workers' noise levels. If a crowd sampled more or less noise, T remains
    uncertain, which the standard error over workers shows. The noise of bounded reports depends on
    the answer, so only the agreement of reports is estimated.
    """
    if isinstance(rows.mechanism, Mixture):
        return _judge_parts(rows)
    if rows.mechanism.options is not None:
        return _judge_labels(rows, [_Part.of(one) for one in by_options(rows)])
    mechanism, channel, domain = rows.mechanism, rows.mechanism.channel, rows.domain
    if isinstance(domain, NumericDomain) and not isinstance(domain, FiniteDomain):
        shift = None if mechanism.every_task else channel.shift
        noise = None if shift is None else shift.variance
        return CrowdJudgement(agreement=_of_numbers(rows, domain, noise))
    return _judge_labels(rows, [_Part.of(rows)])


def _judge_parts(rows: ReportRows) -> CrowdJudgement:
    """Judge the workers of each mechanism; the agreement is that of the one with most reports."""
    assert isinstance(rows, MemoryRows)
    parts = [MemoryRows(reports=one) for one in rows.reports.split()]
    judged = [judge_crowd(one) for one in parts]
    named = [
        positions_by_text(one.workers.take(pa.array(found.too_consistent)), rows.workers)
        for one, found in zip(parts, judged, strict=True)
    ]
    most = max(range(len(parts)), key=lambda place: len(parts[place]))
    return CrowdJudgement(
        agreement=judged[most].agreement, too_consistent=np.sort(np.concatenate(named))
    )


class _Part(NamedTuple):
    """Pairs of reports through one channel, and its rates: of the answer, and of another label."""

    sums: "_PairSums"
    rows: ReportRows
    rates: tuple[float, float] | None

    @classmethod
    def of(cls, rows: ReportRows) -> "_Part":
        channel = rows.mechanism.channel
        rates = channel.keep_and_other
        if channel.sets is not None:
            rates = float(channel.sets.held), float(channel.sets.held_other)
        return cls(_count_pairs(rows), rows, rates)

    @property
    def labels(self) -> int:
        """Number of labels, without NULL."""
        domain = self.rows.domain
        found: Any = domain.domain if isinstance(domain, OrNull | LabelSets) else domain
        return found.size  # type: ignore[no-any-return]


def _judge_labels(rows: ReportRows, parts: Sequence[_Part]) -> CrowdJudgement:
    return CrowdJudgement(agreement=_of_labels(parts, rows), too_consistent=_too_consistent(parts))


class _PairSums(NamedTuple):
    """Sums over the pairs of a worker's report and another on its task; each of shape (workers,).

    `equal` counts equal pairs, weighted for sets by the number of common labels. `others` counts
    all pairs, and `mates` the labels in the other reports. `given_equal` counts common labels,
    without NULL; `given_others` and `given_mates` weight each pair by the labels in the worker's
    report. `compared` counts reports with another on their task. Over these, `shares` and `squares`
    sum the fraction of equal others (for sets, of common labels) and its square, in units of
    ``1 / _SHARE_ONE``.
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


def _count_pairs(rows: ReportRows) -> _PairSums:
    """Count the pairs in two passes, one for the counts of labels and one to compare."""
    domain: Any = rows.domain
    labels = domain.domain.size if isinstance(domain, LabelSets) else domain.size
    counts = np.zeros((rows.tasks, labels), np.int64)
    for block in rows.blocks():
        first = block.tasks.astype(np.int64) * labels
        for codes in _labels_of(block.values, domain):
            counts += np.bincount(first + codes, minlength=counts.size).reshape(counts.shape)
    parts = [_compared(block, counts, domain) for block in rows.blocks()]
    return _PairSums(*map(rows.sorted_by_worker, zip(*parts, strict=True)))


def _held_by_each(domain: Domain) -> int:
    """Return the number of labels in a report that is not NULL."""
    return domain.members if isinstance(domain, LabelSets) else 1


def _labels_of(values: npt.NDArray[Any], domain: Domain) -> npt.NDArray[Any]:
    """Return the codes of the labels in each report, NULL included; shape (labels, reports)."""
    if isinstance(domain, LabelSets):
        return sets_of(values, domain.domain.size, domain.members).T
    return values[np.newaxis]


def _compared(block: RowBlock, counts: _Counts, domain: Domain) -> tuple[_Counts, ...]:
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
    return _by_worker(
        block,
        equal,
        others,
        mates,
        np.where(given > 0, equal, 0),
        given * others,
        given * mates,
        several,
        _fixed(share * several, _SHARE_ONE),
        _fixed(share**2 * several, _SHARE_ONE),
    )


def _by_worker(block: RowBlock, *columns: npt.NDArray[Any]) -> tuple[_Counts, ...]:
    sums = tuple(np.zeros(block.people, np.int64) for _ in columns)
    for total, numbers in zip(sums, columns, strict=True):
        np.add.at(total, block.workers, numbers)
    return sums


def _fixed(numbers: _Numbers, unit: float) -> _Counts:
    return np.rint(numbers * unit).astype(np.int64)


def _of_labels(parts: Sequence[_Part], rows: ReportRows) -> CrowdAgreement:
    others = np.sum([part.sums.others for part in parts], axis=0)
    if not others.sum():
        return CrowdAgreement(reports=None)
    equal = sum(int(part.sums.equal.sum()) for part in parts)
    observed = equal / (int(others.sum()) * _held_by_each(rows.domain))
    active = rows.per_worker > 0
    own = any(part.rows.mechanism.worker_channel is None for part in parts)
    uneven = own and active.sum() < FEWEST_WITH_OWN_NOISE
    rates = [part.rates for part in parts if part.rates is not None]
    if len(rates) < len(parts) or any(keep == other for keep, other in rates) or uneven:
        return CrowdAgreement(reports=observed)
    mine, theirs = np.zeros((2, int(active.sum()))), np.zeros((2, 1))
    for part, (keep, other) in zip(parts, rates, strict=True):
        sums = _PairSums(*(one[active] for one in part.sums))
        everybody = _PairSums(*(one.sum(keepdims=True) for one in sums))
        mine += _of_answers(sums, part.labels, keep, other)
        theirs += _of_answers(everybody, part.labels, keep, other)
    every_pair = int(others.sum()) / 2
    pairs = every_pair - others[active]
    left = np.where(pairs > 0, pairs, np.nan)
    alike, both = theirs[:, 0] / 2
    return _with_answers(
        observed,
        float(alike / every_pair),
        float(both / every_pair),
        (alike - mine[0]) / left,
        (both - mine[1]) / left,
    )


def _of_answers(
    sums: _PairSums, labels: int, keep: float, other: float
) -> tuple[_Numbers, _Numbers]:
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


def _of_numbers(rows: ReportRows, domain: NumericDomain, noise: float | None) -> CrowdAgreement:
    """Compare the variance of the numbers within tasks with that of all.

    Numbers are first scaled to their range. Dropping one of n numbers on a task lowers the squares
    within tasks by ``n / (n - 1)`` times its squared distance from their mean, and the degrees of
    freedom by one.
    """
    counts = rows.per_task
    freedom = int((counts - 1)[counts > 1].sum())
    low, high = np.inf, -np.inf
    for block in rows.blocks():
        numbers = domain.numbers(block.values)
        low, high = min(low, numbers.min(initial=low)), max(high, numbers.max(initial=high))
    if not freedom or not high > low:
        return CrowdAgreement(reports=None)
    extent, unit = float(high - low), unit_for(2.0 * len(rows))

    def scaled(block: RowBlock) -> _Numbers:
        found: _Numbers = (domain.numbers(block.values) - low) / extent
        return found

    of_task = np.zeros(rows.tasks, np.int64)
    for block in rows.blocks():
        np.add.at(of_task, block.tasks, _fixed(scaled(block), unit))
    means, mean = of_task / unit / np.maximum(counts, 1), int(of_task.sum()) / unit / len(rows)

    def measured(block: RowBlock) -> tuple[_Counts, ...]:
        numbers, of_same = scaled(block), counts[block.tasks]
        several = of_same > 1
        squares = (numbers - means[block.tasks]) ** 2 * several
        apart = numbers - mean
        return _by_worker(
            block,
            np.ones(len(numbers), np.int64),
            several,
            _fixed(squares, unit),
            _fixed(squares * of_same / np.maximum(of_same - 1, 1), unit),
            _fixed(apart, unit),
            _fixed(apart**2, unit),
        )

    parts = zip(*map(measured, rows.blocks()), strict=True)
    sent, several, *exact = map(rows.sorted_by_worker, parts)
    all_within, _, all_summed, all_squared = (int(part.sum()) / unit for part in exact)
    reports, active = float(sent.sum()), sent > 0
    _, taken, summed, squared = (part[active] / unit for part in exact)
    within = all_within / freedom
    total = (all_squared - all_summed**2 / reports) / (reports - 1)
    observed = 1 - within / total
    if noise is None:
        return CrowdAgreement(reports=observed)
    noise = noise / extent**2
    left = reports - sent[active]
    with np.errstate(divide="ignore", invalid="ignore"):
        free = np.where(freedom > several[active], freedom - several[active], np.nan)
        withins = (all_within - taken) / free
        others = np.where(left > 1, left - 1, np.nan)
        totals = (all_squared - squared - (all_summed - summed) ** 2 / left) / others
    return _with_answers(observed, total - within, total - noise, totals - withins, totals - noise)


def _with_answers(
    reports: float,
    numerator: float,
    denominator: float,
    numerators: _Numbers,
    denominators: _Numbers,
) -> CrowdAgreement:
    """Estimate the agreement of answers, a ratio, unless the reports do not determine it.

    `numerators` and `denominators`, of shape (workers,), leave out one worker each; NaN if nothing
    is left.

    Notes
    -----
    The jackknife of n workers: ``(n - 1) / n`` times the sum of squares about the mean of the n
    leave-one-out ratios. In expectation it is at least the variance (Efron and Stein, Annals of
    Statistics 1981). It assumes nothing of the noise, so workers may sample noise levels.
    """
    if len(denominators) < FEWEST_WORKERS or not (denominators > 0).all():
        return CrowdAgreement(reports=reports)
    if not denominator > _SURE * _error(denominators):
        return CrowdAgreement(reports=reports)
    error = _error(numerators / denominators)
    if not error <= MOST_ERROR:
        return CrowdAgreement(reports=reports)
    answers = float(np.clip(numerator / denominator, 0.0, 1.0))
    return CrowdAgreement(reports=reports, answers=answers, answers_error=error)


def _error(left_out: _Numbers) -> float:
    return math.sqrt((len(left_out) - 1) * float(left_out.var()))


def _too_consistent(parts: Sequence[_Part]) -> npt.NDArray[np.intp]:
    workers = len(parts[0].sums.compared)
    compared = np.zeros(workers, np.int64)
    summed, squared = np.zeros((2, workers))  # the excess over the bound
    for sums, rows, _ in parts:
        channel, every_task = rows.mechanism.worker_channel, rows.mechanism.every_task
        keep, other = (channel and channel.keep_and_other) or (0.0, 0.0)
        if channel is None or channel.probabilities is None or every_task or keep <= other:
            return np.zeros(0, np.intp)
        most = keep**2 + (len(channel.probabilities) - 1) * other**2
        shares, squares = sums.shares / _SHARE_ONE, sums.squares / _SHARE_ONE
        compared += sums.compared
        summed += shares - most * sums.compared
        squared += squares - 2 * most * shares + most**2 * sums.compared
    n = np.maximum(compared, 1)
    mean = summed / n
    variance = np.maximum(squared / n - mean**2, 0.0)
    error = np.sqrt(variance / np.maximum(n - 1, 1))
    found = (compared >= FEWEST_REPORTS) & (mean > _DEVIATIONS * error)
    return np.flatnonzero(found)
