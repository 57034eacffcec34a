"""Reports of a campaign as library objects, read from the database, and inference from them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen
from sqlalchemy import Connection, select
from typing_extensions import override

from quietcrowd.campaign.results.report_blocks import ReportBlocks, some_sent_again
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.exclusions import is_excluded, names_in_force
from quietcrowd.campaign.store.releases import kept_rounds, reports_of
from quietcrowd.campaign.store.task_options import mechanism_of_tasks
from quietcrowd.campaign.terms.canonical import canonical_hash
from quietcrowd.campaign.terms.channels import parse_mechanism
from quietcrowd.domains import Domain
from quietcrowd.formats.reports import merge_copies
from quietcrowd.inference import TruthEstimate
from quietcrowd.inference.suggesting import further_answers
from quietcrowd.mechanisms import Mechanism, Reports


class RowBlock(NamedTuple):
    """Reports of some workers: positions of tasks and of workers in the block, and codes."""

    tasks: npt.NDArray[np.int32]
    workers: npt.NDArray[np.int32]
    values: npt.NDArray[Any]
    people: int


class ReportRows(ABC):
    """Encoded reports of a campaign, which can be read repeatedly."""

    mechanism: Mechanism

    @property
    def domain(self) -> Domain:
        """Domain of the reports."""
        return self.mechanism.report_domain

    @property
    @abstractmethod
    def tasks(self) -> int:
        """Number of tasks."""

    @property
    @abstractmethod
    def workers(self) -> pa.Array:
        """Pseudonyms of all workers with reports, sorted."""

    @abstractmethod
    def blocks(self) -> Iterator[RowBlock]:
        """Yield all reports; each worker is in one block."""

    @abstractmethod
    def sorted_by_worker(self, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Concatenate an array per block, indexed by worker, and reorder it as `workers`."""

    @cached_property
    def per_task(self) -> npt.NDArray[np.int64]:
        """Number of reports on each task, shape (tasks,)."""
        counts = np.zeros(self.tasks, np.int64)
        for block in self.blocks():
            counts += np.bincount(block.tasks, minlength=self.tasks)
        return counts

    @cached_property
    def per_worker(self) -> npt.NDArray[np.int64]:
        """Number of reports of each worker, shape (workers,)."""
        return self.sorted_by_worker(
            [np.bincount(block.workers, minlength=block.people) for block in self.blocks()]
        )

    def __len__(self) -> int:
        return int(self.per_task.sum())

    @property
    def sent(self) -> int:
        """Number of reports received; a sketch counts as one."""
        return len(self)


@frozen(kw_only=True, eq=False, slots=False)
class MemoryRows(ReportRows):
    """Reports in memory, as one block."""

    reports: Reports
    mechanism: Mechanism = field(init=False)

    @mechanism.default
    def _mechanism(self) -> Mechanism:
        return self.reports.mechanism

    @property
    @override
    def tasks(self) -> int:
        return len(self.reports.table.tasks)

    @property
    @override
    def workers(self) -> pa.Array:
        return self.reports.table.workers

    @override
    def blocks(self) -> Iterator[RowBlock]:
        table = self.reports.table
        yield RowBlock(table.task_codes, table.worker_codes, table.values, len(table.workers))

    @override
    def sorted_by_worker(self, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return parts[0]

    @property
    @override
    def sent(self) -> int:
        return len(self) if self.reports.sketches is None else len(self.workers)


@frozen(kw_only=True, eq=False)
class Inferred:
    """Result of an inference method, with the tables of `TruthEstimate` sorted by task and worker.

    A later inference can start from `start`. `suggest` distributes n further answers over the
    tasks.
    """

    method: Any
    iterations: int
    converged: bool
    truths: pa.Table
    workers: pa.Table
    start: Any
    suggest: Callable[[int], npt.NDArray[np.int64]]


@frozen(kw_only=True, eq=False, slots=False)
class ReportsToInfer:
    """Selection of the reports to infer from, and the tasks they are about.

    A device sends the same report for all copies of a question; `copies` maps each copy to the
    first task. A question is inferred once, because repeated reports are not independent evidence.
    """

    campaign: Any
    mechanism: Mechanism
    names: list[str]
    copies: Mapping[str, str]
    known_truths: pa.Table | None

    @classmethod
    def of(cls, connection: Connection, campaign: Any) -> ReportsToInfer:
        """Return the selection for a campaign; the connection must be in a transaction."""
        stated = parse_mechanism(campaign.mechanism)
        mechanism = mechanism_of_tasks(connection, campaign.id, stated)
        task = tables.task.c
        tasks = connection.execute(
            select(task.name, task.gold).where(task.campaign_id == campaign.id)
        ).all()
        copies = copies_of(connection, campaign.id) if some_sent_again(mechanism) else {}
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
        """Names of the first task of each question, sorted."""
        return sorted({self.copies.get(name, name) for name in self.names})

    def of_tasks(self, found: Inferred) -> Inferred:
        """Expand results to copies; only the first copy receives suggested answers."""
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
        """Yield the reports of released and included workers, whole workers each."""
        excluded = frozenset(names_in_force(connection, self.campaign.id))
        return ReportBlocks(campaign=self.campaign, excluded=excluded).of_one_state(connection)


@frozen(kw_only=True, eq=False)
class StoredReports:
    """Reports of a campaign in memory.

    `independent` contains the reports with independent noise, from which truths are inferred:
    copies of a question are one task if a device sends one report for them. `again` counts repeated
    reports.
    """

    rows: MemoryRows
    independent: MemoryRows
    again: Mapping[str, int]
    known_truths: pa.Table | None

    def infer(self, method: Any, start: Any) -> Inferred:
        """Fit a method to the reports, from `start` if that is a `TruthEstimate`."""
        begun = start if isinstance(start, TruthEstimate) else None
        if self.rows.mechanism.options is not None:  # no estimate from them can be a start
            begun = None
        estimate = method.fit(self.independent.reports, begun, gold=self.known_truths, n_jobs=1)
        return Inferred(
            method=method,
            iterations=estimate.n_iter,
            converged=estimate.converged,
            truths=estimate.truths_as("pyarrow"),
            workers=estimate.workers_as("pyarrow"),
            start=estimate,
            suggest=partial(_suggested, estimate),
        )


def _suggested(estimate: Any, answers: int) -> npt.NDArray[np.int64]:
    model, state = estimate.model, estimate.state
    counts, _ = further_answers(
        model.further_report(state, None),
        model.beliefs(estimate.partition, state),
        ~estimate.known,
        answers,
    )
    return counts


@frozen(kw_only=True)
class LeftOut:
    """Excluded workers (pseudonyms), and their number of reports or sketches."""

    workers: list[str]
    reports: int


def read_left_out(connection: Connection, campaign: Any) -> LeftOut:
    """Return the excluded workers of a campaign, a row of its table."""
    mine = tables.participant.c.campaign_id == campaign.id
    return LeftOut(
        workers=names_in_force(connection, campaign.id),
        reports=reports_of(connection, campaign, mine & is_excluded(campaign.id)),
    )


def read_stored(connection: Connection, given: ReportsToInfer) -> StoredReports | None:
    """Return the reports of a campaign in memory within a transaction, or None without any."""
    columns = _joined(given.blocks(connection))
    return None if not len(columns) else _stored(given, columns)


def read_rounds(
    connection: Connection, given: ReportsToInfer
) -> tuple[dict[int, StoredReports | None], int]:
    """Return the reports of each shown round that has some yet, and their number before merging.

    A worker with reports of several rounds that are shown as one counts with the last of them. So
    do workers where facts last: each round has the reports of one `step`, that is until this round,
    or for the first kept ones from the first on.
    """
    columns = _joined(given.blocks(connection))
    found: dict[int, StoredReports | None] = {}
    numbers, terms = kept_rounds(connection, given.campaign.id), json.loads(given.campaign.rounds)
    more = terms["step"] - 1 if terms["facts"] == "lasting" else 0
    for number in numbers:
        last = max(number, numbers[0] + more)
        of_round = pc.and_(
            pc.greater_equal(columns["round"], min(number, last - more)),
            pc.less_equal(columns["round"], last),
        )
        rows = columns.filter(of_round).drop_columns("round")
        found[number] = _stored(given, _last_of_each(rows)) if len(rows) else None
    return found, len(columns)


def _last_of_each(rows: pa.Table) -> pa.Table:
    """Drop all but the last report of each worker on each task."""
    codes = [rows[name].combine_chunks().indices.to_numpy() for name in ("task", "worker")]
    cells = codes[0].astype(np.int64) * (int(codes[1].max()) + 1) + codes[1]
    last = len(cells) - 1 - np.unique(cells[::-1], return_index=True)[1]
    return rows if len(last) == len(cells) else rows.take(pa.array(np.sort(last)))


def _stored(given: ReportsToInfer, columns: pa.Table) -> StoredReports:
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
    """Drop the marks of repeated reports; return the reports and the number of marks per task."""
    if "again" not in columns.column_names:
        return columns, Counter()
    counts = pc.value_counts(columns["task"].filter(columns["again"]))
    marked = zip(
        counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True
    )
    return columns.drop_columns("again"), Counter(dict(marked))


def _joined(blocks: Iterable[pa.Table]) -> pa.Table:
    """Concatenate blocks with dictionary-encoded texts, to save memory."""
    packed = []
    for block in blocks:
        columns = {
            name: column.dictionary_encode() if pa.types.is_string(column.type) else column
            for name, column in zip(block.column_names, block.columns, strict=True)
        }
        packed.append(pa.table(columns))
    return pa.concat_tables(packed).unify_dictionaries()


def copies_of(connection: Connection, campaign: bytes) -> dict[str, str]:
    """Return the first task by name for each task that shows the same data as others."""
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
