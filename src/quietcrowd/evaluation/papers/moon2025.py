"""Figures 3 and 4 of MOON, "Mixture Distribution-Based Truth Discovery Algorithm", 2025.

The paper's data sets are not named, its values not printed. Here: real crowds of numbers, and drawn
ones. ``docs/numeric-truths.md`` says what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.datasets.folder import load_dataset
from quietcrowd.datasets.synthetic import sensor_crowd
from quietcrowd.datasets.transforms import log10_dataset, standardised_dataset
from quietcrowd.evaluation.experiment import Experiment
from quietcrowd.evaluation.papers.baselines import KnownErrors, PrivTDSILike, TeslaLike
from quietcrowd.evaluation.papers.figure import Figure, Part
from quietcrowd.inference.averaging import Mean, Median, WeightedMean
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.gtm import GTM
from quietcrowd.inference.kdem import KDEm
from quietcrowd.inference.loss_weighted import CATD, CRH
from quietcrowd.inference.moon import MOON
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.mechanisms.laplace import LaplacePerturbation
from quietcrowd.mechanisms.mechanism import Mechanism

__all__ = ["MOON_2025"]

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)

METHODS: Mapping[str, FittingMethod[Any, Any]] = MappingProxyType(
    {
        "mean": Mean(),
        "median": Median(),
        "weighted-mean": WeightedMean(),
        "crh": CRH(),
        "crh:loss=absolute": CRH(loss="absolute"),
        "catd": CATD(),
        "gtm": GTM(),
        "kdem": KDEm(),
        "tesla-like": TeslaLike(within_bounds=False),
        "moon:variant=quadratic": MOON(variant="quadratic"),
        "moon:variant=variance": MOON(variant="variance"),
        "moon:solver=lagrange": MOON(solver="lagrange"),
        "moon": MOON(truth_prior=None),
        "moon:truth_prior=normal": MOON(truth_prior="normal"),
        "noise-aware": NoiseAware(),
    }
)
"""All methods for numbers, by their names on the command line; but "moon" has no prior of truths
here: moon:truth_prior=none there. Nearest to what is public of the paper is solver=lagrange."""

OF_SAMPLED: Mapping[str, FittingMethod[Any, Any]] = MappingProxyType(
    {"privtdsi-like, crh": CRH(), "privtdsi-like, moon": MOON(truth_prior=None)}
)
"""What infers from sampled answers."""

LAPLACE: Mapping[str, Callable[..., Mechanism]] = MappingProxyType(
    {"laplace": partial(LaplacePerturbation, fill=None)}
)

SIGMAS = (0.3, 3.0)
"""Of good and of bad workers in the drawn crowds."""

LEAST_MINUTES = 1.0
"""Flights whose sources deviate by no more are left out where tasks are standardised."""


def _flights_standardised() -> Dataset:
    return standardised_dataset(load_dataset("flight_20111201"), least_spread=LEAST_MINUTES)


REAL: Mapping[str, Callable[[], Dataset]] = MappingProxyType(
    {
        "emotion": partial(load_dataset, "emotion"),
        "weather_temperature": partial(load_dataset, "weather_temperature"),
        "flight_20111201": partial(load_dataset, "flight_20111201"),
        "flight, standardised": _flights_standardised,
        "population, log10": lambda: log10_dataset(load_dataset("population")),
    }
)


def _real(trials: int, seed: int) -> list[Part]:
    def experiment(load: Callable[[], Dataset]) -> Experiment:
        return Experiment(
            dataset=load(),
            mechanisms=LAPLACE,
            epsilons=EPSILONS,
            methods=METHODS,
            trials=trials,
            seed=seed,
            equal_exact=False,
        )

    return [
        Part(columns={"dataset": name}, experiment=partial(experiment, load))
        for name, load in REAL.items()
    ]


def _sampled(*, domain: Any, epsilon: float, answers: int) -> PrivTDSILike:
    """Return sampling at the same budget of a worker: a quarter of the answers, 4 epsilon each."""
    return PrivTDSILike(
        domain=domain, epsilon=epsilon * answers, tasks_per_worker=max(1, answers // 4)
    )


def _drawn(trials: int, seed: int) -> list[Part]:
    def experiment(
        workers: int,
        share: float,
        mechanisms: Mapping[str, Callable[..., Mechanism]],
        methods: Mapping[str, FittingMethod[Any, Any]],
    ) -> Experiment:
        return Experiment(
            dataset=[
                sensor_crowd(workers=workers, share=share, sigmas=SIGMAS, seed=seed + trial)
                for trial in range(trials)
            ],
            mechanisms=mechanisms,
            epsilons=EPSILONS,
            methods=methods,
            trials=trials,
            seed=seed,
            equal_exact=False,
        )

    parts = []
    for name, workers, share in (("60 x 100, all", 60, 1.0), ("200 x 100, 20 %", 200, 0.2)):
        sigmas = [SIGMAS[worker >= workers // 2] for worker in range(workers)]
        known = KnownErrors(sigmas=sigmas, truth_prior=None)
        sampled = {"privtdsi-like": partial(_sampled, answers=round(100 * share))}
        of_all: dict[str, FittingMethod[Any, Any]] = {**METHODS, "every sigma known": known}
        sent = partial(experiment, workers, share, LAPLACE, of_all)
        drawn = partial(experiment, workers, share, sampled, OF_SAMPLED)
        parts += [Part(columns={"dataset": name}, experiment=build) for build in (sent, drawn)]
    return parts


def _figure(title: str, parts: Callable[[int, int], Sequence[Part]], score: str) -> Figure:
    return Figure(
        title=title,
        lines="method",
        scores=(score,),
        parts=parts,
    )


MOON_2025: Mapping[str, Figure] = MappingProxyType(
    {
        "moon2025-3": _figure("MOON 2025, Figure 3, real crowds", _real, "mae"),
        "moon2025-3-rmse": _figure("MOON 2025, Figure 3, real crowds", _real, "rmse"),
        "moon2025-3-drawn": _figure("MOON 2025, Figure 3, drawn crowds", _drawn, "mae"),
        "moon2025-3-drawn-rmse": _figure("MOON 2025, Figure 3, drawn crowds", _drawn, "rmse"),
        "moon2025-4": _figure("MOON 2025, Figure 4, real crowds", _real, "weight_distance"),
        "moon2025-4-drawn": _figure("MOON 2025, Figure 4, drawn", _drawn, "weight_distance"),
    }
)
"""The figures by their names on the command line."""
