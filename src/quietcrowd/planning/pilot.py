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
from quietcrowd.inference.binned_laws import usual_sigmas
from quietcrowd.inference.kernels import integer_sums
from quietcrowd.inference.noise_aware import NoiseAware
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

WORTH = 10
"""What a pilot tells of the shares of good and bad workers is taken to be from so many workers."""

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
    """

    worlds: tuple[CrowdAssumption, ...]

    @property
    @override
    def domain(self) -> Domain:  # type: ignore[override]
        return self.worlds[0].domain

    @property
    @override
    def uncertain(self) -> bool:
        return True

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
    again, each give one law. Accuracies of labels, which noise draws towards what is believed
    before, are moved as far to the other side as they are off (the basic bootstrap).
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
        laws = [_again(found, size, mechanism, rng) for _ in range(worlds)]
    return PilotAssumption(worlds=tuple(laws))


def _size(table: Answers) -> CrowdSize:
    """Return the size of an even crowd that answers as much as a pilot's."""
    workers = int((table.answers_per_worker > 0).sum())
    tasks = len(table.tasks)
    each = min(max(1, round(len(table) / workers)), tasks)
    return CrowdSize(tasks=tasks, workers=workers, answers=each)


def _again(
    law: CrowdAssumption, size: CrowdSize, mechanism: Mechanism | None, rng: np.random.Generator
) -> CrowdAssumption:
    """Return the law that is found in a crowd of a law; accuracies moved to its other side."""
    answers: Any = law.crowd(size, rng).answers
    if mechanism is not None:
        answers = mechanism.randomize(answers, rng=rng)
    found = _law(law.domain, NoiseAware().fit(answers, threads=1), rng, certain=False)
    if isinstance(law, LabelAssumption) and isinstance(found, LabelAssumption):
        skills = np.array(found.accuracies)
        moved = 2 * np.mean(law.accuracies or ()) - 2 * skills.mean()
        return evolve(found, accuracies=np.clip(skills + moved, 0.0, 1.0))
    return found


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
    wrong = (1.0 - right.mean()) / (domain.size - 1)
    return LabelAssumption(
        domain=domain,
        accuracies=skills,
        truths=_sums_to_one(prior),
        guesses=_sums_to_one(state.guesses),
        misled=MOST_MISLED * rng.random() ** 2,
        pull=float(np.clip((right.mean() - wrong) / (1.0 - wrong), 0.0, 1.0)),
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
