"""Reports that the search for groups reads: those of the busiest workers, in a fixed order."""

from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, fields_dict, frozen

from quietcrowd.gold import UNKNOWN
from quietcrowd.inference.partition import Partition

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

MOST_WORKERS = 1_000
"""Number of the busiest workers; no group is searched among others."""

MOST_REPORTS = 2**15
"""Number of reports, about, that the search reads: those of the tasks with the smallest hashes."""

MOST_CLASSES = 6
"""Number of classes of reports that the search distinguishes."""


def busiest(answers_per_worker: Ints) -> Mask:
    """Return which workers gave the most answers; of equals, the first ones."""
    chosen = np.zeros(len(answers_per_worker), bool)
    chosen[np.argsort(-answers_per_worker, kind="stable")[:MOST_WORKERS]] = True
    return chosen


@frozen(kw_only=True, eq=False)
class GroupReports:
    """Additive statistics: reports of chosen workers, each with the hash of its task."""

    draws: npt.NDArray[np.uint64]
    workers: Codes
    values: Codes
    known_truths: Codes

    @classmethod
    def of(cls, partition: Partition, chosen: Mask, reports: int) -> Self:
        """Return the reports of chosen workers, of which all partitions have `reports`."""
        tasks = np.arange(partition.tasks)
        if reports > MOST_REPORTS:
            limit = np.uint64(2.0**64 * (MOST_REPORTS / reports))
            tasks = np.flatnonzero(partition.draws < limit)
        sizes = np.diff(partition.offsets)[tasks]
        before = partition.offsets[tasks] - (np.cumsum(sizes) - sizes)
        rows, task = np.repeat(before, sizes) + np.arange(sizes.sum()), np.repeat(tasks, sizes)
        kept = chosen[partition.worker_codes[rows]]
        rows, task = rows[kept], task[kept]
        return cls(
            draws=partition.draws[task],
            workers=partition.worker_codes[rows].astype(np.int32),
            values=partition.values[rows].astype(np.int32),
            known_truths=partition.known_truths[task].astype(np.int32),
        )

    def within(self, codes: slice) -> Self:
        """Return the reports with these codes, counted from the first."""
        first, end, _ = codes.indices(int(self.values.max(initial=0)) + 1)
        if first == 0 and codes.stop is None:
            return self
        chosen = (self.values >= first) & (self.values < end)
        names = fields_dict(type(self))
        found = type(self)(**{name: getattr(self, name)[chosen] for name in names})
        return evolve(found, values=found.values - first)

    def __add__(self, other: Self) -> Self:
        names = fields_dict(type(self))
        both = [(getattr(self, name), getattr(other, name)) for name in names]
        return type(self)(**dict(zip(names, map(np.concatenate, both), strict=True)))


@frozen(kw_only=True, eq=False, slots=False)
class Crowd:
    """Reports sorted by hash of task and by worker, so that no partition changes a bit.

    `first` is half of the tasks, by their hashes. Many labels are merged into a few classes;
    `table`, at [class of answer, class of report], is the channel.
    """

    task: Ints
    worker: Ints
    value: Ints
    first: Mask
    known_truths: Ints
    table: Floats
    workers: int

    @classmethod
    def of(cls, reports: GroupReports, table: Floats, workers: int) -> Self:
        """Sort the reports and merge their labels; `table` is at [answer, report]."""
        hashes, task = np.unique(reports.draws, return_inverse=True)
        order = np.argsort((task * workers + reports.workers) * table.shape[1] + reports.values)
        classes, merged = merge_labels(reports.values, table)
        known = np.empty(len(hashes), np.int64)
        known[task] = reports.known_truths
        if len(merged) < len(table):
            known = np.where(known == UNKNOWN, UNKNOWN, classes[known])
        return cls(
            task=task[order].astype(np.int64),
            worker=reports.workers[order].astype(np.int64),
            value=classes[reports.values[order]],
            first=(hashes & np.uint64(1)).astype(bool),
            known_truths=known,
            table=merged,
            workers=workers,
        )

    @cached_property
    def halves(self) -> tuple[Self, Self]:
        """The same for each half of the tasks."""
        return self._on(self.first), self._on(~self.first)

    def _on(self, tasks: Mask) -> Self:
        rows, place = np.flatnonzero(tasks[self.task]), np.cumsum(tasks) - 1
        return evolve(
            self,
            task=place[self.task[rows]],
            worker=self.worker[rows],
            value=self.value[rows],
            first=self.first[tasks],
            known_truths=self.known_truths[tasks],
        )

    @cached_property
    def classes(self) -> int:
        """Number of classes of reports."""
        return int(self.table.shape[1])

    @cached_property
    def signal(self) -> float:
        """Probability that two reports agree if their answers do, minus that if they do not."""
        same, labels = self.table @ self.table.T, len(self.table)
        rest = (same.sum() - np.trace(same)) / max(labels * (labels - 1), 1)
        return float(np.trace(same) / labels - rest)

    @cached_property
    def _inverse(self) -> Floats:
        return np.asarray(np.linalg.pinv(self.table), np.float64)

    def scale(self, values: Ints) -> float:
        """Return the excess agreement of two reports of one answer, among such values."""
        counts = np.bincount(values, minlength=self.classes)
        answers = np.clip(counts @ self._inverse, 0.0, None)
        answers /= max(answers.sum(), 1e-12)
        return max(self.signal * max(1.0 - float((answers**2).sum()), 0.05), 1e-9)


def merge_labels(values: npt.NDArray[Any], table: Floats) -> tuple[Ints, Floats]:
    """Return the class of each report, and the channel between classes.

    Classes have about equally many reports. If reports are answers, truths have the same classes.
    """
    labels, reports = table.shape
    if reports <= MOST_CLASSES:
        return np.arange(reports), table
    counts = np.bincount(values, minlength=reports)
    classes, sizes = np.zeros(reports, np.int64), np.zeros(MOST_CLASSES)
    for report in np.argsort(-counts, kind="stable"):
        classes[report] = np.argmin(sizes)
        sizes[classes[report]] += counts[report] + 1
    member = np.eye(MOST_CLASSES)[classes]
    if labels != reports:
        return classes, table @ member
    weights = (counts[:, np.newaxis] + 1.0) * member
    return classes, (weights / weights.sum(axis=0)).T @ table @ member
