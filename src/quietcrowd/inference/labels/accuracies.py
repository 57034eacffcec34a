"""How often a worker's answers are right, and how sure that is: the same way for every method.

Each report is judged by what all others tell of its task, and the crowd's law of accuracies is
learnt from all workers. Derivation and checks: ``docs/theory/workers-quality.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd._core import (
    add_crowd_counts,
    add_evidences,
    coin_cavities,
    estimate_accuracies,
    fill_report_logs,
    table_cavities,
)
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.cavity import CavityVotes, ReportLaws
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.mechanisms.channels.set_law import SetLaw

__all__ = [
    "WORKERS_AT_ONCE",
    "OwnVotes",
    "accuracies",
    "accuracy_histograms",
    "answers_worth",
    "histogram_bytes",
    "no_histograms",
    "no_set_histograms",
    "set_nodes",
]

_Floats = npt.NDArray[np.float64]

SKILLS = (0.5, 0.8)
"""The crowds that may be assumed: how far their accuracy lies between chance and 1."""

MOST_ODDS = 12.0
"""No report adds more log-odds of its worker's own, nor more than its channel lets it tell."""

SPREAD = 3.0
"""Nodes lie at ``SPREAD sinh(t)`` for even steps of t: almost evenly within this of 0."""

NODES = 32
MOST_SPAN = 10.0
"""Nodes reach so far: beyond, a report's likelihood is linear in v."""

LEARNT_FROM = 30.0
"""So many answers without noise make what a method believes of a worker count for one half."""

GRID = 64
"""How many accuracies are distinguished; the kernels assume it."""

EVIDENCE_ONE, COUNT_ONE = 2.0**20, 2.0**32
"""What a log-probability of 1, and a worker, are stored as."""

MEANS, RECORDS = 24, (5.0, 10.0, 20.0)
"""How many means laws of accuracies have, and of how many answers they are worth."""

FITTED_LAW_WORKERS = 100.0
"""The law that fits best among them counts as so many workers when the crowd's own is learnt."""

ROUNDS = 5
COVERED = 0.9
"""Of the posterior lies between the ends of the interval."""

WORKERS_AT_ONCE = 2**16
"""So many workers are looked at together, where there are more."""

WIDEST = 0.9
"""An interval of more than this part of its width before any report says too little."""


@frozen(kw_only=True, eq=False)
class OwnVotes:
    """What a method holds the reports of each worker for.

    Attributes
    ----------
    own : ndarray of int32 or int64
        In units of `nats`; of shape (workers,): log-odds of the label that a worker gives against
        any other; or int32, at place ``(worker labels + report) labels + truth``, log-likelihoods.
        By default all workers are alike.
    nats : float
        As of `CavityVotes`.
    log_priors : ndarray of float64, shape (labels,), or None
        Log-frequency of each label, which counts as much as the workers' own votes do in the mean;
        by default all are alike.
    learnt_from : float
        How many answers without noise it takes until a worker's own vote counts for one half; 0
        where it is to be taken as it is.
    """

    own: npt.NDArray[Any] | None = None
    nats: float = 1.0
    log_priors: _Floats | None = None
    learnt_from: float = LEARNT_FROM


@frozen(kw_only=True, eq=False)
class _Noise:
    """How reports come from answers.

    Attributes
    ----------
    channels : tuple of ndarray, or None
        Tables (answers, reports), NULL as one more of both where silence is hidden; None where
        reports are answers.
    weights : tuple of float
        How probable each is.
    rates : ndarray of float64, shape (channels, 2), or None
        Probability to keep an answer and to give one certain other one; None where some channel is
        no randomised response.
    answering : ndarray of float64, shape (workers,)
        As of `ReportLaws`.
    sets : SetLaw or None
        The law of reports that are sets of labels; there are no tables then.
    """

    labels: int
    channels: tuple[_Floats, ...] | None
    weights: tuple[float, ...]
    rates: _Floats | None
    answering: _Floats
    sets: SetLaw | None = None

    @classmethod
    def of(cls, summary: Summary) -> _Noise:
        """Return that of all reports; of a channel that is no table of labels nothing is known."""
        law, labels = summary.report_law, summary.labels
        everybody = np.ones(summary.workers)
        sides = () if law is None else law.tables.shape[1:]
        if law is None or sides not in ((labels,) * 2, (labels + 1,) * 2):
            return cls(
                labels=labels,
                channels=None,
                weights=(1.0,),
                rates=np.array([[1.0, 0.0]]),
                answering=everybody,
                sets=None if summary.channel is None else summary.channel.sets,
            )
        mean = np.tensordot(law.chances, law.tables, 1)
        return cls(
            labels=labels,
            channels=tuple(law.tables),
            weights=tuple(law.chances.tolist()),
            rates=_rates(law.tables, labels),
            answering=_answering(summary, mean) if sides[0] > labels else everybody,
        )

    @property
    def silent(self) -> _Floats:
        """P(report) where the worker gave no answer, shape (channels, labels)."""
        if self.channels is None or len(self.channels[0]) == self.labels:
            return np.zeros((len(self.weights), self.labels))
        return np.array([table[-1, : self.labels] for table in self.channels])

    @property
    def loss(self) -> float:
        """The largest log-ratio of the probabilities of a report, given two answers."""
        if self.sets is not None:
            return self.sets.epsilon
        if self.channels is None:
            return math.inf
        return max(_loss(table) for table in self.channels)

    def tables(self) -> tuple[_Floats, _Floats]:
        """Return P(report | truth) at [channel, truth, report] if right, and if wrong."""
        plain = (np.eye(self.labels),)
        labels = slice(0, self.labels)
        right = np.array([table[labels, labels] for table in self.channels or plain])
        wrong = (right.sum(axis=1, keepdims=True) - right) / max(self.labels - 1, 1)
        return right, wrong

    @property
    def kept(self) -> float:
        """What share of an answer's worth a report has, from 0 to 1.

        As many answers as this would tell as exactly how often each label is given.
        """
        if self.sets is not None:
            keep, other = float(self.sets.held), float(self.sets.held_other)
        elif self.rates is None:
            right, wrong = self.tables()
            keep, other = _mean(_diagonal(right)), _mean(_diagonal(wrong))
        else:
            keep, other = (float(rate) for rate in self.rates.mean(axis=0))
        share = _mean(self.answering)
        signal = (share * (keep - other)) ** 2
        return signal / (signal + self.labels * other * (1.0 - other)) if signal else 0.0


def _rates(tables: _Floats, labels: int) -> _Floats | None:
    """Return how probable each channel keeps a label, and gives one certain other one.

    None where these differ from label to label.
    """
    inner = tables[:, :labels, :labels]
    same = np.eye(labels, dtype=bool)
    keep, other = inner[:, same], inner[:, ~same]
    if labels < 2 or max(np.ptp(keep, axis=1).max(), np.ptp(other, axis=1).max()) > 1e-12:
        return None
    return np.stack([keep[:, 0], other[:, 0]], axis=1)


def _mean(numbers: _Floats) -> float:
    """Return the mean, the same for any order; 1 where there is no number."""
    return integer_sums.exact_sum(numbers, numbers.size) / numbers.size if numbers.size else 1.0


def _diagonal(tables: _Floats) -> _Floats:
    return np.diagonal(tables, axis1=1, axis2=2)


def _loss(table: _Floats) -> float:
    low, high = table.min(axis=0), table.max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(np.log(high / low), nan=0.0, posinf=math.inf).max())


def _answering(summary: Summary, table: _Floats) -> _Floats:
    """Return how often each worker answers, from the share of the tasks with a label report.

    ``share = r answered + (1 - r) silent``, where a report is a label with those probabilities;
    r is solved for, by the mean table. `worker_reports` asks something else, and finds it in
    another way: what share of the label reports comes from answers, ``r answered / share``, by a
    law of r that is learnt from the crowd and with secret draws summed out, since `NoiseAware`
    finds truths by it. Here r weighs the quality that every method tells, also those that learn
    nothing of the crowd; where a worker has two secret draws, no quality is told.
    """
    labels = slice(0, summary.labels)
    silent = float(table[-1, labels].sum())
    answered = float(table[labels, labels].sum()) / summary.labels
    shares = summary.answers_per_worker / max(summary.tasks, 1)
    if answered == silent:
        return np.ones(summary.workers)
    return np.clip((shares - silent) / (answered - silent), 1e-3, 1.0)


def _nodes(loss: float) -> _Floats:
    """Return where v is counted: it is no larger than the loss."""
    span = min(loss, MOST_SPAN)
    steps = np.linspace(-1.0, 1.0, NODES) * math.asinh(span / SPREAD)
    nodes: _Floats = SPREAD * np.sinh(steps)
    return nodes


def _skilled(labels: int) -> _Floats:
    """Return the accuracies of the crowds that may be assumed."""
    return 1 / labels + (1 - 1 / labels) * np.array(SKILLS)


def _crowd_votes(noise: _Noise, tables: bool) -> _Floats:
    """Return what a report of a worker of the assumed crowds adds; see `CavityVotes`."""
    right = _skilled(noise.labels)[:, None, None, None]
    same, other = noise.tables() if tables else _two_labels(noise)
    likely = right * same + (1.0 - right) * other
    share = _mean(noise.answering)
    silent = noise.silent if tables else noise.silent[:, :1]
    likely = share * likely + (1.0 - share) * silent[:, None, :]
    mixed = np.tensordot(likely, np.array(noise.weights), axes=(1, 0))
    logs: _Floats = np.log(np.maximum(mixed, 1e-11))
    return logs if tables else logs[:, 0, 0] - logs[:, 0, 1]


def _two_labels(noise: _Noise) -> tuple[_Floats, _Floats]:
    """Return P(report | truth) if the two are the same and if not: if right, and if wrong."""
    assert noise.rates is not None
    others = max(noise.labels - 1, 1)
    keep, other = noise.rates[:, 0], noise.rates[:, 1]
    mixed = (keep + (others - 1) * other) / others
    return np.stack([keep, other], 1)[:, None], np.stack([other, mixed], 1)[:, None]


def no_histograms() -> npt.NDArray[np.int64]:
    """Return what a pass tells of workers' accuracies that does not look: it adds to any other."""
    return np.zeros((), np.int64)


def no_set_histograms(workers: int) -> npt.NDArray[np.int64]:
    """Return histograms of so many workers whose reports are sets, to be added to."""
    return np.zeros((workers, len(SKILLS), 1, NODES + 1), np.int64)


def set_nodes(law: SetLaw) -> _Floats:
    """Return where what a set tells of its worker is counted."""
    return _nodes(law.epsilon)


def _cavity_votes(summary: Summary, noise: _Noise, votes: OwnVotes, tables: bool) -> CavityVotes:
    """Return what reports add to log-odds; a method's own votes count by what they rest on."""
    alike = np.zeros(summary.workers, np.int64)
    own: npt.NDArray[Any] = alike if votes.own is None else votes.own
    coins = len(own) == summary.workers
    worth = summary.answers_per_worker * noise.kept
    trust: _Floats = worth / np.maximum(worth + votes.learnt_from, 1e-300)
    if votes.own is None:
        trust = np.zeros(summary.workers)
    elif votes.learnt_from == 0.0:
        trust = np.ones(summary.workers)
    flat = np.zeros(summary.labels)
    return CavityVotes(
        coins=own.astype(np.int64, copy=False) if coins else np.zeros(0, np.int64),
        tables=np.zeros(0, np.int32) if coins else own,
        nats=votes.nats,
        most=min(noise.loss, MOST_ODDS),
        trust=trust,
        crowd=np.ascontiguousarray(_crowd_votes(noise, tables)),
        log_priors=flat if votes.log_priors is None else votes.log_priors * _mean(trust),
    )


def accuracy_histograms(
    partition: Partition, summary: Summary, votes: OwnVotes
) -> npt.NDArray[np.int64]:
    """Return what the reports on the tasks of a partition tell of their workers' accuracies.

    Returns
    -------
    ndarray of int64, shape (workers, crowds, channels, places + 1)
        See ``core/cavity.h``; to be added up. Workers are those of `Partition.judged`.
    """
    noise = _Noise.of(summary)
    first, end = (0, summary.workers) if partition.judged is None else partition.judged
    histograms = np.zeros((end - first, len(SKILLS), len(noise.weights), NODES + 1), np.int64)
    if summary.labels < 2 or noise.loss == 0.0:
        return histograms
    tables = noise.rates is None or (votes.own is not None and len(votes.own) != summary.workers)
    right, wrong = noise.tables() if tables else (noise.rates, np.zeros((1, 1)))
    laws = ReportLaws(
        right=np.ascontiguousarray(right),
        wrong=np.ascontiguousarray(wrong),
        silent=noise.silent,
        answering=noise.answering,
        nodes=_nodes(noise.loss),
    )
    kernel = table_cavities if tables else coin_cavities
    given = _cavity_votes(summary, noise, votes, tables)
    kernel(partition.labels, given, laws, first, histograms)
    return histograms


def histogram_bytes(summary: Summary) -> int:
    """Return how many bytes `accuracy_histograms` takes for each worker, at most."""
    channels = 1 if summary.report_law is None else len(summary.report_law.tables)
    return len(SKILLS) * channels * (NODES + 1) * np.dtype(np.int64).itemsize


@lru_cache(maxsize=32)
def _laws(labels: int) -> tuple[_Floats, npt.NDArray[np.intp], _Floats]:
    """Return laws of accuracies on the grid, the assumed crowd of each, and its log-weight.

    Beta laws of several means and spreads. Before any report a mean is the more probable the
    further it is both from chance and from 1, and hardly below chance.
    """
    angles = (np.arange(GRID) + 0.5) / GRID * np.pi
    accuracy = np.sin(angles / 2) ** 2
    means = np.sin((np.arange(MEANS) + 0.5) / MEANS * np.pi / 2) ** 2
    mean, record = (part.ravel() for part in np.meshgrid(means, RECORDS, indexing="ij"))
    logs = np.outer(mean * record - 0.5, np.log(accuracy))
    logs += np.outer((1 - mean) * record - 0.5, np.log1p(-accuracy))
    masses = np.exp(logs - logs.max(axis=1, keepdims=True))
    masses /= masses.sum(axis=1, keepdims=True)
    skill = (mean - 1 / labels) / (1 - 1 / labels)
    crowd = np.abs(skill[:, None] - np.array(SKILLS)).argmin(axis=1)
    steps = np.sqrt(mean * (1 - mean))  # means are even in the angle
    weight = np.log((0.02 + np.maximum(skill, 0.0) * (1.0 - skill)) * steps)
    return masses, crowd, weight


def _untold(labels: int) -> _Floats:
    """Return the law of accuracies before any report."""
    laws, _, weights = _laws(labels)
    shares = np.exp(weights)
    law: _Floats = shares @ laws / shares.sum()
    return law


def _learn_crowd(
    histograms: npt.NDArray[np.int64], logs: _Floats, log_weights: _Floats, labels: int
) -> tuple[int, _Floats]:
    """Return which assumed crowd fits, and the law of its accuracies on the grid.

    Two workers who answer a task are each judged by the other: evidence counts for one half.
    """
    laws, crowds, weights = _laws(labels)
    scores = weights.copy()
    for crowd in range(histograms.shape[1]):
        own = crowds == crowd
        found = np.zeros(np.count_nonzero(own), np.int64)
        for _, part in _some_workers(histograms, crowd):
            add_evidences(part, logs, log_weights, laws[own], found)
        scores[own] += found / EVIDENCE_ONE / 2.0
    shares = np.exp(scores - scores.max())
    best = int(np.argmax([shares[crowds == crowd].sum() for crowd in range(histograms.shape[1])]))
    start = shares @ laws / shares.sum()
    law = start
    for _ in range(ROUNDS):
        counts = np.zeros(GRID, np.int64)
        for _, part in _some_workers(histograms, best):
            add_crowd_counts(part, logs, log_weights, law, counts)
        law = FITTED_LAW_WORKERS * start + counts / COUNT_ONE
        law /= law.sum()
    return best, law


def _some_workers(
    histograms: npt.NDArray[np.int64], crowd: int
) -> Iterator[tuple[slice, npt.NDArray[np.int64]]]:
    """Yield what was told of some workers at a time, and which ones: of one assumed crowd."""
    for start in range(0, len(histograms), WORKERS_AT_ONCE):
        where = slice(start, start + WORKERS_AT_ONCE)
        yield where, np.ascontiguousarray(histograms[where][:, crowd])


def _estimates(
    histograms: npt.NDArray[np.int64],
    crowd: int,
    laws: tuple[_Floats, _Floats, _Floats],
    tail: float,
) -> npt.NDArray[np.float64]:
    """Return mean, lower and upper quantile of each worker's accuracy, shape (3, workers)."""
    found = np.empty((3, len(histograms)))
    for where, part in _some_workers(histograms, crowd):
        numbers = np.empty((3, len(part)))
        estimate_accuracies(part, *laws, tail, numbers)
        found[:, where] = numbers
    return found


def accuracies(
    summary: Summary, histograms: npt.NDArray[np.int64], *, medians: bool = False
) -> dict[str, _Floats]:
    """Return ``quality`` of the workers, and the ends of an interval of 90 %.

    All are NaN where the interval is not narrower than nine tenths of what it was before any report
    of anybody, so that it says hardly more than that accuracies are from 0 to 1.

    Parameters
    ----------
    summary : Summary
        Of all answers.
    histograms : ndarray of int64
        Of all reports, as of `accuracy_histograms`; or what gives it by slices of workers.
    medians : bool
        Whether to return a ``median`` of each worker's accuracy, too.
    """
    names = ("quality", "quality_low", "quality_high", "median")[: 3 + medians]
    answered = summary.answers_per_worker > 0
    if summary.labels == 1:
        return {name: np.where(answered, 1.0, np.nan) for name in names}
    noise, secret = _Noise.of(summary), summary.report_law
    two_draws = secret is not None and secret.made_up is not None  # who answered stays open
    if noise.loss == 0.0 or two_draws or not answered.any():
        return {name: np.full(summary.workers, np.nan) for name in names}
    nodes, log_weights = _nodes(noise.loss), np.log(np.array(noise.weights))
    angles = (np.arange(GRID) + 0.5) / GRID * np.pi
    logs = np.empty((NODES, GRID))
    fill_report_logs(nodes, np.sin(angles / 2) ** 2, logs)
    best, law = _learn_crowd(histograms, logs, log_weights, summary.labels)
    tail = (1.0 - COVERED) / 2.0
    found = _estimates(histograms, best, (nodes, log_weights, law), tail)
    nothing, before = np.zeros((1, *histograms.shape[2:]), np.int64), np.empty((3, 1))
    estimate_accuracies(nothing, nodes, log_weights, _untold(summary.labels), tail, before)
    unsure = ~answered | (found[2] - found[1] > WIDEST * (before[2] - before[1]))
    rows = list(found)
    if medians:
        rows.append(_estimates(histograms, best, (nodes, log_weights, law), 0.5)[1])
    return {name: np.where(unsure, np.nan, row) for name, row in zip(names, rows, strict=True)}


def answers_worth(summary: Summary) -> _Floats:
    """Return how many answers without noise each worker's reports are worth, shape (workers,)."""
    worth: _Floats = summary.answers_per_worker.astype(np.float64) * _Noise.of(summary).kept
    return worth
