"""`plan`: what error to expect, by simulation of crowds, mechanisms and the method."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError, QuietcrowdWarning
from quietcrowd.inference.loop import available_threads
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.mechanisms.laplace import LaplacePerturbation
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.planning.campaign_plan import CampaignPlan
from quietcrowd.planning.crowd_assumption import CrowdAssumption, CrowdSize, assumption_for
from quietcrowd.planning.equal_loss import Maker, Per, mechanism_within
from quietcrowd.planning.pilot import assumption_of_pilot
from quietcrowd.planning.plan_table import PlannedCell, rows_of
from quietcrowd.planning.simulation import SimulatedError, simulate, simulated_size
from quietcrowd.validation import check_real, check_whole, did_you_mean

__all__ = ["DEFAULT_EPSILONS", "default_makers", "known_makers", "plan", "simulate_size"]

DEFAULT_EPSILONS = (0.5, 1.0, 2.0, 4.0)

DRAWS = 12
"""So many crowds of labels are drawn for each size."""

DRAWS_OF_NUMBERS = 8
"""The same of numbers, whose inference takes longer."""

DRAWS_WITH_PILOT = 20
"""The same by a pilot, each by a law of its own."""

Told = Callable[[int, int], None]
"""Is told how many simulations are done, and of how many."""


def default_makers(domain: Domain) -> dict[str, Maker]:
    """Return the mechanism that is planned with where none is named, by its name.

    One that tells nothing of unanswered tasks but that they are: a worker is asked a public list.
    """
    if isinstance(domain, FiniteDomain):
        return known_makers(["one-layer"])
    return {"laplace:fill=none": partial(LaplacePerturbation.from_claimed_epsilon, fill=None)}


def known_makers(mechanisms: Any) -> dict[str, Maker]:
    """Return what makes mechanisms, by name.

    Parameters
    ----------
    mechanisms : iterable of str or of Mechanism classes, or mapping of str to callable
        Names are those of the registry.

    Raises
    ------
    ParameterError
        Where a name is unknown.
    """
    if isinstance(mechanisms, Mapping):
        return dict(mechanisms)
    registry = Mechanism.registry()
    found: dict[str, Maker] = {}
    single = isinstance(mechanisms, str | type)
    for one in [mechanisms] if single else mechanisms:
        name = getattr(one, "name", one)
        if name not in registry:
            raise ParameterError(
                f"mechanisms must be of {', '.join(registry)}; got {one!r}"
                f"{did_you_mean(str(name), registry)}"
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
    epsilon: float | Sequence[float] = DEFAULT_EPSILONS,
    per: Per = "answer",
    target: float | None = None,
    draws: int | None = None,
    seed: int = 0,
    progress: Told | None = None,
) -> CampaignPlan:
    """Return the expected error of a campaign, before the first answer.

    Nothing here depends on anybody's answer: crowds are drawn by what is assumed, randomised by
    the mechanism that the devices would use, and inferred by `NoiseAware`.

    Parameters
    ----------
    tasks : int
        How many questions there are.
    workers : int, or sequence of int
        How many are asked; each number is planned with.
    answers : int, or sequence of int, optional
        Of each worker: who is asked what is a public draw, made before anybody answers. Default:
        all tasks, or what `budget` allows.
    budget : int, optional
        How many answers there are in all, in place of `answers`: they are shared out evenly.
    domain : Categorical, Ordinal or Interval
        What an answer can be.
    quality : CrowdAssumption, or mapping, optional
        What is assumed of the crowd: a `LabelAssumption`, a `NumberAssumption`, or their
        parameters by name, as ``{"accuracy": 0.8}``.
    pilot : Answers or Reports, optional
        Of some tasks, in place of `quality`: plain answers, or reports alone. See
        `assumption_of_pilot`.
    mechanisms : optional
        Names, classes, or functions of ``domain=`` and ``epsilon=`` by name. Default: randomised
        response for labels, Laplace noise for numbers.
    epsilon : float, or sequence of float
        What is lost, exactly, whatever a paper claims.
    per : {"answer", "worker"}
        Whether `epsilon` is what one answer loses, or all answers of a worker together.
    target : float, optional
        The error that is wanted: ``plan.meeting`` then has the rows that reach it.
    draws : int, optional
        Crowds to simulate for each size, at least 3; the more, the narrower the intervals. Default:
        12 of labels, 8 of numbers, 20 with a pilot.
    seed : int
        Of crowds and noise. All cells see the same crowds, as far as sizes allow.
    progress : callable, optional
        Told the number of crowds that are done, and of all.

    Returns
    -------
    CampaignPlan

    Raises
    ------
    ParameterError
        Where a parameter is out of its range, or no mechanism can be planned with.

    References
    ----------
    ``docs/planning.md``, ``docs/theory/planning.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> found = plan(
    ...     tasks=100, workers=[20, 100], answers=10, domain=qc.Categorical(["no", "yes"]),
    ...     epsilon=2.0, draws=5,
    ... )
    >>> few, many = found.private
    >>> few.error > many.error and many.low <= many.error <= many.high
    True
    """
    labels = isinstance(domain, FiniteDomain)
    if draws is None:
        draws = DRAWS_WITH_PILOT if pilot is not None else DRAWS if labels else DRAWS_OF_NUMBERS
    check_whole("draws", draws, 3)
    assumption = _assumption(domain, quality, pilot, draws, seed)
    check_whole("seed", seed, 0)
    if target is not None:
        check_real("target", target, 0)
    if per not in ("answer", "worker"):
        raise ParameterError(f"per must be 'answer' or 'worker'; got {per!r}")
    sizes = _sizes(tasks, _several(workers), answers, budget)
    makers = default_makers(domain) if mechanisms is None else known_makers(mechanisms)
    epsilons = sorted({float(one) for one in _several(epsilon)})
    skipped: list[str] = []
    cells = {size: _cells(makers, domain, epsilons, size, per, skipped) for size in sizes}
    if not any(cells.values()):
        raise ParameterError("; ".join(skipped) or "mechanisms and epsilon must not be empty")
    found: dict[PlannedCell, Sequence[SimulatedError]] = {}
    told = _Told(progress, len(sizes) * draws)
    for size, chosen in cells.items():
        mechanisms = [cell.mechanism for cell in chosen]
        errors = simulate_size(assumption, size, mechanisms, draws, seed, told.one)
        plain = PlannedCell(name="none", mechanism=None, size=size)
        found.update(zip([*chosen, plain], errors, strict=True))
    return CampaignPlan(
        rows=tuple(rows_of(found, assumption)),
        tasks=tasks,
        score="error_rate" if labels else "mae",
        assumed=assumption.sentence(),
        target=target,
        draws=draws,
        skipped=tuple(dict.fromkeys(skipped)),
    )


def _assumption(domain: Any, quality: Any, pilot: Any, draws: int, seed: int) -> CrowdAssumption:
    """Return what is assumed, or what a pilot tells."""
    if pilot is None:
        return assumption_for(domain, quality)
    if quality is not None:
        raise ParameterError("give a pilot or the quality that is assumed, not both")
    return assumption_for(domain, assumption_of_pilot(pilot, worlds=draws, seed=seed))


class _Told:
    """Counts simulations, and tells."""

    def __init__(self, progress: Told | None, total: int) -> None:
        self.progress, self.total, self.done = progress, total, 0

    def one(self) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total)


def _several(values: Any) -> list[Any]:
    given = list(values) if isinstance(values, Iterable) else [values]
    if not given:
        raise ParameterError("workers, answers and epsilon must not be empty")
    return given


def _sizes(tasks: int, workers: list[int], answers: Any, budget: int | None) -> list[CrowdSize]:
    """Return the sizes to plan with, each once, in the order that is asked for."""
    if budget is not None:
        if answers is not None:
            raise ParameterError("give answers of each worker, or a budget of all, not both")
        check_whole("budget", budget, max(workers))
        pairs = [(crowd, min(budget // crowd, tasks)) for crowd in workers]
    else:
        each = [tasks] if answers is None else _several(answers)
        pairs = [(crowd, count) for count in each for crowd in workers]
    return list(
        dict.fromkeys(CrowdSize(tasks=tasks, workers=crowd, answers=n) for crowd, n in pairs)
    )


def _cells(
    makers: Mapping[str, Maker],
    domain: Domain,
    epsilons: Sequence[float],
    size: CrowdSize,
    per: Per,
    skipped: list[str],
) -> list[PlannedCell]:
    """Return what can be planned with, by mechanism and epsilon; say what cannot."""
    method, labels = NoiseAware(), isinstance(domain, FiniteDomain)
    found = []
    for name, maker in makers.items():
        for epsilon in epsilons:
            try:
                mechanism = mechanism_within(maker, domain, epsilon, size, per)
            except ParameterError as error:
                skipped.append(f"{name} was left out at epsilon {epsilon:g}: {error}")
                continue
            if not (method.models_noise(mechanism) or method.reads_reports(mechanism.channel)):
                skipped.append(f"{name} was left out: the noise-aware method cannot read it")
                break
            if method.infers_labels(method.truth_domain(mechanism)) != labels:
                skipped.append(f"{name} was left out: its truths are numbers, the plan's labels")
                break
            found.append(PlannedCell(name=name, mechanism=mechanism, size=size))
    return found


def simulate_size(
    assumption: CrowdAssumption,
    size: CrowdSize,
    mechanisms: Sequence[Mechanism | None],
    draws: int | range,
    seed: int = 0,
    told: Callable[[], None] = lambda: None,
    *,
    plain: bool = True,
) -> list[list[SimulatedError]]:
    """Simulate crowds of one size, each with all mechanisms and then with plain answers.

    Parameters
    ----------
    assumption : CrowdAssumption
        By which crowds are drawn.
    size : CrowdSize
        Of the campaign; a large one is simulated by a smaller one, see `simulated_size`.
    mechanisms : sequence of Mechanism
        All see the same crowds.
    draws : int or range
        How many crowds, or their numbers: crowds of one number and seed are the same.
    seed : int
        Of crowds and noise.
    told : callable
        Called after each crowd.
    plain : bool
        Whether plain answers are inferred, too.

    Returns
    -------
    list of lists of SimulatedError
        For each mechanism, and for plain answers at last, one entry per draw.
    """
    smaller = simulated_size(assumption, size)
    one = partial(_simulate_draw, assumption, smaller, [*mechanisms, *[None] * plain], seed)
    found: list[list[SimulatedError]] = []
    numbers = range(draws) if isinstance(draws, int) else draws
    pool = ThreadPoolExecutor(min(available_threads(), len(numbers)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        try:
            for errors in pool.map(one, numbers):
                found.append(errors)
                told()
        finally:
            pool.shutdown(cancel_futures=True)
    return [list(cell) for cell in zip(*found, strict=True)]


def _simulate_draw(
    assumption: CrowdAssumption,
    size: CrowdSize,
    mechanisms: Sequence[Mechanism | None],
    seed: int,
    draw: int,
) -> list[SimulatedError]:
    crowd = assumption.draw(size, draw, seed)
    return [simulate(crowd, mechanism, (seed, draw, 1)) for mechanism in mechanisms]
