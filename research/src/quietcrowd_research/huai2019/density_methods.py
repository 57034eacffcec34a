"""What finds densities of claims: releases, histograms, and references that release nothing."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen
from typing_extensions import override

from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.synthesis.density import CrowdDensity
from quietcrowd.synthesis.kde import KernelDensities
from quietcrowd.synthesis.pris_crowd import PrisCrowd
from quietcrowd.synthesis.weights import Weighting, uniform_weights
from quietcrowd_research.huai2019.baselines import Basic, Histogram

Floats: TypeAlias = npt.NDArray[np.float64]

DELTA = 1e-6
"""Of the exact losses, for all that is released about a claim."""


@frozen(kw_only=True, eq=False)
class Found:
    """Densities of all tasks, and what they cost.

    Attributes
    ----------
    densities : KernelDensities
        A task of which nothing is released has no points.
    epsilon, delta : float
        What one claim loses at most, exactly.
    claimed_epsilon, claimed_delta : float
        What the paper states.
    released : float
        Claims that were released, as a share of those that were wanted.
    attempts : float
        Candidates per released claim; NaN where there are none.
    """

    densities: KernelDensities
    epsilon: float
    delta: float = 0.0
    claimed_epsilon: float
    claimed_delta: float = 0.0
    released: float = 1.0
    attempts: float = math.nan


class DensityMethod(ABC):
    """A way to densities of tasks."""

    @abstractmethod
    def find(self, crowd: CrowdDensity, rng: np.random.Generator) -> Found:
        """Return the densities.

        Parameters
        ----------
        crowd : CrowdDensity
            The raw claims, and the bandwidths that all densities have.
        rng : numpy.random.Generator
            For this simulation.
        """


@frozen(kw_only=True)
class EvenGuess(DensityMethod):
    """Release nothing: the best guess is an even density over the public range."""

    @override
    def find(self, crowd: CrowdDensity, rng: np.random.Generator) -> Found:
        tasks = len(crowd.claims.tasks)
        nothing = _equal(np.zeros(tasks + 1, np.int64), np.zeros(0), crowd)
        return Found(densities=nothing, epsilon=0.0, claimed_epsilon=0.0, released=0.0)


@frozen(kw_only=True)
class RawClaims(DensityMethod):
    """The density of the raw claims: not private.

    Parameters
    ----------
    weighting : {"uniform", "local", "global", "combined", "printed"}
        Of the claims.
    """

    weighting: Weighting

    @override
    def find(self, crowd: CrowdDensity, rng: np.random.Generator) -> Found:
        densities = crowd.densities(self.weighting)
        return Found(densities=densities, epsilon=math.inf, claimed_epsilon=math.inf)


@frozen(kw_only=True)
class Untested(DensityMethod):
    """Claims drawn from the density of the raw ones, without a privacy test: not private.

    Parameters
    ----------
    weighting : {"uniform", "local", "global", "combined", "printed"}
        Of the raw claims.
    claims : int
        Draws per task.
    """

    weighting: Weighting
    claims: int = 30

    @override
    def find(self, crowd: CrowdDensity, rng: np.random.Generator) -> Found:
        offsets, drawn = drawn_claims(crowd.densities(self.weighting), self.claims, rng)
        densities = _equal(offsets, drawn, crowd)
        return Found(densities=densities, epsilon=math.inf, claimed_epsilon=math.inf, attempts=1.0)


@frozen(kw_only=True)
class Synthetic(DensityMethod):
    """What `PrisCrowd` releases.

    Parameters
    ----------
    method : PrisCrowd
        Its bandwidth should be that of the crowd.
    """

    method: PrisCrowd

    @override
    def find(self, crowd: CrowdDensity, rng: np.random.Generator) -> Found:
        synthetic = self.method.fit(crowd.claims).release(random_state=rng, delta=DELTA)
        wanted = synthetic.wanted * int((synthetic.attempts > 0).sum())
        tried = int(synthetic.attempts.sum())
        return _found(
            synthetic.densities(crowd.bandwidths),
            synthetic.guarantee,
            released=len(synthetic) / wanted if wanted else 0.0,
            attempts=tried / len(synthetic) if len(synthetic) else math.nan,
        )


@frozen(kw_only=True)
class Noisy(DensityMethod):
    """What a baseline releases.

    Parameters
    ----------
    method : Basic or Histogram
        Of claims in an `Interval` or `Ordinal`.
    """

    method: Basic | Histogram

    @override
    def find(self, crowd: CrowdDensity, rng: np.random.Generator) -> Found:
        released = self.method.release(crowd.claims, rng)
        return _found(released.densities(crowd.bandwidths), released.guarantee)


def drawn_claims(
    densities: KernelDensities, claims: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return draws from densities of Gaussian kernels.

    Parameters
    ----------
    densities : KernelDensities
        Of Gaussian kernels.
    claims : int
        Draws from each task that has points.
    rng : numpy.random.Generator
        For this simulation.

    Returns
    -------
    offsets : ndarray of int64, shape (tasks + 1,)
        Rows of each task.
    values : ndarray of float64, shape (draws,)
        In the unit of the points.
    """
    starts = densities.offsets[:-1]
    counts = np.diff(densities.offsets)
    tasks = np.repeat(np.flatnonzero(counts), claims)
    # The weights of a task sum to 1: the running sum over all tasks has one unit for each of them.
    running = np.cumsum(densities.weights)
    before = np.concatenate([[0.0], running])[densities.offsets]
    at = before[tasks] + rng.random(len(tasks)) * (before[tasks + 1] - before[tasks])
    rows = np.searchsorted(running, at, side="right")
    rows = np.clip(rows, starts[tasks], starts[tasks] + counts[tasks] - 1)
    values = densities.points[rows] + densities.bandwidths[tasks] * rng.normal(size=len(tasks))
    offsets = np.concatenate([[0], np.cumsum(np.where(counts > 0, claims, 0))]).astype(np.int64)
    return offsets, values


def _equal(offsets: npt.NDArray[np.int64], points: Floats, crowd: CrowdDensity) -> KernelDensities:
    return KernelDensities(
        offsets=offsets,
        points=points,
        weights=uniform_weights(offsets),
        bandwidths=crowd.bandwidths,
    )


def _found(
    densities: KernelDensities,
    guarantee: PrivacyGuarantee,
    *,
    released: float = 1.0,
    attempts: float = math.nan,
) -> Found:
    return Found(
        densities=densities,
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        claimed_epsilon=guarantee.claimed_epsilon,
        claimed_delta=guarantee.claimed_delta,
        released=released,
        attempts=attempts,
    )
