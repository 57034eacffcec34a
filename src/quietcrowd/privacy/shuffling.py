"""What one report loses where a shuffler hides who sent which: numerically, and on the safe side.

Each worker sends one report, and an honest shuffler gives out the reports without their senders.
Whoever sees them does not know which of them is a worker's, and the reports of other honest workers
hide it: their number counts, not how many reports there are.

Three bounds, each an upper bound of the delta at an epsilon: the exact one for two labels and up to
1,000 others, over all answers that these may have; the blanket of randomised response; and clones,
for whatever has a pure loss. Derivations, and checks against enumeration:
``docs/theory/shuffling.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.privacy.binomial import at_least, likely_range, range_chances

__all__ = [
    "MOST_EXACT",
    "MOST_OTHERS",
    "KeepOrReplace",
    "ShuffledLoss",
    "blanket_delta",
    "clones_delta",
    "exact_delta",
    "fewest_others",
    "shuffled_loss",
]

MOST_EXACT = 1000
"""With so many others two labels are gone through for all answers of these."""

MOST_OTHERS = 10**7
"""More others are counted as so many: what holds for fewer holds for more."""

_RATIO = 0.005
"""Sizes of a blanket within so large a part of each other count as the least of them."""

_MOST_BLOCKS = 100

_SLACK = 1e-10
"""More than the relative error of a probability of SciPy's."""

_UNIT = 2.0**-52

_STEPS = 40
"""Halvings of the range of epsilon."""

_FINEST = 1e-4
"""An epsilon is found up to this part of itself."""

Floats: TypeAlias = npt.NDArray[np.float64]


@frozen(kw_only=True)
class KeepOrReplace:
    """Randomised response: an answer is kept, or replaced by another label, uniformly.

    Attributes
    ----------
    size : int
        Number of labels, at least 2.
    keep, other : float
        Probability to keep an answer, and to give one certain other label; ``keep > other > 0``.
    """

    size: int
    keep: float
    other: float


@frozen(kw_only=True)
class ShuffledLoss:
    """A pair (epsilon, delta) of one report among others, and by which bound.

    Attributes
    ----------
    epsilon : float
        Natural logarithm, rounded up; never more than the report's own loss.
    delta : float
        Of the pair.
    bound : {"exact", "blanket", "clones", "local"}
        What proves it.
    """

    epsilon: float
    delta: float
    bound: str


@lru_cache(maxsize=256)
def shuffled_loss(
    local: float, others: int, delta: float, response: KeepOrReplace | None = None
) -> ShuffledLoss:
    """Return the least epsilon that is proved for one report among shuffled ones.

    Parameters
    ----------
    local : float
        Pure loss of one report, natural logarithm; finite.
    others : int
        How many other reports are honest: randomised alike, by workers who tell nobody.
    delta : float
        Above 0 and below 1.
    response : KeepOrReplace, optional
        Where the mechanism is randomised response: that is less than its loss alone would tell.

    Examples
    --------
    >>> loss = shuffled_loss(1.0, 9_999, 1e-6)
    >>> loss.bound, loss.epsilon < 0.1
    ('clones', True)
    >>> response = KeepOrReplace(size=2, keep=math.e / (1 + math.e), other=1 / (1 + math.e))
    >>> shuffled_loss(1.0, 500, 1e-6, response).bound
    'exact'
    """
    count = min(others, MOST_OTHERS)
    found = ShuffledLoss(epsilon=local, delta=delta, bound="local")
    if count < 1 or local == 0:
        return found
    for name, curve in _curves(local, count, delta, response):
        if curve(found.epsilon) > delta:
            continue  # no better than what is found
        epsilon = _least(curve, found.epsilon, delta)
        if epsilon < found.epsilon:
            found = ShuffledLoss(epsilon=epsilon, delta=delta, bound=name)
    return found


def _curves(
    local: float, others: int, delta: float, response: KeepOrReplace | None
) -> Iterator[tuple[str, Callable[[float], float]]]:
    """Return the bounds that hold, each as a function of epsilon, the better ones first."""
    dust = delta * 1e-4
    if response is not None and response.keep > response.other > 0:
        if response.size == 2 and others <= 2 * MOST_EXACT:
            some = min(others, MOST_EXACT)  # what holds for fewer holds for more
            yield "exact", lambda epsilon: exact_delta(response.keep, some, epsilon)
            if some == others:
                return  # there is no better one
        yield "blanket", lambda epsilon: blanket_delta(response, others, epsilon, dust)
        if response.size == 2:
            return  # clones are a part of this blanket
    yield "clones", lambda epsilon: clones_delta(local, others, epsilon, dust)


def _least(curve: Callable[[float], float], high: float, delta: float) -> float:
    """Return the least epsilon found whose delta is small enough; it is not rounded down."""
    low = 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if curve(middle) <= delta:
            high = middle
        else:
            low = middle
        if high - low <= _FINEST * high:
            break
    return high


def fewest_others(local: float, delta: float, response: KeepOrReplace | None = None) -> int | None:
    """Return the least number of honest others found with which less than `local` is proved.

    None where it is not among `MOST_OTHERS`, and where nothing is lost. With as many, and with
    more, `shuffled_loss` is lower than `local`; parameters are its own.

    Examples
    --------
    >>> others = fewest_others(6.0, 1e-6)
    >>> shuffled_loss(6.0, others, 1e-6).bound, shuffled_loss(6.0, others // 2, 1e-6).bound
    ('clones', 'local')
    """

    def is_lower(others: int) -> bool:
        return any(
            curve(local * (1 - _FINEST)) <= delta
            for _, curve in _curves(local, others, delta, response)
        )

    if local == 0 or not is_lower(MOST_OTHERS):
        return None
    few, enough = 0, MOST_OTHERS
    while few + 1 < enough:
        middle = max(few + 1, math.isqrt(few * enough))
        if is_lower(middle):
            enough = middle
        else:
            few = middle
    return enough


def exact_delta(keep: float, others: int, epsilon: float) -> float:
    """Return the delta of two labels at an epsilon, the largest over all answers of the others.

    Parameters
    ----------
    keep : float
        Probability to keep an answer, above 1/2 and below 1.
    others : int
        At most `MOST_EXACT`.
    epsilon : float
        At least 0.

    Returns
    -------
    float
        Hockey-stick divergence of the numbers of one label, rounded up.
    """
    counts = _counts_of_others(keep, others)
    edge = np.zeros((len(counts), 1))
    before, same = np.hstack([edge, counts]), np.hstack([counts, edge])
    factor, slack = math.exp(epsilon), 8 * (others + 4) * _UNIT
    gain = max(0.0, keep - factor * (1 - keep) + 4 * factor * _UNIT)
    loss = factor * keep - (1 - keep)
    most = gain * (1 + slack) * before - loss * (1 - slack) * same
    return float(np.maximum(most, 0.0).sum(axis=1).max() * (1 + slack))


@lru_cache(maxsize=4)
def _counts_of_others(keep: float, others: int) -> Floats:
    """Return the law of how many others report "yes", a row for each number who think so.

    Shape (others + 1, others + 1). Only products and sums of positive numbers: the relative error
    is below ``4 (others + 2) 2**-52``.
    """
    yes, no = [np.ones(1)], [np.ones(1)]
    for _ in range(others):
        yes.append(np.convolve(yes[-1], [1 - keep, keep]))
        no.append(np.convolve(no[-1], [keep, 1 - keep]))
    return np.array([np.convolve(yes[j], no[others - j]) for j in range(others + 1)])


def clones_delta(local: float, others: int, epsilon: float, dust: float = 0.0) -> float:
    """Return a bound of the delta at an epsilon, of any mechanism with a pure loss.

    Parameters
    ----------
    local : float
        The loss of one report.
    others : int
        At least 1.
    epsilon : float
        At least 0.
    dust : float
        Probability that may be added instead of looked at.

    References
    ----------
    V. Feldman, A. McMillan, K. Talwar, "Hiding Among the Clones", FOCS 2021, Theorem 3.1 and its
    proof; ``docs/theory/shuffling.md``.
    """
    keep = 1 / (1 + math.exp(-local))
    pair = KeepOrReplace(size=2, keep=keep, other=1 - keep)
    return _group_delta(pair, math.exp(-local), others, epsilon, dust)


def blanket_delta(response: KeepOrReplace, others: int, epsilon: float, dust: float = 0.0) -> float:
    """Return a bound of the delta at an epsilon, of randomised response.

    Parameters are those of `clones_delta`, and the mechanism.

    References
    ----------
    B. Balle, J. Bell, A. Gascon, K. Nissim, "The Privacy Blanket of the Shuffle Model", CRYPTO
    2019; ``docs/theory/shuffling.md``.
    """
    share = min(1.0, response.size * response.other)
    return _group_delta(response, share, others, epsilon, dust)


def _group_delta(
    response: KeepOrReplace, share: float, others: int, epsilon: float, dust: float
) -> float:
    """Return the delta of one answer among uniform labels, of which there is a random number.

    Each of the others adds a uniform label with the probability `share`. The more there are the
    less is lost, so a block of numbers counts as its least.
    """
    numbers, chances, missed = _window(others, share, dust / 2)
    blocks = math.ceil(math.log((numbers[-1] + 1) / (numbers[0] + 1)) / _RATIO)
    edges = np.linspace(0, len(numbers), min(max(blocks, 1), _MOST_BLOCKS) + 1)
    starts = np.unique(edges.astype(np.intp)[:-1])
    weights = np.add.reduceat(chances, starts)
    deltas = [
        _delta_among(response, int(number) + 1, epsilon, dust / 2) for number in numbers[starts]
    ]
    return min(1.0, float(weights @ deltas) * (1 + _SLACK) + missed)


def _delta_among(response: KeepOrReplace, group: int, epsilon: float, dust: float) -> float:
    """Return the delta of an answer's report and ``group - 1`` uniform labels.

    Of all labels uniform, the likelihood of a histogram under an answer is ``size / group`` times
    ``other * group + (keep - other) * n``, with n how often the answer occurs in it. `pair` is how
    often either of two answers does; given that, n has the law Bin(pair, 1/2).
    """
    factor = math.exp(epsilon)
    pairs, chances, missed = _window(group, 2 / response.size, dust)
    apart = response.keep - response.other
    slope = apart * (1 + factor)
    base = apart * factor * pairs + response.other * group * math.expm1(epsilon)
    least = np.floor(base / slope) + 1  # the fewest for which the difference is positive
    gain = slope * pairs / 2 * at_least(least - 1, pairs - 1, 0.5) * (1 + _SLACK)
    cost = base * at_least(least, pairs, 0.5) * (1 - _SLACK)
    found = float(chances @ np.maximum(gain - cost, 0.0)) * response.size / group
    return min(1.0, found * (1 + _SLACK) + response.size * missed)


@lru_cache(maxsize=128)
def _window(count: int, chance: float, dust: float) -> tuple[Floats, Floats, float]:
    """Return the likely values of a binomial number, their probabilities, and what is left out.

    Probabilities are rounded up, by more than the error of `range_chances`.
    """
    if chance >= 1:
        return np.array([float(count)]), np.ones(1), 0.0
    low, high = 0, count
    if dust:
        low, high = likely_range(count, chance, dust / 2)
        low, high = max(0, low - 1), min(count, high + 1)
    chances, missed = range_chances(low, high, count, chance)
    numbers = np.arange(low, high + 1, dtype=np.float64)
    return numbers, chances * (1 + 1e-15 * len(numbers)), missed * (1 + _SLACK)
