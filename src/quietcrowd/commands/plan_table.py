"""Plans of campaigns in at most 80 columns: a table, or the least number for a target."""

import json
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, TextIO

import typer

from quietcrowd.commands.printing import console, note, plain_table
from quietcrowd.domains import FiniteDomain, Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.planning import (
    CampaignPlan,
    CrowdSize,
    LeastNumber,
    PlanRow,
    least_epsilon,
    least_workers,
)
from quietcrowd.planning import plan as make_plan
from quietcrowd.planning.crowd_assumption import assumption_for
from quietcrowd.planning.equal_loss import exact_loss
from quietcrowd.planning.least import DRAWS
from quietcrowd.planning.pilot import assumption_of_pilot
from quietcrowd.planning.planner import DRAWS_WITH_PILOT, default_makers
from quietcrowd.privacy.guarantee import show_loss

_UNSURE = (
    ". This is not accurate to 3 %: the error barely changes there, or --simulations is too small"
)
_SCORES = {"error_rate": "error rate", "mae": "mean absolute error"}
SHOWN_MEETING = 3
"""Maximum number of rows described in words."""


def print_plan(plan: CampaignPlan, *, errors: bool = False) -> None:
    """Print a plan: the assumptions, a table, and the rows that reach the target."""
    place = sys.stderr if errors else sys.stdout
    out = console(None if place.isatty() else 80)
    out.file = place
    title = f"{plan.tasks:,} tasks: expected {_SCORES[plan.score]}"
    out.print(f"{title}, {plan.draws} crowds simulated for each size", soft_wrap=True)
    _say(f"Assumed: {plan.assumed}.", place)
    out.print()
    heads = ("epsilon,\nanswer", "epsilon,\nworker", "workers", "answers\neach")
    table = plain_table("mechanism", *heads, "error", "90 %\ninterval", numeric_from=1)
    for row in plan.rows:
        table.add_row(
            row.mechanism if row.private else "not private",
            _loss(row.epsilon),
            _loss(row.total_epsilon),
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


def _floor(floor: float, target: float | None) -> str:
    """Say which error stays, and what would measure it if the target is lower."""
    text = (
        f"About {_number(floor)} of the error stays however many answers there are, because "
        "workers share errors. It is assumed, not measured."
    )
    if target is None or target >= floor:
        return text
    return f"{text} The target is lower: known truths of a pilot would show what can be reached."


def _notes(plan: CampaignPlan) -> list[str]:
    guesses = sorted({_number(row.constant) for row in plan.rows})
    between = guesses[0] if len(guesses) == 1 else f"{guesses[0]} to {guesses[-1]}"
    marks = " †: not below this guess." if any(row.useless for row in plan.private) else ""
    notes = [f"The best constant guess: {between}.{marks}", _floor(plan.floor, plan.target)]
    if plan.target is None:
        return notes
    if not plan.meeting:
        best = plan.best
        return [
            *notes,
            f"No row reaches {plan.target:g}; the nearest is {_number(best.error)}: "
            f"{_row_text(best)}. Use more workers, more answers, or a larger epsilon.",
        ]
    told = "; ".join(_row_text(row) for row in plan.meeting[:SHOWN_MEETING])
    return [*notes, f"*: reaches {plan.target:g}. With the fewest answers: {told}."]


def _row_text(row: PlanRow) -> str:
    return (
        f"{row.mechanism} at epsilon {show_loss(row.epsilon, 3)}, {row.workers:,} workers, "
        f"{row.answers:,} answers each"
    )


def print_expected_errors(
    mechanism: Mechanism, name: str, *, tasks: int, workers: int | None, answers: int | None
) -> None:
    """Print the expected error of a campaign on standard error, from public facts."""
    if workers is None:
        raise ParameterError("commands.max-workers-missing")
    if not isinstance(mechanism.domain, FiniteDomain | Interval):
        raise ParameterError("commands.plan-domain-unsupported", domain=mechanism.domain.example())
    each = tasks if answers is None else min(answers, tasks)
    size = CrowdSize(tasks=tasks, workers=workers, answers=each)
    found = make_plan(
        tasks=tasks,
        workers=workers,
        answers=each,
        domain=mechanism.domain,
        mechanisms={name: lambda **_: mechanism},
        epsilon=exact_loss(mechanism, size, "answer"),
    )
    print_plan(found, errors=True)
    note("For other crowds, more workers, or another epsilon, see quietcrowd plan --help.")


def print_minimum(
    what: str,
    *,
    tasks: int,
    workers: Sequence[int],
    answers: Sequence[int] | None,
    budget: int | None,
    domain: Any,
    quality: Any,
    pilot: Any,
    mechanisms: Any,
    epsilon: Sequence[float],
    per: Any,
    target: float | None,
    draws: int | None,
    random_state: int,
    as_json: bool,
) -> None:
    """Print the least number for every mechanism and number of answers per worker."""
    if what not in ("workers", "epsilon"):
        raise ParameterError("commands.find-unknown", subject=what)
    if target is None or budget is not None:
        raise ParameterError("commands.find-needs-target-error")
    worlds = DRAWS_WITH_PILOT if draws is None else draws
    distribution: Any = (
        assumption_for(domain, quality)
        if pilot is None
        else assumption_of_pilot(pilot, worlds=worlds, random_state=random_state)
    )
    shared = {"per": per, "draws": DRAWS if draws is None else draws, "random_state": random_state}
    rows = []
    for name, maker in (mechanisms or default_makers(domain)).items():
        for each in [tasks] if answers is None else answers:
            row = {"mechanism": name, "answers": each, "target": target}
            if what == "workers":
                for loss in epsilon:
                    found = least_workers(
                        target, distribution, maker, loss, tasks=tasks, answers=each, **shared
                    )
                    rows.append(
                        {**row, "epsilon": loss, "workers": found.value, **_how_sure(found)}
                    )
            else:
                for crowd in workers:
                    size = CrowdSize(tasks=tasks, workers=crowd, answers=each)
                    least = least_epsilon(target, distribution, maker, size, **shared)
                    rows.append(
                        {**row, "epsilon": least.value, "workers": crowd, **_how_sure(least)}
                    )
    if as_json:
        typer.echo(json.dumps(rows))
    else:
        _say_in_lines(f"Assumed: {distribution.sentence()}.")
        _say_in_lines(_floor(distribution.floor(), None))
        for row in rows:
            _say_least(row, what, per)


def _say_least(row: dict[str, Any], what: str, per: str) -> None:
    _say_in_lines(
        f"{row['mechanism']}: an expected error of {row['target']:g} needs {row['workers']:,} "
        f"workers with {row['answers']:,} answers each, at epsilon {row['epsilon']:.3g} per "
        f"{per} ({what}: 90 % interval {row['low']:.3g} to {row['high']:.3g}, from "
        f"{row['crowds']:,} crowds){'' if row['sure'] else _UNSURE}"
    )


def _how_sure(found: LeastNumber) -> dict[str, Any]:
    return {"low": found.low, "high": found.high, "crowds": found.crowds, "sure": found.sure}


def _say_in_lines(line: str) -> None:
    typer.echo(textwrap.fill(line, 80, subsequent_indent="  ", break_on_hyphens=False))
