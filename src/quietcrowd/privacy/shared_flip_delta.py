"""What a worker's reports lose at a delta, when one flip probability serves all.

`shared_flip` gives the loss that no report exceeds. That of most reports is smaller; here is the
law of that loss, and the least delta at a smaller epsilon. Derivation and checks:
``docs/theory/accounting.md``.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from attrs import frozen
from scipy.special import betainc, betaincc, gammaln, xlog1py, xlogy

from quietcrowd.privacy.loss_law import LossLaw
from quietcrowd.privacy.shared_flip import cell_epsilon
from quietcrowd.validation import check_real, check_whole

__all__ = ["two_layer_delta", "two_layer_law"]

MAX_ANSWERS = 10**6
_FEW = 2**13
_MOST_TERMS = 2**26
_BLOCK = 2**20
_NARROW = 1e-3
_NODES: npt.NDArray[np.float64]
_NODE_WEIGHTS: npt.NDArray[np.float64]
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(24)


@frozen(kw_only=True, eq=False)
class _Joint:
    """What one report and the number of agreements among the others are, together.

    ``agrees[k]`` is the probability that this report agrees and k others do, ``differs[k]`` that it
    is one certain other label; `error` bounds how far off either is, in sum.
    """

    agrees: npt.NDArray[np.float64]
    differs: npt.NDArray[np.float64]
    error: float


def two_layer_delta(
    epsilon: float, answers: int, *, labels: int, low: int, high: int, total: int = 2**32
) -> float:
    """Return the least delta at `epsilon` about one of a worker's answers, rounded up.

    Parameters
    ----------
    epsilon : float
        At least 0.
    answers : int
        Number of answers n that share the weight, at most 10^6.
    labels : int
        Number of labels k.
    low, high : int
        The weight of each other label is uniform on ``low .. high``.
    total : int
        What the weights of a row sum to.

    Returns
    -------
    float
        The sum over the number c of agreements among the other n - 1 reports of what
        ``P(agrees, c) - exp(epsilon) P(differs, c)`` and its reverse exceed 0 by; exact but for a
        bound on the rounding, which is at most 1e-9 for ``n (k - 1) <= 2000``. It is 0 from
        `cell_epsilon` on.

    Raises
    ------
    ParameterError
        Where `epsilon` is negative or `answers` out of range.

    Examples
    --------
    >>> claimed_one = {"labels": 2, "low": 0, "high": 2_310_189_219}  # 2 / (1 + e) of 2**32
    >>> [round(two_layer_delta(1.0, n, **claimed_one), 3) for n in (2, 5, 26, 277)]
    [0.09, 0.151, 0.225, 0.248]
    """
    check_real("epsilon", epsilon, 0)
    check_whole("answers", answers, 1, MAX_ANSWERS)
    if epsilon >= cell_epsilon(answers, labels=labels, low=low, high=high, total=total):
        return 0.0
    joint = _joint(answers, labels, low, high, total)
    factor = math.exp(epsilon)
    one = np.maximum(joint.agrees - factor * joint.differs, 0.0).sum()
    other = np.maximum(joint.differs - factor * joint.agrees, 0.0).sum()
    return min(1.0, float(one + other) + joint.error * (1 + factor))


def two_layer_law(answers: int, *, labels: int, low: int, high: int, total: int = 2**32) -> LossLaw:
    """Return the law of the loss about one of a worker's answers; see `two_layer_delta`."""
    check_whole("answers", answers, 1, MAX_ANSWERS)
    epsilon = cell_epsilon(answers, labels=labels, low=low, high=high, total=total)
    joint = _joint(answers, labels, low, high, total)
    rest = np.array([max(0.0, 1 - float(joint.agrees.sum() + joint.differs.sum()))])
    return LossLaw.of_pair(
        np.concatenate([joint.agrees, joint.differs, rest]),
        np.concatenate([joint.differs, joint.agrees, rest]),
        epsilon,
        rounding=min(1.0, joint.error * (2 + math.exp(min(epsilon, 700.0)))),
        is_of_all_pairs=True,
    )


@lru_cache(maxsize=32)
def _joint(answers: int, labels: int, low: int, high: int, total: int) -> _Joint:
    scale, count = (labels - 1) / total, high - low + 1
    of_logs = 1e-15 * (50 + 2 * answers * math.log(answers + 1))
    if count <= _FEW and count * answers <= _MOST_TERMS:
        weights = np.arange(low, high + 1, dtype=np.float64)
        agrees, differs = _mean_over(weights * scale, np.full(count, 1 / count), answers)
        return _Joint(agrees=agrees, differs=differs / (labels - 1), error=of_logs)
    # The ends, and in between an integral over what is nearer to a weight than to any other.
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
    """Return P(agrees, k) and P(does not, k) for flip probabilities of given shares."""
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
    """Return P(agrees, k) and P(does not, k) for a flip probability uniform on a range."""
    kept = np.arange(answers, dtype=np.float64)
    width = answers * (answers + 1) * (end - start)
    agrees = (kept + 1) / width * _between(answers - kept, kept + 2, start, end)
    differs = (answers - kept) / width * _between(answers - kept + 1, kept + 1, start, end)
    return agrees, differs


def _between(
    a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], start: float, end: float
) -> npt.NDArray[np.float64]:
    """Return what the beta law of parameters `a` and `b` has between two numbers.

    It is computed around the two alone: ``I_x(a, b)`` is the chance of a or more heads among
    a + b - 1, and by Hoeffding's inequality beyond them it is 0 or 1 but for exp(-400).
    """
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
    """Return what `_integral` does, without differences of almost equal numbers."""
    panels = 1 + math.ceil(answers * (end - start) / 4)
    edges = np.linspace(start, end, panels + 1)
    half = np.diff(edges) / 2
    points = ((edges[:-1] + half)[:, None] + half[:, None] * _NODES).reshape(-1)
    return _mean_over(points, np.tile(_NODE_WEIGHTS / (2 * panels), panels), answers)
