"""Put a mechanism's guarantee to the test: exactly where that can be, and by attacks always.

This module knows nothing of how a mechanism works. It asks `plan_audit` for the exact
loss and for attacks, draws real reports, and compares what it finds with what is stated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from quietcrowd.auditing.attack import Attack, AuditPlan, Observed, crowd_of
from quietcrowd.auditing.attacks import plan_audit
from quietcrowd.auditing.learnt_scores import strongest_pair
from quietcrowd.auditing.lower_bounds import (
    Statistic,
    compare,
    proven_deltas,
    proven_epsilon,
)
from quietcrowd.auditing.report import AuditReport
from quietcrowd.auditing.reused_randomness import MESSAGES, compare_devices, tasks_of_devices
from quietcrowd.mechanisms.mechanism import check_mechanism
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.validation import check_proportion, check_whole

if TYPE_CHECKING:
    from quietcrowd.mechanisms.mechanism import Mechanism

__all__ = ["audit", "noise_of_audit"]

ANSWERS = 20
"""Of a worker: faults that join answers show, and rows are short enough for many workers."""

DRAWS = 200_000
MOST_CELLS = 5_000_000
"""Reports of one side that are held at a time."""

MOST_NOISE = 3_000_000
"""Exact draws of noise that one side of an attack may take: about 20 seconds."""

MOST_SEARCHED = 2_000
"""Tasks among which two that go together are sought, and workers who report them."""

SEARCH_NOISE = 200_000
"""Exact draws of noise that the search may take, unless 100 workers need more."""

RISKS = {"epsilon": 0.5, "delta": 0.25, "worker": 0.2, "devices": 0.05}
"""Shares of the risk of being wrong, one minus the confidence."""

FEWEST = 100
"""Draws a side."""

FEWEST_OF_PART = 2_000
"""Draws a side of an attack that has a share of the workers, if there are so many."""

POINTS = 61
"""Of the curve."""

LARGEST = 500.0
"""A loss above it is beyond the end of the curve."""


def audit(
    mechanism: Mechanism,
    n: int = ANSWERS,
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
    in one cell, or in all of them, are told apart by their log-likelihood ratio, or by scores that
    are learnt. On a quarter of the reports all this is chosen, and Clopper-Pearson bounds on the
    others prove lower bounds on epsilon and delta. Besides, devices with equal answers are called
    one by one and all at once, twice: messages that are equal more often than the law allows show
    that randomness is used more than once.

    Parameters
    ----------
    mechanism : Mechanism
        What is audited.
    n : int
        How many answers a worker gives, or, where every task is reported, how many tasks there are.
    confidence : float
        Probability, at least, that all that the report says to be proven is true: `proven_epsilon`,
        `proven_delta`, `proven_worker_epsilon`, and that randomness is reused if it says so.
        Where a mechanism is as stated, reports convict it with a probability of at most one minus
        that. Each point of a curve that is proven holds with this probability as well, not all of
        them together. The bounds take all workers, of either row, to be independent of each other.
    draws : int
        Workers for each of two inputs, at least 100; fewer are drawn where their reports are
        long: at most 5 million reports, or 3 million exact draws of noise, a side. A tenth of them
        looks for faults that join a worker's answers, or 2,000 if that is more.
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
    check_proportion("confidence", confidence)
    plan = plan_audit(mechanism, n)
    guarantee = mechanism.guarantee(answers=n, tasks=n if plan.tasks is None else plan.tasks)
    epsilons = np.linspace(0.0, _end_of_curve(guarantee, plan), POINTS)
    found = _attack_all(mechanism, plan, guarantee, draws, confidence, epsilons, rng)
    devices = None
    if plan.collisions is not None:
        devices = compare_devices(
            mechanism, plan.collisions, RISKS["devices"] * (1 - confidence), rng
        )
    exact = plan.exact
    whole = None if exact is None else exact.delta_at
    deltas = found.deltas if whole is None else np.array([whole(float(at)) for at in epsilons])
    return AuditReport(
        mechanism=mechanism.name,
        domain=mechanism.domain.example(),
        guarantee=guarantee,
        exact_epsilon=None if exact is None else exact.epsilon,
        exact_worker_epsilon=None if exact is None else exact.worker_epsilon,
        every_row=exact is not None and exact.every_row,
        rounding=0.0 if exact is None else exact.rounding,
        proven_epsilon=found.epsilon,
        proven_delta=found.delta,
        proven_worker_epsilon=found.worker_epsilon,
        attack=found.attack,
        statistic=found.statistic,
        draws=found.draws,
        confidence=confidence,
        simulated=rng is not None,
        devices=devices,
        curve=np.stack([epsilons, deltas]),
        curve_exact=whole is not None,
    )


def noise_of_audit(mechanism: Mechanism, n: int, draws: int = DRAWS) -> int:
    """Return how many exact, slow draws of noise an audit takes; parameters as of `audit`."""
    _check(mechanism, n, draws)
    plan = plan_audit(mechanism, n)
    total = 0
    for attack in plan.attacks:
        each = _noise_a_worker(mechanism, attack)
        searching = _workers_of_search(mechanism, attack) if attack.search else 0
        total += each * (2 * _workers_a_side(mechanism, attack, draws) + searching)
    if plan.collisions is not None:
        tasks = tasks_of_devices(plan.collisions)
        total += MESSAGES * mechanism.noise_draws(answers=tasks, tasks=tasks, workers=1)
    return total


def _check(mechanism: Mechanism, n: int, draws: int) -> None:
    check_mechanism(mechanism)
    check_whole("n", n, 1)
    check_whole("draws", draws, FEWEST)


def _noise_a_worker(mechanism: Mechanism, attack: Attack) -> int:
    crowd = attack.crowd(mechanism.domain, attack.one, 1)
    return mechanism.noise_draws(
        answers=len(crowd), tasks=len(crowd.tasks), workers=len(crowd.workers)
    )


def _workers_a_side(mechanism: Mechanism, attack: Attack, draws: int) -> int:
    """Return how many workers' reports are drawn for each of two inputs."""
    noise = max(_noise_a_worker(mechanism, attack), 1)
    most = min(draws, MOST_CELLS // len(attack.tasks), MOST_NOISE // noise)
    if attack.workers is not None:
        most = min(most, attack.workers)
    return max(round(attack.share * most), min(most, FEWEST_OF_PART), FEWEST)


def _workers_of_search(mechanism: Mechanism, attack: Attack) -> int:
    noise = max(_noise_a_worker(mechanism, attack), 1)
    return max(FEWEST, min(MOST_SEARCHED, SEARCH_NOISE // noise))


@frozen(kw_only=True)
class _Found:
    """What attacks prove together.

    Epsilon, by what and from how many workers a side; the delta at the stated epsilon; the loss
    about all answers together; these three hold together with the confidence asked for. And the
    delta at other epsilons.
    """

    epsilon: float
    attack: str
    statistic: str
    draws: int
    delta: float
    worker_epsilon: float
    deltas: npt.NDArray[np.float64]


def _attack_all(
    mechanism: Mechanism,
    plan: AuditPlan,
    guarantee: PrivacyGuarantee,
    draws: int,
    confidence: float,
    epsilons: npt.NDArray[np.float64],
    rng: np.random.Generator | None,
) -> _Found:
    """Return what the best of all statistics of all attacks proves."""
    found: list[tuple[Attack, Statistic]] = []
    rows: list[Statistic] = []
    for attack in plan.attacks:
        count = _workers_a_side(mechanism, attack, draws)
        statistics = _statistics(mechanism, attack, count, rng)
        if attack.whole:
            rows += statistics
        else:
            found += [(attack, statistic) for statistic in statistics]
    risk = 1 - confidence
    comparison = compare([statistic for _, statistic in found])
    epsilon, best = proven_epsilon(comparison, 1 - RISKS["epsilon"] * risk, guarantee.delta)
    at = np.array([guarantee.epsilon, *epsilons])
    deltas = proven_deltas(comparison, 1 - RISKS["delta"] * risk, at)
    worker = epsilon
    if rows:
        of_rows, _ = proven_epsilon(compare(rows), 1 - RISKS["worker"] * risk, guarantee.delta)
        worker = max(worker, of_rows)
    attack, statistic = found[best]
    return _Found(
        epsilon=epsilon,
        attack=attack.name,
        statistic=statistic.name,
        draws=len(statistic.one),
        delta=float(deltas[0]),
        worker_epsilon=worker,
        deltas=deltas[1:],
    )


def _statistics(
    mechanism: Mechanism, attack: Attack, count: int, rng: np.random.Generator | None
) -> list[Statistic]:
    """Let `count` workers report either row of an attack, and return what is looked at."""
    if attack.search:
        attack = _search(mechanism, attack, rng)
    one, other = (attack.observe(mechanism, row, count, rng) for row in (attack.one, attack.other))
    return attack.statistics(one, other)


def _search(mechanism: Mechanism, attack: Attack, rng: np.random.Generator | None) -> Attack:
    """Return the attack with the two tasks first whose reports, or bits, go together most.

    Other workers report for that, who give the same answer to all tasks.
    """
    tasks, count = list(attack.tasks), _workers_of_search(mechanism, attack)
    answers = crowd_of(mechanism.domain, tasks, [attack.one[0]] * len(tasks), count)
    seen = Observed.of(mechanism.randomize(answers, rng=rng), tasks, count)
    some = np.arange(len(tasks))
    if len(tasks) > MOST_SEARCHED:
        some = (rng or np.random.default_rng()).choice(some, MOST_SEARCHED, replace=False)
    numbers = seen.cells if seen.bits is None or attack.other[0] is not None else seen.bits
    pair = some[list(strongest_pair([numbers[:, some]], len(some)))]
    return evolve(attack, tasks=[*(tasks[place] for place in pair), *np.delete(tasks, pair)])


def _end_of_curve(guarantee: PrivacyGuarantee, plan: AuditPlan) -> float:
    """Return the largest epsilon of the curve: a little beyond all that is known or stated."""
    known = [guarantee.epsilon, guarantee.claimed_epsilon]
    if plan.exact is not None:
        known.append(plan.exact.epsilon)
    return 1.2 * max(0.5, *(epsilon for epsilon in known if epsilon < LARGEST))
