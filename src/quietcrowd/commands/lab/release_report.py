"""Tables and JSON of releases of synthetic claims, and of plans for them."""

from __future__ import annotations

import json
import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from attrs import asdict
from rich.text import Text

from quietcrowd.accounting.consent import show_most_sure
from quietcrowd.answers import Answers
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.commands.printing import console, counted, plain_table, records_of
from quietcrowd.formats.jsonl import json_ready
from quietcrowd.privacy.guarantee import PrivacyGuarantee, show_loss
from quietcrowd.privacy.tails import TailBound

if TYPE_CHECKING:
    from quietcrowd.synthesis import PrisCrowd, ReleasePlan, SyntheticClaims
    from quietcrowd.synthesis.planner import Budget

SHOWN = 10
"""Maximum number of rejected tasks printed."""

PARAMETERS = (
    *("release", "epsilon0", "bandwidth", "claims", "gamma", "k"),
    *("weights", "floor", "drop", "kernel", "cells"),
)
"""Parameters of a method in the JSON output."""


def _print(text: Any = "") -> None:
    if isinstance(text, str):
        text = textwrap.fill(text, 80, break_on_hyphens=False, break_long_words=False)
    console(80).print(text, soft_wrap=isinstance(text, str))


def print_plans(plans: list[ReleasePlan], answers: Answers, epsilon: float, per: Budget) -> None:
    """Print the releases that a budget allows, one row per plan."""
    table = plain_table(
        "k",
        "tasks\nreleased",
        "\ngamma",
        "\nepsilon0",
        "loss per\nclaim",
        "loss per\nuser",
        "expected synthetic\nclaims per task",
        numeric_from=0,
    )
    for plan in plans:
        method, guarantee = plan.method, plan.guarantee
        table.add_row(
            f"{method.k:,}",
            f"{_released(answers, method.k):,}",
            f"{method.gamma:g}",
            f"{method.epsilon0:g}",
            show_loss(guarantee.epsilon),
            show_loss(guarantee.total_epsilon),
            f"{plan.expected:.3g}",
        )
    first = plans[0]
    _print(
        f"Releases within epsilon = {epsilon:g} per {per}, at delta = {first.guarantee.delta:.3g}, "
        f"for {counted(first.method.claims, 'synthetic claim')} per task"
    )
    _print()
    _print(table)
    _print()
    notes = (
        "The command uses the first plan. To fix a plan, set --k, --gamma and --epsilon0. Tasks "
        "with fewer than k users are rejected. loss per user: all claims of the busiest user about "
        "released tasks. The expected claims follow from public numbers. They assume normal claims "
        "about a task, with the standard deviation for which the bandwidth is optimal."
    )
    if not math.isfinite(max(plan.guarantee.total_epsilon for plan in plans)):
        notes += " inf: at this delta, the total loss of a user has no bound."
    _print(notes)


def show_plans_as_json(
    plans: list[ReleasePlan], answers: Answers, epsilon: float, per: Budget
) -> None:
    """Print plans as one JSON object."""
    rows = [
        {
            "k": plan.method.k,
            "released_tasks": _released(answers, plan.method.k),
            "gamma": plan.method.gamma,
            "epsilon0": plan.method.epsilon0,
            "loss_per_claim": plan.guarantee.epsilon,
            "loss_per_user": plan.guarantee.total_epsilon,
            "expected_per_task": plan.expected,
        }
        for plan in plans
    ]
    _print_json({"epsilon": epsilon, "per": per, "delta": plans[0].guarantee.delta, "plans": rows})


def _released(answers: Answers, k: int) -> int:
    return int((answers.answers_per_task >= k).sum())


def print_release(
    synthetic: SyntheticClaims,
    answers: Answers,
    method: PrisCrowd,
    output: Path,
    expected: float | None,
) -> None:
    """Print the released and rejected tasks, the privacy loss, and who may see the output."""
    released = int((synthetic.attempts > 0).sum())
    _print(
        f"{counted(len(answers), 'claim')} of {counted(len(answers.workers), 'user')} about "
        f"{counted(len(answers.tasks), 'task')}: {released:,} released, "
        f"{len(answers.tasks) - released:,} rejected."
    )
    line = f"k = {method.k:,}, gamma = {method.gamma:g}, epsilon0 = {method.epsilon0:g}"
    if expected is not None:
        line += f", planned for about {expected:.3g} synthetic claims per task"
    _print(f"{line}.")
    if released:
        passed = len(synthetic)
        _print(
            f"{counted(int(synthetic.attempts.sum()), 'attempt')}, {passed:,} passed: "
            f"{passed / released:.3g} synthetic claims per released task."
        )
    else:
        _print(f"Nothing is released: no task has k = {counted(method.k, 'user')}.")
    _print_unreleased(synthetic)
    _print()
    guarantee = synthetic.guarantee
    bounded = math.isfinite(guarantee.epsilon)
    _print(_loss_text(guarantee) if bounded else str(guarantee))
    _print()
    _print(_who_may_see(synthetic, output))


def _print_unreleased(synthetic: SyntheticClaims) -> None:
    refused = synthetic.unreleased
    if not len(refused):
        return
    table = plain_table("rejected task", "reason", numeric_from=2)
    for row in refused.head(SHOWN).itertuples(index=False):
        table.add_row(Text(one_line(str(row.task))), row.reason)
    _print()
    _print(table)
    if len(refused) > SHOWN:
        _print(f"… and {len(refused) - SHOWN:,} more")


def _loss_text(guarantee: PrivacyGuarantee) -> str:
    """Describe the privacy loss; the JSON contains the paper's claim for its own procedure."""
    text = f"The privacy loss is {_of_claims(guarantee, guarantee)}."
    if guarantee.tail:
        text = (
            f"With probability at least 1 - {show_loss(guarantee.tail.probability, 3)} each, the "
            f"privacy loss is {_of_claims(guarantee, guarantee.tail)}, against other values fixed "
            "in advance. For composition, pairs of differential privacy at delta = "
            f"{show_loss(guarantee.delta, 3)}: {_of_claims(guarantee, guarantee)}."
        )
    return (
        f"{text} It does not hide which users made claims about which tasks. It is valid only if "
        "range, bandwidth and grid do not depend on the claims, and nothing else about the claims "
        f"is released. A second release has the same loss again. Proof: {guarantee.source}."
    )


def _of_claims(guarantee: PrivacyGuarantee, losses: PrivacyGuarantee | TailBound) -> str:
    text = f"at most epsilon = {show_loss(losses.epsilon)} for one claim, given all others"
    if guarantee.answers > 1:
        text += (
            f", and {show_loss(losses.total_epsilon)} for all {guarantee.answers:,} claims of the "
            "busiest user"
        )
    return text


def _who_may_see(synthetic: SyntheticClaims, output: Path) -> str:
    stay = "Raw claims, densities and weights stay with the collector."
    guarantee = synthetic.guarantee
    loss = (guarantee.tail or guarantee).epsilon
    if synthetic.simulated:
        return f"{output} is simulated: do not share it. {stay}"
    if not synthetic.may_be_shared:
        return (
            f"{output}: a loss of {show_loss(loss)} protects no one. An attacker who knows all "
            f"claims except one may become certain of it. Do not share the file. {stay}"
        )
    rare = ""
    if guarantee.tail:
        rare = f", except with probability {show_loss(guarantee.tail.probability, 3)}"
    return (
        "An attacker who knows all claims except one, and considers two values of it equally "
        f"likely, is at most {show_most_sure(loss)} sure after reading {output}{rare}. If this is "
        f"acceptable, you may share the file once, with this text. {stay}"
    )


def show_release_as_json(
    synthetic: SyntheticClaims,
    answers: Answers,
    method: PrisCrowd,
    output: Path,
    expected: float | None,
    plots: list[Path],
) -> None:
    """Print a release as one JSON object."""
    refused = synthetic.unreleased
    _print_json(
        {
            "claims": len(answers),
            "users": len(answers.workers),
            "tasks": len(answers.tasks),
            "released_tasks": len(answers.tasks) - len(refused),
            "attempts": int(synthetic.attempts.sum()),
            "passed": len(synthetic),
            "expected_per_task": expected,
            "parameters": {name: getattr(method, name) for name in PARAMETERS},
            "guarantee": asdict(synthetic.guarantee),
            "refused": records_of(refused),
            "simulated": synthetic.simulated,
            "may_be_shared": synthetic.may_be_shared,
            "output": str(output),
            "plots": [str(path) for path in plots],
        }
    )


def _print_json(value: dict[str, Any]) -> None:
    typer.echo(json.dumps(_finite(value), allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return json_ready(value)
