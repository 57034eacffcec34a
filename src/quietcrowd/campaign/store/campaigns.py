"""Campaigns in the database: read, change and delete them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, delete, select, update

from quietcrowd.campaign.protocol.campaign_documents import CampaignDocument
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import fixed_allotment
from quietcrowd.campaign.terms.channels import parse_mechanism
from quietcrowd.campaign.terms.configuration import Configuration, build_configuration
from quietcrowd.campaign.terms.promises import Promises
from quietcrowd.exceptions import QuietcrowdError

_OWNED = (
    tables.report,
    tables.sketch,
    tables.participant,
    tables.withdrawn,
    tables.invite,
    tables.task,
    tables.image,
    tables.dashboard_code,
    tables.dashboard_token,
    tables.exclusion,
)
"""Tables of rows that belong to a campaign, in an order that satisfies foreign keys."""


def campaign_documents(connection: Connection, wanted: Select[Any]) -> list[CampaignDocument]:
    """Return campaigns as the requester sees them, from a query of rows of the table of campaigns.

    Counts come from the last release. Nothing is counted here, because large tables would take
    long.
    """
    return [
        CampaignDocument(
            id=row.id.hex(),
            state=row.state,
            version=row.version,
            title=row.title,
            description=row.description,
            mechanism=json.loads(row.mechanism),
            method=None if row.method is None else json.loads(row.method),
            join_mode=row.join_mode,
            answers_per_participant=row.answers_per_participant,
            linked=row.linked,
            max_participants=row.max_participants,
            tasks=row.tasks,
            participants=row.shown_participants,
            reports=row.shown_reports,
            requester=row.requester_name,
            contact=row.contact,
            purpose=row.purpose,
            retention_days=row.retention_days,
            at_least=row.at_least,
            completion_code=row.completion_code,
            as_of=row.as_of,
            closes_on=row.closes_on,
            allotment=fixed_allotment(row),
            config_hash=None if row.config_hash is None else row.config_hash.hex(),
        )
        for row in connection.execute(wanted)
    ]


def update_campaign(connection: Connection, row: Any, **values: Any) -> None:
    """Change columns of a campaign and increment its version."""
    connection.execute(
        update(tables.campaign)
        .where(tables.campaign.c.id == row.id)
        .values(version=row.version + 1, **values)
    )


def read_tasks(connection: Connection, campaign: bytes) -> Sequence[Any]:
    """Return id, name and data of all tasks of a campaign, ordered by id."""
    task = tables.task.c
    wanted = select(task.id, task.name, task.data).where(task.campaign_id == campaign)
    return connection.execute(wanted.order_by(task.id)).all()


def fixed_configuration(row: Any, tasks: Sequence[Any]) -> Configuration:
    """Build the configuration with which a draft opens; slow for many tasks.

    Raises `ProblemError` if the draft is incomplete or inconsistent.
    """
    promises = _promises(row)
    try:
        return build_configuration(
            campaign=row.id.hex(),
            title=row.title,
            description=row.description,
            mechanism=parse_mechanism(row.mechanism),
            answers=row.answers_per_participant,
            linked=row.linked,
            tasks=[(one.id.hex(), one.name, json.loads(one.data)) for one in tasks],
            promises=promises,
            allotment=row.allotment,
            requester_id=row.requester_id.hex(),
            as_of=row.as_of,
        )
    except QuietcrowdError:
        raise ProblemError(
            "not-ready",
            "It needs tasks, and no more of them than one upload or one sketch holds where every "
            "worker reports every task; linked must be as much as there are copies and "
            "near-copies of one question; and where each worker is given some of the tasks, "
            "answers_per_participant must say how many, and there must be as many.",
        ) from None


def _promises(row: Any) -> Promises:
    try:
        return Promises(
            requester=row.requester_name,
            contact=row.contact,
            purpose=row.purpose,
            retention_days=row.retention_days,
            at_least=row.at_least,
        )
    except QuietcrowdError:
        raise ProblemError(
            "not-ready",
            "Workers are told before they join who asks, how to reach them, what for, and for how "
            "many days after closing all is kept: change requester, contact, purpose and "
            "retention_days of the draft, and open it again; campaign create has --requester, "
            "--contact, --purpose and --keep-days.",
        ) from None


def delete_campaign(connection: Connection, campaign: bytes) -> None:
    """Delete a campaign and all its rows."""
    for table in (*_OWNED, tables.inference):  # deletes result pages by cascade
        connection.execute(delete(table).where(table.c.campaign_id == campaign))
    connection.execute(delete(tables.campaign).where(tables.campaign.c.id == campaign))
