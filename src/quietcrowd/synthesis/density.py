"""Densities and weights that a collector estimates from raw claims."""

from functools import cached_property
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Interval, Ordinal
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import positions_by_text, to_native
from quietcrowd.mechanisms.randomness import RandomState, generator_of, word_source
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.synthesis.claim_arrays import public_range
from quietcrowd.synthesis.kde import KernelDensities
from quietcrowd.synthesis.loss import ReleaseSize, release_guarantee
from quietcrowd.synthesis.parameters import Parameters
from quietcrowd.synthesis.release import GridClaims, SyntheticClaims, as_claims, released_claims
from quietcrowd.synthesis.weights import (
    GlobalWeights,
    Weighting,
    combined_weights,
    floored_weights,
    global_weights,
    local_weights,
    uniform_weights,
)
from quietcrowd.validation import check_choice


@frozen(kw_only=True, eq=False, slots=False, repr=False)
class CrowdDensity:
    """Densities of the claims of each task, for the collector only.

    Densities, weights and reliabilities are computed from raw claims without noise, and must not
    leave the collector. Only results of `release` may.

    Attributes
    ----------
    method : Parameters
        The `PrisCrowd` that produced it, with the parameters of weights and releases.
    claims : Answers
        The raw claims, with tasks and workers sorted by id.
    bandwidths : ndarray of float64, shape (tasks,)
        In the unit of the claims.
    """

    method: Parameters
    claims: Answers
    bandwidths: npt.NDArray[np.float64]

    @property
    def domain(self) -> Ordinal | Interval:
        """Public range of the claims."""
        return public_range(self.claims)

    @cached_property
    def values(self) -> npt.NDArray[np.float64]:
        """Claims as numbers, sorted by task; shape (claims,)."""
        return self.domain.numbers(self.claims.values)

    @cached_property
    def uniform_weights(self) -> npt.NDArray[np.float64]:
        """Equal weights, shape (claims,); see `quietcrowd.synthesis.weights` for all weights."""
        return uniform_weights(self.claims.offsets)

    @cached_property
    def local_weights(self) -> npt.NDArray[np.float64]:
        """Weights by proximity to the other claims about the task, shape (claims,)."""
        return self._local_weights(printed=False)

    def _local_weights(self, *, printed: bool) -> npt.NDArray[np.float64]:
        return local_weights(
            self.claims.offsets,
            self.values,
            self.bandwidths,
            kernel=self.method.blur.kernel,
            quantiles=self.method.quantiles,
            printed=printed,
            max_iter=self.method.max_iter,
            tol=self.method.tol,
        )

    @cached_property
    def worker_weights(self) -> GlobalWeights:
        """Weights of workers by proximity of their claims to others', over all tasks."""
        return self._worker_weights(per_claim=True)

    def _worker_weights(self, *, per_claim: bool) -> GlobalWeights:
        return global_weights(
            self.claims.offsets,
            self.claims.worker_codes,
            self.values,
            self.bandwidths,
            kernel=self.method.blur.kernel,
            workers=len(self.claims.workers),
            per_claim=per_claim,
            max_iter=self.method.max_iter,
            tol=self.method.tol,
        )

    @cached_property
    def global_weights(self) -> npt.NDArray[np.float64]:
        """Weights of workers, normalized within each task; shape (claims,)."""
        return self._with_workers(self.uniform_weights)

    @cached_property
    def combined_weights(self) -> npt.NDArray[np.float64]:
        """Local and worker weights, combined by `PrisCrowd.combination`."""
        return self._with_workers(self.local_weights)

    @cached_property
    def printed_weights(self) -> npt.NDArray[np.float64]:
        """Combined weights as printed in the paper, which give outliers the largest weights.

        They use sums of distances and Hampel's loss; see
        ``research/docs/theory/crowd-densities.md``.
        """
        of_workers = self._worker_weights(per_claim=False)
        local = self._local_weights(printed=True)
        return combined_weights(
            self.claims.offsets, self.claims.worker_codes, local, of_workers.weights, "product"
        )

    def _with_workers(self, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return combined_weights(
            self.claims.offsets,
            self.claims.worker_codes,
            weights,
            self.worker_weights.weights,
            self.method.combination,
        )

    def claim_weights(self, weighting: Weighting | None = None) -> npt.NDArray[np.float64]:
        """Return the weight of each claim in its task's density, shape (claims,).

        Parameters
        ----------
        weighting : {"uniform", "local", "global", "combined", "printed"}, optional
            Default: the weights of a release, including the floor of `PrisCrowd`.

        Raises
        ------
        ParameterError
            If the weighting is unknown.
        """
        if weighting is not None:
            check_choice("weighting", weighting, get_args(Weighting))
        weights = self.unfloored_weights(weighting or self.method.weights)
        if weighting is None and self.method.floor > 0:
            return floored_weights(self.claims.offsets, weights, self.method.floor)
        return weights

    def unfloored_weights(self, weighting: Weighting) -> npt.NDArray[np.float64]:
        """Return weights of a kind, without a floor."""
        weights: npt.NDArray[np.float64] = getattr(self, f"{weighting}_weights")
        return weights

    def densities(self, weighting: Weighting | None = None) -> KernelDensities:
        """Return the densities of all tasks, in the order of ``claims.tasks``.

        Parameters
        ----------
        weighting : {"uniform", "local", "global", "combined", "printed"}, optional
            See `claim_weights`.
        """
        return KernelDensities(
            offsets=self.claims.offsets,
            points=self.values,
            weights=self.claim_weights(weighting),
            bandwidths=self.bandwidths,
            kernel=self.method.blur.kernel,
        )

    def pdf(
        self, task: Any, x: npt.ArrayLike, weighting: Weighting | None = None
    ) -> npt.NDArray[np.float64]:
        """Return the density of a task's claims at given points.

        Parameters
        ----------
        task : id
            As in the claims.
        x : array_like of float
            In the unit of the claims.
        weighting : {"uniform", "local", "global", "combined", "printed"}, optional
            See `claim_weights`.

        Raises
        ------
        AnswerError
            If the task has no claims.
        """
        return self.densities(weighting).pdf(self.position(task), x)

    def position(self, task: Any) -> int:
        """Return the position of a task in ``claims.tasks``.

        Raises
        ------
        AnswerError
            If the task has no claims.
        """
        place = int(positions_by_text(pa.array([task]), self.claims.tasks)[0])
        if place < 0 or not self.claims.answers_per_task[place]:
            raise AnswerError("synthesis.task-without-claims", task=task)
        return place

    @property
    def reliability(self) -> Any:
        """Dataframe of all claims and their weights, for the collector only.

        Columns are ``task``, ``worker``, ``claim``, ``local``, ``global`` and ``combined``; weights
        sum to 1 in each task.
        """
        columns = {
            "task": self.claims.tasks.take(pa.array(self.claims.task_codes)),
            "worker": self.claims.workers.take(pa.array(self.claims.worker_codes)),
            "claim": pa.array(self.values),
            "local": pa.array(self.local_weights),
            "global": pa.array(self.global_weights),
            "combined": pa.array(self.combined_weights),
        }
        return to_native(columns, "pandas")

    @property
    def workers(self) -> Any:
        """Dataframe of the workers: ``worker``, ``weight``, ``claims``. For the collector only."""
        columns = {
            "worker": self.claims.workers,
            "weight": pa.array(self.worker_weights.weights),
            "claims": pa.array(self.claims.answers_per_worker),
        }
        return to_native(columns, "pandas")

    @property
    def released(self) -> npt.NDArray[np.bool_]:
        """Whether each task has enough claims for a release; this is public."""
        enough: npt.NDArray[np.bool_] = self.claims.answers_per_task >= self.method.k
        return enough

    def guarantee(self, delta: float = 1e-6) -> PrivacyGuarantee:
        """Return an upper bound of the privacy loss of one user's claims in one release.

        Parameters
        ----------
        delta : float
            The delta of (epsilon, delta), at least 0 and below 1.

        Raises
        ------
        ParameterError
            If delta is out of range.
        """
        return release_guarantee(self.method, ReleaseSize.of(self.claims, self.method.k), delta)

    def release(
        self,
        *,
        random_state: RandomState | None = None,
        delta: float = 1e-6,
        progress: bool = False,
    ) -> SyntheticClaims:
        """Return synthetic claims; every further release has the same privacy loss again.

        Parameters
        ----------
        random_state : int or numpy.random.Generator, optional
            For simulations. Default: randomness of the operating system, for a real release.
        delta : float
            See `guarantee`.
        progress : bool
            Whether to show a progress bar on standard error.

        Raises
        ------
        ParameterError
            If `random_state` or `delta` is invalid.
        """
        rng = None if random_state is None else generator_of(random_state)
        method, low = self.method, self.domain.low
        guarantee, words = self.guarantee(delta), word_source(rng)
        claims = GridClaims.of(
            method,
            self.claims.offsets,
            self.values,
            weights=self.unfloored_weights(method.weights),
            bandwidths=self.bandwidths,
            low=low,
        )
        tasks = np.flatnonzero(self.released).astype(np.int64)
        attempts, passes = released_claims(method, claims, tasks, words, progress=progress)
        passed = np.bincount(passes.tasks, minlength=len(attempts))
        return SyntheticClaims(
            task_ids=self.claims.tasks,
            users=self.claims.answers_per_task,
            attempts=attempts,
            offsets=np.concatenate([[0], np.cumsum(passed)]),
            values=as_claims(method, passes, self.bandwidths, (low, self.domain.high)),
            wanted=method.claims,
            least_users=method.k,
            guarantee=guarantee,
            simulated=rng is not None,
        )

    def __repr__(self) -> str:
        return (
            f"CrowdDensity({len(self.claims):,} claims about {len(self.claims.tasks):,} tasks, "
            f"{self.method.weights} weights; for the collector's eyes only)"
        )
