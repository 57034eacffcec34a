"""Display of estimates in notebooks and figures."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import numpy as np

from quietcrowd.exceptions import MissingExtraError

SHOWN = 10
"""Rows of a frame that a notebook shows."""

DRAWN = 100
"""Most tasks or workers with an interval in a figure."""


def as_html(estimate: Any) -> str:
    """Render an estimate for a notebook: summary, notes, the first tasks and workers."""
    frames = {"tasks": estimate.truths_as("pandas"), "workers": estimate.workers_as("pandas")}
    return frames_as_html(repr(estimate), estimate.notes, frames)


def frames_as_html(said: str, notes: Iterable[str], frames: Mapping[str, Any]) -> str:
    """Render a summary, notes and the first rows of frames, keyed by the kind of their rows."""
    parts = [f"<p>{escape(sentence)}</p>" for sentence in (said, *notes)]
    for name, frame in frames.items():
        parts.append(frame.head(SHOWN).to_html(index=False, float_format="{:.3f}".format))
        if len(frame) > SHOWN:
            parts.append(f"<p>… and {len(frame) - SHOWN:,} more {name}</p>")
    return "\n".join(parts)


def new_figure() -> Any:
    """Return an empty Matplotlib figure that needs no display."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "extras.missing", subject="plots need Matplotlib", extra="plots"
        ) from None
    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def plot_estimate(estimate: Any) -> Any:
    """Plot how certain the truths and the workers' errors are."""
    figure = new_figure()
    left, right = figure.subplots(1, 2)
    truths, workers = estimate.truths_as("pandas"), estimate.workers_as("pandas")
    if "confidence" in truths:
        left.hist(truths["confidence"].dropna(), bins=np.linspace(0.0, 1.0, 21))
        left.set(xlabel="confidence", ylabel="tasks", title="truths")
        _plot_intervals(right, workers, "accuracy")
    else:
        _plot_intervals(left, _with_ends(truths), "truth")
        left.set_title("truths")
        _plot_intervals(right, workers, "error_sd" if "error_sd" in workers else "error")
    right.set_title("workers")
    return figure


def _with_ends(truths: Any) -> Any:
    """Add interval ends at two standard errors on each side."""
    around = 2.0 * truths["standard_error"]
    return truths.assign(truth_low=truths["truth"] - around, truth_high=truths["truth"] + around)


def _plot_intervals(axes: Any, frame: Any, name: str) -> None:
    """Plot a column in increasing order, with intervals if it has ends and at most `DRAWN` rows."""
    rows = frame.dropna(subset=[name]).sort_values(name, kind="stable")
    places, middle = np.arange(len(rows)), rows[name].to_numpy(float)
    if f"{name}_low" in rows and len(rows) <= DRAWN:
        ends = np.array([rows[f"{name}_low"], rows[f"{name}_high"]], float)
        axes.vlines(places, *ends, alpha=0.4)
    axes.plot(places, middle, "o", markersize=3)
    axes.set(xlabel=f"in the order of their {name}", ylabel=name)
