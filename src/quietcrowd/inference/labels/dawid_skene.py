"""Dawid-Skene: every worker has a table of how often each truth becomes each answer."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from typing_extensions import override

from quietcrowd._core import learn_coins, learn_confusions
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.confusion import (
    FLOOR,
    LARGEST_LOG,
    ConfusionMethod,
    ConfusionState,
    ConfusionTally,
)
from quietcrowd.inference.partition import Summary
from quietcrowd.validation import at_least, one_of, plain

__all__ = ["DawidSkene"]


@frozen(kw_only=True, slots=False)
class DawidSkene(ConfusionMethod[ConfusionState]):
    """Dawid and Skene's model: each worker confuses each truth with each answer at its own rate.

    ::

        gamma_jk = P(z_j = k | answers)  ~  pi_k  prod of Theta_i[k, a_ij] over the task's answers
        Theta_i[k, l]  ~  smoothing + trust 1(k = l) + sum_j gamma_jk 1(a_ij = l)
        pi_k           ~  class_smoothing + sum_j gamma_jk

    in turn (expectation maximisation), from the shares of the votes. It climbs the log-posterior
    of Theta and pi with the truths summed out, by way of a lower bound, which is the objective; it
    cannot fall. Confidence is ``gamma_jk``. With one coin, ``Theta_i[k, k]`` is the same for all k
    and the other labels are equally likely; then `smoothing` and `trust` count right answers,
    `smoothing` counts wrong ones.

    Parameters
    ----------
    one_coin : bool
        Whether a worker is one number, how often it is right, and not a matrix.
    smoothing : float
        Answers of each label to tasks of each truth that are added to every worker's record.
    trust : float
        Right answers to tasks of each truth that are added on top: they keep labels from trading
        places.
    class_smoothing : float
        Tasks of each label that are added to the count of all tasks.

    Raises
    ------
    ParameterError
        By `fit`, where the matrices are too large.

    References
    ----------
    A. P. Dawid and A. M. Skene, Applied Statistics 28 (1979), 20-28. Derivation, priors and the
    differences from crowd-kit: ``docs/theory/dawid-skene.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.synthetic_crowd(tasks=200, workers=20, seed=1)
    >>> estimate = DawidSkene().fit(crowd.answers)
    >>> estimate.state.confusion.shape
    (20, 2, 2)
    """

    name: ClassVar[str] = "dawid-skene"
    way_out: ClassVar[str] = "Take one_coin=True, one number per worker, or fewer labels."
    one_coin: bool = field(default=False, converter=plain, validator=one_of(False, True))
    smoothing: float = field(default=0.1, converter=plain, validator=at_least(0))
    trust: float = field(default=1.0, converter=plain, validator=at_least(0))
    class_smoothing: float = field(default=1.0, converter=plain, validator=at_least(0))

    @override
    def update(
        self,
        summary: Summary,
        tally: ConfusionTally,
        state: ConfusionState | None,
    ) -> tuple[ConfusionState, float]:
        """Learn rates and frequencies from posteriors."""
        unit = self.unit(summary)
        bits = self._fraction_bits(summary)
        log_odds, climbed = self._learn(summary, tally, bits)
        classes = _record(tally.classes, self.class_smoothing, unit)
        log_priors = np.log(classes / classes.sum())
        climbed += integer_sums.exact_sum(classes * log_priors, summary.labels)
        learned = ConfusionState(
            log_odds=log_odds, fraction_bits=bits, log_priors=integer_sums.to_fixed(log_priors)
        )
        return learned, (climbed + tally.entropy) / unit / summary.answers

    @override
    def table_shape(self, summary: Summary) -> tuple[int, int, int]:
        side = 1 if self.one_coin else summary.labels
        return summary.workers, side, side

    @override
    def check_state(self, summary: Summary, state: ConfusionState) -> None:
        if state.log_odds.shape != self.table_shape(summary):
            raise ParameterError(
                f"start must be an estimate with one_coin={self.one_coin}, as this method has"
            )

    @override
    def unit(self, summary: Summary) -> float:
        tasks = summary.tasks * (1.0 + math.log(summary.labels))
        classes = tasks + self.class_smoothing * summary.labels
        return integer_sums.unit_for(self._longest_record(summary) + classes)

    def _added(self, summary: Summary) -> float:
        """Return how many answers are added to one row of a worker's record."""
        return self.smoothing * max(summary.labels, 2) + self.trust

    def _fraction_bits(self, summary: Summary) -> int:
        """Return how many bits behind the binary point log-odds have room for."""
        unit = self.unit(summary)
        least = max(round(self.smoothing * unit), _least(unit))
        others = max(summary.labels - 1, 1)
        most = math.log(self._longest_record(summary) * unit / least * others)
        return min(31 - math.frexp(most)[1], 31)

    def _longest_record(self, summary: Summary) -> float:
        """Return how many answers a worker's record has at most."""
        return summary.most_answers + self._added(summary)

    def _learn(
        self, summary: Summary, tally: ConfusionTally, bits: int
    ) -> tuple[npt.NDArray[np.int32], float]:
        """Return log-odds of workers' answers, and what they contribute to the objective."""
        unit, product = self.unit(summary), self._product(summary)
        log_odds = np.empty(tally.counts.shape, np.int32)
        counts = tally.counts.reshape(-1)
        rest = (
            round(self.smoothing * unit),
            round((self.smoothing + self.trust) * unit),
            _least(unit),
            2.0**bits,
            product / unit,
            log_odds.reshape(-1),
        )
        if self.one_coin:
            others = max(summary.labels - 1, 1)
            climbed = learn_coins(counts, summary.answers_per_worker, unit, others, *rest)
        else:
            climbed = learn_confusions(counts, summary.labels, *rest)
        return log_odds, climbed / product * unit

    def _product(self, summary: Summary) -> float:
        """Return what an answer times a log-probability of 1 is stored as, in sums of such."""
        added = self._added(summary) * summary.labels * summary.workers
        longest, total = self._longest_record(summary), summary.answers + added
        room = min(50 - math.log2(longest), 61 - math.log2(total))
        return 2.0 ** math.floor(room - math.log2(LARGEST_LOG + math.log(summary.labels)))


def _least(unit: float) -> int:
    """Return the least record of a kind of answers, in units."""
    return max(1, round(FLOOR * unit))


def _record(counts: npt.NDArray[np.int64], added: float, unit: float) -> npt.NDArray[np.int64]:
    """Return counts with what is added to them, in units, and not below the floor."""
    record: npt.NDArray[np.int64] = np.maximum(counts + round(added * unit), _least(unit))
    return record
