"""Majority vote, and votes that are weighted by the workers' agreement with the truths."""

import math
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.accuracies import OwnVotes
from quietcrowd.inference.labels.model import (
    AgreementTally,
    CategoricalMethod,
    CategoricalModel,
    probabilities,
    vote_counts,
    vote_shares,
)
from quietcrowd.inference.labels.option_groups import (
    GroupState,
    GroupTally,
    OptionGroups,
    OptionsModel,
)
from quietcrowd.inference.model import LearningModel, State, known_or_median
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.task_estimates import LabelEstimates
from quietcrowd.validation import at_least, plain


@frozen(kw_only=True, eq=False, slots=False)
class MajorityModel(CategoricalModel["MajorityVote", State, AgreementTally]):
    """`MajorityVote` bound to data."""

    @override
    def sweep(
        self, partition: Partition, state: State | None, estimates: LabelEstimates | None
    ) -> AgreementTally:
        return self.tally_votes(partition, np.ones(self.summary.workers, np.int64), estimates)

    def posterior(
        self,
        partition: Partition,
        state: State | None,  # noqa: ARG002
    ) -> npt.NDArray[np.float64]:
        """Return the fractions of the votes, shape (tasks, labels)."""
        votes = vote_counts(partition, self.summary.labels, np.ones(self.summary.workers))
        return vote_shares(votes, partition)


@frozen(kw_only=True, slots=False)
class MajorityVote(CategoricalMethod):
    """The truth is the label that most workers gave; all workers have the same weight.

    Confidence is the fraction of the task's answers that gave the label. There is one pass, so
    `max_iter` and `tol` have no effect.

    References
    ----------
    Y. Li et al., KDD 2018, equation 1.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"task": ["a", "a", "a"], "worker": [1, 2, 3], "label": [0, 1, 1]})
    >>> MajorityVote().fit_predict(votes, non_private=True)
    task
    a    1
    Name: agg_label, dtype: int64
    """

    name: ClassVar[str] = "majority"

    @override
    def model_for(self, summary: Summary) -> MajorityModel:
        return MajorityModel(method=self, summary=summary)

    @override
    def bind_options(
        self, summary: Summary, answers: Answers, mechanism: Any, known: npt.NDArray[Any]
    ) -> OptionsModel["MajorityVote"]:
        groups = OptionGroups.of(answers, mechanism, known)
        parts = tuple(self.model_for(group.summary) for group in groups.groups)
        return OptionsModel(method=self, summary=summary, groups=groups, parts=parts)


FLOOR = 1e-3
"""Least distance of accuracies from 0 and 1, so that no single worker decides."""


@frozen(kw_only=True, eq=False)
class AccuracyState(State):
    """Accuracy of each worker; `weights` are log-odds in units of 2^-32."""

    accuracy: npt.NDArray[np.float64]
    weights: npt.NDArray[np.int64]

    @classmethod
    def from_accuracy(cls, accuracy: npt.NDArray[np.float64], labels: int) -> Self:
        """Weight each worker by ``ln(p (k - 1) / (1 - p))``.

        With two labels a negative weight is evidence for the other label. With more it is replaced
        by the least positive one. No weight is 0, so that every worker can break a tie.
        """
        weights = integer_sums.to_fixed(np.log(accuracy * max(labels - 1, 1) / (1.0 - accuracy)))
        if labels != 2:
            weights = np.maximum(weights, 1)
        return cls(accuracy=accuracy, weights=np.where(weights == 0, 1, weights))

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one has the median accuracy."""
        chosen = known_or_median(positions, self.accuracy)
        return type(self)(accuracy=self.accuracy[chosen], weights=self.weights[chosen])


@frozen(kw_only=True, eq=False, slots=False)
class WeightedVoteModel(
    CategoricalModel["WeightedVote", AccuracyState, AgreementTally],
    LearningModel["WeightedVote", AccuracyState, AgreementTally],
):
    """`WeightedVote` bound to data."""

    @override
    def sweep(
        self, partition: Partition, state: AccuracyState | None, estimates: LabelEstimates | None
    ) -> AgreementTally:
        """Vote with the weights; by majority in the first pass."""
        most = math.log(max(self.summary.labels - 1, 1) / FLOOR)
        integer_sums.check_overflow(self.summary.longest_task, most)
        if state is None:
            return self.tally_votes(partition, np.ones(self.summary.workers, np.int64), estimates)
        nats = 1.0 / integer_sums.ONE
        votes = OwnVotes(own=state.weights, nats=nats)
        return self.tally_votes(partition, state.weights, estimates, nats=nats, votes=votes)

    @override
    def update(
        self, tally: AgreementTally, state: AccuracyState | None
    ) -> tuple[AccuracyState, float]:
        """Weight the workers by their agreement."""
        summary, smoothing = self.summary, self.method.smoothing
        agreed = integer_sums.from_shares(tally.agreed)
        answered = summary.answers_per_worker
        with np.errstate(invalid="ignore"):
            accuracy = (agreed + smoothing) / (answered + 2.0 * smoothing)
        accuracy = np.clip(np.nan_to_num(accuracy, nan=0.5), *_range_of_accuracy(summary))
        right, wrong = np.log(accuracy), np.log1p(-accuracy)
        spread = math.log(max(summary.labels - 1, 1))
        climbed = (
            agreed * right + (answered - agreed) * (wrong - spread) + smoothing * (right + wrong)
        )
        objective = integer_sums.exact_sum(climbed, summary.workers) / summary.answers
        return AccuracyState.from_accuracy(accuracy, summary.labels), objective

    def posterior(self, partition: Partition, state: AccuracyState) -> npt.NDArray[np.float64]:
        """Return the probability of each label, shape (tasks, labels)."""
        votes = vote_counts(partition, self.summary.labels, state.weights / integer_sums.ONE)
        return probabilities(votes, partition)


@frozen(kw_only=True, eq=False, slots=False)
class WeightedOptionsModel(
    OptionsModel["WeightedVote"], LearningModel["WeightedVote", GroupState, GroupTally]
):
    """`WeightedVote` bound to tasks with options: a worker is as accurate on all of them.

    The accuracy of randomized reports depends on the number of options. All follow from one
    accuracy of the answers, such that their mean is the worker's agreement.
    """

    @override
    def update(self, tally: GroupTally, state: GroupState | None) -> tuple[GroupState, float]:
        """Weight the workers by their agreement on the tasks of all groups."""
        smoothing, answered = self.method.smoothing, self.groups.answers_per_worker
        agreed = np.array([integer_sums.from_shares(part.agreed) for part in tally.parts])
        counts = np.array([part.summary.answers_per_worker for part in self.parts])
        total = int(answered.sum())
        with np.errstate(invalid="ignore"):
            fractions = counts / answered
            accuracy = (agreed.sum(axis=0) + smoothing) / (answered + 2.0 * smoothing)
        fractions = np.where(answered > 0, fractions, counts.sum(axis=1, keepdims=True) / total)
        accuracies = self._accuracies(np.nan_to_num(accuracy, nan=0.5), fractions)
        climbed, states = np.zeros(len(answered)), []
        for place, part in enumerate(self.parts):
            labels, own = part.summary.labels, accuracies[place]
            right, wrong = np.log(own), np.log1p(-own)
            climbed += (
                agreed[place] * right
                + (counts[place] - agreed[place]) * (wrong - math.log(labels - 1))
                + fractions[place] * smoothing * (right + wrong)
            )
            states.append(AccuracyState.from_accuracy(own, labels))
        objective = integer_sums.exact_sum(climbed, len(answered)) / total
        return GroupState(parts=tuple(states)), objective

    def _accuracies(
        self, accuracy: npt.NDArray[np.float64], fractions: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return the accuracy of reports at [group, worker], given that of all of a worker's.

        `fractions`, of the same shape, are those of a worker's answers in each group.
        """
        rates = np.array([_rates(part.summary) for part in self.parts])
        wrong, gain = rates[:, 1:], rates[:, :1] - rates[:, 1:]
        low, width = (fractions * wrong).sum(axis=0), (fractions * gain).sum(axis=0)
        slopes = np.divide(gain, width, out=np.ones_like(fractions), where=width > 0.0)
        found = accuracy * slopes + (wrong - low * slopes)
        limits = np.array([_range_of_accuracy(part.summary) for part in self.parts])
        clipped: npt.NDArray[np.float64] = np.clip(found, limits[:, :1], limits[:, 1:])
        return clipped


@frozen(kw_only=True, slots=False)
class WeightedVote(CategoricalMethod):
    """Truth discovery: alternate weighted votes, and weights by agreement with the truths.

    ::

        truth_j = argmax_x  sum of w_u over the workers u with an answer x
        p_u     = (agreements of u + smoothing) / (answers of u + 2 smoothing)
        w_u     = ln( p_u (k - 1) / (1 - p_u) )

    Both steps maximize ``sum_u a_u ln p_u + (n_u - a_u) ln((1 - p_u) / (k - 1))`` plus
    ``smoothing (ln p_u + ln(1 - p_u))``, with ``a_u`` the number of agreements; with two labels the
    objective cannot fall. The weight is signed with two labels, and at least 0 with more. An answer
    for one of t tied labels counts as ``1 / t`` of an agreement. Confidence is the posterior of the
    label if each worker's accuracy is p_u. For reports of a randomized response p_u is limited to
    the accuracies that its channel allows, so that no report changes the log-odds of a label by
    more than epsilon.

    Parameters
    ----------
    smoothing : float
        Answers of each kind that are added to every worker's record, at least 0.

    References
    ----------
    Y. Li et al., KDD 2018, equations 2 and 3, with the weight of its section 6.2.1, the log-odds
    of the accuracy. More labels and the smoothing: ``research/docs/theory/weighted-vote.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.make_crowd(tasks=200, workers=20, random_state=1)
    >>> estimate = WeightedVote().fit(crowd.answers)
    >>> qc.error_rate(estimate, crowd.truths) <= qc.error_rate(
    ...     qc.MajorityVote().fit(crowd.answers), crowd.truths
    ... )
    True
    """

    name: ClassVar[str] = "weighted-vote"
    smoothing: float = field(default=1.0, converter=plain, validator=at_least(0))

    @override
    def model_for(self, summary: Summary) -> WeightedVoteModel:
        return WeightedVoteModel(method=self, summary=summary)

    @override
    def bind_options(
        self, summary: Summary, answers: Answers, mechanism: Any, known: npt.NDArray[Any]
    ) -> WeightedOptionsModel:
        groups = OptionGroups.of(answers, mechanism, known)
        parts = tuple(self.model_for(group.summary) for group in groups.groups)
        return WeightedOptionsModel(method=self, summary=summary, groups=groups, parts=parts)


def _range_of_accuracy(summary: Summary) -> tuple[float, float]:
    """Return the least and largest accuracy of a report that is a label."""
    least, most = sorted(_rates(summary))
    return max(least, FLOOR), min(most, 1.0 - FLOOR)


def _rates(summary: Summary) -> tuple[float, float]:
    """Return the accuracy of a report that is a label, of a right and of a wrong answer."""
    rates = None if summary.channel is None else summary.channel.keep_and_other
    if rates is None:
        return 1.0, 0.0
    keep, other = rates
    labelled = keep + (summary.labels - 1) * other
    return keep / labelled, other / labelled
