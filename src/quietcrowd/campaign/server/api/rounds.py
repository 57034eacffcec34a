"""Rounds that are shown, and the results of one task over all of them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from sqlalchemy import Connection, select

from quietcrowd.campaign.protocol.fields import Goal, Id
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.result_documents import Series, ShownRound, ShownRounds
from quietcrowd.campaign.results.shown import rows_of_page
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import ReaderOf, ServiceOf
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.choices import last_begun
from quietcrowd.campaign.store.menus import rounds_of
from quietcrowd.campaign.store.result_pages import ESTIMATES, PAGE_ROWS, has_page
from quietcrowd.campaign.terms.plain_text import reading_order
from quietcrowd.campaign.terms.rounds import Rounds
from quietcrowd.campaign.terms.settings import PREFIX

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}", tags=["results"])


@router.get("/rounds", responses=documented("credential", "not-found", "bad-state"))
def list_rounds(campaign: Id, reader: ReaderOf, service: ServiceOf) -> ShownRounds:
    """Return the rounds that are shown, and the present one."""
    now = service.clock()
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        rounds = _rounds(row)
        found = [
            ShownRound(
                round=one.number,
                begins=_moment(rounds, one.number),
                participants=head["participants"],
                reports=head["reports"],
                failed=head["method"] is None,
            )
            for one in _shown(connection, row.id)
            for head in [json.loads(one.head)]
        ]
    present = last_begun(rounds, now)
    return ShownRounds(present=present if present >= 0 else None, items=found)


@router.get("/series", responses=documented("credential", "not-found", "bad-state"))
def read_series(
    campaign: Id,
    reader: ReaderOf,
    service: ServiceOf,
    task: Annotated[str, Query(max_length=200)],
    goal: Annotated[Goal | None, Query(description="Default: the goal of the campaign.")] = None,
) -> Series:
    """Return the results of one task in all rounds that are shown, the earliest first."""
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        rounds = _rounds(row)
        wanted = goal or row.goal
        if row.goal == "shares" and wanted == "truths":
            raise ProblemError("goal-shares", "Read the series of shares.")
        places = _places(connection, row.id)
        if task not in places:
            raise ProblemError("not-found", "The campaign has no such task.")
        items = [
            {"round": one.number, "begins": _moment(rounds, one.number), **found}
            for one in _shown(connection, row.id)
            for found in _of_task(connection, row.id, one.number, wanted, task, places[task])
        ]
    return Series(task=task, goal=wanted, items=items)


def _rounds(campaign: Any) -> Rounds:
    rounds = rounds_of(campaign.rounds)
    if rounds is None:
        raise ProblemError("bad-state", "The campaign has no rounds.")
    return rounds


def _moment(rounds: Rounds, number: int) -> str:
    return datetime.fromtimestamp(rounds.begin(number), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _shown(connection: Connection, campaign: bytes) -> list[Any]:
    """Return the shown rounds with results, without holding their pages."""
    shown = tables.shown_round.c
    wanted = select(shown.number, shown.head).where(
        shown.campaign_id == campaign, shown.head.is_not(None)
    )
    return list(connection.execute(wanted.order_by(shown.number)).all())


def _places(connection: Connection, campaign: bytes) -> dict[str, int]:
    task = tables.task.c
    names = connection.scalars(select(task.name).where(task.campaign_id == campaign))
    return {name: place for place, name in enumerate(sorted(names, key=reading_order))}


def _of_task(
    connection: Connection, campaign: bytes, number: int, goal: Goal, task: str, place: int
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a task in a round; the row of a truth is at a known place."""
    if goal == "truths":
        rows = rows_of_page(connection, campaign, "truths", place // PAGE_ROWS, number)
        yield from (row for row in rows if row["task"] == task)
        return
    page = 0
    while has_page(connection, campaign, ESTIMATES, page, number):
        rows = rows_of_page(connection, campaign, ESTIMATES, page, number)
        found = [row for row in rows if row["task"] == task]
        if found:
            yield from found
            return
        page += 1
