"""Plots of scores, audits and claims, with Matplotlib but without a display."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from quietcrowd.exceptions import ParameterError
from quietcrowd.figures import COLORS, REFERENCE, add_legend, new_figure, new_panels
from quietcrowd.formats.files import check_folder, replacing
from quietcrowd.privacy.guarantee import show_loss

if TYPE_CHECKING:
    import pandas as pd

    from quietcrowd.synthesis.density import CrowdDensity
    from quietcrowd.synthesis.weights import Weighting

__all__ = [
    "EQUAL_EXACT",
    "LOOKS",
    "LOW_WEIGHT",
    "SCORE_NAMES",
    "check_picture",
    "places_around",
    "plot_scores",
    "plot_task_densities",
    "save_picture",
    "save_with_legend",
]


EQUAL_EXACT = "one-layer*"
"""The one-layer mechanism at another mechanism's exact epsilon."""

LOOKS = (("-", "o"), ("--", "s"), ("-.", "^"), (":", "v"))
"""Line styles and markers of mechanisms."""

PICTURES = (".png", ".svg")


def check_picture(path: Path) -> None:
    """Check before long computations that a picture can be written to `path`."""
    if path.suffix.lower() not in PICTURES:
        raise ParameterError("evaluation.picture-name", name=path.name)
    check_folder(path)
    new_figure()


SCORE_NAMES = {
    "error_rate": "error rate",
    "mae": "mean absolute error",
    "rmse": "root mean square error",
    "weight_distance": "distance to the weights without noise",
}


def plot_scores(frame: pd.DataFrame, *, title: str, score: str) -> Any:
    """Plot scores with two standard errors against the claimed epsilon.

    Dotted lines are the non-private results and, in gray, the constant guess. Points of
    `EQUAL_EXACT` are labeled with their epsilon.
    """
    figure, (axes,) = new_panels(height=5.0)
    private = frame[frame["mechanism"] != "none"]
    names = private["method"].unique()
    colors = {name: COLORS[i % len(COLORS)] for i, name in enumerate(names)}
    _draw_references(axes, frame[frame["mechanism"] == "none"], colors, score)
    _draw_mechanisms(axes, private.sort_values("claimed_epsilon", kind="stable"), colors, score)
    axes.set_xlabel("claimed epsilon (natural logarithm)")
    axes.set_ylabel(f"{SCORE_NAMES[score]}, mean and 2 standard errors")
    axes.set_ylim(bottom=-0.01)
    axes.set_title(title)
    add_legend(figure, [axes])
    return figure


def _draw_references(axes: Any, rows: pd.DataFrame, colors: Mapping[str, str], score: str) -> None:
    for _, row in rows.iterrows():
        constant = row["method"] == "constant"
        axes.axhline(
            row[score],
            color="grey" if constant else colors[row["method"]],
            linestyle=REFERENCE,
            label="constant guess" if constant else f"{row['method']}, not private",
        )


def _draw_mechanisms(axes: Any, rows: pd.DataFrame, colors: Mapping[str, str], score: str) -> None:
    looks = dict(zip(rows["mechanism"].unique(), LOOKS, strict=False))
    for (mechanism, method), line in rows.groupby(["mechanism", "method"], sort=False):
        style, marker = looks.get(mechanism, LOOKS[-1])
        axes.errorbar(
            line["claimed_epsilon"],
            line[score],
            yerr=2 * line[f"{score}_se"],
            linestyle=style,
            marker=marker,
            color=colors[str(method)],
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
    """Add one legend for all panels, and write the picture."""
    add_legend(figure, panels)
    save_picture(figure, path)


def save_picture(figure: Any, path: Path) -> None:
    """Write a picture atomically, in the format of its suffix; equal figures give equal bytes."""
    import matplotlib as mpl

    kind = path.suffix.lower().removeprefix(".")
    same = {"metadata": {"Date": None}} if kind == "svg" else {}
    with replacing(path) as temporary, mpl.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(temporary, dpi=120, format=kind, **same)


LOW_WEIGHT = 0.1
"""Claims with a combined weight below this fraction of a uniform weight are marked."""

LONGEST = 60

_CURVES: tuple[tuple[Weighting, str, str], ...] = (
    ("combined", "red", "-"),
    ("global", "black", "--"),
    ("uniform", "green", "-."),
)

Density = Callable[[npt.NDArray[np.float64]], npt.ArrayLike]


def plot_task_densities(
    density: CrowdDensity,
    task: Any,
    path: Path,
    truth: float | None = None,
    true_density: Density | None = None,
) -> None:
    """Plot the claims about one task, and their densities.

    The curves are weighted by combined (red), global (black) and uniform weights (green). Claims
    are circles below the axis, or crosses if their combined weight is less than a tenth of a
    uniform one. `truth` and `true_density` are drawn in blue.
    """
    check_picture(path)
    place = density.position(task)
    own = slice(*density.claims.offsets[place : place + 2])
    claims = density.values[own]
    x = places_around(claims, float(density.bandwidths[place]), truth)
    figure = new_figure()
    axes = figure.add_subplot()
    for weighting, colour, style in _CURVES:
        curve = density.densities(weighting).pdf(place, x)
        used = ", as released" if weighting == density.method.weights else ""
        axes.plot(x, curve, color=colour, linestyle=style, label=f"{weighting} weights{used}")
    if true_density is not None:
        axes.plot(x, true_density(x), color="blue", label="true density")
    if truth is not None:
        axes.axvline(truth, color="blue", linestyle=":", label=f"truth: {truth:g}")
    _mark_claims(axes, claims, density.combined_weights[own])
    axes.set_xlabel("claim")
    axes.set_ylabel("density")
    axes.grid(alpha=0.3)
    title = f"{_short(task)}\nfrom raw claims, only for the collector"
    axes.set_title(title, fontsize="medium", parse_math=False)
    save_with_legend(figure, [axes], path)


def places_around(
    claims: npt.NDArray[np.float64], bandwidth: float, truth: float | None
) -> npt.NDArray[np.float64]:
    """Return positions for evaluation: over the whole range, and densely around each claim."""
    shown = claims if truth is None else np.append(claims, truth)
    over = np.linspace(shown.min() - 4 * bandwidth, shown.max() + 4 * bandwidth, 500)
    near = np.unique(claims)[:, np.newaxis] + bandwidth * np.linspace(-4, 4, 65)
    return np.unique(np.append(over, near))


def _mark_claims(
    axes: Any, claims: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
) -> None:
    low = weights < LOW_WEIGHT / len(weights)
    height = -0.04 * axes.get_ylim()[1]
    axes.axhline(0, color="grey", linewidth=0.8)
    for chosen, marker, colour, what in (
        (~low, "o", "grey", "claim"),
        (low, "x", "purple", "low weight: less than\na tenth of uniform"),
    ):
        axes.plot(
            claims[chosen],
            np.full(chosen.sum(), height),
            linestyle="",
            marker=marker,
            color=colour,
            markerfacecolor="none",
            alpha=0.7,
            label=f"{what} ({chosen.sum():,})",
        )
    axes.set_ylim(bottom=2 * height)


def _short(task: Any) -> str:
    text = " ".join(str(task).split())
    return f"task {text}" if len(text) <= LONGEST else f"task {text[: LONGEST - 1]}…"
