"""The laws of the reports of each worker of a crowd: its channel, and whether it took part."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd._core import bound_votes
from quietcrowd.inference import integer_sums
from quietcrowd.inference.partition import Summary
from quietcrowd.mechanisms.channels.per_worker import ReportLaw

__all__ = ["KINDS", "CrowdUnits", "WorkerReports"]

Floats = npt.NDArray[np.float64]

KINDS = 16
"""So many shares of label reports that come from answers stand for all."""


@frozen(kw_only=True, eq=False, slots=False)
class CrowdUnits:
    """What numbers about workers are stored as in sums over all of them.

    Attributes
    ----------
    summary : Summary
        Of all reports.
    """

    summary: Summary

    @property
    def workers(self) -> int:
        """How many there are."""
        return self.summary.workers

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return self.summary.labels

    @property
    def worker_unit(self) -> float:
        """What one worker is stored as in sums."""
        return integer_sums.unit_for(self.workers + 1.0)

    @property
    def report_unit(self) -> float:
        """What one report is stored as in sums over workers; a worker's fit 2^50."""
        return min(integer_sums.unit_for(self.summary.answers + 1.0), self._per_worker_unit)

    @property
    def evidence_unit(self) -> float:
        """What a log-probability of 1 is stored as in sums; a worker's fit 2^50."""
        whole = integer_sums.unit_for(64.0 * (self.summary.answers + self.workers))
        return min(whole, self._per_worker_unit / 64.0)

    @property
    def _per_worker_unit(self) -> float:
        return float(2.0 ** (49 - (self.summary.most_answers + 1).bit_length()))


@frozen(kw_only=True, eq=False, slots=False)
class WorkerReports(CrowdUnits):
    """The laws of reports that are labels or stand for them.

    Where NULL is a label, a report that says a label may come from a task that its worker did not
    answer. Workers are then of some kinds, by what share of their label reports comes from answers.

    Attributes
    ----------
    chances : ndarray of float64, shape (channels,)
        Probability of each channel that a worker may have.
    tables : ndarray of float64, shape (kinds, channels, labels, reports)
        Probability of each report given each truth of a worker who is always right.
    kind : ndarray of int, shape (workers,)
        Kind of each worker.
    """

    chances: Floats
    tables: Floats
    kind: npt.NDArray[np.int64]

    @classmethod
    def of(cls, summary: Summary) -> Self:
        """Return those of what was read; plain answers are reports by a channel that keeps all."""
        law, labels = summary.report_law, summary.labels
        everybody = np.zeros(summary.workers, np.int64)
        if law is None:
            same = np.eye(labels)[np.newaxis, np.newaxis]
            return cls(summary=summary, chances=np.ones(1), tables=same, kind=everybody)
        if law.tables.shape[1] == labels:
            return cls(
                summary=summary, chances=law.chances, tables=law.tables[np.newaxis], kind=everybody
            )
        shares, kind = _participation(summary, law)
        answered, silent = law.tables[:, :-1, :-1], law.tables[:, -1:, :-1]
        answered = answered / answered.sum(axis=2, keepdims=True)
        silent = silent / silent.sum(axis=2, keepdims=True)
        share = shares[:, np.newaxis, np.newaxis, np.newaxis]
        tables = share * answered + (1.0 - share) * silent
        return cls(summary=summary, chances=law.chances, tables=tables, kind=kind)

    @property
    def reports(self) -> int:
        """How many reports there can be."""
        return int(self.tables.shape[3])

    @cached_property
    def usual_kind(self) -> int:
        """The kind of the worker in the middle."""
        return int(np.sort(self.kind)[len(self.kind) // 2])

    @cached_property
    def mean_table(self) -> Floats:
        """Probability of each report given each label, of a worker like any other."""
        mean: Floats = np.tensordot(self.chances, self.tables[self.usual_kind], 1)
        return mean

    def members(self, kind: int) -> npt.NDArray[np.int64]:
        """Return the workers of a kind."""
        return np.flatnonzero(self.kind == kind)

    def bounded(self, votes: npt.NDArray[np.int32], bits: int) -> npt.NDArray[np.int32]:
        """Return votes of which none says more, from label to label, than a report may tell.

        Parameters
        ----------
        votes : ndarray of int32, shape (workers + 1, reports, labels)
            Log-probabilities in units of 2 to minus `bits`; changed in place.
        bits : int
            See above.
        """
        law = self.summary.report_law
        if law is None:
            return votes
        counts = np.append(self.summary.answers_per_worker, 1)
        if len(law.tables) > 1 and law.tables.shape[1] > self.labels:
            counts[:] = self.summary.tasks
        bound_votes(votes, np.ldexp(_losses(law, counts), bits))
        return votes


def _losses(law: ReportLaw, counts: npt.NDArray[np.int64]) -> Floats:
    """Return the loss about one report of each worker, or a little less: by rounded counts."""
    steps = np.floor(4.0 * np.log2(np.maximum(counts, 1))).astype(np.int64)
    values, places = np.unique(steps, return_inverse=True)
    losses = [_loss(law.loss, math.ceil(2.0 ** (step / 4.0))) for step in values.tolist()]
    return np.array(losses)[places]


@lru_cache(maxsize=1024)
def _loss(loss: Callable[[int], float], answers: int) -> float:
    return loss(answers)


@lru_cache(maxsize=4)
def _participation(summary: Summary, law: ReportLaw) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return shares of label reports that come from answers, and the likeliest for each worker.

    A worker's reports say a label on ``n`` of all tasks, with probability
    ``s = r a + (1 - r) b`` each where it answers a share r of them, an answer comes back as a
    label with probability a, and no answer with b. Secret draws have an a and a b of their own;
    the mean of ``r a / s`` is taken over them. The law of r in the crowd is learnt by expectation
    maximisation from an even one. Workers with equally many such reports are one case, so that the
    order of workers changes no bit. It is the same for all sweeps, and found once.

    `accuracies` solves for r itself, of each worker alone and by the mean table: it serves methods
    that learn nothing of the crowd, and its r decides over no truth.
    """
    labels = summary.labels
    kept = 1.0 - law.tables[:, :labels, -1].mean(axis=1)
    made = 1.0 - law.tables[:1, -1, -1] if law.made_up is None else law.made_up
    shares = (np.arange(KINDS) + 0.5) / KINDS
    kept, made, rates = (part.ravel() for part in np.meshgrid(kept, made, shares, indexing="ij"))
    chance = np.clip(rates * kept + (1.0 - rates) * made, 1e-12, 1.0 - 1e-12)
    draws = np.repeat(law.chances, len(chance) // len(law.chances))
    values, case, workers = np.unique(
        summary.answers_per_worker, return_inverse=True, return_counts=True
    )
    labelled = values[:, np.newaxis]
    logs: Any = labelled * np.log(chance) + (summary.tasks - labelled) * np.log1p(-chance)
    likely = np.exp(logs - logs.max(axis=1, keepdims=True)) * draws
    crowd = np.full(KINDS, 1.0 / KINDS)
    for _ in range(100):
        chances = likely * np.tile(crowd, len(chance) // KINDS)
        chances /= chances.sum(axis=1, keepdims=True)
        expected = (workers @ chances).reshape(-1, KINDS).sum(axis=0)
        crowd = (expected + 1.0 / KINDS) / (summary.workers + 1.0)
    means = chances @ (rates * kept / chance)
    return shares, np.clip((means * KINDS).astype(np.int64), 0, KINDS - 1)[case]
