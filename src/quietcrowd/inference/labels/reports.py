"""Distributions of the reports of each worker: its channel, and how often it answers.

Kernels compare each report with the posterior from all other reports:
``research/docs/theory/workers-quality.md``.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from quietcrowd._core import bound_votes
from quietcrowd.inference import integer_sums
from quietcrowd.inference.partition import Summary
from quietcrowd.mechanisms.channels.per_worker import ReportDistribution

Floats = npt.NDArray[np.float64]

Blocks: TypeAlias = tuple[slice, ...]
"""Slices of the labels that can be truths of the same task; see `WorkerReports`."""

ALL: Blocks = (slice(None),)

KINDS = 16
"""Number of grid points for the fraction of label reports that come from answers."""


@frozen(kw_only=True, eq=False, slots=False)
class CrowdUnits:
    """Units of sums over all workers; a worker's reports and log-probabilities fit 2^50."""

    summary: Summary

    @cached_property
    def workers(self) -> int:
        """Number of workers."""
        return self.summary.workers

    @cached_property
    def labels(self) -> int:
        """Number of labels."""
        return self.summary.labels

    @cached_property
    def worker_unit(self) -> float:
        """Representation of one worker."""
        return integer_sums.unit_for(self.workers + 1.0)

    @cached_property
    def report_unit(self) -> float:
        """Representation of one report."""
        return min(integer_sums.unit_for(self.summary.answers + 1.0), self._per_worker_unit)

    @cached_property
    def evidence_unit(self) -> float:
        """Representation of a log-probability of 1."""
        whole = integer_sums.unit_for(64.0 * (self.summary.answers + self.workers))
        return min(whole, self._per_worker_unit / 64.0)

    @property
    def _per_worker_unit(self) -> float:
        return float(2.0 ** (49 - (self.summary.most_answers + 1).bit_length()))


@frozen(kw_only=True, eq=False, slots=False)
class WorkerReports(CrowdUnits):
    """Distributions of reports from a finite set, such as labels.

    If NULL is a label, a label report may come from a task that its worker did not answer. Workers
    then have a `kind`, by the fraction of their label reports that come from answers. In a mixture,
    a kind is a set of mechanisms with secret draws. For each kind, `tables`, at [channel, truth,
    report], are the probabilities of a perfect worker's reports, `chances` those of the channels,
    which a worker draws once. If tasks have different numbers of options, labels are options, one
    block for each of the `sizes`; no report is of another block than the truth.
    """

    chances: tuple[Floats, ...]
    tables: tuple[Floats, ...]
    kind: npt.NDArray[np.int64]
    sizes: tuple[int, ...] = ()

    @classmethod
    def of(cls, summary: Summary) -> Self:
        """Return the distributions of all reports; answers are reports of the identity channel."""
        distribution, labels = summary.report_distribution, summary.labels
        everybody = np.zeros(summary.workers, np.int64)
        if distribution is None:
            same = np.eye(labels)[np.newaxis]
            return cls(summary=summary, chances=(np.ones(1),), tables=(same,), kind=everybody)
        if distribution.parts:
            assert summary.answers_per_part is not None
            secret = np.array([len(part.chances) > 1 for part in distribution.parts])
            used = (summary.answers_per_part > 0) & secret
            sets, kind = np.unique(used, axis=0, return_inverse=True)
            return cls._of_kinds(summary, [distribution.draws(one) for one in sets], kind.ravel())
        if distribution.tables.shape[1] == labels:
            return cls._of_kinds(summary, [distribution], everybody)
        shares, kind = _participation(summary, distribution)
        answered, silent = distribution.tables[:, :-1, :-1], distribution.tables[:, -1:, :-1]
        answered = answered / answered.sum(axis=2, keepdims=True)
        silent = silent / silent.sum(axis=2, keepdims=True)
        share = shares[:, np.newaxis, np.newaxis, np.newaxis]
        tables = share * answered + (1.0 - share) * silent
        return cls._of_kinds(summary, [evolve(distribution, tables=one) for one in tables], kind)

    @classmethod
    def _of_kinds(
        cls, summary: Summary, kinds: Sequence[ReportDistribution], kind: npt.NDArray[np.int64]
    ) -> Self:
        chances, tables = zip(*((one.chances, one.tables) for one in kinds), strict=True)
        return cls(summary=summary, chances=chances, tables=tables, kind=kind)

    @cached_property
    def reports(self) -> int:
        """Number of possible reports."""
        return int(self.tables[0].shape[2])

    @cached_property
    def without_noise(self) -> bool:
        """Whether reports are answers."""
        return self.summary.report_distribution is None

    @cached_property
    def blocks(self) -> Blocks:
        """Slices of the labels that can be truths of the same task."""
        return blocks_of(self.sizes) if self.sizes else ALL

    @cached_property
    def usual_kind(self) -> int:
        """Median of the kinds."""
        return int(np.sort(self.kind)[len(self.kind) // 2])

    @cached_property
    def mean_table(self) -> Floats:
        """Probability of each report for each label, for the median kind."""
        usual = self.usual_kind
        mean: Floats = np.tensordot(self.chances[usual], self.tables[usual], 1)
        return mean

    @cached_property
    def members(self) -> list[npt.NDArray[np.int64]]:
        """Workers of each kind; those with the same mechanisms are neighbors."""
        order, counts = np.arange(len(self.kind)), self.summary.answers_per_part
        if counts is not None:
            order = np.lexsort((counts > 0).T)
        return [order[self.kind[order] == kind] for kind in range(len(self.tables))]

    def bounded(self, votes: npt.NDArray[np.int32], bits: int) -> npt.NDArray[np.int32]:
        """Limit, in place, log-ratios between labels to the privacy loss of a report.

        `votes`, at [worker, report, label], are in units of 2^-`bits`.
        """
        for reports, labels, losses in self._bounds:
            own = np.ascontiguousarray(votes[:, reports, labels])
            bound_votes(own, np.ldexp(losses, bits))
            if own.shape != votes.shape:  # a copy
                votes[:, reports, labels] = own
        return votes

    @cached_property
    def columns(self) -> Blocks:
        """Slices of the reports of each mechanism."""
        distribution = self.summary.report_distribution
        if distribution is None or not distribution.parts:
            return ALL
        return blocks_of([part.tables.shape[2] for part in distribution.parts])

    @cached_property
    def _bounds(self) -> list[tuple[slice, slice, Floats]]:
        """Slices of reports and of labels, and the loss of one such report of each worker."""
        summary, distribution = self.summary, self.summary.report_distribution
        if distribution is None:
            return []
        if summary.answers_per_part is None:
            counts = np.append(summary.answers_per_worker, 1)
            if len(distribution.tables) > 1 and distribution.tables.shape[1] > self.labels:
                counts[:] = summary.tasks
            losses = _losses(distribution, counts)
            return [(block, block, losses) for block in self.blocks]
        counts = np.pad(summary.answers_per_part, [(0, 1), (0, 0)], constant_values=1)
        return [
            (block, slice(None), _losses(part, counts[:, place]))
            for place, (block, part) in enumerate(
                zip(self.columns, distribution.parts, strict=True)
            )
        ]


def _losses(distribution: ReportDistribution, answers: npt.NDArray[np.int64]) -> Floats:
    """Return the privacy loss of one report of workers, or slightly less: counts are rounded."""
    steps = np.floor(4.0 * np.log2(np.maximum(answers, 1))).astype(np.int64)
    values, places = np.unique(steps, return_inverse=True)
    loss = distribution.loss
    if isinstance(loss, float):
        return np.full(len(answers), loss)
    losses = [loss(math.ceil(2.0 ** (step / 4.0))) for step in values.tolist()]
    return np.array(losses)[places]


def blocks_of(sizes: Sequence[int]) -> Blocks:
    """Return consecutive slices of these sizes."""
    ends = np.cumsum(sizes).tolist()
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends, strict=True))


def _participation(
    summary: Summary, distribution: ReportDistribution
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return a grid of fractions of label reports that come from answers, and each worker's place.

    If a worker answers a fraction r of the tasks, an answer becomes a label report with probability
    a, and no answer with probability b, a task has a label report with probability
    ``s = r a + (1 - r) b``. The result is the posterior mean of ``r a / s``, also over secret
    draws, which have an a and a b each. The distribution of r in the crowd is learned by
    expectation maximization from a uniform one. Workers with equally many label reports are one
    case, so that the order of workers changes no bit.
    """
    labels = summary.labels
    kept = 1.0 - distribution.tables[:, :labels, -1].mean(axis=1)
    made = (
        1.0 - distribution.tables[:1, -1, -1]
        if distribution.made_up is None
        else distribution.made_up
    )
    shares = (np.arange(KINDS) + 0.5) / KINDS
    kept, made, rates = (part.ravel() for part in np.meshgrid(kept, made, shares, indexing="ij"))
    chance = np.clip(rates * kept + (1.0 - rates) * made, 1e-12, 1.0 - 1e-12)
    draws = np.repeat(distribution.chances, len(chance) // len(distribution.chances))
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


REPORT_ONE = 2.0**30
"""Fixed-point representation of a report, and of a log probability of 1, in histograms."""


class CavityVotes(NamedTuple):
    """Contributions of a report to the labels' log-odds, under each assumed crowd.

    The vote of worker i is ``trust_i``, in [0, 1], times the worker's own, clipped at `most`, plus
    ``1 - trust_i`` times that of a worker of the assumed `crowd`, shape (crowds,) or (crowds,
    truths, reports). Either `coins`, shape (workers,), the log-odds of the reported label against
    any other, or `tables`, log-likelihoods at ``(worker labels + report) labels + truth``, is
    empty; both are in units of `nats`.
    """

    coins: npt.NDArray[np.int64]
    tables: npt.NDArray[np.int32]
    nats: float
    most: float
    trust: npt.NDArray[np.float64]
    crowd: npt.NDArray[np.float64]
    log_priors: npt.NDArray[np.float64]


class ReportDistributions(NamedTuple):
    """Probabilities of a report under each of several channels.

    `right` and `wrong`, at [channel, truth, report], are those if the answer is right or wrong; for
    symmetric channels, shape (channels, 2), that a report equals the truth, and that it is one
    given other label. `silent`, at [channel, report], is that without an answer. `answering` is the
    fraction of each worker's reports that come from answers. `nodes` is the grid of the log-ratio
    of the report's probabilities, right to wrong, for its histogram.
    """

    right: npt.NDArray[np.float64]
    wrong: npt.NDArray[np.float64]
    silent: npt.NDArray[np.float64]
    answering: npt.NDArray[np.float64]
    nodes: npt.NDArray[np.float64]
