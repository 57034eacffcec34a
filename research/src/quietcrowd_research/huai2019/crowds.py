"""The crowds of Huai et al., IJCAI 2019: drawn ones of known density, and real ones.

Of the paper's sets `population` is public in the form of the paper. "Indoor Floorplan" is not
public. "Stock" (Li et al., PVLDB 2012) was, beside the flights, on a page of its authors; it is not
among the data sets here. Flights, from the same study, and weather stand in for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from attrs import evolve, frozen

from quietcrowd.datasets import make_crowd
from quietcrowd.datasets.dataset import Dataset, load_dataset
from quietcrowd.synthesis.density import CrowdDensity
from quietcrowd.synthesis.kde import KernelDensities
from quietcrowd_research.huai2019.density_experiment import (
    TrueDensity,
    near_claims_density,
    normal_density,
)
from quietcrowd_research.transforms import log10_dataset, selected_tasks

CLAIMS, GAMMA, LEAST_USERS = 30, 4.0, 5
"""Synthetic claims per task, gamma and k as in the paper, section 5."""

SPREAD = 1.0
"""Of the honest claims in drawn crowds; the bandwidth there, too."""

NEAR = "claims near truth"
"""The true density where a truth is known: that of the claims within one public bandwidth."""


@frozen(kw_only=True)
class Crowd:
    """A data set of the experiments.

    Attributes
    ----------
    name : str
        As tables show it.
    datasets : callable
        Takes the number of trials and a seed; returns the crowds.
    truths : mapping of str to TrueDensity
        What is compared with.
    bandwidth : float
        Public, in the unit of the claims.
    """

    name: str
    datasets: Callable[[int, int], list[Dataset]]
    truths: Mapping[str, TrueDensity]
    bandwidth: float


def _drawn(tasks: int, unreliable: float, trials: int, seed: int) -> list[Dataset]:
    return [
        make_crowd(kind="opinions", tasks=tasks, unreliable=unreliable, random_state=seed + trial)
        for trial in range(trials)
    ]


def _known(crowd: CrowdDensity, dataset: Dataset) -> KernelDensities:
    return normal_density(crowd, dataset.truths, SPREAD)


def _of_all(crowd: CrowdDensity, _: Dataset) -> KernelDensities:
    return crowd.densities("uniform")


def _of_near(near: float, crowd: CrowdDensity, dataset: Dataset) -> KernelDensities:
    return near_claims_density(crowd, dataset.truths, near)


def _real(name: str, title: str, bandwidth: float, *, logarithms: bool = False) -> Crowd:
    """Return a real set: a claim is near the truth where it is within one public bandwidth."""

    def load(_: int, __: int) -> list[Dataset]:
        plain = load_dataset(name)
        dataset = log10_dataset(plain) if logarithms else plain
        return [selected_tasks(dataset, least_answers=LEAST_USERS)]

    truths: dict[str, TrueDensity] = {
        "all claims": _of_all,
        NEAR: partial(_of_near, bandwidth),
    }
    return Crowd(name=title, datasets=load, truths=truths, bandwidth=bandwidth)


def near_truth(crowd: Crowd) -> Crowd:
    """Return a real set that is compared with the claims near the truth alone."""
    return evolve(crowd, truths={NEAR: crowd.truths[NEAR]})


def _drawn_crowd(tasks: int, share: str, unreliable: float) -> Crowd:
    return Crowd(
        name=f"drawn, {share} unreliable",
        datasets=partial(_drawn, tasks, unreliable),
        truths={"N(mu, 1)": _known},
        bandwidth=SPREAD,
    )


DRAWN = (_drawn_crowd(300, "half", 0.5), _drawn_crowd(300, "a fifth", 0.2))
"""300 tasks, 20 workers, of whom some claim anything within 15 of the middle."""

REAL = (
    _real("population", "population, log10", 0.1, logarithms=True),
    _real("flight_20111201", "flight", 10.0),
    _real("weather_temperature", "weather", 2.0),
)
"""Bandwidths of a tenth of a decade, 10 minutes and 2 degrees Fahrenheit.

Round numbers, chosen with an eye on how far the claims lie apart, and not by what comes out.
"""

REAL_SETS = ("population", "flight_20111201", "weather_temperature")
"""Their folders."""

SMALL = _drawn_crowd(20, "half", 0.5)
"""With ``--quick``."""
