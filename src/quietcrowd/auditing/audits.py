"""Audit of a mechanism's guarantee: exact if possible, and always by attacks on real reports."""

from collections.abc import Iterable
from functools import partial, singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve

from quietcrowd.auditing.attack import (
    ALL,
    NULL,
    PART,
    VALUE,
    Attack,
    AuditPlan,
    Observed,
    alone,
    crowd_of,
    ends,
)
from quietcrowd.auditing.bounds import Statistic, compare, proven_deltas, proven_epsilon
from quietcrowd.auditing.channels.numbers import plan_bounded, plan_laplace, plan_shift
from quietcrowd.auditing.channels.sketch import plan_sketch
from quietcrowd.auditing.channels.table import plan_finite, plan_sets, plan_shared
from quietcrowd.auditing.report import AuditReport
from quietcrowd.auditing.reuse import MESSAGES, compare_devices, tasks_of_devices
from quietcrowd.auditing.scores import strongest_pair
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.per_worker import WorkerDistribution
from quietcrowd.mechanisms.channels.shift import LaplaceChannel
from quietcrowd.mechanisms.channels.sketch import SketchChannel
from quietcrowd.mechanisms.channels.table import TableChannel
from quietcrowd.mechanisms.mechanism import Mechanism, check_mechanism
from quietcrowd.mechanisms.mixture import Mixture, NonPrivate
from quietcrowd.mechanisms.randomness import RandomState, generator_of
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.privacy.two_layer.weights import MAX_ROW
from quietcrowd.validation import check_proportion, check_whole

ANSWERS = 20
"""Default answers of a worker, enough to show faults that join answers."""

DRAWS = 200_000
MOST_CELLS = 5_000_000
"""Reports of one side in memory at a time."""

MOST_NOISE = 3_000_000
"""Exact draws of noise for one side of an attack, about 20 seconds."""

MOST_SEARCHED = 2_000
"""Tasks that are searched for two correlated ones, and the number of workers for it."""

SEARCH_NOISE = 200_000
"""Exact draws of noise for the search, unless 100 workers need more."""

RISKS = {"epsilon": 0.5, "delta": 0.25, "worker": 0.2, "devices": 0.05}
"""Fractions of the risk of being wrong, one minus the confidence."""

FEWEST = 100

FEWEST_OF_PART = 2_000
"""Least number of draws a side for a fraction of the workers, if there are that many."""

POINTS = 61

LARGEST = 500.0
"""Losses of at least this are beyond the end of the curve."""


def audit(
    mechanism: Mechanism,
    n: int = ANSWERS,
    confidence: float = 0.999,
    *,
    draws: int = DRAWS,
    random_state: RandomState | None = None,
) -> AuditReport:
    """Audit a mechanism's privacy loss about one of a worker's answers, and about all of them.

    The *exact* loss is the largest ratio over all inputs and outputs, by the mechanism's public
    numbers. Finite channels use their tables of integers, also for rows of n answers. Noise on a
    grid uses the exact 1-norm by which one cell moves the reports.

    The *proven* loss comes from reports. Many workers report one row, and as many a row that
    differs in one cell, or in all. A log-likelihood ratio or a learned score distinguishes them. A
    quarter of the reports selects the score and its threshold. Clopper-Pearson bounds on the others
    prove lower bounds on epsilon and delta.

    Devices with equal answers are also called one by one and all at once, twice. If equal messages
    occur more often than the public distribution allows, randomness is reused.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism to audit.
    n : int
        Number of answers of a worker, or number of tasks if every task is reported.
    confidence : float
        Least probability that everything reported as proven is true: `proven_epsilon`,
        `proven_delta`, `proven_total_epsilon`, and reused randomness. A mechanism that is as
        stated is convicted by its reports with a probability of at most one minus that. Each proven
        point of the curve holds with this probability, not all together. The bounds assume that all
        workers are independent.
    draws : int
        Workers for each of two inputs, at least 100. Long reports reduce them to 5 million reports
        or 3 million exact draws of noise a side. A tenth, or 2,000 if that is more, looks for
        faults that join a worker's answers.
    random_state : int or numpy.random.Generator, optional
        Audits the simulation instead of real reports: fast and reproducible.

    Raises
    ------
    ParameterError
        If a parameter has the wrong type or is out of range, or `n` exceeds 10,000.
    AnswerError
        If reports come from workers without answers, or are not reports of the mechanism.

    References
    ----------
    C. J. Clopper, E. S. Pearson, Biometrika 1934; Z. Ding et al., "Detecting Violations of
    Differential Privacy", CCS 2018. ``research/docs/audit.md``.

    Examples
    --------
    >>> from quietcrowd import Categorical, RandomizedResponse
    >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0)
    >>> report = audit(mechanism, 20, draws=10_000, random_state=1)
    >>> report.verdict, round(report.exact_epsilon, 6), round(report.exact_total_epsilon, 6)
    ('holds', 1.0, 20.0)
    >>> 0.8 < report.proven_epsilon <= 1.0
    True
    """
    _check(mechanism, n, draws)
    check_proportion("confidence", confidence)
    rng = None if random_state is None else generator_of(random_state)
    plan = plan_audit(mechanism, n)
    guarantee = mechanism.guarantee(answers=n, tasks=n if plan.tasks is None else plan.tasks)
    epsilons = np.linspace(0.0, _end_of_curve(guarantee, plan), POINTS)
    proven, deltas = _attack_all(mechanism, plan, guarantee, draws, confidence, epsilons, rng)
    devices = None
    if plan.collisions is not None:
        devices = compare_devices(
            mechanism, plan.collisions, RISKS["devices"] * (1 - confidence), rng
        )
    exact = plan.exact
    whole = None if exact is None else exact.delta_at
    if whole is not None:
        deltas = np.array([whole(float(at)) for at in epsilons])
    return AuditReport(
        mechanism=mechanism.name,
        domain=mechanism.domain.example(),
        guarantee=guarantee,
        exact_epsilon=None if exact is None else exact.epsilon,
        exact_total_epsilon=None if exact is None else exact.total_epsilon,
        every_row=exact is not None and exact.every_row,
        rounding=0.0 if exact is None else exact.rounding,
        **proven,
        confidence=confidence,
        simulated=rng is not None,
        devices=devices,
        curve=np.stack([epsilons, deltas]),
        curve_exact=whole is not None,
    )


def audit_each(
    mechanisms: Mechanism | Iterable[Mechanism],
    n: int = ANSWERS,
    confidence: float = 0.999,
    *,
    draws: int = DRAWS,
    random_state: RandomState | None = None,
) -> tuple[AuditReport, ...]:
    """Audit each mechanism of a menu, or of a `Mixture`: see `audit`.

    With probability `confidence`, everything that the reports of all audits call proven is true:
    each of C audits has a C-th of the risk. Non-private answers are not audited.

    Raises
    ------
    ParameterError
        As `audit`, or if no mechanism randomizes.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> domain = qc.Categorical(["no", "yes"])
    >>> menu = [qc.RandomizedResponse(domain=domain, epsilon=loss) for loss in (0.5, 4.0)]
    >>> [report.verdict for report in audit_each(menu, draws=2000, random_state=1)]
    ['holds', 'holds']
    """
    check_proportion("confidence", confidence)
    found = [mechanisms] if isinstance(mechanisms, Mechanism) else [*mechanisms]
    parts = [part for one in found for part in (one.parts if isinstance(one, Mixture) else [one])]
    audited = [part for part in parts if not isinstance(part, NonPrivate)]
    if not audited:
        raise ParameterError("privacy.nothing-to-audit")
    rng = None if random_state is None else generator_of(random_state)
    each = 1 - (1 - confidence) / len(audited)
    return tuple(audit(part, n, each, draws=draws, random_state=rng) for part in audited)


def noise_of_audit(mechanism: Mechanism, n: int, draws: int = DRAWS) -> int:
    """Count the exact samples of noise in an audit, which are slow; parameters as for `audit`."""
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
    if not mechanism.randomizes:
        raise ParameterError("privacy.mixture-not-audited", type_name=type(mechanism).__name__)
    check_whole("n", n, 1)
    check_whole("draws", draws, FEWEST)


def _noise_a_worker(mechanism: Mechanism, attack: Attack) -> int:
    crowd = crowd_of(mechanism.domain, attack.tasks, attack.one, 1)
    return mechanism.noise_draws(
        answers=len(crowd), tasks=len(crowd.tasks), workers=len(crowd.workers)
    )


def _workers_a_side(mechanism: Mechanism, attack: Attack, draws: int) -> int:
    noise = max(_noise_a_worker(mechanism, attack), 1)
    most = min(draws, MOST_CELLS // len(attack.tasks), MOST_NOISE // noise)
    if attack.workers is not None:
        most = min(most, attack.workers)
    return max(round(attack.share * most), min(most, FEWEST_OF_PART), FEWEST)


def _workers_of_search(mechanism: Mechanism, attack: Attack) -> int:
    noise = max(_noise_a_worker(mechanism, attack), 1)
    return max(FEWEST, min(MOST_SEARCHED, SEARCH_NOISE // noise))


def _attack_all(
    mechanism: Mechanism,
    plan: AuditPlan,
    guarantee: PrivacyGuarantee,
    draws: int,
    confidence: float,
    epsilons: npt.NDArray[np.float64],
    rng: np.random.Generator | None,
) -> tuple[dict[str, Any], npt.NDArray[np.float64]]:
    """Return the proven fields of the report, and deltas at the epsilons of the curve."""
    found: list[tuple[Attack, Statistic]] = []
    rows: list[Statistic] = []
    for attack in plan.attacks:
        count = _workers_a_side(mechanism, attack, draws)
        if attack.search:
            attack = _search(mechanism, attack, rng)  # noqa: PLW2901
        sides = [attack.observe(mechanism, row, count, rng) for row in (attack.one, attack.other)]
        statistics = attack.statistics(*sides)
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
    proven = {
        "proven_epsilon": epsilon,
        "proven_delta": float(deltas[0]),
        "proven_total_epsilon": worker,
        "attack": attack.name,
        "statistic": statistic.name,
        "draws": len(statistic.one),
    }
    return proven, deltas[1:]


def _search(mechanism: Mechanism, attack: Attack, rng: np.random.Generator | None) -> Attack:
    """Return the attack with the two tasks of the most correlated reports, or bits, first.

    Additional workers, who give the same answer to all tasks, report for the search.
    """
    tasks, count = list(attack.tasks), _workers_of_search(mechanism, attack)
    seen = Observed.collect(mechanism, tasks, [attack.one[0]] * len(tasks), count, rng)
    some = np.arange(len(tasks))
    if len(tasks) > MOST_SEARCHED:
        some = (rng or np.random.default_rng()).choice(some, MOST_SEARCHED, replace=False)
    numbers = seen.cells if seen.bits is None or attack.other[0] is not None else seen.bits
    pair = some[list(strongest_pair([numbers[:, some]], len(some)))]
    return evolve(attack, tasks=[*(tasks[place] for place in pair), *np.delete(tasks, pair)])


def _end_of_curve(guarantee: PrivacyGuarantee, plan: AuditPlan) -> float:
    """Return the largest epsilon of the curve, a little beyond all known or stated losses."""
    known = [guarantee.epsilon, guarantee.claimed_epsilon]
    if plan.exact is not None:
        known.append(plan.exact.epsilon)
    return 1.2 * max(0.5, *(epsilon for epsilon in known if epsilon < LARGEST))


def plan_audit(mechanism: Mechanism, answers: int) -> AuditPlan:
    """Return the plan of `quietcrowd.auditing.audit` for a mechanism.

    `answers` is how many answers a worker gives, or the number of tasks if every task is reported.
    The plan depends on the kind of channel; `plan_of_channel.register` adds a plan for another
    kind.
    """
    if answers > MAX_ROW:
        raise ParameterError("privacy.too-many-audited-answers", max_row=MAX_ROW, answers=answers)
    return plan_of_channel(mechanism.channel, mechanism, answers)


@singledispatch
def plan_of_channel(channel: Channel, mechanism: Mechanism, answers: int) -> AuditPlan:
    """Return the plan for a channel without a registered plan."""
    if channel.shift is not None:
        return plan_shift(mechanism, channel.shift, answers)
    if channel.sets is not None:
        return plan_sets(channel.sets, answers)
    if channel.bounded_distribution is not None:
        return plan_bounded(mechanism, channel.bounded_distribution, answers)
    return _plan_unknown(mechanism, answers)


@plan_of_channel.register
def _(channel: TableChannel, mechanism: Mechanism, answers: int) -> AuditPlan:
    distribution = getattr(mechanism, "worker_distribution", None)
    if isinstance(distribution, WorkerDistribution):
        return plan_shared(mechanism, channel, distribution, answers)
    if mechanism.worker_channel is None and answers > 1:  # reports are not independent
        return _plan_unknown(mechanism, answers)
    return plan_finite(mechanism, channel, answers)


plan_of_channel.register(LaplaceChannel, plan_laplace)
plan_of_channel.register(SketchChannel, plan_sketch)


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
