"""MACE: every worker either knows the truth or spams, and spams some labels more than others."""

import math
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.confusion import (
    FLOOR,
    ConfusionModel,
    ConfusionState,
    ConfusionTally,
)
from quietcrowd.inference.labels.model import CategoricalMethod
from quietcrowd.inference.partition import Summary
from quietcrowd.validation import at_least, plain


@frozen(kw_only=True, eq=False)
class SpammingState(ConfusionState):
    """Competence and spam of each worker, as matrices like those of `ConfusionState`."""

    @property
    def competence(self) -> npt.NDArray[np.float64]:
        """Probability that each worker copies the truth, shape (workers,); NaN for one label."""
        right, wrong = _right_and_wrong(self)
        if right.shape[1] < 2:
            return np.full(len(right), np.nan)
        known: npt.NDArray[np.float64] = np.exp(right[:, 0]) - np.exp(wrong[:, 0])
        return known

    @property
    def spam(self) -> npt.NDArray[np.float64]:
        """Probability that each worker spams each label; rows sum to 1 minus the competence."""
        given: npt.NDArray[np.float64] = np.exp(_right_and_wrong(self)[1])
        return given


@frozen(kw_only=True, eq=False, slots=False)
class MACEModel(ConfusionModel["MACE", SpammingState]):
    """`MACE` bound to data."""

    @override
    def update(
        self, tally: ConfusionTally, state: SpammingState | None
    ) -> tuple[SpammingState, float]:
        """Learn competence and spam from posteriors."""
        summary, unit, labels = self.summary, self.unit, self.summary.labels
        smoothing, trust = self.method.smoothing, self.method.trust
        right = np.einsum("ill->il", tally.counts)
        wrong = tally.counts.sum(axis=2) - right
        copied = right - np.rint(right * _spam_share(state, labels)).astype(np.int64)
        trusted = copied.sum(axis=1) / unit + trust
        spammed = (right - copied + wrong) / unit + smoothing
        total = tally.counts.sum(axis=(1, 2)) / unit + trust + labels * smoothing
        competence, spam = trusted / total, spammed / total[:, np.newaxis]
        climbed = (right * np.log(competence[:, np.newaxis] + spam) + wrong * np.log(spam)) / unit
        climbed += smoothing * np.log(spam)
        objective = integer_sums.exact_sum(climbed, climbed.size)
        objective += integer_sums.exact_sum(trust * np.log(competence), summary.workers)
        objective += tally.entropy / unit
        return self._state(competence, spam), objective / summary.answers

    def _state(
        self, competence: npt.NDArray[np.float64], spam: npt.NDArray[np.float64]
    ) -> SpammingState:
        labels = self.summary.labels
        most = math.log((self.summary.most_answers + self._added) / min(self.method.smoothing, 1.0))
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

    @cached_property
    @override
    def unit(self) -> float:
        tasks = self.summary.tasks * (1.0 + math.log(self.summary.labels))
        return integer_sums.unit_for(self.summary.most_answers + self._added + tasks)

    @property
    def _added(self) -> float:
        return self.method.trust + self.summary.labels * self.method.smoothing


@frozen(kw_only=True, slots=False)
class MACE(CategoricalMethod):
    """Hovy et al.'s model: an answer is the truth, copied, or spam of the worker.

    ::

        P(a_ij = l | z_j = k) = c_i 1(k = l) + s_il,      c_i + sum_l s_il = 1
        P(z_j = k)            = 1 / labels

    ``c_i`` is the worker's competence, and ``s_il`` how often it spams label l. In turn
    (expectation maximization) the posteriors of the truths and of copying, and

    ::

        c_i   ~  trust     + expected copies
        s_il  ~  smoothing + expected spam of label l

    The log-posterior under a Dirichlet prior with these counts cannot fall. The first posteriors
    are the fractions of the votes, instead of random restarts. A wrong answer is spam; a right one
    was copied with probability ``c_i / (c_i + s_il)``.

    Parameters
    ----------
    smoothing : float
        Spam answers of each label that are added to every worker's record, above 0.
    trust : float
        Copied answers that are added, above 0.

    Raises
    ------
    ParameterError
        By `fit`, if workers times labels times labels exceed 2^27.

    References
    ----------
    D. Hovy, T. Berg-Kirkpatrick, A. Vaswani and E. Hovy, "Learning whom to trust with MACE",
    NAACL-HLT 2013.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.make_crowd(tasks=200, workers=20, random_state=1)
    >>> estimate = MACE().fit(crowd.answers)
    >>> estimate.state.competence.shape, estimate.state.spam.shape
    ((20,), (20, 2))
    """

    name: ClassVar[str] = "mace"
    smoothing: float = field(default=0.5, converter=plain, validator=at_least(FLOOR))
    trust: float = field(default=1.0, converter=plain, validator=at_least(FLOOR))

    @override
    def model_for(self, summary: Summary) -> MACEModel:
        return MACEModel(method=self, summary=summary)


def _right_and_wrong(
    state: ConfusionState,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return log-probabilities of each label if it is true, and if not, shape (workers, labels)."""
    labels = state.log_odds.shape[1]
    places = np.arange(labels)
    right = state.log_odds[:, places, places]
    wrong = state.log_odds[:, places, (places + 1) % labels]
    return np.ldexp(right, -state.fraction_bits), np.ldexp(wrong, -state.fraction_bits)


def _spam_share(state: SpammingState | None, labels: int) -> npt.NDArray[np.float64]:
    """Return the probability that a right answer is spam, shape (workers or 1, labels)."""
    if state is None:
        return np.full((1, labels), 1.0 / (labels + 1.0))
    right, wrong = _right_and_wrong(state)
    share: npt.NDArray[np.float64] = np.exp(wrong - right)
    return share
