"""Reports and truths as files that the library reads; reports carry what made them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen
from sqlalchemy import Connection, Select, select

from quietcrowd.campaign import tables
from quietcrowd.campaign.channel_config import report_rule
from quietcrowd.campaign.configuration import parse_mechanism
from quietcrowd.campaign.database import Database
from quietcrowd.campaign.report_values import decoded
from quietcrowd.formats.label_studio_files import task_document
from quietcrowd.formats.report_files import report_note
from quietcrowd.formats.spreadsheet_cells import guard_cell
from quietcrowd.mechanisms import Mechanism

__all__ = ["ReportExport", "TruthExport"]

_BLOCK = 5_000


@frozen(kw_only=True)
class ReportExport:
    """All reports of a campaign, in an order that random ids give.

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
            return self._note(connection)

    def json_lines(self) -> Iterator[str]:
        """Give the note, and then one report per line."""
        with self.database.read() as connection:
            yield json.dumps(self._note(connection)) + "\n"
            for block in self._blocks(connection):
                yield "".join(
                    json.dumps(dict(zip(self.mechanism.columns, row, strict=True))) + "\n"
                    for row in block
                )

    def csv(self) -> Iterator[str]:
        """Give a table; the note belongs beside it, in a file of its own."""
        with self.database.read() as connection:
            yield ",".join(self.mechanism.columns) + "\r\n"
            for block in self._blocks(connection):
                text = io.StringIO()
                csv.writer(text).writerows(map(_guarded, block))
                yield text.getvalue()

    def _note(self, connection: Connection) -> dict[str, Any]:
        names = connection.scalars(
            select(tables.task.c.name).where(tables.task.c.campaign_id == self.campaign.id)
        )
        return report_note(self.mechanism, simulated=False, tasks=sorted(names))

    def _blocks(self, connection: Connection) -> Iterator[list[Sequence[Any]]]:
        per_task = "task" in self.mechanism.columns
        wanted = self._reports() if per_task else self._sketches()
        streaming = connection.execution_options(yield_per=_BLOCK)
        for rows in streaming.execute(wanted).partitions():
            yield self._report_rows(rows) if per_task else self._sketch_rows(rows)

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
        dtype = report_rule(self.mechanism, 1).dtype
        return [
            (row.pseudonym, coordinate, number)
            for row in rows
            for coordinate, number in enumerate(np.frombuffer(row.numbers, dtype).tolist())
        ]


@frozen(kw_only=True)
class TruthExport:
    """The truths of the latest inference of a campaign.

    Attributes
    ----------
    database : Database
        Where the tasks are.
    campaign : Row
        Of the table of campaigns.
    found : mapping
        What the inference found; see `snapshot`.
    """

    database: Database
    campaign: Any
    found: Mapping[str, Any]

    def json_lines(self) -> Iterator[str]:
        """Give one truth per line."""
        for row in self.found["truths"]:
            yield json.dumps(row) + "\n"

    def csv(self) -> Iterator[str]:
        """Give a table."""
        rows = self.found["truths"]
        names = list(rows[0]) if rows else ["task", "truth"]
        yield ",".join(names) + "\r\n"
        text = io.StringIO()
        csv.writer(text).writerows(_guarded([row[name] for name in names]) for row in rows)
        yield text.getvalue()

    def label_studio(self) -> Iterator[str]:
        """Give all tasks with what workers are shown, and truths as predictions."""
        truths = {row["task"]: row for row in self.found["truths"]}
        method = (self.found["method"] or {}).get("method")
        separator = "[\n"
        for number, task in enumerate(self._tasks(), start=1):
            truth = truths.get(task.name, {})
            document = task_document(
                number,
                {**json.loads(task.data), "task": task.name},
                truth=(truth.get("truth"), truth.get("confidence")),
                method=method,
            )
            yield f"{separator}{json.dumps(document, ensure_ascii=False)}"
            separator = ",\n"
        yield "\n]\n"

    def _tasks(self) -> Sequence[Any]:
        table = tables.task
        wanted = (
            select(table.c.name, table.c.data)
            .where(table.c.campaign_id == self.campaign.id)
            .order_by(table.c.position)
        )
        with self.database.read() as connection:
            return connection.execute(wanted).all()


def _guarded(row: Sequence[Any]) -> list[Any]:
    """Return a row as spreadsheets may have it."""
    return [guard_cell(cell) if isinstance(cell, str) else cell for cell in row]
