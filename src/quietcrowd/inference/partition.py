"""All answers of some tasks, ready for a sweep, and what is known of the whole beforehand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain, NumericDomain
from quietcrowd.inference.kernels.voting import hash_texts
from quietcrowd.known_truths import UNKNOWN
from quietcrowd.mechanisms.channel import Channel

__all__ = ["Overview", "Partition", "Summary", "hash_ids", "partition_of"]


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
    gold : ndarray, shape (tasks,)
        Known truths: codes of labels as int32, or numbers as float64, as `values` are; -1 or NaN
        where the truth is to be inferred.
    participation : ndarray of float64 or None
        A noisy 1 or 0 beside each value; see `quietcrowd.Reports`.
    """

    offsets: npt.NDArray[np.int64]
    worker_codes: npt.NDArray[np.int32]
    values: npt.NDArray[Any]
    draws: npt.NDArray[np.uint64]
    gold: npt.NDArray[Any]
    participation: npt.NDArray[np.float64] | None = None

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return len(self.offsets) - 1

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
                gold=self.gold[start:end],
            )
            for start, end in pairwise(cuts)
        ]


@frozen(kw_only=True, eq=False)
class Overview:
    """What there is to infer from, once it is read: what every method asks before it begins.

    Attributes
    ----------
    domain : Domain
        What an answer can be.
    answers_per_worker : ndarray of int64, shape (workers,)
        How many answers each worker gave.
    tasks, longest_task : int
        See `Summary`.
    low, high : float
        The smallest and the largest answer; 0 where answers are no numbers.
    channel : Channel or None
        What was done to each report, as far as that is known.
    participation : bool
        Whether a noisy participation bit stands beside each value.
    """

    domain: Domain
    answers_per_worker: npt.NDArray[np.int64]
    tasks: int
    longest_task: int
    low: float
    high: float
    channel: Channel | None = None
    participation: bool = False

    @classmethod
    def of(
        cls, answers: Answers, channel: Channel | None = None, participation: bool = False
    ) -> Overview:
        """Return that of answers in memory."""
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
        )

    def summary(self, **known: Any) -> Summary:
        """Return the summary; what is `known` of the values goes in as it is."""
        return Summary(
            answers_per_worker=self.answers_per_worker,
            tasks=self.tasks,
            longest_task=self.longest_task,
            channel=self.channel,
            domain=self.domain,
            **known,
        )


@frozen(kw_only=True, eq=False)
class Summary:
    """What is known of all answers before the first sweep.

    Attributes
    ----------
    answers_per_worker : ndarray of int64, shape (workers,)
        How many answers each worker gave.
    tasks : int
        How many tasks there are.
    longest_task : int
        Most answers that a task has.
    labels : int
        Number of labels of a finite domain; 0 where answers are numbers.
    low, high : float
        The smallest and the largest number where answers are numbers; known truths and public
        bounds of the truths, if any, lie between them.
    channel : Channel or None
        What was done to every report, as far as that is known.
    domain : Domain or None
        What an answer can be.
    """

    answers_per_worker: npt.NDArray[np.int64]
    tasks: int
    longest_task: int
    labels: int = 0
    low: float = 0.0
    high: float = 0.0
    channel: Channel | None = None
    domain: Domain | None = None

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

    @property
    def answers(self) -> int:
        """How many answers there are."""
        return int(self.answers_per_worker.sum())


def partition_of(
    answers: Answers,
    gold: npt.NDArray[Any] | None = None,
    participation: npt.NDArray[np.float64] | None = None,
) -> Partition:
    """Return all answers as one partition, without a copy; by default with no label known."""
    return Partition(
        offsets=answers.offsets,
        worker_codes=answers.worker_codes,
        values=answers.values,
        draws=hash_ids(answers.tasks),
        gold=np.full(len(answers.tasks), UNKNOWN, np.int32) if gold is None else gold,
        participation=participation,
    )


def hash_ids(ids: pa.Array) -> npt.NDArray[np.uint64]:
    """Hash ids by what they print as, so that a file and a frame give the same."""
    texts = pc.cast(ids, pa.large_string())
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    payload = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return hash_texts(ends, payload)
