"""GLAD: workers of different ability, tasks of different difficulty."""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd._core import infer_with_easiness
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.accuracies import OwnVotes, accuracy_histograms, no_histograms
from quietcrowd.inference.labels.model import CategoricalMethod
from quietcrowd.inference.labels.posteriors import probabilities, vote_counts
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import LabelEstimates, State, Tally, known_or_median

__all__ = ["GLAD", "AbilityState", "EasinessEstimates", "GladTally"]

PRIOR_ABILITY = 1.0
"""Mean of the normal prior of a worker's ability; its variance is 1."""

MOST_ABILITY = 20.0
"""Abilities stay within this of 0: 19 standard deviations of the prior."""

PRIOR_EASE = 1.0
"""Mean of the normal prior of a task's log-easiness; its variance is 1."""

MOST_EASE = 6.0
"""Log-easiness is at most this, and at least -4: 5 standard deviations of the prior either way."""

_MOST_BETA = math.exp(MOST_EASE)

_WORKER_UNIT = 2.0**34
"""Slopes up to ``_MOST_BETA / 2`` and curvatures up to ``_MOST_BETA**2 / 4`` are below 2^50."""

_REST_UNIT = 2.0**35
"""What an answer adds to the rest, up to ``2 MOST_ABILITY _MOST_BETA``, is below 2^50."""


@frozen(kw_only=True, eq=False)
class EasinessEstimates(LabelEstimates):
    """Estimated labels and how easy the tasks are.

    Attributes
    ----------
    truths, confidence, tied : ndarray
        See `LabelEstimates`.
    easiness : ndarray of float64
        One over the difficulty, beta of Whitehill et al., above 0.
    """

    easiness: npt.NDArray[np.float64]

    @classmethod
    @override
    def empty(cls, tasks: int, dtype: npt.DTypeLike) -> EasinessEstimates:
        return cls(
            truths=np.zeros(tasks, dtype),
            confidence=np.zeros(tasks, np.float64),
            tied=np.zeros(tasks, np.bool_),
            easiness=np.zeros(tasks, np.float64),
        )


@frozen(kw_only=True, eq=False)
class AbilityState(State):
    """How able each worker is believed to be.

    Attributes
    ----------
    ability : ndarray of int64, shape (workers,)
        alpha of Whitehill et al. in units of 2^-32; below 0 for a worker who is wrong more often
        than right.
    """

    ability: npt.NDArray[np.int64]

    @property
    def alpha(self) -> npt.NDArray[np.float64]:
        """Ability as a number, shape (workers,)."""
        return self.ability / integer_sums.ONE

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one is as able as the median of the known."""
        return type(self)(ability=self.ability[known_or_median(positions, self.ability)])


@frozen(kw_only=True, eq=False)
class GladTally(Tally):
    """A quadratic bound of the log-posterior as a function of the abilities, from below.

    Attributes
    ----------
    pulls, bends : ndarray of int64, shape (workers,)
        The bound is ``rest + sum_i pulls_i alpha_i - bends_i alpha_i^2 / 2``, in units of `GLAD`.
    rest : int
        See above.
    agreed : ndarray of int64, shape (workers,)
        Agreements with the estimates, as in `AgreementTally`; 0 in passes that estimate nothing.
    histograms : ndarray of int64
        As in `AgreementTally`.
    """

    pulls: npt.NDArray[np.int64]
    bends: npt.NDArray[np.int64]
    rest: int
    agreed: npt.NDArray[np.int64]
    histograms: npt.NDArray[np.int64] = field(factory=no_histograms)


@frozen(kw_only=True, slots=False)
class GLAD(
    CategoricalMethod[AbilityState, GladTally],
    IterativeInference[AbilityState, GladTally],
):
    """Whitehill et al.'s model: able workers are right more often, and so are all on easy tasks.

    ::

        P(a_ij = z_j) = 1 / (1 + exp(-alpha_i beta_j)),   beta_j = exp(b_j)

    and the other labels are equally likely. ``alpha_i`` is the worker's ability, below 0 where it
    is wrong more often than right; ``beta_j`` is the task's easiness. Both ``alpha_i`` and ``b_j``
    have a normal prior with mean 1 and variance 1, the truths a uniform one. Every pass finds
    ``b_j`` and the posterior of each task anew, given the abilities; then the abilities climb to
    the top of a quadratic bound. It climbs the log-posterior of abilities and easiness with the
    truths summed out, by way of that bound, which is the objective; it cannot fall. Confidence is
    the posterior probability. ``b_j`` stays within -4..6, ``alpha_i`` within -20..20.

    `truths` of the estimate has one more column, ``easiness``.

    A task may have at most 266,131 answers of two labels, and hardly fewer of more labels: sums of
    a task are kept exactly, in 64 bits. A fit of a larger task raises ParameterError.

    References
    ----------
    J. Whitehill et al., NIPS 2009; the bound is that of T. S. Jaakkola and M. I. Jordan, Statistics
    and Computing 10 (2000), 25-37. Derivation and the differences from crowd-kit:
    ``docs/theory/glad.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.synthetic_crowd(tasks=200, workers=20, seed=1)
    >>> estimate = GLAD().fit(crowd.answers)
    >>> estimate.truths.columns[-1], len(estimate.state.alpha)
    ('easiness', 20)
    """

    name: ClassVar[str] = "glad"
    has_posterior: ClassVar[bool] = True

    @override
    def room(self, tasks: int, summary: Summary) -> EasinessEstimates:
        return EasinessEstimates.empty(tasks, np.min_scalar_type(summary.labels))

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: AbilityState | None,
        estimates: EasinessEstimates | None,
    ) -> GladTally:
        """Find easiness and posteriors."""
        most = MOST_ABILITY * _MOST_BETA + math.log(summary.labels)
        integer_sums.check_room(summary.longest_task, most)
        room = estimates or EasinessEstimates.empty(0, partition.values.dtype)
        prior = np.full(summary.workers, round(PRIOR_ABILITY * integer_sums.ONE), np.int64)
        pulls, bends, agreed = np.zeros((3, summary.workers), np.int64)
        unit, rest_unit = self._units(summary)
        *estimated, easiness = room.arrays
        rest = infer_with_easiness(
            partition.labels,
            prior if state is None else state.ability,
            unit,
            rest_unit,
            integer_sums.shares(summary.labels),
            self.seed,
            pulls,
            bends,
            agreed,
            tuple(estimated),
            easiness,
        )
        histograms = no_histograms()
        if estimates is not None:
            histograms = accuracy_histograms(partition, summary, _votes(summary, state))
        return GladTally(pulls=pulls, bends=bends, rest=rest, agreed=agreed, histograms=histograms)

    @override
    def update(
        self,
        summary: Summary,
        tally: GladTally,
        state: AbilityState | None,
    ) -> tuple[AbilityState, float]:
        """Climb to the top of the bound."""
        unit, rest_unit = self._units(summary)
        pulls, bends = tally.pulls / unit, tally.bends / unit
        top = (PRIOR_ABILITY + pulls) / (1.0 + bends)
        ability = integer_sums.to_fixed(np.clip(top, -MOST_ABILITY, MOST_ABILITY))
        learned = AbilityState(ability=ability)
        alpha = learned.alpha
        climbed = (pulls - bends * alpha / 2.0) * alpha - (alpha - PRIOR_ABILITY) ** 2 / 2.0
        objective = integer_sums.exact_sum(climbed, summary.workers) + tally.rest / rest_unit
        return learned, objective / summary.answers

    @override
    def posterior(
        self, partition: Partition, summary: Summary, state: AbilityState
    ) -> npt.NDArray[np.float64]:
        """Return the probability of each label, shape (tasks, labels), at each task's easiness."""
        room = self.room(partition.tasks, summary)
        self.sweep(partition, summary, state, room)
        spread = math.log(max(summary.labels - 1, 1))
        votes = vote_counts(partition, summary.labels, state.alpha) * room.easiness[:, np.newaxis]
        votes += vote_counts(partition, summary.labels, np.ones(summary.workers)) * spread
        return probabilities(votes, partition)

    @override
    def extend_tally(self, tally: GladTally, extension: Extension) -> GladTally:

        def unit(summary: Summary) -> float:
            return self._units(summary)[0]

        rest = extension.total(np.array([tally.rest]), lambda summary: self._units(summary)[1])
        return GladTally(
            pulls=extension.sums(tally.pulls, unit),
            bends=extension.sums(tally.bends, unit),
            rest=int(rest[0]),
            agreed=extension.sums(tally.agreed),
            histograms=extension.sums(tally.histograms),
        )

    def _units(self, summary: Summary) -> tuple[float, float]:
        """Return what 1.0 is stored as in the sums of a worker, and in those of all tasks."""
        longest = summary.most_answers
        flat = math.log(summary.labels)
        terms = 4.0 * summary.answers * (MOST_ABILITY * _MOST_BETA + flat)
        return (
            min(integer_sums.unit_for(longest * _MOST_BETA**2 / 4.0), _WORKER_UNIT),
            min(integer_sums.unit_for(terms + summary.tasks * (16.0 + flat)), _REST_UNIT),
        )


def _votes(summary: Summary, state: AbilityState | None) -> OwnVotes:
    """Return what reports are worth on a task of middling easiness; that of each task is unsure."""
    if state is None:
        return OwnVotes()
    spread = math.log(max(summary.labels - 1, 1))
    odds = state.alpha * math.exp(PRIOR_EASE) + spread
    return OwnVotes(own=integer_sums.to_fixed(odds), nats=1.0 / integer_sums.ONE)
