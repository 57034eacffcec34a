"""Audit plans for every kind of mechanism, as an adversary knows it."""

from __future__ import annotations

from functools import partial, singledispatch

from quietcrowd.auditing.attack import Attack, AuditPlan
from quietcrowd.auditing.attack_rows import ALL, NULL, PART, VALUE, alone, ends
from quietcrowd.auditing.bounded_attacks import plan_bounded
from quietcrowd.auditing.label_attacks import plan_finite, plan_shared
from quietcrowd.auditing.noise_attacks import plan_laplace, plan_shift
from quietcrowd.auditing.set_attacks import plan_sets
from quietcrowd.auditing.sketch_attacks import plan_sketch
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.per_worker import WorkerLaw
from quietcrowd.mechanisms.channels.shift import LaplaceChannel
from quietcrowd.mechanisms.channels.sketch import SketchChannel
from quietcrowd.mechanisms.channels.table import FiniteChannel
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.privacy.shared_weight import MAX_ROW

__all__ = ["plan_audit", "plan_of_channel"]


def plan_audit(mechanism: Mechanism, answers: int) -> AuditPlan:
    """Return the plan of `quietcrowd.audit` for a mechanism.

    `answers` is how many answers a worker gives, or the number of tasks if every task is reported.
    Raise `ParameterError` if these are too many to enumerate. The plan depends on the kind of
    channel; `plan_of_channel.register` adds a plan for another kind.
    """
    if answers > MAX_ROW:
        raise ParameterError(f"an audit takes at most {MAX_ROW:,} answers; got {answers:,}")
    return plan_of_channel(mechanism.channel, mechanism, answers)


@singledispatch
def plan_of_channel(channel: Channel, mechanism: Mechanism, answers: int) -> AuditPlan:
    """Return the plan for a channel without a registered plan.

    The channel's distribution of noise, sets or bounded reports is used if there is one.
    """
    if channel.shift is not None:
        return plan_shift(mechanism, channel.shift, answers)
    if channel.sets is not None:
        return plan_sets(channel.sets, answers)
    if channel.bounded_law is not None:
        return plan_bounded(mechanism, channel.bounded_law, answers)
    return _plan_unknown(mechanism, answers)


@plan_of_channel.register
def _(channel: FiniteChannel, mechanism: Mechanism, answers: int) -> AuditPlan:
    law = getattr(mechanism, "worker_law", None)
    if isinstance(law, WorkerLaw):
        return plan_shared(mechanism, channel, law, answers)
    if mechanism.worker_channel is None and answers > 1:  # reports are not independent
        return _plan_unknown(mechanism, answers)
    return plan_finite(mechanism, channel, answers)


@plan_of_channel.register
def _(channel: LaplaceChannel, mechanism: Mechanism, answers: int) -> AuditPlan:
    return plan_laplace(mechanism, channel, answers)


@plan_of_channel.register
def _(channel: SketchChannel, mechanism: Mechanism, answers: int) -> AuditPlan:
    return plan_sketch(mechanism, channel, answers)


def _plan_unknown(mechanism: Mechanism, answers: int) -> AuditPlan:
    low, high = ends(mechanism)
    rest = [low] * (answers - 1)

    attack = partial(Attack, tasks=range(answers), score=None)
    attacks = [attack(name=VALUE, one=[high, *rest], other=[low, *rest])]
    if mechanism.participation_protected:
        attacks.append(attack(name=NULL, one=[high, *rest], other=[None, *rest]))
    attacks.append(alone(attacks[0]))
    if answers > 1:
        one, other = [high] * answers, [low] * answers
        attacks.append(
            attack(name=ALL, one=one, other=other, share=PART, moved=answers, whole=True)
        )
    return AuditPlan(exact=None, attacks=attacks)
