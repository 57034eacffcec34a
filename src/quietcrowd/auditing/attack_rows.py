"""Rows of answers that an audit compares, for mechanisms with independent reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from quietcrowd.auditing.attack import Attack, Observed
from quietcrowd.auditing.lower_bounds import Floats
from quietcrowd.domains import FiniteDomain, check_numeric
from quietcrowd.mechanisms.channels.grid import Grid
from quietcrowd.mechanisms.mechanism import Mechanism

__all__ = [
    "ALL",
    "NULL",
    "PART",
    "VALUE",
    "Floats",
    "Pair",
    "alone",
    "ends",
    "places",
    "plain_numbers",
    "searched",
    "taskwise_attacks",
]

VALUE = "one answer against another"
NULL = "an answer against none"
ALL = "all answers against others"

SHORT = 3
"""Tasks in the rows of most workers, if each report has independent noise."""

PART = 0.1
"""Fraction of the workers for attacks that look for faults instead of measuring the loss."""

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
        name=f"{attack.name}, each device by itself",
        share=1.0,
        workers=DEVICES,
        alone=True,
        search=False,
    )


def searched(answers: int) -> bool:
    """Return whether correlated tasks are searched for; two tasks leave no choice."""
    return answers >= SHORT


def _row(first: Any, pair: Pair, answers: int) -> list[Any]:
    """Return a row with a given first cell, in which noise shared by two cells shows.

    The other cells alternate between `pair.one` and `pair.other`. If such a cell has the noise of
    the first, their reports are equal under one of the two rows and never under the other.
    """
    return [first, *([pair.one, pair.other] * answers)[: answers - 1]]


def taskwise_attacks(
    pairs: Sequence[Pair],
    answers: int,
    plain: Callable[[Sequence[Any]], Floats],
    part: float = PART,
) -> list[Attack]:
    """Return attacks on a mechanism whose reports have independent noise.

    Most workers have short rows, and the fraction `part` has all `answers` tasks. The first of
    `pairs` consists of two answers. `plain` returns the numbers that a row would send without
    noise.
    """

    def attack(pair: Pair, count: int, more: str = "", share: float = 1.0) -> Attack:
        one, other = (_row(first, pair, count) for first in (pair.one, pair.other))
        return Attack(
            name=pair.name + more,
            tasks=range(count),
            one=one,
            other=other,
            score=pair.score,
            plain=(plain(one), plain(other)),
            search=count == answers and searched(answers),
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
