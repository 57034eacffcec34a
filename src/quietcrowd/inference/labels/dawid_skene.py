"""Dawid-Skene: every worker has a table of how often each truth becomes each answer."""

import math
from functools import cached_property
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
    ConfusionModel,
    ConfusionState,
    ConfusionTally,
)
from quietcrowd.inference.labels.model import CategoricalMethod
from quietcrowd.inference.partition import Summary
from quietcrowd.validation import at_least, one_of, plain


@frozen(kw_only=True, eq=False, slots=False)
class DawidSkeneModel(ConfusionModel["DawidSkene", ConfusionState]):
    """`DawidSkene` bound to data."""

    advice: ClassVar[str] = "Use one_coin=True, one number per worker, or fewer labels."

    @property
    @override
    def table_shape(self) -> tuple[int, int, int]:
        side = 1 if self.method.one_coin else self.summary.labels
        return self.summary.workers, side, side

    @override
    def check_state(self, state: ConfusionState) -> None:
        if state.log_odds.shape != self.table_shape:
            raise ParameterError("inference.start-with-another-coin", one_coin=self.method.one_coin)

    @cached_property
    @override
    def unit(self) -> float:
        summary = self.summary
        tasks = summary.tasks * (1.0 + math.log(summary.labels))
        classes = tasks + self.method.class_smoothing * summary.labels
        return integer_sums.unit_for(self._longest_record + classes)

    @override
    def update(
        self, tally: ConfusionTally, state: ConfusionState | None
    ) -> tuple[ConfusionState, float]:
        """Learn matrices and frequencies from posteriors."""
        summary, unit = self.summary, self.unit
        log_odds, climbed = self._learn(tally)
        added = round(self.method.class_smoothing * unit)
        classes: npt.NDArray[np.int64] = np.maximum(tally.classes + added, self._least)
        log_priors = np.log(classes / classes.sum())
        climbed += integer_sums.exact_sum(classes * log_priors, summary.labels)
        learned = ConfusionState(
            log_odds=log_odds,
            fraction_bits=self._fraction_bits,
            log_priors=integer_sums.to_fixed(log_priors),
        )
        return learned, (climbed + tally.entropy) / unit / summary.answers

    def _learn(self, tally: ConfusionTally) -> tuple[npt.NDArray[np.int32], float]:
        """Return log-odds of workers' answers, and their part of the objective."""
        method, summary, unit, product = self.method, self.summary, self.unit, self._product
        log_odds = np.empty(tally.counts.shape, np.int32)
        counts = tally.counts.reshape(-1)
        rest = (
            round(method.smoothing * unit),
            round((method.smoothing + method.trust) * unit),
            self._least,
            2.0**self._fraction_bits,
            product / unit,
            log_odds.reshape(-1),
        )
        if method.one_coin:
            others = max(summary.labels - 1, 1)
            climbed = learn_coins(counts, summary.answers_per_worker, unit, others, *rest)
        else:
            climbed = learn_confusions(counts, summary.labels, *rest)
        return log_odds, climbed / product * unit

    @cached_property
    def _least(self) -> int:
        """Least record of a kind of answers, in units."""
        return max(1, round(FLOOR * self.unit))

    @cached_property
    def _added(self) -> float:
        return self.method.smoothing * max(self.summary.labels, 2) + self.method.trust

    @cached_property
    def _longest_record(self) -> float:
        return self.summary.most_answers + self._added

    @cached_property
    def _fraction_bits(self) -> int:
        least = max(round(self.method.smoothing * self.unit), self._least)
        others = max(self.summary.labels - 1, 1)
        most = math.log(self._longest_record * self.unit / least * others)
        return min(31 - math.frexp(most)[1], 31)

    @cached_property
    def _product(self) -> float:
        """Representation of an answer times a log-probability of 1, in sums of such products."""
        summary = self.summary
        added = self._added * summary.labels * summary.workers
        room = min(50 - math.log2(self._longest_record), 61 - math.log2(summary.answers + added))
        return 2.0 ** math.floor(room - math.log2(LARGEST_LOG + math.log(summary.labels)))


@frozen(kw_only=True, slots=False)
class DawidSkene(CategoricalMethod):
    """Dawid and Skene's model: each worker confuses each truth with each answer at its own rate.

    ::

        gamma_jk = P(z_j = k | answers)  ~  pi_k  prod of Theta_i[k, a_ij] over the task's answers
        Theta_i[k, l]  ~  smoothing + trust 1(k = l) + sum_j gamma_jk 1(a_ij = l)
        pi_k           ~  class_smoothing + sum_j gamma_jk

    in turn (expectation maximization), starting from the fractions of the votes. The objective is a
    lower bound of the log-posterior of Theta and pi, and cannot fall. Confidence is ``gamma_jk``.
    With one coin, ``Theta_i[k, k]`` is the same for all k and the other labels are equally likely;
    `smoothing` and `trust` are then added to the right answers, `smoothing` to the wrong ones.

    Parameters
    ----------
    one_coin : bool
        Whether a worker has one number, its accuracy, instead of a matrix.
    smoothing : float
        Answers of each label, for each truth, that are added to every worker's record.
    trust : float
        Further right answers for each truth; they keep labels from being exchanged.
    class_smoothing : float
        Tasks of each label that are added to the count of all tasks.

    Raises
    ------
    ParameterError
        By `fit`, if the matrices are too large.

    References
    ----------
    A. P. Dawid and A. M. Skene, Applied Statistics 28 (1979), 20-28. Derivation, priors and the
    differences from crowd-kit: ``research/docs/theory/dawid-skene.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.make_crowd(tasks=200, workers=20, random_state=1)
    >>> estimate = DawidSkene().fit(crowd.answers)
    >>> estimate.state.confusion.shape
    (20, 2, 2)
    """

    name: ClassVar[str] = "dawid-skene"
    one_coin: bool = field(default=False, converter=plain, validator=one_of(False, True))
    smoothing: float = field(default=0.1, converter=plain, validator=at_least(0))
    trust: float = field(default=1.0, converter=plain, validator=at_least(0))
    class_smoothing: float = field(default=1.0, converter=plain, validator=at_least(0))

    @override
    def model_for(self, summary: Summary) -> DawidSkeneModel:
        return DawidSkeneModel(method=self, summary=summary)
