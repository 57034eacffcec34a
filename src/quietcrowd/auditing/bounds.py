"""Lower bounds on privacy loss that samples prove (``research/docs/audit.md``).

A quarter of the samples selects statistic, learned parameters, side and threshold. Clopper-Pearson
bounds on the others prove a ratio, so the selection adds nothing to the risk of being wrong.

Large losses depend on rare events, so both sides are also counted together. For a positive c, a
score of at least c guesses one input, of at most -c the other. If each input's samples are
(epsilon, delta)-private, the mean probabilities r of a right and w of a wrong guess satisfy
``r <= exp(epsilon) w + delta``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_proportion, check_real

Floats: TypeAlias = npt.NDArray[np.float64]
Score: TypeAlias = Callable[[Floats], Floats]
"""From numbers of samples, shape (samples, numbers), to one score each, shape (samples,)."""

CUTS = 400

CHOOSING = 4
"""One sample in this many is used for selection."""

LEAST_SAMPLES = 2 * CHOOSING
"""Enough to learn, to select and to prove."""

BOTH = 2
"""Position of the way to guess that counts the samples of both distributions together."""

MOST_RISK = 0.25
"""Largest risk of one limit; see `_Counts.limits`."""

_DUST = 1e-9
"""Scores that differ by less count as equal."""


@frozen(kw_only=True, eq=False)
class Statistic:
    """Scores of independent samples of two distributions, or numbers to learn a score from.

    `one` and `other` are scores, shape (samples,), or numbers, shape (samples, numbers), if `learn`
    learns a score from samples of either distribution. With `by_distribution`, scores are
    log-likelihood ratios under the public distributions. Then rare events of one side are predicted
    from the other side, for selection only, not for proofs. `name` follows "by".
    """

    name: str
    one: Floats
    other: Floats
    learn: Callable[[Floats, Floats], Score] | None = None
    by_distribution: bool = False

    def __attrs_post_init__(self) -> None:
        for side in (self.one, self.other):
            if len(side) < LEAST_SAMPLES:
                raise ParameterError("privacy.too-few-draws", count=len(side))
            if self.learn is None and np.isnan(side).any():
                raise ParameterError("privacy.score-is-nan", name=self.name)

    def scores(self) -> tuple[list[Floats], list[Floats]]:
        """Return scores of either side, of samples for selection and of samples for proofs.

        A learned score uses half of the first for learning, and is scored on the other half.
        """
        sides = (self.one, self.other)
        prove = [np.delete(side, np.s_[::CHOOSING], axis=0) for side in sides]
        choose = [side[::CHOOSING] for side in sides]
        if self.learn is None:
            return choose, prove
        score = self.learn(*(side[::2] for side in choose))
        return [score(side[1::2]) for side in choose], [score(side) for side in prove]


@frozen
class _Counts:
    hits: npt.NDArray[Any]
    of: npt.NDArray[Any]
    false_hits: npt.NDArray[Any]
    false_of: npt.NDArray[Any]

    def limits(self, risk: float) -> tuple[Floats, Floats]:
        """Return Clopper-Pearson bounds, lower for the first probability, upper for the second.

        Each is wrong with a probability of at most `risk`, which is at most 1/4. This also holds if
        the samples of a side have two probabilities and the bound is for their mean.

        Let c be at most the mean of a sum of independent events minus 1. Then the sum is at most c
        no more probably than a binomial number of the same mean (Hoeffding, Annals of Mathematical
        Statistics 1956, Theorem 4). A binomial number that is at most c with a probability of 1/4
        or less has a mean of at least c + 1, unless all samples except one are expected to be hits
        (Greenberg and Mohri, "Tight lower bound on the probability of a binomial exceeding its
        expectation", 2014). So the bound is trivial for all hits except one, and for a single hit.
        """
        from scipy.special import betaincinv

        low = np.where(
            self.hits > 1,
            betaincinv(np.maximum(self.hits, 1), self.of - self.hits + 1.0, risk),
            0.0,
        )
        missed = self.false_of - self.false_hits
        high = np.where(
            missed > 1,
            betaincinv(self.false_hits + 1.0, np.maximum(missed, 1), 1 - risk),
            1.0,
        )
        return low, high

    def at(self, places: npt.NDArray[np.intp]) -> _Counts:
        return _Counts(
            self.hits[places], self.of[places], self.false_hits[places], self.false_of[places]
        )


@frozen
class Comparison:
    """Counts of samples of two distributions, for every statistic, way to guess and cut.

    `chosen` and `proof` count the samples for selection and for proofs. Selection scales the counts
    of unlearned scores to the size of the proof. There are many learned scores, which keep their
    real counts, or the luckiest would be selected. Scores by a distribution are counted twice: as
    predicted by it, and unscaled as observed. `statistics` are positions of statistics.
    """

    chosen: _Counts
    proof: _Counts
    statistics: npt.NDArray[np.intp]


def compare(statistics: Sequence[Statistic]) -> Comparison:
    """Return the counts by which one of several statistics is selected and proves a bound.

    The statistics are of the same samples in the same order, or of independent ones.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> scores = [(rng.random(10_000) < chance).astype(float) for chance in (0.75, 0.25)]
    >>> epsilon, _ = proven_epsilon(
    ...     compare([Statistic(name="scores", one=scores[0], other=scores[1])]), confidence=0.99
    ... )
    >>> 0.9 < epsilon < 1.0986  # ln 3
    True
    """
    columns: list[tuple[npt.NDArray[Any], ...]] = []
    for number, statistic in enumerate(statistics):
        both = len(statistic.one) == len(statistic.other)
        ways = zip(*(_ways(*sides, both=both) for sides in statistic.scores()), strict=True)
        for place, (choose, prove) in enumerate(ways):
            left, right = choose
            cuts = _cuts(np.concatenate([left, right]))
            if place == BOTH:
                cuts = cuts[cuts > 0]
            proof = [count for side in prove for count in _count(side, cuts)]
            choices = _choices(statistic, left, right, cuts)
            columns += [(*chosen, *proof, np.full(len(cuts), number)) for chosen in choices]
    rows = [np.concatenate(parts) for parts in zip(*columns, strict=True)]
    return Comparison(_Counts(*rows[:4]), _Counts(*rows[4:8]), rows[8])


def _ways(one: Floats, other: Floats, *, both: bool) -> list[tuple[Floats, Floats]]:
    """Return scores of right and of wrong guesses, for each way to guess.

    The guess is the first distribution, the second or, with `both`, either; that needs equally many
    samples.
    """
    ways = [(one, other), (-other, -one)]
    if both:
        ways.append((np.concatenate([one, -other]), np.concatenate([other, -one])))
    return ways


def _choices(
    statistic: Statistic, left: Floats, right: Floats, cuts: Floats
) -> list[list[npt.NDArray[Any]]]:
    """Return counts for selection, once for each way to count; see `Comparison`."""
    hits, misses = list(_count(left, cuts)), list(_count(right, cuts))
    as_many = CHOOSING - 1
    if statistic.by_distribution:
        foreseen = [as_many * count for count in (*hits, *_foreseen(left, right, cuts))]
        return [foreseen, [*hits, *misses]]
    return [[(1 if statistic.learn else as_many) * count for count in (*hits, *misses)]]


def _cuts(scores: Floats) -> Floats:
    ordered = np.sort(scores)
    values = np.unique(ordered)
    if len(values) > CUTS:
        values = np.unique(ordered[np.linspace(0, len(ordered) - 1, CUTS).astype(np.intp)])
    size = np.abs(np.where(np.isfinite(values), values, 0.0))
    return np.unique(values - _DUST * (1 + size))


def _count(scores: Floats, cuts: Floats) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Count the scores that reach each cut, and all scores."""
    reached = len(scores) - np.searchsorted(np.sort(scores), cuts)
    return reached, np.full_like(reached, len(scores))


def _foreseen(left: Floats, right: Floats, cuts: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the expected number of right-side scores that reach each cut, and of all.

    ``Q(L >= c)`` is the mean under P of ``exp(-L)`` over ``L >= c``. It is used above 0, where no
    weight exceeds 1; below, samples of Q are counted.
    """
    ordered = np.sort(left[left > 0])
    tails = np.concatenate([np.cumsum(np.exp(-ordered[::-1]))[::-1], [0.0]])
    above = tails[np.searchsorted(ordered, cuts)] * (len(right) / len(left))
    return above + _count(np.where(right > 0, -np.inf, right), cuts)[0], _count(right, cuts)[1]


def proven_epsilon(
    comparison: Comparison, confidence: float, delta: float = 0.0
) -> tuple[float, int]:
    """Return a lower bound on the least epsilon for which the pair (epsilon, delta) holds.

    It is valid with a probability of at least `confidence`. The second result is the position of
    the statistic that proves it. Sources: C. J. Clopper, E. S. Pearson, Biometrika 1934; M.
    Jagielski et al., NeurIPS 2020, section 4.
    """
    check_real("delta", delta, 0)
    if delta > 1:
        raise ParameterError("privacy.delta-too-large", delta=delta)

    def gain(low: Floats, high: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(low - delta, 0.0)) - np.log(high)

    bound, statistic = _bounds(comparison, confidence, [gain])
    return max(0.0, float(bound[0])), int(statistic[0])


def proven_deltas(comparison: Comparison, confidence: float, epsilons: Floats) -> Floats:
    """Return a lower bound on delta at each epsilon, which may be infinite; see `proven_epsilon`.

    Each is valid with the `confidence`, not all of them together.
    """
    if np.isnan(epsilons).any():
        raise ParameterError("privacy.epsilons-not-numbers", epsilons=epsilons)

    def gain_at(factor: float) -> Callable[[Floats, Floats], Floats]:
        return lambda low, high: low - factor * high

    with np.errstate(over="ignore"):
        gains = [gain_at(factor) for factor in np.exp(epsilons)]
    return np.maximum(_bounds(comparison, confidence, gains)[0], 0.0)


def _bounds(
    comparison: Comparison, confidence: float, gains: list[Callable[[Floats, Floats], Floats]]
) -> tuple[Floats, npt.NDArray[np.intp]]:
    check_proportion("confidence", confidence)
    risk = min((1 - confidence) / 2, MOST_RISK)
    guess = comparison.chosen.limits(risk)
    best = np.array([int(np.argmax(gain(*guess))) for gain in gains])
    low, high = comparison.proof.at(best).limits(risk)
    values = [float(gain(low[[place]], high[[place]])[0]) for place, gain in enumerate(gains)]
    return np.array(values), comparison.statistics[best]
