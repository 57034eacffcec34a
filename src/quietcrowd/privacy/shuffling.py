"""Proved bounds on the privacy loss of one report behind an honest shuffler.

Only the number of reports by other honest workers counts, since these hide a report. Derivations of
the exact, blanket and clones bounds: ``research/docs/theory/shuffling.md``.
"""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.privacy.binomial import at_least, likely_range, range_chances

MOST_EXACT = 1000
"""Largest number of others for which all answers of two labels are enumerated."""

MOST_OTHERS = 10**7
"""More others count as this many, since a bound for fewer is valid for more."""

_RATIO = 0.005
"""Relative width of a block of blanket sizes; all its sizes count as the smallest."""

_MOST_BLOCKS = 100

_SLACK = 1e-10
"""More than the relative error of a probability by SciPy."""

_UNIT = 2.0**-52

_STEPS = 40

_FINEST = 1e-4
"""Relative precision of an epsilon."""

Floats: TypeAlias = npt.NDArray[np.float64]


@frozen(kw_only=True)
class KeepOrReplace:
    """Randomized response over `size` labels.

    It keeps an answer with probability `keep`, and gives each other label with probability `other`;
    ``keep > other > 0``.
    """

    size: int
    keep: float
    other: float


@frozen(kw_only=True)
class ShuffledLoss:
    """Pair (epsilon, delta) of one report among others, with the bound that proves it.

    `epsilon` is rounded up, and at most the loss of the report without a shuffler. `bound` is
    "exact", "blanket", "clones" or "local".
    """

    epsilon: float
    delta: float
    bound: str


@lru_cache(maxsize=256)
def shuffled_loss(
    local: float, others: int, delta: float, response: KeepOrReplace | None = None
) -> ShuffledLoss:
    """Return the least epsilon that is proved for one report among shuffled ones.

    `local` is the pure loss of one report, finite. `others` counts the other honest reports: same
    mechanism, and their workers disclose nothing. `delta` is above 0 and below 1. `response`
    improves the bound if the mechanism is randomized response.

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
            continue  # no better than the previous bound
        epsilon = _least(curve, found.epsilon, delta)
        if epsilon < found.epsilon:
            found = ShuffledLoss(epsilon=epsilon, delta=delta, bound=name)
    return found


def _curves(
    local: float, others: int, delta: float, response: KeepOrReplace | None
) -> Iterator[tuple[str, Callable[[float], float]]]:
    """Yield the valid bounds, better ones first, each a name and the delta at an epsilon."""
    dust = delta * 1e-4
    if response is not None and response.keep > response.other > 0:
        if response.size == 2 and others <= 2 * MOST_EXACT:
            some = min(others, MOST_EXACT)  # a bound for fewer is valid for more
            yield "exact", lambda epsilon: exact_delta(response.keep, some, epsilon)
            if some == others:
                return
        yield "blanket", lambda epsilon: blanket_delta(response, others, epsilon, dust)
        if response.size == 2:
            return  # with two labels this blanket is never worse than clones
    yield "clones", lambda epsilon: clones_delta(local, others, epsilon, dust)


def _least(curve: Callable[[float], float], high: float, delta: float) -> float:
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
    """Return the least number of honest others found that lowers the proved loss below `local`.

    None if more than `MOST_OTHERS` are needed or `local` is 0. `shuffled_loss` is below `local` for
    this many others and for more. For parameters see `shuffled_loss`.

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

    It is a hockey-stick divergence, rounded up. `keep` is above 1/2 and below 1, and `others` at
    most `MOST_EXACT`.
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
    """Return distributions of how many others report "yes", a row for each number of true "yes".

    Shape (others + 1, others + 1). Only positive numbers are multiplied and added, so the relative
    error is below ``4 (others + 2) 2**-52``.
    """
    yes, no = [np.ones(1)], [np.ones(1)]
    for _ in range(others):
        yes.append(np.convolve(yes[-1], [1 - keep, keep]))
        no.append(np.convolve(no[-1], [keep, 1 - keep]))
    return np.array([np.convolve(yes[j], no[others - j]) for j in range(others + 1)])


def clones_delta(local: float, others: int, epsilon: float, dust: float = 0.0) -> float:
    """Return a bound of the delta at an epsilon, for any mechanism with the pure loss `local`.

    `dust` is a probability that may be added to the result instead of being enumerated. Source: V.
    Feldman, A. McMillan, K. Talwar, "Hiding Among the Clones", FOCS 2021, Theorem 3.1 and its
    proof.
    """
    keep = 1 / (1 + math.exp(-local))
    pair = KeepOrReplace(size=2, keep=keep, other=1 - keep)
    return _group_delta(pair, math.exp(-local), others, epsilon, dust)


def blanket_delta(response: KeepOrReplace, others: int, epsilon: float, dust: float = 0.0) -> float:
    """Return a bound of the delta at an epsilon, for randomized response; see `clones_delta`.

    Source: B. Balle, J. Bell, A. Gascon, K. Nissim, "The Privacy Blanket of the Shuffle Model",
    CRYPTO 2019.
    """
    share = min(1.0, response.size * response.other)
    return _group_delta(response, share, others, epsilon, dust)


def _group_delta(
    response: KeepOrReplace, share: float, others: int, epsilon: float, dust: float
) -> float:
    """Return the delta of one answer among a random number of uniform labels.

    Each of the others adds a uniform label with the probability `share`. Delta falls with their
    number, so a block of numbers counts as its least.
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

    Relative to uniform labels, a histogram has the likelihood ``size / group`` times
    ``other * group + (keep - other) * n`` under an answer that occurs n times in it. `pairs` is the
    number of occurrences of either of two answers; given that, n is Bin(pairs, 1/2).
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
    """Return likely values of a binomial variable, their probabilities, and the remaining one.

    All probabilities are rounded up.
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
