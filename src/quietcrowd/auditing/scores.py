"""Scores that are learned from samples, for faults that the public distribution does not predict.

Examples are noise that serves two reports, a standard deviation that depends on the answer, or
numbers that never occur.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from quietcrowd.auditing.bounds import Floats, Score, Statistic

View: TypeAlias = Callable[[Floats], Floats]
"""From two numbers of each worker, shape (workers, 2), to the numbers that are binned."""

BINS = 64
"""Bins of one number; of two numbers, each has the square root."""

SINGLES = 16

LOW_BITS = 16

SMOOTHING = 0.5

HALF = 0.5
"""Integers that differ by less are equal, also if computed in floats."""


def _difference(pair: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return pair[:, :1] - pair[:, 1:]


def _sum(pair: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return pair[:, :1] + pair[:, 1:]


def _both(pair: Floats) -> Floats:
    return pair


VIEWS: dict[str, View] = {
    "two reports together": _both,
    "the difference of two reports": _difference,
    "the sum of two reports": _sum,
}


def report_statistics(one: Floats, other: Floats) -> list[Statistic]:
    """Return statistics of a few numbers of workers with either row, shape (workers, numbers)."""
    sides = (one, other)
    views = [
        ("how often each report occurs", [side[:, :1] for side in sides]),
        ("the last bits of a report", [_last_bits(side[:, :1]) for side in sides]),
        ("the powers of two in a report", [_powers_of_two(side[:, :1]) for side in sides]),
    ]
    found = [_histogram(name, view) for name, view in views]
    for column in range(1, one.shape[1]):
        found += pair_statistics(*(side[:, [0, column]] for side in sides))
    return found


def pair_statistics(one: Floats, other: Floats) -> list[Statistic]:
    """Return joint statistics of two numbers of each worker, shape (workers, 2)."""
    return [_histogram(name, [view(one), view(other)]) for name, view in VIEWS.items()]


def partner_statistics(one: Floats, other: Floats, moved: int) -> list[Statistic]:
    """Return statistics of the two most correlated numbers of each worker.

    `one` and `other` have shape (workers, numbers). One of the two is among the `moved` first
    numbers.
    """
    return [
        Statistic(name=name, one=one, other=other, learn=partial(_learn_partners, view, moved))
        for name, view in VIEWS.items()
    ]


def _learn_partners(view: View, moved: int, one: Floats, other: Floats) -> Score:
    pair = list(strongest_pair([one, other], moved))
    score = learn_histogram(view(one[:, pair]), view(other[:, pair]))
    return lambda values: score(view(values[:, pair]))


def strongest_pair(samples: Sequence[Floats], moved: int) -> tuple[int, int]:
    """Return the positions of the two numbers of a worker with the largest absolute correlation.

    Each sample has shape (workers, numbers) and equal rows of answers. The first position is below
    `moved`.
    """
    total = np.zeros((min(moved, samples[0].shape[1]), samples[0].shape[1]))
    for sample in samples:
        centred = _finite(sample) - _finite(sample).mean(axis=0)
        size = np.sqrt((centred**2).sum(axis=0))
        scaled = centred / np.where(size > 0, size, 1.0)
        total += np.abs(scaled[:, : len(total)].T @ scaled)
    np.fill_diagonal(total, -1.0)
    first, second = np.unravel_index(int(total.argmax()), total.shape)
    return int(first), int(second)


def match_statistic(one: Floats, other: Floats, plain: tuple[Floats, Floats]) -> Statistic:
    """Count the numbers of each worker, shape (workers, numbers), that equal those without noise.

    `plain` are the integers that either row would send without noise, shape (numbers,).
    """

    def counted(side: Floats) -> Floats:
        left, right = (
            (np.abs(side - numbers) < HALF).sum(axis=1, dtype=np.float64) for numbers in plain
        )
        return np.stack([left - right, left + right], axis=1)

    return _histogram("how many reports are answers as they are", [counted(one), counted(other)])


def _histogram(name: str, view: list[Floats]) -> Statistic:
    return Statistic(name=name, one=view[0], other=view[1], learn=learn_histogram)


def _last_bits(numbers: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.mod(numbers, LOW_BITS)


def _powers_of_two(numbers: Floats) -> Floats:
    """Return the exponent of the largest power of two that divides a number."""
    fraction, exponent = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    whole = (fraction * 2.0**53).astype(np.int64)
    lowest = np.maximum(whole & -whole, 1).astype(np.float64)
    powers = np.where(whole == 0, np.inf, np.log2(lowest) + exponent - 53)
    return np.where(np.isfinite(numbers), powers, numbers)


def learn_histogram(one: Floats, other: Floats) -> Score:
    """Return a score, the log ratio of the frequencies of a worker's bin in `one` and `other`.

    Both have shape (workers, numbers). A value that is frequent, or far more frequent on one side,
    has a separate bin; the others share bins between quantiles. Missing numbers have a bin.

    Examples
    --------
    >>> score = learn_histogram(np.array([[1.0], [1.0], [2.0]]), np.array([[2.0], [np.nan]]))
    >>> score(np.array([[1.0], [2.0], [np.nan]])).round(2).tolist()
    [1.2, -0.41, -1.5]
    """
    numbers = one.shape[1]
    most = round(BINS ** (1 / numbers))
    edges = [_edges(one[:, place], other[:, place], most) for place in range(numbers)]
    sizes = tuple(len(edge) + 2 for edge in edges)

    def bins(values: Floats) -> npt.NDArray[np.intp]:
        codes = [
            np.where(np.isnan(column), 0, 1 + np.searchsorted(edge, column, side="right"))
            for edge, column in zip(edges, values.T, strict=True)
        ]
        return np.ravel_multi_index(codes, sizes)

    logs = [
        np.log((np.bincount(bins(side), minlength=int(np.prod(sizes))) + SMOOTHING) / len(side))
        for side in (one, other)
    ]
    gains: Floats = logs[0] - logs[1]
    return lambda values: gains[bins(values)]


def _edges(one: Floats, other: Floats, most: int) -> Floats:
    """Return lower ends of bins: all values if they are few, else quantiles and single values."""
    one, other = (side[~np.isnan(side)] for side in (one, other))
    both = np.sort(np.concatenate([one, other]))
    values = np.unique(both)
    if len(values) <= most:
        return values
    quantiles = both[np.linspace(0, len(both) - 1, most).astype(np.intp)]
    counts = [
        np.bincount(np.searchsorted(values, side), minlength=len(values)) / max(len(side), 1)
        for side in (one, other)
    ]
    apart = np.abs(counts[0] - counts[1])
    single = values[np.argsort(-apart, kind="stable")[: min(SINGLES, most // 2)]]
    return np.unique(np.concatenate([quantiles, single, np.nextafter(single, np.inf)]))


def learn_projection(one: Floats, other: Floats) -> Score:
    """Return Fisher's linear discriminant of two samples, shape (workers, numbers), as a score.

    Missing and infinite numbers count as 0.
    """
    one, other = _finite(one), _finite(other)
    if min(len(one), len(other)) < 2:
        return lambda values: np.zeros(len(values))
    spread = np.atleast_2d(np.cov(one.T)) + np.atleast_2d(np.cov(other.T))
    direction = np.linalg.pinv(spread) @ (one.mean(axis=0) - other.mean(axis=0))
    return lambda values: _finite(values) @ direction


def _finite(numbers: Floats) -> Floats:
    return np.where(np.isfinite(numbers), numbers, 0.0)
