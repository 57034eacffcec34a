"""Target number of times each task is assigned, for campaigns that assign tasks by their results.

It follows from the reports behind the results and from how often tasks were assigned so far. An
assignment counts when a worker joins, whether or not the worker answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import fixed_allotment

GivenTasks = Sequence[tuple[bytes, int]]
"""Ids of all tasks in the order of their names, and how often each was assigned."""


def read_given(connection: Connection, campaign: Any) -> GivenTasks | None:
    """Return how often tasks were assigned, or None unless results assign the tasks.

    `campaign` is a row of its table. The connection must be in the transaction that reads the
    reports.
    """
    if fixed_allotment(campaign) != "suggested":
        return None
    task = tables.task.c
    wanted = select(task.name, task.id, task.asked).where(task.campaign_id == campaign.id)
    return [(row.id, row.asked) for row in sorted(connection.execute(wanted).all())]


def next_answers(campaign: Any, tasks: int) -> int:
    """Return how many answers to suggest at a time, given a campaign (row) and its number of tasks.

    At least those of one release, and one answer for every second task: a server may assign many
    tasks before the next release.
    """
    each: int = json.loads(campaign.config)["answers_per_participant"]
    least: int = campaign.at_least
    return max(each * least, -(-tasks // 2))


def task_aims(
    given: GivenTasks, reported: npt.NDArray[np.int64], suggested: npt.NDArray[np.int64]
) -> Iterator[Mapping[str, Any]]:
    """Yield the target number of assignments per task since the beginning (``task_id``, ``aim``).

    The target is the number of reports times the mean number of assignments per report, plus the
    `suggested` answers, both of shape (tasks,). The mean accounts for workers who have not
    answered. So excess pending assignments of a task count toward its target. At least one report
    is needed.
    """
    per_report = max(1.0, sum(asked for _, asked in given) / int(reported.sum()))
    aims = np.rint(reported * per_report).astype(np.int64) + suggested
    for (task, _), aim in zip(given, aims.tolist(), strict=True):
        yield {"task_id": task.hex(), "aim": aim}
