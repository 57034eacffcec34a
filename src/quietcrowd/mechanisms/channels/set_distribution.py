"""Distribution of a set of labels that contains the answer more often than other labels.

Every set of d of k labels that contains the answer has one integer weight, every other set another.
Derivation and checks: ``research/docs/theory/subset-selection.md``.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.randomness import WordSource, uniform_integers
from quietcrowd.privacy.loss import LossDistribution
from quietcrowd.privacy.rounding import exp_of, log_ratio_up
from quietcrowd.report_domains import MOST_SETS, ranks_of, sets_of
from quietcrowd.validation import whole_number

TOTAL = 2**32
"""Upper bound on `SetDistribution.total`."""

_BLOCK = 2**14
_DIGITS = Context(prec=60)


def best_members(labels: int, epsilon: float) -> int:
    """Return the best number of labels in a set, with at most 2^53 sets.

    It minimizes ``(d exp(epsilon) + k - d)^2 / (d (k - d))``, to which the mean squared error of
    estimated frequencies is proportional; it is near ``k / (1 + exp(epsilon))`` (Ye and Barg, see
    `SubsetSelection`).

    Examples
    --------
    >>> best_members(20, 1.0), best_members(20, 3.0), best_members(2, 1.0)
    (5, 1, 1)
    """
    possible = [size for size in range(1, labels) if _is_countable(labels, size)]
    return min(possible, key=lambda size: _error(labels, size, epsilon))


def _is_countable(labels: int, members: int) -> bool:
    """Return whether there are at most 2^53 sets, without computing a huge number."""
    few = min(members, labels - members)
    return few <= MOST_SETS.bit_length() and math.comb(labels, few) <= MOST_SETS


def _error(labels: int, members: int, epsilon: float) -> float:
    others = labels - members
    return (members * math.exp(epsilon) + others) ** 2 / (members * others)


@frozen(kw_only=True, slots=False)
class SetDistribution:
    """Distribution of a set of labels given the answer.

    There are `labels` labels, `members` of them in a set. A set that contains the answer has the
    weight `inside`, each other set `outside`.

    Examples
    --------
    >>> distribution = SetDistribution(labels=4, members=2, inside=3, outside=1)
    >>> distribution.count, distribution.held, distribution.epsilon
    (6, Fraction(3, 4), 1.0986122886681098)
    """

    labels: int = field(validator=whole_number(2))
    members: int = field(validator=whole_number(1))
    inside: int = field(validator=whole_number(1))
    outside: int = field(validator=whole_number(1))

    def __attrs_post_init__(self) -> None:
        if self.members >= self.labels:
            raise ParameterError(
                "mechanisms.set-too-large", labels=self.labels, members=self.members
            )
        if not _is_countable(self.labels, self.members):
            raise ParameterError(
                "mechanisms.too-many-sets", members=self.members, labels=self.labels
            )
        if self.inside < self.outside or self.total > TOTAL:
            raise ParameterError(
                "mechanisms.set-weights-invalid", inside=self.inside, outside=self.outside
            )

    @classmethod
    def of_epsilon(cls, labels: int, members: int, epsilon: float) -> SetDistribution:
        """Return the distribution with a loss of at most `epsilon`, rounded towards more noise."""
        others = labels - members
        ratio = exp_of(Decimal(epsilon))
        parts = _DIGITS.add(Decimal(members), _DIGITS.divide(Decimal(others), ratio))
        inside = int(_DIGITS.divide(Decimal(TOTAL - others), parts))
        outside = math.ceil(_DIGITS.divide(Decimal(inside), ratio))
        if outside >= inside:
            inside = outside = 1
        return cls(labels=labels, members=members, inside=inside, outside=outside)

    @property
    def total(self) -> int:
        """Sum of the weights over the places that the answer may have: members, and others."""
        return self.members * self.inside + (self.labels - self.members) * self.outside

    @property
    def count(self) -> int:
        """Number of sets."""
        return math.comb(self.labels, self.members)

    @property
    def held(self) -> Fraction:
        """Probability that a set contains the answer."""
        return Fraction(self.members * self.inside, self.total)

    @property
    def held_other(self) -> Fraction:
        """Probability that a set contains a given other label."""
        return (self.members - self.held) / (self.labels - 1)

    @property
    def parted(self) -> tuple[Fraction, Fraction]:
        """Probabilities that a set has the answer and not a given other label, and the reverse."""
        parts = Fraction(
            self.members * (self.labels - self.members), (self.labels - 1) * self.total
        )
        return self.inside * parts, self.outside * parts

    @property
    def ratio(self) -> Fraction:
        """Ratio of the probabilities of a set given an answer in it and given one outside."""
        return Fraction(self.inside, self.outside)

    @cached_property
    def epsilon(self) -> float:
        """Privacy loss of one report: ln of `ratio`, rounded up."""
        return log_ratio_up(self.ratio)

    @cached_property
    def logs(self) -> tuple[float, float]:
        """``ln P(set | answer)`` of a set that contains the answer, and of one that does not."""
        parts = (self.labels * weight for weight in (self.inside, self.outside))
        of_all = self.count * self.total
        inside, outside = (_log(Fraction(part, of_all)) for part in parts)
        return inside, outside

    def loss_distribution(self) -> LossDistribution:
        """Return the loss distribution of one answer, the same for all pairs of answers."""
        return _loss_distribution(self)

    def log_likelihood(
        self, reports: npt.NDArray[Any], answers: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return ``ln P(report | answer)``; see `Channel.log_likelihood`."""
        sets = sets_of(np.ravel(reports), self.labels, self.members)
        sets = sets.reshape(*np.shape(reports), self.members)
        held = (sets == np.asarray(answers)[..., np.newaxis]).any(axis=-1)
        inside, outside = self.logs
        return np.where(held, inside, outside)

    def sample(self, answers: npt.NDArray[Any], words: WordSource) -> npt.NDArray[np.int64]:
        """Draw the number of a set for each answer code, shape (n,).

        The answer is placed first, then uniform draws fill the next places from the other labels.
        The set begins with the answer or after it. This takes two words for whether the set
        contains the answer, and two for every member. A 64-bit number that does not fit is redrawn,
        independently of the answer.
        """
        reports = np.empty(len(answers), np.int64)
        for start in range(0, len(answers), _BLOCK):
            block = slice(start, start + _BLOCK)
            reports[block] = self._draw(answers[block].astype(np.int64), words)
        return reports

    def _draw(self, answers: npt.NDArray[np.int64], words: WordSource) -> npt.NDArray[np.int64]:
        count, rows = len(answers), np.arange(len(answers))
        drawn = uniform_integers(words, 0, self.total - 1, count)
        without = (drawn >= np.uint64(self.members * self.inside)).astype(np.int64)
        places = np.tile(np.arange(self.labels), (count, 1))
        places[rows, answers] = 0
        places[:, 0] = answers
        for place in range(1, self.members + 1):
            chosen = uniform_integers(words, place, self.labels - 1, count).astype(np.int64)
            here = places[:, place].copy()
            places[:, place] = places[rows, chosen]
            places[rows, chosen] = here
        taken = without[:, np.newaxis] + np.arange(self.members)
        return ranks_of(np.sort(places[rows[:, np.newaxis], taken], axis=1), self.labels)


@lru_cache(maxsize=64)
def _loss_distribution(distribution: SetDistribution) -> LossDistribution:
    one, other = distribution.parted
    rest = 1 - one - other
    return LossDistribution.of_pair(
        np.array([one, other, rest], np.float64),
        np.array([other, one, rest], np.float64),
        distribution.epsilon,
        is_of_all_pairs=True,
    )


def _log(share: Fraction) -> float:
    """Return the logarithm of a fraction whose terms may exceed the range of floats."""
    return math.log(share.numerator) - math.log(share.denominator)
