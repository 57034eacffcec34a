"""Reports and truths as files that the library reads; reports carry what made them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from sqlalchemy import Connection, Select, Table, select

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.results.shown_results import ShownResults
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.releases import from_shown
from quietcrowd.campaign.terms.mechanisms import decoded, parse_mechanism, stored_rule
from quietcrowd.formats.csv_files import guard_cell
from quietcrowd.formats.label_studio_files import task_document
from quietcrowd.formats.report_files import report_note
from quietcrowd.mechanisms import Mechanism

__all__ = ["ReportExport", "TruthExport"]

_BLOCK = 5_000
"""Rows of a file that are read at once, but for the reports of one worker, which stay together."""

_TASKS = 500
"""Tasks that are read at once."""


@frozen(kw_only=True)
class ReportExport:
    """All reports of a campaign that its requester is shown, in an order that random ids give.

    Attributes
    ----------
    database : Database
        Where they are.
    campaign : Row
        Of the table of campaigns.
    """

    database: Database
    campaign: Any

    @property
    def mechanism(self) -> Mechanism:
        """What made the reports."""
        return parse_mechanism(self.campaign.mechanism)

    def note(self) -> dict[str, Any]:
        """Return what goes with the reports, as files of the library have it."""
        with self.database.read() as connection:
            names = connection.scalars(
                select(tables.task.c.name).where(tables.task.c.campaign_id == self.campaign.id)
            ).all()
        return report_note(self.mechanism, simulated=False, tasks=sorted(names))

    def json_lines(self) -> Iterator[str]:
        """Give the note, and then one report per line."""
        yield json.dumps(self.note()) + "\n"
        for block in self._blocks():
            yield "".join(
                json.dumps(dict(zip(self.mechanism.columns, row, strict=True))) + "\n"
                for row in block
            )

    def csv(self) -> Iterator[str]:
        """Give a table; the note belongs beside it, in a file of its own."""
        yield ",".join(self.mechanism.columns) + "\r\n"
        for block in self._blocks():
            text = io.StringIO()
            csv.writer(text).writerows(map(_guarded, block))
            yield text.getvalue()

    def _blocks(self) -> Iterator[list[Sequence[Any]]]:
        """Give all reports of some workers at a time; nothing is being read in between.

        Who takes an export slowly keeps no connection, and nothing from being erased.
        """
        last: bytes | None = b""
        while last is not None:
            with self.database.read() as connection:
                self._require_campaign(connection)
                after, last = last, self._last_of_block(connection, last)
                rows = connection.execute(self._wanted(after, last)).all()
            yield self._report_rows(rows) if self._per_task else self._sketch_rows(rows)

    def _require_campaign(self, connection: Connection) -> None:
        """Raise ProblemError where the campaign was deleted: half an export is none."""
        table = tables.campaign.c
        if connection.scalar(select(table.id).where(table.id == self.campaign.id)) is None:
            raise ProblemError("not-found", "The campaign was deleted meanwhile.")

    def _last_of_block(self, connection: Connection, after: bytes) -> bytes | None:
        """Return the last worker of the next block, or None where it is the last block."""
        length = stored_rule(self.campaign.mechanism).sketch_length
        rows = _BLOCK if length is None else max(1, _BLOCK // length)
        table = self._table.c
        return connection.scalar(
            select(table.participant_id)
            .where(
                table.campaign_id == self.campaign.id,
                table.participant_id > after,
                from_shown(self.campaign, table.participant_id),
            )
            .order_by(table.participant_id)
            .offset(rows - 1)
            .limit(1)
        )

    @property
    def _per_task(self) -> bool:
        return "task" in self.mechanism.columns

    @property
    def _table(self) -> Table:
        return tables.report if self._per_task else tables.sketch

    def _wanted(self, after: bytes, last: bytes | None) -> Select[Any]:
        worker = self._table.c.participant_id
        rows = self._reports() if self._per_task else self._sketches()
        wanted = rows.where(worker > after, from_shown(self.campaign, worker))
        return wanted if last is None else wanted.where(worker <= last)

    def _reports(self) -> Select[Any]:
        report, task, person = tables.report.c, tables.task.c, tables.participant.c
        return (
            select(task.name, person.pseudonym, report.value, report.bit)
            .join_from(tables.report, tables.task, task.id == report.task_id)
            .join(tables.participant, person.id == report.participant_id)
            .where(report.campaign_id == self.campaign.id)
            .order_by(report.participant_id, report.task_id)
        )

    def _sketches(self) -> Select[Any]:
        sketch, person = tables.sketch.c, tables.participant.c
        return (
            select(person.pseudonym, sketch.numbers)
            .join_from(tables.sketch, tables.participant, person.id == sketch.participant_id)
            .where(sketch.campaign_id == self.campaign.id)
            .order_by(sketch.participant_id)
        )

    def _report_rows(self, rows: Sequence[Any]) -> list[Sequence[Any]]:
        labels = decoded(self.mechanism.report_domain, [row.value for row in rows]).to_pylist()
        columns: list[Sequence[Any]] = [
            [row.name for row in rows],
            [row.pseudonym for row in rows],
            labels,
        ]
        bits = self.mechanism.participation_domain
        if bits is not None:
            columns.append(decoded(bits, [row.bit for row in rows]).to_pylist())
        return list(zip(*columns, strict=True))

    def _sketch_rows(self, rows: Sequence[Any]) -> list[Sequence[Any]]:
        dtype = stored_rule(self.campaign.mechanism).dtype
        return [
            (row.pseudonym, coordinate, number)
            for row in rows
            for coordinate, number in enumerate(np.frombuffer(row.numbers, dtype).tolist())
        ]


@frozen(kw_only=True)
class TruthExport:
    """The truths of the latest inference of a campaign, some at a time.

    Attributes
    ----------
    campaign : Row
        Of the table of campaigns.
    found : ShownResults
        What the inference found.
    """

    campaign: Any
    found: ShownResults

    def json_lines(self) -> Iterator[str]:
        """Give one truth per line."""
        for rows in self.found.rows("truths"):
            yield "".join(json.dumps(row) + "\n" for row in rows)

    def csv(self) -> Iterator[str]:
        """Give a table."""
        names: list[str] = []
        for rows in self.found.rows("truths"):
            text = io.StringIO()
            table = csv.writer(text)
            if not names:
                names = list(rows[0]) if rows else ["task", "truth"]
                table.writerow(names)
            table.writerows(_guarded([row[name] for name in names]) for row in rows)
            yield text.getvalue()

    def label_studio(self) -> Iterator[str]:
        """Give all tasks with what workers are shown, and truths as predictions.

        Truths are held at once: there are no more than tasks.
        """
        truths = {
            row["task"]: (row.get("truth"), row.get("confidence"))
            for rows in self.found.rows("truths")
            for row in rows
        }
        method = (json.loads(self.found.head)["method"] or {}).get("method")
        separator = "[\n"
        for number, task in enumerate(self._tasks(), start=1):
            document = task_document(
                number,
                {**json.loads(task.data), "task": task.name},
                truth=truths.get(task.name, (None, None)),
                method=method,
            )
            yield f"{separator}{json.dumps(document, ensure_ascii=False)}"
            separator = ",\n"
        yield "\n]\n"

    def _tasks(self) -> Iterator[Any]:
        """Give the tasks in their order; nothing is being read in between."""
        table = tables.task
        wanted = (
            select(table.c.position, table.c.name, table.c.data)
            .where(table.c.campaign_id == self.campaign.id)
            .order_by(table.c.position)
            .limit(_TASKS)
        )
        last = -1
        while True:
            with self.found.database.read() as connection:
                rows = connection.execute(wanted.where(table.c.position > last)).all()
            if not rows:
                return
            yield from rows
            last = rows[-1].position


def _guarded(row: Sequence[Any]) -> list[Any]:
    """Return a row as spreadsheets may have it."""
    return [guard_cell(cell) if isinstance(cell, str) else cell for cell in row]
