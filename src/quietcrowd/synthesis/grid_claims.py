"""Claims on a grid, task by task, with the laws that attempts follow."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.mechanisms.randomness import WordSource
from quietcrowd.synthesis.attempt_kernel import attempt_kernel
from quietcrowd.synthesis.blur import Blur
from quietcrowd.synthesis.plausible_deniability import PrivacyTest

__all__ = ["GridClaims", "Passes"]


@frozen(kw_only=True, eq=False)
class Passes:
    """The candidates that passed; of the others nothing is known.

    Attributes
    ----------
    tasks : ndarray of int64, shape (passes,)
        Position of the task of each.
    candidates : ndarray of int64, shape (passes,)
        In steps of the task's grid.
    """

    tasks: npt.NDArray[np.int64]
    candidates: npt.NDArray[np.int64]


@frozen(kw_only=True, eq=False)
class GridClaims:
    """What an attempt needs to know.

    Attributes
    ----------
    offsets : ndarray of int64, shape (tasks + 1,)
        Rows of each task.
    places : ndarray of int64, shape (claims,)
        In steps of the task's grid.
    seed_edges : ndarray of uint64, shape (claims,)
        See `quietcrowd.synthesis.seed_weights.seed_edges`.
    lifts : ndarray of float64, shape (tasks,)
        Where the edges of the buckets lie: at 0 the first begins at the largest likelihood.
    blur : Blur
        The law of the step from a claim to a candidate.
    test : PrivacyTest
        What candidates have to pass.
    """

    offsets: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    seed_edges: npt.NDArray[np.uint64]
    lifts: npt.NDArray[np.float64]
    blur: Blur
    test: PrivacyTest

    def attempt(self, tasks: npt.NDArray[np.int64], words: WordSource) -> Passes:
        """Make one attempt for each of `tasks`, independently, and return the passes in order.

        Parameters
        ----------
        tasks : ndarray of int64, shape (attempts,)
            Positions of tasks that have claims.
        words : WordSource
            Gives the randomness.
        """
        candidates = np.empty(len(tasks), np.int64)
        passed = np.empty(len(tasks), np.bool_)
        attempt_kernel(
            self.offsets,
            self.places,
            self.seed_edges,
            self.lifts,
            self.blur.edges,
            self.blur.falls,
            self.test.weights,
            tasks,
            words(6 * len(tasks)).view(np.uint64).reshape(len(tasks), 3),
            candidates,
            passed,
        )
        return Passes(tasks=tasks[passed], candidates=candidates[passed])
