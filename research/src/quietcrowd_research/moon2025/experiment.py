"""Figures 3, 4 and 5 of MOON, "Mixture Distribution-Based Truth Discovery Algorithm", 2025.

The paper's data sets are not named, its values not printed. Here: real crowds of numbers, and drawn
ones. ``research/docs/numeric-truths.md`` says what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import pandas as pd

from quietcrowd.datasets import make_crowd
from quietcrowd.datasets.dataset import Dataset, load_dataset
from quietcrowd.evaluation.experiment import Experiment
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.inference.numbers.averaging import Mean, Median, WeightedMean
from quietcrowd.inference.numbers.gtm import GTM
from quietcrowd.inference.numbers.kdem import KDEm
from quietcrowd.inference.numbers.losses import CATD, CRH
from quietcrowd.inference.numbers.moon import MOON
from quietcrowd.mechanisms.laplace import LaplaceMechanism
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd_research.figure import Figure, Part, Parts, TablePart
from quietcrowd_research.moon2025.baselines import KnownErrors, PrivTDSILike, TeslaLike
from quietcrowd_research.moon2025.fit_times import fit_times
from quietcrowd_research.transforms import log10_dataset, standardised_dataset

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)

METHODS: Mapping[str, FittingMethod] = MappingProxyType(
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
here: moon:truth_prior=none there. Nearest to what we have of the paper is solver=lagrange."""

OF_SAMPLED: Mapping[str, FittingMethod] = MappingProxyType(
    {"privtdsi-like, crh": CRH(), "privtdsi-like, moon": MOON(truth_prior=None)}
)
"""What infers from sampled answers."""

LAPLACE: Mapping[str, Callable[..., Mechanism]] = MappingProxyType(
    {"laplace": partial(LaplaceMechanism, fill=None)}
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


REAL_SETS = ("emotion", "weather_temperature", "flight_20111201", "population")
"""Folders that they are read from."""


def _real(
    sets: Mapping[str, Callable[[], Dataset]], epsilons: Sequence[float], trials: int, seed: int
) -> list[Part]:
    def experiment(load: Callable[[], Dataset]) -> Experiment:
        return Experiment(
            dataset=load(),
            mechanisms=LAPLACE,
            epsilons=epsilons,
            methods=METHODS,
            trials=trials,
            random_state=seed,
            equal_exact=False,
        )

    return [
        Part(columns={"dataset": name}, experiment=partial(experiment, load))
        for name, load in sets.items()
    ]


def _sampled(*, domain: Any, epsilon: float, answers: int) -> PrivTDSILike:
    """Return sampling at the same budget of a worker: a quarter of the answers, 4 epsilon each."""
    return PrivTDSILike(
        domain=domain, epsilon=epsilon * answers, tasks_per_worker=max(1, answers // 4)
    )


def _drawn(
    sizes: Sequence[tuple[int, int, float]], epsilons: Sequence[float], trials: int, seed: int
) -> list[Part]:
    """Return drawn crowds of so many workers and tasks, and a part of all answers."""

    def experiment(
        workers: int,
        tasks: int,
        share: float,
        mechanisms: Mapping[str, Callable[..., Mechanism]],
        methods: Mapping[str, FittingMethod],
    ) -> Experiment:
        return Experiment(
            dataset=[
                make_crowd(
                    kind="sensors",
                    workers=workers,
                    tasks=tasks,
                    share=share,
                    sigmas=SIGMAS,
                    random_state=seed + trial,
                )
                for trial in range(trials)
            ],
            mechanisms=mechanisms,
            epsilons=epsilons,
            methods=methods,
            trials=trials,
            random_state=seed,
            equal_exact=False,
        )

    parts = []
    for workers, tasks, share in sizes:
        name = f"{workers} x {tasks}, {'all' if share == 1 else f'{share:.0%}'.replace('%', ' %')}"
        sigmas = [SIGMAS[worker >= workers // 2] for worker in range(workers)]
        known = KnownErrors(sigmas=sigmas, truth_prior=None)
        sampled = {"privtdsi-like": partial(_sampled, answers=round(tasks * share))}
        of_all: dict[str, FittingMethod] = {**METHODS, "every sigma known": known}
        sent = partial(experiment, workers, tasks, share, LAPLACE, of_all)
        drawn = partial(experiment, workers, tasks, share, sampled, OF_SAMPLED)
        parts += [Part(columns={"dataset": name}, experiment=build) for build in (sent, drawn)]
    return parts


REAL_PARTS: Parts = partial(_real, REAL, EPSILONS)
DRAWN_PARTS: Parts = partial(_drawn, ((60, 100, 1.0), (200, 100, 0.2)), EPSILONS)
QUICK_REAL: Parts = partial(_real, {"emotion": REAL["emotion"]}, (1.0,))
QUICK_DRAWN: Parts = partial(_drawn, ((20, 40, 1.0),), (1.0, 10.0))


def _times(
    crowds: Mapping[str, Callable[[int], Dataset]], trials: int, seed: int
) -> list[TablePart]:
    """Return Figure 5: run times on reports, against CRH on the plain answers."""

    def measure(load: Callable[[int], Dataset], _: bool) -> pd.DataFrame:
        return fit_times(
            load(seed),
            methods=TIMED,
            plain=CRH(),
            mechanisms={
                epsilon: LAPLACE["laplace"](domain=load(seed).answers.domain, epsilon=epsilon)
                for epsilon in EPSILONS
            },
            trials=trials,
            seed=seed,
        )

    return [
        TablePart(columns={"dataset": name}, measure=partial(measure, load))
        for name, load in crowds.items()
    ]


TIMED: Mapping[str, FittingMethod] = {
    name: METHODS[name]
    for name in ("moon:solver=lagrange", "moon", "moon:truth_prior=normal", "crh", "tesla-like")
}

TIMED_CROWDS: Mapping[str, Callable[[int], Dataset]] = MappingProxyType(
    {
        "60 x 100, all": lambda seed: make_crowd(kind="sensors", sigmas=SIGMAS, random_state=seed),
        "emotion": lambda _: load_dataset("emotion"),
        "weather_temperature": lambda _: load_dataset("weather_temperature"),
        "flight_20111201": lambda _: load_dataset("flight_20111201"),
    }
)


def _on_real(number: int, what: str, score: str) -> Figure:
    return Figure(
        title=f"MOON 2025, Figure {number}, real crowds{what}",
        lines="method",
        scores=(score,),
        parts=REAL_PARTS,
        quick=QUICK_REAL,
        sets=REAL_SETS,
    )


def _on_drawn(number: int, what: str, score: str) -> Figure:
    return Figure(
        title=f"MOON 2025, Figure {number}, drawn crowds{what}",
        lines="method",
        scores=(score,),
        parts=DRAWN_PARTS,
        quick=QUICK_DRAWN,
    )


MOON_2025: Mapping[str, Figure] = MappingProxyType(
    {
        "moon2025-3": _on_real(3, ", MAE", "mae"),
        "moon2025-3-rmse": _on_real(3, ", RMSE", "rmse"),
        "moon2025-3-drawn": _on_drawn(3, ", MAE", "mae"),
        "moon2025-3-drawn-rmse": _on_drawn(3, ", RMSE", "rmse"),
        "moon2025-4": _on_real(4, "", "weight_distance"),
        "moon2025-4-drawn": _on_drawn(4, "", "weight_distance"),
        "moon2025-5": Figure(
            title="MOON 2025, Figure 5: run time on reports, times that of CRH on plain answers",
            lines="density",
            across="claimed_epsilon",
            scores=("times_plain",),
            parts=partial(_times, TIMED_CROWDS),
            sets=REAL_SETS[:3],
        ),
    }
)
"""The figures by their names on the command line."""
