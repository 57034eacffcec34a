"""Figures 2 to 5 of H. Sun et al., IEEE Big Data 2018.

The change of the mean absolute error of Algorithm 1 by noise, on crowds whose answers are mostly
missing. ``docs/sparse-answers.md`` says what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, get_args

from quietcrowd.datasets.folder import load_dataset
from quietcrowd.datasets.synthetic import Truths, sparse_crowd
from quietcrowd.evaluation.experiment import Experiment
from quietcrowd.evaluation.papers.figure import Across, Figure, Part
from quietcrowd.inference.averaging import Mean, WeightedMean
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.mechanisms.laplace import LaplacePerturbation
from quietcrowd.mechanisms.matrix_factorization import MatrixFactorization
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.randomized_response import RandomizedResponse
from quietcrowd.mechanisms.two_layer import TwoLayerRandomizedResponse

__all__ = ["MECHANISMS", "SUN_2018"]

EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0)
SPARSITIES = (0.1, 0.3, 0.5, 0.7, 0.9)


RANK, RIDGE = 100, 1.0
"""Of matrix factorisation in all figures; the rank is that of the paper's example of Theorem 5."""


def _ridge(*, domain: Any, epsilon: float) -> MatrixFactorization:
    """Return matrix factorisation as the paper means it: answers as they are, a ridge at least."""
    return MatrixFactorization(
        domain=domain, epsilon=epsilon, variant="ridge", rank=RANK, ridge=RIDGE, fill=0.0
    )


def _fill(*, domain: Any, epsilon: float) -> MatrixFactorization:
    """Return the variant that hides NULL, with the lowest number in place of missing answers."""
    return MatrixFactorization(
        domain=domain, epsilon=epsilon, variant="fill", rank=RANK, ridge=RIDGE, fill=domain.low
    )


METHODS = {"weighted-mean": WeightedMean(smoothing=0.0)}
"""Algorithm 1 as printed."""

MECHANISMS: Mapping[str, Callable[..., Mechanism]] = MappingProxyType(
    {
        "laplace": LaplacePerturbation,
        "response": partial(RandomizedResponse, null="category"),
        "ridge": _ridge,
        "fill": _fill,
    }
)
"""The paper's three mechanisms; "fill" is the repair of matrix factorisation that hides NULL."""

TWO_LAYER: Callable[..., Mechanism] = partial(
    TwoLayerRandomizedResponse, law="epsilon", null="category"
)


def _synthetic_part(
    sparsity: float,
    *,
    workers: int,
    tasks: int,
    truths: Truths,
    epsilons: Sequence[float],
    trials: int,
    seed: int,
) -> Part:
    def build() -> Experiment:
        crowds = [
            sparse_crowd(
                workers=workers, tasks=tasks, sparsity=sparsity, truths=truths, seed=seed + trial
            )
            for trial in range(trials)
        ]
        return Experiment(
            dataset=crowds,
            mechanisms=MECHANISMS,
            epsilons=epsilons,
            methods=METHODS,
            trials=trials,
            seed=seed,
            equal_exact=False,
        )

    return Part(columns={"sparsity": sparsity}, experiment=build)


def _synthetic(
    title: str,
    *,
    workers: int,
    tasks: int,
    sparsities: Sequence[float] = SPARSITIES,
    epsilons: Sequence[float] = EPSILONS,
    truths: Truths = "normal",
    across: Across,
) -> Figure:
    def parts(trials: int, seed: int) -> list[Part]:
        return [
            _synthetic_part(
                sparsity,
                workers=workers,
                tasks=tasks,
                truths=truths,
                epsilons=epsilons,
                trials=trials,
                seed=seed,
            )
            for sparsity in sparsities
        ]

    panel: Across = "sparsity" if across == "claimed_epsilon" else "claimed_epsilon"
    return Figure(title=title, across=across, panel=panel, parts=parts)


def _real_experiment(name: str, epsilons: Sequence[float], trials: int, seed: int) -> Experiment:
    return Experiment(
        dataset=load_dataset(name),
        mechanisms={**MECHANISMS, "two-layer": TWO_LAYER},
        epsilons=epsilons,
        methods=METHODS,
        trials=trials,
        seed=seed,
    )


def _real(title: str, names: Sequence[str], epsilons: Sequence[float]) -> Figure:
    def parts(trials: int, seed: int) -> list[Part]:
        return [
            Part(
                columns={"dataset": name},
                experiment=partial(_real_experiment, name, epsilons, trials, seed),
            )
            for name in names
        ]

    return Figure(title=title, parts=parts)


def _kept(trials: int, seed: int) -> list[Part]:
    """Return the crowds of Figure 2 where answers alone are sent, and nothing is filled in."""

    def experiment(sparsity: float, truths: Truths) -> Experiment:
        return Experiment(
            dataset=[
                sparse_crowd(sparsity=sparsity, truths=truths, seed=seed + trial)
                for trial in range(trials)
            ],
            mechanisms={"laplace": partial(LaplacePerturbation, fill=None)},
            epsilons=EPSILONS,
            methods={"mean": Mean(), **METHODS, "noise-aware": NoiseAware()},
            trials=trials,
            seed=seed,
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


SUN_2018: Mapping[str, Figure] = MappingProxyType(
    {
        "sun2018-2": _synthetic(
            "Sun et al. 2018, Figure 2: 2,000 workers, 200 tasks",
            workers=2_000,
            tasks=200,
            sparsities=(0.9, 0.5),
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
        "sun2018-5": _real("Sun et al. 2018, Figure 5: real crowds", ("wsd", "adult"), EPSILONS),
        "sun2018-3-spread": _synthetic(
            "As Figure 3, with truths spread over the whole domain",
            workers=2_000,
            tasks=200,
            truths="uniform",
            across="sparsity",
        ),
        "sun2018-2-kept": Figure(
            title="The crowds of Figure 2, where nothing is filled in",
            lines="method",
            scores=("mae",),
            parts=_kept,
        ),
    }
)
"""The figures by their names on the command line."""
