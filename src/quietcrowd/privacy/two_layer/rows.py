"""Distribution of the loss about all answers of a worker, if one drawn weight serves them.

All pairs of rows that differ in d places have one distribution of the loss, the same in both
directions. ``research/docs/theory/two-layer.md``.
"""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.privacy.loss import LossDistribution
from quietcrowd.privacy.loss_grid import LossGrid

_UNIT = 2.0**-52
_MOST_OUTCOMES = 2**24
"""Largest number of outcomes for all d together, about half a second."""

_PIECES = 2047
"""Grid steps of the largest loss; with one more it is a power of two."""


@frozen(kw_only=True, eq=False)
class RowChances:
    """Probabilities of rows of reports, by the number of agreements with the row of answers.

    `lower` and `upper` bound ln of the probability of one row of n reports with 0 to n agreements,
    shape (n + 1,). `labels` is the number of values of a report. `epsilon` bounds the loss between
    any two rows of answers, by any reports.
    """

    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    labels: int
    epsilon: float

    @property
    def answers(self) -> int:
        """The number n of answers."""
        return len(self.upper) - 1

    @property
    def can_be_listed(self) -> bool:
        """Whether the distributions of all d are small enough to list, and epsilon is positive."""
        return self.outcomes <= _MOST_OUTCOMES and self.epsilon > 0

    @property
    def outcomes(self) -> int:
        """Total number of outcomes of the distributions of all d."""
        n = self.answers
        pairs = np.arange(1.0, n + 1)
        of_these = pairs + 1 if self.labels == 2 else (pairs + 1) * (pairs + 2) / 2
        return int((of_these * (n - pairs + 1)).sum())


def own_row_distributions(chances: RowChances) -> Iterator[LossDistribution]:
    """Yield the loss distribution of two rows that differ in d places, for d from 1 to n.

    Masses and losses are upper bounds for exactly this pair. So the mass above x bounds the
    probability of a loss above x.
    """
    for differing in range(1, chances.answers + 1):
        yield _own_distribution(chances, differing)


def _own_distribution(chances: RowChances, differing: int) -> LossDistribution:
    """Return the loss distribution of two rows of answers that differ in `differing` places.

    There, `one` reports agree with the first row, `other` with the second, the rest with neither.
    In the other places, `both` agree with both rows.
    """
    n, labels = chances.answers, chances.labels
    if labels == 2:
        one = np.arange(differing + 1)
        other = differing - one
    else:
        one, other = np.nonzero(np.tri(differing + 1, dtype=np.bool_)[::-1])
    neither = differing - one - other
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, n + 1)))])  # of factorials
    ways = logs[differing] - logs[one] - logs[other] - logs[neither]
    ways += neither * math.log(max(1, labels - 2))
    both = np.arange(n - differing + 1)
    ways_of_both = logs[n - differing] - logs[both] - logs[n - differing - both]
    ways_of_both += (n - differing - both) * math.log(labels - 1)
    first = chances.upper[one[:, np.newaxis] + both]
    losses = first - chances.lower[other[:, np.newaxis] + both]
    masses = np.exp(ways[:, np.newaxis] + ways_of_both + first) * (1 + 1e-11 * (n + 1))
    return LossDistribution(
        masses=masses.ravel(),
        losses=np.minimum(losses.ravel(), chances.epsilon),
        epsilon=chances.epsilon,
    )


def row_distribution(chances: RowChances) -> LossDistribution | None:
    """Return a loss distribution that dominates any two rows; None if it takes too long.

    Deltas are convex in ``exp(epsilon)``. The result's delta is piecewise linear there and at least
    the delta of every d, so it dominates all pairs of rows, also in compositions.
    """
    if not chances.can_be_listed:
        return None
    step = chances.epsilon / _PIECES * (1 + 1e-12)
    table = np.zeros((2 * _PIECES + 3, chances.answers))  # places from -_PIECES - 1 on
    for place, distribution in enumerate(own_row_distributions(chances)):
        on_grid = LossGrid.of_distribution(distribution, step)
        start = on_grid.first + _PIECES + 1
        table[start : start + len(on_grid.masses), place] = on_grid.masses
    places = (np.arange(float(len(table))) - _PIECES - 1) * step
    return LossDistribution(
        masses=_covering(table, step),
        losses=places + 2 * _UNIT * np.abs(places),
        epsilon=(_PIECES + 1) * step,
        pure_epsilon=chances.epsilon,
    )


def _covering(table: npt.NDArray[np.float64], step: float) -> npt.NDArray[np.float64]:
    """Return masses on a grid with a delta, at each place, of at least that of every column.

    From the top: with ``beyond`` the sum of ``mass * exp(place - its loss)`` above a place, delta
    grows by ``(1 - exp(-step)) * (beyond + mass)`` from a place to the one below.
    """
    ratio, part = math.exp(-step), -math.expm1(-step)
    deltas, beyond = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    masses = np.zeros(len(table))
    delta, own_beyond = 0.0, 0.0
    for place in range(len(table) - 1, 0, -1):
        beyond += table[place]
        deltas += part * beyond
        beyond *= ratio
        needed = (float(deltas.max()) * (1 + 16 * _UNIT) - delta) / part - own_beyond
        masses[place] = max(0.0, needed)
        delta += part * (own_beyond + masses[place])
        own_beyond = (own_beyond + masses[place]) * ratio
    masses[0] = max(0.0, 1 - masses.sum())
    return masses * (1 + 16 * len(table) * _UNIT)
