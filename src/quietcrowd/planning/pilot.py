"""Assumptions about a crowd from a pilot, of non-private answers or of reports only."""

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
from quietcrowd.mechanisms.randomness import RandomState, seed_of
from quietcrowd.planning.crowd_assumption import (
    CrowdAssumption,
    CrowdSize,
    LabelCrowd,
    NumberCrowd,
)
from quietcrowd.validation import check_whole

Floats = npt.NDArray[np.float64]

SAMPLE = 200

KEPT_OF, LEAST_KEPT = 3, 10
"""For labels, one simulated crowd in this many is kept, at least ten in all."""

WORTH = 10
"""Effective number of workers behind the estimated fractions of good and bad workers."""

WIDENING, WIDENING_OF_NUMBERS = 1.21, 1.38
"""Factors of the widths of intervals by a pilot of reports, on their scale.

With them, the intervals contain the errors of nine in ten sampled crowds that violate the model.
"""

MOST_MISLED = 0.3
"""Largest fraction of the tasks on which workers err together; a pilot cannot estimate it."""

MOST_SHARED = 2.0
"""Largest error shared by all answers to a task, relative to a worker's."""


@frozen(kw_only=True)
class PilotAssumption(CrowdAssumption):
    """Crowd that is estimated from a pilot, with the uncertainty of the estimate.

    The draws use `worlds`, distributions that agree with the pilot, in turn.
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
    def floor(self) -> float:
        return float(np.mean([world.floor() for world in self.worlds]))

    @override
    def sentence(self) -> str:
        together = (
            f"up to {MOST_MISLED:.0%} of the tasks mislead"
            if isinstance(self.domain, FiniteDomain)
            else f"all answers to a task share up to {MOST_SHARED:g} times a worker's error"
        )
        return (
            f"a crowd like the pilot's, with {len(self.worlds)} distributions that fit it; "
            f"{together}, which a pilot without truths cannot reveal"
        )


def assumption_of_pilot(
    pilot: Answers | Reports, *, worlds: int = 20, random_state: RandomState = 0
) -> PilotAssumption:
    """Estimate the crowd from a pilot, with the uncertainty of the estimate.

    `NoiseAware` estimates the distribution of the crowd from the pilot. Crowds of the pilot's size
    are then sampled from it, randomized like the pilot, and inferred again; each gives one of
    `worlds` distributions. Reports of labels may hide how accurate workers are. So crowds of all
    mean accuracies are simulated, and those that look as accurate as the pilot's are kept. See
    ``research/docs/theory/planning.md``.

    Reports disclose nothing about answers beyond themselves. Raises ParameterError if the pilot is
    neither answers nor reports, is empty, or `NoiseAware` cannot read its reports.
    """
    if not isinstance(pilot, Answers | Reports):
        raise ParameterError("planning.pilot-of-wrong-type", type_name=type(pilot).__name__)
    check_whole("worlds", worlds, 1)
    table = pilot.table if isinstance(pilot, Reports) else pilot
    mechanism = pilot.mechanism if isinstance(pilot, Reports) else None
    if not len(table):
        raise ParameterError("planning.pilot-empty")
    if mechanism is not None and mechanism.every_task:
        raise ParameterError("planning.pilot-hides-participation")
    rng = np.random.default_rng(np.random.SeedSequence((seed_of(random_state), 1)))
    size = _size(table)
    domain = table.domain if mechanism is None else mechanism.domain
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        found = _distribution(domain, NoiseAware().fit(pilot, n_jobs=1), rng, certain=True)
        if isinstance(found, LabelCrowd) and mechanism is not None:
            distributions = _distributions_by_reports(found, size, mechanism, worlds, rng)
        else:
            distributions = [_again(found, size, mechanism, rng) for _ in range(worlds)]
    return PilotAssumption(worlds=tuple(distributions), of_reports=mechanism is not None)


def _size(table: Answers) -> CrowdSize:
    workers = int((table.answers_per_worker > 0).sum())
    tasks = len(table.tasks)
    each = min(max(1, round(len(table) / workers)), tasks)
    return CrowdSize(tasks=tasks, workers=workers, answers=each)


def _simulated(
    distribution: CrowdAssumption,
    size: CrowdSize,
    mechanism: Mechanism | None,
    rng: np.random.Generator,
) -> CrowdAssumption:
    answers: Any = distribution.crowd(size, rng).answers
    if mechanism is not None:
        answers = mechanism.simulate(answers, random_state=rng)
    return _distribution(
        distribution.domain, NoiseAware().fit(answers, n_jobs=1), rng, certain=False
    )


def _again(
    distribution: CrowdAssumption,
    size: CrowdSize,
    mechanism: Mechanism | None,
    rng: np.random.Generator,
) -> CrowdAssumption:
    """Return the distribution estimated from a simulated pilot, its mean accuracy reflected."""
    found = _simulated(distribution, size, mechanism, rng)
    if isinstance(distribution, LabelCrowd) and isinstance(found, LabelCrowd):
        moved = 2 * _mean_accuracy(distribution) - 2 * _mean_accuracy(found)
        return evolve(found, accuracies=np.clip(np.array(found.accuracies) + moved, 0.0, 1.0))
    return found


def _distributions_by_reports(
    found: LabelCrowd,
    size: CrowdSize,
    mechanism: Mechanism,
    worlds: int,
    rng: np.random.Generator,
) -> list[CrowdAssumption]:
    """Return crowds for which simulated pilots look as accurate as the real one.

    Mean accuracies are sampled uniformly from that of a guess to 1, and a pilot is simulated with
    each. The nearest are kept, with a linear regression adjustment (approximate Bayesian
    computation).
    """
    even = 1.0 / found.domain.size
    drawn = even + (1.0 - even) * rng.random(KEPT_OF * max(worlds, LEAST_KEPT))
    seen: list[Any] = [_simulated(_as_good_as(found, mean), size, mechanism, rng) for mean in drawn]
    apart = np.array([_mean_accuracy(distribution) for distribution in seen]) - _mean_accuracy(
        found
    )
    near = np.argsort(np.abs(apart), kind="stable")[: len(drawn) // KEPT_OF]
    centred = apart[near] - apart[near].mean()
    squares = float(centred @ centred)
    slope = float(centred @ drawn[near]) / squares if squares > 0 else 0.0
    return [_as_good_as(seen[at], drawn[at] - slope * apart[at]) for at in near[:worlds]]


def _mean_accuracy(distribution: LabelCrowd) -> float:
    return float(np.mean(distribution.accuracies or ()))


def _as_good_as(distribution: LabelCrowd, mean: float) -> LabelCrowd:
    """Return a distribution with another mean accuracy, moving all workers towards 1 or a guess."""
    skills, even, now = (
        np.array(distribution.accuracies),
        1.0 / distribution.domain.size,
        _mean_accuracy(distribution),
    )
    mean = float(np.clip(mean, min(even, now), 1.0))
    aim = 1.0 if mean > now else even
    if mean != now:
        skills = skills + (aim - skills) * (mean - now) / (aim - now)
    return evolve(
        distribution,
        accuracies=np.clip(skills, 0.0, 1.0),
        pull=_pull(mean, distribution.domain.size),
    )


def _pull(right: float, labels: int) -> float:
    """Return the pull that makes a misleading label as frequent as the truth is elsewhere."""
    wrong = (1.0 - right) / (labels - 1)
    return float(np.clip((right - wrong) / max(1.0 - wrong, 1e-9), 0.0, 1.0))


def _distribution(
    domain: Domain, estimate: Any, rng: np.random.Generator, *, certain: bool
) -> CrowdAssumption:
    """Return the likeliest distribution under an estimate or, if not `certain`, a sampled one."""
    if isinstance(domain, FiniteDomain):
        return _label_distribution(domain, estimate.state, rng, certain=certain)
    if isinstance(domain, Interval):
        return _number_distribution(domain, estimate, rng, certain=certain)
    raise ParameterError("planning.pilot-domain-unsupported", domain=domain.example())


def _label_distribution(
    domain: FiniteDomain, state: Any, rng: np.random.Generator, *, certain: bool
) -> LabelCrowd:
    prior = np.exp(state.log_priors / integer_sums.ONE)
    prior /= prior.sum()
    groups = np.concatenate([state.communities, [state.constants.sum()]])
    shares = groups / groups.sum()
    if not certain:
        shares = rng.dirichlet(np.maximum(WORTH * shares, 1e-3))
    chosen = rng.choice(len(shares), SAMPLE, p=shares)
    grid = state.accuracies.shape[2]
    centres = (np.arange(grid) + 0.5) / grid
    means = state.accuracies @ centres @ prior
    distributions = np.einsum("tkg,k->tg", state.accuracies, prior).cumsum(axis=1)
    guessed = float(prior @ state.guesses)
    drawn = rng.random(SAMPLE)
    places = [
        min(int(np.searchsorted(distributions[t], u)), grid - 1) if t < len(means) else -1
        for t, u in zip(chosen, drawn, strict=True)
    ]
    right = np.array([centres[place] if place >= 0 else guessed for place in places])
    known = (right - guessed) / max(1.0 - guessed, 1e-9)
    even = 1.0 / domain.size
    skills = np.clip(even + known * (1.0 - even), 0.0, 1.0)
    return LabelCrowd(
        domain=domain,
        accuracies=skills,
        truths=tuple(prior / prior.sum()),
        guesses=tuple(state.guesses / state.guesses.sum()),
        misled=MOST_MISLED * rng.random() ** 2,
        pull=_pull(float(right.mean()), domain.size),
    )


def _number_distribution(
    domain: Interval, estimate: Any, rng: np.random.Generator, *, certain: bool
) -> NumberCrowd:
    state, truths = estimate.state, estimate.truths_as("pandas")
    beliefs = state.beliefs[estimate.summary.answers_per_worker > 0]
    sizes = np.log(usual_sigmas() * (state.high - state.low))
    sizes = np.tile(sizes, beliefs.shape[1] // len(sizes))  # normal and heavy-tailed errors
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
    unseen = 1.0 if certain else rng.random()  # the noise may hide less variance than estimated
    variance = found["truth"].var(ddof=0) + unseen * (found["standard_error"] ** 2).mean()
    return NumberCrowd(
        domain=domain,
        errors=errors,
        error=float(np.median(errors)),
        middle=float(np.clip(found["truth"].mean(), domain.low, domain.high)),
        spread=float(max(np.sqrt(variance), 1e-6 * width)),
        shared=MOST_SHARED * rng.random() ** 2,
    )
