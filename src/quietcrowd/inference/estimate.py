"""What truth inference found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.frames import Backend, to_native
from quietcrowd.inference.method import Estimates, State

if TYPE_CHECKING:
    from quietcrowd.inference.method import TruthInference

__all__ = ["TruthEstimate"]


@frozen(kw_only=True, eq=False)
class TruthEstimate:
    """Truths of the tasks and quality of the workers.

    Attributes
    ----------
    method : TruthInference
        What found them.
    answers : Answers
        What they were found from.
    estimates : Estimates
        Codes, confidences and ties, one entry per task.
    agreement : ndarray of float64, shape (workers,)
        Share of each worker's answers that agree with the estimates.
    quality : ndarray of float64, shape (workers,)
        Agreement, corrected for the noise where the noise of each worker is known.
    state : State or None
        What the method believes of the workers.
    iterations : int
        How many times the workers were weighed.
    converged : bool
        Whether the objective came to rest before the limit of iterations.
    history : tuple of float
        The objective per answer after each iteration.
    backend : {"pandas", "polars", "pyarrow"}
        Library of the frames.
    """

    method: TruthInference[Any, Any]
    answers: Answers
    estimates: Estimates
    agreement: npt.NDArray[np.float64]
    quality: npt.NDArray[np.float64]
    state: State | None
    iterations: int
    converged: bool
    history: tuple[float, ...]
    backend: Backend = "pandas"

    @property
    def truths(self) -> Any:
        """Dataframe with columns ``task``, ``truth``, ``confidence``, ``answers``, ``tied``.

        A task without answers has no truth and no confidence.
        """
        return self.truths_as(self.backend)

    @property
    def workers(self) -> Any:
        """Dataframe with columns ``worker``, ``agreement``, ``quality``, ``answers``.

        Agreement and quality are missing for a worker without answers. Quality equals
        agreement for plain answers, and where a worker's noise is known to nobody else.
        """
        return self.workers_as(self.backend)

    def truths_as(self, backend: Backend) -> Any:
        """Return `truths` as a dataframe of another library."""
        counts = self.answers.answers_per_task
        nobody = counts == 0
        codes = pa.array(self.estimates.truths, mask=nobody)
        return to_native(
            {
                "task": self.answers.tasks,
                "truth": self.answers.domain.decode(codes),
                "confidence": pa.array(self.estimates.confidence, mask=nobody),
                "answers": pa.array(counts),
                "tied": pa.array(self.estimates.tied & ~nobody),
            },
            backend,
        )

    def workers_as(self, backend: Backend) -> Any:
        """Return `workers` as a dataframe of another library."""
        return to_native(
            {
                "worker": self.answers.workers,
                "agreement": pa.array(self.agreement, from_pandas=True),
                "quality": pa.array(self.quality, from_pandas=True),
                "answers": pa.array(self.answers.answers_per_worker),
            },
            backend,
        )

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        return (
            f"TruthEstimate({len(self.answers.tasks):,} tasks, "
            f"{len(self.answers.workers):,} workers, {self.method!r}, "
            f"{self.iterations} iterations, {end})"
        )
