"""What an audit needs of a mechanism: its exact loss, if known, and attacks on its reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from quietcrowd.answers import Answers
from quietcrowd.auditing.distinguishing import Floats, Score, Statistic
from quietcrowd.auditing.learnt_scores import (
    learn_histogram,
    learn_projection,
    look_at_matches,
    look_closely,
    look_for_partners,
    look_together,
)
from quietcrowd.auditing.observed import Observed
from quietcrowd.domains import Domain, FiniteDomain

if TYPE_CHECKING:
    from quietcrowd.mechanisms.mechanism import Mechanism, Reports

__all__ = ["Attack", "AuditPlan", "ExactLoss", "Repeats", "crowd_of"]

Send: TypeAlias = "Callable[[Answers, np.random.Generator | None], tuple[Reports, Floats]]"
"""From answers to reports, and to what the adversary knows of each worker besides."""

CLOSELY = 3
"""Numbers of a worker that are looked at closely: those of so many tasks, or coordinates."""

MOST_PARTNERS = 256
"""Numbers of a worker among which two that go together are sought."""


@frozen(kw_only=True)
class ExactLoss:
    """What the public numbers of a mechanism give: its loss over all inputs and outputs.

    Attributes
    ----------
    epsilon : float
        About one answer, given all others.
    worker_epsilon : float
        About all answers of a worker together.
    every_row : bool
        Whether that is over all pairs of rows; else it is that of the worst pair that was found.
    delta_at : callable or None
        The least delta at an epsilon, of the worst pair of inputs, where it can be summed up.
    rounding : float
        Relative error of the three; 0 where they are computed in integers and rounded up.
    """

    epsilon: float
    worker_epsilon: float
    every_row: bool = True
    delta_at: Callable[[float], float] | None = None
    rounding: float = 0.0


@frozen(kw_only=True)
class Repeats:
    """How rarely two devices that are independent send the same.

    Attributes
    ----------
    answer : object
        What is stored for the answer that all devices give to all tasks.
    tasks : int
        How many tasks there are, at least; more make it rarer.
    chance : callable
        From the number of tasks to an upper bound on the chance that two devices send the same.
    """

    answer: Any
    tasks: int = 1
    chance: Callable[[int], float]


def crowd_of(
    domain: Domain, tasks: Sequence[int], row: Sequence[Any], workers: int, *, first: int = 0
) -> Answers:
    """Return the answers of workers `first`, `first` + 1, ..., who all have the same row.

    None in the row stands for no answer.
    """
    answered = [value is not None for value in row]
    dtype = domain.dtype if isinstance(domain, FiniteDomain) else np.dtype(np.float64)
    values = np.array([value for value in row if value is not None], dtype)
    codes = np.arange(workers, dtype=np.int32)
    return Answers(
        domain=domain,
        tasks=pa.array(list(tasks)),
        workers=pa.array(codes + np.int32(first)),
        offsets=np.concatenate([[0], np.cumsum(answered)]) * workers,
        worker_codes=np.tile(codes, len(values)),
        values=np.repeat(values, workers),
    )


def _sent(observed: Observed) -> Floats:
    return observed.cells if observed.sketches is None else observed.sketches


@frozen(kw_only=True)
class Attack:
    """Two rows of one worker, and what tells them apart.

    Attributes
    ----------
    name : str
        What differs, for people.
    tasks : sequence of int
        Ids of the tasks.
    one, other : sequence
        Of each task what is stored for the worker's answer, or None where there is none; they
        differ at the first task alone, or, where `whole`, wherever they may.
    score : callable or None
        Takes what workers with the same row sent; gives a score of each by the public law, shape
        (workers,), NaN where the law does not foresee it. None: no law is known.
    numbers : callable
        Takes the same; gives numbers of each worker, shape (workers, numbers), of which the first
        few are looked at closely, the very first above all. Default: what was sent, as it is.
    moved : int
        In how many of these, the first ones, the rows differ.
    plain : tuple of ndarray of float, shape (numbers,), or None
        What these would be without noise, under either row; whole numbers.
    whole : bool
        Whether it is about all answers together, and not about one.
    search : bool
        Whether the two tasks whose reports go together most come first.
    share : float
        Of the workers that an audit draws.
    workers : int or None
        How many there are at most.
    alone : bool
        Whether each device is a call of its own, as it is where workers have devices.
    noise : int or None
        How many exact draws of noise a worker takes as long as. Default: what the mechanism says.
    send : callable or None
        How reports are made where the adversary knows more than them. Default: `randomize`.
    """

    name: str
    tasks: Sequence[int]
    one: Sequence[Any]
    other: Sequence[Any]
    score: Callable[[Observed], Floats] | None
    numbers: Callable[[Observed], Floats] = _sent
    moved: int = 1
    plain: tuple[Floats, Floats] | None = None
    whole: bool = False
    search: bool = False
    share: float = 1.0
    workers: int | None = None
    alone: bool = False
    noise: int | None = None
    send: Send | None = None

    def crowd(self, domain: Domain, row: Sequence[Any], workers: int, *, first: int = 0) -> Answers:
        """Return the answers of `workers` workers who all have the same row."""
        return crowd_of(domain, self.tasks, row, workers, first=first)

    def observe(
        self,
        mechanism: Mechanism,
        row: Sequence[Any],
        workers: int,
        rng: np.random.Generator | None,
    ) -> Observed:
        """Let `workers` workers report the same row, and return what they sent."""
        if self.alone:
            parts = [self._part(mechanism, row, 1, rng, first=place) for place in range(workers)]
            return Observed.joined(parts)
        return self._part(mechanism, row, workers, rng, first=0)

    def _part(
        self,
        mechanism: Mechanism,
        row: Sequence[Any],
        workers: int,
        rng: np.random.Generator | None,
        *,
        first: int,
    ) -> Observed:
        answers = self.crowd(mechanism.domain, row, workers, first=first)
        if self.send is None:
            reports, known = mechanism.randomize(answers, rng=rng), None
        else:
            reports, known = self.send(answers, rng)
        return evolve(Observed.of(reports, self.tasks, workers, first=first), known=known)

    def statistics(self, one: Observed, other: Observed) -> list[Statistic]:
        """Return what is looked at in what was sent under either row: the public law first.

        Then how many reports there are, and the numbers of each worker: a few closely, two that go
        together, and how many are what they would be without noise.
        """
        sides = (one, other)
        numbers = [self.numbers(side) for side in sides]
        found = [
            self._by_law(sides, numbers),
            _learnt(
                "how many reports there are",
                [side.counts[:, np.newaxis] for side in sides],
                learn_histogram,
            ),
            *look_closely(*(side[:, :CLOSELY] for side in numbers)),
            *self._partners(numbers),
        ]
        if self.plain is not None:
            found.append(look_at_matches(numbers[0], numbers[1], self.plain))
        bits = [side.bits for side in sides if side.bits is not None]
        if len(bits) == len(sides):
            pairs = zip(numbers, bits, strict=True)
            found += look_closely(*(side[:, :CLOSELY] for side in bits))
            found += self._partners(bits)
            found += look_together(*(np.stack([own[:, 0], bit[:, 0]], 1) for own, bit in pairs))
        return found

    def _partners(self, numbers: Sequence[Floats]) -> list[Statistic]:
        """Return what is looked at in two numbers that go together, where these are not first."""
        if self.search or numbers[0].shape[1] <= CLOSELY:
            return []
        one, other = (side[:, :MOST_PARTNERS] for side in numbers)
        return look_for_partners(one, other, self.moved)

    def _by_law(self, sides: Sequence[Observed], numbers: Sequence[Floats]) -> Statistic:
        if self.score is None:
            return _learnt("a learnt projection", numbers, learn_projection)
        scores = [self.score(side) for side in sides]
        one, other = (np.where(np.isnan(score), 0.0, score) for score in scores)
        return Statistic(name="the public law", one=one, other=other, by_law=True)


def _learnt(
    name: str, numbers: Sequence[Floats], learn: Callable[[Floats, Floats], Score]
) -> Statistic:
    return Statistic(name=name, one=numbers[0], other=numbers[1], learn=learn)


@frozen(kw_only=True)
class AuditPlan:
    """How a mechanism is to be audited.

    Attributes
    ----------
    exact : ExactLoss or None
        What its public numbers give, where they give it all.
    attacks : sequence of Attack
        On what it really sends; each within what the guarantee covers.
    repeats : Repeats or None
        How rarely devices send the same, where the public law gives it.
    tasks : sequence of int or None
        Ids of all tasks of a worker, where what is stated of all answers depends on them.
    """

    exact: ExactLoss | None
    attacks: Sequence[Attack]
    repeats: Repeats | None = None
    tasks: Sequence[int] | None = None
