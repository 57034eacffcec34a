"""The reports of a campaign, as the library knows reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from sqlalchemy import Connection, func, select

from quietcrowd.campaign.results.report_blocks import ReportBlocks
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.exclusions import is_excluded, names_in_force
from quietcrowd.campaign.store.releases import reports_of
from quietcrowd.campaign.terms.mechanisms import parse_mechanism
from quietcrowd.campaign.terms.near_copies import sent_again
from quietcrowd.frames import dictionary_codes
from quietcrowd.mechanisms import Reports

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
    mine = tables.participant.c.campaign_id == campaign.id
    return LeftOut(
        workers=names_in_force(connection, campaign.id),
        reports=reports_of(connection, mine & is_excluded(campaign.id)),
    )


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
        select(tables.task.c.name, tables.task.c.gold)
        .where(tables.task.c.campaign_id == campaign.id)
        .order_by(tables.task.c.name)
    ).all()
    names = [row.name for row in tasks]
    excluded = frozenset(names_in_force(connection, campaign.id))
    blocks = ReportBlocks(campaign=campaign, excluded=excluded)
    columns = _joined(blocks.of_one_state(connection))
    if not len(columns):
        return None
    workers = pc.unique(columns["worker"]).cast(pa.string())
    workers = workers.take(pc.sort_indices(workers))

    def read(rows: pa.Table, listed: Iterable[str]) -> Reports:
        return mechanism.read_reports(rows, pa.array(sorted(listed)), workers, simulated=False)

    reports = independent = read(columns, names)
    copies = _copies(connection, campaign.id) if sent_again(mechanism) else {}
    if copies:
        questions = {copies.get(name, name) for name in names}
        independent = read(_once(columns, copies), questions)
    return StoredReports(
        reports=reports,
        independent=independent,
        known_truths=_known_truths([row for row in tasks if row.gold is not None]),
    )


def _joined(blocks: Iterable[pa.Table]) -> pa.Table:
    """Return blocks below each other; texts are stored once each, and rows hold their numbers."""
    packed = []
    for block in blocks:
        columns = {
            name: column.dictionary_encode() if pa.types.is_string(column.type) else column
            for name, column in zip(block.column_names, block.columns, strict=True)
        }
        packed.append(pa.table(columns))
    return pa.concat_tables(packed).unify_dictionaries()


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
    """Return the rows of reports with copies as one task, one of each worker: the last."""
    tasks, names = dictionary_codes(columns["task"])
    workers, people = dictionary_codes(columns["worker"])
    first = pa.array([copies.get(name, name) for name in names.to_pylist()]).dictionary_encode()
    questions = first.indices.to_numpy()[tasks]
    cells = questions.astype(np.int64) * len(people) + workers
    last = len(cells) - 1 - np.unique(cells[::-1], return_index=True)[1]
    renamed = pa.DictionaryArray.from_arrays(questions, first.dictionary)
    return columns.set_column(0, "task", renamed).take(pa.array(np.sort(last)))


def _known_truths(rows: Sequence[Any]) -> pa.Table | None:
    if not rows:
        return None
    return pa.table(
        {
            "task": [row.name for row in rows],
            "label": pa.array([json.loads(row.gold) for row in rows]),
        }
    )
