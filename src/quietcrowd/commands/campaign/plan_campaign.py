"""``quietcrowd campaign create --plan``: the expected error before the campaign is created."""

from __future__ import annotations

from quietcrowd.commands.plan_table import print_plan
from quietcrowd.commands.printing import note
from quietcrowd.domains import FiniteDomain, Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.planning import CrowdSize, plan
from quietcrowd.planning.equal_loss import exact_loss

__all__ = ["tell_plan"]


def tell_plan(
    mechanism: Mechanism, name: str, *, tasks: int, workers: int | None, answers: int | None
) -> None:
    """Print the expected error of a campaign on standard error, from public facts.

    `name` is the mechanism as given, and `answers` the maximum per worker, or None for all tasks.
    Raises ParameterError if `workers` is missing or the campaign cannot be planned.
    """
    if workers is None:
        raise ParameterError("--plan needs --participants: how many workers there are to be")
    if not isinstance(mechanism.domain, FiniteDomain | Interval):
        raise ParameterError(
            "--plan is for labels, and for numbers between bounds; not for "
            f"{mechanism.domain.example()}"
        )
    each = tasks if answers is None else min(answers, tasks)
    size = CrowdSize(tasks=tasks, workers=workers, answers=each)
    found = plan(
        tasks=tasks,
        workers=workers,
        answers=each,
        domain=mechanism.domain,
        mechanisms={name: lambda **_: mechanism},
        epsilon=exact_loss(mechanism, size, "answer"),
    )
    print_plan(found, errors=True)
    note("Other crowds, more workers, another epsilon: quietcrowd plan --help.")
