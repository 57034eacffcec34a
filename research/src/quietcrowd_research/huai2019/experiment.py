"""Table 2 and Figures 4 and 5 of M. Huai et al., IJCAI 2019: PrisCrowd.

Of the paper's data sets `population` is at hand; crowds of known density, flights and weather stand
beside it. ``research/docs/synthetic-claims-results.md`` says what comes out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import pandas as pd

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.synthesis.pris_crowd import PrisCrowd
from quietcrowd.synthesis.weights import Weighting
from quietcrowd_research.figure import Figure, TablePart
from quietcrowd_research.huai2019.baselines import Basic, Histogram
from quietcrowd_research.huai2019.cases import CASES
from quietcrowd_research.huai2019.crowds import (
    CLAIMS,
    DRAWN,
    GAMMA,
    LEAST_USERS,
    REAL,
    REAL_SETS,
    SMALL,
    Crowd,
    near_truth,
)
from quietcrowd_research.huai2019.density_experiment import DensityExperiment
from quietcrowd_research.huai2019.density_methods import (
    DELTA,
    DensityMethod,
    EvenGuess,
    Noisy,
    RawClaims,
    Synthetic,
    Untested,
)
from quietcrowd_research.huai2019.release_times import release_times
from quietcrowd_research.huai2019.theorems import THEOREMS
from quietcrowd_research.huai2019.weights import WEIGHTS
from quietcrowd_research.transforms import selected_tasks

EPSILON0 = 1.0
"""The paper does not name it."""

SAFE_EPSILON0 = 4.0
"""With it and k = 5 the repaired release has a finite loss at a delta of 10^-6."""

LEVELS = (0.1, 1.0, 10.0)
"""The paper's strong, normal and weak noise."""

NUMBERS = (1, 2, 3, 5, 10, 15, 20, 25, 30)
"""Synthetic claims per task in Figures 4 and 5."""

BANDWIDTHS = (0.58, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25)
"""From Silverman's rule for 20 claims from N(0, 1) on."""


def references() -> dict[str, DensityMethod]:
    """Return what every table holds beside private results: a constant guess, the raw claims."""
    return {
        "even density": EvenGuess(),
        "raw claims, uniform": RawClaims(weighting="uniform"),
        "raw claims, combined": RawClaims(weighting="combined"),
    }


def _printed(
    bandwidth: float | str,
    weights: Weighting,
    *,
    claims: int = CLAIMS,
    epsilon0: float = EPSILON0,
) -> Synthetic:
    """Return PrisCrowd's loop as printed; with uniform weights it is the paper's Uniform.

    With weights "printed" all of it is as printed; with "combined" they are what the text means.
    """
    method = PrisCrowd(
        release="paper",
        epsilon0=epsilon0,
        bandwidth=bandwidth,
        claims=claims,
        gamma=GAMMA,
        k=LEAST_USERS,
        weights=weights,
    )
    return Synthetic(method=method)


def _repaired(
    bandwidth: float, weights: Weighting, *, claims: int = CLAIMS, epsilon0: float = EPSILON0
) -> PrisCrowd:
    return PrisCrowd(
        epsilon0=epsilon0,
        bandwidth=bandwidth,
        claims=claims,
        gamma=GAMMA,
        k=LEAST_USERS,
        weights=weights,
    )


def common_methods(bandwidth: float | str) -> dict[str, DensityMethod]:
    """Return the methods that any bandwidth suits: references, the paper's, and no test at all.

    Parameters
    ----------
    bandwidth : float or {"silverman", "mad"}
        As of `PrisCrowd`.
    """
    return references() | {
        "PrisCrowd, as meant": _printed(bandwidth, "combined"),
        "PrisCrowd, as printed": _printed(bandwidth, "printed"),
        "Uniform, as printed": _printed(bandwidth, "uniform"),
        "no test, combined": Untested(weighting="combined", claims=CLAIMS),
        "no test, uniform": Untested(weighting="uniform", claims=CLAIMS),
        **{f"Basic, {level:g}": Noisy(method=Basic(epsilon=level)) for level in LEVELS},
    }


def private_methods(bandwidth: float, fewest: int, most: int) -> dict[str, DensityMethod]:
    """Return the repaired release, and baselines at equal losses, claimed and exact.

    Parameters
    ----------
    bandwidth : float
        Public.
    fewest, most : int
        Claims per task, at least and at most.
    """
    safe = _repaired(bandwidth, "uniform", epsilon0=SAFE_EPSILON0)
    exact = safe.guarantee(users=fewest, most_users=most, delta=DELTA).epsilon
    claimed = EPSILON0 + math.log1p(GAMMA)  # Theorem 2, equal weights, t = 1
    single = _repaired(bandwidth, "uniform", epsilon0=SAFE_EPSILON0, claims=1)
    repaired = {
        "repaired, uniform": _repaired(bandwidth, "uniform"),
        "repaired, local": _repaired(bandwidth, "local"),
        f"repaired, epsilon0 {SAFE_EPSILON0:g}": safe,
        "same, one claim": single,
    }
    at_equal: dict[str, DensityMethod] = {}
    for name, level in (("equal claim", claimed), ("equal loss", exact)):
        at_equal[f"Basic, {name}"] = Noisy(method=Basic(epsilon=level))
    for name, level in (
        *((f"{level:g}", level) for level in LEVELS),
        ("equal claim", claimed),
        ("equal loss", exact),
    ):
        histogram = Histogram(epsilon=level, bin_width=2 * bandwidth, claims=CLAIMS)
        at_equal[f"Histogram, {name}"] = Noisy(method=histogram)
    return {name: Synthetic(method=method) for name, method in repaired.items()} | at_equal


def _experiment(
    crowd: Crowd,
    methods: Callable[[Sequence[Dataset]], Mapping[str, DensityMethod]],
    bandwidth: float | str,
    trials: int,
    seed: int,
    progress: bool,
) -> pd.DataFrame:
    datasets = crowd.datasets(trials, seed)
    return DensityExperiment(
        datasets=datasets,
        truths=crowd.truths,
        methods=methods(datasets),
        bandwidth=bandwidth,
        trials=trials,
        seed=seed,
    ).run(progress=progress)


def _part(
    crowd: Crowd,
    methods: Callable[[Sequence[Dataset]], Mapping[str, DensityMethod]],
    trials: int,
    seed: int,
    *,
    bandwidth: float | str | None = None,
    claims: int = CLAIMS,
) -> TablePart:
    measure = partial(_experiment, crowd, methods, bandwidth or crowd.bandwidth, trials, seed)
    return TablePart(columns={"dataset": crowd.name, "claims": claims}, measure=measure)


def _table(crowds: Sequence[Crowd], trials: int, seed: int) -> list[TablePart]:
    """Return Table 2 with public bandwidths."""

    def methods(bandwidth: float, datasets: Sequence[Dataset]) -> dict[str, DensityMethod]:
        counts = datasets[0].answers.answers_per_task
        private = private_methods(bandwidth, int(counts.min()), int(counts.max()))
        return common_methods(bandwidth) | private

    return [_part(crowd, partial(methods, crowd.bandwidth), trials, seed) for crowd in crowds]


def _table_by_rule(rule: str, crowds: Sequence[Crowd], trials: int, seed: int) -> list[TablePart]:
    """Return Table 2 with bandwidths that are learnt from the claims."""
    return [
        _part(crowd, lambda _: common_methods(rule), trials, seed, bandwidth=rule)
        for crowd in crowds
    ]


def _bandwidths(
    crowds: Sequence[Crowd], widths: Sequence[float], trials: int, seed: int
) -> list[TablePart]:
    """Return PrisCrowd and Uniform on drawn crowds, at several bandwidths and epsilon0."""

    def methods(bandwidth: float, _: Sequence[Dataset]) -> dict[str, DensityMethod]:
        named: tuple[tuple[str, Weighting], ...] = (
            ("PrisCrowd", "combined"),
            ("Uniform", "uniform"),
        )
        return {
            f"{name}, epsilon0 {epsilon0:g}": _printed(bandwidth, weights, epsilon0=epsilon0)
            for epsilon0 in (0.5, 1.0, 2.0)
            for name, weights in named
        }

    return [
        _part(crowd, partial(methods, bandwidth), trials, seed, bandwidth=bandwidth)
        for crowd in crowds
        for bandwidth in widths
    ]


def _by_claims(
    crowds: Sequence[Crowd], numbers: Sequence[int], trials: int, seed: int
) -> list[TablePart]:
    """Return Figure 4."""

    def methods(bandwidth: float, claims: int, _: Sequence[Dataset]) -> dict[str, DensityMethod]:
        repaired = _repaired(bandwidth, "uniform", claims=claims)
        return references() | {
            "PrisCrowd, as meant": _printed(bandwidth, "combined", claims=claims),
            "PrisCrowd, as printed": _printed(bandwidth, "printed", claims=claims),
            "Uniform, as printed": _printed(bandwidth, "uniform", claims=claims),
            "repaired, uniform": Synthetic(method=repaired),
        }

    return [
        _part(crowd, partial(methods, crowd.bandwidth, number), trials, seed, claims=number)
        for crowd in crowds
        for number in numbers
    ]


def _times(trials: int, seed: int) -> list[TablePart]:
    """Return Figure 5: the tasks whose truths are known."""

    def measure(crowd: Crowd, _: bool) -> pd.DataFrame:
        dataset = selected_tasks(crowd.datasets(1, seed)[0], least_answers=LEAST_USERS, known=True)
        return release_times(
            dataset,
            bandwidth=crowd.bandwidth,
            epsilon0=EPSILON0,
            claims=NUMBERS,
            trials=trials,
            seed=seed,
        )

    return [
        TablePart(columns={"dataset": crowd.name}, measure=partial(measure, crowd))
        for crowd in (DRAWN[0], *REAL)
    ]


EVERY = (*DRAWN, *REAL)


def _by_rule(rule: str) -> Figure:
    return Figure(
        title=f"Huai et al. 2019, Table 2, bandwidth={rule!r}",
        lines="density",
        across="method",
        scores=("ise", "sise"),
        parts=partial(_table_by_rule, rule, EVERY),
        quick=partial(_table_by_rule, rule, (SMALL,)),
        sets=REAL_SETS,
        skipped=(
            f"the repaired release and histograms were left out: the bandwidth {rule!r} is learnt "
            "from the claims, which voids their guarantees",
        ),
    )


HUAI_2019: Mapping[str, Figure] = MappingProxyType(
    {
        "huai2019-table-2": Figure(
            title="Huai et al. 2019, Table 2, public bandwidths",
            lines="density",
            across="method",
            scores=("ise", "sise"),
            parts=partial(_table, EVERY),
            quick=partial(_table, (SMALL,)),
            sets=REAL_SETS,
        ),
        "huai2019-table-2-silverman": _by_rule("silverman"),
        "huai2019-table-2-mad": _by_rule("mad"),
        "huai2019-table-2-bandwidths": Figure(
            title="Huai et al. 2019, Table 2, by bandwidth, drawn crowds",
            lines="density",
            across="bandwidth",
            scores=("ise",),
            parts=partial(_bandwidths, DRAWN, BANDWIDTHS),
            quick=partial(_bandwidths, (SMALL,), BANDWIDTHS[::3]),
        ),
        **CASES,
        "huai2019-4": Figure(
            title="Huai et al. 2019, Figure 4: error by the number of claims",
            lines="density",
            across="claims",
            scores=("ise", "sise"),
            parts=partial(_by_claims, (DRAWN[0], *map(near_truth, REAL)), NUMBERS),
            quick=partial(_by_claims, (SMALL,), NUMBERS[::4]),
            sets=REAL_SETS,
        ),
        "huai2019-5": Figure(
            title="Huai et al. 2019, Figure 5: time of a release",
            lines="density",
            across="claims",
            scores=("milliseconds",),
            parts=_times,
            sets=REAL_SETS,
        ),
        **THEOREMS,
        **WEIGHTS,
    }
)
"""The table and the figures by their names on the command line."""
