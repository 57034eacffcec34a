"""The two-layer mechanism: every worker draws a private flip probability of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from attrs import field, frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channel import TOTAL, FiniteChannel, keep_or_replace
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.parameters import (
    at_least_two_labels,
    check_probability,
    number,
    require_epsilon,
)
from quietcrowd.mechanisms.randomness import uniform_integers, word_source
from quietcrowd.privacy.guarantee import PrivacyGuarantee, check_counts, show_loss
from quietcrowd.privacy.shared_flip import cell_epsilon, row_epsilon

__all__ = ["TwoLayerRandomizedResponse"]

BLOCK = 2**16


@frozen(kw_only=True, slots=False)
class TwoLayerRandomizedResponse(Mechanism):
    """Draw one flip probability per worker, then keep or replace each answer with it.

    Worker u draws ``p_u`` uniformly from ``low`` to ``high`` once and tells nobody. A report is
    the answer with probability ``1 - p_u`` and each of the other ``k - 1`` labels with
    probability ``p_u / (k - 1)``.

    Parameters
    ----------
    domain : Categorical or Ordinal
        ``k >= 2`` labels.
    low, high : float
        Bounds of the flip probability, ``0 <= low <= high <= 1``.

    Raises
    ------
    ParameterError
        Where the bounds are out of order or out of range, or a single answer loses more than 16.

    Guarantee
    ---------
    Theorem 6.3 claims ``ln((2 - low - high)(k - 1) / (low + high))`` for every answer. That is
    exact for a worker with one answer. With more answers the reports together tell of ``p_u``,
    and through it of each answer; `guarantee` gives the exact loss at n answers, which for
    ``low = 0`` grows like ``ln((k - 1) n)`` without bound. Participation is not protected.

    References
    ----------
    Y. Li et al., "An Efficient Two-Layer Mechanism for Privacy-Preserving Truth Discovery",
    KDD 2018, Algorithm 2, Theorem 6.3. Exact loss: ``docs/theory/two-layer.md``.

    Examples
    --------
    >>> from quietcrowd import Categorical
    >>> mechanism = TwoLayerRandomizedResponse.from_claimed_epsilon(
    ...     domain=Categorical([0, 1]), epsilon=1.0
    ... )
    >>> [round(mechanism.guarantee(answers=n).epsilon, 2) for n in (1, 5, 277)]
    [1.0, 1.68, 5.62]
    """

    name: ClassVar[str] = "two-layer"
    domain: FiniteDomain = field(validator=at_least_two_labels)
    low: float = field(converter=number, validator=check_probability)
    high: float = field(converter=number, validator=check_probability)

    def __attrs_post_init__(self) -> None:
        if self.low > self.high:
            raise ParameterError(f"low must not exceed high; got low={self.low}, high={self.high}")
        _ = self.channel  # refuses a privacy loss above 16

    @classmethod
    def from_claimed_epsilon(
        cls, *, domain: FiniteDomain, epsilon: float, low: float = 0.0
    ) -> TwoLayerRandomizedResponse:
        """Return the mechanism for which Theorem 6.3 claims `epsilon`.

        ``high = 2 (k - 1) / (exp(epsilon) + k - 1) - low``. What it really loses is more, unless
        every worker gives one answer: see `guarantee`.

        Raises
        ------
        ParameterError
            Where `high` would exceed 1 or fall below `low`, or `epsilon` is negative.
        """
        at_least_two_labels(None, None, domain)
        epsilon, low = number(epsilon), number(low)
        require_epsilon("epsilon", epsilon)
        mean = (domain.size - 1) / (math.exp(epsilon) + domain.size - 1)
        high = 2 * mean - low
        if high > 1:
            least = math.log((domain.size - 1) * (1 - low) / (1 + low)) if low < 1 else 0.0
            raise ParameterError(
                f"epsilon={epsilon:g} with low={low:g} and {domain.size} labels needs "
                f"high={high:.4g}, which is above 1. Take a low of at least "
                f"{show_loss(2 * mean - 1)}, or an epsilon of at least "
                f"{show_loss(max(least, 0.0))}."
            )
        if high < low:
            raise ParameterError(
                f"epsilon={epsilon:g} needs a mean flip probability of {mean:.4g}, "
                f"and low={low:g} is above it. Take a lower low."
            )
        return cls(domain=domain, low=low, high=high)

    @cached_property
    def other_weights(self) -> tuple[int, int]:
        """Bounds of the weight out of 2^32 of each other label, rounded up.

        Their sum is even, so that the mean weight is an integer too.
        """
        others = self.domain.size - 1
        largest = TOTAL // others
        low = min(math.ceil(Fraction(self.low) * TOTAL / others), largest)
        high = min(math.ceil(Fraction(self.high) * TOTAL / others), largest)
        if (low + high) % 2:
            low, high = (low, high + 1) if high < largest else (low + 1, high)
        return low, high

    @cached_property
    def channel(self) -> FiniteChannel:
        """The law of one report of a worker of whom nothing else is known.

        It describes one answer of each worker. Several answers of one worker share the flip
        probability and are not independent: their joint law is no product of this channel.
        """
        return FiniteChannel.randomized_response(self.domain.size, sum(self.other_weights) // 2)

    @property
    def worker_channel(self) -> None:
        """None: the flip probability of a worker is known to that worker alone."""
        return None

    @property
    def claimed_epsilon(self) -> float:
        """Theorem 6.3: ln((2 - low - high)(k - 1) / (low + high))."""
        odds = (2 - self.low - self.high) * (self.domain.size - 1) / (self.low + self.high)
        return math.log(odds) if odds > 0 else -math.inf

    def guarantee(self, answers: int = 1, tasks: int | None = None) -> PrivacyGuarantee:
        """Return what a worker loses at most; see `Mechanism.guarantee`."""
        check_counts(answers, tasks)
        low, high = self.other_weights
        if answers == 1:
            cell = row = self.channel.epsilon
        else:
            cell = cell_epsilon(answers, labels=self.domain.size, low=low, high=high)
            row = row_epsilon(answers, labels=self.domain.size, low=low, high=high)
        return PrivacyGuarantee(
            answers=answers,
            epsilon=cell,
            worker_epsilon=row,
            participation_protected=False,
            claimed_epsilon=self.claimed_epsilon,
            assumptions=(
                "the flip probability is drawn once per worker, uniformly, and stays secret",
                f"it serves {answers:,} answers and no more",
                "which tasks are answered does not depend on the answers",
            ),
            source="Li et al., KDD 2018, Theorem 6.3, for one answer; docs/theory/two-layer.md",
        )

    def _randomize(self, answers: Answers, rng: np.random.Generator | None) -> Answers:
        words = word_source(rng)
        low, high = self.other_weights
        weights = uniform_integers(words, low, high, len(answers.workers))
        reports = np.empty(len(answers), self.report_domain.dtype)
        for start in range(0, len(answers), BLOCK):
            block = slice(start, start + BLOCK)
            codes = answers.values[block]
            reports[block] = keep_or_replace(
                codes, self.domain.size, weights[answers.worker_codes[block]], words(len(codes))
            )
        return answers.with_values(self.report_domain, reports)

    @property
    def report_domain(self) -> FiniteDomain:
        """What a report can be: the same labels."""
        return self.domain

    def _parameters(self) -> dict[str, Any]:
        low, high = self.other_weights
        return {"low": self.low, "high": self.high, "other_weights": [low, high]}

    @classmethod
    def _from_parameters(
        cls, domain: Domain, parameters: Mapping[str, Any]
    ) -> TwoLayerRandomizedResponse:
        return cls(domain=domain, low=parameters["low"], high=parameters["high"])  # type: ignore[arg-type]
