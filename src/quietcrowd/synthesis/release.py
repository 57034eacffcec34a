"""A release: attempts about every task, a fixed number or, as printed, until enough have passed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import Progress

from quietcrowd.mechanisms.randomness import WordSource, word_source
from quietcrowd.synthesis.grid_claims import GridClaims, Passes
from quietcrowd.synthesis.seed_weights import seed_edges
from quietcrowd.synthesis.synthetic import SyntheticClaims

if TYPE_CHECKING:
    from quietcrowd.synthesis.density import CrowdDensity

__all__ = ["release_claims"]

BLOCK = 2**16
"""About so many attempts take their words at once."""

SPARE_DECIMALS = 6
"""Released claims have so many decimals more than a step of the grid needs."""

Counts: TypeAlias = npt.NDArray[np.int64]


def release_claims(
    density: CrowdDensity, rng: np.random.Generator | None, *, delta: float, progress: bool
) -> SyntheticClaims:
    """Return synthetic claims of a density; see `CrowdDensity.release`."""
    method, guarantee = density.method, density.guarantee(delta)
    grid, words = _on_grid(density), word_source(rng)
    tasks = np.flatnonzero(density.released).astype(np.int64)
    attempts = np.zeros(len(density.released), np.int64)
    passes: list[Passes] = []
    with Progress(console=Console(stderr=True), disable=not progress, transient=True) as bar:
        shown = bar.add_task("tasks", total=len(tasks))
        for block in np.array_split(tasks, math.ceil(len(tasks) * method.attempts / BLOCK) or 1):
            if method.release == "attempts":
                attempts[block] = method.attempts
                passes.append(grid.attempt(np.repeat(block, method.attempts), words))
            else:
                passes += _until_enough(
                    grid, block, words, method.claims, method.most_attempts, attempts
                )
            bar.advance(shown, len(block))
    values, offsets = _collect(density, passes)
    return SyntheticClaims(
        task_ids=density.claims.tasks,
        users=density.claims.answers_per_task,
        attempts=attempts,
        offsets=offsets,
        values=values,
        wanted=method.claims,
        least_users=method.k,
        guarantee=guarantee,
        simulated=rng is not None,
    )


def _on_grid(density: CrowdDensity) -> GridClaims:
    """Return the claims rounded to the grid of their task."""
    method, offsets = density.method, density.claims.offsets
    counts = density.claims.answers_per_task
    steps = np.repeat(density.bandwidths / method.cells, counts)
    places = np.rint((density.values - density.domain.low) / steps).astype(np.int64)
    lifts = np.zeros(len(counts))
    if method.release == "paper":
        highest = method.blur.kernel.density(0.0, density.bandwidths)
        lifts = -np.log(highest) / math.log(method.gamma)
    floor = method.floor if method.learns else 1.0
    return GridClaims(
        offsets=offsets,
        places=places,
        seed_edges=seed_edges(offsets, density.learnt_weights(method.weights), floor),
        lifts=lifts,
        blur=method.blur,
        test=method.test,
    )


def _until_enough(
    grid: GridClaims, tasks: Counts, words: WordSource, wanted: int, most: int, attempts: Counts
) -> Iterator[Passes]:
    """Yield passes until each task has `wanted` or has made `most` attempts; count these.

    Every round makes as many attempts about a task as passes are missing.
    """
    missing = np.zeros(len(attempts), np.int64)
    missing[tasks] = wanted
    while len(tasks):
        rounds = np.minimum(missing[tasks], most - attempts[tasks])
        passes = grid.attempt(np.repeat(tasks, rounds), words)
        attempts[tasks] += rounds
        missing -= np.bincount(passes.tasks, minlength=len(missing))
        tasks = tasks[(missing[tasks] > 0) & (attempts[tasks] < most)]
        yield passes


def _collect(density: CrowdDensity, passes: list[Passes]) -> tuple[npt.NDArray[np.float64], Counts]:
    """Return the passes as claims, sorted by task, and where each task's begin.

    Those of a fixed number of attempts are cut off at the ends of the public range; as printed,
    they are left where they are.
    """
    method = density.method
    tasks = np.concatenate([part.tasks for part in passes])
    candidates = np.concatenate([part.candidates for part in passes])
    order = np.argsort(tasks, kind="stable")
    steps = density.bandwidths / method.cells
    values = density.domain.low + candidates[order] * steps[tasks[order]]
    if len(values):  # 1.7125000000000001 is 1.7125
        values = np.round(values, SPARE_DECIMALS - math.floor(math.log10(steps.min())))
    if method.release == "attempts":
        values = np.clip(values, density.domain.low, density.domain.high)
    per_task = np.bincount(tasks, minlength=len(density.released))
    return values, np.concatenate([[0], np.cumsum(per_task)])
