"""Mechanisms whose reports on some tasks can be made apart from those on the others."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.reports import Reports

__all__ = ["TaskwiseMechanism"]


@frozen(kw_only=True, slots=False)
class TaskwiseMechanism(Mechanism):
    """A mechanism that draws noise cell by cell, given what a worker drew once for all its cells.

    So answers that do not fit into memory can be randomised some tasks at a time.
    """

    def draw_workers(
        self,
        workers: int,  # noqa: ARG002
        rng: np.random.Generator | None,  # noqa: ARG002
    ) -> npt.NDArray[Any] | None:
        """Return what each worker draws once, and uses in all of its reports; None: nothing.

        It is as secret as the answers are.

        Parameters
        ----------
        workers : int
            How many there are.
        rng : numpy.random.Generator, optional
            As of `randomize`.

        Returns
        -------
        drawn : ndarray, shape (..., workers), or None
            For `randomize_tasks`.
        """
        return None

    @abstractmethod
    def randomize_tasks(
        self, answers: Answers, drawn: npt.NDArray[Any] | None, rng: np.random.Generator | None
    ) -> Reports:
        """Return the reports on some of the tasks.

        Parameters
        ----------
        answers : Answers
            Those to some of the tasks; all workers; tasks and workers sorted by id.
        drawn : ndarray or None
            What `draw_workers` gave, the same for all tasks.
        rng : numpy.random.Generator, optional
            As of `randomize`.
        """

    def _randomize(self, answers: Answers, rng: np.random.Generator | None) -> Reports:
        return self.randomize_tasks(answers, self.draw_workers(len(answers.workers), rng), rng)
