"""Estimated shares of answers, and means, from the released reports of a campaign.

The sums do not depend on the order of the reports, so equal reports have equal estimates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

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
from quietcrowd.survey.means import Sums, UnbiasedNumbers
from quietcrowd.survey.shares import Counts, Decoder, decoder_for

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


class _Interval(NamedTuple):
    """Estimates with the ends of their intervals; numbers of reports by question, the first axis.

    Estimates without reports are NaN.
    """

    middle: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    reports: npt.NDArray[np.int64]


def _weighted(parts: Sequence[_Interval]) -> _Interval:
    """Return the mean of the estimates of several mechanisms, weighted by their reports.

    People choose a mechanism, perhaps by their answer, so weights by precision would be biased.
    """
    if len(parts) == 1:
        return parts[0]
    reports = np.sum([one.reports for one in parts], axis=0)
    middle, below, above = np.zeros((3, *parts[0].middle.shape))
    for one in parts:
        weights = one.reports / np.maximum(reports, 1)
        weights = weights.reshape(-1, *[1] * (middle.ndim - 1))
        middle += np.where(weights > 0, weights * one.middle, 0.0)
        below += np.where(weights > 0, weights * (one.middle - one.low), 0.0) ** 2
        above += np.where(weights > 0, weights * (one.high - one.middle), 0.0) ** 2
    low, high = middle - np.sqrt(below), middle + np.sqrt(above)
    silent = reports == 0
    middle[silent], low[silent], high[silent] = (
        one[silent] for one in (parts[0].middle, parts[0].low, parts[0].high)
    )
    return _Interval(middle, low, high, reports)


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
        found = _weighted(
            [
                _Interval(
                    decoder.shares(counts),
                    *decoder.intervals(counts, CONFIDENCE),
                    counts.sum(axis=1) // decoder.members,
                )
                for decoder, counts in decoded
            ]
        )
        return cls(
            share=found.middle,
            low=np.clip(found.low, 0.0, 1.0),
            high=np.clip(found.high, 0.0, 1.0),
            reports=found.reports,
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
    parts = []
    for part in _parts_of(rows):
        numbers = UnbiasedNumbers.of(part.mechanism, has_more=has_more)
        sums = _sums(part, numbers)
        parts.append(_Interval(*numbers.intervals(sums, CONFIDENCE), sums[0].astype(np.int64)))
    found, ends = _weighted(parts), (numbers.domain.low, numbers.domain.high)
    columns = {
        "mean": found.middle,
        "low": np.clip(found.low, *ends),
        "high": np.clip(found.high, *ends),
        "reports": found.reports,
    }
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
