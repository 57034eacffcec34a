"""GLAD: workers of different ability, tasks of different difficulty."""

import math
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd._core import infer_with_easiness
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.accuracies import OwnVotes, no_histograms
from quietcrowd.inference.labels.model import (
    CategoricalMethod,
    CategoricalModel,
    probabilities,
    vote_counts,
)
from quietcrowd.inference.model import Extension, LearningModel, State, Tally, known_or_median
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.task_estimates import LabelEstimates

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
"""The summand of an answer in the rest, up to ``2 MOST_ABILITY _MOST_BETA``, is below 2^50."""


@frozen(kw_only=True, eq=False)
class EasinessEstimates(LabelEstimates):
    """Estimated labels, and the tasks' easiness, beta of Whitehill et al., above 0."""

    easiness: npt.NDArray[np.float64]

    @classmethod
    @override
    def empty(cls, tasks: int, dtype: npt.DTypeLike) -> "EasinessEstimates":
        return cls(
            truths=np.zeros(tasks, dtype),
            confidence=np.zeros(tasks, np.float64),
            tied=np.zeros(tasks, np.bool_),
            easiness=np.zeros(tasks, np.float64),
        )


@frozen(kw_only=True, eq=False)
class AbilityState(State):
    """Ability of each worker: alpha of Whitehill et al. in units of 2^-32."""

    ability: npt.NDArray[np.int64]

    @property
    def alpha(self) -> npt.NDArray[np.float64]:
        """Ability as a number, shape (workers,)."""
        return self.ability / integer_sums.ONE

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one has the median ability."""
        return type(self)(ability=self.ability[known_or_median(positions, self.ability)])


@frozen(kw_only=True, eq=False)
class GladTally(Tally):
    """A quadratic lower bound of the log-posterior as a function of the abilities.

    It is ``rest + sum_i pulls_i alpha_i - bends_i alpha_i^2 / 2``, in the model's units. `agreed`
    and `histograms` are 0 in passes without estimates.
    """

    pulls: npt.NDArray[np.int64]
    bends: npt.NDArray[np.int64]
    rest: int
    agreed: npt.NDArray[np.int64]
    histograms: npt.NDArray[np.int64] = field(factory=no_histograms)

    @override
    def extended(self, extension: Extension) -> Self:
        rest = extension.total(np.array([self.rest]), lambda model: model.units[1])
        return type(self)(
            pulls=extension.sums(self.pulls, lambda model: model.units[0]),
            bends=extension.sums(self.bends, lambda model: model.units[0]),
            rest=int(rest[0]),
            agreed=extension.sums(self.agreed),
            histograms=extension.sums(self.histograms),
        )


@frozen(kw_only=True, eq=False, slots=False)
class GLADModel(
    CategoricalModel["GLAD", AbilityState, GladTally],
    LearningModel["GLAD", AbilityState, GladTally],
):
    """`GLAD` bound to data."""

    @override
    def empty(self, tasks: int) -> EasinessEstimates:
        return EasinessEstimates.empty(tasks, np.min_scalar_type(self.summary.labels))

    @override
    def sweep(
        self, partition: Partition, state: AbilityState | None, estimates: EasinessEstimates | None
    ) -> GladTally:
        """Find easiness and posteriors."""
        summary = self.summary
        most = MOST_ABILITY * _MOST_BETA + math.log(summary.labels)
        integer_sums.check_overflow(summary.longest_task, most)
        arrays = (estimates or EasinessEstimates.empty(0, partition.values.dtype)).arrays
        prior = np.full(summary.workers, round(PRIOR_ABILITY * integer_sums.ONE), np.int64)
        pulls, bends, agreed = np.zeros((3, summary.workers), np.int64)
        *estimated, easiness = arrays
        rest = infer_with_easiness(
            partition.labels,
            prior if state is None else state.ability,
            *self.units,
            self.shares,
            self.method.random_state,
            pulls,
            bends,
            agreed,
            tuple(estimated),
            easiness,
        )
        histograms = no_histograms()
        if estimates is not None:
            histograms = self.accuracies.histograms(partition, self._votes(state))
        return GladTally(pulls=pulls, bends=bends, rest=rest, agreed=agreed, histograms=histograms)

    @override
    def update(self, tally: GladTally, state: AbilityState | None) -> tuple[AbilityState, float]:
        """Maximize the bound."""
        unit, rest_unit = self.units
        pulls, bends = tally.pulls / unit, tally.bends / unit
        top = (PRIOR_ABILITY + pulls) / (1.0 + bends)
        ability = integer_sums.to_fixed(np.clip(top, -MOST_ABILITY, MOST_ABILITY))
        learned = AbilityState(ability=ability)
        alpha = learned.alpha
        climbed = (pulls - bends * alpha / 2.0) * alpha - (alpha - PRIOR_ABILITY) ** 2 / 2.0
        objective = integer_sums.exact_sum(climbed, self.summary.workers) + tally.rest / rest_unit
        return learned, objective / self.summary.answers

    def posterior(self, partition: Partition, state: AbilityState) -> npt.NDArray[np.float64]:
        """Return the probability of each label, shape (tasks, labels), at each task's easiness."""
        estimates, labels = self.empty(partition.tasks), self.summary.labels
        self.sweep(partition, state, estimates)
        votes = vote_counts(partition, labels, state.alpha) * estimates.easiness[:, np.newaxis]
        votes += vote_counts(partition, labels, np.ones(self.summary.workers)) * self._spread
        return probabilities(votes, partition)

    @cached_property
    def units(self) -> tuple[float, float]:
        """Representation of 1.0 in the sums of a worker, and in those of all tasks."""
        summary = self.summary
        flat = math.log(summary.labels)
        terms = 4.0 * summary.answers * (MOST_ABILITY * _MOST_BETA + flat)
        return (
            min(integer_sums.unit_for(summary.most_answers * _MOST_BETA**2 / 4.0), _WORKER_UNIT),
            min(integer_sums.unit_for(terms + summary.tasks * (16.0 + flat)), _REST_UNIT),
        )

    @property
    def _spread(self) -> float:
        return math.log(max(self.summary.labels - 1, 1))

    def _votes(self, state: AbilityState | None) -> OwnVotes:
        """Return log-odds of reports on a task of average easiness."""
        if state is None:
            return OwnVotes()
        odds = state.alpha * math.exp(PRIOR_EASE) + self._spread
        return OwnVotes(own=integer_sums.to_fixed(odds), nats=1.0 / integer_sums.ONE)


@frozen(kw_only=True, slots=False)
class GLAD(CategoricalMethod):
    """Whitehill et al.'s model: able workers are right more often, and so are all on easy tasks.

    ::

        P(a_ij = z_j) = 1 / (1 + exp(-alpha_i beta_j)),   beta_j = exp(b_j)

    and the other labels are equally likely. ``alpha_i`` is the worker's ability, negative if it is
    wrong more often than right; ``beta_j`` is the task's easiness. ``alpha_i`` and ``b_j`` have a
    normal prior with mean 1 and variance 1, and the truths a uniform one. Every pass finds ``b_j``
    and the posterior of each task, given the abilities; then the abilities maximize a quadratic
    lower bound of the log-posterior, which is the objective and cannot fall. Confidence is the
    posterior probability. ``b_j`` stays within -4..6, ``alpha_i`` within -20..20.

    `truths` of the estimate has another column, ``easiness``.

    A fit raises ParameterError if a task has more than 266,131 answers of two labels, or slightly
    fewer of more labels: sums over a task are exact, in 64 bits.

    References
    ----------
    J. Whitehill et al., NIPS 2009; the bound is that of T. S. Jaakkola and M. I. Jordan, Statistics
    and Computing 10 (2000), 25-37. Derivation and the differences from crowd-kit:
    ``research/docs/theory/glad.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.make_crowd(tasks=200, workers=20, random_state=1)
    >>> estimate = GLAD().fit(crowd.answers)
    >>> estimate.truths.columns[-1], len(estimate.state.alpha)
    ('easiness', 20)
    """

    name: ClassVar[str] = "glad"

    @override
    def model_for(self, summary: Summary) -> GLADModel:
        return GLADModel(method=self, summary=summary)
