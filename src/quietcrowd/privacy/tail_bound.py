"""How likely a loss is exceeded: what a sentence about chance may say.

A pair (epsilon, delta) of differential privacy does not say that a loss exceeds epsilon with a
probability of at most delta: it may do so several times as often. What a person can be told is a
tail bound: with probability at least ``1 - q`` the loss is at most x. It is about the reports that
a worker may send, and about one alternative that is fixed beforehand: another answer, or another
row of answers. Derivation and checks: ``docs/theory/tail-bounds.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from attrs import frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.rounding import show_loss
from quietcrowd.validation import check_real

__all__ = ["TailBound", "check_tail_probability", "tail_at", "tail_of_curve"]


@frozen(kw_only=True)
class TailBound:
    """Losses that are each exceeded with a small probability at most; natural logarithms.

    Attributes
    ----------
    probability : float
        q: each of the losses below is exceeded with this probability at most, 0 to 1.
    epsilon : float
        About one answer, given all others of the worker.
    linked_epsilon : float
        About a fact that some answers share, given the others; see `PrivacyGuarantee.linked`.
    worker_epsilon : float
        About all answers together.
    """

    probability: float
    epsilon: float
    linked_epsilon: float
    worker_epsilon: float

    def __str__(self) -> str:
        return (
            f"Each with probability at least 1 - {show_loss(self.probability, 6)}, the loss is at "
            f"most {show_loss(self.epsilon)} about one answer, {show_loss(self.linked_epsilon)} "
            f"about a fact that linked answers share, and {show_loss(self.worker_epsilon)} about "
            "all together."
        )

    @classmethod
    def of_pair(
        cls, epsilon: float, linked_epsilon: float, worker_epsilon: float, delta: float
    ) -> TailBound:
        """Return what pairs (epsilon, delta) of one delta alone give: at twice that delta.

        Examples
        --------
        >>> bound = TailBound.of_pair(1.0, 1.0, 5.0, delta=0.01)
        >>> bound.probability, round(bound.epsilon, 4), round(bound.worker_epsilon, 4)
        (0.02, 1.6931, 5.6931)
        """
        probability = min(1.0, 2 * delta)
        return cls(
            probability=probability,
            epsilon=tail_at(epsilon, delta, probability),
            linked_epsilon=tail_at(linked_epsilon, delta, probability),
            worker_epsilon=tail_at(worker_epsilon, delta, probability),
        )


def check_tail_probability(probability: float) -> None:
    """Raise ParameterError unless a probability is above 0 and below 1."""
    check_real("probability", probability, 0)
    if not 0 < probability < 1:
        raise ParameterError(f"probability must be above 0 and below 1; got {probability!r}")


def tail_at(epsilon: float, delta: float, probability: float) -> float:
    """Return a loss x that (epsilon, delta)-privacy lets exceed with a probability at most.

    From ``delta >= E[max(0, 1 - exp(epsilon - loss))] >= P(loss > x) (1 - exp(epsilon - x))``.

    Parameters
    ----------
    epsilon, delta : float
        The pair.
    probability : float
        q, 0 to 1.

    Returns
    -------
    float
        ``epsilon - ln(1 - delta / q)``; infinite unless delta is below q.

    Examples
    --------
    >>> tail_at(1.0, 0.01, 0.01), round(tail_at(1.0, 0.01, 0.1), 4), tail_at(1.0, 0.0, 0.0)
    (inf, 1.1054, 1.0)
    """
    if delta == 0:
        return epsilon
    if delta >= probability or math.isinf(epsilon):
        return math.inf
    return (epsilon - math.log1p(-delta / probability)) * (1 + 2**-50)


def tail_of_curve(curve: Iterable[tuple[float, float]], probability: float) -> float:
    """Return the least loss that pairs (epsilon, delta) of one law prove; see `tail_at`."""
    bounds = (tail_at(epsilon, delta, probability) for epsilon, delta in curve)
    return min(bounds, default=math.inf)
