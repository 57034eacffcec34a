"""The reports of a campaign, as the library knows reports."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen
from sqlalchemy import Connection, select

from quietcrowd.campaign.results.inferred import Inferred
from quietcrowd.campaign.results.report_blocks import ReportBlocks
from quietcrowd.campaign.results.report_rows import MemoryRows
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.exclusions import is_excluded, names_in_force
from quietcrowd.campaign.store.releases import reports_of
from quietcrowd.campaign.terms.canonical import canonical_hash
from quietcrowd.campaign.terms.mechanisms import parse_mechanism
from quietcrowd.campaign.terms.near_copies import sent_again
from quietcrowd.formats.report_files import merge_copies
from quietcrowd.inference import TruthEstimate
from quietcrowd.inference.suggesting import further_answers
from quietcrowd.mechanisms import Mechanism

__all__ = [
    "LeftOut",
    "ReportsToInfer",
    "StoredReports",
    "copies_of",
    "read_left_out",
    "read_stored",
    "take_again",
]


@frozen(kw_only=True, eq=False, slots=False)
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
        The names of tasks that a device sends one report for, and the first one's. They are one
        question, which is inferred once: a copy of a report is no evidence of its own.
    known_truths : pyarrow.Table or None
        Columns ``task`` and ``label``; of copies the first one's.
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
        copies = copies_of(connection, campaign.id) if sent_again(mechanism) else {}
        known: dict[str, str] = {}
        for name, gold in sorted((row.name, row.gold) for row in tasks if row.gold is not None):
            known.setdefault(copies.get(name, name), gold)
        return cls(
            campaign=campaign,
            mechanism=mechanism,
            names=sorted(row.name for row in tasks),
            copies=copies,
            known_truths=_known_truths(known),
        )

    @cached_property
    def questions(self) -> list[str]:
        """The names of the first tasks of all questions, sorted."""
        return sorted({self.copies.get(name, name) for name in self.names})

    def of_tasks(self, found: Inferred) -> Inferred:
        """Return what was found of questions as found of tasks: copies have one truth.

        Further answers are suggested of the first of the copies.
        """
        if not self.copies:
            return found
        place = {name: number for number, name in enumerate(self.questions)}
        places = np.array([place[self.copies.get(name, name)] for name in self.names], np.intp)
        first = np.array([self.copies.get(name, name) == name for name in self.names])
        truths = found.truths.take(pa.array(places))
        names = pa.array(self.names, truths.schema.field("task").type)

        def suggest(answers: int) -> npt.NDArray[np.int64]:
            return np.where(first, found.suggest(answers)[places], 0)

        column = truths.schema.get_field_index("task")
        return evolve(found, truths=truths.set_column(column, "task", names), suggest=suggest)

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
        Those with noise of their own, which are inferred from: where a device sends one report for
        all copies of a question, the copies are one task here.
    again : mapping of str to int
        How many reports on a task were sent again, where there are such.
    known_truths : pyarrow.Table or None
        Columns ``task`` and ``label``.
    """

    rows: MemoryRows
    independent: MemoryRows
    again: Mapping[str, int]
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
        estimate = method.fit(self.independent.reports, begun, gold=self.known_truths, threads=1)
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
    columns, again = take_again(columns)
    workers = pc.unique(columns["worker"]).cast(pa.string())
    workers = workers.take(pc.sort_indices(workers))

    def read(rows: pa.Table, listed: Iterable[str]) -> MemoryRows:
        tasks = pa.array(sorted(listed))
        reports = given.mechanism.read_reports(rows, tasks, workers, simulated=False)
        return MemoryRows(reports=reports)

    rows = independent = read(columns, given.names)
    if given.copies:
        independent = read(merge_copies(columns, given.copies), given.questions)
    return StoredReports(
        rows=rows, independent=independent, again=again, known_truths=given.known_truths
    )


def take_again(columns: pa.Table) -> tuple[pa.Table, Counter[str]]:
    """Return reports without their marks, and how many on each task are marked."""
    if "again" not in columns.column_names:
        return columns, Counter()
    counts = pc.value_counts(columns["task"].filter(columns["again"]))
    marked = zip(
        counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True
    )
    return columns.drop_columns("again"), Counter(dict(marked))


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


def copies_of(connection: Connection, campaign: bytes) -> dict[str, str]:
    """Return the first, by name, of the tasks that show the same, by the names of all of these.

    As devices see it: the order of columns makes no difference.
    """
    task = tables.task.c
    wanted = select(task.name, task.data).where(task.campaign_id == campaign, task.data != "{}")
    groups: dict[bytes, list[str]] = {}
    for row in sorted(connection.execute(wanted).all()):
        groups.setdefault(canonical_hash(json.loads(row.data)), []).append(row.name)
    return {name: names[0] for names in groups.values() if len(names) > 1 for name in names}


def _known_truths(known: Mapping[str, str]) -> pa.Table | None:
    if not known:
        return None
    labels = pa.array(map(json.loads, known.values()))
    return pa.table({"task": list(known), "label": labels})
