"""What reports tell of workers' accuracies, of some workers after the other, and kept in a file.

It takes more memory than all else that is known of workers: hundreds of bytes for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

__all__ = ["HistogramFile", "worker_blocks"]

MOST_BYTES = 2**26
"""So many are held at once, or those of one worker."""


def worker_blocks(workers: int, each: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the end of so many workers as are looked at together.

    Parameters
    ----------
    workers : int
        How many there are.
    each : int
        Bytes of one.
    """
    step = max(1, MOST_BYTES // max(each, 1))
    for start in range(0, workers, step):
        yield start, min(start + step, workers)


@frozen(kw_only=True, eq=False)
class HistogramFile:
    """Histograms of all workers in a file; slices of them are read.

    Attributes
    ----------
    shape : tuple of int
        As of `quietcrowd.inference.accuracies.accuracy_histograms`.
    file : file
        Of int64.
    """

    shape: tuple[int, ...]
    file: Any

    @classmethod
    def write(cls, blocks: Iterable[npt.NDArray[np.int64]], file: Any) -> HistogramFile:
        """Keep blocks of workers, in their order.

        Parameters
        ----------
        blocks : iterable of ndarray
            One is held at a time.
        file : file
            An empty one, which stays open.
        """
        workers, row = 0, ()
        for block in blocks:
            block.tofile(file)
            workers, row = workers + len(block), block.shape[1:]
            del block  # the next one comes
        return cls(shape=(workers, *row), file=file)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, workers: slice) -> npt.NDArray[np.int64]:
        first, end, _ = workers.indices(len(self))
        row = math.prod(self.shape[1:])
        self.file.seek(first * row * np.dtype(np.int64).itemsize)
        numbers = np.fromfile(self.file, np.int64, (end - first) * row)
        return numbers.reshape(end - first, *self.shape[1:])
