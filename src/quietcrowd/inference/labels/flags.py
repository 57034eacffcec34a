"""Flags of workers whose reports look like those of no honest worker."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.inference.labels.accuracies import WORKERS_AT_ONCE
from quietcrowd.inference.labels.crowd import ACCURACIES, LEAST
from quietcrowd.inference.labels.reports import WorkerReports

__all__ = ["CONSTANT", "NOT_RANDOMISED", "OPPOSITE", "RANDOM", "honest_flags", "worker_flags"]

_Floats = npt.NDArray[np.float64]

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
    counts: npt.NDArray[np.int64],
    unit: float,
    constancy: npt.NDArray[np.float64],
    accuracy: npt.NDArray[np.float64],
    worth: npt.NDArray[np.float64],
) -> npt.NDArray[Any]:
    """Return what each worker looks like, None where nothing speaks against it.

    Parameters
    ----------
    reports : WorkerReports
        Laws of reports.
    counts : ndarray of int64, shape (workers, reports, labels)
        Expected reports, by truth.
    unit : float
        What one report is stored as.
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
    flags = honest_flags(reports.labels, constancy, accuracy, worth)
    if reports.labels < 2:
        return flags
    laws = _plain_and_noisy(reports)
    for start in range(0, reports.workers if laws else 0, WORKERS_AT_ONCE):
        some = slice(start, start + WORKERS_AT_ONCE)
        likelier = _unrandomised(reports, laws, counts[some] / unit, reports.kind[some])
        flags[some][likelier > DECISIVE] = NOT_RANDOMISED
    return flags


def honest_flags(
    labels: int,
    constancy: npt.NDArray[np.float64],
    accuracy: npt.NDArray[np.float64],
    worth: npt.NDArray[np.float64],
) -> npt.NDArray[Any]:
    """Return flags of workers who randomise; parameters as of `worker_flags`."""
    flags = np.full(len(constancy), None, object)
    if labels < 2:
        return flags
    skill = (accuracy - 1.0 / labels) / (1.0 - 1.0 / labels)
    enough = worth >= LEAST_ANSWERS
    flags[enough & (np.abs(skill) <= LEAST_SKILL)] = RANDOM
    flags[enough & (skill < -LEAST_SKILL)] = OPPOSITE
    flags[constancy > LIKELY] = CONSTANT
    return flags


def _plain_and_noisy(reports: WorkerReports) -> tuple[_Floats, ...]:
    """Return the laws of reports that came without noise and with it, by accuracy.

    Shapes are (places, labels, reports) and (kinds, channels, places, labels, reports). There are
    none where no noise makes a difference, or reports are no answers.

    A worker of one accuracy, even before any report, whose wrong answers are as frequent each.
    """
    labels = reports.labels
    if reports.reports != labels or np.allclose(reports.tables, np.eye(labels)):
        return ()
    right = np.eye(labels) * ACCURACIES[:, np.newaxis, np.newaxis]
    wrong = (1.0 - np.eye(labels)) * (1.0 - ACCURACIES)[:, np.newaxis, np.newaxis]
    theta = right + wrong / max(labels - 1, 1)
    return theta, theta @ reports.tables[:, :, np.newaxis]


def _unrandomised(
    reports: WorkerReports,
    laws: tuple[_Floats, ...],
    counts: _Floats,
    kinds: npt.NDArray[np.int64],
) -> _Floats:
    """Return how much likelier reports of some workers are as plain answers, as a logarithm."""
    plain = _evidence(counts, laws[0])
    noisy = np.empty(len(counts))
    for kind, channels in enumerate(laws[1]):
        members = np.flatnonzero(kinds == kind)
        if len(members):
            parts = [
                np.log(chance) + _evidence(counts[members], law)
                for chance, law in zip(reports.chances, channels, strict=True)
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
