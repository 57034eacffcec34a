"""Plots of one task's claims, which are not private and only for the collector."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.evaluation.plots import check_picture, new_figure, save_with_legend
from quietcrowd.synthesis.density import CrowdDensity
from quietcrowd.synthesis.weights import Weighting

__all__ = ["LOW_WEIGHT", "places_around", "plot_task_densities"]

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

    Raises `AnswerError` if there is no claim about the task; for other errors see `check_picture`.
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
    title = f"{_short(task)}\nfor the collector's eyes only: made from raw claims"
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
