"""How far released densities are from the true ones, over many releases."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from attrs import field, frozen
from rich.console import Console
from rich.progress import Progress

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.evaluation.papers.density_methods import DensityMethod, Found
from quietcrowd.evaluation.papers.density_truths import errors_from, even_errors
from quietcrowd.synthesis.density import CrowdDensity
from quietcrowd.synthesis.density_errors import ise, sise, sise_printed
from quietcrowd.synthesis.kde import KernelDensities
from quietcrowd.synthesis.pris_crowd import PrisCrowd
from quietcrowd.validation import check_whole

__all__ = ["DensityExperiment", "TrueDensity", "fitted"]

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


def _check_trials(_: object, __: object, trials: Any) -> None:
    check_whole("trials", trials, 2)


def _check_seed(_: object, __: object, seed: Any) -> None:
    check_whole("seed", seed, 0)


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
    trials: int = field(default=3, validator=_check_trials)
    seed: int = field(default=0, validator=_check_seed)

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
