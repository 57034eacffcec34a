"""Expected error of a task's estimate after further reports."""

import math
from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.mechanisms.channels.set_distribution import SetDistribution

Floats: TypeAlias = npt.NDArray[np.float64]

_DRAWS = 256
"""Most simulated report sequences per truth."""

_NUMBERS = 10**8
"""Budget of exponentials; it limits the number of sequences."""

_BLOCK = 2**21
"""Most numbers in memory at a time."""

_LEAST = 1e-300


class FurtherReport(ABC):
    """Distribution of a further report of a worker, about any task."""

    @abstractmethod
    def errors(self, posterior: Floats, sizes: npt.NDArray[np.int64]) -> Floats:
        """Return errors after each of increasing sizes, nonincreasing, shape (tasks, sizes)."""


@frozen(kw_only=True, eq=False)
class _OfALabel(FurtherReport):
    """Report about a label; the posterior of the apparent truth has shape (tasks, labels).

    `right` are the probabilities that the truth is the inferred label if that is the apparent
    truth, and if it is not.
    """

    right: tuple[float, float] = (1.0, 0.0)

    def errors(self, posterior: Floats, sizes: npt.NDArray[np.int64]) -> Floats:
        """Return the probability of an error, by simulation from a fixed seed."""
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
        same, other = self.right
        return 1.0 - same + (same - other) * falling

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
        """Return log-likelihoods of simulated reports, up to constants, shape (count, labels)."""


@frozen(kw_only=True, eq=False)
class FurtherLabel(_OfALabel):
    """Report from a finite channel: P(report | truth) is at [truth, report] of `table`."""

    table: Floats

    def _drawn(self, truth: int, count: int, rng: np.random.Generator) -> Floats:
        edges = np.cumsum(self.table[truth])
        drawn = np.searchsorted(edges, rng.random(count), side="right")
        logs = np.log(np.maximum(self.table, _LEAST)).T
        return logs[np.minimum(drawn, len(logs) - 1)]


@frozen(kw_only=True, eq=False)
class FurtherSet(_OfALabel):
    """Report that is a set of labels: ``research/docs/theory/subset-selection.md``.

    Given the answer, all sets that contain it are equally likely, and so are all others. Let ``m``
    be the probability that the answer is in the set, and ``r`` the ratio of the channel. Then the
    likelihood of a truth is proportional to ``1 + (r - 1) m``. `answers` is at [truth, answer];
    `slope` multiplies log-likelihoods, as in the posterior.
    """

    answers: Floats
    distribution: SetDistribution
    slope: float

    def _drawn(self, truth: int, count: int, rng: np.random.Generator) -> Floats:
        labels, members = self.distribution.labels, self.distribution.members
        edges = np.cumsum(self.answers[truth])
        given = np.minimum(np.searchsorted(edges, rng.random(count), side="right"), labels - 1)
        order = rng.random((count, labels))  # the set has the labels that come first
        inside = rng.random(count) < float(self.distribution.held)
        order[np.arange(count), given] = np.where(inside, -1.0, 2.0)
        held = order <= np.partition(order, members - 1, axis=1)[:, members - 1, np.newaxis]
        masses = held.astype(np.float64) @ self.answers.T
        found: Floats = self.slope * np.log1p(float(self.distribution.ratio - 1) * masses)
        return found


def _expected_error(logs: Floats, likelihoods: Floats) -> Floats:
    """Return the probability that each task's most probable label is wrong.

    `likelihoods`, shape (true labels, draws, labels), are logs for simulated report sequences.
    """
    after = logs[:, np.newaxis, np.newaxis] + likelihoods
    after -= after.max(axis=-1, keepdims=True)
    right = 1.0 / np.exp(after).sum(axis=-1)
    found: Floats = 1.0 - (np.exp(logs) * right.mean(axis=-1)).sum(axis=-1)
    return found


@frozen(kw_only=True, eq=False)
class FurtherNumber(FurtherReport):
    """Report of a number; the error is the mean absolute error.

    The posterior is the standard deviation of each apparent truth, assumed normal. A report adds
    `precision`, in the inverse squared unit of the answers. The truth has `scale` times this
    deviation, and a shared error with the standard deviation `shared`.
    """

    precision: float
    scale: float = 1.0
    shared: float = 0.0

    def errors(self, posterior: Floats, sizes: npt.NDArray[np.int64]) -> Floats:
        """Return the mean absolute error, in the unit of the answers."""
        with np.errstate(divide="ignore"):
            before = 1.0 / posterior[:, np.newaxis] ** 2
        apparent = self.scale / np.sqrt(before + self.precision * sizes)
        found: Floats = math.sqrt(2.0 / math.pi) * np.hypot(apparent, self.shared)
        return found
