"""Mechanisms with a given exact privacy loss, of one answer or of all answers of a person."""

import math
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.laplace import LaplaceMechanism
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.randomized_response import RandomizedResponse
from quietcrowd.privacy.guarantee import CLAIM_ROUNDING
from quietcrowd.validation import check_positive

Maker: TypeAlias = Callable[..., Mechanism]
"""Makes a mechanism from ``domain=`` and the claimed ``epsilon=``."""

Per: TypeAlias = Literal["answer", "worker"]
"""Whether epsilon is the loss about one answer, or about all answers of a worker together."""

USUAL_TOTAL = 5.0

BEST_OF_ANSWER = 2.2
"""Loss of one answer at which a given total shows most, with two labels.

See ``docs/learn/how-many-people.md``.
"""

CLOSE = 1e-3
"""Sufficient relative precision of the loss, from below."""

ROUNDED = 1e-6
"""Relative excess of a loss over its claim that rounding explains."""

WIDTH = 0.5
"""Step of the claims that are tried first, in logarithms."""

REACH_UP, REACH_DOWN = 6, 28
"""Numbers of steps above and below the wanted loss."""


def usual_total(answers: int) -> float:
    """Return the default epsilon of all answers of a person: 5, or less for one or two answers."""
    return min(USUAL_TOTAL, BEST_OF_ANSWER * answers)


def usual_makers(domain: Domain) -> dict[str, Maker]:
    """Return the default mechanism for a domain, by name; it discloses participation."""
    if isinstance(domain, FiniteDomain):
        return {RandomizedResponse.name: RandomizedResponse.from_claimed_epsilon}
    return {"laplace:fill=none": partial(LaplaceMechanism.from_claimed_epsilon, fill=None)}


def exact_loss(mechanism: Mechanism, per: Per, *, answers: int, tasks: int) -> float:
    """Return the loss about one answer, or all of a worker; infinite with a positive delta."""
    guarantee = mechanism.guarantee(answers=answers, tasks=tasks)
    if guarantee.delta:
        return math.inf
    return guarantee.epsilon if per == "answer" else guarantee.total_epsilon


def mechanism_within(
    maker: Maker, domain: Domain, epsilon: float, per: Per = "answer", *, answers: int, tasks: int
) -> Mechanism:
    """Return the mechanism with an exact loss of `epsilon`, independent of a paper's claim for it.

    A worker gives `answers` of `tasks` answers. The loss of all of them is never above `epsilon`,
    that of one answer only by the rounding of weights. It is below `epsilon` if no mechanism of
    `maker` loses as much. If `maker` has a method ``for_answers``, its result for the answers of
    each worker replaces it.
    """
    check_positive("epsilon", epsilon)
    if (for_answers := getattr(maker, "for_answers", None)) is not None:
        maker = for_answers(answers)
    whole = per == "worker"
    most = epsilon if whole else epsilon + CLAIM_ROUNDING

    def made(claim: float) -> tuple[Mechanism, float]:
        mechanism = maker(domain=domain, epsilon=claim)
        return mechanism, exact_loss(mechanism, per, answers=answers, tasks=tasks)

    def within(place: float) -> tuple[Mechanism, float] | None:
        try:
            mechanism, loss = made(math.exp(place))
        except ParameterError:
            return None
        return (mechanism, loss) if loss <= most else None

    claim = epsilon / answers if whole else epsilon
    try:
        first, loss = made(claim)
        if most < loss <= most * (1 + ROUNDED):
            first, loss = made(claim * (1 - 2 * ROUNDED))
        if (1 - CLOSE) * epsilon <= loss <= most:
            return first
        problem = ParameterError(
            "privacy.no-parameters-for-epsilon", name=first.name, epsilon=epsilon
        )
    except ParameterError as error:
        if not whole:
            raise
        problem, loss = error, 0.0
    endless = math.isinf(loss)  # no claim removes a delta
    found = None if endless else _searched(within, epsilon)
    if found is None:
        raise problem
    return found


def _searched(
    within: Callable[[float], tuple[Mechanism, float] | None], epsilon: float
) -> Mechanism | None:
    """Return the mechanism of the largest claim with a loss of at most `epsilon`, if any.

    `within` takes the logarithm of a claim.
    """
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
