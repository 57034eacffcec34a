"""Scores that are learnt from samples: they see what no public law foretells.

The log-likelihood ratio under the public law is the best score where devices follow that law. One
that does not may leave it unmoved: noise that serves two reports, a spread that depends on the
answer, numbers that never occur. Here the numbers that a worker sent are sorted into bins, one or
two at a time, and a score is the logarithm of how much more often a bin occurred with one row than
with the other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quietcrowd.privacy.distinguishing import Floats, Score, Statistic

__all__ = ["learn_histogram", "learn_projection", "look_closely", "look_together"]

BINS = 64
"""Of one number; of two, the square root for each: 64 together."""

SINGLES = 16
"""Values at most that get a bin of their own."""

LOW_BITS = 16

SMOOTHING = 0.5
"""Added to every count."""


def look_closely(one: Floats, other: Floats) -> list[Statistic]:
    """Return statistics of a few numbers that workers sent under two rows.

    Parameters
    ----------
    one, other : ndarray of float, shape (workers, numbers)
        Under either row; NaN where a number was not sent. What differs between the rows is
        sought in the first number, alone and beside each other one.
    """
    sides = (one, other)
    views = [
        ("how often each report occurs", [side[:, :1] for side in sides]),
        ("the last bits of a report", [_last_bits(side[:, :1]) for side in sides]),
        ("the powers of two in a report", [_powers_of_two(side[:, :1]) for side in sides]),
    ]
    found = [_histogram(name, view) for name, view in views]
    for column in range(1, one.shape[1]):
        found += look_together(*(side[:, [0, column]] for side in sides))
    return found


def look_together(one: Floats, other: Floats) -> list[Statistic]:
    """Return statistics of two numbers of each worker together, shape (workers, 2)."""
    sides = (one, other)
    with np.errstate(invalid="ignore"):
        views = [
            ("two reports together", list(sides)),
            ("the difference of two reports", [side[:, :1] - side[:, 1:] for side in sides]),
            ("the sum of two reports", [side[:, :1] + side[:, 1:] for side in sides]),
        ]
    return [_histogram(name, view) for name, view in views]


def _histogram(name: str, view: list[Floats]) -> Statistic:
    return Statistic(name=name, one=view[0], other=view[1], learn=learn_histogram)


def _last_bits(numbers: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.mod(numbers, LOW_BITS)


def _powers_of_two(numbers: Floats) -> Floats:
    """Return the largest power of two of which a number is a multiple, as its exponent."""
    fraction, exponent = np.frexp(np.where(np.isfinite(numbers), numbers, 0.0))
    whole = (fraction * 2.0**53).astype(np.int64)
    lowest = np.maximum(whole & -whole, 1).astype(np.float64)
    powers = np.where(whole == 0, np.inf, np.log2(lowest) + exponent - 53)
    return np.where(np.isfinite(numbers), powers, numbers)


def learn_histogram(one: Floats, other: Floats) -> Score:
    """Return a score: by how much the bin of a worker's numbers speaks for `one`.

    A value that is frequent, or that occurs far more often on one side, has a bin of its own; the
    others share bins between quantiles. A number that is missing has a bin as well.

    Parameters
    ----------
    one, other : ndarray of float, shape (workers, numbers)
        Samples of either law.

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
    """Return lower ends of bins: all values where they are few, else quantiles and single ones."""
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

    What is missing or infinite counts as 0.
    """
    one, other = _finite(one), _finite(other)
    if min(len(one), len(other)) < 2:
        return lambda values: np.zeros(len(values))
    spread = np.atleast_2d(np.cov(one.T)) + np.atleast_2d(np.cov(other.T))
    direction = np.linalg.pinv(spread) @ (one.mean(axis=0) - other.mean(axis=0))
    return lambda values: _finite(values) @ direction


def _finite(numbers: Floats) -> Floats:
    return np.where(np.isfinite(numbers), numbers, 0.0)
