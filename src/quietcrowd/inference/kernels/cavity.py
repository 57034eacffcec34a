"""What each report tells of its worker's accuracy, given what the other reports tell of the truth.

The posterior of a task's truth without a worker's own report is the cavity. Given the cavity, a
report is as likely as ``w c + (1 - w) b`` where the worker is right with probability w: ``c`` is
its probability if the answer was right, ``b`` if it was wrong. That is ``b (1 + w (exp(v) - 1))``
with ``v = ln(c / b)``, so that all reports of a worker are told by how often v came to lie where: a
histogram, beside the sum of ``ln b``. A v between two nodes counts for both, in proportion.
Derivation: ``docs/theory/workers-quality.md``.

Everything is added in whole numbers: no order of rows, tasks or labels changes a bit. A block of
tasks is done at once, in loops over its rows that run on vector registers.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference.kernels.vector_math import log, to_integer
from quietcrowd.inference.kernels.voting import rows_of

__all__ = ["REPORT_ONE", "lookup_of", "make_known_certain", "tell"]

REPORT_ONE = 2.0**30
"""What a report, and a log-probability of 1, is stored as."""

_LOOKUP = 256
_LEAST = 1e-11


@numba.njit(nogil=True, cache=True, error_model="numpy")
def lookup_of(nodes: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the last node at or below the start of each of many even steps."""
    span, places = nodes[-1], np.zeros(_LOOKUP + 1, np.int64)
    for step in range(_LOOKUP + 1):
        v = span * (2.0 * step / _LOOKUP - 1.0)
        while places[step] < len(nodes) - 2 and nodes[places[step] + 1] <= v:
            places[step] += 1
        if step < _LOOKUP:
            places[step + 1] = places[step]
    return places


@numba.njit(nogil=True, cache=True, error_model="numpy")
def tell(
    right: npt.NDArray[np.float64],
    wrong: npt.NDArray[np.float64],
    nodes: npt.NDArray[np.float64],
    lookup: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    crowd: int,
    channel: int,
    first_worker: int,
    histograms: npt.NDArray[np.int64],
) -> None:
    """Add reports to the histograms of their workers, whose last place is the sum of logarithms.

    The probabilities are changed.
    """
    last = len(nodes) - 1
    span = nodes[last]
    per_step = _LOOKUP / (2.0 * span)
    for row in range(len(worker_codes)):
        low = log(wrong[row] if wrong[row] > _LEAST else _LEAST)
        v = log(right[row] if right[row] > _LEAST else _LEAST) - low
        wrong[row] = low + (v - span if v > span else 0.0)
        v = span if v > span else v
        right[row] = v if v > -span else -span
    for row in range(len(worker_codes)):
        v, worker = right[row], np.uint64(worker_codes[row]) - np.uint64(first_worker)
        if worker >= np.uint64(len(histograms)):  # also one before the first
            continue
        place = lookup[int((v + span) * per_step)]
        while place < last - 1 and nodes[place + 1] <= v:
            place += 1
        above = (v - nodes[place]) / (nodes[place + 1] - nodes[place])
        part = to_integer(min(max(above, 0.0), 1.0) * REPORT_ONE)
        histograms[worker, crowd, channel, place] += np.int64(REPORT_ONE) - part
        histograms[worker, crowd, channel, place + 1] += part
        histograms[worker, crowd, channel, last + 1] += to_integer(wrong[row] * REPORT_ONE)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def make_known_certain(
    offsets: npt.NDArray[np.int64],
    known: npt.NDArray[np.int32],
    shares: npt.NDArray[np.float64],
) -> None:
    """Make the known labels of a block of tasks as probable as can be, without any report."""
    for task in range(len(known)):
        if known[task] >= 0:
            start, end = rows_of(offsets, task)
            for label in range(len(shares)):
                for row in range(start, end):
                    shares[label, row] = 1.0 if label == known[task] else 0.0
