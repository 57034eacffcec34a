"""What a requester takes the crowd to be, before anybody answered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import Factory, evolve, field, fields_dict, frozen
from attrs.validators import instance_of, optional
from typing_extensions import override

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.datasets.drawn import check_above_zero, check_share
from quietcrowd.datasets.label_crowd import label_crowd
from quietcrowd.datasets.number_crowd import LEAST_SIGMA, number_crowd
from quietcrowd.domains import Domain, FiniteDomain, Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_names, check_real, check_whole

__all__ = [
    "CrowdAssumption",
    "CrowdSize",
    "LabelAssumption",
    "NumberAssumption",
    "assumption_for",
]

Floats = npt.NDArray[np.float64]


@frozen(kw_only=True, order=True)
class CrowdSize:
    """How many are asked how much.

    Parameters
    ----------
    tasks, workers : int
        At least 1.
    answers : int
        Of each worker, to different tasks: 1 to `tasks`.

    Raises
    ------
    ParameterError
        Where a number is out of its range.
    """

    tasks: int
    workers: int
    answers: int

    def __attrs_post_init__(self) -> None:
        check_whole("tasks", self.tasks, 1)
        check_whole("workers", self.workers, 1)
        check_whole("answers", self.answers, 1)
        if self.answers > self.tasks:
            raise ParameterError(
                "a worker answers a task once: answers must be at most the number of tasks; "
                f"got answers={self.answers:,}, tasks={self.tasks:,}"
            )

    @property
    def per_task(self) -> float:
        """Answers of a task, in the mean."""
        return self.workers * self.answers / self.tasks


class CrowdAssumption(ABC):
    """A law that crowds can be drawn by; a frozen record of public numbers."""

    domain: Domain

    @property
    def uncertain(self) -> bool:
        """Whether crowds of different draws are of different laws."""
        return False

    @property
    def widening(self) -> float:
        """By which factor intervals are wider than what crowds of these laws say: 1 or more."""
        return 1.0

    def world(self, draw: int) -> CrowdAssumption:  # noqa: ARG002
        """Return the law of the crowd of one draw."""
        return self

    def draw(self, size: CrowdSize, draw: int, seed: int = 0) -> Dataset:
        """Return a crowd; the same draw of the same seed is the same crowd.

        Parameters
        ----------
        size : CrowdSize
            Tasks, workers and answers of each.
        draw, seed : int
            From 0 on.
        """
        rng = np.random.default_rng(np.random.SeedSequence((seed, draw)))
        return self.world(draw).crowd(size, rng)

    @abstractmethod
    def crowd(self, size: CrowdSize, rng: np.random.Generator) -> Dataset:
        """Return one crowd of this very law."""

    @abstractmethod
    def sentence(self) -> str:
        """Return what is assumed, in words."""


def _share(_: object, attribute: Any, value: Any) -> None:
    check_share(attribute.name, value)


def _numbers(values: Any) -> tuple[float, ...] | None:
    if values is None:
        return None
    try:
        if isinstance(values, Mapping):
            raise TypeError
        return tuple(float(value) for value in values)
    except (TypeError, ValueError):
        raise ParameterError(
            "truths, guesses, accuracies and errors are lists of numbers, of truths and guesses "
            f"one for each label in the order of the domain; got {values!r}"
        ) from None


@frozen(kw_only=True)
class LabelAssumption(CrowdAssumption):
    """A crowd that gives labels; all numbers are about the crowd, none about one person.

    Parameters
    ----------
    domain : Categorical or Ordinal
        What an answer can be: 2 labels or more.
    accuracy : float
        How often a worker is right who does not guess, in the mean: 0 to 1.
    accuracy_sd : float
        Standard deviation of that from worker to worker, at least 0. Accuracies are drawn from a
        normal law and cut off at 0 and 1.
    guessers : float
        Share of the workers who guess, 0 to 1: they are right in one of k cases.
    truths, guesses : sequence of float, optional
        How frequent each label is among truths and guesses; even by default.
    misled : float
        Share of the tasks on which workers err together, 0 to 1: each has one wrong label that
        draws answers.
    pull : float
        Share of the answers to such a task that are this label whatever the worker knows, 0 to 1.
    accuracies : sequence of float, optional
        Accuracies of a sample of workers, in place of the three numbers above: those of a crowd
        are drawn from it with replacement.

    Raises
    ------
    ParameterError
        Where a number is out of its range.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> from quietcrowd.planning import CrowdSize
    >>> crowd = LabelAssumption(domain=qc.Categorical(["no", "yes"]), accuracy=0.8)
    >>> crowd.draw(CrowdSize(tasks=100, workers=20, answers=10), draw=0).answers
    Answers(200 answers, 100 tasks, 20 workers, domain=Categorical(['no', 'yes']))
    """

    domain: Any = field(validator=instance_of(FiniteDomain))
    accuracy: float = field(default=0.75, validator=_share)
    accuracy_sd: float = 0.1
    guessers: float = field(default=0.1, validator=_share)
    truths: tuple[float, ...] | None = field(default=None, converter=_numbers)
    guesses: tuple[float, ...] | None = field(default=None, converter=_numbers)
    misled: float = field(default=0.1, validator=_share)
    pull: float = field(default=0.6, validator=_share)
    accuracies: tuple[float, ...] | None = field(default=None, converter=_numbers)

    def __attrs_post_init__(self) -> None:
        check_real("accuracy_sd", self.accuracy_sd, 0)
        if self.accuracy_sd > 0.5:
            raise ParameterError(
                f"accuracy_sd must be at most 0.5: shares vary by no more; got {self.accuracy_sd!r}"
            )
        if self.domain.size < 2:
            raise ParameterError(
                f"domain must have at least two labels; got {self.domain.example()}"
            )
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
        crowd = label_crowd(
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
        # Levels have the same codes as labels.
        return evolve(crowd, answers=evolve(crowd.answers, domain=self.domain))

    @override
    def sentence(self) -> str:
        if self.accuracies:
            workers = f"accuracies of {np.mean(self.accuracies):.2f} in the mean"
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
class NumberAssumption(CrowdAssumption):
    """A crowd that measures numbers; lengths are in the unit of the domain.

    Parameters
    ----------
    domain : Interval
        What an answer can be.
    error : float
        Standard deviation of a worker's own errors, of the worker in the middle; above 0. Default:
        a tenth of the domain.
    error_factor : float
        How many times as large or as small it is one standard deviation away: at least 1. Sizes of
        errors are log-normal.
    guessers : float
        Share of the workers who guess, 0 to 1: what they say is drawn as the truths are, and has
        nothing to do with the task's.
    spread : float
        Standard deviation of the truths, above 0. Default: a fifth of the domain.
    middle : float, optional
        Mean of the truths; by default the middle of the domain.
    shared : float
        Standard deviation of the error that all answers to one task share, as a part of `error`,
        at least 0: there workers err together.
    errors : sequence of float, optional
        Sizes of the errors of a sample of workers, in place of `error`, `error_factor` and
        `guessers`: those of a crowd are drawn from it with replacement.

    Raises
    ------
    ParameterError
        Where a number is out of its range.
    """

    domain: Any = field(validator=instance_of(Interval))
    error: float = field(default=Factory(_error, takes_self=True))
    error_factor: float = 1.5
    guessers: float = field(default=0.1, validator=_share)
    spread: float = field(default=Factory(_spread, takes_self=True))
    middle: float | None = field(default=None, validator=optional(instance_of((int, float))))
    shared: float = 0.25
    errors: tuple[float, ...] | None = field(default=None, converter=_numbers)

    def __attrs_post_init__(self) -> None:
        check_above_zero("error", self.error)
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
    def sentence(self) -> str:
        if self.errors:
            workers = f"workers' errors of {np.median(self.errors):.3g} (median)"
        else:
            workers = (
                f"{self.guessers:.0%} of the workers guess, the errors of the others have a "
                f"standard deviation of {self.error:.3g} (times or by {self.error_factor:g})"
            )
        together = f"{self.shared * self.error:.3g} shared by all answers to a task"
        return f"{workers}, {together}; truths spread by {self.spread:.3g}"


def assumption_for(domain: Domain, quality: Any = None) -> CrowdAssumption:
    """Return what is assumed of a crowd: as given, or by default for such answers.

    Parameters
    ----------
    domain : Domain
        What an answer can be.
    quality : CrowdAssumption, mapping or None
        An assumption; or parameters of one by name, as ``{"accuracy": 0.8}``.

    Raises
    ------
    ParameterError
        Where the domain has none, or the assumption is of another domain.
    """
    if isinstance(quality, CrowdAssumption):
        if quality.domain != domain:
            raise ParameterError(
                f"the assumption is about answers in {quality.domain.example()}, the plan about "
                f"{domain.example()}"
            )
        return quality
    known: dict[type, type[CrowdAssumption]] = {
        FiniteDomain: LabelAssumption,
        Interval: NumberAssumption,
    }
    for kind, assumption in known.items():
        if isinstance(domain, kind):
            return _made(assumption, domain, quality or {})
    raise ParameterError(
        "domain must be Categorical, Ordinal or Interval, as "
        f"Categorical(['no', 'yes']); got {domain!r}"
    )


def _made(kind: Any, domain: Domain, quality: Any) -> CrowdAssumption:
    try:
        if isinstance(quality, Mapping):
            known = [name for name in fields_dict(kind) if name != "domain"]
            check_names(f"quality, a {kind.__name__},", map(str, quality), known)
        made: CrowdAssumption = kind(domain=domain, **quality)
        return made
    except TypeError as error:
        raise ParameterError(
            f"quality must be a {kind.__name__}, or its parameters by name; {error}"
        ) from None
