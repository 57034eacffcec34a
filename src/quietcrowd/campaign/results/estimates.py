"""Estimated shares of answers, and means, from the released reports of a campaign.

The sums do not depend on the order of the reports, so equal reports have equal estimates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.campaign.results.option_rows import by_options, options_of
from quietcrowd.campaign.results.reports import MemoryRows, ReportRows
from quietcrowd.campaign.terms.advice import to_requester
from quietcrowd.domains import FiniteDomain, Ordinal
from quietcrowd.exceptions import AnswerError
from quietcrowd.formats.jsonl import json_ready
from quietcrowd.mechanisms.mixture import Mixture
from quietcrowd.survey.means import Sums, UnbiasedNumbers, unbiased_numbers
from quietcrowd.survey.shares import Counts, Decoder, PooledShares, decoder_for

CONFIDENCE = 0.95

Row: TypeAlias = Mapping[str, Any]

_EXACT = 52
"""Bits of the largest sum: floats add multiples of one unit up to it without rounding."""


@frozen(kw_only=True, eq=False)
class Estimates:
    """Estimates of each question, or the reason why they are impossible.

    A question has a row with its mean, or a row per possible answer.
    """

    rows: Sequence[Row] | Iterator[Row] = ()
    why_none: str | None = None


def estimate(
    rows: ReportRows, names: Sequence[str], tasks: Sequence[str], copies: Mapping[str, str]
) -> Estimates:
    """Estimate each question of `names`, whose reports `rows` has, in the order of the names.

    All `tasks` get rows; copies of a question have the estimates of the first one.
    """
    mechanism = rows.mechanism
    more = mechanism.participation_domain is not None
    more |= mechanism.sketch_bounds(rows.tasks) is not None
    place = {name: number for number, name in enumerate(names)}
    places = [place[copies.get(name, name)] for name in tasks]
    labels = mechanism.domain
    try:
        if mechanism.options is not None:
            return _shares_of_options(rows, tasks, places)
        if isinstance(labels, FiniteDomain) and not isinstance(labels, Ordinal):
            return _shares(rows, tasks, places, has_more=more)
        return _means(rows, tasks, places, has_more=more)
    except AnswerError as error:
        return Estimates(why_none=to_requester(error))


def _counts(rows: ReportRows, decoder: Decoder) -> Counts:
    counts = np.zeros((rows.tasks, decoder.chances.shape[1]), np.int64)
    for block in rows.blocks():
        counts += decoder.count(rows.domain, block.tasks, block.values, rows.tasks)
    return counts


def _parts_of(rows: ReportRows) -> Sequence[ReportRows]:
    """Return the reports of each mechanism of a menu, or all."""
    if not isinstance(rows.mechanism, Mixture):
        return [rows]
    assert isinstance(rows, MemoryRows)
    return [MemoryRows(reports=one) for one in rows.reports.split()]


def _shares(
    rows: ReportRows, tasks: Sequence[str], places: Sequence[int], *, has_more: bool
) -> Estimates:
    domain = rows.mechanism.domain
    assert isinstance(domain, FiniteDomain)
    decoded = [
        (decoder := decoder_for(one.mechanism, has_more=has_more), _counts(one, decoder))
        for one in _parts_of(rows)
    ]
    names: list[Any] = [*domain.labels, None][: len(decoded[0][0].chances)]
    found = _Shares.of(*decoded)
    listed = (found.rows(task, place, names) for task, place in zip(tasks, places, strict=True))
    return Estimates(rows=chain.from_iterable(listed))


def _shares_of_options(rows: ReportRows, tasks: Sequence[str], places: Sequence[int]) -> Estimates:
    """Estimate the shares of the options of each task, which have a channel by their number."""
    found: dict[int, tuple[_Shares, int]] = {}
    for part in by_options(rows):
        decoder = decoder_for(part.mechanism)
        shares = _Shares.of((decoder, _counts(part, decoder)))
        found.update((place, (shares, i)) for i, place in enumerate(part.chosen.tolist()))

    def listed() -> Iterator[Row]:
        for task, place in zip(tasks, places, strict=True):
            shares, i = found[place]
            yield from shares.rows(task, i, options_of(rows, place))

    return Estimates(rows=listed())


@frozen(kw_only=True, eq=False)
class _Shares:
    """Shares of answers of all questions, with intervals; shape (questions, answers)."""

    share: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    reports: npt.NDArray[np.int64]

    @classmethod
    def of(cls, *decoded: tuple[Decoder, Counts]) -> _Shares:
        """Estimate shares from counts of reports, of each mechanism."""
        pooled = PooledShares.of(decoded)
        low, high = pooled.intervals(CONFIDENCE)
        return cls(
            share=pooled.shares,
            low=np.clip(low, 0.0, 1.0),
            high=np.clip(high, 0.0, 1.0),
            reports=pooled.reports[:, 0].astype(np.int64),
        )

    def of_question(self, place: int) -> tuple[list[Any], list[Any], list[Any]]:
        """Return the shares of a question, and the ends of their intervals, JSON-ready."""
        share, low, high = (
            [json_ready(one) for one in column[place].tolist()]
            for column in (self.share, self.low, self.high)
        )
        return share, low, high

    def rows(self, task: str, place: int, labels: Sequence[Any]) -> Iterator[Row]:
        """Yield a row for each possible answer to a question."""
        for label, share, low, high in zip(labels, *self.of_question(place), strict=True):
            yield {
                "task": task,
                "label": label,
                "share": share,
                "low": low,
                "high": high,
                "reports": int(self.reports[place]),
            }


def _means(
    rows: ReportRows, tasks: Sequence[str], places: Sequence[int], *, has_more: bool
) -> Estimates:
    if isinstance(rows.mechanism, Mixture):
        assert isinstance(rows, MemoryRows)
        numbers = unbiased_numbers(rows.reports)
    else:
        numbers = UnbiasedNumbers.of(rows.mechanism, has_more=has_more)
    columns = numbers.means(_sums(rows, numbers), CONFIDENCE)
    histogram, domain = _histogram(rows), rows.mechanism.domain
    levels = domain.labels if isinstance(domain, Ordinal) else ()

    def listed() -> Iterator[Row]:
        for task, place in zip(tasks, places, strict=True):
            bars = None if histogram is None else _bars(levels, histogram.of_question(place))
            means = {name: json_ready(column[place].item()) for name, column in columns.items()}
            yield {"task": task, **means, "histogram": bars}

    return Estimates(rows=listed())


def _bars(levels: Sequence[Any], shares: tuple[list[Any], ...]) -> list[Row]:
    return [
        {"low_edge": level, "high_edge": level, "share": share, "low": low, "high": high}
        for level, share, low, high in zip(levels, *shares, strict=True)
    ]


def _histogram(rows: ReportRows) -> _Shares | None:
    """Return the shares of levels; None if reports of numbers do not determine any."""
    if not isinstance(rows.mechanism.domain, Ordinal):
        return None
    decoded = []
    for part in _parts_of(rows):
        decoder = Decoder.of(part.mechanism.channel)
        if decoder is None:
            return None
        decoded.append((decoder, _counts(part, decoder)))
    return _Shares.of(*decoded)


def _sums(rows: ReportRows, numbers: UnbiasedNumbers) -> Sums:
    """Add numbers and squares, rounded to multiples of a power of two so that sums are exact."""
    per_task = rows.per_task
    most = max(1, int(per_task.max(initial=0)))
    largest = 1.0
    for block in rows.blocks():
        largest = max(largest, float(np.abs(numbers.numbers(block.values)).max(initial=0.0)))
    bits = _EXACT - math.ceil(math.log2(most * largest**2))
    total, squares = np.zeros(rows.tasks), np.zeros(rows.tasks)
    for block in rows.blocks():
        found = numbers.numbers(block.values)
        total += np.bincount(block.tasks, _rounded(found, bits), rows.tasks)
        squares += np.bincount(block.tasks, _rounded(found**2, bits), rows.tasks)
    return per_task.astype(np.float64), total, squares


def _rounded(numbers: npt.NDArray[np.float64], bits: int) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = np.ldexp(np.rint(np.ldexp(numbers, bits)), -bits)
    return found
