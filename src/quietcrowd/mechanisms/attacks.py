"""How each kind of mechanism is attacked: what an audit needs of it.

An attack knows what an adversary knows: the mechanism's public numbers, two rows of one worker,
and what was sent. Its score is the log-likelihood ratio of the two rows under the *public* law, the
best statistic where the devices follow it. Where they do not, the score is as good as any other:
what it proves holds for whatever was sent.
"""

from __future__ import annotations

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.attack_rows import ALL, NULL, PART, VALUE, alone, ends
from quietcrowd.mechanisms.channel import FiniteChannel
from quietcrowd.mechanisms.label_attacks import plan_finite, plan_shared
from quietcrowd.mechanisms.laplace_channel import LaplaceChannel
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.noise_attacks import plan_drawn_variance, plan_laplace
from quietcrowd.mechanisms.sampled_variance_channel import SampledVarianceChannel
from quietcrowd.mechanisms.sketch_attacks import plan_sketch
from quietcrowd.mechanisms.sketch_channel import SketchChannel
from quietcrowd.mechanisms.worker_laws import WorkerLaw
from quietcrowd.privacy.attack import Attack, AuditPlan
from quietcrowd.privacy.shared_weight import MAX_ROW

__all__ = ["plan_audit"]


def plan_audit(mechanism: Mechanism, answers: int) -> AuditPlan:
    """Return how a mechanism is to be audited; see `Mechanism.plan_audit`."""
    if answers > MAX_ROW:
        raise ParameterError(f"an audit takes at most {MAX_ROW:,} answers; got {answers:,}")
    channel = mechanism.channel
    if isinstance(channel, FiniteChannel):
        law = getattr(mechanism, "worker_law", None)
        if isinstance(law, WorkerLaw):
            return plan_shared(mechanism, channel, law, answers)
        return plan_finite(mechanism, channel, answers)
    if isinstance(channel, LaplaceChannel):
        return plan_laplace(mechanism, channel, answers)
    if isinstance(channel, SampledVarianceChannel):
        return plan_drawn_variance(mechanism, channel, answers)
    if isinstance(channel, SketchChannel):
        return plan_sketch(mechanism, channel, answers)
    return _plan_unknown(mechanism, answers)


def _plan_unknown(mechanism: Mechanism, answers: int) -> AuditPlan:
    """Attack a mechanism of another kind through numbers that it sends; a projection is learnt."""
    low, high = ends(mechanism)
    rest = [low] * (answers - 1)

    def attack(name: str, one: object, other: object) -> Attack:
        row = [one, *rest], [other, *rest]
        return Attack(name=name, tasks=range(answers), one=row[0], other=row[1], score=None)

    attacks = [attack(VALUE, high, low)]
    if mechanism.participation_protected:
        attacks.append(attack(NULL, high, None))
    attacks.append(alone(attacks[0]))
    if answers > 1:
        one, other = [high] * answers, [low] * answers
        attacks.append(
            Attack(
                name=ALL, tasks=range(answers), one=one, other=other, score=None, share=PART,
                moved=answers, whole=True,
            )
        )  # fmt: skip
    return AuditPlan(exact=None, attacks=attacks)
