"""Attacks of an audit: two rows of answers, the reports of workers with these rows, and a score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve, frozen

from quietcrowd.answers import Answers
from quietcrowd.auditing.bounds import Floats, Score, Statistic
from quietcrowd.auditing.scores import (
    learn_histogram,
    learn_projection,
    match_statistic,
    pair_statistics,
    partner_statistics,
    report_statistics,
)
from quietcrowd.domains import Domain, FiniteDomain, check_numeric
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import positions_by_text
from quietcrowd.mechanisms.channels.grid import Grid
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.privacy.guarantee import add_losses

__all__ = [
    "ALL",
    "HALF",
    "NULL",
    "PART",
    "SHORT",
    "VALUE",
    "Attack",
    "AuditPlan",
    "Collisions",
    "ExactLoss",
    "Floats",
    "Observed",
    "Pair",
    "alone",
    "crowd_of",
    "ends",
    "places",
    "plain_numbers",
    "taskwise_attacks",
    "taskwise_plan",
]


CLOSELY = 3
"""A worker's first numbers, reports or coordinates, that get all statistics."""

MOST_PARTNERS = 256
"""A worker's first numbers that are searched for two correlated ones."""


@frozen(kw_only=True)
class ExactLoss:
    """Loss over all inputs and outputs, computed from a mechanism's public numbers.

    Without `every_row`, `total_epsilon` is only that of the worst pair of rows that was found.
    `delta_at` returns the least delta at an epsilon for the worst pair of inputs. `rounding` is the
    relative error of all these; 0 if they are computed in integers and rounded up.
    """

    epsilon: float
    total_epsilon: float
    every_row: bool = True
    delta_at: Callable[[float], float] | None = None
    rounding: float = 0.0


@frozen(kw_only=True)
class Collisions:
    """Upper bound on the probability that two independent devices send the same message.

    `chance` returns it for a number of tasks, at least `tasks`, all with the stored answer
    `answer`.
    """

    answer: Any
    tasks: int = 1
    chance: Callable[[int], float]


def crowd_of(
    domain: Domain, tasks: Sequence[int], row: Sequence[Any], workers: int, first: int = 0
) -> Answers:
    """Return answers of workers `first`, `first` + 1, ..., all with one row; None if missing."""
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
    """Messages of the workers of an audit, a row each; NaN if not sent.

    `cells` contains the first report on each task, shape (workers, tasks), and is empty if devices
    send sketches. `bits` are noisy participation bits of the same shape, and `sketches` have shape
    (workers, numbers). `counts` are all reports of each worker, including repeated ones and those
    on other tasks.
    """

    cells: Floats
    bits: Floats | None
    sketches: Floats | None
    counts: Floats

    @classmethod
    def of(
        cls, reports: Reports, tasks: Sequence[Any], workers: int, *, first: int = 0
    ) -> Observed:
        """Return the reports of workers `first`, `first` + 1, ... on `tasks`."""
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
            cells[place[known][::-1]] = values[known][::-1]  # reversed: the first report wins
            return cells.reshape(len(tasks), workers).T

        codes = reports.participation_codes
        return cls(
            cells=spread(table.values),
            bits=None if codes is None else spread(codes),
            sketches=None,
            counts=np.bincount(rows, minlength=workers).astype(np.float64),
        )

    @classmethod
    def collect(
        cls,
        mechanism: Mechanism,
        tasks: Sequence[int],
        row: Sequence[Any],
        workers: int,
        rng: np.random.Generator | None,
        first: int = 0,
    ) -> Observed:
        """Randomize one row for workers `first`, `first` + 1, ..., and return the messages."""
        answers = crowd_of(mechanism.domain, tasks, row, workers, first)
        reports = (
            mechanism.randomize(answers)
            if rng is None
            else mechanism.simulate(answers, random_state=rng)
        )
        return cls.of(reports, tasks, workers, first=first)

    @classmethod
    def joined(cls, parts: Sequence[Observed]) -> Observed:
        """Concatenate the workers of all parts."""

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
        """Everything that each worker sent, as bytes that are equal for equal messages."""
        parts = [part for part in (self.cells, self.bits, self.sketches) if part is not None]
        rows = np.concatenate([*parts, self.counts[:, np.newaxis]], axis=1) + 0.0  # -0 is 0
        return [row.tobytes() for row in rows]


def _positions(ids: pa.Array, workers: int, first: int) -> npt.NDArray[np.intp]:
    """Return the position of each id among the workers `first`, `first` + 1, ..."""
    expected = pa.array(np.arange(first, first + workers, dtype=np.int32))
    if ids.equals(expected):
        return np.arange(workers)
    found = positions_by_text(ids, expected)
    strangers = np.flatnonzero(found < 0)
    if len(strangers):
        raise AnswerError(
            "privacy.worker-ids-changed",
            value=ids[int(strangers[0])].as_py(),
            workers=workers,
            first=first,
            last=first + workers - 1,
        )
    return found


def _sent(observed: Observed) -> Floats:
    return observed.cells if observed.sketches is None else observed.sketches


@frozen(kw_only=True)
class Attack:
    """Two rows of one worker, and the score and numbers that distinguish them.

    The rows `one` and `other` are stored answers to `tasks`, or None. They differ at the first task
    only, or at any tasks if `whole`. With `alone`, each device is a separate call. An audit gives
    the attack the fraction `share` of its workers, at most `workers`. With `search`, the two tasks
    with the most correlated reports are moved to the front.

    Attributes
    ----------
    score : callable or None
        Log-likelihood ratio of each worker by the public distribution, shape (workers,), NaN for an
        impossible message. None if no distribution is known.
    numbers : callable
        Numbers of each worker, shape (workers, numbers), by default the messages. Statistics
        concentrate on the first few, most of all the very first.
    moved : int
        How many of these numbers, the first ones, differ between the rows.
    plain : tuple of ndarray of float, shape (numbers,), or None
        These numbers without noise, under either row; integers.
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

    def observe(
        self,
        mechanism: Mechanism,
        row: Sequence[Any],
        workers: int,
        rng: np.random.Generator | None,
    ) -> Observed:
        """Randomize the same row for `workers` workers, and return the messages."""
        if not self.alone:
            return Observed.collect(mechanism, self.tasks, row, workers, rng)
        return Observed.joined(
            [
                Observed.collect(mechanism, self.tasks, row, 1, rng, place)
                for place in range(workers)
            ]
        )

    def statistics(self, one: Observed, other: Observed) -> list[Statistic]:
        """Return the statistics of both rows' messages, the public distribution's score first."""
        sides = (one, other)
        numbers = [self.numbers(side) for side in sides]
        found = [
            self._by_distribution(sides, numbers),
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
        """Return statistics of two correlated numbers, unless these come first anyway."""
        if self.search or numbers[0].shape[1] <= CLOSELY:
            return []
        one, other = (side[:, :MOST_PARTNERS] for side in numbers)
        return partner_statistics(one, other, self.moved)

    def _by_distribution(self, sides: Sequence[Observed], numbers: Sequence[Floats]) -> Statistic:
        if self.score is None:
            return _learnt("a learned projection", numbers, learn_projection)
        scores = [self.score(side) for side in sides]
        one, other = (np.where(np.isnan(score), 0.0, score) for score in scores)
        return Statistic(name="the public distribution", one=one, other=other, by_distribution=True)


def _learnt(
    name: str, numbers: Sequence[Floats], learn: Callable[[Floats, Floats], Score]
) -> Statistic:
    return Statistic(name=name, one=numbers[0], other=numbers[1], learn=learn)


@frozen(kw_only=True)
class AuditPlan:
    """Attacks on a mechanism, within the assumptions of its guarantee.

    `exact` and `collisions` are None if the public numbers do not determine them. `tasks` are the
    ids of all tasks of a worker, if the guarantee depends on them.
    """

    exact: ExactLoss | None
    attacks: Sequence[Attack]
    collisions: Collisions | None = None
    tasks: Sequence[int] | None = None


VALUE = "one answer against another"
NULL = "an answer against none"
ALL = "all answers against others"

SHORT = 3
"""Tasks in the rows of most workers, if each report has independent noise.

Correlated tasks are searched for in rows of at least this many; two tasks leave no choice.
"""

PART = 0.1
"""Fraction of the workers for attacks that look for faults instead of measuring the loss."""

HALF = 0.5
"""Fraction of the workers with whole rows, if randomness is cheap."""

DEVICES = 200
"""Devices a side that are called one by one."""


@frozen(kw_only=True)
class Pair:
    """Two stored answers to distinguish, None for a missing one.

    `score` returns the log-likelihood ratio of each worker's first report, shape (workers,).
    """

    name: str
    one: Any
    other: Any
    score: Callable[[Observed], Floats]


def ends(mechanism: Mechanism) -> tuple[Any, Any]:
    """Return the stored lowest and highest answer."""
    domain = mechanism.domain
    if isinstance(domain, FiniteDomain):
        return 0, domain.size - 1
    return domain.low, domain.high  # type: ignore[attr-defined]


def places(mechanism: Mechanism, grid: Grid, stored: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return the grid places of stored answers."""
    domain = check_numeric(mechanism.domain, "the mechanism")
    return grid.places(domain.numbers(np.array(stored, domain.dtype))).astype(np.int64)


def plain_numbers(mechanism: Mechanism, grid: Grid, row: Sequence[Any]) -> Floats:
    """Return the grid places of a row of answers; NaN for a missing answer."""
    numbers = np.full(len(row), np.nan)
    answered = [place for place, value in enumerate(row) if value is not None]
    numbers[answered] = places(mechanism, grid, [row[place] for place in answered])
    return numbers


def alone(attack: Attack) -> Attack:
    """Return the attack on a few devices that are called one by one."""
    return evolve(
        attack,
        name=f"{attack.name}, each device separately",
        share=1.0,
        workers=DEVICES,
        alone=True,
        search=False,
    )


def taskwise_plan(
    pairs: Sequence[Pair],
    answers: int,
    plain: Callable[[Sequence[Any]], Floats],
    *,
    epsilon: float,
    delta_at: Callable[[float], float] | None = None,
    alike: float,
    part: float = PART,
) -> AuditPlan:
    """Return the audit plan of independent reports, each with the loss `epsilon`."""
    return AuditPlan(
        exact=ExactLoss(
            epsilon=epsilon, total_epsilon=add_losses(epsilon, answers), delta_at=delta_at
        ),
        attacks=taskwise_attacks(pairs, answers, plain, part),
        collisions=Collisions(answer=pairs[0].one, chance=lambda tasks: alike**tasks),
    )


def taskwise_attacks(
    pairs: Sequence[Pair],
    answers: int,
    plain: Callable[[Sequence[Any]], Floats],
    part: float = PART,
) -> list[Attack]:
    """Return attacks on a mechanism with independent noise in reports.

    Most workers have short rows, and the fraction `part` has all `answers` tasks. The cells after
    the first alternate between the two answers of a pair. If such a cell has the noise of the
    first, their reports are equal under one of the two rows and never under the other. The first of
    `pairs` consists of two answers. `plain` returns the numbers that a row would send without
    noise.
    """

    def attack(pair: Pair, count: int, more: str = "", share: float = 1.0) -> Attack:
        rest = ([pair.one, pair.other] * count)[: count - 1]
        one, other = [pair.one, *rest], [pair.other, *rest]
        return Attack(
            name=pair.name + more,
            tasks=range(count),
            one=one,
            other=other,
            score=pair.score,
            plain=(plain(one), plain(other)),
            search=count == answers >= SHORT,
            share=share,
        )

    found = [attack(pair, min(answers, SHORT)) for pair in pairs]
    found.append(alone(found[0]))
    if answers > SHORT:
        found += [attack(pair, answers, ", in a whole row", part) for pair in pairs]
    if answers > 1:
        found.append(_whole(pairs[0], answers, plain))
    return found


def _whole(pair: Pair, answers: int, plain: Callable[[Sequence[Any]], Floats]) -> Attack:
    one, other = [pair.one] * answers, [pair.other] * answers

    def score(observed: Observed) -> Floats:
        cells = observed.cells
        gains = [
            pair.score(evolve(observed, cells=cells[:, [place]])) for place in range(cells.shape[1])
        ]
        return np.sum(gains, axis=0)  # type: ignore[no-any-return]

    return Attack(
        name=ALL,
        tasks=range(answers),
        one=one,
        other=other,
        score=score,
        moved=answers,
        plain=(plain(one), plain(other)),
        whole=True,
        share=PART,
    )
