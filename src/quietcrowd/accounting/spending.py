"""What charges come to: composed at a delta, by how rarely it is exceeded, and of a budget."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from attrs import Factory, evolve, field, frozen

from quietcrowd.accounting.budget_filter import filter_used
from quietcrowd.accounting.charges import Charge
from quietcrowd.privacy.loss_distribution import compose_losses, sum_losses
from quietcrowd.privacy.loss_law import ReleaseLoss, pure_law
from quietcrowd.privacy.tail_bound import composed_tail

if TYPE_CHECKING:
    from quietcrowd.mechanisms.mechanism import Mechanism

__all__ = ["Spending", "spend", "used_of_budget"]

_Part: TypeAlias = "tuple[Mechanism, int, float]"


@frozen(kw_only=True)
class Spending:
    """What a worker has spent at most; losses are natural logarithms, rounded up.

    At a delta above 0 `answer_epsilon` and `total_epsilon` are pairs (epsilon, delta) of
    differential privacy. How likely a loss is larger they do not say; the two tails do.

    Attributes
    ----------
    worker : str
        Id, as text.
    answer_epsilon : float
        About one answer that was asked for in every campaign, given all others.
    total_epsilon : float
        About all answers together.
    delta : float
        Of the pairs; 0 for pure losses.
    answer_tail, total_tail : float
        Each is exceeded with probability `delta` at most; at a delta of 0 the losses themselves.
    """

    worker: str
    answer_epsilon: float
    total_epsilon: float
    delta: float = 0.0
    answer_tail: float = field(default=Factory(lambda self: self.answer_epsilon, takes_self=True))
    total_tail: float = field(default=Factory(lambda self: self.total_epsilon, takes_self=True))


def spend(worker: str, charges: Iterable[Charge], delta: float) -> Spending:
    """Return what charges of one worker come to; see `PrivacyLedger.spent`."""
    answer, total, answer_tail, total_tail = _composed(_parts(charges), delta)
    return Spending(
        worker=worker,
        answer_epsilon=answer,
        total_epsilon=total,
        delta=delta,
        answer_tail=answer_tail,
        total_tail=total_tail,
    )


def _parts(charges: Iterable[Charge]) -> tuple[_Part, ...]:
    return tuple((charge.mechanism, charge.count, charge.spared) for charge in charges)


def used_of_budget(charges: Iterable[Charge], budget: float, delta: float) -> float:
    """Return how much of a budget charges of one worker use; see `PrivacyLedger.used`."""
    return _used(_parts(charges), budget, delta)


@lru_cache(maxsize=4096)
def _composed(parts: tuple[_Part, ...], delta: float) -> tuple[float, float, float, float]:
    """Return the loss about one answer and about all, and their tails, of counts per campaign."""
    if not delta:
        return _summed(parts) * 2
    losses = _losses(parts)
    answer = [(loss.answer, 1) for loss in losses]
    total = [(loss.each, loss.count) for loss in losses]
    pairs = compose_losses(answer, delta), compose_losses(total, delta)
    if len(parts) == 1 and not parts[0][2]:
        ((mechanism, count, _),) = parts
        tail = mechanism.tail(delta, answers=count, tasks=count)
        return *pairs, tail.epsilon, tail.worker_epsilon
    return *pairs, composed_tail(answer, delta), composed_tail(total, delta)


@lru_cache(maxsize=4096)
def _used(parts: tuple[_Part, ...], budget: float, delta: float) -> float:
    if not delta:
        return _summed(parts)[1]
    return filter_used([(loss.each, loss.count) for loss in _losses(parts)], budget, delta)


def _losses(parts: tuple[_Part, ...]) -> list[ReleaseLoss]:
    return [
        _less(mechanism.loss(answers=count, tasks=count), spared)
        for mechanism, count, spared in parts
    ]


def _summed(parts: tuple[_Part, ...]) -> tuple[float, float]:
    """Return both losses without any delta: sums of what the guarantees say, and no laws."""
    stated = [(mechanism.guarantee(count, count), spared) for mechanism, count, spared in parts]
    if any(one.delta for one, _ in stated):
        return math.inf, math.inf
    whole = [_spared_of(one.worker_epsilon, spared, one.epsilon) for one, spared in stated]
    return sum_losses([(one.epsilon, 1) for one, _ in stated]), sum_losses([(e, 1) for e in whole])


def _spared_of(whole: float, spared: float, least: float) -> float:
    """Return what is left of a loss, rounded up, and not below that of one answer."""
    return max(least, math.nextafter(whole - spared, math.inf)) if spared else whole


def _less(loss: ReleaseLoss, spared: float) -> ReleaseLoss:
    """Return a loss of which all answers together lose less: a coin of the sum that is left."""
    if not spared:
        return loss
    whole = sum_losses([(loss.each.pure_epsilon, loss.count)])
    left = _spared_of(whole, spared, loss.answer.pure_epsilon)
    return evolve(loss, each=pure_law(left), count=1)
