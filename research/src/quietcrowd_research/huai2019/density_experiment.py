"""How far released densities are from the true ones, over many releases."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from attrs import field, frozen
from rich.console import Console
from rich.progress import Progress
from scipy.special import ndtr

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.domains import Interval, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.frames import positions_by_text
from quietcrowd.synthesis.density import CrowdDensity
from quietcrowd.synthesis.kde import GAUSSIAN, KernelDensities
from quietcrowd.synthesis.pris_crowd import PrisCrowd
from quietcrowd.synthesis.weights import uniform_weights
from quietcrowd.validation import whole_number
from quietcrowd_research.huai2019.density_errors import (
    integrated_squared_errors,
    ise,
    sise,
    sise_printed,
)
from quietcrowd_research.huai2019.density_methods import DensityMethod, Found

Floats: TypeAlias = npt.NDArray[np.float64]

TrueDensity: TypeAlias = Callable[[CrowdDensity, Dataset], KernelDensities]
"""Makes the densities that others are compared with."""

SCORES: Mapping[str, Callable[[Any], float]] = {
    "ise": ise,
    "sise": sise,
    "sise_printed": sise_printed,
}


def fitted(dataset: Dataset, bandwidth: float | str) -> CrowdDensity:
    """Return the densities of a data set's raw claims, as the paper learns them.

    Parameters
    ----------
    dataset : Dataset
        Claims in an `Interval` or `Ordinal`.
    bandwidth : float or {"silverman", "mad"}
        As of `PrisCrowd`.
    """
    method = PrisCrowd(release="paper", epsilon0=1.0, bandwidth=bandwidth)
    return method.fit(dataset.answers)


@frozen(kw_only=True, eq=False)
class _Crowd:
    """A data set's claims, its true densities, and the errors of an even guess."""

    claims: CrowdDensity
    truths: Mapping[str, KernelDensities]
    even: Mapping[str, Any]

    def errors(self, truth: str, found: Found) -> Any:
        """Return the error of each task whose true density is known."""
        return errors_from(self.truths[truth], found.densities, self.even[truth])


@frozen(kw_only=True)
class DensityExperiment:
    """Data sets, true densities, methods, and a number of trials.

    Parameters
    ----------
    datasets : sequence of Dataset
        Of several, drawn alike, each trial takes the next.
    truths : mapping of str to TrueDensity
        By the names that the result gives them.
    methods : mapping of str to DensityMethod
        By the names that the result gives them.
    bandwidth : float or {"silverman", "mad"}
        Of all densities, in the unit of the claims.
    trials : int
        At least 2.
    seed : int
        Each method and trial has a stream of its own.
    """

    datasets: Sequence[Dataset]
    truths: Mapping[str, TrueDensity]
    methods: Mapping[str, DensityMethod]
    bandwidth: float | str
    trials: int = field(default=3, validator=whole_number(2))
    seed: int = field(default=0, validator=whole_number(0))

    def run(self, *, progress: bool = False) -> pd.DataFrame:
        """Run all trials.

        Parameters
        ----------
        progress : bool
            Whether to show a bar on standard error.

        Returns
        -------
        pandas.DataFrame
            A row per true density and method: ``truth``, ``method``, ``tasks`` (of known density),
            ``ise``, ``sise``, ``sise_printed`` (sums over the tasks, means over the trials), each
            with its standard error ``..._se``, ``epsilon`` and ``delta`` (what one claim loses at
            most, exactly), ``claimed_epsilon``, ``claimed_delta``, ``released`` (share of the
            wanted claims), ``attempts`` (per released claim), ``bandwidth``, ``trials``.
        """
        crowds = [self._crowd(dataset) for dataset in self.datasets]
        rows = []
        with Progress(console=Console(stderr=True), disable=not progress, transient=True) as bar:
            shown = bar.add_task("trials", total=len(self.methods) * self.trials)
            for name, method in self.methods.items():
                found = []
                for trial in range(self.trials):
                    claims = crowds[trial % len(crowds)].claims
                    found.append(method.find(claims, self._stream(name, trial)))
                    bar.advance(shown)
                rows += self._rows(name, found, crowds)
        frame = pd.DataFrame(rows).assign(bandwidth=self.bandwidth, trials=self.trials)
        return frame.sort_values(
            "truth", key=lambda names: names.map([*self.truths].index), kind="stable"
        ).reset_index(drop=True)

    def _crowd(self, dataset: Dataset) -> _Crowd:
        claims = fitted(dataset, self.bandwidth)
        truths = {name: make(claims, dataset) for name, make in self.truths.items()}
        even = {name: even_errors(truth, claims.domain) for name, truth in truths.items()}
        return _Crowd(claims=claims, truths=truths, even=even)

    def _stream(self, name: str, trial: int) -> np.random.Generator:
        key = zlib.crc32(name.encode())
        return np.random.default_rng(np.random.SeedSequence((self.seed, key, trial)))

    def _rows(
        self, name: str, found: Sequence[Found], crowds: Sequence[_Crowd]
    ) -> list[dict[str, Any]]:
        """Return a row per true density for a method's trials."""
        costs = {
            "epsilon": max(one.epsilon for one in found),
            "delta": found[0].delta,
            "claimed_epsilon": found[0].claimed_epsilon,
            "claimed_delta": found[0].claimed_delta,
            "released": float(np.mean([one.released for one in found])),
            "attempts": float(np.mean([one.attempts for one in found])),
        }
        rows = []
        for truth in self.truths:
            errors = [
                crowds[trial % len(crowds)].errors(truth, one) for trial, one in enumerate(found)
            ]
            rows.append(
                {"truth": truth, "method": name, "tasks": len(errors[0]), **_scores(errors)} | costs
            )
        return rows


def _scores(errors: Sequence[Any]) -> dict[str, float]:
    """Return means and standard errors over the trials, of errors of shape (trials, tasks)."""
    scores = {}
    for name, score in SCORES.items():
        values = np.array([score(of_tasks) for of_tasks in errors])
        scores[name] = float(values.mean())
        scores[f"{name}_se"] = float(values.std(ddof=1) / math.sqrt(len(values)))
    return scores


def normal_density(crowd: CrowdDensity, truths: Any, spread: float) -> KernelDensities:
    """Return normal densities around the known truths; tasks without one have no points.

    Parameters
    ----------
    crowd : CrowdDensity
        Whose tasks they are.
    truths : pyarrow.Table
        Columns ``task`` and ``label``.
    spread : float
        Standard deviation, in the unit of the claims.
    """
    middles = _truths_of(crowd, truths)
    known = ~np.isnan(middles)
    return KernelDensities(
        offsets=_offsets(known),
        points=middles[known],
        weights=np.ones(int(known.sum())),
        bandwidths=np.full(len(known), spread),
    )


def near_claims_density(crowd: CrowdDensity, truths: Any, near: float) -> KernelDensities:
    """Return densities of the claims near the known truths, with equal weights.

    Tasks without such claims, or without a known truth, have no points.

    Parameters
    ----------
    crowd : CrowdDensity
        The claims, and the bandwidths.
    truths : pyarrow.Table
        Columns ``task`` and ``label``.
    near : float
        How far from the truth a claim is at most, in the unit of the claims.
    """
    codes = crowd.claims.task_codes
    off = np.abs(crowd.values - _truths_of(crowd, truths)[codes])
    kept = off <= near  # NaN is not near
    offsets = _offsets(np.bincount(codes[kept], minlength=len(crowd.claims.tasks)))
    return KernelDensities(
        offsets=offsets,
        points=crowd.values[kept],
        weights=uniform_weights(offsets),
        bandwidths=crowd.bandwidths,
    )


def even_errors(truth: KernelDensities, public: Interval | Ordinal) -> Floats:
    """Return the integral of the squared difference from an even density over a range, per task.

    Parameters
    ----------
    truth : KernelDensities
        Of Gaussian kernels.
    public : Interval or Ordinal
        The range.

    Returns
    -------
    ndarray of float64, shape (tasks,)
        In one over the unit of the claims; NaN where a task has no points.

    Raises
    ------
    ParameterError
        Where the kernels are not Gaussian.

    Examples
    --------
    >>> one = KernelDensities(offsets=[0, 1], points=[5.0], weights=[1.0], bandwidths=[0.5])
    >>> even_errors(one, Interval(low=0, high=10)).round(4).tolist()
    [0.4642]
    """
    if truth.kernel != GAUSSIAN:
        raise ParameterError(f"the kernel must be Gaussian; got {truth.kernel.name!r}")
    errors = np.full(truth.tasks, np.nan)
    for task in np.flatnonzero(np.diff(truth.offsets)):
        rows = slice(truth.offsets[task], truth.offsets[task + 1])
        points, weights, width = truth.points[rows], truth.weights[rows], truth.bandwidths[task]
        square = weights @ GAUSSIAN.inner(points[:, np.newaxis] - points, width, width) @ weights
        inside = ndtr((public.high - points) / width) - ndtr((public.low - points) / width)
        errors[task] = square + (1.0 - 2.0 * float(weights @ inside)) / public.width
    return errors


def errors_from(truth: KernelDensities, found: KernelDensities, even: Floats) -> Floats:
    """Return the integrated squared error of each task whose true density is known.

    A task of which nothing is released counts with the error of an even density.

    Parameters
    ----------
    truth, found : KernelDensities
        Of the same tasks.
    even : ndarray of float64, shape (tasks,)
        From `even_errors`, of the same truth.

    Returns
    -------
    ndarray of float64, shape (known tasks,)
    """
    errors = integrated_squared_errors(truth, found, n_jobs=1)
    filled = np.where(np.diff(found.offsets) > 0, errors, even)
    return filled[np.diff(truth.offsets) > 0]


def _offsets(counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _truths_of(crowd: CrowdDensity, truths: Any) -> Floats:
    """Return the known truth of each task of a crowd; NaN where there is none."""
    table = pa.table(truths)
    places = positions_by_text(table["task"].combine_chunks(), crowd.claims.tasks)
    found = np.full(len(crowd.claims.tasks), np.nan)
    labels = np.asarray(table["label"].to_pylist(), np.float64)
    found[places[places >= 0]] = labels[places >= 0]
    return found
