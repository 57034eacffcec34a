"""Figure 1 of Li et al., KDD 2018: the density of what they take for the change of the error rate.

For n "important users" that is the product of their flip probabilities, each uniform from 0 to b.
The one-layer mechanism of the same claim has ``(b / 2)^n``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammainc, gammaincinv

from quietcrowd.evaluation.plots import check_picture, save_with_legend
from quietcrowd.figures import new_figure
from quietcrowd_research.bounds import (
    claimed_change_density,
    claimed_vote_error_bound,
    vote_error,
)

WORKERS, HIGH = 2, 1.0
"""Of the panel in which the other one varies."""

HIGHS = (0.4, 0.6, 0.8, 1.0)
NUMBERS = (2, 3, 5, 10)
POINTS = 400


def change_densities() -> pd.DataFrame:
    """Return the densities of both panels.

    Returns
    -------
    pandas.DataFrame
        A row per point: ``panel``, ``workers`` (n), ``high`` (b), ``change`` (A), ``density``.
    """
    curves = [("a", WORKERS, high) for high in HIGHS] + [("b", n, HIGH) for n in NUMBERS]
    frames = []
    for panel, workers, high in curves:
        change = np.linspace(1 / POINTS, 1, POINTS)
        density = claimed_change_density(change, workers=workers, high=high)
        columns = {"panel": panel, "workers": workers, "high": high}
        frames.append(pd.DataFrame({**columns, "change": change, "density": density}))
    return pd.concat(frames, ignore_index=True)


def tell_change_densities(frame: pd.DataFrame) -> Sequence[pd.DataFrame | str]:
    """Return each distribution in numbers, beside the one-layer mechanism, and what it is worth.

    Minus the logarithm of A, less n times that of b, has the gamma distribution of shape n.
    """
    rows = []
    curves: Any = frame.groupby(["panel", "workers", "high"], sort=False)
    for (panel, workers, high), _ in curves:
        rows.append(
            {
                "panel": panel,
                "n": workers,
                "b": high,
                "one-layer_A": (high / 2) ** workers,
                "two-layer_mean A": (high / 2) ** workers,
                "median_A": high**workers * math.exp(-gammaincinv(workers, 0.5)),
                "chance of_more A": float(gammainc(workers, workers * math.log(2))),
            }
        )
    three = [0.9] * 3
    linear = claimed_vote_error_bound(three, linear=True)
    return [
        pd.DataFrame(rows),
        "chance of more A: that the two-layer mechanism has a larger A than the one-layer "
        "mechanism of the same claim. The mean of A is the same for both, since the flip "
        "probabilities are independent: the long tail is a smaller median, and no smaller mean.",
        "A is no change of an error rate: it is derived from a bound that does not hold. Three "
        f"workers of accuracy 0.9 err together with probability {vote_error(three):.3g}; the bound "
        f"of equation 7 says {claimed_vote_error_bound(three):.2g}, and its linear form, which A "
        f"comes from, {linear:.2g}.",
        "b and n are of our choice. Measured changes: li2018-table-2 and li2018-table-3.",
    ]


def draw_change_densities(frame: pd.DataFrame, path: Path, title: str) -> None:
    """Draw both panels; a dot on the axis is what the one-layer mechanism has."""
    check_picture(path)
    figure = new_figure()
    figure.set_size_inches(9.5, 4)
    every = figure.subplots(1, 2)
    names = {"a": f"(a) n = {WORKERS} with different b", "b": f"(b) b = {HIGH:g}, different n"}
    for axes, (panel, rows) in zip(every, frame.groupby("panel", sort=False), strict=True):
        axes.set_title(names[str(panel)], fontsize="medium")
        curves: Any = rows.groupby(["workers", "high"])
        for place, ((workers, high), line) in enumerate(curves):
            label = f"{panel}: " + (f"b = {high:g}" if panel == "a" else f"n = {workers}")
            colour = f"C{place}"
            axes.plot(line["change"], line["density"], color=colour, label=label)
            one = (high / 2) ** workers
            axes.plot([one], [0], "o", color=colour, clip_on=False, zorder=3)
        axes.plot([], [], "o", color="grey", label="one-layer, same claim")
        axes.set_ylim(0, 8)
        axes.set_xlim(0, 1)
        axes.set_xlabel("A, which is no change of an error rate")
        axes.grid(alpha=0.3)
    every[0].set_ylabel("density of A")
    figure.suptitle(title)
    save_with_legend(figure, every, path)
