"""A separate process that plans campaigns, so that uploads do not wait.

It reads one order per line from standard input, a JSON document. It answers each with a line: a
plan, the broken rule, or a failure. It opens no database, since a plan depends only on the order.
It ends when the server closes its input.
"""

import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import define, field

from quietcrowd.domains import Categorical, Domain, Interval, Ordinal
from quietcrowd.exceptions import ParameterError, QuietcrowdError, QuietcrowdWarning
from quietcrowd.mechanisms import Mechanism
from quietcrowd.planning import CampaignPlan, CrowdAssumption, CrowdSize, PlanRow, PublicFacts, plan
from quietcrowd.planning.crowd_assumption import assumption_for
from quietcrowd.planning.equal_loss import Maker
from quietcrowd.planning.planner import default_makers, known_makers
from quietcrowd.planning.simulation import simulated_size
from quietcrowd.validation import check_real

MOST_OF_A_CROWD = 200_000  # maximum number of answers of a simulated crowd, limited by memory

MOST_ANSWERS = 4_000_000
"""Maximum number of answers in one draw of all crowds, over all mechanisms and epsilons."""

_NICE = 10  # lower priority, to favor uploads


class RejectedOrderError(Exception):
    """A broken rule of an order, at a JSON pointer."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(message)
        self.pointer, self.message = pointer, message


@contextmanager
def _about(pointer: str, *names: str) -> Iterator[None]:
    """Point errors at the member of `names` that their message begins with, else at `pointer`."""
    try:
        yield
    except QuietcrowdError as error:
        first = str(error).partition(" ")[0]
        place = f"{pointer.rpartition('/')[0]}/{first}" if first in names else pointer
        raise RejectedOrderError(place, str(error)) from None


@define
class _NotingMaker:
    maker: Maker
    made: list[tuple[Mechanism, float]] = field(factory=list)

    def __call__(self, *, domain: Domain, epsilon: float) -> Mechanism:
        mechanism = self.maker(domain=domain, epsilon=epsilon)
        self.made.append((mechanism, epsilon))
        return mechanism

    def claim_of(self, row: PlanRow, tasks: int) -> float:
        """Return the epsilon from which a row's mechanism was made, found by its privacy loss."""
        for mechanism, claim in self.made:
            guarantee = mechanism.guarantee(answers=row.answers, tasks=tasks)
            if (guarantee.epsilon, guarantee.total_epsilon) == (row.epsilon, row.total_epsilon):
                return claim
        raise ParameterError(
            "campaign.no-mechanism-for-epsilon", mechanism=row.mechanism, epsilon=row.epsilon
        )


def planned(order: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a `PlanDocument`, or raise RefusedOrderError."""
    domain = _domain(order)
    crowd = {name: value for name, value in order["crowd"].items() if value is not None}
    with _about("/crowd/guessers", *order["crowd"]):
        assumption = assumption_for(domain, crowd)
    each = [order["tasks"]] if order["answers"] is None else order["answers"]
    with _about("/answers", "tasks", "workers"):
        sizes = [
            CrowdSize(tasks=order["tasks"], workers=workers, answers=answers)
            for answers in dict.fromkeys(each)
            for workers in dict.fromkeys(order["workers"])
        ]
    makers = _makers(domain, order["mechanisms"])
    for epsilon in order["epsilon"]:
        with _about("/epsilon"):
            PublicFacts(domain=domain, epsilon=epsilon)
    if order["target"] is not None:
        with _about("/target"):
            check_real("target", order["target"], 0)
    _require_bounded(assumption, sizes, len(makers) * len(set(order["epsilon"])))
    with _about("/mechanisms"):
        found = plan(
            tasks=order["tasks"],
            workers=order["workers"],
            answers=order["answers"],
            domain=domain,
            quality=assumption,
            mechanisms=makers,
            epsilon=order["epsilon"],
            per=order["per"],
            target=order["target"],
        )
    return _document(found, makers)


def _domain(order: Mapping[str, Any]) -> Domain:
    kinds = [name for name in ("labels", "levels", "between") if order[name] is not None]
    if len(kinds) != 1:
        given = " and ".join(kinds) or "none of them"
        raise RejectedOrderError(
            f"/{kinds[-1] if kinds else 'labels'}",
            f"use one of labels, levels and between; got {given}",
        )
    [kind] = kinds
    with _about(f"/{kind}"):
        if kind == "labels":
            return Categorical(order["labels"])
        if kind == "levels":
            return Ordinal(order["levels"])
        low, high = order["between"]
        return Interval(low=low, high=high)


def _makers(domain: Domain, names: Sequence[str] | None) -> dict[str, _NotingMaker]:
    usual = default_makers(domain)
    makers: dict[str, Maker] = {}
    with _about("/mechanisms"):
        for name in usual if names is None else names:
            makers |= {name: usual[name]} if name in usual else known_makers([name])
    return {name: _NotingMaker(maker) for name, maker in makers.items()}


def _require_bounded(assumption: CrowdAssumption, sizes: Sequence[CrowdSize], cells: int) -> None:
    simulated = [simulated_size(assumption, size) for size in sizes]
    answers = [one.workers * one.answers for one in simulated]
    for size, one in zip(sizes, answers, strict=True):
        if one > MOST_OF_A_CROWD:
            raise RejectedOrderError(
                "/workers",
                f"{size.workers:,} workers with {size.answers:,} answers each require {one:,} "
                f"simulated answers. The limit of a server is {MOST_OF_A_CROWD:,}. Use fewer "
                "workers or answers, or run quietcrowd plan locally",
            )
    if sum(answers) * (cells + 1) > MOST_ANSWERS:
        raise RejectedOrderError(
            "/epsilon",
            f"{cells:,} combinations of mechanism and epsilon at {len(sizes):,} sizes require "
            f"{sum(answers) * (cells + 1):,} simulated answers. The limit of a server is "
            f"{MOST_ANSWERS:,}. Use fewer of these, or run quietcrowd plan locally",
        )


def _document(found: CampaignPlan, makers: Mapping[str, _NotingMaker]) -> dict[str, Any]:
    told = found.to_dict()
    del told["meeting"]
    told["rows"] = [
        {
            **row.to_dict(),
            "claimed_epsilon": (
                makers[row.mechanism].claim_of(row, found.tasks) if row.private else None
            ),
            "private": row.private,
            "useless": row.private and row.useless,
            "meets": row in found.meeting,
        }
        for row in found.rows
    ]
    return told


def _answer(line: str) -> dict[str, Any]:
    try:
        return {"plan": planned(json.loads(line))}
    except RejectedOrderError as error:
        return {"refused": [error.pointer, error.message]}
    except Exception as error:
        return {"failed": type(error).__name__}


def main() -> None:
    """Answer orders until standard input is closed."""
    if sys.platform != "win32":
        os.nice(_NICE)
    warnings.simplefilter("ignore", QuietcrowdWarning)
    for line in sys.stdin:
        print(json.dumps(_answer(line)), flush=True)


if __name__ == "__main__":
    main()
