"""Tasks cut into runs that take about as long, one for each thread.

What a run computes of a task does not depend on the cut, so that threads change no bit.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from quietcrowd.inference.sweep import available_threads
from quietcrowd.synthesis.claim_arrays import Offsets
from quietcrowd.validation import check_whole

__all__ = ["task_runs"]

SMALLEST_RUN = 200_000
"""Fewer pairs of claims than this are not worth a thread of their own."""


def task_runs(offsets: Offsets, threads: int | None) -> list[tuple[int, int]]:
    """Return at least one run of tasks, as (first, last + 1), with about as many pairs each.

    Parameters
    ----------
    offsets : ndarray of int64, shape (tasks + 1,)
        Where the rows of each task begin and end.
    threads : int or None
        At most so many runs; None: as many as the process may use and the pairs are worth.

    Raises
    ------
    ParameterError
        Where `threads` is no whole number of at least 1.
    """
    pairs = np.concatenate([[0.0], np.cumsum(np.diff(offsets).astype(np.float64) ** 2)])
    if threads is None:
        threads = min(available_threads(), max(1, int(pairs[-1] / SMALLEST_RUN)))
    check_whole("threads", threads, 1)
    targets = pairs[-1] * np.arange(1, threads) / threads
    cuts = np.unique([0, *np.searchsorted(pairs, targets), len(offsets) - 1])
    return [(int(first), int(last)) for first, last in pairwise(cuts)] or [(0, 0)]
