"""What one further report of a task would tell: its law, as a method believes it to be."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen

__all__ = ["EVERY_TASK", "FurtherLabel", "FurtherNumber", "FurtherReport"]

Floats: TypeAlias = npt.NDArray[np.float64]

EVERY_TASK = (
    "every worker reports every task here, answered or not: there is no task to choose. Ask more "
    "workers, or take a mechanism that reports answered tasks alone."
)
"""Why nothing can be suggested where reports hide who answered."""

_DRAWS = 256
"""Most sequences of reports that are drawn for each truth."""

_NUMBERS = 10**8
"""About so many exponentials are taken in all: with many tasks and labels there are fewer draws."""

_BLOCK = 2**21
"""Numbers that are held at a time."""

_LEAST = 1e-300


class FurtherReport(ABC):
    """The law of a further report, of a worker, about any task."""

    @abstractmethod
    def errors(self, posterior: Floats, sizes: npt.NDArray[np.int64]) -> Floats:
        """Return the error of each task that is expected after so many further reports.

        Parameters
        ----------
        posterior : ndarray of float64
            What is believed of the tasks; see the kind of report.
        sizes : ndarray of int64, shape (sizes,)
            Numbers of further reports, from 0 on, increasing.

        Returns
        -------
        ndarray of float64, shape (tasks, sizes)
            It never rises with the number of reports.
        """


@frozen(kw_only=True, eq=False)
class FurtherLabel(FurtherReport):
    """A report whose law is a table; the error is the probability that the best label is wrong.

    The posterior is the probability of each label, shape (tasks, labels).

    Attributes
    ----------
    table : ndarray of float64, shape (labels, reports)
        Probability of each report given each truth.
    """

    table: Floats

    def errors(self, posterior: Floats, sizes: npt.NDArray[np.int64]) -> Floats:
        """Return the probability of an error; by sequences that are drawn alike for all tasks.

        They are drawn from the law of the model, by a fixed seed: no report of the crowd is in
        them.
        """
        tasks, labels = posterior.shape
        draws = int(np.clip(_NUMBERS / (tasks * labels**2 * len(sizes)), 16, _DRAWS))
        likelihoods = self._drawn(sizes, draws)
        logs = np.log(np.maximum(posterior, _LEAST))
        found = np.empty((tasks, len(sizes)))
        step = max(1, _BLOCK // (labels**2 * draws))
        for start in range(0, tasks, step):
            rows = slice(start, start + step)
            for place in range(len(sizes)):
                found[rows, place] = _expected_error(logs[rows], likelihoods[:, :, place])
        found[:, sizes == 0] = (1.0 - posterior.max(axis=1))[:, np.newaxis]
        falling: Floats = np.minimum.accumulate(found, axis=1)
        return falling

    def _drawn(self, sizes: npt.NDArray[np.int64], draws: int) -> Floats:
        """Return log-likelihoods of sequences, shape (true labels, draws, sizes, labels)."""
        labels, reports = self.table.shape
        logs = np.log(np.maximum(self.table, _LEAST)).T
        rng = np.random.default_rng(0)
        edges = np.cumsum(self.table, axis=1)
        found = np.empty((labels, draws, len(sizes), labels))
        for truth in range(labels):
            words = rng.random((draws, int(sizes[-1])))
            drawn = np.minimum(np.searchsorted(edges[truth], words, side="right"), reports - 1)
            sums = np.zeros((draws, int(sizes[-1]) + 1, labels))
            np.cumsum(logs[drawn], axis=1, out=sums[:, 1:])
            found[truth] = sums[:, sizes]
        return found


def _expected_error(logs: Floats, likelihoods: Floats) -> Floats:
    """Return how often the best label is wrong, of each task.

    Parameters
    ----------
    logs : ndarray, shape (tasks, labels)
        Of what is believed now.
    likelihoods : ndarray, shape (true labels, draws, labels)
        Of sequences of reports, drawn at each truth.
    """
    after = logs[:, np.newaxis, np.newaxis] + likelihoods
    after -= after.max(axis=-1, keepdims=True)
    right = 1.0 / np.exp(after).sum(axis=-1)
    found: Floats = 1.0 - (np.exp(logs) * right.mean(axis=-1)).sum(axis=-1)
    return found


@frozen(kw_only=True, eq=False)
class FurtherNumber(FurtherReport):
    """A report of a number, known by its precision; the error is the mean absolute one.

    The posterior is the standard deviation of each truth, shape (tasks,); it is taken to be a
    normal law, and a report to add its precision.

    Attributes
    ----------
    precision : float
        Of a report, in the squared unit of the answers, inverted.
    """

    precision: float

    def errors(self, posterior: Floats, sizes: npt.NDArray[np.int64]) -> Floats:
        """Return the mean absolute error, in the unit of the answers."""
        with np.errstate(divide="ignore"):
            before = 1.0 / posterior[:, np.newaxis] ** 2
        return math.sqrt(2.0 / math.pi) / np.sqrt(before + self.precision * sizes)
