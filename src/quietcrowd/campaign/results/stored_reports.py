"""The reports of a campaign, as the library knows reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen
from sqlalchemy import Connection, func, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.exclusions import names_in_force, not_excluded
from quietcrowd.campaign.store.releases import from_shown
from quietcrowd.campaign.terms.mechanisms import decoded, parse_mechanism, stored_rule
from quietcrowd.campaign.terms.near_copies import sent_again
from quietcrowd.mechanisms import Mechanism, Reports

__all__ = ["LeftOut", "StoredReports", "read_left_out", "read_stored"]


@frozen(kw_only=True)
class StoredReports:
    """The reports of a campaign.

    Attributes
    ----------
    reports : Reports
        Under the names of tasks and the pseudonyms of workers who reported.
    independent : Reports
        Those with noise of their own: where a device sends one report for all copies of a question,
        the copies are one task here.
    known_truths : pyarrow.Table or None
        Columns ``task`` and ``label``.
    """

    reports: Reports
    independent: Reports
    known_truths: pa.Table | None


@frozen(kw_only=True)
class LeftOut:
    """What is shown of a campaign and not inferred from: its requester leaves workers out.

    Attributes
    ----------
    workers : list of str
        Their pseudonyms.
    reports : int
        How many reports they gave; sketches count as one each.
    """

    workers: list[str]
    reports: int


def read_left_out(connection: Connection, campaign: Any) -> LeftOut:
    """Return who is left out of a campaign's results; parameters as those of `read_stored`."""
    workers = names_in_force(connection, campaign.id)
    reports = 0
    for table in (tables.report, tables.sketch) if workers else ():
        sent = table.c.participant_id
        reports += (
            connection.scalar(
                select(func.count())
                .select_from(table)
                .where(
                    table.c.campaign_id == campaign.id,
                    from_shown(campaign, sent),
                    ~not_excluded(campaign.id, sent),
                )
            )
            or 0
        )
    return LeftOut(workers=workers, reports=reports)


def read_stored(connection: Connection, campaign: Any) -> StoredReports | None:
    """Return the reports of a campaign that its requester is shown, or None where there are none.

    Those of workers who are left out are not among them.

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
        columns = _reports(connection, campaign, mechanism, names, people)
    else:
        columns = _sketches(connection, campaign, people)
    if not len(columns):
        return None
    workers = pa.array(sorted(set(columns["worker"].to_pylist())))

    def read(rows: pa.Table, listed: Iterable[str]) -> Reports:
        return mechanism.read_reports(rows, pa.array(sorted(listed)), workers, simulated=False)

    reports = independent = read(columns, names.values())
    copies = _copies(connection, campaign.id) if sent_again(mechanism) else {}
    if copies:
        questions = {copies.get(name, name) for name in names.values()}
        independent = read(_once(columns, copies), questions)
    return StoredReports(
        reports=reports,
        independent=independent,
        known_truths=_known_truths([row for row in tasks if row.gold is not None]),
    )


def _reports(
    connection: Connection,
    campaign: Any,
    mechanism: Mechanism,
    names: dict[bytes, str],
    people: dict[bytes, str],
) -> pa.Table:
    report = tables.report.c
    rows = connection.execute(
        select(report.participant_id, report.task_id, report.value, report.bit).where(
            report.campaign_id == campaign.id,
            from_shown(campaign, report.participant_id),
            not_excluded(campaign.id, report.participant_id),
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


def _copies(connection: Connection, campaign: bytes) -> dict[str, str]:
    """Return the first, by name, of the tasks that show the same, by the names of all of these."""
    task = tables.task.c
    mine = (task.campaign_id == campaign) & (task.data != "{}")
    twice = select(task.data).where(mine).group_by(task.data).having(func.count() > 1)
    wanted = select(task.name, task.data).where(mine, task.data.in_(twice)).order_by(task.name)
    first: dict[str, str] = {}
    return {
        row.name: first.setdefault(row.data, row.name) for row in connection.execute(wanted).all()
    }


def _once(columns: pa.Table, copies: Mapping[str, str]) -> pa.Table:
    """Return the rows of reports with copies as one task, one of each worker."""
    tasks = [copies.get(name, name) for name in columns["task"].to_pylist()]
    rows = {
        cell: place
        for place, cell in enumerate(zip(tasks, columns["worker"].to_pylist(), strict=True))
    }
    renamed = columns.set_column(0, "task", pa.array(tasks, pa.string()))
    return renamed.take(pa.array(sorted(rows.values())))


def _sketches(connection: Connection, campaign: Any, people: dict[bytes, str]) -> pa.Table:
    rule, sketch = stored_rule(campaign.mechanism), tables.sketch.c
    length = rule.sketch_length or 0
    rows = connection.execute(
        select(sketch.participant_id, sketch.numbers).where(
            sketch.campaign_id == campaign.id,
            from_shown(campaign, sketch.participant_id),
            not_excluded(campaign.id, sketch.participant_id),
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


def _known_truths(rows: Sequence[Any]) -> pa.Table | None:
    if not rows:
        return None
    return pa.table(
        {
            "task": [row.name for row in rows],
            "label": pa.array([json.loads(row.gold) for row in rows]),
        }
    )
