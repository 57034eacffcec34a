"""The order of rows of answers: by task, and within a task by worker."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Duplicates", "first_or_last", "offsets_of", "sort_rows"]

Duplicates: TypeAlias = Literal["error", "first", "last"]


def offsets_of(sorted_tasks: npt.NDArray[np.int32], tasks: int) -> npt.NDArray[np.int64]:
    """Return the offsets of each task's rows, shape (tasks + 1,)."""
    return np.concatenate([[0], np.cumsum(np.bincount(sorted_tasks, minlength=tasks))])


def sort_rows(
    task_codes: npt.NDArray[np.int32], worker_codes: npt.NDArray[np.int32], tasks: int, workers: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the order of rows by task, worker and original position, and both sorted codes.

    Task, worker and position are packed into a 64-bit integer if they fit: an in-place sort is
    twice as fast as an indirect sort.
    """
    row_bits, worker_bits, task_bits = (
        (size - 1).bit_length() for size in (len(task_codes), workers, tasks)
    )
    if row_bits + worker_bits + task_bits > 64:
        order = np.lexsort((worker_codes, task_codes))
        return order, task_codes[order], worker_codes[order]
    keys = task_codes.astype(np.uint64)
    keys <<= np.uint64(worker_bits)
    keys |= worker_codes.astype(np.uint64)
    keys <<= np.uint64(row_bits)
    keys |= np.arange(len(keys), dtype=np.uint64)
    keys.sort()
    order = (keys & np.uint64((1 << row_bits) - 1)).astype(np.intp)
    keys >>= np.uint64(row_bits)
    sorted_workers = (keys & np.uint64((1 << worker_bits) - 1)).astype(np.int32)
    keys >>= np.uint64(worker_bits)
    return order, keys.astype(np.int32), sorted_workers


def first_or_last(
    task_codes: npt.NDArray[np.int32], worker_codes: npt.NDArray[np.int32], duplicates: Duplicates
) -> npt.NDArray[np.bool_]:
    """Return a mask of sorted rows without repeated (task, worker) pairs."""
    again = (task_codes[1:] == task_codes[:-1]) & (worker_codes[1:] == worker_codes[:-1])
    edge = np.array([True])
    return np.concatenate([~again, edge] if duplicates == "last" else [edge, ~again])
