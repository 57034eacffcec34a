"""Weighted voting: workers who agree with the truths found so far count more."""

from __future__ import annotations

import math
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.accuracies import OwnVotes
from quietcrowd.inference.labels.model import AgreementTally, CategoricalMethod, sweep_votes
from quietcrowd.inference.labels.posteriors import probabilities, vote_counts, vote_shares
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.passes import LabelEstimates, State, known_or_median
from quietcrowd.validation import at_least, plain

__all__ = [
    "AccuracyState",
    "MajorityVote",
    "WeightedVote",
]


@frozen(kw_only=True, slots=False)
class MajorityVote(CategoricalMethod[State, AgreementTally]):
    """The truth is the label that most workers gave; all workers count the same.

    Confidence is the share of the task's answers that gave the label. There is one pass and
    nothing to iterate, so `max_iterations` and `tolerance` change nothing.

    References
    ----------
    Y. Li et al., KDD 2018, equation 1.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"task": ["a", "a", "a"], "worker": [1, 2, 3], "label": [0, 1, 1]})
    >>> MajorityVote().fit_predict(votes)
    task
    a    1
    Name: agg_label, dtype: int64
    """

    name: ClassVar[str] = "majority"
    has_posterior: ClassVar[bool] = True

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: State | None,
        estimates: LabelEstimates | None,
    ) -> AgreementTally:
        """Count the votes."""
        return sweep_votes(
            partition,
            summary,
            weights=np.ones(summary.workers, np.int64),
            nats=0.0,
            seed=self.seed,
            estimates=estimates,
        )

    @override
    def posterior(
        self, partition: Partition, summary: Summary, state: State | None
    ) -> npt.NDArray[np.float64]:
        """Return the shares of the votes, shape (tasks, labels)."""
        votes = vote_counts(partition, summary.labels, np.ones(summary.workers))
        return vote_shares(votes, partition)


FLOOR = 1e-3
"""Accuracies are kept this far from 0 and 1, so that no worker decides alone."""


@frozen(kw_only=True, eq=False)
class AccuracyState(State):
    """How often each worker is believed to be right.

    Attributes
    ----------
    accuracy : ndarray of float64, shape (workers,)
        From 0 to 1.
    weights : ndarray of int64, shape (workers,)
        What a vote counts: log-odds in units of 2^-32.
    """

    accuracy: npt.NDArray[np.float64]
    weights: npt.NDArray[np.int64]

    @classmethod
    def from_accuracy(cls, accuracy: npt.NDArray[np.float64], labels: int) -> Self:
        """Weigh each worker by ``ln(p (k - 1) / (1 - p))``.

        With two labels a negative weight is evidence for the other one and is kept. With more it
        points nowhere, and the least positive weight takes its place. No weight is 0: a
        worker of whom nothing is known still breaks a tie.
        """
        weights = integer_sums.to_fixed(np.log(accuracy * max(labels - 1, 1) / (1.0 - accuracy)))
        if labels != 2:
            weights = np.maximum(weights, 1)
        return cls(accuracy=accuracy, weights=np.where(weights == 0, 1, weights))

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one is worth the median of the known."""
        chosen = known_or_median(positions, self.accuracy)
        return type(self)(accuracy=self.accuracy[chosen], weights=self.weights[chosen])


@frozen(kw_only=True, slots=False)
class WeightedVote(
    CategoricalMethod[AccuracyState, AgreementTally],
    IterativeInference[AccuracyState, AgreementTally],
):
    """Truth discovery: alternate weighted votes and weights by agreement with the truths.

    ::

        truth_j = argmax_x  sum of w_u over the workers u who answered x
        p_u     = (agreements of u + smoothing) / (answers of u + 2 smoothing)
        w_u     = ln( p_u (k - 1) / (1 - p_u) )

    Both steps climb ``sum_u a_u ln p_u + (n_u - a_u) ln((1 - p_u) / (k - 1))`` plus
    ``smoothing (ln p_u + ln(1 - p_u))``, where ``a_u`` counts agreements: with two labels the loop
    cannot fall. The weight is signed with two labels, cut at 0 with more. Where labels tie, an
    answer for one of t tied labels counts ``1 / t`` of an agreement, so that no tie-break enters
    the weights. Confidence is the posterior of the label if each worker errs as often as p_u
    says: it is as good as that model. Through a randomised response that keeps an answer with
    probability q no report is right more often than q, nor less often than a wrong answer's, and
    p_u is kept between: no report moves the log-odds of a label by more than epsilon.

    Parameters
    ----------
    smoothing : float
        Answers of each kind that are added to every worker's record, at least 0.

    References
    ----------
    Y. Li et al., KDD 2018, equations 2 and 3, with the weight of its section 6.2.1, the log-odds
    of the accuracy. More labels and the smoothing: ``docs/theory/weighted-vote.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.synthetic_crowd(tasks=200, workers=20, seed=1)
    >>> estimate = WeightedVote().fit(crowd.answers)
    >>> qc.error_rate(estimate, crowd.truths) <= qc.error_rate(
    ...     qc.MajorityVote().fit(crowd.answers), crowd.truths
    ... )
    True
    """

    name: ClassVar[str] = "weighted-vote"
    has_posterior: ClassVar[bool] = True
    smoothing: float = field(default=1.0, converter=plain, validator=at_least(0))

    @override
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: AccuracyState | None,
        estimates: LabelEstimates | None,
    ) -> AgreementTally:
        """Vote with the weights, or by majority at first."""
        most = math.log(max(summary.labels - 1, 1) / FLOOR)
        integer_sums.check_room(summary.longest_task, most)
        return sweep_votes(
            partition,
            summary,
            weights=np.ones(summary.workers, np.int64) if state is None else state.weights,
            nats=0.0 if state is None else 1.0 / integer_sums.ONE,
            seed=self.seed,
            estimates=estimates,
            votes=None
            if state is None
            else OwnVotes(own=state.weights, nats=1.0 / integer_sums.ONE),
        )

    @override
    def update(
        self,
        summary: Summary,
        tally: AgreementTally,
        state: AccuracyState | None,
    ) -> tuple[AccuracyState, float]:
        """Weigh the workers by their agreement."""
        agreed = integer_sums.from_shares(tally.agreed)
        answered = summary.answers_per_worker
        with np.errstate(invalid="ignore"):
            accuracy = (agreed + self.smoothing) / (answered + 2.0 * self.smoothing)
        accuracy = np.clip(np.nan_to_num(accuracy, nan=0.5), *_range_of_accuracy(summary))
        right, wrong = np.log(accuracy), np.log1p(-accuracy)
        spread = math.log(max(summary.labels - 1, 1))
        climbed = (
            agreed * right
            + (answered - agreed) * (wrong - spread)
            + self.smoothing * (right + wrong)
        )
        objective = integer_sums.exact_sum(climbed, summary.workers) / summary.answers
        return AccuracyState.from_accuracy(accuracy, summary.labels), objective

    @override
    def posterior(
        self, partition: Partition, summary: Summary, state: AccuracyState
    ) -> npt.NDArray[np.float64]:
        """Return the probability of each label, shape (tasks, labels)."""
        votes = vote_counts(partition, summary.labels, state.weights / integer_sums.ONE)
        return probabilities(votes, partition)


def _range_of_accuracy(summary: Summary) -> tuple[float, float]:
    """Return how often a report that is a label can be right: least and most."""
    rates = None if summary.channel is None else summary.channel.keep_and_other
    if rates is None:
        return FLOOR, 1.0 - FLOOR
    keep, other = rates
    labelled = keep + (summary.labels - 1) * other
    least, most = sorted((keep / labelled, other / labelled))
    return max(least, FLOOR), min(most, 1.0 - FLOOR)
