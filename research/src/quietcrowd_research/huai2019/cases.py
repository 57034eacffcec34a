"""Figure 3 of Huai et al., IJCAI 2019: densities of single tasks, by weights, and the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from quietcrowd.evaluation.plots import (
    LOW_WEIGHT,
    check_picture,
    places_around,
    save_with_legend,
)
from quietcrowd.figures import new_figure
from quietcrowd.synthesis.pris_crowd import PrisCrowd
from quietcrowd.synthesis.weights import Weighting
from quietcrowd_research.figure import Figure, TablePart
from quietcrowd_research.huai2019.crowds import DRAWN, REAL, REAL_SETS, SMALL, Crowd

WEIGHTINGS: tuple[Weighting, ...] = ("combined", "global", "uniform")
"""The paper's; a column each, beside ``true``."""

LOOKS = MappingProxyType(
    {
        "combined": ("red", "-"),
        "global": ("black", "--"),
        "uniform": ("green", "-."),
        "true": ("blue", ":"),
    }
)

PER_SET = 2
"""So many tasks of each set are drawn by lot, as in the paper."""


def _curves(crowd: Crowd, seed: int, _: bool) -> pd.DataFrame:
    """Return the densities of two tasks, along an axis, and their claims.

    A row of ``kind`` "claim" has the weight of a claim, in equal weights, in place of a density.
    The tasks are drawn by lot from those whose true density is known.
    """
    dataset = crowd.datasets(2, seed)[0]
    method = PrisCrowd(release="paper", epsilon0=1.0, bandwidth=crowd.bandwidth)
    density = method.fit(dataset.answers)
    truth = [*crowd.truths.values()][-1](density, dataset)
    known = np.flatnonzero((np.diff(truth.offsets) > 0) & density.released)
    rng = np.random.default_rng(np.random.SeedSequence((seed, len(known))))
    frames = []
    for task in np.sort(rng.choice(known, PER_SET, replace=False)):
        own = slice(*density.claims.offsets[task : task + 2])
        claims = density.values[own]
        x = places_around(claims, crowd.bandwidth, None)
        name = str(density.claims.tasks[int(task)].as_py())
        curves: dict[str, Any] = {
            kind: density.densities(kind).pdf(int(task), x) for kind in WEIGHTINGS
        }
        curves["true"] = truth.pdf(int(task), x)
        frames.append(pd.DataFrame({"task": name, "kind": "density", "x": x, **curves}))
        weights: dict[str, Any] = {
            kind: density.claim_weights(kind)[own] * len(claims) for kind in WEIGHTINGS
        }
        frames.append(pd.DataFrame({"task": name, "kind": "claim", "x": claims, **weights}))
    return pd.concat(frames, ignore_index=True)


def _distances(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how far each density is from the true one: integrated squared errors, by task."""
    rows = []
    for (dataset, task), own in frame.groupby(["dataset", "task"], sort=False):
        curve, claims = own[own["kind"] == "density"], own[own["kind"] == "claim"]
        row: dict[str, Any] = {"dataset": dataset, "task": task, "claims": len(claims)}
        row["of_low_weight"] = int((claims["combined"] < LOW_WEIGHT).sum())
        for kind in WEIGHTINGS:
            squared = (curve[kind] - curve["true"]) ** 2
            row[f"ISE_{kind}"] = float(np.trapezoid(squared, curve["x"]))
        rows.append(row)
    return pd.DataFrame(rows)


def _draw(frame: pd.DataFrame, path: Path, title: str) -> None:
    """Draw a panel per task: densities, and claims below, those of low weight as crosses."""
    check_picture(path)
    tasks = list(frame.groupby(["dataset", "task"], sort=False))
    figure = new_figure()
    figure.set_size_inches(2.2 + 3.2 * PER_SET, 0.6 + 2.4 * (len(tasks) // PER_SET))
    panels = figure.subplots(len(tasks) // PER_SET, PER_SET, squeeze=False).ravel()
    for axes, ((dataset, task), own) in zip(panels, tasks, strict=True):
        curve, claims = own[own["kind"] == "density"], own[own["kind"] == "claim"]
        for kind, (colour, style) in LOOKS.items():
            axes.plot(curve["x"], curve[kind], color=colour, linestyle=style, label=kind)
        low = claims["combined"] < LOW_WEIGHT
        height = -0.05 * axes.get_ylim()[1]
        for chosen, marker, what in ((~low, "o", "claim"), (low, "x", "claim of low weight")):
            places = claims.loc[chosen, "x"]
            level = np.full(len(places), height)
            axes.plot(places, level, marker, color="magenta", markerfacecolor="none", label=what)
        axes.set_ylim(bottom=2 * height)
        axes.set_title(f"{dataset}: {task}", fontsize="small", parse_math=False)
        axes.grid(alpha=0.3)
    figure.suptitle(title)
    save_with_legend(figure, list(panels), path)


def _parts(crowds: Sequence[Crowd], _: int, seed: int) -> list[TablePart]:
    return [
        TablePart(columns={"dataset": crowd.name}, measure=partial(_curves, crowd, seed))
        for crowd in crowds
    ]


def _quick(crowds: Sequence[Crowd], trials: int, seed: int) -> list[TablePart]:
    """Return mean distances from the true density over tasks of crowds that are drawn anew."""

    def measure(crowd: Crowd, progress: bool) -> pd.DataFrame:
        found = np.array(
            [
                _distances(_curves(crowd, seed + 2 * trial, progress).assign(dataset="drawn"))[
                    [f"ISE_{kind}" for kind in WEIGHTINGS]
                ].mean()
                for trial in range(trials)
            ]
        )
        return pd.DataFrame(
            {
                "weights": WEIGHTINGS,
                "ISE": found.mean(axis=0),
                "ISE_se": found.std(axis=0, ddof=1) / np.sqrt(trials),
            }
        )

    return [
        TablePart(columns={"dataset": crowd.name}, measure=partial(measure, crowd))
        for crowd in crowds
    ]


CASES = MappingProxyType(
    {
        "huai2019-3": Figure(
            title="Huai et al. 2019, Figure 3: densities of single tasks",
            lines="table",
            scores=("ISE",),
            parts=partial(_parts, (DRAWN[0], *REAL)),
            quick=partial(_quick, (SMALL,)),
            sets=REAL_SETS,
            draw=_draw,
            tell=lambda frame: [_distances(frame)],
        )
    }
)
"""The figure by its name on the command line."""
