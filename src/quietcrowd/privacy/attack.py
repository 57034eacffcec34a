"""What an audit needs of a mechanism: its exact loss, if known, and attacks on its reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.privacy.distinguishing import Floats, Score, Statistic
from quietcrowd.privacy.learnt_scores import (
    learn_histogram,
    learn_projection,
    look_closely,
    look_together,
)
from quietcrowd.privacy.observed import Observed

__all__ = ["Attack", "AuditPlan", "ExactLoss"]


@frozen(kw_only=True)
class ExactLoss:
    """What the public numbers of a mechanism give: its loss over all inputs and outputs.

    Attributes
    ----------
    epsilon : float
        About one answer, given all others.
    worker_epsilon : float
        About all answers of a worker together.
    delta_at : callable or None
        The least delta at an epsilon, of the worst pair of inputs, where it can be summed up.
    rounding : float
        Relative error of the three; 0 where they are computed in integers and rounded up.
    """

    epsilon: float
    worker_epsilon: float
    delta_at: Callable[[float], float] | None = None
    rounding: float = 0.0


CLOSELY = 3
"""Numbers of a worker that are looked at closely: those of so many tasks, or coordinates."""


def _sent(observed: Observed) -> Floats:
    return observed.cells if observed.sketches is None else observed.sketches


@frozen(kw_only=True)
class Attack:
    """Two neighbouring rows of one worker, and a score that tells them apart by the public law.

    Attributes
    ----------
    name : str
        What differs, for people.
    tasks : sequence of int
        Ids of the tasks.
    one, other : sequence
        Of each task what is stored for the worker's answer, or None where there is none; they
        differ at the first task alone.
    score : callable or None
        Takes what workers with the same row sent; gives a score of each, shape (workers,), NaN
        where the law does not foresee it. None: no law is known.
    numbers : callable
        Takes the same; gives numbers of each worker, shape (workers, numbers), of which the first
        few are looked at closely, the very first above all. Default: what was sent, as it is.
    """

    name: str
    tasks: Sequence[int]
    one: Sequence[Any]
    other: Sequence[Any]
    score: Callable[[Observed], Floats] | None
    numbers: Callable[[Observed], Floats] = _sent

    def crowd(self, domain: Domain, row: Sequence[Any], workers: int) -> Answers:
        """Return the answers of `workers` workers who all have the same row."""
        answered = [value is not None for value in row]
        dtype = domain.dtype if isinstance(domain, FiniteDomain) else np.dtype(np.float64)
        values = np.array([value for value in row if value is not None], dtype)
        codes = np.arange(workers, dtype=np.int32)
        return Answers(
            domain=domain,
            tasks=pa.array(list(self.tasks)),
            workers=pa.array(codes),
            offsets=np.concatenate([[0], np.cumsum(answered)]) * workers,
            worker_codes=np.tile(codes, len(values)),
            values=np.repeat(values, workers),
        )

    def statistics(self, one: Observed, other: Observed) -> list[Statistic]:
        """Return what is looked at in what was sent under either row: the public law first.

        Then how many reports there are, and a few numbers of each worker, closely.
        """
        sides = (one, other)
        numbers = [self.numbers(side) for side in sides]
        counts = [side.counts[:, np.newaxis] for side in sides]
        found = [
            self._by_law(sides, numbers),
            _learnt("how many reports there are", counts, learn_histogram),
            *look_closely(*(side[:, :CLOSELY] for side in numbers)),
        ]
        bits = [side.bits[:, :CLOSELY] for side in sides if side.bits is not None]
        if len(bits) == len(sides):
            pairs = zip(numbers, bits, strict=True)
            found += look_closely(*bits)
            found += look_together(*(np.stack([own[:, 0], bit[:, 0]], 1) for own, bit in pairs))
        return found

    def _by_law(self, sides: Sequence[Observed], numbers: Sequence[Floats]) -> Statistic:
        if self.score is None:
            return _learnt("a learnt projection", numbers, learn_projection)
        scores = [self.score(side) for side in sides]
        one, other = (np.where(np.isnan(score), 0.0, score) for score in scores)
        return Statistic(name="the public law", one=one, other=other)


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
    """

    exact: ExactLoss | None
    attacks: Sequence[Attack]
