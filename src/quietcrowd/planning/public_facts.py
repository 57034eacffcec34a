"""Public knowledge about a campaign before anyone answers."""

from typing import Any

import numpy as np
from attrs import field, frozen

from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.label_frequencies import (
    as_label_frequencies,
    check_label_frequencies,
    label_frequencies,
)
from quietcrowd.planning.crowd_assumption import (
    CrowdAssumption,
    CrowdSize,
    LabelCrowd,
    assumption_for,
)
from quietcrowd.validation import at_least, check_real, number, plain, whole_number

_DIGITS = 4
"""Decimal digits of an answer's frequency; more are not known beforehand."""


@frozen(kw_only=True)
class PublicFacts:
    """Facts that a requester knows or assumes without having seen an answer.

    Parameters
    ----------
    domain : Categorical, Ordinal or Interval
        Domain of the answers.
    epsilon : float
        Largest privacy loss about one answer, above 0.
    tasks, workers : int
        At least 1.
    answers_per_task : float
        Mean number of answers, at most `workers`.
    quality : CrowdAssumption, or mapping, optional
        Assumption about the crowd, or parameters of a `LabelCrowd` or a `NumberCrowd` by
        name, such as ``{"accuracy": 0.8}``.
    prior : mapping of label to float, optional
        Frequency of each label among the truths; labels without a number share the rest. Invalid
        for numbers, and together with ``truths`` in `quality`.
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
            raise ParameterError("planning.epsilon-zero")
        if not 0 < self.answers_per_task <= self.workers:
            raise ParameterError(
                "planning.answers-per-task-out-of-range",
                workers=self.workers,
                answers_per_task=self.answers_per_task,
            )
        _ = self.assumption

    @property
    def size(self) -> CrowdSize:
        """Size of the crowd; all workers have equally many tasks, at least one."""
        each = max(1, round(self.answers_per_task * self.tasks / self.workers))
        return CrowdSize(tasks=self.tasks, workers=self.workers, answers=min(each, self.tasks))

    @property
    def assumption(self) -> CrowdAssumption:
        """Distribution from which crowds are sampled."""
        quality = self.quality
        if self.prior is not None:
            if not isinstance(self.domain, FiniteDomain):
                raise ParameterError("inference.prior-needs-labels")
            if isinstance(quality, CrowdAssumption) or "truths" in (quality or {}):
                raise ParameterError("planning.prior-twice")
            shares = label_frequencies(self.domain, self.prior)
            quality = {**(quality or {}), "truths": shares.tolist()}
        return assumption_for(self.domain, quality)

    @property
    def answer_frequencies(self) -> dict[str, float] | None:
        """Frequency of each label among the answers; None for uniform truths, or numbers."""
        crowd = self.assumption
        if not isinstance(crowd, LabelCrowd) or crowd.truths is None:
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
