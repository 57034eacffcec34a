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
    "LOOKS",
    "SCORE_NAMES",
    "check_picture",
    "new_figure",
    "plot_audit",
    "plot_scores",
    "save_picture",
    "save_with_legend",
]

EQUAL_EXACT = "one-layer*"
"""The one-layer mechanism at another mechanism's exact epsilon."""

LOOKS = (("-", "o"), ("--", "s"), ("-.", "^"), (":", "v"))
"""Line styles and markers of mechanisms."""

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
    looks = dict(zip(rows["mechanism"].unique(), LOOKS, strict=False))
    for (mechanism, method), line in rows.groupby(["mechanism", "method"], sort=False):
        style, marker = looks.get(mechanism, LOOKS[-1])
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


def plot_audit(report: AuditReport, path: Path) -> None:
    """Plot delta against epsilon, with the claimed and the stated guarantee.

    Errors are those of `check_picture`.
    """
    check_picture(path)
    figure = new_figure()
    axes = figure.add_subplot()
    report.draw(axes)
    save_with_legend(figure, [axes], path)
