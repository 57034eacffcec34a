"""Flags of workers with reports unlike those of any honest worker."""

from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.inference.labels.accuracies import WORKERS_AT_ONCE, Accuracies
from quietcrowd.inference.labels.crowd import ACCURACIES, LEAST
from quietcrowd.inference.labels.reports import WorkerReports

_Floats = npt.NDArray[np.float64]

CONSTANT, RANDOM, OPPOSITE = "constant", "random", "opposite"
UNRANDOMIZED = "unrandomized"

LIKELY = 0.9
"""Probability from which a worker is flagged as constant."""

LEAST_SKILL = 0.1
"""Limit of the skill of a random worker; an opposite worker has less than minus this."""

LEAST_ANSWERS = 20.0
"""Number of noiseless answers that reports must be worth for the flags random and opposite."""

DECISIVE = np.log(1000.0)
"""Log-ratio of probabilities from which reports count as not randomized."""


def worker_flags(
    reports: WorkerReports,
    counts: npt.NDArray[np.int64],
    unit: float,
    constancy: npt.NDArray[np.float64],
    accuracy: npt.NDArray[np.float64],
    accuracies: Accuracies,
) -> npt.NDArray[Any]:
    """Return the flag of each worker, None if its reports look honest.

    `counts` are expected reports at [worker, report, truth], in units of `unit`; `constancy` the
    probability that a worker always gives one label; and `accuracy` its posterior median by
    `accuracies`, NaN if unknown. See ``research/docs/theory/workers-quality.md``.
    """
    flags = honest_flags(accuracies.summary.labels, constancy, accuracy, accuracies.worth)
    if reports.labels < 2:
        return flags
    distributions = _plain_and_noisy(reports)
    for start in range(0, reports.workers if distributions else 0, WORKERS_AT_ONCE):
        some = slice(start, start + WORKERS_AT_ONCE)
        likelier = _unrandomised(reports, distributions, counts[some] / unit, reports.kind[some])
        flags[some][likelier > DECISIVE] = UNRANDOMIZED
    return flags


def honest_flags(
    labels: int,
    constancy: npt.NDArray[np.float64],
    accuracy: npt.NDArray[np.float64],
    worth: npt.NDArray[np.float64],
) -> npt.NDArray[Any]:
    """Return flags of randomizing workers; parameters as for `worker_flags`."""
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
    """Return the distributions of reports without and with noise, by accuracy; none if equal.

    Shapes are (places, labels, reports) and (kinds, channels, places, labels, reports). All wrong
    answers are equally frequent.
    """
    labels = reports.labels
    if reports.summary.other_reports or np.allclose(reports.tables, np.eye(labels)):
        return ()
    theta = np.zeros((len(ACCURACIES), labels, labels))
    for one in reports.blocks:
        same = np.eye(len(theta[0, one]))
        right = same * ACCURACIES[:, np.newaxis, np.newaxis]
        wrong = (1.0 - same) * (1.0 - ACCURACIES)[:, np.newaxis, np.newaxis]
        theta[:, one, one] = right + wrong / max(len(same) - 1, 1)
    return theta, theta @ np.stack(reports.tables)[:, :, np.newaxis]


def _unrandomised(
    reports: WorkerReports,
    distributions: tuple[_Floats, ...],
    counts: _Floats,
    kinds: npt.NDArray[np.int64],
) -> _Floats:
    """Return the log-ratio of the evidence without noise to that with noise, for some workers."""
    plain = _evidence(counts, distributions[0])
    noisy = np.empty(len(counts))
    for kind, channels in enumerate(distributions[1]):
        members = np.flatnonzero(kinds == kind)
        if len(members):
            parts = [
                np.log(chance) + _evidence(counts[members], distribution)
                for chance, distribution in zip(reports.chances[kind], channels, strict=True)
            ]
            noisy[members] = np.logaddexp.reduce(parts)
    return plain - noisy


def _evidence(
    counts: npt.NDArray[np.float64], distributions: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the log evidence of workers' reports under distributions (places, labels, reports)."""
    logs = np.log(np.maximum(distributions, LEAST))
    fits = np.tensordot(counts, logs, axes=([1, 2], [2, 1]))
    evidence: npt.NDArray[np.float64] = np.logaddexp.reduce(fits, axis=1) - np.log(
        len(distributions)
    )
    return evidence
