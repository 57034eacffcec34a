"""Release of synthetic claims, by a fixed number of attempts or the paper's loop; its result."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen
from rich.console import Console
from rich.progress import Progress

from quietcrowd._core import make_attempts
from quietcrowd.frames import Backend, to_native
from quietcrowd.mechanisms.randomness import WordSource
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.synthesis.attempt import Blur, PrivacyTest, seed_edges
from quietcrowd.synthesis.claim_arrays import Floats
from quietcrowd.synthesis.kde import GAUSSIAN, Kernel, KernelDensities
from quietcrowd.synthesis.parameters import Parameters
from quietcrowd.synthesis.weights import uniform_weights

BLOCK = 2**16
"""Approximate number of attempts per request for random words."""

SPARE_DECIMALS = 6
"""Decimals of released claims beyond those of a grid step."""

Counts: TypeAlias = npt.NDArray[np.int64]


@frozen(kw_only=True, eq=False)
class Passes:
    """Candidates that passed, in steps of the task's grid, and the positions of their tasks."""

    tasks: Counts
    candidates: Counts


@frozen(kw_only=True, eq=False)
class GridClaims:
    """Claims on the grids of their tasks.

    `places` are in steps of the task's grid, from the lower end of the range. `lifts`, shape
    (tasks,), shift the edges of buckets: at 0, the first bucket begins at the largest likelihood.
    """

    offsets: Counts
    places: Counts
    seed_edges: npt.NDArray[np.uint64]
    lifts: Floats
    blur: Blur
    test: PrivacyTest

    @classmethod
    def of(
        cls,
        parameters: Parameters,
        offsets: Counts,
        values: Floats,
        *,
        weights: Floats,
        bandwidths: Floats,
        low: float,
    ) -> GridClaims:
        """Round claims to the grids of their tasks."""
        steps = np.repeat(bandwidths / parameters.cells, np.diff(offsets))
        lifts = np.zeros(len(bandwidths))
        if parameters.release == "paper":
            highest = parameters.blur.kernel.density(0.0, bandwidths)
            lifts = -np.log(highest) / math.log(parameters.gamma)
        return cls(
            offsets=offsets,
            places=np.rint((values - low) / steps).astype(np.int64),
            seed_edges=seed_edges(offsets, weights, parameters.floor if parameters.learns else 1.0),
            lifts=lifts,
            blur=parameters.blur,
            test=parameters.test,
        )

    def attempt(self, tasks: Counts, words: WordSource) -> Passes:
        """Make an independent attempt for each of `tasks`, all with claims; return the passes."""
        candidates = np.empty(len(tasks), np.int64)
        passed = np.empty(len(tasks), np.bool_)
        make_attempts(
            (self.offsets, self.places, self.seed_edges, self.lifts),
            self.blur.edges,
            self.blur.falls,
            self.test.weights,
            tasks,
            words(6 * len(tasks)).view(np.uint64).reshape(len(tasks), 3),
            candidates,
            passed,
        )
        return Passes(tasks=tasks[passed], candidates=candidates[passed])


def released_claims(
    parameters: Parameters, claims: GridClaims, tasks: Counts, words: WordSource, *, progress: bool
) -> tuple[Counts, Passes]:
    """Make the attempts of one release about `tasks`."""
    attempts = np.zeros(len(claims.lifts), np.int64)
    parts: list[Passes] = []
    blocks = math.ceil(len(tasks) * parameters.attempts / BLOCK) or 1
    with Progress(console=Console(stderr=True), disable=not progress, transient=True) as bar:
        shown = bar.add_task("tasks", total=len(tasks))
        for block in np.array_split(tasks, blocks):
            if parameters.release == "attempts":
                attempts[block] = parameters.attempts
                parts.append(claims.attempt(np.repeat(block, parameters.attempts), words))
            else:
                parts += _until_enough(parameters, claims, block, words, attempts)
            bar.advance(shown, len(block))
    return attempts, _sorted(parts)


def _until_enough(
    parameters: Parameters, claims: GridClaims, tasks: Counts, words: WordSource, attempts: Counts
) -> Iterator[Passes]:
    """Yield passes until each task has enough or reaches the limit; update `attempts` in place.

    Each round makes one attempt per missing pass of a task.
    """
    most = parameters.most_attempts
    missing = np.zeros(len(attempts), np.int64)
    missing[tasks] = parameters.claims
    while len(tasks):
        rounds = np.minimum(missing[tasks], most - attempts[tasks])
        passes = claims.attempt(np.repeat(tasks, rounds), words)
        attempts[tasks] += rounds
        missing -= np.bincount(passes.tasks, minlength=len(missing))
        tasks = tasks[(missing[tasks] > 0) & (attempts[tasks] < most)]
        yield passes


def _sorted(parts: list[Passes]) -> Passes:
    tasks = np.concatenate([part.tasks for part in parts])
    candidates = np.concatenate([part.candidates for part in parts])
    order = np.argsort(tasks, kind="stable")
    return Passes(tasks=tasks[order], candidates=candidates[order])


def as_claims(
    parameters: Parameters, passes: Passes, bandwidths: Floats, ends: tuple[float, float]
) -> Floats:
    """Convert candidates to claims, shape (passes,).

    Claims from a fixed number of attempts are clipped to the public range; the paper's are not.
    """
    low, high = ends
    steps = bandwidths / parameters.cells
    values = low + passes.candidates * steps[passes.tasks]
    if len(values):  # 1.7125000000000001 is 1.7125
        values = np.round(values, SPARE_DECIMALS - math.floor(math.log10(steps.min())))
    if parameters.release == "attempts":
        values = np.clip(values, low, high)
    return values


LARGEST_PROMISE = 10.0
"""At this loss, an even chance may become 99.995 %; a larger loss is not a protection."""


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
            f"{int((self.attempts == 0).sum()):,} rejected"
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
    def unreleased(self) -> Any:
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
