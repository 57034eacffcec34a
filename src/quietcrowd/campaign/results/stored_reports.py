"""The reports of a campaign, as the library knows reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from sqlalchemy import Connection, func, select

from quietcrowd.campaign.results.inferred import Inferred
from quietcrowd.campaign.results.report_blocks import ReportBlocks
from quietcrowd.campaign.results.report_rows import MemoryRows
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.exclusions import is_excluded, names_in_force
from quietcrowd.campaign.store.releases import reports_of
from quietcrowd.campaign.terms.mechanisms import parse_mechanism
from quietcrowd.campaign.terms.near_copies import sent_again
from quietcrowd.frames import dictionary_codes
from quietcrowd.inference import TruthEstimate
from quietcrowd.inference.suggesting import further_answers
from quietcrowd.mechanisms import Mechanism

__all__ = [
    "LeftOut",
    "ReportsToInfer",
    "StoredReports",
    "once",
    "read_left_out",
    "read_stored",
]


@frozen(kw_only=True, eq=False)
class ReportsToInfer:
    """Which reports of a campaign are inferred from, whether in memory or not.

    Attributes
    ----------
    campaign : Row
        Of the table of campaigns.
    mechanism : Mechanism
        What made the reports.
    names : list of str
        Of all tasks, sorted.
    copies : mapping of str to str
        The names of tasks that a device sends one report for, and the first one's.
    known_truths : pyarrow.Table or None
        Columns ``task`` and ``label``.
    """

    campaign: Any
    mechanism: Mechanism
    names: list[str]
    copies: Mapping[str, str]
    known_truths: pa.Table | None

    @classmethod
    def of(cls, connection: Connection, campaign: Any) -> ReportsToInfer:
        """Return those of a campaign, in a transaction."""
        mechanism = parse_mechanism(campaign.mechanism)
        task = tables.task.c
        tasks = connection.execute(
            select(task.name, task.gold).where(task.campaign_id == campaign.id)
        ).all()
        known = sorted((row.name, row.gold) for row in tasks if row.gold is not None)
        return cls(
            campaign=campaign,
            mechanism=mechanism,
            names=sorted(row.name for row in tasks),
            copies=_copies(connection, campaign.id) if sent_again(mechanism) else {},
            known_truths=_known_truths(known),
        )

    def blocks(self, connection: Connection) -> Iterator[pa.Table]:
        """Give the reports of workers who are shown and not left out; whole workers each."""
        excluded = frozenset(names_in_force(connection, self.campaign.id))
        return ReportBlocks(campaign=self.campaign, excluded=excluded).of_one_state(connection)


@frozen(kw_only=True, eq=False)
class StoredReports:
    """The reports of a campaign in memory.

    Attributes
    ----------
    rows : MemoryRows
        Under the names of tasks and the pseudonyms of workers who reported.
    independent : MemoryRows
        Those with noise of their own: where a device sends one report for all copies of a question,
        the copies are one task here.
    known_truths : pyarrow.Table or None
        Columns ``task`` and ``label``.
    """

    rows: MemoryRows
    independent: MemoryRows
    known_truths: pa.Table | None

    def infer(self, method: Any, start: Any) -> Inferred:
        """Return what a method finds.

        Parameters
        ----------
        method : FittingMethod
            Any.
        start : TruthEstimate, KeptEstimate or None
            What an earlier inference found: taken where it was one in memory, too.
        """
        begun = start if isinstance(start, TruthEstimate) else None
        estimate = method.fit(self.rows.reports, begun, gold=self.known_truths, threads=1)
        return Inferred(
            method=method,
            iterations=estimate.iterations,
            converged=estimate.converged,
            truths=estimate.truths_as("pyarrow"),
            workers=estimate.workers_as("pyarrow"),
            start=estimate,
            suggest=partial(_suggested, estimate),
        )


def _suggested(estimate: Any, answers: int) -> npt.NDArray[np.int64]:
    """Return how many of some further answers each task is to get, shape (tasks,)."""
    method, summary, state = estimate.method, estimate.summary, estimate.state
    counts, _ = further_answers(
        method.further_report(summary, state, None),
        method.beliefs(estimate.partition, summary, state),
        ~estimate.known,
        answers,
    )
    return counts


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
    """Return who is left out of the results of a campaign, a row of its table."""
    mine = tables.participant.c.campaign_id == campaign.id
    return LeftOut(
        workers=names_in_force(connection, campaign.id),
        reports=reports_of(connection, mine & is_excluded(campaign.id)),
    )


def read_stored(connection: Connection, given: ReportsToInfer) -> StoredReports | None:
    """Return the reports of a campaign in memory, or None where there are none.

    Parameters
    ----------
    connection : Connection
        In a transaction.
    given : ReportsToInfer
        Which they are.
    """
    columns = _joined(given.blocks(connection))
    if not len(columns):
        return None
    workers = pc.unique(columns["worker"]).cast(pa.string())
    workers = workers.take(pc.sort_indices(workers))

    def read(rows: pa.Table, listed: Iterable[str]) -> MemoryRows:
        tasks = pa.array(sorted(listed))
        reports = given.mechanism.read_reports(rows, tasks, workers, simulated=False)
        return MemoryRows(reports=reports)

    rows = independent = read(columns, given.names)
    if given.copies:
        questions = {given.copies.get(name, name) for name in given.names}
        independent = read(once(columns, given.copies), questions)
    return StoredReports(rows=rows, independent=independent, known_truths=given.known_truths)


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


def once(columns: pa.Table, copies: Mapping[str, str]) -> pa.Table:
    """Return the rows of reports with copies as one task, one of each worker: the last."""
    tasks, names = dictionary_codes(columns["task"])
    workers, people = dictionary_codes(columns["worker"])
    first = pa.array([copies.get(name, name) for name in names.to_pylist()]).dictionary_encode()
    questions = first.indices.to_numpy()[tasks]
    cells = questions.astype(np.int64) * len(people) + workers
    last = len(cells) - 1 - np.unique(cells[::-1], return_index=True)[1]
    renamed = pa.DictionaryArray.from_arrays(questions, first.dictionary)
    return columns.set_column(0, "task", renamed).take(pa.array(np.sort(last)))


def _known_truths(known: Sequence[tuple[str, str]]) -> pa.Table | None:
    if not known:
        return None
    names, labels = zip(*known, strict=True)
    return pa.table({"task": list(names), "label": pa.array(map(json.loads, labels))})
