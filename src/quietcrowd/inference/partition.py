"""All answers of some tasks, ready for a sweep; what is known of the whole; and how that grows."""

from __future__ import annotations

from collections.abc import Callable
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
from quietcrowd.mechanisms.channels.per_worker import ReportLaw

__all__ = ["Extension", "Partition", "Summary", "hash_ids"]

_Array: TypeAlias = npt.NDArray[Any]


@frozen(kw_only=True, eq=False)
class Partition:
    """All answers of its tasks.

    Attributes
    ----------
    offsets : ndarray of int64, shape (tasks + 1,)
        The rows of task ``t`` are ``offsets[t]`` to ``offsets[t + 1] - 1`` of the two below.
    worker_codes : ndarray of int32
        Who answered; positions among all workers, not among those of this partition.
    values : ndarray
        What was answered: codes of labels, or numbers.
    draws : ndarray of uint64, shape (tasks,)
        A hash of each task's id; ties are broken by it and the seed.
    known_truths : ndarray, shape (tasks,)
        Codes of labels as int32, or numbers as float64, as `values` are; -1 or NaN where the truth
        is to be inferred.
    participation : ndarray of float64 or None
        A noisy 1 or 0 beside each value; see `quietcrowd.Reports`.
    judged : (int, int) or None
        The first of the workers, and the end, of whose accuracies a last pass tells; None for all.
    """

    offsets: npt.NDArray[np.int64]
    worker_codes: npt.NDArray[np.int32]
    values: npt.NDArray[Any]
    draws: npt.NDArray[np.uint64]
    known_truths: npt.NDArray[Any]
    participation: npt.NDArray[np.float64] | None = None
    judged: tuple[int, int] | None = None

    @classmethod
    def of(
        cls,
        answers: Answers,
        known_truths: npt.NDArray[Any] | None = None,
        participation: npt.NDArray[np.float64] | None = None,
    ) -> Partition:
        """Return all answers as one partition, without a copy; by default with no label known."""
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
        """How many tasks there are."""
        return len(self.offsets) - 1

    @property
    def numbers(self) -> tuple[_Array, _Array, _Array, _Array]:
        """What kernels of numbers take first; worker codes as unsigned numbers."""
        codes = self.worker_codes.view(np.uint32)
        return self.offsets, codes, self.values, self.known_truths

    @property
    def labels(self) -> tuple[_Array, _Array, _Array, _Array, _Array]:
        """What kernels of labels take first; worker codes and labels as unsigned numbers."""
        offsets, codes, values, draws, known = self.sets
        if values.dtype.kind != "u" or values.itemsize > 4:  # a mechanism may report other integers
            values = values.astype(np.uint32)
        return offsets, codes, values, draws, known

    @property
    def sets(self) -> tuple[_Array, _Array, _Array, _Array, _Array]:
        """What kernels of ranks of sets take first; worker codes as unsigned numbers."""
        codes = self.worker_codes.view(np.uint32)
        return self.offsets, codes, self.values, self.draws, self.known_truths

    def split(self, parts: int) -> list[Partition]:
        """Cut into at most `parts` runs of tasks with about as many answers each."""
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
    """What is known of all answers before the first sweep, made once when they are read.

    Attributes
    ----------
    domain : Domain
        What an answer can be.
    answers_per_worker : ndarray of int64, shape (workers,)
        How many answers each worker gave.
    tasks : int
        How many tasks there are.
    longest_task : int
        Most answers that a task has.
    low, high : float
        The smallest and the largest number where answers are numbers; for a method that infers
        numbers, known truths and public bounds of the truths, if any, lie between them, too.
    channel : Channel or None
        What was done to every report, as far as that is known.
    participation : bool
        Whether a noisy participation bit stands beside each value.
    report_law : ReportLaw or None
        The law of all reports of one worker, as far as it is public.
    other_reports : bool
        Whether reports are no answers, nor NULL: values are then codes of reports.
    """

    domain: Domain
    answers_per_worker: npt.NDArray[np.int64]
    tasks: int
    longest_task: int
    low: float = 0.0
    high: float = 0.0
    channel: Channel | None = None
    participation: bool = False
    report_law: ReportLaw | None = None
    other_reports: bool = False

    @classmethod
    def of(
        cls,
        answers: Answers,
        channel: Channel | None = None,
        participation: bool = False,
        report_law: ReportLaw | None = None,
    ) -> Summary:
        """Return that of answers in memory, as every method is given it."""
        low = high = 0.0
        if isinstance(answers.domain, NumericDomain) and len(answers):
            ends = np.array([answers.values.min(), answers.values.max()])
            low, high = answers.domain.numbers(ends).tolist()
        return cls(
            domain=answers.domain,
            answers_per_worker=answers.answers_per_worker,
            tasks=len(answers.tasks),
            longest_task=int(answers.answers_per_task.max(initial=0)),
            low=low,
            high=high,
            channel=channel,
            participation=participation,
            report_law=report_law or ReportLaw.of(channel),
        )

    def of_truths(self, domain: Domain) -> Summary:
        """Return the same where truths lie in a domain, whatever the reports are."""
        if domain == self.domain:
            return self
        return evolve(self, domain=domain, other_reports=True)

    @cached_property
    def labels(self) -> int:
        """How many labels a finite domain has; 0 where answers are any numbers."""
        return self.domain.size if isinstance(self.domain, FiniteDomain) else 0

    @property
    def workers(self) -> int:
        """How many workers there are."""
        return len(self.answers_per_worker)

    @property
    def middle(self) -> float:
        """The middle between the smallest and the largest number."""
        return self.low / 2.0 + self.high / 2.0

    @property
    def extent(self) -> float:
        """The distance from the smallest to the largest number; 1 where they are the same."""
        return self.high - self.low or 1.0

    @cached_property
    def answers(self) -> int:
        """How many answers there are."""
        return int(self.answers_per_worker.sum())

    @cached_property
    def most_answers(self) -> int:
        """Most answers that a worker gave."""
        return int(self.answers_per_worker.max(initial=0))


@frozen(kw_only=True, eq=False)
class Extension:
    """More answers, of more workers, than those that a tally was made of.

    Attributes
    ----------
    positions : ndarray of intp, shape (workers,)
        Where each worker of the new summary stands in the old one; -1 for a new worker.
    old, new : Summary
        Of the answers that were tallied, and of all.
    """

    positions: npt.NDArray[np.intp]
    old: Summary
    new: Summary

    @property
    def stretch(self) -> float:
        """By what a scaled distance is multiplied: the range of all numbers may have grown."""
        return self.old.extent / self.new.extent

    def sums(
        self,
        sums: npt.NDArray[np.int64],
        unit: Callable[[Summary], float] | None = None,
        power: int = 0,
    ) -> npt.NDArray[np.int64]:
        """Return the sums of the new summary's workers, 0 for a new one.

        Parameters
        ----------
        sums : ndarray of int64, shape (old workers, ...)
            To be moved.
        unit : callable, optional
            What 1.0 is stored as, by summary; by default in both as the same.
        power : int
            To which power of the range of all numbers what was added is scaled.
        """
        moved = sums[np.maximum(self.positions, 0)]
        moved[self.positions < 0] = 0
        return self.total(moved, unit, power)

    def total(
        self,
        sums: npt.NDArray[np.int64],
        unit: Callable[[Summary], float] | None = None,
        power: int = 0,
    ) -> npt.NDArray[np.int64]:
        """Return sums that are not about workers; parameters as of `sums`."""
        factor = self.stretch**power
        if unit is not None:
            factor *= unit(self.new) / unit(self.old)
        return sums if factor == 1.0 else np.rint(sums * factor).astype(np.int64)


def hash_ids(ids: pa.Array) -> npt.NDArray[np.uint64]:
    """Hash ids by what they print as, so that a file and a frame give the same."""
    texts = pc.cast(ids, pa.large_string())
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    payload = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    hashes = np.empty(len(ids), np.uint64)
    hash_texts(ends, payload, hashes)
    return hashes
