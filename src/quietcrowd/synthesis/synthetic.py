"""Synthetic claims that a collector may share, with public data about the release."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from quietcrowd.frames import Backend, to_native
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.synthesis.kde import GAUSSIAN, Kernel, KernelDensities
from quietcrowd.synthesis.weights import uniform_weights

__all__ = ["SyntheticClaims"]

LARGEST_PROMISE = 10.0
"""At this loss, an even chance may become 99.995 %; a larger loss is no protection."""


@frozen(kw_only=True, eq=False, repr=False)
class SyntheticClaims:
    """Synthetic claims of each task.

    Attributes
    ----------
    task_ids : pyarrow.Array
        All tasks, including those that were not released.
    users, attempts : ndarray of int64, shape (tasks,)
        Public numbers of claims, and of attempts: 0 for a task that was not released.
    offsets : ndarray of int64, shape (tasks + 1,)
        Rows of each task in `values`.
    values : ndarray of float64, shape (released,)
        The synthetic claims, in the unit of the claims.
    wanted, least_users : int
        Wanted synthetic claims per task; tasks with fewer users are not released.
    guarantee : PrivacyGuarantee
        Upper bound of the privacy loss of one user's claims.
    simulated : bool
        Whether the randomness was simulated; such claims must not be shared.
    """

    task_ids: pa.Array
    users: npt.NDArray[np.int64]
    attempts: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    wanted: int
    least_users: int
    guarantee: PrivacyGuarantee
    simulated: bool

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return (
            f"SyntheticClaims({len(self):,} claims about {int((self.attempts > 0).sum()):,} tasks, "
            f"{int((self.attempts == 0).sum()):,} refused"
            f"{', simulated' * self.simulated})"
        )

    @property
    def may_be_shared(self) -> bool:
        """Whether the claims are not simulated and the bound of their loss is at most 10."""
        loss = (self.guarantee.tail or self.guarantee).epsilon
        return not self.simulated and loss <= LARGEST_PROMISE

    @property
    def claims(self) -> Any:
        """Dataframe of the synthetic claims: ``task``, ``claim``."""
        return self.claims_as("pandas")

    def claims_as(self, backend: Backend) -> Any:
        """Return `claims` as a dataframe of another library."""
        codes = np.repeat(np.arange(len(self.task_ids)), self.passed)
        columns = {"task": self.task_ids.take(pa.array(codes)), "claim": pa.array(self.values)}
        return to_native(columns, backend)

    @property
    def passed(self) -> npt.NDArray[np.int64]:
        """Number of released claims per task."""
        return np.diff(self.offsets)

    @property
    def tasks(self) -> Any:
        """Dataframe of the tasks: ``task``, ``users``, ``attempts``, ``passed``."""
        columns = {
            "task": self.task_ids,
            "users": pa.array(self.users),
            "attempts": pa.array(self.attempts),
            "passed": pa.array(self.passed),
        }
        return to_native(columns, "pandas")

    @property
    def refused(self) -> Any:
        """Dataframe of the tasks that were not released: ``task``, ``users``, ``reason``."""
        refused = np.flatnonzero(self.attempts == 0)
        reasons = [
            f"{self.users[task]:,} of at least {self.least_users:,} users" for task in refused
        ]
        columns = {
            "task": self.task_ids.take(pa.array(refused)),
            "users": pa.array(self.users[refused]),
            "reason": pa.array(reasons, pa.string()),
        }
        return to_native(columns, "pandas")

    def densities(
        self, bandwidths: npt.NDArray[np.float64], kernel: Kernel = GAUSSIAN
    ) -> KernelDensities:
        """Return the densities of the synthetic claims, with equal weights.

        Parameters
        ----------
        bandwidths : ndarray of float64, shape (tasks,)
            In the unit of the claims.
        kernel : Kernel
            Kernel of the densities.
        """
        return KernelDensities(
            offsets=self.offsets,
            points=self.values,
            weights=uniform_weights(self.offsets),
            bandwidths=bandwidths,
            kernel=kernel,
        )
