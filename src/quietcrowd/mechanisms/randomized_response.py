"""The one-layer mechanism: every worker flips with the same public probability."""

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from attrs import field, frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.base import MAX_EPSILON, TOTAL, other_weight_for
from quietcrowd.mechanisms.channels.table import TableChannel
from quietcrowd.mechanisms.label_mechanism import LabelMechanism, check_epsilon, check_probability
from quietcrowd.validation import optional_number


@frozen(kw_only=True, slots=False)
class RandomizedResponse(LabelMechanism):
    """Randomized response: keep the answer, or replace it uniformly by another one.

    A report is the answer with probability ``1 - p``, and each of the other ``k - 1`` labels with
    probability ``p / (k - 1)``. For a privacy loss epsilon,
    ``p = (k - 1) / (exp(epsilon) + k - 1)``. With ``missing="category"`` every worker reports every
    task. NULL, "no answer", is one more label, is kept or replaced as any label is, and counts in
    k.

    Parameters
    ----------
    domain : Categorical or Ordinal
        ``k >= 2`` labels.
    epsilon : float, optional
        Privacy loss of one answer, natural logarithm, 0 to 16. At 0 a report reveals nothing.
    flip_probability : float, optional
        The probability p, 0 to 1, instead of `epsilon`.
    missing : {None, "category"}
        Handling of a task without an answer: no report, or NULL as one more label.

    Raises
    ------
    ParameterError
        Unless exactly one of `epsilon` and `flip_probability` is given and in range, if the loss
        exceeds 16, or if there are fewer than two labels.

    Guarantee
    ---------
    Pure and exact: ln of the largest ratio in ``channel.weights``, rounded up; never above the
    requested epsilon. The loss about n answers is n times as much. Participation is not protected:
    reports exist where answers exist. With ``missing="category"`` it is: the loss between NULL and
    an answer is at most that between two answers, and n counts all tasks.

    References
    ----------
    Y. Li et al., "An Efficient Two-Layer Mechanism for Privacy-Preserving Truth Discovery",
    KDD 2018, Definition 5.1, Algorithm 1, Theorem 6.2. With NULL: H. Sun et al., "Truth Inference
    on Sparse Crowdsourcing Data with Local Differential Privacy", IEEE Big Data 2018, equation 8.

    Examples
    --------
    >>> from quietcrowd import Categorical
    >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0)
    >>> mechanism.guarantee().epsilon <= 1.0
    True
    >>> mechanism.channel.probabilities.round(3)
    array([[0.731, 0.269],
           [0.269, 0.731]])
    """

    name: ClassVar[str] = "one-layer"
    claimed_by_paper: ClassVar[bool] = True
    epsilon: float | None = field(default=None, converter=optional_number, validator=check_epsilon)
    flip_probability: float | None = field(
        default=None, converter=optional_number, validator=check_probability
    )

    def __attrs_post_init__(self) -> None:
        if (self.epsilon is None) == (self.flip_probability is None):
            raise ParameterError(
                "mechanisms.epsilon-or-flip-probability",
                epsilon=self.epsilon,
                flip_probability=self.flip_probability,
            )
        if self.claimed_epsilon == math.inf:
            raise ParameterError(
                "mechanisms.flip-probability-reveals",
                flip_probability=self.flip_probability,
                max_epsilon=MAX_EPSILON,
            )
        _ = self.channel  # rejects a privacy loss above 16

    @property
    def other_weight(self) -> int | None:
        """Weight out of 2^32 of each label other than the answer, rounded towards more noise.

        None if the rounding reaches or passes the uniform distribution: then all rows of the
        channel are the same.
        """
        size = self.size
        uniform = Fraction(TOTAL, size)
        if self.epsilon is not None:
            other = other_weight_for(size, self.epsilon)
            return other if other < uniform else None
        exact = Fraction(self.flip_probability or 0) * TOTAL / (size - 1)
        if exact <= uniform:
            return math.ceil(exact) if math.ceil(exact) < uniform else None
        return math.floor(exact) if math.floor(exact) > uniform else None

    @cached_property
    def channel(self) -> TableChannel:
        """Distribution of a report given its answer, the same for every worker."""
        size, other = self.size, self.other_weight
        if other is None:
            return TableChannel.uninformative(size)
        return TableChannel.randomized_response(size, other)

    @property
    def claimed_epsilon(self) -> float:
        """Theorem 6.2: ln((1 - p)(k - 1) / p)."""
        if self.epsilon is not None:
            return self.epsilon
        flip = self.flip_probability or 0.0
        if flip in (0.0, 1.0):
            return math.inf
        return math.log((1 - flip) * (self.size - 1) / flip)

    @property
    def source(self) -> str:  # type: ignore[override]
        """Theorem and paper that prove the guarantee."""
        if self.every_task:
            return "Sun et al., IEEE Big Data 2018, equation 8; docs/theory/sparse-answers.md"
        return "Li et al., KDD 2018, Theorem 6.2; docs/theory/finite-channels.md"

    def _parameters(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "flip_probability": self.flip_probability,
            "null": self.missing,
            "other_weight": self.other_weight,
        }
