"""Privacy loss when one random flip probability serves all answers of a worker.

With a weight ``w``, uniform on ``low .. high``, each of n answers is kept with weight
``K = T - (k - 1) w`` out of ``T = 2**32``, and each other label has weight ``w``. A row of reports
with c agreements has probability ``L(c) = E[K^c w^(n-c)] / T^n``.
``research/docs/theory/two-layer.md``.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.loss import LossDistribution
from quietcrowd.privacy.rounding import round_up
from quietcrowd.privacy.two_layer.rows import RowChances
from quietcrowd.validation import check_real, check_whole

MAX_ANSWERS = 10**7
MAX_DELTA_ANSWERS = 10**6
_DIGITS = Context(prec=80, Emax=MAX_EMAX, Emin=MIN_EMIN)
_PANELS = 24
_MOST_ROW = 1000
"""Longest row for which `row_chances` computes all probabilities."""

_FEW, _MOST_TERMS = 2**20, 2**25
"""Largest numbers of weights, and of weights times answers, that are summed for a pure loss."""

_FEW_OF_DELTA, _MOST_TERMS_OF_DELTA = 2**13, 2**26
"""Largest numbers of both that are summed for the distribution of the loss."""

_BLOCK = 2**20
_NARROW = 1e-3
"""Smallest range of flip probabilities that is integrated as a difference of beta distributions."""

_NODES: npt.NDArray[np.float64]
_NODE_WEIGHTS: npt.NDArray[np.float64]
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(24)


def _bernoulli(count: int) -> list[Fraction]:
    numbers = [Fraction(1)]
    for order in range(1, 2 * count + 1):
        known = sum(math.comb(order + 1, i) * number for i, number in enumerate(numbers))
        numbers.append(-Fraction(known) / (order + 1))
    return numbers[2::2]


_BERNOULLI = _bernoulli(20)


def cell_epsilon(answers: int, *, labels: int, low: int, high: int, total: int = 2**32) -> float:
    """Return an upper bound on the loss about one of a worker's answers, tight to 1e-9.

    There are n = `answers` answers, at most 10^7, that share the weight, and k = `labels` labels.
    The weight of each other label is uniform on `low` to `high`, of T = `total`. The worst outputs
    are "all agree" and "none agrees"::

        max( ln E[K^n] / E[K^(n-1) w],  ln E[w^n] / E[w^(n-1) K] )

    The expectations are sums over the integer weights: few term by term, many by the
    Euler-Maclaurin formula with its remainder, in 80 digits.
    """
    _check_answers(answers)
    others = labels - 1
    # x is the weight that keeps an answer, or the weight of all others together.
    all_agree = _log_odds_of_powers(
        answers, total - others * high, total - others * low, others, total
    )
    none_agrees = _log_odds_of_powers(answers, others * low, others * high, others, total)
    return max(0.0, all_agree + math.log(others), none_agrees - math.log(others)) + 1e-12


def _log_odds_of_powers(power: int, low: int, high: int, step: int, total: int) -> float:
    """Return an upper bound of ln(sum x^n / sum x^(n-1) (total - x)), x from `low` to `high`."""
    if high == 0:
        return -math.inf
    if low == high:
        return math.log(high / (total - high)) if high < total else math.inf
    if (high - low) // step < _FEW or power * step > 2 * high:
        values = np.arange(low, high + 1, step, dtype=np.float64)
        with np.errstate(divide="ignore"):
            terms = np.exp((power - 1) * np.log1p(-(high - values) / high)) if power > 1 else 1.0
        return math.log(float((terms * values).sum() / (terms * (total - values)).sum()))
    _, upper = _power_sum(power, low, high, step)
    lower, _ = _power_sum(power - 1, low, high, step)
    with localcontext(_DIGITS):
        rest = Decimal(total) / Decimal(high) * lower - upper
        return round_up((upper / rest).ln())


def _power_sum(power: int, low: int, high: int, step: int) -> tuple[Decimal, Decimal]:
    """Return bounds of the sum of (x / high)^power, x from `low` to `high` in steps of `step`.

    The derivatives of a power keep their sign. So the remainder of the Euler-Maclaurin formula has
    the sign of the first omitted term and is no larger.
    """
    with localcontext(_DIGITS):
        end, start, gap = Decimal(1), Decimal(low) / high, Decimal(step) / high
        whole = (end - start ** (power + 1)) / (gap * (power + 1))
        total = whole + (end + _power(start, power)) / 2
        factor, order, smallest = gap, 1, None
        for bernoulli in _BERNOULLI:
            if order > power:
                return total, total
            derivative = math.prod(range(power - order + 1, power + 1))
            change = derivative * (end - _power(start, power - order))
            number = Decimal(bernoulli.numerator) / bernoulli.denominator
            term = number * factor / math.factorial(order + 1) * change
            if smallest is not None and abs(term) >= smallest:
                break
            total, smallest = total + term, abs(term)
            factor, order = factor * gap**2, order + 2
        assert smallest is not None
        return total - smallest, total + smallest


def _power(base: Decimal, exponent: int) -> Decimal:
    return base**exponent if exponent else Decimal(1)


def row_epsilon(answers: int, *, labels: int, low: int, high: int, total: int = 2**32) -> float:
    """Return an upper bound on the loss about all answers of a worker together.

    It is ln of max L(c) over min L(c), tight to 4 (n (k - 1) / T + 1 / (high - low)). L is
    log-convex in the number of agreements c: its maximum is at an end, its minimum at the only
    turning point. For parameters see `cell_epsilon`.
    """
    _check_answers(answers)

    def log_sum(agreements: int) -> tuple[float, float, float]:
        return _log_sum(answers, agreements, labels, low, high, total)

    def rises(agreements: int) -> bool:
        return log_sum(agreements + 1)[1] >= log_sum(agreements)[1]

    first = bisect_left(range(answers), True, key=rises)  # the turning point
    largest = max(log_sum(0)[2], log_sum(answers)[2])
    smallest = min(log_sum(c)[0] for c in range(max(first - 1, 0), min(first + 1, answers) + 1))
    return max(0.0, largest - smallest) + 1e-11 * answers


def row_chances(
    answers: int, *, labels: int, low: int, high: int, total: int = 2**32
) -> RowChances | None:
    """Return probabilities of rows of reports; None if slow to compute or a loss is infinite."""
    count = high - low + 1
    if answers > _MOST_ROW or (count <= _FEW and count * answers > _MOST_TERMS):
        return None
    epsilon = row_epsilon(answers, labels=labels, low=low, high=high, total=total)
    if math.isinf(epsilon):
        return None
    logs = np.array([_log_sum(answers, c, labels, low, high, total) for c in range(answers + 1)])
    margin = 5e-12 * answers  # half of that of `row_epsilon`
    return RowChances(
        lower=logs[:, 0] - math.log(count) - margin,
        upper=logs[:, 2] - math.log(count) + margin,
        labels=labels,
        epsilon=epsilon,
    )


def _log_sum(
    answers: int, agreements: int, labels: int, low: int, high: int, total: int
) -> tuple[float, float, float]:
    """Return lower bound, estimate and upper bound of ln of the sum of (K / T)^c (w / T)^(n - c).

    The terms rise to one peak and fall. So a sum over many differs from the integral by at most the
    largest term.
    """
    flips = answers - agreements
    scale = (labels - 1) / total
    peak = min(max(flips / answers, low * scale), high * scale)
    top = float(_log_terms(agreements, flips, np.full(1, peak))[0]) - flips * math.log(labels - 1)
    if high - low < _FEW:
        weights = np.arange(low, high + 1, dtype=np.float64) * np.float64(scale)
        terms = _log_terms(agreements, flips, weights) - flips * math.log(labels - 1)
        exact = float(top + np.log(np.exp(terms - top).sum())) if top > -math.inf else -math.inf
        return exact, exact, exact
    integral = _integral_over_peak(agreements, flips, peak, (low * scale, high * scale)) / scale
    lower = top + math.log(integral - 1) if integral > 1 else -math.inf
    return lower, top + math.log(integral), top + math.log(integral + 1)


def _integral_over_peak(
    agreements: int, flips: int, peak: float, bounds: tuple[float, float]
) -> float:
    """Return the integral of (1 - p)^c p^(n - c) over its largest value, by Gauss-Legendre."""
    length = _decay_length(agreements, flips, peak)
    left, right = max(bounds[0], peak - 45 * length), min(bounds[1], peak + 45 * length)
    edges = np.concatenate(
        [np.linspace(left, peak, _PANELS + 1)[:-1], np.linspace(peak, right, _PANELS + 1)]
    )
    half = np.diff(edges) / 2
    points = ((edges[:-1] + half)[:, None] + half[:, None] * _NODES).astype(np.float64)
    terms = _log_terms(agreements, flips, points)
    top = _log_terms(agreements, flips, np.full(1, peak))[0]
    return float(((np.exp(terms - top) @ _NODE_WEIGHTS) * half).sum())


def _log_terms(
    agreements: int, flips: int, probabilities: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return c ln(1 - p) + (n - c) ln p, where 0 ln 0 is 0."""
    terms = np.zeros_like(probabilities)
    with np.errstate(divide="ignore"):
        if agreements:
            terms += agreements * np.log1p(-probabilities)
        if flips:
            terms += flips * np.log(probabilities)
    return terms


def _decay_length(agreements: int, flips: int, probability: float) -> float:
    """Return the distance over which the log-concave term falls to about 1/e of its peak."""
    to_one, to_zero = 1.0 - probability, probability
    slope = curvature = 0.0
    if agreements:
        slope -= agreements / to_one
        curvature += agreements / to_one**2
    if flips:
        slope += flips / to_zero
        curvature += flips / to_zero**2
    return min(1.0 / abs(slope) if slope else math.inf, 1.0 / math.sqrt(curvature))


def _check_answers(answers: int) -> None:
    if answers > MAX_ANSWERS:
        raise ParameterError("privacy.too-many-answers", max_answers=MAX_ANSWERS, answers=answers)


@frozen(kw_only=True, eq=False)
class _Joint:
    """Joint distribution of one report and of the number of agreements among the others.

    ``agrees[k]`` is the probability that this report agrees and k others do, ``differs[k]`` that it
    is one certain other label. `error` bounds the sum of all errors of either array.
    """

    agrees: npt.NDArray[np.float64]
    differs: npt.NDArray[np.float64]
    error: float


def cell_delta(
    epsilon: float, answers: int, *, labels: int, low: int, high: int, total: int = 2**32
) -> float:
    """Return the least delta at `epsilon` about one of a worker's answers, rounded up.

    It is the sum of what ``P(agrees, c) - exp(epsilon) P(differs, c)`` and its reverse exceed 0 by,
    over the number c of agreements among the other n - 1 reports. A bound on the rounding is added,
    at most 1e-9 for ``n (k - 1) <= 2000``. For other parameters see `cell_epsilon`.

    Examples
    --------
    >>> claimed_one = {"labels": 2, "low": 0, "high": 2_310_189_219}  # 2 / (1 + e) of 2**32
    >>> [round(cell_delta(1.0, n, **claimed_one), 3) for n in (2, 5, 26, 277)]
    [0.09, 0.151, 0.225, 0.248]
    """
    check_real("epsilon", epsilon, 0)
    check_whole("answers", answers, 1, MAX_DELTA_ANSWERS)
    if epsilon >= cell_epsilon(answers, labels=labels, low=low, high=high, total=total):
        return 0.0
    joint = _joint(answers, labels, low, high, total)
    factor = math.exp(epsilon)
    one = np.maximum(joint.agrees - factor * joint.differs, 0.0).sum()
    other = np.maximum(joint.differs - factor * joint.agrees, 0.0).sum()
    return min(1.0, float(one + other) + joint.error * (1 + factor))


def cell_distribution(
    answers: int, *, labels: int, low: int, high: int, total: int = 2**32
) -> LossDistribution:
    """Return the distribution of the loss about one of a worker's answers; see `cell_delta`."""
    check_whole("answers", answers, 1, MAX_DELTA_ANSWERS)
    epsilon = cell_epsilon(answers, labels=labels, low=low, high=high, total=total)
    return _distribution_of(_joint(answers, labels, low, high, total), epsilon)


def listed_cell_distribution(
    answers: int, *, labels: int, weights: Sequence[int], epsilon: float, total: int = 2**32
) -> LossDistribution:
    """Return the distribution of the loss about one answer, for equally likely weights."""
    flips = np.array(weights, np.float64) * ((labels - 1) / total)
    agrees, differs = _mean_over(flips, np.full(len(flips), 1 / len(flips)), answers)
    joint = _Joint(agrees=agrees, differs=differs / (labels - 1), error=_error_of_logs(answers))
    return _distribution_of(joint, epsilon)


def _distribution_of(joint: _Joint, epsilon: float) -> LossDistribution:
    rest = np.array([max(0.0, 1 - float(joint.agrees.sum() + joint.differs.sum()))])
    return LossDistribution.of_pair(
        np.concatenate([joint.agrees, joint.differs, rest]),
        np.concatenate([joint.differs, joint.agrees, rest]),
        epsilon,
        rounding=min(1.0, joint.error * (2 + math.exp(min(epsilon, 700.0)))),
        is_of_all_pairs=True,
    )


def _error_of_logs(answers: int) -> float:
    """Bound the total rounding error of all terms that are computed by logarithms."""
    return 1e-15 * (50 + 2 * answers * math.log(answers + 1))


@lru_cache(maxsize=32)
def _joint(answers: int, labels: int, low: int, high: int, total: int) -> _Joint:
    scale, count = (labels - 1) / total, high - low + 1
    of_logs = _error_of_logs(answers)
    if count <= _FEW_OF_DELTA and count * answers <= _MOST_TERMS_OF_DELTA:
        weights = np.arange(low, high + 1, dtype=np.float64)
        agrees, differs = _mean_over(weights * scale, np.full(count, 1 / count), answers)
        return _Joint(agrees=agrees, differs=differs / (labels - 1), error=of_logs)
    # Sum the two end weights; integrate over the cells of width 1 around all others.
    start, end = (low + 0.5) * scale, (high - 0.5) * scale
    if end - start >= _NARROW:
        agrees, differs = _integral(answers, start, end)
        error = 1e-14 / (end - start)
    else:
        agrees, differs = _narrow_integral(answers, start, end)
        error = of_logs
    share = np.full(2, 1 / count)
    of_ends = _mean_over(np.array([low, high]) * scale, share, answers)
    inner = (count - 2) / count
    of_grid = (answers * scale) ** 2 / 6
    return _Joint(
        agrees=agrees * inner + of_ends[0],
        differs=(differs * inner + of_ends[1]) / (labels - 1),
        error=error + of_logs * 2 / count + of_grid,
    )


def _mean_over(
    flips: npt.NDArray[np.float64], shares: npt.NDArray[np.float64], answers: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return P(agrees, k) and P(differs, k) for flip probabilities with weights `shares`."""
    from scipy.special import gammaln, xlog1py, xlogy  # keeps SciPy off workers' devices

    others = answers - 1
    agreements = np.arange(answers, dtype=np.float64)
    ways = gammaln(answers) - gammaln(agreements + 1) - gammaln(others - agreements + 1)
    agrees, differs = np.zeros(answers), np.zeros(answers)
    rows = max(1, _BLOCK // answers)
    for begin in range(0, len(flips), rows):
        flip = np.minimum(flips[begin : begin + rows], 1.0)[:, None]
        share = shares[begin : begin + rows]
        terms = np.exp(ways + xlog1py(agreements, -flip) + xlogy(others - agreements, flip))
        agrees += (share * (1 - flip[:, 0])) @ terms
        differs += (share * flip[:, 0]) @ terms
    return agrees, differs


def _integral(
    answers: int, start: float, end: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return P(agrees, k) and P(differs, k) for a flip probability uniform on a range."""
    kept = np.arange(answers, dtype=np.float64)
    width = answers * (answers + 1) * (end - start)
    agrees = (kept + 1) / width * _between(answers - kept, kept + 2, start, end)
    differs = (answers - kept) / width * _between(answers - kept + 1, kept + 1, start, end)
    return agrees, differs


def _between(
    a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], start: float, end: float
) -> npt.NDArray[np.float64]:
    """Return the probability between `start` and `end` under the beta distribution of a and b.

    ``I_x(a, b)`` is the probability of a or more heads among a + b - 1. By Hoeffding's inequality
    it is 0 or 1 up to exp(-400) far from ``a / (a + b)``, so it is computed only near it.
    """
    from scipy.special import betainc, betaincc

    end = min(end, 1.0)
    middle = a / (a + b)
    reach = 2 * np.sqrt(50 / (a + b)) + 1 / (a + b)
    near = (np.abs(middle - start) <= reach) | (np.abs(middle - end) <= reach)
    inside = np.array((start < middle) & (middle < end), np.float64)
    a, b = a[near], b[near]
    below = betainc(a, b, start)
    lower = betainc(a, b, end) - below
    upper = betaincc(a, b, start) - betaincc(a, b, end)
    inside[near] = np.maximum(np.where(below < 0.5, lower, upper), 0.0)
    return inside


def _narrow_integral(
    answers: int, start: float, end: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the result of `_integral`, without differences of almost equal numbers."""
    panels = 1 + math.ceil(answers * (end - start) / 4)
    edges = np.linspace(start, end, panels + 1)
    half = np.diff(edges) / 2
    points = ((edges[:-1] + half)[:, None] + half[:, None] * _NODES).reshape(-1)
    return _mean_over(points, np.tile(_NODE_WEIGHTS / (2 * panels), panels), answers)
