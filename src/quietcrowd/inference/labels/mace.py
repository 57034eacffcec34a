"""MACE: every worker either knows the truth or spams, and spams some labels more than others."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.confusion import (
    FLOOR,
    ConfusionMethod,
    ConfusionState,
    ConfusionTally,
)
from quietcrowd.inference.partition import Summary
from quietcrowd.validation import at_least, plain

__all__ = ["MACE", "SpammingState"]


@frozen(kw_only=True, eq=False)
class SpammingState(ConfusionState):
    """What each worker is believed to answer; the tables are those of `ConfusionState`."""

    @property
    def competence(self) -> npt.NDArray[np.float64]:
        """How often each worker gives the truth because it knows it, shape (workers,).

        Of one label nothing tells, and it is NaN.
        """
        right, wrong = _right_and_wrong(self)
        if right.shape[1] < 2:
            return np.full(len(right), np.nan)
        known: npt.NDArray[np.float64] = np.exp(right[:, 0]) - np.exp(wrong[:, 0])
        return known

    @property
    def spam(self) -> npt.NDArray[np.float64]:
        """How often each worker gives each label without knowing, shape (workers, labels).

        Rows sum to one minus the competence.
        """
        given: npt.NDArray[np.float64] = np.exp(_right_and_wrong(self)[1])
        return given


@frozen(kw_only=True, slots=False)
class MACE(ConfusionMethod[SpammingState]):
    """Hovy et al.'s model: an answer is the truth, copied, or spam by the worker's own law.

    ::

        P(a_ij = l | z_j = k) = c_i 1(k = l) + s_il,      c_i + sum_l s_il = 1
        P(z_j = k)            = 1 / labels

    ``c_i`` is the worker's competence; ``s_il`` how often it spams label l, whatever is true. In
    turn (expectation maximisation) the posteriors of the truths and of who copied, and

    ::

        c_i   ~  trust     + expected copies
        s_il  ~  smoothing + expected spam of label l

    which climbs the log-posterior under a Dirichlet prior with these counts; it cannot fall. The
    first posteriors are the shares of the votes, so there are no random starts, of which the best
    bound would be taken. A wrong answer is spam for certain; a right one was copied with
    probability ``c_i / (c_i + s_il)``.

    Parameters
    ----------
    smoothing : float
        Spam answers of each label that are added to every worker's record, above 0.
    trust : float
        Copied answers that are added, above 0.

    Raises
    ------
    ParameterError
        By `fit`, where workers times labels times labels are more than 2^27.

    References
    ----------
    D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy, "Learning whom to trust with MACE",
    NAACL-HLT 2013.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.synthetic_crowd(tasks=200, workers=20, seed=1)
    >>> estimate = MACE().fit(crowd.answers)
    >>> estimate.state.competence.shape, estimate.state.spam.shape
    ((20,), (20, 2))
    """

    name: ClassVar[str] = "mace"
    smoothing: float = field(default=0.5, converter=plain, validator=at_least(FLOOR))
    trust: float = field(default=1.0, converter=plain, validator=at_least(FLOOR))

    @override
    def update(
        self, summary: Summary, tally: ConfusionTally, state: SpammingState | None
    ) -> tuple[SpammingState, float]:
        """Learn who copies, and what is spammed, from posteriors."""
        unit, labels = self.unit(summary), summary.labels
        right = np.einsum("ill->il", tally.counts)
        wrong = tally.counts.sum(axis=2) - right
        copied = right - np.rint(right * _spam_share(state, labels)).astype(np.int64)
        trusted = copied.sum(axis=1) / unit + self.trust
        spammed = (right - copied + wrong) / unit + self.smoothing
        total = tally.counts.sum(axis=(1, 2)) / unit + self.trust + labels * self.smoothing
        competence, spam = trusted / total, spammed / total[:, np.newaxis]
        learned = self._state(summary, competence, spam)
        climbed = (right * np.log(competence[:, np.newaxis] + spam) + wrong * np.log(spam)) / unit
        climbed += self.smoothing * np.log(spam)
        objective = integer_sums.exact_sum(climbed, climbed.size)
        objective += integer_sums.exact_sum(self.trust * np.log(competence), summary.workers)
        return learned, (objective + tally.entropy / unit) / summary.answers

    def _state(
        self,
        summary: Summary,
        competence: npt.NDArray[np.float64],
        spam: npt.NDArray[np.float64],
    ) -> SpammingState:
        """Return tables of log-probabilities, as the kernel takes them."""
        labels = summary.labels
        most = math.log((summary.most_answers + self._added(labels)) / min(self.smoothing, 1.0))
        bits = min(31 - math.frexp(max(most, 1.0))[1], 30)
        table = np.repeat(np.log(spam)[:, :, np.newaxis], labels, axis=2)
        places = np.arange(labels)
        table[:, places, places] = np.log(competence[:, np.newaxis] + spam)
        log_priors = np.full(labels, -math.log(labels))
        return SpammingState(
            log_odds=np.rint(np.ldexp(table, bits)).astype(np.int32),
            fraction_bits=bits,
            log_priors=integer_sums.to_fixed(log_priors),
        )

    @override
    def unit(self, summary: Summary) -> float:
        tasks = summary.tasks * (1.0 + math.log(summary.labels))
        longest = summary.most_answers + self._added(summary.labels)
        return integer_sums.unit_for(longest + tasks)

    def _added(self, labels: int) -> float:
        """Return how many answers are added to a worker's record."""
        return self.trust + labels * self.smoothing


def _right_and_wrong(
    state: ConfusionState,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return log-probabilities of each label where it is true and where it is not.

    Each has shape (workers, labels); of a single label both are the first.
    """
    labels = state.log_odds.shape[1]
    places = np.arange(labels)
    right = state.log_odds[:, places, places]
    wrong = state.log_odds[:, places, (places + 1) % labels]
    return np.ldexp(right, -state.fraction_bits), np.ldexp(wrong, -state.fraction_bits)


def _spam_share(state: SpammingState | None, labels: int) -> npt.NDArray[np.float64]:
    """Return how probable it is that a right answer is spam, shape (workers or 1, labels).

    At first every worker is held to copy half of the time, and to spam all labels alike.
    """
    if state is None:
        return np.full((1, labels), 1.0 / (labels + 1.0))
    right, wrong = _right_and_wrong(state)
    share: npt.NDArray[np.float64] = np.exp(wrong - right)
    return share
