"""Mechanisms with a given exact privacy loss."""

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.planning.crowd_assumption import CrowdSize
from quietcrowd.privacy.guarantee import CLAIM_ROUNDING
from quietcrowd.validation import check_positive

Maker: TypeAlias = Callable[..., Mechanism]
"""Makes a mechanism from ``domain=`` and the claimed ``epsilon=``."""

Per: TypeAlias = Literal["answer", "worker"]
"""Whether epsilon is the loss about one answer, or about all answers of a worker together."""

CLOSE = 1e-3
"""Sufficient relative precision of the loss, from below."""

WIDTH = 0.5
"""Step of the claims that are tried first, in logarithms."""

REACH_UP, REACH_DOWN = 6, 28
"""Numbers of steps above and below the wanted loss."""


def exact_loss(mechanism: Mechanism, size: CrowdSize, per: Per) -> float:
    """Return the loss about one answer, or all of a worker; infinite with a positive delta."""
    guarantee = mechanism.guarantee(answers=size.answers, tasks=size.tasks)
    if guarantee.delta:
        return math.inf
    return guarantee.epsilon if per == "answer" else guarantee.total_epsilon


def mechanism_within(
    maker: Maker, domain: Domain, epsilon: float, size: CrowdSize, per: Per = "answer"
) -> Mechanism:
    """Return the mechanism with an exact loss of `epsilon`, independent of a paper's claim for it.

    If `maker` has a method ``for_answers``, its result for the answers of each worker replaces it.
    """
    check_positive("epsilon", epsilon)
    if (for_answers := getattr(maker, "for_answers", None)) is not None:
        maker = for_answers(size.answers)
    start = epsilon if per == "answer" else epsilon / size.answers
    first = maker(domain=domain, epsilon=start)
    if (1 - CLOSE) * epsilon <= exact_loss(first, size, per) <= epsilon + CLAIM_ROUNDING:
        return first
    endless = math.isinf(exact_loss(first, size, per))  # no claim removes a delta
    found = None if endless else _searched(maker, domain, epsilon, size, per)
    if found is None:
        raise ParameterError("planning.no-parameters-for-epsilon", name=first.name, epsilon=epsilon)
    return found


def _searched(
    maker: Maker, domain: Domain, epsilon: float, size: CrowdSize, per: Per
) -> Mechanism | None:
    """Return the mechanism of the largest claim with a loss of at most `epsilon`, if any."""

    def within(place: float) -> tuple[Mechanism, float] | None:
        try:
            mechanism = maker(domain=domain, epsilon=math.exp(place))
            loss = exact_loss(mechanism, size, per)
        except ParameterError:
            return None
        return (mechanism, loss) if loss <= epsilon + CLAIM_ROUNDING else None

    middle = math.log(epsilon)
    claims = [middle + (REACH_UP - step) * WIDTH for step in range(REACH_UP + REACH_DOWN)]
    low, best = next(((at, found) for at in claims if (found := within(at))), (0.0, None))
    if best is None:
        return None
    high = low + WIDTH
    while best[1] < (1 - CLOSE) * epsilon and high - low > CLOSE / 8:
        middle = (low + high) / 2
        if found := within(middle):
            low, best = middle, found
        else:
            high = middle
    return best[0]
