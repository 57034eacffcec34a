"""Figures of one style, with Matplotlib but without a display."""

from collections.abc import Sequence
from typing import Any

from quietcrowd.exceptions import MissingExtraError

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
"""Colors that color-blind readers distinguish too (Okabe and Ito, 2008)."""

REFERENCE = (0, (1, 3))
"""Line style of results to compare with: a guess, or no privacy."""


def new_figure(width: float = 8.0, height: float = 5.0) -> Any:
    """Return an empty Matplotlib figure of a size in inches.

    Raises
    ------
    MissingExtraError
        If Matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "extras.missing", subject="plots need Matplotlib", extra="plots"
        ) from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def new_panels(
    columns: int = 1,
    rows: int = 1,
    *,
    width: float = 8.0,
    height: float = 4.5,
    share_y: bool = False,
) -> tuple[Any, list[Any]]:
    """Return a figure and its axes, row by row; see `new_figure`."""
    figure = new_figure(width, height)
    panels = list(figure.subplots(rows, columns, sharey=share_y, squeeze=False).flat)
    for axes in panels:
        axes.set_prop_cycle(color=COLORS)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
        axes.set_axisbelow(True)
    return figure, panels


def add_legend(figure: Any, panels: Sequence[Any]) -> None:
    """Add one legend for all panels, if they have any lines."""
    shown: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    if shown:
        figure.legend(
            shown.values(), shown.keys(), loc="outside right upper", fontsize="small", frameon=False
        )
