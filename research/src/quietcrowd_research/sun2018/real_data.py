"""Figures 1 and 5, Table II and the bounds of H. Sun et al., IEEE Big Data 2018.

The paper's data sets are public: "Web" is `wsd` with its labels 1, 2, 3 read as 0, 1, 2 of the
levels 0 to 4, as the paper has them: it says that more than 72 % of the truths are 0.
"AdultContent" is `adult`. ``research/docs/sparse-answers.md`` says what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from quietcrowd.datasets.dataset import Dataset, load_dataset
from quietcrowd.domains import Ordinal
from quietcrowd.evaluation.experiment import Experiment
from quietcrowd.evaluation.plots import check_picture, save_with_legend
from quietcrowd.figures import new_figure
from quietcrowd_research.bounds import (
    claimed_factorization_error_bound,
    claimed_laplace_error_bound,
    claimed_randomized_response_error_bound,
    laplace_error_bound,
)
from quietcrowd_research.figure import Figure, Part, TablePart
from quietcrowd_research.sun2018.mechanisms import (
    AS_PRINTED,
    EPSILONS,
    MECHANISMS,
    METHODS,
    TWO_LAYER,
    small,
)
from quietcrowd_research.transforms import recoded_dataset

WSD, ADULT = "wsd", "adult"
"""Folders of the real sets."""

LEVELS = Ordinal(range(5))
"""Of the answers in both sets, as the paper says."""


def _web() -> Dataset:
    return recoded_dataset(load_dataset(WSD), {1: 0, 2: 1, 3: 2}, LEVELS)


SETS: Mapping[str, Callable[[], Dataset]] = MappingProxyType(
    {"Web": _web, "AdultContent": partial(load_dataset, ADULT)}
)


def _distribution(name: str, _: bool) -> pd.DataFrame:
    """Return how often each label is answered, and is the truth."""
    dataset = SETS[name]()
    found = dataset.answers.describe(dataset.truths)
    answers, truths = dict(found.labels or {}), dict(found.truth_labels or {})
    labels = [str(level) for level in LEVELS.labels]
    frame = pd.DataFrame({"label": labels})
    for column, counts in (("answers", answers), ("truths", truths)):
        frame[column] = [counts.get(label, 0) for label in labels]
        frame[f"{column}_part"] = frame[column] / sum(counts.values())
        frame[f"{column}_part_se"] = 0.0
    return frame


def _figure_1(_: int, __: int) -> list[TablePart]:
    return [
        TablePart(columns={"dataset": name}, measure=partial(_distribution, name)) for name in SETS
    ]


def _draw_bars(frame: pd.DataFrame, path: Path, title: str) -> None:
    """Draw the parts of answers and of truths that have each label, a panel per data set."""
    check_picture(path)
    figure = new_figure()
    figure.set_size_inches(8, 3.5)
    panels = figure.subplots(1, frame["dataset"].nunique(), sharey=True, squeeze=False)[0]
    for axes, (name, rows) in zip(panels, frame.groupby("dataset", sort=False), strict=True):
        places = range(len(rows))
        for side, column in ((-0.2, "answers"), (0.2, "truths")):
            axes.bar([place + side for place in places], rows[f"{column}_part"], 0.4, label=column)
        axes.set_xticks(places, rows["label"])
        axes.set_title(name, fontsize="medium")
        axes.set_xlabel("label")
        axes.grid(axis="y", alpha=0.3)
    panels[0].set_ylabel("part")
    figure.suptitle(title)
    save_with_legend(figure, panels, path)


SPARSITY = ("most_sparse", "least_sparse", "mean_sparsity")


def _details(name: str, _: bool) -> pd.DataFrame:
    dataset = SETS[name]()
    found = dataset.answers.describe(dataset.truths)
    row = {
        "workers": found.workers,
        "tasks": found.tasks,
        "answers": found.answers,
        "known_truths": found.truths,
        "most_sparse": found.sparsity.most,
        "least_sparse": found.sparsity.least,
        "mean_sparsity": found.sparsity.mean,
    }
    row |= {f"{name}_se": 0.0 for name in SPARSITY}
    return pd.DataFrame([row])


def _table_2(_: int, __: int) -> list[TablePart]:
    return [TablePart(columns={"dataset": name}, measure=partial(_details, name)) for name in SETS]


def _experiment(
    load: Callable[[], Dataset],
    mechanisms: Mapping[str, Any],
    epsilons: Sequence[float],
    trials: int,
    seed: int,
) -> Experiment:
    return Experiment(
        dataset=load(),
        mechanisms=mechanisms,
        epsilons=epsilons,
        methods=METHODS,
        trials=trials,
        random_state=seed,
    )


ALL = {**MECHANISMS, "two-layer": TWO_LAYER}
PAPER_5 = {"paper-5": AS_PRINTED["paper-5"]}
"""In "Web" every worker has 17 answers or more; in "AdultContent" some have one, too few for it."""


def _figure_5(
    sets: Mapping[str, tuple[Callable[[], Dataset], Mapping[str, Any]]],
    epsilons: Sequence[float],
    trials: int,
    seed: int,
) -> list[Part]:
    return [
        Part(
            columns={"dataset": name},
            experiment=partial(_experiment, load, mechanisms, epsilons, trials, seed),
        )
        for name, (load, mechanisms) in sets.items()
    ]


WEB = {"Web": (_web, ALL | PAPER_5)}
BOTH = {**WEB, "AdultContent": (SETS["AdultContent"], ALL)}
AS_CODED = {WSD: (partial(load_dataset, WSD), ALL)}


def _bounds(_: bool) -> pd.DataFrame:
    """Return the bounds of Theorems 2, 3 and 5 in the paper's example, for truths of 0 and of 1."""
    setting: dict[str, Any] = {"answered": 0.1, "sigma": 1.0, "epsilon": 1.0}
    filled: dict[str, Any] = {**setting, "fill": range(10), "sensitivity": 10.0}
    rows: list[tuple[str, str, float, float, float]] = []
    for truth, said in ((0.0, "14.13 (paper)"), (1.0, "14.13 (slides)")):
        claimed = claimed_laplace_error_bound(truth, **filled)
        rows.append(("2, LP", said, truth, claimed, laplace_error_bound(truth, **filled)))
    for truth, said in ((0.0, "3.551"), (1.0, "")):
        claimed = claimed_randomized_response_error_bound(truth, levels=range(10), **setting)
        rows.append(("3, RR", said, truth, claimed, float("nan")))
    factors = claimed_factorization_error_bound(
        factors=100, tasks=1_000, sensitivity=10.0, epsilon=1.0
    )
    rows += [("5, MF", said, t, factors, float("nan")) for t, said in ((0.0, "1.8"), (1.0, ""))]
    names = ["theorem", "printed", "truth", "formula_as_printed", "valid_bound"]
    return pd.DataFrame(rows, columns=names).assign(formula_as_printed_se=0.0, valid_bound_se=0.0)


def _bounds_table(_: int, __: int) -> list[TablePart]:
    return [TablePart(columns={}, measure=_bounds)]


TABLES: Mapping[str, Figure] = MappingProxyType(
    {
        "sun2018-1": Figure(
            title="Sun et al. 2018, Figure 1: answers and truths by label",
            lines="table",
            scores=("answers_part", "truths_part"),
            parts=_figure_1,
            quick=_figure_1,
            sets=(WSD, ADULT),
            draw=_draw_bars,
        ),
        "sun2018-table-2": Figure(
            title="Sun et al. 2018, Table II: sparsity of the real crowds",
            lines="table",
            scores=SPARSITY,
            parts=_table_2,
            quick=_table_2,
            sets=(WSD, ADULT),
        ),
        "sun2018-theorems": Figure(
            title="Sun et al. 2018, Theorems 2, 3 and 5: bounds of the mean absolute error",
            lines="table",
            scores=("formula_as_printed", "valid_bound"),
            parts=_bounds_table,
            quick=_bounds_table,
        ),
    }
)
REAL: Mapping[str, Figure] = MappingProxyType(
    {
        "sun2018-5": Figure(
            title="Sun et al. 2018, Figure 5: real crowds, levels 0 to 4",
            parts=partial(_figure_5, BOTH, EPSILONS),
            quick=partial(_figure_5, {"Web": (_web, small(ALL))}, (1.0, 5.0)),
            sets=(WSD, ADULT),
        ),
        "sun2018-5-as-coded": Figure(
            title="Sun et al. 2018, Figure 5(a), levels 1 to 3 as the set is coded",
            parts=partial(_figure_5, AS_CODED, EPSILONS),
            sets=(WSD,),
        ),
    }
)
"""The figures by their names on the command line."""
