"""Partitions of the answers by task, and a summary of the whole."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen

from quietcrowd._core import hash_texts
from quietcrowd.answers import Answers
from quietcrowd.domains import Domain, FiniteDomain, NumericDomain
from quietcrowd.gold import UNKNOWN
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.per_worker import ReportDistribution
from quietcrowd.report_domains import OneOf

_Array: TypeAlias = npt.NDArray[Any]


@frozen(kw_only=True, eq=False)
class Partition:
    """All answers of a set of tasks.

    Task ``t`` has rows ``offsets[t]`` to ``offsets[t + 1] - 1`` of `worker_codes`, positions among
    all workers, and `values`, labels' codes or numbers. `draws` are hashes of the tasks' ids that
    break ties. `known_truths`, shape (tasks,), are -1 or NaN if unknown. `participation` is the
    noisy bit of each value. `judged` is a half-open range of the workers whose accuracies the last
    pass estimates; None for all. `parts` is the mechanism of each number of a mixture.
    """

    offsets: npt.NDArray[np.int64]
    worker_codes: npt.NDArray[np.int32]
    values: npt.NDArray[Any]
    draws: npt.NDArray[np.uint64]
    known_truths: npt.NDArray[Any]
    participation: npt.NDArray[np.float64] | None = None
    judged: tuple[int, int] | None = None
    parts: npt.NDArray[np.uint16] | None = None

    @classmethod
    def of(
        cls,
        answers: Answers,
        known_truths: npt.NDArray[Any] | None = None,
        participation: npt.NDArray[np.float64] | None = None,
    ) -> Partition:
        """Return all answers as one partition, without a copy; by default of labels, none known."""
        nothing = np.full(len(answers.tasks), UNKNOWN, np.int32)
        return cls(
            offsets=answers.offsets,
            worker_codes=answers.worker_codes,
            values=answers.values,
            draws=hash_ids(answers.tasks),
            known_truths=nothing if known_truths is None else known_truths,
            participation=participation,
        )

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return len(self.offsets) - 1

    def without_answers(self) -> Partition:
        """Return the same tasks without any answer."""
        bits, parts = self.participation, self.parts
        return evolve(
            self,
            offsets=np.zeros_like(self.offsets),
            worker_codes=self.worker_codes[:0],
            values=self.values[:0],
            participation=None if bits is None else bits[:0],
            parts=None if parts is None else parts[:0],
        )

    @property
    def numbers(self) -> tuple[_Array, _Array, _Array, _Array]:
        """First arguments of the kernels of numbers, with unsigned worker codes."""
        codes = self.worker_codes.view(np.uint32)
        return self.offsets, codes, self.values, self.known_truths

    @property
    def labels(self) -> tuple[_Array, _Array, _Array, _Array, _Array]:
        """First arguments of the kernels of labels, with unsigned worker codes and labels."""
        offsets, codes, values, draws, known = self.sets
        if values.dtype.kind != "u" or values.itemsize > 4:  # a mechanism may report other integers
            values = values.astype(np.uint32)
        return offsets, codes, values, draws, known

    @property
    def sets(self) -> tuple[_Array, _Array, _Array, _Array, _Array]:
        """First arguments of the kernels of set ranks, with unsigned worker codes."""
        codes = self.worker_codes.view(np.uint32)
        return self.offsets, codes, self.values, self.draws, self.known_truths

    def split(self, parts: int) -> list[Partition]:
        """Split into at most `parts` runs of tasks with about equally many answers."""
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        targets = first + (last - first) * np.arange(1, parts) // parts
        cuts = np.unique([0, *np.searchsorted(self.offsets, targets), self.tasks])
        return [
            evolve(
                self,
                offsets=self.offsets[start : end + 1],
                draws=self.draws[start:end],
                known_truths=self.known_truths[start:end],
            )
            for start, end in pairwise(cuts)
        ]


@frozen(kw_only=True, eq=False)
class Summary:
    """Facts about all answers that are known before the first sweep.

    `low` and `high` are the range of the numbers; for a method that infers numbers, it includes
    known truths and public bounds. `channel` is that of every report, and `report_distribution` the
    distribution of all reports of one worker, if known. With `other_reports`, which are neither
    answers nor NULL, values are codes of reports, and `domain` is that of the truths.
    Reports of a mixture are stored as its domain `mixed` has them, and `answers_per_part`, shape
    (workers, parts), counts those by each mechanism.
    """

    domain: Domain
    answers_per_worker: npt.NDArray[np.int64]
    tasks: int
    longest_task: int
    low: float = 0.0
    high: float = 0.0
    channel: Channel | None = None
    participation: bool = False
    report_distribution: ReportDistribution | None = None
    other_reports: bool = False
    mixed: OneOf | None = None
    answers_per_part: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        answers: Answers,
        channel: Channel | None = None,
        participation: bool = False,
        report_distribution: ReportDistribution | None = None,
    ) -> Summary:
        """Summarize answers in memory."""
        low = high = 0.0
        domain, mixed = answers.domain, None
        if isinstance(domain, NumericDomain) and len(answers):
            ends = np.array([answers.values.min(), answers.values.max()])
            low, high = domain.numbers(ends).tolist()
        if isinstance(domain, OneOf):
            mixed = domain
            if domain.is_numeric and len(answers):
                numbers = domain.numbers(answers.values)
                low, high = float(numbers.min()), float(numbers.max())
        return cls(
            domain=answers.domain,
            answers_per_worker=answers.answers_per_worker,
            tasks=len(answers.tasks),
            longest_task=int(answers.answers_per_task.max(initial=0)),
            low=low,
            high=high,
            channel=channel,
            participation=participation,
            report_distribution=report_distribution or ReportDistribution.of(channel),
            mixed=mixed,
            answers_per_part=None
            if mixed is None
            else counts_per_part(mixed, answers.worker_codes, answers.values, len(answers.workers)),
        )

    def of_truths(self, domain: Domain) -> Summary:
        """Return the summary with the domain of the truths, even if reports have another one."""
        if domain == self.domain:
            return self
        return evolve(self, domain=domain, other_reports=True)

    @cached_property
    def labels(self) -> int:
        """Number of labels of a finite domain; 0 for numbers."""
        return len(self.domain.labels) if isinstance(self.domain, FiniteDomain) else 0

    @property
    def workers(self) -> int:
        """Number of workers."""
        return len(self.answers_per_worker)

    @property
    def middle(self) -> float:
        """Midpoint of the smallest and the largest number."""
        return self.low / 2.0 + self.high / 2.0

    @property
    def extent(self) -> float:
        """Distance from the smallest to the largest number; 1 if they are equal."""
        return self.high - self.low or 1.0

    @cached_property
    def answers(self) -> int:
        """Number of answers."""
        return int(self.answers_per_worker.sum())

    @cached_property
    def most_answers(self) -> int:
        """Most answers of a worker."""
        return int(self.answers_per_worker.max(initial=0))


def counts_per_part(
    mixed: OneOf, worker_codes: _Array, values: _Array, workers: int
) -> npt.NDArray[np.int64]:
    """Return `Summary.answers_per_part`."""
    parts = len(mixed.parts)
    places = worker_codes * parts + mixed.part_codes(values)
    return np.bincount(places, minlength=workers * parts).reshape(workers, parts)


def hash_ids(ids: pa.Array) -> npt.NDArray[np.uint64]:
    """Hash ids by their printed form, so that files and frames give the same hashes."""
    texts = pc.cast(ids, pa.large_string())
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    payload = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    hashes = np.empty(len(ids), np.uint64)
    hash_texts(ends, payload, hashes)
    return hashes
