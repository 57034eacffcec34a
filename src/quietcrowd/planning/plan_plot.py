"""Plot of a plan by Matplotlib, without a screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quietcrowd.evaluation.plots import SCORE_NAMES, check_picture, new_figure, save_with_legend
from quietcrowd.planning.plan_row import PlanRow

__all__ = ["plot_plan"]


def plot_plan(rows: Sequence[PlanRow], path: Path, *, score: str, target: float | None) -> None:
    """Plot expected errors with their intervals against the loss about one answer.

    Each mechanism has a panel, with a line per size of the crowd; dotted lines are non-private.
    """
    check_picture(path)
    private = [row for row in rows if row.private]
    names = list(dict.fromkeys(row.mechanism for row in private))
    figure = new_figure()
    figure.set_size_inches(3.5 + 4 * len(names), 4.5)
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        axes.set_title(name, fontsize="medium")
        axes.set_xlabel("what one answer loses (epsilon)")
        _draw(axes, rows, [row for row in private if row.mechanism == name], target)
    panels[0].set_ylabel(f"{SCORE_NAMES[score]}, with nine campaigns in ten")
    save_with_legend(figure, panels, path)


def _draw(
    axes: Any, every: Sequence[PlanRow], rows: Sequence[PlanRow], target: float | None
) -> None:
    plain = {(row.workers, row.answers): row for row in every if not row.private}
    for place, size in enumerate(dict.fromkeys((row.workers, row.answers) for row in rows)):
        line = sorted((r for r in rows if (r.workers, r.answers) == size), key=lambda r: r.epsilon)
        losses = [row.epsilon for row in line]
        colour = f"C{place % 10}"
        label = f"{size[0]:,} workers, {size[1]:,} answers of each"
        axes.plot(losses, [row.error for row in line], color=colour, marker="o", label=label)
        axes.fill_between(
            losses,
            [row.low for row in line],
            [row.high for row in line],
            color=colour,
            alpha=0.15,
            linewidth=0,
        )
        axes.axhline(plain[size].error, color=colour, linestyle=(0, (1, 3)))
    constant = sum(row.constant for row in rows) / len(rows)
    axes.axhline(constant, color="grey", linestyle=(0, (1, 3)), label="constant guess")
    if target is not None:
        axes.axhline(target, color="black", linewidth=0.8, label="target")
    axes.plot([], [], color="black", linestyle=(0, (1, 3)), label="not private")
    axes.set_xscale("log")
    ticks = sorted({round(row.epsilon, 6) for row in rows})
    axes.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
