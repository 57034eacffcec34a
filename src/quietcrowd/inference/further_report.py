"""What one further report of a task would tell: its law, as a method believes it to be."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.mechanisms.channels.set_law import SetLaw

__all__ = ["EVERY_TASK", "FurtherLabel", "FurtherNumber", "FurtherReport", "FurtherSet"]

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


class _OfALabel(FurtherReport):
    """A report about a label; the error is the probability that the best label is wrong.

    The posterior is the probability of each label, shape (tasks, labels).
    """

    def errors(self, posterior: Floats, sizes: npt.NDArray[np.int64]) -> Floats:
        """Return the probability of an error; by sequences that are drawn alike for all tasks.

        They are drawn from the law of the model, by a fixed seed: no report of the crowd is in
        them.
        """
        tasks, labels = posterior.shape
        draws = int(np.clip(_NUMBERS / (tasks * labels**2 * len(sizes)), 16, _DRAWS))
        likelihoods = self._sums(labels, sizes, draws)
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

    def _sums(self, labels: int, sizes: npt.NDArray[np.int64], draws: int) -> Floats:
        """Return log-likelihoods of sequences, shape (true labels, draws, sizes, labels)."""
        rng = np.random.default_rng(0)
        longest = int(sizes[-1])
        found = np.empty((labels, draws, len(sizes), labels))
        for truth in range(labels):
            sums = np.zeros((draws, longest + 1, labels))
            drawn = self._drawn(truth, draws * longest, rng).reshape(draws, longest, labels)
            np.cumsum(drawn, axis=1, out=sums[:, 1:])
            found[truth] = sums[:, sizes]
        return found

    @abstractmethod
    def _drawn(self, truth: int, count: int, rng: np.random.Generator) -> Floats:
        """Return the log-likelihoods of reports that are drawn, shape (count, labels).

        Those of one report may have a summand of their own.
        """


@frozen(kw_only=True, eq=False)
class FurtherLabel(_OfALabel):
    """A report whose law is a table.

    Attributes
    ----------
    table : ndarray of float64, shape (labels, reports)
        Probability of each report given each truth.
    """

    table: Floats

    def _drawn(self, truth: int, count: int, rng: np.random.Generator) -> Floats:
        edges = np.cumsum(self.table[truth])
        drawn = np.searchsorted(edges, rng.random(count), side="right")
        logs = np.log(np.maximum(self.table, _LEAST)).T
        return logs[np.minimum(drawn, len(logs) - 1)]


@frozen(kw_only=True, eq=False)
class FurtherSet(_OfALabel):
    """A report that is a set of labels.

    Given the answer all sets that hold it are equally likely, and so are all others. So it is drawn
    label by label, and given a truth it is as likely, up to one factor for all truths, as
    ``1 + (r - 1) m``: m is the probability that the answer is in it, r the ratio of the law
    (``docs/theory/subset-selection.md``). No list of all sets is needed.

    Attributes
    ----------
    answers : ndarray of float64, shape (labels, labels)
        Probability of each answer given each truth, at [truth, answer].
    law : SetLaw
        Of the set given the answer.
    sharpness : float
        What log-likelihoods are multiplied by, as in the posterior.
    """

    answers: Floats
    law: SetLaw
    sharpness: float

    def _drawn(self, truth: int, count: int, rng: np.random.Generator) -> Floats:
        labels, members = self.law.labels, self.law.members
        edges = np.cumsum(self.answers[truth])
        given = np.minimum(np.searchsorted(edges, rng.random(count), side="right"), labels - 1)
        order = rng.random((count, labels))  # the set has the labels that come first
        inside = rng.random(count) < float(self.law.held)
        order[np.arange(count), given] = np.where(inside, -1.0, 2.0)
        held = order <= np.partition(order, members - 1, axis=1)[:, members - 1, np.newaxis]
        masses = held.astype(np.float64) @ self.answers.T
        found: Floats = self.sharpness * np.log1p(float(self.law.ratio - 1) * masses)
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
