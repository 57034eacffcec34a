"""A crowd by what a pilot tells of it: plain answers, or reports alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.domains import Domain, FiniteDomain, Interval
from quietcrowd.exceptions import ParameterError, QuietcrowdWarning
from quietcrowd.inference import integer_sums
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.inference.numbers.report_bins import usual_sigmas
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.planning.crowd_assumption import (
    CrowdAssumption,
    CrowdSize,
    LabelAssumption,
    NumberAssumption,
)
from quietcrowd.validation import check_whole

__all__ = ["PilotAssumption", "assumption_of_pilot"]

Floats = npt.NDArray[np.float64]

SAMPLE = 200
"""So many workers stand for the law of a crowd."""

KEPT_OF, LEAST_KEPT = 3, 10
"""Of labels one law in so many is kept, and so many at least: a line is laid through them."""

WORTH = 10
"""What a pilot tells of the shares of good and bad workers is taken to be from so many workers."""

WIDENING, WIDENING_OF_NUMBERS = 1.21, 1.38
"""Intervals by a pilot of reports are so many times as wide as its laws say, on their scale.

So wide they hold nine in ten of drawn crowds that are not as the laws have it.
"""

MOST_MISLED = 0.3
"""On at most this share of the tasks workers err together: a pilot cannot tell."""

MOST_SHARED = 2.0
"""The error that all answers to a task share is at most so many times as large as a worker's."""


@frozen(kw_only=True)
class PilotAssumption(CrowdAssumption):
    """A crowd of which a pilot tells, and how much it leaves open.

    Attributes
    ----------
    worlds : tuple of CrowdAssumption
        Laws that go with the pilot, one for each draw; after the last the first comes again.
    of_reports : bool
        Whether the pilot was of reports alone.
    """

    worlds: tuple[CrowdAssumption, ...]
    of_reports: bool = False

    @property
    @override
    def domain(self) -> Domain:  # type: ignore[override]
        return self.worlds[0].domain

    @property
    @override
    def uncertain(self) -> bool:
        return True

    @property
    @override
    def widening(self) -> float:
        if not self.of_reports:
            return 1.0
        return WIDENING if isinstance(self.domain, FiniteDomain) else WIDENING_OF_NUMBERS

    @override
    def world(self, draw: int) -> CrowdAssumption:
        return self.worlds[draw % len(self.worlds)]

    @override
    def crowd(self, size: CrowdSize, rng: np.random.Generator) -> Dataset:
        return self.worlds[int(rng.integers(len(self.worlds)))].crowd(size, rng)

    @override
    def sentence(self) -> str:
        together = (
            f"up to {MOST_MISLED:.0%} of the tasks mislead"
            if isinstance(self.domain, FiniteDomain)
            else f"all answers to a task share up to {MOST_SHARED:g} times a worker's error"
        )
        return (
            f"a crowd as the pilot's, {len(self.worlds)} laws that go with it; {together}, which "
            "no pilot without truths can tell"
        )


def assumption_of_pilot(
    pilot: Answers | Reports, *, worlds: int = 20, seed: int = 0
) -> PilotAssumption:
    """Return what a pilot tells of the crowd, and what it leaves open.

    The law of the crowd is what `NoiseAware` finds in the pilot. How far it may be off is found by
    drawing: crowds of the pilot's size by that law, randomised as the pilot was, and inferred
    again, each give one law. By reports of labels, which may hide how good workers are, crowds of
    all mean accuracies are tried, and those kept that seem to be as good as the pilot's.
    ``docs/theory/planning.md``.

    Parameters
    ----------
    pilot : Answers or Reports
        Of some tasks; plain, or as devices sent them: then nothing is learnt of anybody's answers
        but what the reports tell.
    worlds : int
        How many laws, at least 1.
    seed : int
        Of what is drawn.

    Raises
    ------
    ParameterError
        Where the pilot is neither, is empty, or its reports cannot be read by `NoiseAware`.
    """
    if not isinstance(pilot, Answers | Reports):
        raise ParameterError(f"pilot must be Answers or Reports; got {type(pilot).__name__}")
    check_whole("worlds", worlds, 1)
    check_whole("seed", seed, 0)
    table = pilot.table if isinstance(pilot, Reports) else pilot
    mechanism = pilot.mechanism if isinstance(pilot, Reports) else None
    if not len(table):
        raise ParameterError("the pilot holds no answers")
    if mechanism is not None and mechanism.every_task:
        raise ParameterError(
            "in this pilot every worker reports every task, answered or not: who answered how much "
            "is hidden. Plan with what is assumed of the crowd instead (quality=)"
        )
    rng = np.random.default_rng(np.random.SeedSequence((seed, 1)))
    size = _size(table)
    domain = table.domain if mechanism is None else mechanism.domain
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        found = _law(domain, NoiseAware().fit(pilot, threads=1), rng, certain=True)
        if isinstance(found, LabelAssumption) and mechanism is not None:
            laws = _laws_by_reports(found, size, mechanism, worlds, rng)
        else:
            laws = [_again(found, size, mechanism, rng) for _ in range(worlds)]
    return PilotAssumption(worlds=tuple(laws), of_reports=mechanism is not None)


def _size(table: Answers) -> CrowdSize:
    """Return the size of an even crowd that answers as much as a pilot's."""
    workers = int((table.answers_per_worker > 0).sum())
    tasks = len(table.tasks)
    each = min(max(1, round(len(table) / workers)), tasks)
    return CrowdSize(tasks=tasks, workers=workers, answers=each)


def _simulated(
    law: CrowdAssumption, size: CrowdSize, mechanism: Mechanism | None, rng: np.random.Generator
) -> CrowdAssumption:
    """Return the law that is found in the pilot of a crowd of a law."""
    answers: Any = law.crowd(size, rng).answers
    if mechanism is not None:
        answers = mechanism.randomize(answers, rng=rng)
    return _law(law.domain, NoiseAware().fit(answers, threads=1), rng, certain=False)


def _again(
    law: CrowdAssumption, size: CrowdSize, mechanism: Mechanism | None, rng: np.random.Generator
) -> CrowdAssumption:
    """Return the law that is found in a crowd of a law; accuracies moved to its other side."""
    found = _simulated(law, size, mechanism, rng)
    if isinstance(law, LabelAssumption) and isinstance(found, LabelAssumption):
        moved = 2 * _mean_accuracy(law) - 2 * _mean_accuracy(found)
        return evolve(found, accuracies=np.clip(np.array(found.accuracies) + moved, 0.0, 1.0))
    return found


def _laws_by_reports(
    found: LabelAssumption,
    size: CrowdSize,
    mechanism: Mechanism,
    worlds: int,
    rng: np.random.Generator,
) -> list[CrowdAssumption]:
    """Return laws in whose pilots workers seem to be as good as in the real one.

    Mean accuracies are drawn evenly from a guess's to 1, and a pilot is simulated by each. Those
    are kept whose pilots are nearest, each moved by what a line through them tells of the rest
    (approximate Bayesian computation).
    """
    even = 1.0 / found.domain.size
    drawn = even + (1.0 - even) * rng.random(KEPT_OF * max(worlds, LEAST_KEPT))
    seen: list[Any] = [_simulated(_as_good_as(found, mean), size, mechanism, rng) for mean in drawn]
    apart = np.array([_mean_accuracy(law) for law in seen]) - _mean_accuracy(found)
    near = np.argsort(np.abs(apart), kind="stable")[: len(drawn) // KEPT_OF]
    centred = apart[near] - apart[near].mean()
    squares = float(centred @ centred)
    slope = float(centred @ drawn[near]) / squares if squares > 0 else 0.0
    return [_as_good_as(seen[at], drawn[at] - slope * apart[at]) for at in near[:worlds]]


def _mean_accuracy(law: LabelAssumption) -> float:
    return float(np.mean(law.accuracies or ()))


def _as_good_as(law: LabelAssumption, mean: float) -> LabelAssumption:
    """Return a law with another mean accuracy: all workers nearer to 1, or to a guess."""
    skills, even, now = np.array(law.accuracies), 1.0 / law.domain.size, _mean_accuracy(law)
    mean = float(np.clip(mean, min(even, now), 1.0))
    aim = 1.0 if mean > now else even
    if mean != now:
        skills = skills + (aim - skills) * (mean - now) / (aim - now)
    return evolve(law, accuracies=np.clip(skills, 0.0, 1.0), pull=_pull(mean, law.domain.size))


def _pull(right: float, labels: int) -> float:
    """Return the share of answers that a lure draws where it is as good as the truth elsewhere."""
    wrong = (1.0 - right) / (labels - 1)
    return float(np.clip((right - wrong) / max(1.0 - wrong, 1e-9), 0.0, 1.0))


def _law(
    domain: Domain, estimate: Any, rng: np.random.Generator, *, certain: bool
) -> CrowdAssumption:
    """Return a law of the crowd that goes with an estimate; what it leaves open is drawn.

    With `certain` it is the likeliest one, as far as the estimate tells.
    """
    if isinstance(domain, FiniteDomain):
        return _label_law(domain, estimate.state, rng, certain=certain)
    if isinstance(domain, Interval):
        return _number_law(domain, estimate, rng, certain=certain)
    raise ParameterError(
        "a pilot must be of labels, or of numbers in a public interval, as Interval(low=0, "
        f"high=10); got {domain.example()}"
    )


def _label_law(
    domain: FiniteDomain, state: Any, rng: np.random.Generator, *, certain: bool
) -> LabelAssumption:
    """Return a law by the communities of workers that the model of labels found."""
    prior = np.exp(state.log_priors / integer_sums.ONE)
    prior /= prior.sum()
    groups = np.concatenate([state.communities, [state.constants.sum()]])
    shares = groups / groups.sum()
    if not certain:
        shares = rng.dirichlet(np.maximum(WORTH * shares, 1e-3))
    chosen = rng.choice(len(shares), SAMPLE, p=shares)
    grid = state.accuracies.shape[2]
    centres = (np.arange(grid) + 0.5) / grid
    means = state.accuracies @ centres @ prior  # of each community
    laws = np.einsum("tkg,k->tg", state.accuracies, prior).cumsum(axis=1)
    guessed = float(prior @ state.guesses)
    drawn = rng.random(SAMPLE)
    places = [
        min(int(np.searchsorted(laws[t], u)), grid - 1) if t < len(means) else -1
        for t, u in zip(chosen, drawn, strict=True)
    ]
    right = np.array([centres[place] if place >= 0 else guessed for place in places])
    known = (right - guessed) / max(1.0 - guessed, 1e-9)
    even = 1.0 / domain.size
    skills = np.clip(even + known * (1.0 - even), 0.0, 1.0)
    return LabelAssumption(
        domain=domain,
        accuracies=skills,
        truths=_sums_to_one(prior),
        guesses=_sums_to_one(state.guesses),
        misled=MOST_MISLED * rng.random() ** 2,
        pull=_pull(float(right.mean()), domain.size),
    )


def _sums_to_one(law: Floats) -> tuple[float, ...]:
    return tuple(law / law.sum())


def _number_law(
    domain: Interval, estimate: Any, rng: np.random.Generator, *, certain: bool
) -> NumberAssumption:
    """Return a law by what is found of every worker's errors, and by the truths."""
    state, truths = estimate.state, estimate.truths_as("pandas")
    beliefs = state.beliefs[estimate.summary.answers_per_worker > 0]
    sizes = np.log(usual_sigmas() * (state.high - state.low))
    sizes = np.tile(sizes, beliefs.shape[1] // len(sizes))  # of normal errors, and of wide ones
    middle = beliefs @ sizes
    deviation = np.sqrt(np.maximum(beliefs @ sizes**2 - middle**2, 0.0))
    who = rng.integers(0, len(beliefs), SAMPLE)
    sums, drawn = beliefs[who].cumsum(axis=1), rng.random(SAMPLE)
    places = np.minimum((sums < drawn[:, np.newaxis]).sum(axis=1), len(sizes) - 1)
    common = 0.0
    if not certain:
        common = rng.normal() * deviation.mean() / np.sqrt(min(WORTH, len(middle)))
    errors = np.exp(sizes[places] + common)
    found = truths[truths["answers"] > 0]
    width = domain.high - domain.low
    unseen = 1.0 if certain else rng.random()  # what the noise hides may be less than believed
    variance = found["truth"].var(ddof=0) + unseen * (found["standard_error"] ** 2).mean()
    return NumberAssumption(
        domain=domain,
        errors=errors,
        error=float(np.median(errors)),
        middle=float(np.clip(found["truth"].mean(), domain.low, domain.high)),
        spread=float(max(np.sqrt(variance), 1e-6 * width)),
        shared=MOST_SHARED * rng.random() ** 2,
    )
