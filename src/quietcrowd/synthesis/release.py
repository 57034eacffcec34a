"""A release: attempts about every task, a fixed number or, as printed, until enough have passed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen
from rich.console import Console
from rich.progress import Progress

from quietcrowd._core import make_attempts
from quietcrowd.mechanisms.randomness import WordSource
from quietcrowd.synthesis.attempt import Blur, PrivacyTest, seed_edges
from quietcrowd.synthesis.claim_arrays import Floats
from quietcrowd.synthesis.parameters import Parameters

__all__ = ["GridClaims", "Passes", "as_claims", "released_claims"]

BLOCK = 2**16
"""About so many attempts take their words at once."""

SPARE_DECIMALS = 6
"""Released claims have so many decimals more than a step of the grid needs."""

Counts: TypeAlias = npt.NDArray[np.int64]


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

    tasks: Counts
    candidates: Counts


@frozen(kw_only=True, eq=False)
class GridClaims:
    """Claims on the grids of their tasks: what an attempt needs to know.

    Attributes
    ----------
    offsets : ndarray of int64, shape (tasks + 1,)
        Rows of each task.
    places : ndarray of int64, shape (claims,)
        In steps of the task's grid, from the lower end of the range.
    seed_edges : ndarray of uint64, shape (claims,)
        See `quietcrowd.synthesis.attempt.seed_edges`.
    lifts : ndarray of float64, shape (tasks,)
        Where the edges of the buckets lie: at 0 the first begins at the largest likelihood.
    blur : Blur
        The law of the step from a claim to a candidate.
    test : PrivacyTest
        What candidates have to pass.
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
        """Return claims rounded to the grid of their task.

        Parameters
        ----------
        parameters : Parameters
        offsets : ndarray of int64, shape (tasks + 1,)
        values, weights : ndarray of float64, shape (claims,)
            The claims, and what they are chosen by, before a floor.
        bandwidths : ndarray of float64, shape (tasks,)
        low : float
            The lower end of the public range.
        """
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
    """Make the attempts of one release.

    Parameters
    ----------
    parameters : Parameters
    claims : GridClaims
    tasks : ndarray of int64
        Positions of the tasks that are released.
    words : WordSource
        Gives the randomness.
    progress : bool
        Whether to show a bar on standard error.

    Returns
    -------
    attempts : ndarray of int64, shape (tasks,)
        How many were made about each task.
    passes : Passes
        Sorted by task.
    """
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
    """Yield passes until each task has what is wanted or has made the most attempts; count these.

    Every round makes as many attempts about a task as passes are missing.
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
    """Return passes together, sorted by task."""
    tasks = np.concatenate([part.tasks for part in parts])
    candidates = np.concatenate([part.candidates for part in parts])
    order = np.argsort(tasks, kind="stable")
    return Passes(tasks=tasks[order], candidates=candidates[order])


def as_claims(
    parameters: Parameters, passes: Passes, bandwidths: Floats, ends: tuple[float, float]
) -> Floats:
    """Return candidates as claims, shape (passes,).

    Those of a fixed number of attempts are cut off at the ends of the public range; as printed,
    they are left where they are.
    """
    low, high = ends
    steps = bandwidths / parameters.cells
    values = low + passes.candidates * steps[passes.tasks]
    if len(values):  # 1.7125000000000001 is 1.7125
        values = np.round(values, SPARE_DECIMALS - math.floor(math.log10(steps.min())))
    if parameters.release == "attempts":
        values = np.clip(values, low, high)
    return values
