"""Plots of results, with Matplotlib but without a display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietcrowd.exceptions import ParameterError
from quietcrowd.formats.files import check_folder, replacing
from quietcrowd.inference.display import new_figure
from quietcrowd.privacy.guarantee import show_loss

if TYPE_CHECKING:
    import pandas as pd

    from quietcrowd.auditing.report import AuditReport

__all__ = [
    "EQUAL_EXACT",
    "SCORE_NAMES",
    "check_picture",
    "constant_changes",
    "new_figure",
    "plot_audit",
    "plot_methods",
    "plot_panels",
    "plot_scores",
    "save_picture",
    "save_with_legend",
]

EQUAL_EXACT = "one-layer*"
"""The one-layer mechanism at another mechanism's exact epsilon."""

_LOOKS = (("-", "o"), ("--", "s"), ("-.", "^"), (":", "v"))


PICTURES = (".png", ".svg")


def check_picture(path: Path) -> None:
    """Check before long computations that a picture can be written to `path`.

    Raises `ParameterError` if the suffix is neither ``.png`` nor ``.svg``, `OSError` if the file
    cannot be written, and `MissingExtraError` if Matplotlib is not installed.
    """
    if path.suffix.lower() not in PICTURES:
        raise ParameterError(f"the name of a picture must end in .png or .svg; got {path.name!r}")
    check_folder(path)
    new_figure()


SCORE_NAMES = {
    "error_rate": "error rate",
    "mae": "mean absolute error",
    "rmse": "root mean square error",
    "weight_distance": "distance of the weights from the plain ones",
}


def plot_scores(frame: pd.DataFrame, path: Path, *, title: str, score: str) -> None:
    """Plot scores with two standard errors against the claimed epsilon, into a PNG file.

    Methods have colors, and mechanisms have line styles and markers. Dotted lines are the
    non-private results and, in gray, the constant guess. Points of `EQUAL_EXACT` are labeled with
    their epsilon.
    """
    check_picture(path)
    figure = new_figure()
    axes = figure.add_subplot()
    private = frame[frame["mechanism"] != "none"]
    colours = {name: f"C{i}" for i, name in enumerate(private["method"].unique())}
    _draw_references(axes, frame[frame["mechanism"] == "none"], colours, score)
    _draw_mechanisms(axes, private.sort_values("claimed_epsilon", kind="stable"), colours, score)
    axes.set_xlabel("claimed epsilon (natural logarithm)")
    axes.set_ylabel(f"{SCORE_NAMES[score]}, mean and 2 standard errors")
    axes.set_ylim(bottom=-0.01)
    axes.set_title(title)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="small", frameon=False)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")


def _draw_references(axes: Any, rows: pd.DataFrame, colours: Mapping[str, str], score: str) -> None:
    for _, row in rows.iterrows():
        constant = row["method"] == "constant"
        axes.axhline(
            row[score],
            color="grey" if constant else colours[row["method"]],
            linestyle=(0, (1, 3)),
            label="constant guess" if constant else f"{row['method']}, not private",
        )


def _draw_mechanisms(axes: Any, rows: pd.DataFrame, colours: Mapping[str, str], score: str) -> None:
    looks = dict(zip(rows["mechanism"].unique(), _LOOKS, strict=False))
    for (mechanism, method), line in rows.groupby(["mechanism", "method"], sort=False):
        style, marker = looks.get(mechanism, _LOOKS[-1])
        axes.errorbar(
            line["claimed_epsilon"],
            line[score],
            yerr=2 * line[f"{score}_se"],
            linestyle=style,
            marker=marker,
            color=colours[str(method)],
            markersize=5,
            markerfacecolor="none",
            capsize=2,
            label=f"{method}, {mechanism}" + (" (exact)" if mechanism == EQUAL_EXACT else ""),
        )
    equal_exact = rows[rows["mechanism"] == EQUAL_EXACT].sort_values(score)
    for _, row in equal_exact.drop_duplicates("claimed_epsilon").iterrows():
        axes.annotate(
            f"exact\n{show_loss(row['exact_epsilon_mean'], 3)}",
            (row["claimed_epsilon"], row[score]),
            textcoords="offset points",
            xytext=(0, 8),
            ha="center",
            va="bottom",
            fontsize="x-small",
        )


AXIS_NAMES = {
    "claimed_epsilon": "claimed epsilon",
    "sparsity": "sparsity",
    "dataset": "data set",
}


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


def save_with_legend(figure: Any, panels: Sequence[Any], path: Path) -> None:
    """Add one legend for all panels, if they have any lines, and write the picture."""
    shown: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    if shown:
        figure.legend(
            shown.values(), shown.keys(), loc="outside right upper", fontsize="small", frameon=False
        )
    save_picture(figure, path)


def save_picture(figure: Any, path: Path) -> None:
    """Write a picture atomically, in the format of its suffix; equal figures give equal bytes."""
    import matplotlib as mpl

    kind = path.suffix.lower().removeprefix(".")
    same = {"metadata": {"Date": None}} if kind == "svg" else {}
    with replacing(path) as temporary, mpl.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(temporary, dpi=120, format=kind, **same)


MOST_ACROSS = 3
"""Panels in a row."""


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
        style, marker = _LOOKS[place // 10 % len(_LOOKS)][0], "osd^v<>PX*"[place % 10]
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


def _draw_panel(axes: Any, frame: pd.DataFrame, across: str, panel: str, value: Any) -> None:
    private = frame[frame["mechanism"] != "none"]
    names = list(private["mechanism"].drop_duplicates())
    here = private[private[panel] == value].sort_values(across, kind="stable")
    for mechanism, line in here.groupby("mechanism", sort=False):
        place = names.index(mechanism)
        style, marker = _LOOKS[place % len(_LOOKS)]
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


def plot_audit(report: AuditReport, path: Path) -> None:
    """Plot delta against epsilon, with the claimed and the stated guarantee.

    Errors are those of `check_picture`.
    """
    check_picture(path)
    figure = new_figure()
    axes = figure.add_subplot()
    report.draw(axes)
    save_with_legend(figure, [axes], path)
