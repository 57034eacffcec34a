"""Display of estimates in notebooks and figures."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import numpy as np

from quietcrowd.figures import COLORS, new_panels

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


def plot_estimate(estimate: Any) -> Any:
    """Plot how certain the truths and the workers' errors are."""
    figure, (left, right) = new_panels(2)
    truths, workers = estimate.truths_as("pandas"), estimate.workers_as("pandas")
    if "confidence" in truths:
        left.hist(truths["confidence"].dropna(), bins=np.linspace(0.0, 1.0, 21), color=COLORS[0])
        left.set(xlabel="confidence", ylabel="tasks", title="Confidence in the truths")
        name = "accuracy"
    else:
        _plot_intervals(left, _with_ends(truths), "truth", "tasks")
        left.set_title("Truths, with two standard errors")
        name = "error_sd" if "error_sd" in workers else "error"
    _plot_intervals(right, workers, name, "workers")
    right.set_title("Workers, with 90 % intervals" if f"{name}_low" in workers else "Workers")
    return figure


def _with_ends(truths: Any) -> Any:
    """Add interval ends at two standard errors on each side."""
    around = 2.0 * truths["standard_error"]
    return truths.assign(truth_low=truths["truth"] - around, truth_high=truths["truth"] + around)


def _plot_intervals(axes: Any, frame: Any, name: str, kind: str) -> None:
    """Plot a column in increasing order, with intervals if it has ends and at most `DRAWN` rows."""
    rows = frame.dropna(subset=[name]).sort_values(name, kind="stable")
    places, middle = np.arange(len(rows)), rows[name].to_numpy(float)
    if f"{name}_low" in rows and len(rows) <= DRAWN:
        ends = np.array([rows[f"{name}_low"], rows[f"{name}_high"]], float)
        axes.vlines(places, *ends, color=COLORS[0], alpha=0.4)
    axes.plot(places, middle, "o", color=COLORS[0], markersize=3)
    axes.set(xlabel=f"{kind}, from the lowest to the highest", ylabel=name)
