"""What an epsilon affords for claims at hand: who made how many, about what, is public."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias, get_args

from attrs import evolve
from rich.console import Console
from rich.progress import Progress

from quietcrowd.answers import Answers
from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.loss import ReleaseSize, release_guarantee
from quietcrowd.synthesis.planner import COUNTS, ReleasePlan, UnaffordableError, plan_releases
from quietcrowd.validation import check_choice, check_whole

__all__ = ["Budget", "plan_for_claims"]

Budget: TypeAlias = Literal["claim", "user"]
"""What an epsilon bounds: one claim of a user given the others, or all of them together."""


def plan_for_claims(
    answers: Answers,
    epsilon: float,
    *,
    bandwidth: float,
    per: Budget = "claim",
    delta: float = 1e-6,
    progress: bool = False,
    **fixed: Any,
) -> list[ReleasePlan]:
    """Return plans for a release of claims at hand, the most fruitful over all tasks first.

    But last come those that, within delta, bound nothing of all claims of a user together.

    A task with fewer than k users is refused: so the larger k, the fewer tasks are released, and
    the more users has the smallest of them. Each plan is for the tasks that its k leaves. Of the
    claims themselves none is looked at.

    Parameters
    ----------
    answers : Answers
        The claims.
    epsilon : float
        Of the pair (epsilon, delta); above 0.
    bandwidth : float
        In the unit of the claims.
    per : {"claim", "user"}
        Whether epsilon bounds one claim, or all claims of a user together.
    delta : float
        As of `PrisCrowd.guarantee`.
    progress : bool
        Whether to show a bar on standard error.
    fixed
        As of `plan_releases`, ``claims`` among them.

    Returns
    -------
    list of ReleasePlan
        Their guarantees are of the user with most claims about tasks that are released.

    Raises
    ------
    ParameterError
        Where a parameter is out of its range, or no task has as many users as a given k.
    UnaffordableError
        Where no parameters keep within the budget.

    Examples
    --------
    >>> from quietcrowd.datasets import sensor_crowd
    >>> claims = sensor_crowd(tasks=5, workers=200).answers
    >>> best = plan_for_claims(claims, 3.0, bandwidth=0.4, claims=5, k=80)[0]
    >>> best.guarantee.answers, best.guarantee.epsilon <= 3 < best.guarantee.worker_epsilon
    (5, True)
    """
    check_choice("per", per, get_args(Budget))
    most = int(answers.answers_per_task.max(initial=0))
    counts = [k for k in COUNTS if k <= most] or [COUNTS[0]]
    if "k" in fixed:
        counts = [fixed.pop("k")]
        check_whole("k", counts[0], 1)
        if counts[0] > most:
            raise ParameterError(
                f"nothing can be released: no task has k={counts[0]:,} users, the most is {most:,}"
            )
    plans: list[tuple[int, ReleasePlan]] = []
    missed: list[UnaffordableError] = []
    with Progress(console=Console(stderr=True), disable=not progress, transient=True) as bar:
        for k in bar.track(counts, description="planning"):
            size = ReleaseSize.of(answers, k)
            try:
                (plan,) = plan_releases(
                    epsilon,
                    bandwidth=bandwidth,
                    delta=delta,
                    k=k,
                    users=size.fewest,
                    most_users=size.most,
                    answers=size.answers if per == "user" else 1,
                    tasks=size.tasks,
                    **fixed,
                )
            except UnaffordableError as error:
                missed.append(error)
                continue
            guarantee = release_guarantee(plan.method, size, delta)
            plans.append((size.tasks, evolve(plan, guarantee=guarantee)))
    if not plans:
        raise min(missed, key=lambda error: error.least)
    return [plan for _, plan in sorted(plans, key=_worth, reverse=True)]


def _worth(pair: tuple[int, ReleasePlan]) -> tuple[bool, float]:
    """Return what plans are sorted by, given with their number of tasks."""
    tasks, plan = pair
    return math.isfinite(plan.guarantee.worker_epsilon), tasks * plan.expected
