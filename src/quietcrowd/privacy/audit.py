"""Put a mechanism's guarantee to the test: exactly where that can be, and by attacks always.

This module knows nothing of how a mechanism works. It asks `Mechanism.plan_audit` for the exact
loss and for attacks, draws real reports, and compares what it finds with what is stated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.privacy.attack import Attack, AuditPlan
from quietcrowd.privacy.audit_report import AuditReport
from quietcrowd.privacy.distinguishing import (
    Statistic,
    check_confidence,
    compare,
    proven_deltas,
    proven_epsilon,
)
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.privacy.mechanism_access import check_mechanism
from quietcrowd.privacy.observed import Observed
from quietcrowd.validation import check_whole

if TYPE_CHECKING:
    from quietcrowd.mechanisms.mechanism import Mechanism

__all__ = ["audit", "noise_of_audit"]

DRAWS = 100_000
MOST_CELLS = 5_000_000
"""Reports of one side that are held at a time."""

MOST_NOISE = 1_000_000
"""Exact draws of noise that one side may take: about 20 seconds."""

FEWEST = 100
"""Draws a side."""

POINTS = 61
"""Of the curve."""

LARGEST = 500.0
"""A loss above it is beyond the end of the curve."""


def audit(
    mechanism: Mechanism,
    n: int = 1,
    confidence: float = 0.999,
    *,
    draws: int = DRAWS,
    rng: np.random.Generator | None = None,
) -> AuditReport:
    """Audit what a mechanism loses about one of a worker's answers, and about all of them.

    The *exact* loss is the largest ratio over all inputs and outputs that the mechanism's public
    numbers give: for finite channels over the tables of integers, rows of n answers included; for
    noise on a grid from the exact 1-norm by which one cell moves what is sent. The *proven* one
    comes from reports: those of many workers with one row, and of as many with a row that differs
    in one cell, are told apart by their log-likelihood ratio, or by scores that are learnt. On a
    quarter of the reports all this is chosen, and Clopper-Pearson bounds on the others prove
    lower bounds on epsilon and delta.

    Parameters
    ----------
    mechanism : Mechanism
        What is audited.
    n : int
        How many answers a worker gives, or, where every task is reported, how many tasks there are.
    confidence : float
        Probability, at least, that `proven_epsilon` and `proven_delta` of the report are both
        true: so that, where a mechanism is as stated, reports convict it with a probability of at
        most one minus that. Each point of a curve that is proven holds with this probability as
        well, not all of them together. Workers are taken to be independent of each other.
    draws : int
        Workers for each of two inputs, at least 100; fewer are drawn where their reports are
        long: at most 5 million reports, or 1 million exact draws of noise, a side.
    rng : numpy.random.Generator, optional
        Audits the simulation in place of what workers send: fast and reproducible.

    Returns
    -------
    AuditReport
        Printed, it says what is claimed, stated and found.

    Raises
    ------
    ParameterError
        Where a parameter is of another type or out of its range, or `n` exceeds 10,000.
    AnswerError
        Where reports come from workers who gave no answers, or are no reports of the mechanism.

    References
    ----------
    C. J. Clopper, E. S. Pearson, Biometrika 1934; Z. Ding et al., "Detecting Violations of
    Differential Privacy", CCS 2018. ``docs/audit.md``.

    Examples
    --------
    >>> from quietcrowd import Categorical, RandomizedResponse
    >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0)
    >>> report = audit(mechanism, 20, draws=10_000, rng=np.random.default_rng(1))
    >>> report.verdict, round(report.exact_epsilon, 6), round(report.exact_worker_epsilon, 6)
    ('holds', 1.0, 20.0)
    >>> 0.8 < report.proven_epsilon <= 1.0
    True
    """
    _check(mechanism, n, draws)
    check_confidence(confidence)
    guarantee = mechanism.guarantee(answers=n, tasks=range(n))
    plan = mechanism.plan_audit(n)
    count = _workers_a_side(mechanism, plan, draws)
    epsilons = np.linspace(0.0, _end_of_curve(guarantee, plan), POINTS)
    found = _attack_all(mechanism, plan, guarantee, count, confidence, epsilons, rng)
    exact = plan.exact
    whole = None if exact is None else exact.delta_at
    deltas = found.deltas if whole is None else np.array([whole(float(at)) for at in epsilons])
    return AuditReport(
        mechanism=mechanism.name,
        domain=mechanism.domain.example(),
        guarantee=guarantee,
        exact_epsilon=None if exact is None else exact.epsilon,
        exact_worker_epsilon=None if exact is None else exact.worker_epsilon,
        rounding=0.0 if exact is None else exact.rounding,
        proven_epsilon=found.epsilon,
        proven_delta=found.delta,
        attack=found.attack,
        statistic=found.statistic,
        draws=count,
        confidence=confidence,
        simulated=rng is not None,
        curve=np.stack([epsilons, deltas]),
        curve_exact=whole is not None,
    )


def noise_of_audit(mechanism: Mechanism, n: int, draws: int = DRAWS) -> int:
    """Return how many exact, slow draws of noise an audit takes; parameters as of `audit`."""
    _check(mechanism, n, draws)
    plan = mechanism.plan_audit(n)
    per_worker = sum(2 * _noise_a_worker(mechanism, attack) for attack in plan.attacks)
    return _workers_a_side(mechanism, plan, draws) * per_worker


def _check(mechanism: Mechanism, n: int, draws: int) -> None:
    check_mechanism(mechanism)
    check_whole("n", n, 1)
    check_whole("draws", draws, FEWEST)


def _noise_a_worker(mechanism: Mechanism, attack: Attack) -> int:
    crowd = attack.crowd(mechanism.domain, attack.one, 1)
    return mechanism.noise_draws(
        answers=len(crowd), tasks=len(crowd.tasks), workers=len(crowd.workers)
    )


def _workers_a_side(mechanism: Mechanism, plan: AuditPlan, draws: int) -> int:
    """Return how many workers' reports are drawn for each of two inputs."""
    fewest = draws
    for attack in plan.attacks:
        noise = max(_noise_a_worker(mechanism, attack), 1)
        fewest = min(fewest, MOST_CELLS // len(attack.tasks), MOST_NOISE // noise)
    return max(fewest, FEWEST)


@frozen(kw_only=True)
class _Found:
    """What attacks prove together: epsilon, by what, and delta, at the stated epsilon and others.

    Epsilon and the delta at the stated epsilon hold together with the confidence asked for.
    """

    epsilon: float
    attack: str
    statistic: str
    delta: float
    deltas: npt.NDArray[np.float64]


def _attack_all(
    mechanism: Mechanism,
    plan: AuditPlan,
    guarantee: PrivacyGuarantee,
    count: int,
    confidence: float,
    epsilons: npt.NDArray[np.float64],
    rng: np.random.Generator | None,
) -> _Found:
    """Return what the best of all statistics of all attacks proves."""
    found = [
        (attack.name, statistic)
        for attack in plan.attacks
        for statistic in _statistics(mechanism, attack, count, rng)
    ]
    comparison = compare([statistic for _, statistic in found])
    each = (1 + confidence) / 2
    epsilon, best = proven_epsilon(comparison, each, guarantee.delta)
    deltas = proven_deltas(comparison, each, np.array([guarantee.epsilon, *epsilons]))
    attack, statistic = found[best]
    return _Found(
        epsilon=epsilon,
        attack=attack,
        statistic=statistic.name,
        delta=float(deltas[0]),
        deltas=deltas[1:],
    )


def _statistics(
    mechanism: Mechanism, attack: Attack, count: int, rng: np.random.Generator | None
) -> list[Statistic]:
    """Let `count` workers report either row of an attack, and return what is looked at."""
    one, other = (
        Observed.of(
            mechanism.randomize(attack.crowd(mechanism.domain, row, count), rng=rng),
            attack.tasks,
            count,
        )
        for row in (attack.one, attack.other)
    )
    return attack.statistics(one, other)


def _end_of_curve(guarantee: PrivacyGuarantee, plan: AuditPlan) -> float:
    """Return the largest epsilon of the curve: a little beyond all that is known or stated."""
    known = [guarantee.epsilon, guarantee.claimed_epsilon]
    if plan.exact is not None:
        known.append(plan.exact.epsilon)
    return 1.2 * max(0.5, *(epsilon for epsilon in known if epsilon < LARGEST))
