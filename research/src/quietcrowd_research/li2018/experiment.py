"""Figures 1 to 4 and Tables 1 to 3 of Y. Li et al., KDD 2018: the two-layer mechanism.

``research/docs/two-layer-results.md`` says what comes out. The Duchenne data set is the real one;
Peer Grading is not public, and a drawn crowd of its size stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from quietcrowd.accounting.calibration import two_layer_bounds
from quietcrowd.datasets.dataset import Dataset, load_dataset
from quietcrowd.evaluation.experiment import Experiment
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.labels.voting import MajorityVote, WeightedVote
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.randomized_response import RandomizedResponse
from quietcrowd.mechanisms.two_layer import TwoLayerRandomizedResponse
from quietcrowd_research.figure import Figure, Part, Parts, TablePart
from quietcrowd_research.li2018.clean_accuracy import clean_accuracies
from quietcrowd_research.li2018.drawn_weights import draw_weights, drawn_weights, tell_weights
from quietcrowd_research.li2018.error_changes import (
    BETA,
    EQUAL_CLAIM,
    draw_error_changes,
    tell_error_changes,
)
from quietcrowd_research.li2018.flip_products import (
    change_densities,
    draw_change_densities,
    tell_change_densities,
)
from quietcrowd_research.li2018.guiding_users import WEIGHTINGS, guiding_users
from quietcrowd_research.li2018.peer_grading import PEER_GRADING, drawn_peer_grading
from quietcrowd_research.li2018.printed import (
    DUCHENNE,
    EPSILONS,
    PRINTED,
    PRINTED_SIZES,
)
from quietcrowd_research.means import tell_means

METHODS: Mapping[str, FittingMethod] = {
    "majority": MajorityVote(),
    "weighted-vote": WeightedVote(smoothing=1.0),
    "weighted-vote:smoothing=3": WeightedVote(smoothing=3.0),
}

WEIGHTS_AT = 1.0
"""The claim of Figure 2. The paper names none; its b, .538, allows the p_u that the text tells."""

SHAPE: Mapping[str, Any] = {"alpha": 2, "beta": 2}
"""Of the beta distribution; the paper names the uniform distribution alone."""

_SKIPPED = ("Peer Grading is not public: a drawn crowd of its size, 72 x 26 x 360, stands for it",)


def _at_claim(answers: int, *, domain: Any, epsilon: float) -> Mechanism:
    """Return the two-layer mechanism that loses `epsilon` about an answer of so many."""
    low, high = two_layer_bounds(epsilon, answers, labels=domain.size)
    return TwoLayerRandomizedResponse(domain=domain, low=low, high=high)


def _mechanisms(dataset: Dataset) -> dict[str, Callable[..., Mechanism]]:
    counts = dataset.answers.answers_per_worker
    mean = max(1, round(float(counts[counts > 0].mean())))
    two_layer = TwoLayerRandomizedResponse.from_claimed_epsilon
    return {
        "one-layer": RandomizedResponse,
        "two-layer": two_layer,
        BETA: partial(two_layer, distribution="beta", **SHAPE),
        EQUAL_CLAIM: partial(_at_claim, mean),
    }


def _crowds(name: str, trials: int, seed: int) -> list[Dataset]:
    """Return the real data set, or a drawn one for each trial."""
    if name == PEER_GRADING:
        return [drawn_peer_grading(seed + trial) for trial in range(trials)]
    return [load_dataset(name)]


def _experiment(name: str, epsilons: Sequence[float], trials: int, seed: int) -> Experiment:
    crowds = _crowds(name, trials, seed)
    return Experiment(
        dataset=crowds,
        mechanisms=_mechanisms(crowds[0]),
        epsilons=epsilons,
        methods=METHODS,
        trials=trials,
        random_state=seed,
    )


def _error_parts(name: str, epsilons: Sequence[float], trials: int, seed: int) -> list[Part]:
    build = partial(_experiment, name, epsilons, trials, seed)
    return [Part(columns={"dataset": name}, experiment=build)]


ERRORS: Mapping[str, Parts] = {
    name: partial(_error_parts, name, EPSILONS) for name in (PEER_GRADING, DUCHENNE, "duck")
}
"""A figure and a table of the paper show the same experiments."""


def _errors(title: str, name: str, *, picture: bool) -> Figure:
    return Figure(
        title=f"Li et al. 2018, {title}: {name}",
        lines="table",
        parts=ERRORS[name],
        sets=() if name == PEER_GRADING else (name,),
        quick=partial(_error_parts, name, (1.0, 0.1, 0.0)) if name in PRINTED else None,
        skipped=_SKIPPED if name == PEER_GRADING else (),
        draw=draw_error_changes if picture else None,
        tell=tell_error_changes,
    )


def _weights(trials: int, seed: int) -> list[TablePart]:
    def measure(name: str, _: bool) -> pd.DataFrame:
        crowd = _crowds(name, 1, seed)[0]
        return drawn_weights(crowd, epsilon=WEIGHTS_AT, trials=trials, seed=seed)

    return [
        TablePart(columns={"dataset": name}, measure=partial(measure, name))
        for name in (PEER_GRADING, DUCHENNE)
    ]


def _guides(epsilons: Sequence[float], trials: int, seed: int) -> list[TablePart]:
    def measure(_: bool) -> pd.DataFrame:
        crowd = load_dataset(DUCHENNE)
        return guiding_users(crowd, epsilons=epsilons, trials=trials, seed=seed)

    return [TablePart(columns={"dataset": DUCHENNE}, measure=measure)]


def _products(_: int, __: int) -> list[TablePart]:
    return [TablePart(columns={}, measure=lambda _: change_densities())]


def _clean(_: int, __: int) -> list[TablePart]:
    def measure(_: bool) -> pd.DataFrame:
        return clean_accuracies(load_dataset(DUCHENNE))

    return [TablePart(columns={"dataset": DUCHENNE}, measure=measure)]


def _sizes(_: int, seed: int) -> list[TablePart]:
    """Return Table 1: what is printed, and what is counted."""

    def measure(name: str, __: bool) -> pd.DataFrame:
        crowd = _crowds(name, 1, seed)[0]
        answers = crowd.answers
        counted = (len(answers.tasks), len(answers.workers), len(answers), len(crowd.truths))
        counts = np.array(answers.answers_per_worker)
        rows = zip(
            ("questions", "users", "answers", "known truths"),
            PRINTED_SIZES[name],
            counted,
            strict=True,
        )
        frame = pd.DataFrame(rows, columns=["what", "printed", "counted"])
        busiest = {
            "what": "answers of the busiest user",
            "printed": "",
            "counted": int(counts.max()),
        }
        return pd.concat(
            [frame.astype({"printed": str}), pd.DataFrame([busiest])], ignore_index=True
        )

    return [
        TablePart(columns={"dataset": name}, measure=partial(measure, name))
        for name in (PEER_GRADING, DUCHENNE)
    ]


LI_2018: Mapping[str, Figure] = MappingProxyType(
    {
        "li2018-1": Figure(
            title="Li et al. 2018, Figure 1: the density of A",
            lines="table",
            parts=_products,
            draw=draw_change_densities,
            tell=tell_change_densities,
        ),
        "li2018-2": Figure(
            title="Li et al. 2018, Figure 2: weights of users",
            lines="table",
            parts=_weights,
            sets=(DUCHENNE,),
            skipped=_SKIPPED,
            draw=draw_weights,
            tell=tell_weights,
        ),
        "li2018-3": _errors("Figure 3", PEER_GRADING, picture=True),
        "li2018-4": _errors("Figure 4", DUCHENNE, picture=True),
        "li2018-guides": Figure(
            title="Li et al. 2018, Section 6.3: do users who drew a small p guide the result?",
            lines="table",
            scores=WEIGHTINGS,
            parts=partial(_guides, (1.0, 0.5, 0.1, 0.0)),
            quick=partial(_guides, (1.0, 0.0)),
            sets=(DUCHENNE,),
            tell=tell_means,
        ),
        "li2018-4-duck": _errors("Figure 4, on a set of ours", "duck", picture=True),
        "li2018-table-1": Figure(
            title="Li et al. 2018, Table 1: sizes of the data sets",
            lines="table",
            parts=_sizes,
            sets=(DUCHENNE,),
            skipped=_SKIPPED,
        ),
        "li2018-clean": Figure(
            title="Li et al. 2018, Section 7.2: accuracy without noise, by g of Equation 3",
            lines="table",
            parts=_clean,
            sets=(DUCHENNE,),
        ),
        "li2018-table-2": _errors("Table 2", PEER_GRADING, picture=False),
        "li2018-table-3": _errors("Table 3", DUCHENNE, picture=False),
    }
)
"""Figures and tables by their names on the command line."""
