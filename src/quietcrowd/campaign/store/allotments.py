"""Which tasks each worker is given, where a campaign hands out some: drawn as the worker joins.

Tasks that the fewest were asked come first, and ties are drawn from the operating system's
randomness. So no task is asked more often than another by more than one. Joining alone counts:
whoever leaves, or never sends, was asked all the same. So nobody can tell from the tasks of who
joins next that somebody left, or answered.

Where tasks are handed out by results, those come first that were asked least by what the results
that are shown say: how often they are to be asked is stored with these, in the transaction in which
they are written, and gone with them. Nothing else of the reports is looked at, so nobody can tell
from the tasks of who joins next what is not shown yet. Without such results it is as above.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from secrets import randbelow
from typing import Any

from sqlalchemy import Connection, func, select, update

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.result_pages import AIMS, are_paged
from quietcrowd.campaign.terms.allotment import AllotmentKind

__all__ = ["allotted_tasks", "draw_allotment", "fixed_allotment", "least_asked", "read_aims"]

_ID = 16
"""Bytes of the id of a task."""


def fixed_allotment(row: Any) -> AllotmentKind | None:
    """Return how a campaign, a row of its table, hands out its tasks; None: anybody gets all.

    Once it is open its configuration says so: a server of an older version opens a draft without.
    """
    said: AllotmentKind | None = row.allotment
    if said is not None and row.config is not None:
        said = json.loads(row.config).get("allotment")
    return said


def draw_allotment(connection: Connection, row: Any) -> bytes | None:
    """Draw the tasks of a worker who joins, and count that they were given once more.

    Parameters
    ----------
    connection : Connection
        In a transaction that writes, with the campaign locked.
    row : Row
        Of the table of campaigns; it is open.

    Returns
    -------
    bytes or None
        As they are stored: see `allotted_tasks`. None where the campaign gives all to everybody.
    """
    if fixed_allotment(row) is None:
        return None
    task = tables.task
    count = json.loads(row.config)["answers_per_participant"]
    aims = read_aims(connection, row)
    groups = _by_aim(connection, row.id, aims) if aims else _by_times_asked(connection, row.id)
    chosen = least_asked(groups, count)
    connection.execute(update(task).where(task.c.id.in_(chosen)).values(asked=task.c.asked + 1))
    return b"".join(sorted(chosen))


def _by_times_asked(connection: Connection, campaign: bytes) -> Iterator[list[bytes]]:
    """Yield the tasks that were asked equally often, by their ids; those that the fewest, first."""
    task, times = tables.task.c, -1
    mine = task.campaign_id == campaign
    while True:
        least = connection.scalar(select(func.min(task.asked)).where(mine, task.asked > times))
        if least is None:
            return
        times = least
        yield list(connection.scalars(select(task.id).where(mine, task.asked == times)))


def read_aims(connection: Connection, row: Any) -> dict[bytes, int]:
    """Return how often tasks are to be asked, by the results that are shown; none without."""
    if fixed_allotment(row) != "suggested":
        return {}
    held, page = tables.inference, tables.result_page
    wanted = (
        select(page.c.content)
        .join(held, held.c.campaign_id == page.c.campaign_id)
        .where(page.c.campaign_id == row.id, page.c.kind == AIMS, are_paged())
    )
    pages = map(json.loads, connection.scalars(wanted))
    return {bytes.fromhex(one["task_id"]): one["aim"] for one in chain.from_iterable(pages)}


def _by_aim(
    connection: Connection, campaign: bytes, aims: Mapping[bytes, int]
) -> Iterator[list[bytes]]:
    """Yield the tasks that were asked as much less often than they are to be; the least, first."""
    task = tables.task.c
    groups = defaultdict(list)
    for id_, asked in connection.execute(
        select(task.id, task.asked).where(task.campaign_id == campaign)
    ):
        groups[asked - aims.get(id_, 0)].append(id_)
    for ahead in sorted(groups):
        yield groups[ahead]


def least_asked(groups: Iterable[list[bytes]], count: int) -> list[bytes]:
    """Return so many tasks: those that the fewest were asked, and among equal ones any.

    Parameters
    ----------
    groups : iterable of list of bytes
        The tasks that were asked equally often, by their ids; those that the fewest, first. No more
        groups are taken than needed.
    count : int
        How many different ones are wanted, at most all.
    """
    chosen: list[bytes] = []
    for tied in groups:
        chosen += _any_of(tied, min(len(tied), count - len(chosen)))
        if len(chosen) == count:
            break
    return chosen


def _any_of(tasks: list[bytes], count: int) -> list[bytes]:
    """Return so many of these, all choices equally likely: the first steps of a shuffle."""
    for place in range(count):
        other = place + randbelow(len(tasks) - place)
        tasks[place], tasks[other] = tasks[other], tasks[place]
    return tasks[:count]


def allotted_tasks(stored: bytes | None) -> tuple[bytes, ...]:
    """Return the ids of a worker's tasks, in order; none of who joined at an older server."""
    packed = stored or b""
    return tuple(packed[at : at + _ID] for at in range(0, len(packed), _ID))
