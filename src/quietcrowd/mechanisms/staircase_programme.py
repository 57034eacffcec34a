"""The table of weights that is worth most among those of a privacy loss: a linear programme.

Where a table's worth is a sum over its columns, and that of a column grows in proportion to it and
is convex, some best table has staircase columns alone: a factor times 1 or ``exp(epsilon)`` (P.
Kairouz, S. Oh and P. Viswanath, JMLR 17 (2016), Theorem 2 and 4). Which answers have the larger
weight is one of ``2**k - 2`` sets, so what is left to find is a factor of each: a linear programme
with k equations. It is solved in floats, and rounded to integers whose loss is not above epsilon.
Derivation and checks: ``docs/theory/optimal-channel.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channel import TOTAL, Floats, other_weight_for
from quietcrowd.privacy.rounding import exp_of

__all__ = ["MOST_ANSWERS", "MOST_REPORTS", "best_staircase"]

MOST_ANSWERS = 12
"""There are ``2**k - 2`` columns to choose from."""

MOST_REPORTS = 64
"""So many columns a campaign can take in."""

_NEGLIGIBLE = 1e-6
"""A column of a smaller probability is left out: the solver does not tell it from 0."""

_FINEST = 1e-4
"""For smaller losses columns are worth in proportion what they are for this one: no float tells
more of them."""

_AS_GOOD = 1 - 1e-9
"""A table worth such a share of the best one may be taken because it is fairer."""

_AS_FAIR = 0.95
"""And one that is so fair because it has fewer reports."""

_STRIDE = 97
"""Costs that tell columns from each other, so that few of them are taken."""

Members = npt.NDArray[np.bool_]


def best_staircase(
    worth: Callable[[Floats], Floats], answers: int, epsilon: float, *, apart: float
) -> npt.NDArray[np.int64]:
    """Return the weights of the table that is worth most.

    Of several that are it is one under which the two answers that are hardest to tell apart are
    told apart most, if it has at most `MOST_REPORTS` reports.

    Parameters
    ----------
    worth : callable
        Takes columns, shape (answers, columns), and gives what each is worth, shape (columns,):
        convex, and twice as much for twice the column.
    answers : int
        2 to `MOST_ANSWERS`.
    epsilon : float
        Largest loss, 0 to 16.
    apart : float
        0 to 1: how far the reports of any two answers are apart at least, as a share of how far
        they are under randomised response. (Information of every kind that tells two rows from each
        other, as Chernoff's, is proportional to what the factors of the columns sum to that speak
        for one alone of the two.)

    Returns
    -------
    ndarray of int64, shape (answers, reports)
        Rows sum to 2^32. The ratio of two weights in a column is at most ``exp(epsilon)``, exactly.

    Raises
    ------
    ParameterError
        Where the programme is not solved.
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
    """Return all sets of answers but none and all, shape (answers, sets); smaller ones first."""
    codes = np.arange(1, 2**answers - 1)
    members: Members = (codes >> np.arange(answers)[:, np.newaxis]) % 2 == 1
    return members[:, np.lexsort((codes, members.sum(axis=0)))]


@frozen(kw_only=True, eq=False, slots=False)
class _Programme:
    """Which factor each column has: its largest weight.

    Attributes
    ----------
    gains : ndarray of float64, shape (sets,)
        What a column of factor 1 is worth.
    members : ndarray of bool, shape (answers, sets)
        Which answers have the larger weight in a column.
    epsilon : float
        The loss.
    apart : float
        As of `best_staircase`.
    """

    gains: Floats
    members: Members
    epsilon: float
    apart: float

    @cached_property
    def equations(self) -> Floats:
        """The coefficients of all factors, and of their `share`, shape (answers + 1, sets + 1).

        Rows of the table sum to 1 where all answers lie in sets of the same total factor, that
        share, and ``exp(-epsilon)`` times all factors and ``1 - exp(-epsilon)`` times the share
        sum to 1. So written the equations differ however small the loss is.
        """
        answers, sets = self.members.shape
        inside = np.vstack((self.members, np.full(sets, math.exp(-self.epsilon))))
        share = np.append(np.full(answers, -1.0), -math.expm1(-self.epsilon))
        return np.column_stack((inside, share))

    @cached_property
    def parted(self) -> Floats:
        """1 where a column speaks for one alone of two answers, shape (pairs, sets)."""
        pairs = combinations(range(len(self.members)), 2)
        return np.array([self.members[a] != self.members[b] for a, b in pairs], np.float64)

    @property
    def least_parted(self) -> float:
        """What the factors of such columns sum to at least, for each pair.

        Those of randomised response, whose columns speak for one answer each, sum to
        ``2 / (1 + (k - 1) exp(-epsilon))``.
        """
        return self.apart * 2 / (1 + (len(self.members) - 1) * math.exp(-self.epsilon))

    def factors(self) -> Floats:
        """Return the fairest factors of those that are worth most, shape (sets,).

        Fair is the least that the factors of columns sum to that part two answers.
        """
        worth_most = np.append(-self.gains, [0.0, 0.0])
        best = self._solved(worth_most, 0.0, self.least_parted)
        if best is None:
            raise ParameterError(
                "the linear programme of the best channel was not solved: take another epsilon or "
                "another prior, or give weights"
            )
        worth = _AS_GOOD * float(self.gains @ best[:-2])
        fairest = self._solved(np.append(0.0 * worth_most[:-1], -1.0), worth, self.least_parted)
        if fairest is None:
            return best[:-2]
        if np.count_nonzero(fairest[:-2] > _NEGLIGIBLE) <= MOST_REPORTS:
            return fairest[:-2]
        # Any that are nearly as fair: there are fewer columns where fewer pairs are tight.
        any_costs = np.append(np.arange(len(self.gains)) % _STRIDE, [0.0, 0.0])
        nearly = max(_AS_FAIR * float(fairest[-1]), self.least_parted)
        simpler = self._solved(any_costs, worth, nearly)
        return best[:-2] if simpler is None else simpler[:-2]

    def _solved(self, costs: Floats, worth: float, least_parted: float) -> Floats | None:
        """Return the factors of least cost, then their share, and how far every pair is parted.

        They are worth so much at least, and part so far at least. None: there is no solution.
        """
        from scipy.optimize import linprog  # heavy: no device needs it that is given its weights

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
        """Return which columns are not negligible, and their factors, by which rows sum to 1."""
        chosen = factors > _NEGLIGIBLE
        left = self.equations[:, np.append(chosen, True)]
        sums = np.append(np.zeros(len(left) - 1), 1.0)
        kept = np.append(factors[chosen], 0.0)
        kept[-1] = (1.0 - left[-1] @ kept) / left[-1, -1]
        change = np.linalg.lstsq(left, sums - left @ kept, rcond=None)[0]
        return chosen, np.maximum(kept + change, 0.0)[:-1]


def _whole(members: Members, factors: Floats, epsilon: float) -> npt.NDArray[np.int64] | None:
    """Return integers near the columns, whose rows sum to 2^32 and that lose at most epsilon.

    None where the loss is so small that there are none.

    In each column the least weight is its factor, rounded up, and the largest is at most
    ``exp(epsilon)`` times that, rounded down. Between the two every row is brought to its sum.
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
    """Return weights that sum to 2^32: the largest are changed first, within their bounds.

    None where the bounds do not allow it.
    """
    missing = TOTAL - sum(weights)
    for place in sorted(range(len(weights)), key=lambda i: -weights[i]):
        room = (most if missing > 0 else least)[place] - weights[place]
        change = min(missing, room) if missing > 0 else max(missing, room)
        weights[place] += change
        missing -= change
    return None if missing else weights
