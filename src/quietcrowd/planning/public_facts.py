"""What is publicly known of a campaign before anybody answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import field, frozen

from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.label_frequencies import (
    as_label_frequencies,
    check_label_frequencies,
    label_frequencies,
)
from quietcrowd.planning.crowd_assumption import (
    CrowdAssumption,
    CrowdSize,
    LabelAssumption,
    assumption_for,
)
from quietcrowd.validation import at_least, check_real, number, plain, whole_number

__all__ = ["PublicFacts"]

_DIGITS = 4
"""Decimal digits of a frequency of answers: more is not known beforehand."""


@frozen(kw_only=True)
class PublicFacts:
    """What a requester knows, or takes for granted, without having seen an answer.

    Parameters
    ----------
    domain : Categorical, Ordinal or Interval
        What an answer can be.
    epsilon : float
        What one answer may lose at most; above 0.
    tasks, workers : int
        At least 1.
    answers_per_task : float
        In the mean, at most `workers`.
    quality : CrowdAssumption, or mapping, optional
        What is assumed of the crowd; or parameters of a `LabelAssumption` or a `NumberAssumption`
        by name, as ``{"accuracy": 0.8}``.
    prior : mapping of label to float, optional
        How frequent each label is among the truths; labels without a number share the rest.

    Raises
    ------
    ParameterError
        Where one is out of its range, or `prior` goes with numbers or beside ``truths`` of the
        quality.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> facts = PublicFacts(domain=qc.Categorical(["no", "yes"]), epsilon=1.0, prior={"no": 0.9})
    >>> facts.size
    CrowdSize(tasks=1000, workers=100, answers=100)
    >>> facts.answer_frequencies
    {'no': 0.68, 'yes': 0.32}
    """

    domain: Domain
    epsilon: float = field(converter=number)
    tasks: int = field(default=1_000, converter=plain, validator=whole_number(1))
    workers: int = field(default=100, converter=plain, validator=whole_number(1))
    answers_per_task: float = field(default=10.0, converter=number, validator=at_least(0))
    quality: Any = None
    prior: Any = field(
        default=None, converter=as_label_frequencies, validator=check_label_frequencies
    )

    def __attrs_post_init__(self) -> None:
        check_real("epsilon", self.epsilon, 0)
        if not self.epsilon:
            raise ParameterError("epsilon must be above 0: at 0 no mechanism is better; got 0")
        if not 0 < self.answers_per_task <= self.workers:
            raise ParameterError(
                "answers_per_task must be above 0 and at most the number of workers, "
                f"{self.workers:,}; got {self.answers_per_task:g}"
            )
        _ = self.assumption

    @property
    def size(self) -> CrowdSize:
        """How many are asked how much: each worker as many tasks, at least one."""
        each = max(1, round(self.answers_per_task * self.tasks / self.workers))
        return CrowdSize(tasks=self.tasks, workers=self.workers, answers=min(each, self.tasks))

    @property
    def assumption(self) -> CrowdAssumption:
        """By which crowds are drawn."""
        quality = self.quality
        if self.prior is not None:
            if not isinstance(self.domain, FiniteDomain):
                raise ParameterError("prior goes with labels; these answers are numbers")
            if isinstance(quality, CrowdAssumption) or "truths" in (quality or {}):
                raise ParameterError(
                    "give prior, or how frequent the truths are in quality, not both"
                )
            shares = label_frequencies(self.domain, self.prior)
            quality = {**(quality or {}), "truths": shares.tolist()}
        return assumption_for(self.domain, quality)

    @property
    def answer_frequencies(self) -> dict[str, float] | None:
        """How frequent each label is among the answers; None where truths are even, or numbers.

        Where workers err, and err evenly, rare labels are more frequent than among the truths.
        """
        crowd = self.assumption
        if not isinstance(crowd, LabelAssumption) or crowd.truths is None:
            return None
        size = crowd.domain.size
        right = (1 - crowd.guessers) * crowd.accuracy + crowd.guessers / size
        if crowd.accuracies:
            right = float(np.mean(crowd.accuracies))
        truths = np.array(crowd.truths) / sum(crowd.truths)
        shares = truths * right + (1 - truths) * (1 - right) / (size - 1)
        names = [str(label) for label in crowd.domain.labels]
        rounded = [round(share, _DIGITS) for share in shares[:-1].tolist()]
        return dict(zip(names, [*rounded, round(1 - sum(rounded), _DIGITS)], strict=True))
