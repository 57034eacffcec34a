"""The reports of a campaign, as the library knows reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen
from sqlalchemy import Connection, select

from quietcrowd.campaign import tables
from quietcrowd.campaign.channel_config import report_rule
from quietcrowd.campaign.configuration import parse_mechanism
from quietcrowd.campaign.report_values import decoded
from quietcrowd.mechanisms import Mechanism, Reports

__all__ = ["StoredReports", "read_stored"]


@frozen(kw_only=True)
class StoredReports:
    """The reports of a campaign.

    Attributes
    ----------
    reports : Reports
        Under the names of tasks and the pseudonyms of workers who reported.
    gold : pyarrow.Table or None
        Known truths, columns ``task`` and ``label``.
    """

    reports: Reports
    gold: pa.Table | None


def read_stored(connection: Connection, campaign: Any) -> StoredReports | None:
    """Return the reports of a campaign, or None where there are none.

    Parameters
    ----------
    connection : Connection
        In a transaction.
    campaign : Row
        Of the table of campaigns.
    """
    mechanism = parse_mechanism(campaign.mechanism)
    tasks = connection.execute(
        select(tables.task.c.id, tables.task.c.name, tables.task.c.gold)
        .where(tables.task.c.campaign_id == campaign.id)
        .order_by(tables.task.c.name)
    ).all()
    names = {row.id: row.name for row in tasks}
    people = dict(
        connection.execute(
            select(tables.participant.c.id, tables.participant.c.pseudonym).where(
                tables.participant.c.campaign_id == campaign.id
            )
        ).all()
    )
    if "task" in mechanism.columns:
        columns = _reports(connection, campaign.id, mechanism, names, people)
    else:
        columns = _sketches(connection, campaign.id, mechanism, people)
    if not len(columns):
        return None
    workers = sorted(set(columns["worker"].to_pylist()))
    listed = pa.array(sorted(names.values()))
    return StoredReports(
        reports=mechanism.read_reports(columns, listed, pa.array(workers), simulated=False),
        gold=_gold([row for row in tasks if row.gold is not None]),
    )


def _reports(
    connection: Connection,
    campaign: bytes,
    mechanism: Mechanism,
    names: dict[bytes, str],
    people: dict[bytes, str],
) -> pa.Table:
    report = tables.report.c
    rows = connection.execute(
        select(report.participant_id, report.task_id, report.value, report.bit).where(
            report.campaign_id == campaign
        )
    ).all()
    columns = {
        "task": pa.array([names[row.task_id] for row in rows], pa.string()),
        "worker": pa.array([people[row.participant_id] for row in rows], pa.string()),
        "label": decoded(mechanism.report_domain, [row.value for row in rows]),
    }
    bits = mechanism.participation_domain
    if bits is not None:
        columns["participation"] = decoded(bits, [row.bit for row in rows])
    return pa.table(columns)


def _sketches(
    connection: Connection, campaign: bytes, mechanism: Mechanism, people: dict[bytes, str]
) -> pa.Table:
    rule = report_rule(mechanism, 1)
    length = rule.sketch_length or 0
    rows = connection.execute(
        select(tables.sketch.c.participant_id, tables.sketch.c.numbers).where(
            tables.sketch.c.campaign_id == campaign
        )
    ).all()
    numbers = [np.frombuffer(row.numbers, rule.dtype) for row in rows]
    workers = [people[row.participant_id] for row in rows]
    return pa.table(
        {
            "worker": pa.array(np.repeat(np.array(workers, object), length), pa.string()),
            "coordinate": pa.array(np.tile(np.arange(length, dtype=np.int32), len(rows))),
            "number": pa.array(np.concatenate([np.zeros(0, rule.dtype), *numbers])),
        }
    )


def _gold(rows: Sequence[Any]) -> pa.Table | None:
    if not rows:
        return None
    return pa.table(
        {
            "task": [row.name for row in rows],
            "label": pa.array([json.loads(row.gold) for row in rows]),
        }
    )
