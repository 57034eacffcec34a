"""Whether a worker's reports agree with those of others more than randomised ones can."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quietcrowd.mechanisms import Reports

__all__ = ["FEWEST", "too_consistent"]

FEWEST = 50
"""Workers with fewer reports that can be compared are not judged."""

_DEVIATIONS = 3.3
"""An honest worker is this many standard errors above the bound once in 1,000 times, at most."""


def too_consistent(reports: Reports) -> npt.NDArray[np.intp]:
    """Return the positions of workers whose devices seem not to randomise.

    Two randomised labels are equal with a probability of at most ``q^2 + (k - 1) r^2``, whatever
    the answers are, with the probability q to keep a label and r to give one certain other one.
    A worker who sends answers as they are agrees with the reports of others in up to q. Each task
    is one observation: the share of its other reports that are equal to the worker's.

    Parameters
    ----------
    reports : Reports
        Of one mechanism.

    Returns
    -------
    ndarray of intp
        Empty where the mechanism is no randomised response with one public law.
    """
    bound = _most_equals(reports)
    if bound is None:
        return np.zeros(0, np.intp)
    table = reports.table
    counts, share = _shares_of_equals(reports)
    workers = table.worker_codes[counts > 1]
    size = np.bincount(workers, minlength=len(table.workers))
    n = np.maximum(size, 1)
    mean = np.bincount(workers, share, len(n)) / n
    squares = np.bincount(workers, (share - mean[workers]) ** 2, len(n))
    error = np.sqrt(squares / n / np.maximum(n - 1, 1))
    return np.flatnonzero((size >= FEWEST) & (mean - bound > _DEVIATIONS * error))


def _most_equals(reports: Reports) -> float | None:
    """Return the largest probability with which two randomised labels are equal."""
    channel = reports.mechanism.worker_channel
    if channel is None or channel.probabilities is None or reports.mechanism.every_task:
        return None
    keep, other = channel.keep_and_other or (0.0, 0.0)
    others = len(channel.probabilities) - 1
    return keep**2 + others * other**2 if keep > other else None


def _shares_of_equals(
    reports: Reports,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return for each report how many its task has; and which share of the others is equal.

    The second is of those reports alone whose task has others.
    """
    table = reports.table
    counts = table.answers_per_task[table.task_codes]
    cells = table.task_codes.astype(np.int64) * (int(table.values.max()) + 1) + table.values
    _, places, equal = np.unique(cells, return_inverse=True, return_counts=True)
    several = counts > 1
    return counts, (equal[places[several]] - 1) / (counts[several] - 1)
