"""Estimated shares of answers in the population that a survey's workers are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from statistics import NormalDist
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import Backend, to_native
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.report_domains import LabelSets, OrNull, sets_with
from quietcrowd.task_options import TaskOptions
from quietcrowd.validation import check_proportion

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@frozen(kw_only=True, eq=False, slots=False)
class Decoder:
    """Unbiased estimation of the shares of answers from counts of reports.

    Attributes
    ----------
    chances : ndarray, shape (answers, counts)
        Probability that a report adds to each count, given the answer. A report adds to one count,
        or, if it is a set of labels, to that of each member.
    members : int
        Number of counts that a report adds to.
    """

    chances: Floats
    members: int = 1

    @classmethod
    def of(cls, channel: Channel) -> Self | None:
        """Return the decoder of a channel; None if its reports are not counted."""
        if channel.sets is not None:
            held, other = float(channel.sets.held), float(channel.sets.held_other)
            same = np.eye(channel.sets.labels, dtype=bool)
            return cls(chances=np.where(same, held, other), members=channel.sets.members)
        return None if channel.probabilities is None else cls(chances=channel.probabilities)

    @property
    def has_signal(self) -> bool:
        """Whether different shares of answers always make different distributions of reports."""
        return bool(np.linalg.matrix_rank(self.chances) == len(self.chances))

    @cached_property
    def inverse(self) -> Floats:
        """A matrix G, shape (counts, answers), with ``chances @ G = 1``."""
        found: Floats = np.linalg.pinv(self.chances).astype(np.float64)
        return found

    @cached_property
    def second_moments(self) -> Floats:
        """Mean square of the contribution of one report to each share, given its answer.

        Shape (answers, answers): the row is the given answer, the column the estimated one.
        """
        if self.members == 1:
            squares: Floats = self.chances @ self.inverse**2
        else:
            held, (own, other) = self.chances, self.chances[0, :2]
            squares = (held * (1 - other) ** 2 + (1 - held) * other**2) / (own - other) ** 2
        return squares

    def count(
        self, domain: Domain, codes: npt.NDArray[Any], values: npt.NDArray[Any], tasks: int
    ) -> Counts:
        """Count reports of a domain by task, given as codes; shape (tasks, counts)."""
        size = self.chances.shape[1]
        if not isinstance(domain, LabelSets):
            return _count(codes, values, (tasks, size))
        held = sets_with(values, size, self.members)
        return np.stack([np.bincount(codes[one], minlength=tasks) for one in held.T], axis=1)

    def shares(self, counts: Counts) -> Floats:
        """Return unbiased shares of answers, shape (tasks, answers), from counts of each task.

        Some may be below 0 or above 1; those of a task without reports are NaN.
        """
        reports = counts.sum(axis=-1, keepdims=True) / self.members
        with np.errstate(invalid="ignore"):
            found: Floats = (counts / reports) @ self.inverse
        return found

    def intervals(self, counts: Counts, confidence: float) -> tuple[Floats, Floats]:
        """Return the ends of intervals for the shares of answers; see `PooledShares`."""
        return PooledShares.of([(self, counts)]).intervals(confidence)

    def second_moments_of_others(self, shares: Floats) -> Floats:
        """Return the mean square of the contribution of people with other answers to each share.

        `shares` are estimated, shape (tasks, answers), as is the result.
        """
        inside = np.clip(shares, 1e-12, None)
        others = inside.sum(axis=-1, keepdims=True) - inside
        mixed = inside @ self.second_moments - inside * np.diag(self.second_moments)
        found: Floats = mixed / np.maximum(others, 1e-12)
        return found


@frozen(kw_only=True, eq=False)
class PooledShares:
    """Shares of answers among all people, who use one of several mechanisms each.

    Shares are estimated for the people of each mechanism, and weighted by their number. Weights by
    precision would be biased if the choice of a mechanism depends on the answer.

    Attributes
    ----------
    reports : ndarray, shape (tasks, 1)
        Number of reports.
    shares : ndarray, shape (tasks, answers)
        Unbiased shares; NaN without reports.
    own, others : ndarray, shape (tasks, answers)
        Mean square of a report's contribution to a share, given that answer and given the others.
    surplus : ndarray, shape (tasks, answers)
        What the mean square exceeds these by, since people with an answer prefer some mechanisms.
    """

    reports: Floats
    shares: Floats
    own: Floats
    others: Floats
    surplus: Floats

    @classmethod
    def of(cls, parts: Sequence[tuple[Decoder, Counts]]) -> Self:
        """Pool the counts of each mechanism, shape (tasks, counts)."""
        reports = [
            counts.sum(axis=-1, keepdims=True) / decoder.members for decoder, counts in parts
        ]
        total: Floats = np.sum(reports, axis=0)
        weights = [
            np.where(total > 0, one / np.maximum(total, 1), 1 / len(parts)) for one in reports
        ]
        shares = [np.nan_to_num(decoder.shares(counts)) for decoder, counts in parts]
        own = [np.diag(decoder.second_moments) for decoder, _ in parts]
        others = [
            decoder.second_moments_of_others(share)
            for (decoder, _), share in zip(parts, shares, strict=True)
        ]

        def pooled(numbers: Sequence[Floats]) -> Floats:
            parts = [weight * one for weight, one in zip(weights, numbers, strict=True)]
            found: Floats = np.sum(parts, axis=0)
            return found

        mean = pooled(shares)
        gains = [
            (share - mean) * (one - other)
            for share, one, other in zip(shares, own, others, strict=True)
        ]
        return cls(
            reports=total,
            shares=np.where(total > 0, mean, np.nan),
            own=pooled(own),
            others=pooled(others),
            surplus=pooled(gains),
        )

    def intervals(self, confidence: float) -> tuple[Floats, Floats]:
        """Return the ends of score intervals for the shares of answers in the population.

        A share a is in the interval if the estimate lies within z standard errors of it, where the
        error is that for a, and the other answers have the estimated proportions. If a report adds
        one of two numbers to the estimate, this is Wilson's interval. The ends are not clipped.
        """
        z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
        reports, shares, own = self.reports, np.nan_to_num(self.shares), self.own
        rest, surplus = self.others, self.surplus
        middle = (2.0 * reports * shares + z * z * (own - rest)) / (2.0 * (reports + z * z))
        product = (reports * shares**2 - z * z * (rest + surplus)) / (reports + z * z)
        half = np.sqrt(np.maximum(middle**2 - product, 0.0))
        return middle - half, middle + half


def estimate_shares(
    reports: Reports | Answers, *, confidence: float = 0.95, backend: Backend = "pandas"
) -> Any:
    """Estimate which share of people gives each answer to each question.

    The intervals are for the shares in the population from which the workers are a random sample.
    They contain the chance in the noise and in the choice of workers, but not that some people do
    not answer, or answer wrongly.

    Parameters
    ----------
    reports : Reports or Answers
        Labels or sets of labels by mechanisms with finite channels, or non-private answers. With
        several mechanisms, see `join_reports`, shares are estimated for the people of each, and
        weighted by their number: a precise mechanism counts no more.
    confidence : float
        Fraction of intervals that hold the share, above 0 and below 1.
    backend : {"pandas", "polars", "pyarrow"}
        Kind of dataframe.

    Returns
    -------
    dataframe
        A row per question and possible answer, with the columns ``task``, ``label``, ``share``,
        ``low``, ``high`` and ``reports``. An estimated share may be below 0 or above 1, the ends of
        intervals may not. Without reports the share is missing. If missing answers are randomized,
        too, the label null has their share.

    Raises
    ------
    AnswerError
        If reports are not counted, as numbers and sketches are not, or do not depend on answers.
    ParameterError
        If `confidence` is out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> import quietcrowd as qc
    >>> domain = qc.Categorical(["no", "yes"])
    >>> frame = pd.DataFrame({"task": "robin", "worker": range(10), "label": ["no", "yes"] * 5})
    >>> answers = qc.Answers.from_frame(frame, domain=domain)
    >>> estimate_shares(answers).round(2)
        task label  share   low  high  reports
    0  robin    no    0.5  0.24  0.76       10
    1  robin   yes    0.5  0.24  0.76       10
    """
    check_proportion("confidence", confidence)
    table = table_of(reports)
    parts = [_Part.of(reports)] if table.options is None else _parts_by_options(reports)
    columns = [part.columns(confidence) for part in parts]
    joined = {name: np.concatenate([one[name] for one in columns]) for name in columns[0]}
    order = np.lexsort((joined["label"], joined["task"]))
    rows = {name: values[order] for name, values in joined.items()}
    domain = _domain_of_answers(reports)
    labels = domain.decode(rows.pop("label").astype(domain.dtype))
    tasks = table.tasks.take(pa.array(rows.pop("task")))
    return to_native({"task": tasks, "label": labels, **rows}, backend)


@frozen(kw_only=True, eq=False)
class _Part:
    """Counts of reports on tasks with equally many possible answers.

    `labels` are codes of the answers of each task, shape (tasks, answers).
    """

    pooled: PooledShares
    tasks: npt.NDArray[np.intp]
    labels: npt.NDArray[np.int64]

    @classmethod
    def of(cls, reports: Reports | Answers) -> Self:
        """Count the reports, or answers, on all tasks."""
        tasks, counted = len(table_of(reports).tasks), []
        for one in reports.split() if isinstance(reports, Reports) else (reports,):
            table, decoder = table_of(one), decoder_of(one)
            counts = decoder.count(table.domain, table.task_codes, table.values, tasks)
            counted.append((decoder, counts))
        labels = np.tile(np.arange(len(decoder.chances)), (tasks, 1))
        return cls(pooled=PooledShares.of(counted), tasks=np.arange(tasks), labels=labels)

    def columns(self, confidence: float) -> dict[str, npt.NDArray[Any]]:
        """Return columns with a row per task and answer; tasks and labels are codes."""
        low, high = self.pooled.intervals(confidence)
        reports = self.pooled.reports[:, 0].astype(np.int64)
        answers = self.labels.shape[1]
        return {
            "task": np.repeat(self.tasks, answers),
            "label": self.labels.reshape(-1),
            "share": self.pooled.shares.reshape(-1),
            "low": np.clip(low, 0.0, 1.0).reshape(-1),
            "high": np.clip(high, 0.0, 1.0).reshape(-1),
            "reports": np.repeat(reports, answers),
        }


def _parts_by_options(reports: Reports | Answers) -> list[_Part]:
    table = table_of(reports)
    options = cast(TaskOptions, table.options)
    mechanism: Any = reports.mechanism if isinstance(reports, Reports) else None
    codes = table.task_codes
    positions = options.positions(codes, table.values)
    parts = []
    for size in np.unique(options.sizes).tolist():
        tasks = np.flatnonzero(options.sizes == size)
        rows = options.sizes[codes] == size
        randomized = mechanism is not None and size > 1
        chances = mechanism.channel_for(size).probabilities if randomized else np.eye(size)
        places = np.searchsorted(tasks, codes[rows])
        counts = _count(places, positions[rows], (len(tasks), size))
        parts.append(
            _Part(
                pooled=PooledShares.of([(Decoder(chances=chances), counts)]),
                tasks=tasks,
                labels=options.codes[options.offsets[tasks][:, np.newaxis] + np.arange(size)],
            )
        )
    return parts


def _count(tasks: npt.NDArray[Any], values: npt.NDArray[Any], shape: tuple[int, int]) -> Counts:
    cells = tasks.astype(np.int64) * shape[1] + values.astype(np.int64)
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)


def table_of(reports: Reports | Answers) -> Answers:
    """Return the table of reports, or answers themselves."""
    return reports.table if isinstance(reports, Reports) else reports


def _domain_of_answers(reports: Reports | Answers) -> Domain:
    if not isinstance(reports, Reports):
        return reports.domain
    domain: Any = reports.mechanism.domain
    return OrNull(domain=domain) if reports.mechanism.every_task else domain


def decoder_of(reports: Reports | Answers) -> Decoder:
    """Return the decoder of reports or answers that are counted; AnswerError for others."""
    if not isinstance(reports, Reports):
        if not isinstance(reports.domain, FiniteDomain):
            raise AnswerError("survey.numbers-have-no-shares", domain=reports.domain.example())
        return Decoder(chances=np.eye(reports.domain.size))
    return decoder_for(reports.mechanism, has_more=has_more(reports))


def decoder_for(mechanism: Mechanism, *, has_more: bool = False) -> Decoder:
    """Return the decoder of a mechanism with counted reports; AnswerError for others.

    `has_more` means that devices send more than a report for each task.
    """
    found = None if has_more else Decoder.of(mechanism.channel)
    if found is None or not found.has_signal:
        raise AnswerError("survey.shares-unsupported", name=mechanism.name)
    return found


def has_more(reports: Reports) -> bool:
    """Return whether devices sent more than a report for each task."""
    return reports.participation_codes is not None or reports.sketches is not None
