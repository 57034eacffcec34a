"""Plans of campaigns as a table of at most 80 columns."""

import sys

from quietcrowd.commands.printing import console, plain_table, print_wrapped
from quietcrowd.planning import CampaignPlan, PlanRow
from quietcrowd.planning.verdict import show_total

_SCORES = {"error_rate": "error rate", "mae": "mean absolute error"}
SHOWN_MEETING = 3
"""Maximum number of rows described in words."""


def print_plan(plan: CampaignPlan) -> None:
    """Print a plan: the assumptions, a table, and the rows that reach the target."""
    out = console(None if sys.stdout.isatty() else 80)
    title = f"{plan.tasks:,} questions: expected {_SCORES[plan.score]}"
    out.print(f"{title}, {plan.draws} crowds simulated for each size", soft_wrap=True)
    print_wrapped(f"Assumed: {plan.assumed}.")
    out.print()
    heads = ("total\nepsilon", "epsilon,\nanswer", "people", "answers\neach")
    table = plain_table("mechanism", *heads, "error", "90 %\ninterval", numeric_from=1)
    for row in plan.rows:
        table.add_row(
            row.mechanism if row.private else "not private",
            _loss(row.total_epsilon),
            _loss(row.epsilon),
            f"{row.workers:,}",
            f"{row.answers:,}",
            f"{_number(row.error)}{_mark(plan, row)}",
            f"{_number(row.low)} to {_number(row.high)}",
        )
    out.print(table)
    out.print()
    for sentence in _notes(plan):
        print_wrapped(sentence)


def print_survey(plan: CampaignPlan) -> None:
    """Print the verdicts of a survey, unless there is only one, and the assumptions."""
    rows = plan.rows if len(plan.rows) > 1 else ()
    for row in rows:
        print_wrapped(f"{row.mechanism}: {row.verdict}")
    print_wrapped(f"Assumed: {plan.assumed}.")


def _loss(loss: float) -> str:
    return "" if loss == float("inf") else show_total(loss)


def _number(value: float) -> str:
    return f"{value:.3f}" if value < 100 else f"{value:,.0f}"


def _mark(plan: CampaignPlan, row: PlanRow) -> str:
    if row.private and row.useless:
        return "†"
    if row in plan.meeting:
        return "*"
    return "‡" if row.private and row.standing == "weak" else " "


def _floor(floor: float, target: float | None) -> str:
    """Describe the remaining error, and a way to measure it if the target is lower."""
    text = (
        f"About {_number(floor)} of the error remains with any number of answers, because "
        "workers share errors. This error is assumed, not measured."
    )
    if target is None or target >= floor:
        return text
    return f"{text} The target is lower: known truths of a pilot would show what can be reached."


def _notes(plan: CampaignPlan) -> list[str]:
    guesses = sorted({_number(row.constant) for row in plan.rows})
    between = guesses[0] if len(guesses) == 1 else f"{guesses[0]} to {guesses[-1]}"
    shown = [_mark(plan, row) for row in plan.rows]
    meanings = {"†": "as good as guessing", "‡": "only somewhat better than guessing"}
    marks = "".join(f" {mark}: {words}." for mark, words in meanings.items() if mark in shown)
    notes = [f"The best constant guess: {between}.{marks}", _floor(plan.floor, plan.target)]
    if plan.target is None:
        return notes
    if not plan.meeting:
        best = plan.best
        return [
            *notes,
            f"No row reaches {plan.target:g}; the nearest is {_number(best.error)}: "
            f"{_row_text(best)}. Use more people, other numbers of answers, or a larger total.",
        ]
    rows = "; ".join(_row_text(row) for row in plan.meeting[:SHOWN_MEETING])
    return [*notes, f"*: reaches {plan.target:g}. With the fewest answers: {rows}."]


def _row_text(row: PlanRow) -> str:
    return (
        f"{row.mechanism} at a total epsilon of {show_total(row.total_epsilon)}, "
        f"{row.workers:,} people, {row.answers:,} answers each"
    )
