"""Reports of every worker on every task, so that nobody sees who answered what.

Where answers are few among many tasks, most of these reports stand for no answer. They are made
in blocks of workers and stored sorted by task, one small number each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError

__all__ = ["check_cells", "dense_blocks", "dense_table"]

MAX_CELLS = 10**9
BLOCK = 2**22


def check_cells(tasks: int, workers: int, beside: int = 1) -> None:
    """Raise ParameterError where a number per worker and task are more than fit into memory.

    Or where `beside` numbers per worker, or per task, are.
    """
    if max(workers, tasks) * beside > MAX_CELLS:
        raise ParameterError(
            f"{beside:,} numbers for each of {workers:,} workers and {tasks:,} tasks are too many; "
            f"at most {MAX_CELLS:,} fit. Take a lower rank, or randomise groups of workers."
        )
    if workers * tasks > MAX_CELLS:
        raise ParameterError(
            f"every worker reports every task: {workers:,} workers and {tasks:,} tasks make "
            f"{workers * tasks:,} reports, and at most {MAX_CELLS:,} fit. Randomise groups of "
            "workers one by one, or take a mechanism that reports answers alone (it does not hide "
            "who answered what)."
        )


def dense_blocks(
    answers: Answers, values: npt.NDArray[Any], null: int
) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """Yield the answers of one block of workers after the other as a full table.

    Parameters
    ----------
    answers : Answers
        Who answered what.
    values : ndarray of int, shape (answers,)
        What stands in a cell with an answer.
    null : int
        What stands in a cell without.

    Yields
    ------
    workers : slice
        Which workers.
    cells : ndarray, shape (workers of the block, tasks)
        Of the dtype of `values`.
    """
    tasks, workers = len(answers.tasks), len(answers.workers)
    ends, rows = answers.rows_by_worker
    task_codes = answers.task_codes
    size = max(1, BLOCK // max(tasks, 1))
    for start in range(0, workers, size):
        stop = min(start + size, workers)
        chosen = rows[ends[start] : ends[stop]]
        cells = np.full((stop - start, tasks), null, values.dtype)
        cells[answers.worker_codes[chosen] - start, task_codes[chosen]] = values[chosen]
        yield slice(start, stop), cells


def dense_table(answers: Answers, domain: Domain, values: npt.NDArray[Any]) -> Answers:
    """Return a table with a value for every task and worker.

    Parameters
    ----------
    answers : Answers
        Whose tasks and workers there are.
    domain : Domain
        Of the values.
    values : ndarray, shape (tasks, workers)
        Stored values; not to be written to afterwards.
    """
    tasks, workers = values.shape
    column = values.reshape(-1)
    worker_codes = np.tile(np.arange(workers, dtype=np.int32), tasks)
    for array in (column, worker_codes):
        array.flags.writeable = False  # spares a copy
    return Answers(
        domain=domain,
        tasks=answers.tasks,
        workers=answers.workers,
        offsets=np.arange(tasks + 1, dtype=np.int64) * workers,
        worker_codes=worker_codes,
        values=column,
    )
