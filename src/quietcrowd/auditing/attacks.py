"""How each kind of mechanism is attacked: what an audit needs of it.

An attack knows what an adversary knows: the mechanism's public numbers, two rows of one worker,
and what was sent. Its score is the log-likelihood ratio of the two rows under the *public* law, the
best statistic where the devices follow it. Where they do not, the score is as good as any other:
what it proves holds for whatever was sent.
"""

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
from quietcrowd.mechanisms.channel import Channel, FiniteChannel
from quietcrowd.mechanisms.laplace import LaplaceChannel
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.sketch import SketchChannel
from quietcrowd.mechanisms.worker_laws import WorkerLaw
from quietcrowd.privacy.shared_weight import MAX_ROW

__all__ = ["plan_audit", "plan_of_channel"]


def plan_audit(mechanism: Mechanism, answers: int) -> AuditPlan:
    """Return how `quietcrowd.audit` puts the guarantee of a mechanism to the test.

    `answers` are how many a worker gives, or, where every task is reported, how many tasks there
    are; ParameterError where these are too many to enumerate.

    Notes
    -----
    The plan depends on the kind of the mechanism's channel. `plan_of_channel.register` adds a plan
    for another kind. Without one a mechanism is attacked by the law of the noise that it adds, or
    of the sets or the bounded reports that it sends, or, where there is no such law, through the
    numbers that it sends.
    """
    if answers > MAX_ROW:
        raise ParameterError(f"an audit takes at most {MAX_ROW:,} answers; got {answers:,}")
    return plan_of_channel(mechanism.channel, mechanism, answers)


@singledispatch
def plan_of_channel(channel: Channel, mechanism: Mechanism, answers: int) -> AuditPlan:
    """Return the plan for a mechanism of a channel of no known kind."""
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
    """Attack a mechanism of another kind through numbers that it sends; a projection is learnt."""
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
