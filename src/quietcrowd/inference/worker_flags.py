"""Flags of workers whose reports look like those of no honest worker."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.inference.label_state import ACCURACIES, LEAST
from quietcrowd.inference.worker_reports import WorkerReports

__all__ = ["CONSTANT", "NOT_RANDOMISED", "OPPOSITE", "RANDOM", "worker_flags"]

CONSTANT, RANDOM, OPPOSITE = "constant", "random", "opposite"
NOT_RANDOMISED = "not randomised"

LIKELY = 0.9
"""A worker is flagged as constant where that is so probable."""

LEAST_SKILL = 0.1
"""Who is right by chance has less skill than this; an opposite worker less than minus this."""

LEAST_ANSWERS = 20.0
"""A worker is flagged as random or opposite only if its reports are worth so many answers without
noise: fewer cannot tell."""

DECISIVE = np.log(1000.0)
"""Reports that come without noise have to be so much more likely, as a logarithm."""


def worker_flags(
    reports: WorkerReports,
    counts: npt.NDArray[np.float64],
    constancy: npt.NDArray[np.float64],
    accuracy: npt.NDArray[np.float64],
    worth: npt.NDArray[np.float64],
) -> npt.NDArray[Any]:
    """Return what each worker looks like, None where nothing speaks against it.

    Parameters
    ----------
    reports : WorkerReports
        Laws of reports.
    counts : ndarray, shape (workers, reports, labels)
        Expected reports, by truth.
    constancy : ndarray, shape (workers,)
        Probability that a worker always gives one label.
    accuracy : ndarray, shape (workers,)
        Median of the posterior of each worker's accuracy; NaN where nothing tells.
    worth : ndarray, shape (workers,)
        How many answers without noise each worker's reports are worth.

    References
    ----------
    ``docs/theory/workers-quality.md``, section on flags.
    """
    flags = np.full(reports.workers, None, object)
    if reports.labels < 2:
        return flags
    skill = (accuracy - 1.0 / reports.labels) / (1.0 - 1.0 / reports.labels)
    enough = worth >= LEAST_ANSWERS
    flags[enough & (np.abs(skill) <= LEAST_SKILL)] = RANDOM
    flags[enough & (skill < -LEAST_SKILL)] = OPPOSITE
    flags[constancy > LIKELY] = CONSTANT
    flags[_unrandomised(reports, counts) > DECISIVE] = NOT_RANDOMISED
    return flags


def _unrandomised(
    reports: WorkerReports, counts: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return how much likelier reports are as plain answers, as a logarithm.

    A worker of one accuracy, even before any report, whose wrong answers are as frequent each.
    """
    labels = reports.labels
    none = np.full(reports.workers, -np.inf)
    if reports.reports != labels or np.allclose(reports.tables, np.eye(labels)):
        return none
    right = np.eye(labels) * ACCURACIES[:, np.newaxis, np.newaxis]
    wrong = (1.0 - np.eye(labels)) * (1.0 - ACCURACIES)[:, np.newaxis, np.newaxis]
    theta = right + wrong / max(labels - 1, 1)
    plain = _evidence(counts, theta)
    noisy = np.empty(reports.workers)
    for kind in range(len(reports.tables)):
        members = reports.members(kind)
        if len(members):
            parts = [
                np.log(chance) + _evidence(counts[members], theta @ table)
                for chance, table in zip(reports.chances, reports.tables[kind], strict=True)
            ]
            noisy[members] = np.logaddexp.reduce(parts)
    return plain - noisy


def _evidence(
    counts: npt.NDArray[np.float64], laws: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the log-evidence of workers' reports, by laws (places, labels, reports)."""
    logs = np.log(np.maximum(laws, LEAST))
    fits = np.tensordot(counts, logs, axes=([1, 2], [2, 1]))
    evidence: npt.NDArray[np.float64] = np.logaddexp.reduce(fits, axis=1) - np.log(len(laws))
    return evidence
