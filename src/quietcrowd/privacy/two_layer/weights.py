"""Privacy loss of a worker with one drawn weight for all reports: closed forms and enumeration.

A worker draws the weight ``w`` of each other value and keeps the true one with weight
``K = T - others w`` out of T. With NULL as one of the values, a second, independent draw serves all
tasks without an answer; then ``w <= K``. Guarantees use the closed forms; `SharedWeight` enumerates
rows independently, as a check. ``research/docs/theory/sparse-answers.md``;
``research/docs/theory/two-layer.md`` for weights above K.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.rounding import round_up
from quietcrowd.validation import check_whole

Floats: TypeAlias = npt.NDArray[np.float64]

MAX_ANSWERS = 10**7
_DIGITS = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
_SLACK = Decimal(10) ** -40
"""More than the rounding of any of the logarithms below."""

MAX_ROW = 10_000
"""Longest row that is enumerated."""

_NODES = 512
_FEW = 4096
_ALL_SPLITS = 32
"""With up to this many tasks, all numbers of answers are tried; beyond, only the worst cases."""


def _mean_log(bases: Sequence[Decimal], powers: int) -> Decimal:
    return sum((base**powers for base in bases), Decimal(0)).ln()


def _keep_weights(weights: Sequence[int], others: int, total: int) -> list[Decimal]:
    return [Decimal(total - others * weight) for weight in weights]


def drawn_cell_epsilon(
    answers: int, *, weights: Sequence[int], others: int, total: int = 2**32
) -> float:
    """Return the loss about one cell of a worker, given all others, rounded up.

    There are n = `answers` cells, at most 10^7, that share one of the equally likely `weights`:
    answers, or, with NULL, tasks. A report has `others` values other than the kept one, and its
    weights sum to `total`.

    The loss is ``ln E[K^n] / E[K^(n-1) w]``, if all n reports agree with the true values. With
    NULL, one draw for all n cells is the worst case: a cell that changes between NULL and an answer
    leaves fewer cells for each of the two draws. If a weight is above K, the worst case may be that
    no report agrees: ``ln E[w^n] / E[w^(n-1) K]``.
    """
    check_whole("answers", answers, 1, MAX_ANSWERS)
    with localcontext(_DIGITS):
        given, keep = list(map(Decimal, weights)), _keep_weights(weights, others, total)
        losses = [_log_odds(keep, given, answers)]
        if any(w > k for w, k in zip(given, keep, strict=True)):
            losses.append(_log_odds(given, keep, answers))
        return max(0.0, *(round_up(loss + _SLACK) for loss in losses))


def _log_odds(bases: Sequence[Decimal], away: Sequence[Decimal], powers: int) -> Decimal:
    terms = zip(bases, away, strict=True)
    differ = sum((base ** (powers - 1) * other for base, other in terms), Decimal(0)).ln()
    return _mean_log(bases, powers) - differ


def drawn_row_epsilon(
    answers: int, *, weights: Sequence[int], others: int, null: bool, total: int = 2**32
) -> float:
    """Return the loss about all cells of a worker together, rounded up.

    For parameters see `drawn_cell_epsilon`; with `null`, a second draw serves the tasks without an
    answer.

    Without NULL the loss is ``ln E[K^n] / E[w^n]``: all reports agree with one row and none with
    the other. With NULL the other row may have half of its cells under each draw, which makes its
    report less likely still: ``ln E[K^n] / (E[w^(n/2)] E[w^(n - n/2)])``. If a weight is above K,
    ``E[K^c w^(n-c)]`` may fall with c before it rises. It is log-convex: its maximum is at an end
    and its minimum at the only turning point.
    """
    check_whole("answers", answers, 1, MAX_ANSWERS)
    with localcontext(_DIGITS):
        count = Decimal(len(weights)).ln()
        keep = _keep_weights(weights, others, total)
        others_weights = [Decimal(weight) for weight in weights]
        if not null and any(w > k for w, k in zip(others_weights, keep, strict=True)):
            return round_up(_row_range(keep, others_weights, answers) + _SLACK)
        agree = _mean_log(keep, answers) - count
        half = answers // 2 if null else 0
        differ = sum(
            (_mean_log(others_weights, part) - count for part in (half, answers - half)),
            Decimal(0),
        )
        return max(0.0, round_up(agree - differ + _SLACK))


def _row_range(keep: Sequence[Decimal], given: Sequence[Decimal], answers: int) -> Decimal:
    """Return ln of the largest over the smallest sum of ``keep^c given^(n - c)``, c from 0 to n."""

    def log_sum(agreements: int) -> Decimal:
        flips = answers - agreements
        pairs = zip(keep, given, strict=True)
        return sum((k**agreements * w**flips for k, w in pairs), Decimal(0)).ln()

    def rises(agreements: int) -> bool:
        return log_sum(agreements + 1) >= log_sum(agreements)

    first = bisect_left(range(answers), True, key=rises)  # the turning point
    return max(log_sum(0), log_sum(answers)) - log_sum(first)


def _require_numbers(_: object, __: object, weights: Floats) -> None:
    if weights.ndim != 1 or not len(weights):
        raise ParameterError("privacy.weights-not-numbers")


@frozen(kw_only=True, eq=False, slots=False)
class SharedWeight:
    """Distribution of a worker's weight: `weights` out of `total` with probabilities `chances`.

    A report has `others` values other than the kept one. With `null` one of the values is NULL,
    with an independent draw. ``L_M(c) = E[K^c w^(M-c)] / T^M`` is the probability of a row of M
    reports with c agreements.

    Examples
    --------
    >>> distribution = SharedWeight.even(low=0, high=2**32, others=1)
    >>> round(distribution.cell_epsilon(5), 4)  # ln 5: nothing is claimed to be lost
    1.6094
    """

    weights: Floats = field(validator=_require_numbers)
    chances: Floats
    others: int
    null: bool = False
    total: int = 2**32

    @classmethod
    def even(cls, *, low: int, high: int, others: int) -> SharedWeight:
        """Return the uniform distribution on the integers from `low` to `high`.

        Many are summed by Gauss-Legendre, which is exact for these polynomials. That gives the
        integral from ``low - 1/2`` to ``high + 1/2``: the sum up to a relative
        (M / high)^2 for rows of M reports.
        """
        if high - low < _FEW:
            weights = np.arange(low, high + 1, dtype=np.float64)
            return cls(
                weights=weights, chances=np.full_like(weights, 1 / len(weights)), others=others
            )
        points, parts = np.polynomial.legendre.leggauss(_NODES)
        half = (high - low + 1) / 2
        return cls(weights=(low + high) / 2 + half * points, chances=parts / 2, others=others)

    @classmethod
    def listed(cls, weights: Floats, *, others: int, null: bool) -> SharedWeight:
        """Return the distribution of equally likely weights."""
        chances = np.full(len(weights), 1 / len(weights))
        return cls(
            weights=np.asarray(weights, np.float64), chances=chances, others=others, null=null
        )

    def log_row(self, length: int) -> Floats:
        """Return ln of ``L_M(c)`` for c from 0 to M = `length`."""
        return _log_row(self, length)

    def cell_epsilon(self, cells: int) -> float:
        """Return the loss about one of `cells` cells, given the others."""
        self._check(cells)
        splits = self._splits(cells)
        value = max(float(np.abs(self.value_gains(count)).max()) for count in splits)
        if not self.null:
            return value
        return max(value, *(self._null_loss(count, cells) for count in splits))

    def row_epsilon(self, cells: int) -> float:
        """Return the loss about all `cells` cells together."""
        self._check(cells)
        row = self.log_row(cells)
        if not self.null:
            return float(np.ptp(row))
        least = min(
            float(self.log_row(part).min() + self.log_row(cells - part).min())
            for part in ({*range(cells + 1)} if cells <= _ALL_SPLITS else {0, cells // 2})
        )
        return float(row.max()) - least

    def delta(self, cells: int, epsilon: float) -> float:
        """Return the least delta at `epsilon` about one cell if all others are answered."""
        self._check(cells)
        row = self.log_row(cells)
        pairs = [self._delta_of(cells, [(row[1:], row[:-1], 1), (row[:-1], row[1:], 1)], epsilon)]
        if self.null:
            one, rest = self.log_row(1), self.log_row(cells - 1)
            away = [
                (row[1:], rest + one[0], 1),
                (row[:-1], rest + one[1], 1),
                (row[:-1], rest + one[0], self.others - 1),
            ]
            pairs.append(self._delta_of(cells, away, epsilon))
            back = [(there, here, ways) for here, there, ways in away]
            pairs.append(self._delta_of(cells, back, epsilon))
        return max(pairs)

    def value_gains(self, cells: int) -> Floats:
        """Return the log gain of a row if one report agrees, by agreements of the others."""
        return np.diff(self.log_row(cells))

    def null_gains(self, cells: int) -> tuple[Floats, Floats, Floats]:
        """Return the loss between an answer and NULL by one report, all other cells being answered.

        The report is that answer, NULL, or neither; each array is indexed by agreements of the
        others.
        """
        row, rest, one = self.log_row(cells), self.log_row(cells - 1), self.log_row(1)
        return row[1:] - rest - one[0], row[:-1] - rest - one[1], row[:-1] - rest - one[0]

    def _null_loss(self, count: int, cells: int) -> float:
        """Return the loss between an answer and NULL; `count` answered cells include this one."""
        up, stay = self._steps(count)
        null_up, null_stay = self._steps(cells - count + 1)
        ranges = [(up, null_stay), (stay, null_up)]
        if self.others > 1:
            ranges.append((stay, null_stay))
        return max(
            max(float(here.max() - there.min()), float(there.max() - here.min()))
            for here, there in ranges
        )

    def _steps(self, count: int) -> tuple[Floats, Floats]:
        """Return the changes of a row's log-probability by one more report, agreeing or not."""
        row, before = self.log_row(count), self.log_row(count - 1)
        return row[1:] - before, row[:-1] - before

    def _splits(self, cells: int) -> list[int]:
        if not self.null:
            return [cells]
        return [*range(1, cells + 1)] if cells <= _ALL_SPLITS else [1, cells]

    def _delta_of(
        self, cells: int, parts: list[tuple[Floats, Floats, int]], epsilon: float
    ) -> float:
        ways = _log_ways(cells - 1) + np.arange(cells)[::-1] * np.log(self.others)
        total = 0.0
        for here, there, count in parts:
            if count:
                more = here > there + epsilon
                gap = -np.expm1((there + epsilon - here)[more])
                total += count * float((np.exp((ways + here)[more]) * gap).sum())
        return min(1.0, total)

    def _check(self, cells: int) -> None:
        if cells > MAX_ROW:
            raise ParameterError("privacy.row-too-long", max_row=MAX_ROW, cells=cells)


@lru_cache(maxsize=128)
def _log_row(distribution: SharedWeight, length: int) -> Floats:
    """Return ln of ``L_M(c)``; at most 64 counts at a time bound the memory."""
    keep = np.log(
        np.maximum(distribution.total - distribution.others * distribution.weights, 1e-9)
        / distribution.total
    )
    other = np.log(np.maximum(distribution.weights, 1e-9) / distribution.total)
    row = np.empty(length + 1)
    for start in range(0, length + 1, 64):
        count = np.arange(start, min(start + 64, length + 1))[:, np.newaxis]
        terms = np.log(distribution.chances) + count * keep + (length - count) * other
        top = terms.max(axis=1)
        row[start : start + 64] = top + np.log(np.exp(terms - top[:, np.newaxis]).sum(axis=1))
    return row


def _log_ways(count: int) -> Floats:
    place = np.arange(1, count + 1)
    return np.concatenate([[0.0], np.cumsum(np.log((count - place + 1) / place))])
