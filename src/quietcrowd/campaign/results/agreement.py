"""How much workers agree: as reports do, as answers must have, and who agrees too much."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.campaign.results.label_pairs import SHARE_ONE, LabelPairs, PairSums
from quietcrowd.campaign.results.number_spread import NumberSpread, SpreadSums
from quietcrowd.campaign.results.report_rows import ReportRows
from quietcrowd.domains import FiniteDomain, NumericDomain
from quietcrowd.mechanisms import Mechanism
from quietcrowd.report_domains import LabelSets, OrNull

__all__ = ["FEWEST_REPORTS", "MOST_ERROR", "CrowdAgreement", "CrowdJudgement", "judge_crowd"]

MOST_ERROR = 0.1
"""A figure of a larger standard error is not told."""

FEWEST_WORKERS = 5
"""With fewer workers nothing is said of how sure a figure is."""

FEWEST_WITH_OWN_NOISE = 100
"""The same if each worker draws the noise of all reports once, as in two layers.

A few workers with little noise then decide the figure and hide its error: of 20 workers at epsilon
1, each figure with a standard error below 0.1 was wrong by more than two of them; of 100, 4 of 63.
"""

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


@frozen(kw_only=True, eq=False)
class CrowdJudgement:
    """What reports tell of the workers beside the truths.

    Attributes
    ----------
    agreement : CrowdAgreement
        How much workers agree.
    too_consistent : ndarray of intp
        Positions of workers whose devices seem not to randomise.
    """

    agreement: CrowdAgreement
    too_consistent: npt.NDArray[np.intp] = field(factory=lambda: np.zeros(0, np.intp))


def judge_crowd(rows: ReportRows) -> CrowdJudgement:
    """Return how much reports agree, and the answers behind them, and who agrees too much.

    Of labels it is the share of pairs of reports on one task that are equal; of sets of labels the
    mean share of its labels that a set has in common with another one; of numbers ``1 - W / T``,
    with the mean variance W of the reports on a task and the variance T of all. Noise makes reports
    agree less than answers do: its law says by how much.

    Two randomised labels are equal with a probability of at most ``q^2 + (k - 1) r^2``, whatever
    the answers are, with the probability q to keep a label and r to give one certain other one.
    A worker who sends answers as they are agrees with the reports of others in up to q. Each task
    is one observation: the share of its other reports that are equal to the worker's. Nobody is
    named where the mechanism is no randomised response with one public law.

    Parameters
    ----------
    rows : ReportRows
        Of many workers.

    Notes
    -----
    With the probability q to keep a label and r to give one certain other one, a report counts for
    each label as ``(1 - r) / (q - r)`` if it is that label and as ``-r / (q - r)`` if it is not: in
    the mean, as the answer does with 1 and 0. Workers draw independently, so that products of
    two reports count pairs of answers. Where "no answer" is reported too, pairs of answers alone
    count. So it is with sets: q and r are the probabilities that a set holds the answer, and that
    it holds one certain other label. ``docs/theory/subset-selection.md``.

    Of numbers ``T - W`` has no noise in it. T has that of the channel: its variance is the mean of
    what workers draw, so a crowd that drew more or less leaves T open, which the standard error
    over workers shows. The noise of bounded reports depends on the answer: of them that of the
    reports alone is told.
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
    """Return what is said of both; of answers nothing where the error would be too large."""
    if found is None or not found[1] <= MOST_ERROR:
        return CrowdAgreement(reports=reports)
    answers, error = found
    return CrowdAgreement(
        reports=reports, answers=float(np.clip(answers, 0.0, 1.0)), answers_error=error
    )


def _of_labels(
    pairs: LabelPairs, rows: ReportRows, rates: tuple[float, float] | None
) -> CrowdAgreement:
    """Return what pairs of reports tell, and the pairs of answers that they stand for."""
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
    """Return the share of equal pairs of answers, from what each worker adds to them."""
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
    """Return how many pairs of equal answers, and of answers, sums of reports stand for.

    A report that holds g labels, with o others on its task that hold m, of which it holds e, stands
    for ``(e - r (g o + m) + r^2 k o) / (q - r)^2`` and ``(g - r k) (m - r k o) / (q - r)^2``. An
    answer holds one label, NULL none.
    """
    mixed, scale = other * labels, (keep - other) ** 2
    crossed = sums.given_others + sums.mates
    alike = sums.given_equal - other * crossed + other**2 * labels * sums.others
    both = sums.given_mates - mixed * crossed + mixed**2 * sums.others
    return alike / scale, both / scale


def _of_numbers(spread: NumberSpread | None, noise: float | None) -> CrowdAgreement:
    """Compare the variance of the numbers of a task with that of all.

    Of n numbers on a task, one takes ``n / (n - 1)`` times its squared distance from their mean
    along with it, and one degree of freedom.
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


def _too_consistent(sums: PairSums, mechanism: Mechanism) -> npt.NDArray[np.intp]:
    """Return the positions of workers whose devices seem not to randomise."""
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
    """Return the largest probability with which two randomised labels are equal."""
    channel = mechanism.worker_channel
    if channel is None or channel.probabilities is None or mechanism.every_task:
        return None
    keep, other = channel.keep_and_other or (0.0, 0.0)
    others = len(channel.probabilities) - 1
    return keep**2 + others * other**2 if keep > other else None
