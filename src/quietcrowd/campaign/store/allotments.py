"""Assign tasks to workers or invites as they join, those first that were assigned least often.

So the counts of two tasks never differ by more than one. Withdrawn and silent workers count as
well: the tasks of the next worker do not reveal a withdrawal or an answer. In "suggested" campaigns
the order depends on the counts minus target counts ("aims"), which are stored with the results that
the requester sees, so tasks reveal nothing that is not shown yet.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from secrets import randbelow
from typing import Any

from sqlalchemy import Connection, func, select, update

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.result_pages import AIMS, are_paged
from quietcrowd.campaign.terms.promises import AllotmentKind

_ID = 16


def fixed_allotment(row: Any) -> AllotmentKind | None:
    """Return how a campaign assigns tasks, by its configuration once open; None if it does not."""
    said: AllotmentKind | None = row.allotment
    if said is not None and row.config is not None:
        said = json.loads(row.config).get("allotment")
    return said


def draw_allotment(connection: Connection, row: Any, kept: bytes | None = None) -> bytes | None:
    """Sample a new worker's tasks and increment their counts; None without assignment.

    `kept` are tasks sampled before, which are returned instead. This writes as many rows, so that
    the time does not reveal them. Call it in a write transaction, with the open campaign locked.
    """
    if fixed_allotment(row) is None:
        return None
    task = tables.task
    count = json.loads(row.config)["answers_per_participant"]
    aims = read_aims(connection, row)
    groups = _by_aim(connection, row.id, aims) if aims else _by_times_asked(connection, row.id)
    chosen = least_asked(groups, count)
    more = int(kept is None)
    connection.execute(update(task).where(task.c.id.in_(chosen)).values(asked=task.c.asked + more))
    return kept or b"".join(sorted(chosen))


def _by_times_asked(connection: Connection, campaign: bytes) -> Iterator[list[bytes]]:
    task, times = tables.task.c, -1
    mine = task.campaign_id == campaign
    while True:
        least = connection.scalar(select(func.min(task.asked)).where(mine, task.asked > times))
        if least is None:
            return
        times = least
        yield list(connection.scalars(select(task.id).where(mine, task.asked == times)))


def read_aims(connection: Connection, row: Any) -> dict[bytes, int]:
    """Return the target counts by task id, from the results shown now; empty without results."""
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
    task = tables.task.c
    groups = defaultdict(list)
    for id_, asked in connection.execute(
        select(task.id, task.asked).where(task.campaign_id == campaign)
    ):
        groups[asked - aims.get(id_, 0)].append(id_)
    for ahead in sorted(groups):
        yield groups[ahead]


def least_asked(groups: Iterable[list[bytes]], count: int) -> list[bytes]:
    """Return the first `count` tasks of groups of equal rank, sampled within the last group."""
    chosen: list[bytes] = []
    for tied in groups:
        chosen += _any_of(tied, min(len(tied), count - len(chosen)))
        if len(chosen) == count:
            break
    return chosen


def _any_of(tasks: list[bytes], count: int) -> list[bytes]:
    """Partial Fisher-Yates shuffle: all subsets are equally likely."""
    for place in range(count):
        other = place + randbelow(len(tasks) - place)
        tasks[place], tasks[other] = tasks[other], tasks[place]
    return tasks[:count]


def allotted_tasks(stored: bytes | None) -> tuple[bytes, ...]:
    """Unpack a worker's task ids; empty if the worker joined at a server of an older version."""
    packed = stored or b""
    return tuple(packed[at : at + _ID] for at in range(0, len(packed), _ID))
