"""Plans of campaigns: simulated errors, and the rows made of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from attrs import frozen

from quietcrowd.accounting.equal_loss import (
    Maker,
    Per,
    exact_loss,
    mechanism_within,
    usual_makers,
    usual_total,
)
from quietcrowd.answers import Answers
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.mechanisms.randomness import RandomState, seed_of
from quietcrowd.planning.campaign_plan import CampaignPlan, PlanRow
from quietcrowd.planning.crowd_assumption import CrowdAssumption, CrowdSize, assumption_for
from quietcrowd.planning.error_interval import (
    ExpectedError,
    SmoothedCell,
    expected_errors,
    high_of_many,
    on_scale,
    smooth,
    transformed,
)
from quietcrowd.planning.pilot import assumption_of_pilot
from quietcrowd.planning.simulation import (
    FAIR_TASKS,
    MOST_LABELLED,
    MOST_MEASURED,
    SimulatedError,
    simulate_size,
    simulated_size,
)
from quietcrowd.planning.theory import theory_error
from quietcrowd.validation import check_real, check_whole, did_you_mean

DRAWS = 12

DRAWS_OF_NUMBERS = 8
"""Fewer, as inference of numbers takes longer."""

DRAWS_WITH_PILOT = 20
"""More, as each crowd has another distribution."""

MOST_DRAWS, MOST_DRAWS_OF_NUMBERS = 150, 40
"""Most crowds of a campaign with few questions, which together have about as many questions as one
large simulated crowd."""

Progress = Callable[[int, int], None]
"""Receives the number of completed simulations, and their total."""


def known_makers(mechanisms: Any) -> dict[str, Maker]:
    """Return functions that make mechanisms, by name, from names, classes or a mapping."""
    if isinstance(mechanisms, Mapping):
        return dict(mechanisms)
    registry = Mechanism.registry()
    found: dict[str, Maker] = {}
    single = isinstance(mechanisms, str | type)
    for one in [mechanisms] if single else mechanisms:
        name = getattr(one, "name", one)
        if name not in registry:
            raise ParameterError(
                "planning.mechanism-unknown",
                registry=", ".join(registry),
                one=one,
                suggestion=did_you_mean(str(name), registry),
            )
        found[name] = registry[name].from_claimed_epsilon
    return found


def plan(
    *,
    tasks: int,
    workers: int | Sequence[int],
    answers: int | Sequence[int] | None = None,
    budget: int | None = None,
    domain: Any,
    quality: CrowdAssumption | Mapping[str, Any] | None = None,
    pilot: Answers | Reports | None = None,
    mechanisms: Any = None,
    total_epsilon: float | Sequence[float] | None = None,
    epsilon: float | Sequence[float] | None = None,
    target: float | None = None,
    draws: int | None = None,
    random_state: RandomState = 0,
    progress: Progress | None = None,
) -> CampaignPlan:
    """Return the expected error of a campaign, before the first answer.

    Crowds are sampled from assumptions, randomized by the mechanism of the devices, and inferred by
    `NoiseAware`. No answers are used except those of a pilot. The `verdict` of a row states the
    result in words, next to a guess. See ``docs/learn/how-many-people.md``.

    Parameters
    ----------
    tasks : int
        Number of tasks.
    workers : int, or sequence of int
        Numbers of workers to plan for.
    answers : int, or sequence of int, optional
        Answers of each worker, to tasks that are assigned at random and publicly before anyone
        answers. Default: all tasks, or by `budget`.
    budget : int, optional
        Total number of answers instead of `answers`, distributed evenly.
    domain : Categorical, Ordinal or Interval
        Domain of the answers.
    quality : CrowdAssumption, or mapping, optional
        A `LabelCrowd`, a `NumberCrowd`, or their parameters by name, such as
        ``{"accuracy": 0.8}``.
    pilot : Answers or Reports, optional
        Non-private answers to some tasks, or reports only, instead of `quality`.
    mechanisms : optional
        Names, classes, or functions of ``domain=`` and ``epsilon=`` by name. Default: randomized
        response for labels, Laplace noise for numbers.
    total_epsilon : float, or sequence of float, optional
        Largest exact privacy loss of all answers of a worker together, independent of a paper's
        claim. Default: 5, or 2.2 for each answer of a worker with one or two.
    epsilon : float, or sequence of float, optional
        Exact privacy loss of one answer instead of `total_epsilon`.
    target : float, optional
        Desired error; ``plan.meeting`` contains the rows that reach it.
    draws : int, optional
        Simulated crowds for each size, at least 3; more narrow the intervals. Default: 12 for
        labels, 8 for numbers, 20 with a pilot; more for few tasks in few rows.
    random_state : int or numpy.random.Generator
        Seed of crowds and noise. All cells see the same crowds, as far as sizes allow.
    progress : callable, optional
        Called with the number of completed crowds, and the total.

    Raises
    ------
    ParameterError
        If a parameter is out of its range, or no mechanism is suitable.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> found = plan(
    ...     tasks=100, workers=[20, 100], answers=10, domain=qc.Categorical(["no", "yes"]),
    ...     total_epsilon=20.0, draws=5,
    ... )
    >>> few, many = found.private
    >>> few.error > many.error and many.low <= many.error <= many.high
    True
    >>> many.useless
    False
    """
    sizes = sizes_of(tasks, _several(workers), answers, budget)
    makers = usual_makers(domain) if mechanisms is None else known_makers(mechanisms)
    losses = _Losses.of(total_epsilon, epsilon)
    if draws is None:
        rows = len(sizes) * len(makers) * len(losses.given or [None])
        draws = DRAWS_WITH_PILOT if pilot is not None else usual_draws(domain, tasks * rows)
    check_whole("draws", draws, 3)
    seed = seed_of(random_state)
    assumption = assumed(domain, quality, pilot, draws, seed)
    if target is not None:
        check_real("target", target, 0)
    if total_epsilon is not None and epsilon is not None:
        raise ParameterError("planning.total-and-answer")
    skipped: list[str] = []
    cells = {size: _cells(makers, domain, losses, size, skipped) for size in sizes}
    if not any(cells.values()):
        if not skipped:
            raise ParameterError("planning.mechanisms-empty")
        raise ParameterError("evaluation.all-skipped", reasons="; ".join(skipped))
    found: dict[PlannedCell, Sequence[SimulatedError]] = {}
    done = count(1)

    def report_progress() -> None:
        if progress is not None:
            progress(next(done), len(sizes) * draws)

    for size, chosen in cells.items():
        mechanisms = [cell.mechanism for cell in chosen]
        errors = simulate_size(assumption, size, mechanisms, draws, seed, report_progress)
        plain = PlannedCell(name="none", mechanism=None, size=size)
        found.update(zip([*chosen, plain], errors, strict=True))
    return CampaignPlan(
        rows=tuple(rows_of(found, assumption)),
        tasks=tasks,
        score=score_of(domain),
        assumed=assumption.sentence(),
        floor=assumption.floor(),
        target=target,
        draws=draws,
        skipped=tuple(dict.fromkeys(skipped)),
    )


def usual_draws(domain: Any, tasks: int = MOST_LABELLED) -> int:
    """Return the default number of crowds, for a number of tasks in all rows together."""
    least, most, questions = DRAWS, MOST_DRAWS, MOST_LABELLED
    if not isinstance(domain, FiniteDomain):
        least, most, questions = DRAWS_OF_NUMBERS, MOST_DRAWS_OF_NUMBERS, MOST_MEASURED
    return max(least, min(most, -(-questions // max(tasks, 1))))


def assumed(domain: Any, quality: Any, pilot: Any, draws: int, seed: int) -> CrowdAssumption:
    """Return the assumption of a plan: `quality`, a pilot's, or the default for a domain."""
    if pilot is None:
        return assumption_for(domain, quality)
    if quality is not None:
        raise ParameterError("planning.pilot-and-quality")
    return assumption_for(domain, assumption_of_pilot(pilot, worlds=draws, random_state=seed))


def _several(values: Any) -> list[Any]:
    given = list(values) if isinstance(values, Iterable) else [values]
    if not given:
        raise ParameterError("planning.choices-empty")
    return given


def sizes_of(
    tasks: int, workers: Sequence[int], answers: Any, budget: int | None
) -> list[CrowdSize]:
    """Return the different sizes of a plan."""
    if budget is not None:
        if answers is not None:
            raise ParameterError("planning.answers-and-budget")
        check_whole("budget", budget, max(workers))
        pairs = [(crowd, min(budget // crowd, tasks)) for crowd in workers]
    else:
        each = [tasks] if answers is None else _several(answers)
        pairs = [(crowd, n) for n in each for crowd in workers]
    return list(
        dict.fromkeys(CrowdSize(tasks=tasks, workers=crowd, answers=n) for crowd, n in pairs)
    )


@frozen(kw_only=True)
class _Losses:
    """Losses to plan for; None: the default total, which depends on the number of answers."""

    given: tuple[float, ...] | None
    per: Per

    @classmethod
    def of(cls, total: Any, one: Any) -> "_Losses":
        given = one if total is None else total
        losses = None if given is None else tuple(sorted({float(x) for x in _several(given)}))
        return cls(given=losses, per="worker" if one is None else "answer")

    def at(self, size: CrowdSize) -> tuple[float, ...]:
        return (usual_total(size.answers),) if self.given is None else self.given


def _cells(
    makers: Mapping[str, Maker],
    domain: Domain,
    losses: _Losses,
    size: CrowdSize,
    skipped: list[str],
) -> "list[PlannedCell]":
    found = []
    counts = {"answers": size.answers, "tasks": size.tasks}
    for name, maker in makers.items():
        for epsilon in losses.at(size):
            try:
                mechanism = mechanism_within(maker, domain, epsilon, losses.per, **counts)
            except ParameterError as error:
                skipped.append(f"{name} was dropped at epsilon {epsilon:g}: {error}")
                continue
            if reason := why_not_planned(mechanism, domain):
                skipped.append(f"{name} was dropped: {reason}")
                break
            found.append(PlannedCell(name=name, mechanism=mechanism, size=size))
    return found


def why_not_planned(mechanism: Mechanism, domain: Domain) -> str | None:
    """Return why the error of a mechanism cannot be simulated; None if it can."""
    method = NoiseAware()
    if not (method.models_noise(mechanism) or method.reads_reports(mechanism.channel)):
        return "the noise-aware method cannot read it"
    if method.infers_labels(method.truth_domain(mechanism)) != isinstance(domain, FiniteDomain):
        return "its truths are numbers, the plan's labels"
    return None


def score_of(domain: Domain) -> str:
    """Return the kind of errors of answers in a domain."""
    return "error_rate" if isinstance(domain, FiniteDomain) else "mae"


@frozen(kw_only=True, eq=False)
class PlannedCell:
    """Mechanism for one size of the crowd; for non-private answers None, with the name "none"."""

    name: str
    mechanism: Mechanism | None
    size: CrowdSize


def rows_of(
    found: Mapping[PlannedCell, Sequence[SimulatedError]], assumption: CrowdAssumption
) -> list[PlanRow]:
    """Return the rows of a plan in the order of `found`.

    Theory smooths the cells of one mechanism if they have
    several sizes. Cells of one size are not smoothed, as their errors come from the same crowds and
    vary together.
    """
    errors: dict[PlannedCell, tuple[ExpectedError, float]] = {}
    for name in dict.fromkeys(cell.name for cell in found):
        named = [cell for cell in found if cell.name == name]
        smoothed = _smoothed(named, found, assumption)
        for size in dict.fromkeys(cell.size for cell in named):
            errors.update(_of_one_size(size, smoothed, found, assumption))
    return [
        _row(
            cell,
            *errors[cell],
            sum(one.constant for one in draws) / len(draws),
            score_of(assumption.domain),
        )
        for cell, draws in found.items()
    ]


def _smoothed(
    cells: Sequence[PlannedCell],
    found: Mapping[PlannedCell, Sequence[SimulatedError]],
    assumption: CrowdAssumption,
) -> dict[PlannedCell, SmoothedCell]:
    labels, tasks = isinstance(assumption.domain, FiniteDomain), cells[0].size.tasks
    draws = [on_scale(found[cell], labels=labels) for cell in cells]
    if len({cell.size for cell in cells}) == 1:
        return {cell: SmoothedCell(draws=row) for cell, row in zip(cells, draws, strict=True)}
    expected = [theory_error(assumption, cell.size, cell.mechanism) for cell in cells]
    theory = [
        None if error is None else float(transformed(np.array(error), tasks, labels=labels))
        for error in expected
    ]
    return dict(zip(cells, smooth(np.array(draws), theory), strict=True))


def _of_one_size(
    size: CrowdSize,
    smoothed: Mapping[PlannedCell, SmoothedCell],
    found: Mapping[PlannedCell, Sequence[SimulatedError]],
    assumption: CrowdAssumption,
) -> dict[PlannedCell, tuple[ExpectedError, float]]:
    """Return expected errors of one size, each with the interval's end for 100 tasks or more."""
    cells = [cell for cell in smoothed if cell.size == size]
    labels = isinstance(assumption.domain, FiniteDomain)
    errors = expected_errors(
        [found[cell] for cell in cells],
        tasks=size.tasks,
        labels=labels,
        uncertain=assumption.uncertain or simulated_size(assumption, size).answers != size.answers,
        smoothed=[smoothed[cell] for cell in cells],
        widening=assumption.widening,
    )
    highs = [one.high for one in errors]
    if size.tasks < FAIR_TASKS:
        highs = [
            high_of_many(found[cell], FAIR_TASKS, labels=labels, widening=assumption.widening)
            for cell in cells
        ]
    return dict(zip(cells, zip(errors, highs, strict=True), strict=True))


def _row(
    cell: PlannedCell, error: ExpectedError, many_high: float, constant: float, score: str
) -> PlanRow:
    size, losses = cell.size, {"total_epsilon": float("inf"), "epsilon": float("inf")}
    return PlanRow(
        mechanism=cell.name,
        **(losses if cell.mechanism is None else exact_losses(cell.mechanism, size)),
        workers=size.workers,
        tasks=size.tasks,
        answers=size.answers,
        score=score,
        error=error.error,
        standard_error=error.standard_error,
        low=error.low,
        high=error.high,
        many_high=many_high,
        constant=constant,
    )


def exact_losses(mechanism: Mechanism, size: CrowdSize) -> dict[str, float]:
    """Return the losses of a row: about all answers of a worker, and about one."""
    pers: dict[str, Per] = {"total_epsilon": "worker", "epsilon": "answer"}
    counts = {"answers": size.answers, "tasks": size.tasks}
    return {name: exact_loss(mechanism, per, **counts) for name, per in pers.items()}
