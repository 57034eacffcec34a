"""Pictures of how far densities are from the true ones, and of how long they take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietcrowd.evaluation.plots import check_picture, save_with_legend
from quietcrowd.figures import new_figure
from quietcrowd_research.score_plots import MOST_ACROSS

if TYPE_CHECKING:
    import pandas as pd

DENSITY_SCORES = {
    "ise": "ISE",
    "sise": "SISE",
    "milliseconds": "milliseconds",
    "times_plain": "times the plain run",
}
"""What the columns of scores are called."""

DUST = 1e-5
"""Below it an error is what rounding leaves of 0."""

AXES = {
    "claimed_epsilon": "claimed epsilon",
    "claims": "synthetic claims per task",
    "bandwidth": "bandwidth",
}

REFERENCES = ("even density", "raw claims, uniform", "raw claims, combined")
"""Methods that release nothing: lines in grey."""

_GREYS = ((0, (1, 3)), (0, (5, 3)), (0, (5, 2, 1, 2)))


def panels_of(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows of each data set and true density, with a title."""
    if "truth" not in frame:
        return [(str(name), rows) for name, rows in frame.groupby("dataset", sort=False)]
    return [
        (f"{dataset}, against {truth}", rows)
        for (dataset, truth), rows in frame.groupby(["dataset", "truth"], sort=False)
    ]


def plot_errors(frame: pd.DataFrame, path: Path, *, title: str, score: str) -> None:
    """Draw a score of each method, with two standard errors, a panel per set and true density."""
    check_picture(path)
    panels = panels_of(frame)
    names = list(frame["method"].drop_duplicates())
    across = min(len(panels), MOST_ACROSS)
    down = -(-len(panels) // across)
    figure = new_figure()
    figure.set_size_inches(2.4 + 3.0 * across, (0.8 + 0.19 * len(names)) * down + 0.5)
    every = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
    for axes in every[len(panels) :]:
        axes.set_axis_off()
    for axes, (panel, rows) in zip(every, panels, strict=False):
        _draw_points(axes, rows, names, score)
        axes.set_title(panel.replace(", against", ",\nagainst"), fontsize="small")
        axes.set_xlabel(DENSITY_SCORES[score])
        axes.set_yticks(range(len(names)), names, fontsize="small")
        axes.grid(alpha=0.3)
    every[0].invert_yaxis()
    figure.suptitle(title)
    save_with_legend(figure, [], path)


def _draw_points(axes: Any, rows: pd.DataFrame, names: Sequence[str], score: str) -> None:
    """Draw scores on a logarithmic axis; 0 has no place there, and is said in words."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    zero = rows[score] < DUST
    for name in rows.loc[zero, "method"]:
        place = (0.02, names.index(name))
        axes.text(*place, "0", transform=axes.get_yaxis_transform(), va="center", color="grey")
    grey = rows["method"].isin(REFERENCES)
    for colour, shown in (("grey", rows[grey & ~zero]), ("C0", rows[~grey])):
        axes.errorbar(
            shown[score],
            [names.index(name) for name in shown["method"]],
            xerr=2 * shown[f"{score}_se"],
            linestyle="none",
            marker="o",
            markersize=4,
            color=colour,
            capsize=2,
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def plot_across(
    frame: pd.DataFrame, path: Path, *, title: str, across: str, scores: Sequence[str]
) -> None:
    """Draw scores of each method along a column, a row of panels per score, with a legend."""
    check_picture(path)
    panels = panels_of(frame)
    figure = new_figure()
    figure.set_size_inches(2.4 + 3.0 * len(panels), 0.8 + 2.7 * len(scores))
    every = figure.subplots(len(scores), len(panels), squeeze=False)
    names = list(frame["method"].drop_duplicates())
    for score, line in zip(scores, every, strict=True):
        for axes, (panel, rows) in zip(line, panels, strict=True):
            _draw_lines(axes, rows, names, across, score)
            axes.grid(alpha=0.3)
            if score == scores[0]:
                axes.set_title(panel.replace(", against", ",\nagainst"), fontsize="small")
            if score == scores[-1]:
                axes.set_xlabel(AXES[across])
        line[0].set_ylabel(DENSITY_SCORES[score])
    figure.suptitle(title)
    save_with_legend(figure, list(every.ravel()), path)


def _draw_lines(
    axes: Any, rows: pd.DataFrame, names: Sequence[str], across: str, score: str
) -> None:
    private = [name for name in names if name not in REFERENCES]
    for name, line in rows.groupby("method", sort=False):
        ordered = line.sort_values(across)
        if name in REFERENCES:
            style = _GREYS[REFERENCES.index(str(name))]
            axes.plot(ordered[across], ordered[score], color="grey", linestyle=style, label=name)
            continue
        place = private.index(str(name))
        axes.errorbar(
            ordered[across],
            ordered[score],
            yerr=2 * ordered[f"{score}_se"],
            color=f"C{place % 10}",
            marker="osd^v<>P"[place % 8],
            markersize=4,
            markerfacecolor="none",
            linewidth=1,
            capsize=2,
            label=name,
        )
    axes.set_ylim(bottom=0)
