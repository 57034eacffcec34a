"""What an attack is: two rows of answers, what workers send who have them, and how it is scored.

An adversary sees what workers who all have the same row of answers sent. An `AuditPlan` is what an
audit needs of a mechanism: its exact loss, if known, and attacks on its reports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.auditing.learnt_scores import (
    learn_histogram,
    learn_projection,
    match_statistic,
    pair_statistics,
    partner_statistics,
    report_statistics,
)
from quietcrowd.auditing.lower_bounds import Floats, Score, Statistic
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import positions_by_text

if TYPE_CHECKING:
    from quietcrowd.mechanisms.mechanism import Mechanism, Reports

__all__ = ["Attack", "AuditPlan", "Collisions", "ExactLoss", "Observed", "crowd_of"]

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
class Collisions:
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
    values = np.array([value for value in row if value is not None], domain.dtype)
    codes = np.arange(workers, dtype=np.int32)
    return Answers(
        domain=domain,
        tasks=pa.array(list(tasks)),
        workers=pa.array(codes + np.int32(first)),
        offsets=np.concatenate([[0], np.cumsum(answered)]) * workers,
        worker_codes=np.tile(codes, len(values)),
        values=np.repeat(values, workers),
    )


@frozen(kw_only=True, eq=False)
class Observed:
    """What the workers of an audit sent, a row each; NaN stands for what was not sent.

    Attributes
    ----------
    cells : ndarray of float, shape (workers, tasks)
        The first report of each worker on each task; no tasks where devices send sketches.
    bits : ndarray of float, shape (workers, tasks), or None
        The noisy participation bits beside them.
    sketches : ndarray of float, shape (workers, numbers), or None
        What devices send where that is not the reports themselves.
    counts : ndarray of float, shape (workers,)
        Reports of each worker in all: a repeated one counts, and one on a task not asked about.
    """

    cells: Floats
    bits: Floats | None
    sketches: Floats | None
    counts: Floats

    @classmethod
    def of(
        cls, reports: Reports, tasks: Sequence[Any], workers: int, *, first: int = 0
    ) -> Observed:
        """Return what `workers` workers, named `first`, `first` + 1, ..., reported on `tasks`.

        Raises
        ------
        AnswerError
            Where another worker reports.
        """
        table = reports.table
        who = _positions(table.workers, workers, first)
        if reports.sketches is not None:
            sketches = np.full((workers, reports.sketches.shape[1]), np.nan)
            sketches[who] = reports.sketches
            sent = np.bincount(who, minlength=workers).astype(np.float64)
            return cls(cells=np.empty((workers, 0)), bits=None, sketches=sketches, counts=sent)
        asked = positions_by_text(table.tasks, pa.array(list(tasks)))
        rows, columns = who[table.worker_codes], asked[table.task_codes]
        place = columns * workers + rows
        known = np.flatnonzero(columns >= 0)

        def spread(values: npt.NDArray[Any]) -> Floats:
            cells = np.full(len(tasks) * workers, np.nan)
            cells[place[known][::-1]] = values[known][::-1]  # of repeated ones the first stays
            return cells.reshape(len(tasks), workers).T

        codes = reports.participation_codes
        return cls(
            cells=spread(table.values),
            bits=None if codes is None else spread(codes),
            sketches=None,
            counts=np.bincount(rows, minlength=workers).astype(np.float64),
        )

    @classmethod
    def joined(cls, parts: Sequence[Observed]) -> Observed:
        """Return what the workers of all parts sent, one part after the other."""

        def join(columns: list[Floats | None]) -> Floats | None:
            there = [column for column in columns if column is not None]
            return np.concatenate(there) if len(there) == len(columns) else None

        return cls(
            cells=np.concatenate([part.cells for part in parts]),
            bits=join([part.bits for part in parts]),
            sketches=join([part.sketches for part in parts]),
            counts=np.concatenate([part.counts for part in parts]),
        )

    @property
    def messages(self) -> list[bytes]:
        """All that each worker sent, as bytes: equal where it is equal."""
        parts = [part for part in (self.cells, self.bits, self.sketches) if part is not None]
        rows = np.concatenate([*parts, self.counts[:, np.newaxis]], axis=1) + 0.0  # -0 is 0
        return [row.tobytes() for row in rows]


def _positions(ids: pa.Array, workers: int, first: int) -> npt.NDArray[np.intp]:
    """Return which of the workers `first`, `first` + 1, ... each id names."""
    expected = pa.array(np.arange(first, first + workers, dtype=np.int32))
    if ids.equals(expected):
        return np.arange(workers)
    found = positions_by_text(ids, expected)
    strangers = np.flatnonzero(found < 0)
    if len(strangers):
        raise AnswerError(
            f"worker {ids[int(strangers[0])].as_py()!r} reports, but the {workers:,} workers of "
            f"the audit are {first} to {first + workers - 1}: a mechanism must keep the ids of the "
            "answers"
        )
    return found


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
        reports = mechanism.randomize(answers, rng=rng)
        return Observed.of(reports, self.tasks, workers, first=first)

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
            *report_statistics(*(side[:, :CLOSELY] for side in numbers)),
            *self._partners(numbers),
        ]
        if self.plain is not None:
            found.append(match_statistic(numbers[0], numbers[1], self.plain))
        bits = [side.bits for side in sides if side.bits is not None]
        if len(bits) == len(sides):
            pairs = zip(numbers, bits, strict=True)
            found += report_statistics(*(side[:, :CLOSELY] for side in bits))
            found += self._partners(bits)
            found += pair_statistics(*(np.stack([own[:, 0], bit[:, 0]], 1) for own, bit in pairs))
        return found

    def _partners(self, numbers: Sequence[Floats]) -> list[Statistic]:
        """Return what is looked at in two numbers that go together, where these are not first."""
        if self.search or numbers[0].shape[1] <= CLOSELY:
            return []
        one, other = (side[:, :MOST_PARTNERS] for side in numbers)
        return partner_statistics(one, other, self.moved)

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
    collisions : Collisions or None
        How rarely devices send the same, where the public law gives it.
    tasks : sequence of int or None
        Ids of all tasks of a worker, where what is stated of all answers depends on them.
    """

    exact: ExactLoss | None
    attacks: Sequence[Attack]
    collisions: Collisions | None = None
    tasks: Sequence[int] | None = None
