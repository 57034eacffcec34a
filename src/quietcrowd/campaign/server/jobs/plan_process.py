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

from quietcrowd.accounting.equal_loss import Maker, mechanism_within, usual_makers
from quietcrowd.campaign.terms.advice import to_requester
from quietcrowd.domains import Categorical, Domain, Interval, Ordinal
from quietcrowd.exceptions import ParameterError, QuietcrowdError, QuietcrowdWarning
from quietcrowd.planning import CampaignPlan, CrowdAssumption, CrowdSize, PlanRow, PublicFacts, plan
from quietcrowd.planning.case import Case, best_questions, case_of, fewest_people, least_total
from quietcrowd.planning.crowd_assumption import assumption_for
from quietcrowd.planning.menu_error import expected_error, expected_of_survey
from quietcrowd.planning.planner import known_makers, usual_draws
from quietcrowd.planning.simulation import simulated_size
from quietcrowd.planning.survey_case import ASSUMED, survey_cases, survey_plan
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
        raise RejectedOrderError(place, to_requester(error)) from None


_SEARCHES = {"people": fewest_people, "questions": best_questions, "total": least_total}


def planned(order: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a `PlanDocument`, or raise RefusedOrderError."""
    domain = _domain(order)
    crowd = {name: value for name, value in order["crowd"].items() if value is not None}
    with _about("/crowd/guessers", *order["crowd"]):
        assumption = assumption_for(domain, crowd)
    least, workers, is_survey = order["least"], order["workers"], order["goal"] == "shares"
    if workers is None:
        if least != "people":
            raise RejectedOrderError("/workers", "required unless least is people")
        workers = [1]
    each = [order["tasks"]] if order["answers"] is None else order["answers"]
    with _about("/answers", "tasks", "workers"):
        sizes = [
            CrowdSize(tasks=order["tasks"], workers=people, answers=answers)
            for answers in dict.fromkeys(each)
            for people in dict.fromkeys(workers)
        ]
    if order["menu"] is not None:
        return _of_menu(order, assumption, sizes)
    makers = _makers(domain, order["mechanisms"])
    _check_losses(domain, order)
    if order["target"] is not None:
        with _about("/target"):
            check_real("target", order["target"], 0)
    losses = order["total_epsilon"] or order["epsilon"] or [None]
    if not is_survey:
        _require_bounded(assumption, sizes, len(makers) * len(set(losses)))
    asked = {
        **{name: order[name] for name in ("tasks", "answers", "total_epsilon", "epsilon")},
        "workers": workers,
        "domain": domain,
        "mechanisms": makers,
        "target": order["target"],
    }
    if least is None:
        with _about("/mechanisms"):
            if is_survey:
                return _document(survey_plan(survey_cases(**asked)))
            return _document(plan(quality=assumption, **asked))
    several = [name for name in _SINGLE if len(order[name] or ()) > 1]
    if several:
        raise RejectedOrderError(f"/{several[0]}", "with least, it must be one number or name")
    with _about("/mechanisms"):
        case = survey_cases(**asked)[0] if is_survey else case_of(quality=assumption, **asked)
    return _least(least, case, ASSUMED if is_survey else assumption.sentence())


_SINGLE = ("workers", "answers", "mechanisms", "total_epsilon", "epsilon")


def _of_menu(
    order: Mapping[str, Any], assumption: CrowdAssumption, sizes: Sequence[CrowdSize]
) -> dict[str, Any]:
    """Return a plan with a row per size, if each worker chooses an entry of a menu."""
    for name in ("total_epsilon", "epsilon", "mechanisms", "least"):
        if order[name] is not None:
            raise RejectedOrderError(f"/{name}", "use it or menu, not both")
    is_survey = order["goal"] == "shares"
    if not is_survey:
        _require_bounded(assumption, sizes, 1)
    totals, shares = (
        [entry[name] for entry in order["menu"]] for name in ("total_epsilon", "share")
    )
    [maker] = usual_makers(assumption.domain).values()
    rows = []
    with _about("/menu"):
        for size in sizes:
            counts: dict[str, Any] = {"tasks": size.tasks, "answers": size.answers}
            mechanisms = [
                mechanism_within(maker, assumption.domain, total, "worker", **counts)
                for total in totals
            ]
            expected = expected_of_survey if is_survey else expected_error
            rows.append(
                expected(mechanisms, shares, workers=size.workers, quality=assumption, **counts)
            )
    found = CampaignPlan(
        rows=tuple(rows),
        tasks=order["tasks"],
        score=rows[0].score,
        assumed=ASSUMED if is_survey else assumption.sentence(),
        floor=0.0,
        target=order["target"],
        draws=0 if is_survey else usual_draws(assumption.domain, order["tasks"]),
    )
    document = _document(found)
    for row in document["rows"]:
        row["verdict"] = row["verdict"].replace(" total of ε", " total of at most ε")
    return document


def _check_losses(domain: Domain, order: Mapping[str, Any]) -> None:
    if order["total_epsilon"] is not None and order["epsilon"] is not None:
        raise RejectedOrderError("/epsilon", "use total_epsilon or epsilon, not both")
    for name in ("total_epsilon", "epsilon"):
        for epsilon in order[name] or ():
            with _about(f"/{name}"):
                PublicFacts(domain=domain, epsilon=epsilon)


def _least(what: str, case: Case, assumed: str) -> dict[str, Any]:
    with _about("/least"):
        found = _SEARCHES[what](case)
        if found is None:
            raise ParameterError("planning.nothing-suffices", what=what)
    row, target = found.row, case.target
    return {
        "tasks": row.tasks,
        "score": row.score,
        "assumed": assumed,
        "target": target,
        "draws": case.crowds,
        "rows": [_row(row, meets=target is not None and found.suffices)],
        "skipped": [],
    }


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


def _makers(domain: Domain, names: Sequence[str] | None) -> dict[str, Maker]:
    usual = usual_makers(domain)
    makers: dict[str, Maker] = {}
    with _about("/mechanisms"):
        for name in usual if names is None else names:
            makers |= {name: usual[name]} if name in usual else known_makers([name])
    return makers


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


def _document(found: CampaignPlan) -> dict[str, Any]:
    document = found.to_dict()
    del document["meeting"]
    document["rows"] = [_row(row, meets=row in found.meeting) for row in found.rows]
    return document


def _row(row: PlanRow, *, meets: bool) -> dict[str, Any]:
    useless = row.private and row.useless
    return {**row.to_dict(), "private": row.private, "useless": useless, "meets": meets}


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
