"""Options of the tasks of a campaign in the database."""

import json
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.terms.options import COLUMN, among_options
from quietcrowd.domains import Label
from quietcrowd.mechanisms import Mechanism


def read_options(
    connection: Connection, campaign: bytes, mechanism: Mechanism
) -> Mapping[bytes, Sequence[Label]]:
    """Return the options of each task by its id; empty if the mechanism has none."""
    if not mechanism.option_counts:
        return {}
    task = tables.task.c
    wanted = select(task.id, task.data).where(task.campaign_id == campaign)
    return {row.id: json.loads(row.data)[COLUMN] for row in connection.execute(wanted)}


def mechanism_of_tasks(connection: Connection, campaign: bytes, mechanism: Mechanism) -> Mechanism:
    """Return the mechanism that randomized reports: among the options of each task, if any."""
    if not mechanism.option_counts:
        return mechanism
    task = tables.task.c
    wanted = select(task.name, task.data).where(task.campaign_id == campaign)
    rows = connection.execute(wanted).all()
    return among_options(mechanism, [(row.name, json.loads(row.data)) for row in rows])
