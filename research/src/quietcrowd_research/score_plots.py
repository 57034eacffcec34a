"""Plots of a figure's scores, in panels: by method, or by mechanism."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietcrowd.evaluation.plots import (
    LOOKS,
    SCORE_NAMES,
    check_picture,
    save_with_legend,
)
from quietcrowd.figures import new_figure

if TYPE_CHECKING:
    import pandas as pd

AXIS_NAMES = {
    "claimed_epsilon": "claimed epsilon",
    "sparsity": "sparsity",
    "dataset": "data set",
}

MOST_ACROSS = 3
"""Panels in a row."""


def plot_panels(frame: pd.DataFrame, path: Path, *, title: str, across: str, panel: str) -> None:
    """Plot changes of the mean absolute error, with two standard errors, in panels.

    Mechanisms have colors. The gray line is the change of the best constant guess.
    """
    check_picture(path)
    panels = list(frame.loc[frame["mechanism"] != "none", panel].drop_duplicates())
    panels = panels if isinstance(panels[0], str) else sorted(panels)
    figure = new_figure()
    figure.set_size_inches(1.5 + 3.2 * len(panels), 4)
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, value in zip(every, panels, strict=True):
        _draw_panel(axes, frame, across, panel, value)
        axes.set_title(f"{AXIS_NAMES[panel]} {value}", fontsize="medium")
        axes.set_xlabel(AXIS_NAMES[across])
        axes.grid(alpha=0.3)
    every[0].set_ylabel("change of the mean absolute error")
    figure.suptitle(title)
    save_with_legend(figure, every, path)


def _draw_panel(axes: Any, frame: pd.DataFrame, across: str, panel: str, value: Any) -> None:
    private = frame[frame["mechanism"] != "none"]
    names = list(private["mechanism"].drop_duplicates())
    here = private[private[panel] == value].sort_values(across, kind="stable")
    for mechanism, line in here.groupby("mechanism", sort=False):
        place = names.index(mechanism)
        style, marker = LOOKS[place % len(LOOKS)]
        axes.errorbar(
            line[across],
            line["change"],
            yerr=2 * line["change_se"],
            color=f"C{place}",
            linestyle=style,
            marker=marker,
            markersize=5,
            markerfacecolor="none",
            capsize=2,
            label=mechanism,
        )
    guess = _constant_line(frame, across, panel, value)
    axes.plot(
        list(guess),
        list(guess.values()),
        color="grey",
        linestyle=(0, (1, 3)),
        label="constant guess",
    )
    if across == "claimed_epsilon":
        axes.set_xscale("log")
    axes.set_xticks(list(guess), [f"{x:g}" for x in guess])
    axes.minorticks_off()


def plot_methods(frame: pd.DataFrame, path: Path, *, title: str, panel: str, score: str) -> None:
    """Plot a score of each method against the claimed epsilon, with two standard errors.

    There is a color and a marker per method, and a panel with a separate scale per data set.
    "plain" marks non-private results; the gray line is the best constant guess.
    """
    check_picture(path)
    panels = list(frame[panel].drop_duplicates())
    across = min(len(panels), MOST_ACROSS)
    down = -(-len(panels) // across)
    figure = new_figure()
    figure.set_size_inches(2.2 + 3.4 * across, 0.6 + 3.2 * down)
    every = figure.subplots(down, across, squeeze=False).ravel()
    for axes in every[len(panels) :]:
        axes.set_axis_off()
    for axes, value in zip(every, panels, strict=False):
        _draw_methods(axes, frame[frame[panel] == value], score)
        axes.set_title(str(value), fontsize="medium")
        axes.grid(alpha=0.3)
    for axes in every[: len(panels) : across]:
        axes.set_ylabel(SCORE_NAMES[score])
    for axes in every[max(0, len(panels) - across) : len(panels)]:
        axes.set_xlabel("claimed epsilon")
    figure.suptitle(title)
    save_with_legend(figure, every[: len(panels)], path)


def _draw_methods(axes: Any, rows: pd.DataFrame, score: str) -> None:
    private = rows[rows["mechanism"] != "none"]
    epsilons = sorted(private["claimed_epsilon"].unique())
    references = rows[rows["mechanism"] == "none"]
    plain = dict(zip(references["method"], references[score], strict=True))
    for place, (name, line) in enumerate(private.groupby("method", sort=False)):
        ordered = line.sort_values("claimed_epsilon")
        style, marker = LOOKS[place // 10 % len(LOOKS)][0], "osd^v<>PX*"[place % 10]
        axes.errorbar(
            [epsilons.index(epsilon) for epsilon in ordered["claimed_epsilon"]],
            ordered[score],
            yerr=2 * ordered[f"{score}_se"],
            color=f"C{place % 10}",
            linestyle=style,
            marker=marker,
            markersize=4,
            markerfacecolor="none",
            linewidth=1,
            capsize=2,
            label=name,
        )
        if name in plain and score != "weight_distance":
            axes.plot([len(epsilons)], [plain[name]], color=f"C{place % 10}", marker=marker)
    if score != "weight_distance":
        guess = plain["constant"]
        axes.axhline(guess, color="grey", linestyle=(0, (1, 3)), label="constant guess")
    names = [*(f"{epsilon:g}" for epsilon in epsilons)]
    names += ["plain"] * (score != "weight_distance")
    axes.set_xticks(range(len(names)), names)
    if score == "weight_distance":
        axes.set_ylim(bottom=0)
    else:
        axes.set_yscale("log")


def constant_changes(frame: pd.DataFrame, crowd: str) -> dict[Any, float]:
    """Return the error of the best constant guess minus that of the non-private result, by crowd.

    `crowd` is the column that identifies crowds.
    """
    references = frame[frame["mechanism"] == "none"]
    return {
        name: rows.loc[rows["method"] == "constant", "mae"].iloc[0]
        - rows.loc[rows["method"] != "constant", "mae"].iloc[0]
        for name, rows in references.groupby(crowd)
    }


def _constant_line(frame: pd.DataFrame, across: str, panel: str, value: Any) -> dict[Any, float]:
    crowd = "sparsity" if "sparsity" in frame else "dataset"
    changes = constant_changes(frame, crowd)
    here = frame[(frame["mechanism"] != "none") & (frame[panel] == value)].sort_values(across)
    return {row[across]: changes[row[crowd]] for _, row in here.iterrows()}
