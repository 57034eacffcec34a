"""How often each task is to be asked, where a campaign hands its tasks out by its results.

It follows from the reports that the results were made of, and from how often tasks were given until
then: which is counted as workers join, whoever answers.
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

__all__ = ["GivenTasks", "next_answers", "read_given", "task_aims"]

GivenTasks = Sequence[tuple[bytes, int]]
"""Ids of all tasks, in the order of their names, and how often each was given."""


def read_given(connection: Connection, campaign: Any) -> GivenTasks | None:
    """Return how often tasks were given, in the transaction in which the reports are read.

    Parameters
    ----------
    connection : Connection
        In a transaction.
    campaign : Row
        Of the table of campaigns.

    Returns
    -------
    list of (bytes, int) or None
        See `GivenTasks`; None where the campaign does not hand its tasks out by its results.
    """
    if fixed_allotment(campaign) != "suggested":
        return None
    task = tables.task.c
    wanted = select(task.name, task.id, task.asked).where(task.campaign_id == campaign.id)
    return [(row.id, row.asked) for row in sorted(connection.execute(wanted).all())]


def next_answers(campaign: Any, tasks: int) -> int:
    """Return how many answers are suggested at a time: those of a batch of workers, or more.

    One answer of every second task at least: a server may give out many before it shows more.

    Parameters
    ----------
    campaign : Row
        Of the table of campaigns.
    tasks : int
        How many there are.
    """
    each: int = json.loads(campaign.config)["answers_per_participant"]
    least: int = campaign.at_least
    return max(each * least, -(-tasks // 2))


def task_aims(
    given: GivenTasks, reported: npt.NDArray[np.int64], suggested: npt.NDArray[np.int64]
) -> Iterator[Mapping[str, Any]]:
    """Yield how often each task is to be asked, from the beginning.

    As often as its reports make up for: on average a report is shown of so many tasks given, for
    not everybody answers, or has done so yet. And as often more as is suggested. What is on its way
    about one task, more than about others, so counts.

    Parameters
    ----------
    given : list of (bytes, int)
        See `GivenTasks`.
    reported : ndarray of int, shape (tasks,)
        Of how many reports about each the results were made; at least one in all.
    suggested : ndarray of int, shape (tasks,)
        How many further answers of each are suggested.

    Yields
    ------
    mapping
        ``task_id``, in hex, and ``aim``, a whole number.
    """
    per_report = max(1.0, sum(asked for _, asked in given) / int(reported.sum()))
    aims = np.rint(reported * per_report).astype(np.int64) + suggested
    for (task, _), aim in zip(given, aims.tolist(), strict=True):
        yield {"task_id": task.hex(), "aim": aim}
