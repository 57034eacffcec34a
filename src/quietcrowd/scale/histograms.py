"""Histograms of workers' accuracies, computed for blocks of workers and stored in a file.

They need hundreds of bytes per worker, more memory than all other data about workers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

MOST_BYTES = 2**26
"""The most bytes of one block, unless a single worker needs more."""


def worker_blocks(workers: int, each: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of blocks of workers within `MOST_BYTES`, of `each` bytes per worker."""
    step = max(1, MOST_BYTES // max(each, 1))
    for start in range(0, workers, step):
        yield start, min(start + step, workers)


@frozen(kw_only=True, eq=False)
class HistogramFile:
    """Histograms of all workers in a file of int64; slicing reads a range of workers."""

    shape: tuple[int, ...]
    file: Any

    @classmethod
    def write(cls, blocks: Iterable[npt.NDArray[np.int64]], file: Any) -> HistogramFile:
        """Write blocks of workers, in order, to an empty file, which stays open."""
        workers, row = 0, ()
        for block in blocks:
            block.tofile(file)
            workers, row = workers + len(block), block.shape[1:]
            del block  # frees memory before the next one
        return cls(shape=(workers, *row), file=file)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, workers: slice) -> npt.NDArray[np.int64]:
        first, end, _ = workers.indices(len(self))
        row = math.prod(self.shape[1:])
        self.file.seek(first * row * np.dtype(np.int64).itemsize)
        numbers = np.fromfile(self.file, np.int64, (end - first) * row)
        return numbers.reshape(end - first, *self.shape[1:])
