"""Campaign plan as a table of at most 80 columns."""

from __future__ import annotations

import sys
import textwrap
from typing import TextIO

from quietcrowd.commands.printing import console, plain_table
from quietcrowd.planning import CampaignPlan, PlanRow
from quietcrowd.privacy.guarantee import show_loss

__all__ = ["print_plan"]

_SCORES = {"error_rate": "error rate", "mae": "mean absolute error"}
SHOWN_MEETING = 3
"""Maximum number of rows described in words."""


def print_plan(plan: CampaignPlan, *, errors: bool = False) -> None:
    """Print a plan: the assumptions, a table, and the rows that reach the target.

    `errors` selects standard error, for commands whose output is something else.
    """
    place = sys.stderr if errors else sys.stdout
    out = console(None if place.isatty() else 80)
    out.file = place
    title = f"{plan.tasks:,} tasks: expected {_SCORES[plan.score]}"
    out.print(f"{title}, {plan.draws} crowds simulated for each size", soft_wrap=True)
    _say(f"Assumed: {plan.assumed}.", place)
    out.print()
    heads = ("epsilon,\nanswer", "epsilon,\nworker", "workers", "answers\nof each")
    table = plain_table("mechanism", *heads, "error", "90 %\ninterval", numeric_from=1)
    for row in plan.rows:
        table.add_row(
            row.mechanism if row.private else "not private",
            _loss(row.epsilon),
            _loss(row.worker_epsilon),
            f"{row.workers:,}",
            f"{row.answers:,}",
            f"{_number(row.error)}{_mark(plan, row)}",
            f"{_number(row.low)} to {_number(row.high)}",
        )
    out.print(table)
    out.print()
    for sentence in _notes(plan):
        _say(sentence, place)


def _say(sentence: str, place: TextIO) -> None:
    print(textwrap.fill(sentence, 80, break_on_hyphens=False), file=place)


def _loss(loss: float) -> str:
    return "" if loss == float("inf") else show_loss(loss, 3)


def _number(value: float) -> str:
    return f"{value:.3f}" if value < 100 else f"{value:,.0f}"


def _mark(plan: CampaignPlan, row: PlanRow) -> str:
    if row.private and row.useless:
        return "†"
    return "*" if row in plan.meeting else " "


def _notes(plan: CampaignPlan) -> list[str]:
    guesses = sorted({_number(row.constant) for row in plan.rows})
    between = guesses[0] if len(guesses) == 1 else f"{guesses[0]} to {guesses[-1]}"
    marks = " †: not below that." if any(row.useless for row in plan.private) else ""
    notes = [f"The best constant guess: {between}.{marks}"]
    if plan.target is None:
        return notes
    if not plan.meeting:
        best = plan.best
        return [
            *notes,
            f"No row reaches {plan.target:g}; the nearest is {_number(best.error)}: "
            f"{_told(best)}. Take more workers, more answers, or more epsilon.",
        ]
    told = "; ".join(_told(row) for row in plan.meeting[:SHOWN_MEETING])
    return [*notes, f"*: reaches {plan.target:g}. With the fewest answers: {told}."]


def _told(row: PlanRow) -> str:
    return (
        f"{row.mechanism} at epsilon {show_loss(row.epsilon, 3)}, {row.workers:,} workers, "
        f"{row.answers:,} answers of each"
    )
