"""Reports of a campaign that its requester may see, in blocks of whole workers."""

import json
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import field, frozen
from sqlalchemy import Connection, Select, Table, select

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database, look_up
from quietcrowd.campaign.store.releases import (
    is_of_shown_round,
    shown_rounds,
    waits_for_others,
)
from quietcrowd.campaign.store.task_options import read_options
from quietcrowd.campaign.terms.channels import decoded, parse_mechanism, stored_rule
from quietcrowd.campaign.terms.near_copies import sent_again
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.mixture import Mixture
from quietcrowd.report_domains import OneOf

_BLOCK = 5_000  # rows read per query; the reports of one worker stay together even if they are more


def marks_reports(campaign: Any) -> bool:
    """Return whether devices mark repeated reports, unlike in campaigns of older versions."""
    config = {} if campaign.config is None else json.loads(campaign.config)
    return "requester_id" in config and some_sent_again(parse_mechanism(campaign.mechanism))


def some_sent_again(mechanism: Mechanism) -> bool:
    """Return whether devices of some workers send one report for all copies of a question."""
    parts = mechanism.parts if isinstance(mechanism, Mixture) else (mechanism,)
    return any(map(sent_again, parts))


def parts_by_choice(campaign: Any) -> list[int]:
    """Return the part of the mixture for each entry of a menu; empty without a menu."""
    menu = json.loads(campaign.config).get("menu")
    if menu is None:
        return []
    mixture: Any = parse_mechanism(campaign.mechanism)
    chosen = (Mechanism.from_dict(entry["mechanism"]) for entry in menu["entries"])
    return [mixture.parts.index(one) for one in chosen]


@frozen(kw_only=True)
class ReportBlocks:
    """Reports of a campaign without `excluded` workers (pseudonyms), in the order of random ids."""

    campaign: Any
    excluded: Collection[str] = frozenset()
    _names: dict[bytes, str] = field(factory=dict, init=False, repr=False)
    _options: dict[bytes, list[int]] = field(factory=dict, init=False, repr=False)
    _rounds: list[int] = field(factory=list, init=False, repr=False)

    @property
    def mechanism(self) -> Mechanism:
        """Mechanism that randomized the reports."""
        return parse_mechanism(self.campaign.mechanism)

    def one_by_one(self, database: Database) -> Iterator[pa.Table]:
        """Yield blocks of whole workers, at least one, each from its own transaction.

        So a slow reader occupies no connection and delays no deletion.
        """
        after: bytes | None = b""
        while after is not None:
            with database.read() as connection:
                block, after = self._block(connection, after)
            yield block

    def of_one_state(self, connection: Connection) -> Iterator[pa.Table]:
        """Yield the same blocks in one transaction, as a consistent snapshot."""
        after: bytes | None = b""
        while after is not None:
            block, after = self._block(connection, after)
            yield block

    def _block(self, connection: Connection, after: bytes) -> tuple[pa.Table, bytes | None]:
        """Return the next block, and its last worker or None for the last block."""
        table = tables.campaign.c
        if connection.scalar(select(table.id).where(table.id == self.campaign.id)) is None:
            raise ProblemError("not-found", "The campaign was deleted meanwhile.")
        rows, more = self._read(connection, after)
        people = self._people(connection, {row.participant_id for row in rows})
        of_people = [row for row in rows if row.participant_id in people]
        workers = [people[row.participant_id].pseudonym for row in of_people]
        if self._per_task:
            choices = [people[row.participant_id].choice for row in of_people]
            block = self._reports(of_people, workers, choices, self._task_names(connection))
        else:
            block = self._sketches(of_people, workers)
        return block, rows[-1].participant_id if more else None

    @property
    def _per_task(self) -> bool:
        return "task" in self.mechanism.columns

    @property
    def _table(self) -> Table:
        if self.campaign.rounds is not None:
            return tables.round_report
        return tables.report if self._per_task else tables.sketch

    def _task_names(self, connection: Connection) -> Mapping[bytes, str]:
        if not self._names:
            task = tables.task.c
            wanted = select(task.id, task.name).where(task.campaign_id == self.campaign.id)
            self._names.update((row.id, row.name) for row in connection.execute(wanted))
            domain: Any = self.mechanism.domain
            options = read_options(connection, self.campaign.id, self.mechanism)
            self._options.update((id_, list(map(domain.code, one))) for id_, one in options.items())
            self._rounds.extend(shown_rounds(connection, self.campaign.id))
        return self._names

    def _wanted(self) -> Select[Any]:
        columns = [one for one in self._table.c if one.name not in ("campaign_id", "report_id")]
        mine = self._table.c.campaign_id == self.campaign.id
        if self.campaign.rounds is not None:
            mine &= is_of_shown_round(self.campaign)
        return select(*columns).where(mine).order_by(*self._table.primary_key)

    def _read(self, connection: Connection, after: bytes) -> tuple[Sequence[Any], bool]:
        """Return the rows of the next workers, also of unreleased ones, and whether more follow."""
        per_task = self._per_task
        length = None if per_task else stored_rule(self.campaign.mechanism).sketch_length
        most = max(2, _BLOCK if length is None else _BLOCK // length)
        worker = self._table.c.participant_id
        rows = connection.execute(self._wanted().where(worker > after).limit(most)).all()
        if len(rows) < most:
            return rows, False
        last = rows[-1].participant_id
        whole = [row for row in rows if row.participant_id != last]
        if not whole:
            whole = list(connection.execute(self._wanted().where(worker == last)).all())
        return whole, True

    def _people(self, connection: Connection, ids: Collection[bytes]) -> dict[bytes, Any]:
        found = look_up(connection, tables.participant, self.campaign.id, "id", list(ids))
        wait = waits_for_others(self.campaign)
        shown = (row for row in found if row.standing == "shown" or not wait)
        return {row.id: row for row in shown if row.pseudonym not in self.excluded}

    def _reports(
        self,
        rows: Sequence[Any],
        workers: Sequence[str],
        choices: Sequence[int | None],
        names: Mapping[bytes, str],
    ) -> pa.Table:
        labels = self._labels(list(map(self._code, rows)), choices)
        columns = {
            "task": pa.array([names[row.task_id] for row in rows], pa.string()),
            "worker": pa.array(workers, pa.string()),
            "label": labels,
        }
        bits = self.mechanism.participation_domain
        if bits is not None:
            columns["participation"] = decoded(bits, [row.bit for row in rows])
        if marks_reports(self.campaign):
            columns["again"] = pa.array([bool(row.again) for row in rows], pa.bool_())
        if self.campaign.rounds is not None:
            columns["round"] = pa.array([self._shown_with(row.round) for row in rows], pa.int64())
        return pa.table(columns)

    def _shown_with(self, number: int) -> int:
        """Return the round under which a round is shown."""
        return self._rounds[bisect_left(self._rounds, number)]

    def _labels(self, codes: Sequence[int], choices: Sequence[int | None]) -> pa.Array:
        domain = self.mechanism.report_domain
        if not isinstance(domain, OneOf):
            return decoded(domain, codes)
        given = np.array(parts_by_choice(self.campaign), np.intp)[np.array(choices, np.intp)]
        values = np.array(codes, np.int64)
        for part in range(len(domain.parts)):
            mine = given == part
            values[mine] = domain.values_of(part, values[mine])
        return domain.decode(values)

    def _code(self, row: Any) -> int:
        """Return the code of a report, which among options is a position."""
        options = self._options.get(row.task_id)
        return row.value if options is None else options[row.value]  # type: ignore[no-any-return]

    def _sketches(self, rows: Sequence[Any], workers: Sequence[str]) -> pa.Table:
        rule = stored_rule(self.campaign.mechanism)
        length = rule.sketch_length or 0
        numbers = [np.frombuffer(row.numbers, rule.dtype) for row in rows]
        return pa.table(
            {
                "worker": pa.array(np.repeat(np.array(workers, object), length), pa.string()),
                "coordinate": pa.array(np.tile(np.arange(length, dtype=np.int32), len(rows))),
                "number": pa.array(np.concatenate([np.zeros(0, rule.dtype), *numbers])),
            }
        )
