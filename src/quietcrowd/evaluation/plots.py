"""Pictures of results, drawn with Matplotlib without a screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from quietcrowd.exceptions import MissingExtraError
from quietcrowd.formats.whole_file import replacing

if TYPE_CHECKING:
    from quietcrowd.evaluation.experiment import ExperimentResult

__all__ = ["plot_error_rates"]


def _new_figure() -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("plots need Matplotlib: pip install 'quietcrowd[plots]'") from None
    figure = Figure(figsize=(8, 5), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def plot_error_rates(result: ExperimentResult, path: Path) -> None:
    """Draw error rates with two standard errors against the claimed epsilon.

    One line per mechanism and method, one colour per method; dotted lines are the non-private
    results, a grey one the constant guess.
    """
    figure = _new_figure()
    axes = figure.add_subplot()
    frame = result.frame
    private = frame[frame["mechanism"] != "none"]
    styles = dict(zip(private["mechanism"].unique(), ("-", "--", "-.", ":"), strict=False))
    colours = {name: f"C{i}" for i, name in enumerate(private["method"].unique())}
    private = private.sort_values("claimed_epsilon", kind="stable")
    for (mechanism, method), rows in private.groupby(["mechanism", "method"], sort=False):
        axes.errorbar(
            rows["claimed_epsilon"],
            rows["error_rate"],
            yerr=2 * rows["error_rate_se"],
            linestyle=styles.get(mechanism, ":"),
            color=colours[method],
            marker="o",
            markersize=4,
            capsize=2,
            label=f"{method}, {mechanism}",
        )
    for row in frame[frame["mechanism"] == "none"].itertuples():
        constant = row.method == "constant"
        axes.axhline(
            row.error_rate,
            color="grey" if constant else colours[row.method],
            linestyle=(0, (1, 3)),
            label="constant guess" if constant else f"{row.method}, not private",
        )
    axes.set_xlabel("claimed epsilon (natural logarithm)")
    axes.set_ylabel("error rate")
    axes.set_ylim(bottom=0)
    axes.set_title(f"{result.dataset}: error rate, mean of trials, 2 standard errors")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize="small", frameon=False)
    if (private["mechanism"] == "one-layer*").any():
        figure.supxlabel(
            "one-layer*: the one-layer mechanism at the exact epsilon of the other mechanism",
            fontsize="small",
        )
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")
