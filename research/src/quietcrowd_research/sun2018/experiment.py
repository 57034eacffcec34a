"""Figures 2 to 4 of H. Sun et al., IEEE Big Data 2018, on drawn crowds.

The change of the mean absolute error of Algorithm 1 by noise, where answers are mostly missing.
``research/docs/sparse-answers.md`` says what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, get_args

import pandas as pd
from attrs import evolve

from quietcrowd.datasets import make_crowd
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.datasets.synthetic import Truths
from quietcrowd.domains import Interval
from quietcrowd.evaluation.experiment import Experiment
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.inference.numbers.averaging import Mean
from quietcrowd.mechanisms.laplace import LaplaceMechanism
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd_research.figure import Across, Figure, Part, TablePart
from quietcrowd_research.means import tell_means
from quietcrowd_research.sun2018.mechanisms import (
    AS_PRINTED,
    EPSILONS,
    MECHANISMS,
    METHODS,
    RANK,
    small,
)
from quietcrowd_research.sun2018.real_data import REAL, TABLES
from quietcrowd_research.sun2018.task_profiles import task_profiles

PANELS = (0.1, 0.5, 1.0, 5.0, 10.0)
"""Epsilons of Figures 3 and 4, a panel each."""

SMALL = (120, 40)
"""Workers and tasks with ``--quick``."""

SPARSITIES = (0.1, 0.3, 0.5, 0.7, 0.9)


def _crowds(
    size: tuple[int, int], sparsity: float, truths: Truths, trials: int, seed: int
) -> list[Dataset]:
    """Return a drawn crowd for each trial."""
    workers, tasks = size
    return [
        make_crowd(
            kind="sparse",
            workers=workers,
            tasks=tasks,
            sparsity=sparsity,
            truths=truths,
            random_state=seed + trial,
        )
        for trial in range(trials)
    ]


def _synthetic_part(
    sparsity: float,
    *,
    workers: int,
    tasks: int,
    truths: Truths,
    epsilons: Sequence[float],
    mechanisms: Mapping[str, Callable[..., Mechanism]],
    trials: int,
    seed: int,
) -> Part:
    def build() -> Experiment:
        return Experiment(
            dataset=_crowds((workers, tasks), sparsity, truths, trials, seed),
            mechanisms=mechanisms,
            epsilons=epsilons,
            methods=METHODS,
            trials=trials,
            random_state=seed,
            equal_exact=False,
        )

    return Part(columns={"sparsity": sparsity}, experiment=build)


def _synthetic(
    title: str,
    *,
    workers: int,
    tasks: int,
    sparsities: Sequence[float] = SPARSITIES,
    epsilons: Sequence[float] = PANELS,
    truths: Truths = "normal",
    mechanisms: Mapping[str, Callable[..., Mechanism]] = MECHANISMS,
    across: Across,
    quick: Sequence[float] | None = None,
) -> Figure:
    """Return a figure; `quick` are its sparsities in small, by default the first and the last."""

    def parts(
        size: tuple[int, int],
        makers: Mapping[str, Callable[..., Mechanism]],
        few: Sequence[float],
        at: Sequence[float],
        trials: int,
        seed: int,
    ) -> list[Part]:
        return [
            _synthetic_part(
                sparsity,
                workers=size[0],
                tasks=size[1],
                truths=truths,
                epsilons=at,
                mechanisms=makers,
                trials=trials,
                seed=seed,
            )
            for sparsity in few
        ]

    return Figure(
        title=title,
        across=across,
        panel="sparsity" if across == "claimed_epsilon" else "claimed_epsilon",
        parts=partial(parts, (workers, tasks), mechanisms, sparsities, epsilons),
        quick=partial(
            parts,
            SMALL,
            small(mechanisms),
            quick or (sparsities[0], sparsities[-1]),
            (1.0, 10.0),
        ),
    )


def _as_numbers(crowd: Dataset) -> Dataset:
    """Return the crowd with an `Interval` instead of levels, which `NoiseAware` takes as labels."""
    levels: Any = crowd.answers.domain
    interval = Interval(low=levels.low, high=levels.high)
    numbers = levels.numbers(crowd.answers.values)
    return evolve(crowd, answers=crowd.answers.with_values(interval, numbers))


def _kept(size: tuple[int, int], at: Sequence[float], trials: int, seed: int) -> list[Part]:
    """Return the crowds of Figure 2 where answers alone are sent, and nothing is filled in."""

    def experiment(sparsity: float, truths: Truths) -> Experiment:
        return Experiment(
            dataset=[_as_numbers(crowd) for crowd in _crowds(size, sparsity, truths, trials, seed)],
            mechanisms={"laplace": partial(LaplaceMechanism, fill=None)},
            epsilons=at,
            methods={"mean": Mean(), **METHODS, "noise-aware": NoiseAware()},
            trials=trials,
            random_state=seed,
            equal_exact=False,
        )

    return [
        Part(
            columns={"dataset": f"{truths} truths, {sparsity:.0%} missing"},
            experiment=partial(experiment, sparsity, truths),
        )
        for truths in get_args(Truths)
        for sparsity in (0.9, 0.5)
    ]


def _profiles(
    size: tuple[int, int], ranks: Sequence[int], trials: int, seed: int
) -> list[TablePart]:
    """Return the crowds of Figure 2 with the drawn task profile, and with a learnt one."""

    def measure(sparsity: float, truths: Truths, _: bool) -> pd.DataFrame:
        crowds = _crowds(size, sparsity, truths, trials, seed)
        return task_profiles(crowds, epsilons=(1.0, 10.0), ranks=ranks, seed=seed)

    return [
        TablePart(
            columns={"dataset": f"{truths} truths, {sparsity:.0%} missing"},
            measure=partial(measure, sparsity, truths),
        )
        for truths in get_args(Truths)
        for sparsity in (0.9, 0.5)
    ]


SUN_2018: Mapping[str, Figure] = MappingProxyType(
    {
        **TABLES,
        "sun2018-2": _synthetic(
            "Sun et al. 2018, Figure 2: 2,000 workers, 200 tasks",
            workers=2_000,
            tasks=200,
            sparsities=(0.9, 0.5),
            epsilons=EPSILONS,
            across="claimed_epsilon",
        ),
        "sun2018-3": _synthetic(
            "Sun et al. 2018, Figure 3: 2,000 workers, 200 tasks",
            workers=2_000,
            tasks=200,
            across="sparsity",
        ),
        "sun2018-4": _synthetic(
            "Sun et al. 2018, Figure 4: 10,000 workers, 1,000 tasks",
            workers=10_000,
            tasks=1_000,
            sparsities=(0.1, 0.5, 0.9),
            epsilons=(0.1, 1.0, 10.0),
            across="sparsity",
        ),
        **REAL,
        "sun2018-2-paper": _synthetic(
            "Sun et al. 2018, Figure 2, with variant='paper' at low ranks",
            workers=2_000,
            tasks=200,
            sparsities=(0.9, 0.5),
            mechanisms={"ridge": MECHANISMS["ridge"], **AS_PRINTED},
            across="claimed_epsilon",
            quick=(0.5,),
        ),
        "sun2018-3-spread": _synthetic(
            "Sun et al. 2018, Figure 3, with truths spread over the whole domain",
            workers=2_000,
            tasks=200,
            truths="uniform",
            across="sparsity",
        ),
        "sun2018-profiles": Figure(
            title="Sun et al. 2018, Section III-C: task profiles, drawn or learnt from answers",
            lines="table",
            scores=("change", "correlation"),
            parts=partial(_profiles, (2_000, 200), (1, 5, RANK)),
            quick=partial(_profiles, SMALL, (1, 5)),
            tell=tell_means,
        ),
        "sun2018-2-kept": Figure(
            title="Sun et al. 2018, Figure 2, where nothing is filled in",
            lines="method",
            scores=("mae",),
            parts=partial(_kept, (2_000, 200), PANELS),
            quick=partial(_kept, SMALL, (1.0, 10.0)),
        ),
    }
)
"""The figures by their names on the command line."""
