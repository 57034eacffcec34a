"""Linear program for the most informative table of weights at a privacy loss.

If a table's worth is a sum over its columns, proportional to each and convex, some best table has
only staircase columns: a factor times 1 or ``exp(epsilon)`` (P. Kairouz, S. Oh and P. Viswanath,
JMLR 17 (2016), Theorems 2 and 4). One of ``2**k - 2`` sets of answers has the larger weight, so the
unknowns are a factor for each set, with k equations. The solution in floats is rounded to integers
with a loss of at most epsilon. Derivation and checks: ``research/docs/theory/optimal-channel.md``.
"""

import math
from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.base import TOTAL, other_weight_for
from quietcrowd.mechanisms.channels.noise import Floats
from quietcrowd.privacy.rounding import exp_of

MOST_ANSWERS = 12
"""The program has ``2**k - 2`` columns."""

MOST_REPORTS = 64
"""Largest number of columns that a campaign accepts."""

_NEGLIGIBLE = 1e-6
"""Columns of a smaller probability are dropped: the solver cannot distinguish it from 0."""

_FINEST = 1e-4
"""Smaller losses use the gains at this one: they are proportional, and floats resolve no more."""

_AS_GOOD = 1 - 1e-9
"""A table with this fraction of the best worth may be chosen because it is fairer."""

_AS_FAIR = 0.95
"""A table with this fraction of the best fairness may be chosen because it has fewer reports."""

_STRIDE = 97
"""Varies the costs of columns, so that few of them are chosen."""

Members = npt.NDArray[np.bool_]


def best_staircase(
    worth: Callable[[Floats], Floats], answers: int, epsilon: float, *, apart: float
) -> npt.NDArray[np.int64]:
    """Return the weights of the table of greatest worth, shape (answers, reports).

    Rows sum to 2^32. The ratio of two weights in a column is at most ``exp(epsilon)``, exactly.
    Among the best tables it is one that best separates the two answers that are hardest to
    distinguish, if it has at most `MOST_REPORTS` reports.

    `worth` maps columns, shape (answers, columns), to the worth of each, shape (columns,); it is
    convex and proportional to the scale of a column. `epsilon` is 0 to 16. `apart` is the least
    separation of any two answers, as a fraction, 0 to 1, of that of randomized response. Separation
    is the sum of the factors of columns that support only one of the two. All information that
    distinguishes two rows, such as Chernoff's, is proportional to it.
    """
    if other_weight_for(answers, epsilon) * answers < TOTAL:
        members = _sets(answers)
        gains = worth(np.where(members, 1.0, math.exp(-max(epsilon, _FINEST))))
        if gains.max() > 0:
            programme = _Programme(
                gains=gains / gains.max(), members=members, epsilon=epsilon, apart=apart
            )
            chosen, factors = programme.without_dust(programme.factors())
            found = _whole(members[:, chosen], factors * math.exp(-epsilon), epsilon)
            if found is not None:
                return found
    even = [TOTAL // answers + (place < TOTAL % answers) for place in range(answers)]
    return np.tile(np.array(even, np.int64), (answers, 1))


def _sets(answers: int) -> Members:
    """Return all sets of answers except none and all, shape (answers, sets); smaller ones first."""
    codes = np.arange(1, 2**answers - 1)
    members: Members = (codes >> np.arange(answers)[:, np.newaxis]) % 2 == 1
    return members[:, np.lexsort((codes, members.sum(axis=0)))]


@frozen(kw_only=True, eq=False, slots=False)
class _Programme:
    """Linear program for the factor, the largest weight, of each column.

    `gains`, shape (sets,), is the worth of each column of factor 1. `members`, bool of shape
    (answers, sets), marks the answers with the larger weight. For `apart` see `best_staircase`.
    """

    gains: Floats
    members: Members
    epsilon: float
    apart: float

    @cached_property
    def equations(self) -> Floats:
        """Coefficients of all factors and of their `share`, shape (answers + 1, sets + 1).

        Rows of the table sum to 1 under two conditions. Sets with any given answer have the same
        total factor, the share. ``exp(-epsilon)`` times all factors and ``1 - exp(-epsilon)`` times
        the share sum to 1. In this form the equations differ however small the loss is.
        """
        answers, sets = self.members.shape
        inside = np.vstack((self.members, np.full(sets, math.exp(-self.epsilon))))
        share = np.append(np.full(answers, -1.0), -math.expm1(-self.epsilon))
        return np.column_stack((inside, share))

    @cached_property
    def parted(self) -> Floats:
        """1 if a column supports only one of two answers, shape (pairs, sets)."""
        pairs = combinations(range(len(self.members)), 2)
        return np.array([self.members[a] != self.members[b] for a, b in pairs], np.float64)

    @property
    def least_parted(self) -> float:
        """Lower bound on the sum of the factors of such columns, for each pair.

        Columns of randomized response support one answer each, so the sum of two of its factors is
        ``2 / (1 + (k - 1) exp(-epsilon))``.
        """
        return self.apart * 2 / (1 + (len(self.members) - 1) * math.exp(-self.epsilon))

    def factors(self) -> Floats:
        """Return the fairest factors among those of greatest worth, shape (sets,).

        Fairness is the least sum, over pairs of answers, of the factors that separate them.
        """
        worth_most = np.append(-self.gains, [0.0, 0.0])
        best = self._solved(worth_most, 0.0, self.least_parted)
        if best is None:
            raise ParameterError("mechanisms.programme-unsolved")
        worth = _AS_GOOD * float(self.gains @ best[:-2])
        fairest = self._solved(np.append(0.0 * worth_most[:-1], -1.0), worth, self.least_parted)
        if fairest is None:
            return best[:-2]
        if np.count_nonzero(fairest[:-2] > _NEGLIGIBLE) <= MOST_REPORTS:
            return fairest[:-2]
        # Accept nearly as fair factors: with fewer tight pairs there are fewer columns.
        any_costs = np.append(np.arange(len(self.gains)) % _STRIDE, [0.0, 0.0])
        nearly = max(_AS_FAIR * float(fairest[-1]), self.least_parted)
        simpler = self._solved(any_costs, worth, nearly)
        return best[:-2] if simpler is None else simpler[:-2]

    def _solved(self, costs: Floats, worth: float, least_parted: float) -> Floats | None:
        """Return the factors of least cost, their share and the least separation, or None.

        Their worth is at least `worth`, and the separation of every pair at least `least_parted`.
        """
        from scipy.optimize import linprog  # slow to import, and unused if weights are given

        answers, sets = self.members.shape
        bounds = np.zeros((1 + len(self.parted), sets + 2))
        bounds[:, :sets] = np.vstack((-self.gains, -self.parted))
        bounds[1:, -1] = 1.0
        result = linprog(
            costs,
            A_eq=np.column_stack((self.equations, np.zeros(answers + 1))),
            b_eq=np.append(np.zeros(answers), 1.0),
            A_ub=bounds,
            b_ub=np.append(-worth, np.zeros(len(self.parted))),
            bounds=[(0.0, None)] * (sets + 1) + [(least_parted, None)],
            method="highs-ds",
        )
        found: Floats | None = result.x if result.status == 0 else None
        return found

    def without_dust(self, factors: Floats) -> tuple[npt.NDArray[np.bool_], Floats]:
        """Return which columns are not negligible, and their factors, for which rows sum to 1."""
        chosen = factors > _NEGLIGIBLE
        left = self.equations[:, np.append(chosen, True)]
        sums = np.append(np.zeros(len(left) - 1), 1.0)
        kept = np.append(factors[chosen], 0.0)
        kept[-1] = (1.0 - left[-1] @ kept) / left[-1, -1]
        change = np.linalg.lstsq(left, sums - left @ kept, rcond=None)[0]
        return chosen, np.maximum(kept + change, 0.0)[:-1]


def _whole(members: Members, factors: Floats, epsilon: float) -> npt.NDArray[np.int64] | None:
    """Return integers near the columns, with rows that sum to 2^32 and a loss of at most epsilon.

    None if the loss is too small for integers. In each column the least weight is its factor,
    rounded up, and the largest at most ``exp(epsilon)`` times that, rounded down. Between the two
    every row is adjusted to its sum.
    """
    least = [math.ceil(factor * TOTAL) for factor in factors.tolist()]
    with localcontext(Context(prec=60, rounding=ROUND_FLOOR)):
        power = exp_of(Decimal(epsilon))
        most = [int(power * weight) for weight in least]
        wanted = [int(power * Decimal(factor) * TOTAL) for factor in factors.tolist()]
    rows = []
    for row in members.tolist():
        weights = [
            min(max(wanted[place], low), most[place]) if inside else low
            for place, (inside, low) in enumerate(zip(row, least, strict=True))
        ]
        summed = _with_sum(weights, least, most)
        if summed is None:
            return None
        rows.append(summed)
    return np.array(rows, np.int64)


def _with_sum(weights: list[int], least: list[int], most: list[int]) -> list[int] | None:
    """Return weights changed within their bounds, largest first, to sum to 2^32, or None."""
    missing = TOTAL - sum(weights)
    for place in sorted(range(len(weights)), key=lambda i: -weights[i]):
        room = (most if missing > 0 else least)[place] - weights[place]
        change = min(missing, room) if missing > 0 else max(missing, room)
        weights[place] += change
        missing -= change
    return None if missing else weights
