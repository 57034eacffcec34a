"""Export of reports, truths and estimates to files."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen
from sqlalchemy import select

from quietcrowd.campaign.results.report_blocks import (
    ReportBlocks,
    marks_reports,
    some_sent_again,
)
from quietcrowd.campaign.results.reports import copies_of
from quietcrowd.campaign.results.shown import ShownResults
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.menus import rounds_of
from quietcrowd.campaign.store.task_options import mechanism_of_tasks
from quietcrowd.campaign.terms.channels import parse_mechanism
from quietcrowd.formats.csv import guard_cell
from quietcrowd.formats.parquet import arrow_stream
from quietcrowd.formats.platforms.label_studio import task_document
from quietcrowd.formats.reports import report_note
from quietcrowd.frames import MECHANISM
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.mixture import Mixture
from quietcrowd.mechanisms.sent_again import MARKS
from quietcrowd.report_domains import OneOf

_TASKS = 500  # tasks read per query


@frozen(kw_only=True, slots=False)
class ReportExport:
    """Reports of a campaign that its requester may see, in the order of random ids."""

    database: Database
    campaign: Any

    @property
    def mechanism(self) -> Mechanism:
        """Mechanism that randomized the reports."""
        return parse_mechanism(self.campaign.mechanism)

    def note(self) -> dict[str, Any]:
        """Return the metadata of the reports, in the format of report files."""
        with self.database.read() as connection:
            names = connection.scalars(
                select(tables.task.c.name).where(tables.task.c.campaign_id == self.campaign.id)
            ).all()
            again = some_sent_again(self.mechanism)
            copies = copies_of(connection, self.campaign.id) if again else {}
        rounds = rounds_of(self.campaign.rounds)
        return report_note(
            self.described,
            simulated=False,
            tasks=sorted(names),
            copies=copies,
            rounds=None if rounds is None else {"window": rounds.window, "apart": rounds.slots},
        )

    @cached_property
    def described(self) -> Mechanism:
        """Mechanism with the options of each task, if they list their own."""
        with self.database.read() as connection:
            return mechanism_of_tasks(connection, self.campaign.id, self.mechanism)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the mechanism, marks if devices mark reports, the round and the mechanism.

        A round is that under which a report was shown. A campaign without rounds has no column.
        """
        of_round = () if self.campaign.rounds is None else ("round",)
        marks = MARKS if marks_reports(self.campaign) else ()
        return (*self.mechanism.columns, *marks, *of_round, MECHANISM)

    def json_lines(self) -> Iterator[str]:
        """Yield the metadata, then one report per line."""
        yield json.dumps(self.note()) + "\n"
        for rows in self._rows():
            yield "".join(
                json.dumps(dict(zip(self.columns, row, strict=True))) + "\n" for row in rows
            )

    def csv(self) -> Iterator[str]:
        """Yield a table; its metadata belongs in a separate file."""
        yield ",".join(self.columns) + "\r\n"
        for rows in self._rows():
            text = io.StringIO()
            csv.writer(text).writerows(map(_guarded, rows))
            yield text.getvalue()

    def arrow(self) -> Iterator[bytes]:
        """Yield an Arrow stream with the metadata in its schema."""
        return arrow_stream(self.note(), self._blocks())

    def _blocks(self) -> Iterator[pa.Table]:
        marked = marks_reports(self.campaign)
        for block in ReportBlocks(campaign=self.campaign).one_by_one(self.database):
            campaign = pa.repeat(self.campaign.id.hex(), len(block))
            named = block.append_column("campaign", campaign) if marked else block
            yield self._with_mechanisms(named).select(self.columns)

    def _with_mechanisms(self, block: pa.Table) -> pa.Table:
        """Add the hash of each report's mechanism, and decode its value as that mechanism does."""
        mixture, domain = self.described, self.described.report_domain
        if not (isinstance(mixture, Mixture) and isinstance(domain, OneOf)):
            return block.append_column(MECHANISM, pa.repeat(mixture.short_hash, len(block)))
        values = block["label"].to_numpy()
        used = domain.part_codes(values)
        codes = [domain.codes_of(part, values[used == part]) for part in range(len(domain.parts))]
        labels = [part.decode(found) for part, found in zip(domain.parts, codes, strict=True)]
        if len({one.type for one in labels}) > 1:
            labels = [one.cast(pa.string()) for one in labels]
        order = pa.array(np.argsort(np.argsort(used, kind="stable")))
        hashes = pa.array([part.short_hash for part in mixture.parts]).take(pa.array(used))
        place = block.schema.get_field_index("label")
        found = block.set_column(place, "label", pa.concat_arrays(labels).take(order))
        return found.append_column(MECHANISM, hashes)

    def _rows(self) -> Iterator[Iterator[Sequence[Any]]]:
        for table in self._blocks():
            yield zip(*table.to_pydict().values(), strict=True)


@frozen(kw_only=True)
class TruthExport:
    """Truths of the latest inference; `found` contains the pages of truths only."""

    campaign: Any
    found: ShownResults
    with_questions: bool = False

    def json_lines(self) -> Iterator[str]:
        """Yield one truth per line."""
        for rows in self.found.rows():
            yield "".join(json.dumps(row) + "\n" for row in rows)

    def csv(self) -> Iterator[str]:
        """Yield a table."""
        pages = self.found.rows()
        if self.with_questions:
            pages = _with_questions(self.found, pages)
        return _as_table(pages, ("task", "truth"))

    def label_studio(self) -> Iterator[str]:
        """Yield all tasks with their data, and truths, which are in memory, as predictions."""
        truths = {
            row["task"]: (row.get("truth"), row.get("confidence"))
            for rows in self.found.rows()
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
        """Yield the tasks by position, without a transaction open between blocks."""
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


def estimates_as_table(found: ShownResults) -> Iterator[str]:
    """Yield estimates as CSV, with questions; `found` contains the pages of estimates only.

    A question has a row per answer or, with levels or numbers, one of the mean, then one per level.
    """
    pages = ([one for row in rows for one in _estimates(row)] for rows in found.rows())
    names = ("task", "question", "answer", "estimate", "low", "high", "reports")
    return _as_table(_with_questions(found, pages), names)


def _estimates(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    def one(answer: Any, name: str, of: Mapping[str, Any]) -> dict[str, Any]:
        numbers = {"estimate": of[name], "low": of["low"], "high": of["high"]}
        return {"task": row["task"], "answer": answer, **numbers, "reports": row["reports"]}

    if "label" in row:
        yield one("no answer" if row["label"] is None else row["label"], "share", row)
        return
    yield one("mean", "mean", row)
    for level in row["histogram"] or ():
        yield one(level["low_edge"], "share", level)


def _as_table(pages: Iterator[list[dict[str, Any]]], usual: Sequence[str]) -> Iterator[str]:
    """Yield rows of equal columns as CSV; without rows, the columns are `usual`."""
    names: list[str] = []
    for rows in pages:
        text = io.StringIO()
        table = csv.writer(text)
        if not names:
            names = list(rows[0]) if rows else list(usual)
            table.writerow(names)
        table.writerows(_guarded([row[name] for name in names]) for row in rows)
        yield text.getvalue()


def _with_questions(
    found: ShownResults, pages: Iterator[list[dict[str, Any]]]
) -> Iterator[list[dict[str, Any]]]:
    """Add the text of the question to each row, next to the name of its task."""
    task = tables.task.c
    for rows in pages:
        wanted = select(task.name, task.data).where(
            task.campaign_id == found.campaign, task.name.in_({row["task"] for row in rows})
        )
        with found.database.read() as connection:
            texts = {name: _in_words(json.loads(data)) for name, data in connection.execute(wanted)}
        yield [{"task": row["task"], "question": texts.get(row["task"], ""), **row} for row in rows]


def _in_words(data: Mapping[str, Any]) -> str:
    """Return the data of a task in one line."""
    cells = [(name, " ".join(_text(value).split())) for name, value in data.items()]
    return " · ".join(text if len(cells) == 1 else f"{name}: {text}" for name, text in cells)


def _text(value: Any) -> str:
    if isinstance(value, dict) and "image" in value:
        return f"[{value.get('alt') or 'image'}]"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _guarded(row: Sequence[Any]) -> list[Any]:
    return [guard_cell(cell) if isinstance(cell, str) else cell for cell in row]
