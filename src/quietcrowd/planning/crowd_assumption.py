"""Assumptions of a requester about the crowd, before anyone answers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import Factory, evolve, field, fields_dict, frozen
from attrs.validators import instance_of, optional
from typing_extensions import override

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.datasets.guessing_crowd import guessing_crowd
from quietcrowd.datasets.number_crowd import LEAST_SIGMA, number_crowd
from quietcrowd.domains import Domain, FiniteDomain, Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import between, check_names, check_positive, check_real, check_whole

Floats = npt.NDArray[np.float64]


@frozen(kw_only=True, order=True)
class CrowdSize:
    """Size of a crowd, with `answers` tasks for each worker, at most `tasks`."""

    tasks: int
    workers: int
    answers: int

    def __attrs_post_init__(self) -> None:
        check_whole("tasks", self.tasks, 1)
        check_whole("workers", self.workers, 1)
        check_whole("answers", self.answers, 1)
        if self.answers > self.tasks:
            raise ParameterError(
                "planning.too-many-answers", answers=self.answers, tasks=self.tasks
            )

    @property
    def per_task(self) -> float:
        """Mean number of answers to a task."""
        return self.workers * self.answers / self.tasks


class CrowdAssumption(ABC):
    """Distribution from which crowds are sampled, given by public numbers."""

    domain: Domain

    @property
    def uncertain(self) -> bool:
        """Whether crowds of different draws have different distributions."""
        return False

    @property
    def widening(self) -> float:
        """Factor of at least 1 by which intervals are wider than the simulated crowds indicate."""
        return 1.0

    def world(self, draw: int) -> "CrowdAssumption":  # noqa: ARG002
        """Return the distribution of the crowd of one draw."""
        return self

    def draw(self, size: CrowdSize, draw: int, seed: int = 0) -> Dataset:
        """Sample a crowd; the same draw of the same seed is the same crowd."""
        rng = np.random.default_rng(np.random.SeedSequence((seed, draw)))
        return self.world(draw).crowd(size, rng)

    @abstractmethod
    def crowd(self, size: CrowdSize, rng: np.random.Generator) -> Dataset:
        """Sample one crowd from this distribution."""

    @abstractmethod
    def sentence(self) -> str:
        """Return the assumption in words."""

    @abstractmethod
    def floor(self) -> float:
        """Return the approximate error that remains with any number of answers: shared errors."""


def _numbers(values: Any) -> tuple[float, ...] | None:
    if values is None:
        return None
    try:
        if isinstance(values, Mapping):
            raise TypeError
        return tuple(float(value) for value in values)
    except (TypeError, ValueError):
        raise ParameterError("planning.assumption-not-lists", values=values) from None


@frozen(kw_only=True)
class LabelCrowd(CrowdAssumption):
    """Assumption about a crowd that gives labels; it describes the crowd, not individual workers.

    Parameters
    ----------
    domain : Categorical or Ordinal
        Domain of the answers, at least 2 labels.
    accuracy, accuracy_sd : float
        Mean and standard deviation (at most 0.5) of the accuracies of non-guessing workers.
        They are normal, clipped to 0 and 1.
    guessers : float
        Fraction of guessing workers; they are right in one of k cases.
    truths, guesses : sequence of float, optional
        Frequency of each label among truths and guesses; uniform by default.
    misled, pull : float
        Fraction of the tasks with a wrong label that attracts answers, and fraction of their
        answers that are this label regardless of the worker.
    accuracies : sequence of float, optional
        Accuracies of a sample of workers instead of `accuracy`, `accuracy_sd` and `guessers`;
        crowds sample from it with replacement.

    Raises
    ------
    ParameterError
        If a number is out of its range.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> from quietcrowd.planning import CrowdSize
    >>> crowd = LabelCrowd(domain=qc.Categorical(["no", "yes"]), accuracy=0.8)
    >>> crowd.draw(CrowdSize(tasks=100, workers=20, answers=10), draw=0).answers
    Answers(200 answers, 100 tasks, 20 workers, domain=Categorical(['no', 'yes']))
    """

    domain: Any = field(validator=instance_of(FiniteDomain))
    accuracy: float = field(default=0.75, validator=between(0, 1))
    accuracy_sd: float = 0.1
    guessers: float = field(default=0.1, validator=between(0, 1))
    truths: tuple[float, ...] | None = field(default=None, converter=_numbers)
    guesses: tuple[float, ...] | None = field(default=None, converter=_numbers)
    misled: float = field(default=0.1, validator=between(0, 1))
    pull: float = field(default=0.6, validator=between(0, 1))
    accuracies: tuple[float, ...] | None = field(default=None, converter=_numbers)

    def __attrs_post_init__(self) -> None:
        check_real("accuracy_sd", self.accuracy_sd, 0)
        if self.accuracy_sd > 0.5:
            raise ParameterError("planning.accuracy-sd-too-large", accuracy_sd=self.accuracy_sd)
        if self.domain.size < 2:
            raise ParameterError("planning.too-few-labels", domain=self.domain.example())
        self.crowd(CrowdSize(tasks=1, workers=1, answers=1), np.random.default_rng(0))

    @override
    def crowd(self, size: CrowdSize, rng: np.random.Generator) -> Dataset:
        place = int(rng.integers(2**63))
        if self.accuracies:
            skills = rng.choice(np.array(self.accuracies), size.workers)
        else:
            drawn = rng.normal(size=(size.workers, 2))
            guesses = rng.random(size.workers) < self.guessers
            own = self.accuracy + self.accuracy_sd * drawn[:, 0]
            skills = np.clip(np.where(guesses, 1 / self.domain.size, own), 0.0, 1.0)
        crowd = guessing_crowd(
            tasks=size.tasks,
            workers=size.workers,
            answers_per_worker=size.answers,
            labels=self.domain.labels,
            skills=skills,
            truths=self.truths,
            guesses=self.guesses,
            misled=self.misled,
            pull=self.pull,
            seed=place,
        )
        # Ordinal levels have the same codes as labels.
        return evolve(crowd, answers=evolve(crowd.answers, domain=self.domain))

    @override
    def floor(self) -> float:
        labels = self.domain.size
        if self.accuracies:
            accuracy = float(np.mean(self.accuracies))
        else:
            accuracy = self.guessers / labels + (1.0 - self.guessers) * self.accuracy
        wrong = self.pull + (1.0 - self.pull) * (1.0 - accuracy) / (labels - 1)
        return self.misled if wrong > (1.0 - self.pull) * accuracy else 0.0

    @override
    def sentence(self) -> str:
        if self.accuracies:
            workers = f"a mean accuracy of {np.mean(self.accuracies):.2f}"
        else:
            workers = (
                f"{self.guessers:.0%} of the workers guess, the others are right in "
                f"{self.accuracy:.0%} (± {self.accuracy_sd:.0%})"
            )
        together = f"on {self.misled:.0%} of the tasks {self.pull:.0%} of the answers are one error"
        return f"{workers}; {together}"


def _spread(self: Any) -> float:
    return float(self.domain.high - self.domain.low) / 5


def _error(self: Any) -> float:
    return float(self.domain.high - self.domain.low) / 10


@frozen(kw_only=True)
class NumberCrowd(CrowdAssumption):
    """Assumption about a crowd that measures numbers; lengths are in the unit of the domain.

    Parameters
    ----------
    domain : Interval
        Domain of the answers.
    error : float
        Standard deviation of the individual errors of the median worker, above 0. Default: a tenth
        of the domain.
    error_factor : float
        Ratio of the error sizes of a worker one standard deviation away and of the median worker,
        at least 1. Error sizes are log-normal.
    guessers : float
        Fraction of guessing workers. Their answers are distributed like the truths, and
        independent of the task.
    middle, spread : float, optional
        Mean and standard deviation (above 0) of the truths. Default: the middle, and a fifth, of
        the domain.
    shared : float
        Standard deviation of the error that all answers to a task share, relative to `error`.
    errors : sequence of float, optional
        Error sizes of a sample of workers instead of `error`, `error_factor` and `guessers`; crowds
        sample from it with replacement.

    Raises
    ------
    ParameterError
        If a number is out of its range.
    """

    domain: Any = field(validator=instance_of(Interval))
    error: float = field(default=Factory(_error, takes_self=True))
    error_factor: float = 1.5
    guessers: float = field(default=0.1, validator=between(0, 1))
    spread: float = field(default=Factory(_spread, takes_self=True))
    middle: float | None = field(default=None, validator=optional(instance_of((int, float))))
    shared: float = 0.25
    errors: tuple[float, ...] | None = field(default=None, converter=_numbers)

    def __attrs_post_init__(self) -> None:
        check_positive("error", self.error)
        check_real("error_factor", self.error_factor, 1)
        check_real("shared", self.shared, 0)
        self.crowd(CrowdSize(tasks=1, workers=1, answers=1), np.random.default_rng(0))

    @override
    def crowd(self, size: CrowdSize, rng: np.random.Generator) -> Dataset:
        place = int(rng.integers(2**63))
        if self.errors:
            sigmas = rng.choice(np.array(self.errors), size.workers)
            guesses = np.zeros(size.workers, np.bool_)
        else:
            sigmas = self.error * self.error_factor ** rng.normal(size=size.workers)
            guesses = rng.random(size.workers) < self.guessers
        least = LEAST_SIGMA * (self.domain.high - self.domain.low)
        return number_crowd(
            tasks=size.tasks,
            workers=size.workers,
            answers_per_worker=size.answers,
            domain=self.domain,
            middle=self.middle,
            spread=self.spread,
            worker_sigmas=np.maximum(np.where(guesses, self.spread, sigmas), least),
            worker_scales=np.where(guesses, 0.0, 1.0),
            bias=self.shared * self.error,
            seed=place,
        )

    @override
    def floor(self) -> float:
        return float(self.shared * self.error * np.sqrt(2.0 / np.pi))

    @override
    def sentence(self) -> str:
        if self.errors:
            workers = f"workers' errors of {np.median(self.errors):.3g} (median)"
        else:
            workers = (
                f"{self.guessers:.0%} of the workers guess, the errors of the others have a "
                f"standard deviation of {self.error:.3g} (times or by {self.error_factor:g})"
            )
        together = f"{self.shared * self.error:.3g} shared by all answers to a task"
        return f"{workers}, {together}; truths with a standard deviation of {self.spread:.3g}"


def assumption_for(domain: Domain, quality: Any = None) -> CrowdAssumption:
    """Return `quality`, or an assumption with these parameters, or the default for a domain."""
    if isinstance(quality, CrowdAssumption):
        if quality.domain != domain:
            raise ParameterError(
                "planning.assumption-of-another-domain",
                domain=quality.domain.example(),
                other_domain=domain.example(),
            )
        return quality
    known: dict[type, type[CrowdAssumption]] = {
        FiniteDomain: LabelCrowd,
        Interval: NumberCrowd,
    }
    for kind, assumption in known.items():
        if isinstance(domain, kind):
            return _made(assumption, domain, quality or {})
    raise ParameterError("planning.not-a-domain", domain=domain)


def _made(kind: Any, domain: Domain, quality: Any) -> CrowdAssumption:
    try:
        if isinstance(quality, Mapping):
            known = [name for name in fields_dict(kind) if name != "domain"]
            check_names(f"quality, a {kind.__name__},", map(str, quality), known)
        made: CrowdAssumption = kind(domain=domain, **quality)
        return made
    except TypeError as error:
        raise ParameterError(
            "planning.quality-invalid", type_name=kind.__name__, error=error
        ) from None
