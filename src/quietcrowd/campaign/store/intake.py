"""Processing of uploads, in batches of one transaction each.

A worker has one final report per task. Repeating it succeeds without effect; a different report is
a conflict. Both are reported per item, and one item does not fail the others. If a campaign assigns
tasks, reports on other tasks count as reports on unknown tasks. If workers wait for a release, all
reports of a worker come in one upload, and later reports are conflicts. In rounds this holds for
each round, and new reports are accepted only while the worker's round is open.
"""

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from attrs import Factory, define, field, frozen
from sqlalchemy import Connection, Table, select

from quietcrowd.campaign.protocol.problems import ProblemError, broken_rule
from quietcrowd.campaign.protocol.worker_documents import Receipt, Rejected, Upload
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import allotted_tasks
from quietcrowd.campaign.store.choices import choices_in
from quietcrowd.campaign.store.database import insert_rows, look_up
from quietcrowd.campaign.store.releases import release_waiting, show_at_once, waits_for_others
from quietcrowd.campaign.store.task_options import read_options
from quietcrowd.campaign.terms.channels import (
    ReportRule,
    parse_mechanism,
    report_rule,
    stored_rule,
)
from quietcrowd.campaign.terms.rounds import Rounds
from quietcrowd.campaign.terms.tokens import participant_id, same_hash, token_hash
from quietcrowd.exceptions import RemovedMechanismError
from quietcrowd.mechanisms import Mechanism

_CACHED = 64


@frozen(kw_only=True)
class WorkerUpload:
    """An upload with the worker's credential."""

    credential: str = field(repr=False)
    upload: Upload

    @property
    def participant(self) -> bytes:
        """The worker's id."""
        return participant_id(self.credential)

    @property
    def report_ids(self) -> list[bytes]:
        """Ids of all reports in the upload."""
        texts = [item.report_id for item in self.upload.reports]
        if self.upload.sketch is not None:
            texts.append(self.upload.sketch.report_id)
        return [bytes.fromhex(text) for text in texts]


class Taken(NamedTuple):
    """Results of a batch, by upload; a campaign is None for an unknown worker.

    `shown` maps campaigns with newly visible reports to the number of newly visible workers.
    """

    outcomes: list[Receipt | ProblemError]
    shown: Mapping[bytes, int]
    campaigns: list[bytes | None]


class _Person(NamedTuple):
    id: bytes
    campaign_id: bytes
    token_sha256: bytes
    state: str
    config_hash: bytes
    waits: bool
    allotted: frozenset[bytes]
    placed: bool
    choice: int
    slot: int | None
    after: int


_Key: TypeAlias = tuple[int, bytes]
"""A round, 0 without rounds, and a task."""


class _Stored(NamedTuple):
    report_id: bytes
    value: int
    bit: int | None
    again: int


@frozen(kw_only=True)
class _Fixed:
    """Unchangeable part of a campaign; `options` is how many a task has, if tasks list theirs.

    There is a rule for each entry of the menu, or one.
    """

    tasks: frozenset[bytes]
    options: Mapping[bytes, int]
    rules: Sequence[ReportRule]
    rounds: Rounds | None
    most: int
    hands_out: bool
    completion_code: str | None

    @property
    def table(self) -> Table:
        """Table of the reports."""
        if self.rounds is not None:
            return tables.round_report
        return tables.report if self.rules[0].sketch_length is None else tables.sketch

    def receipt(self, accepted: int, duplicates: int, rejected: list[Rejected]) -> Receipt:
        """Return a receipt, with the completion code if nothing is rejected."""
        return Receipt(
            accepted=accepted,
            duplicates=duplicates,
            rejected=rejected,
            completion_code=None if rejected else self.completion_code,
        )


@define(kw_only=True)
class _Batch:
    people: Mapping[bytes, _Person]
    fixed: Mapping[bytes, _Fixed]
    removed: Mapping[bytes, ProblemError]
    now: float
    reports: dict[bytes, dict[_Key, _Stored]]
    sketches: dict[bytes, tuple[bytes, bytes]]
    taken: set[tuple[bytes, bytes]]
    known: frozenset[bytes] = frozenset()  # workers with stored reports or sketches
    new: dict[Table, list[tuple[Any, ...]]] = Factory(lambda: {one: [] for one in tables.SENT})


@define
class Intake:
    """A processor of uploads with a cache of the unchangeable parts of campaigns."""

    _known: dict[bytes, _Fixed] = Factory(dict)

    def take(
        self,
        connection: Connection,
        sent: Sequence[WorkerUpload],
        clock: Callable[[], float] = time.time,
    ) -> Taken:
        """Decide on uploads in their order, and insert new rows in a write transaction."""
        batch = self._gather(connection, sent, clock)
        with_reports = (one for one, held in batch.reports.items() if held)
        batch.known = frozenset([*batch.sketches, *with_reports])
        outcomes = [_outcome(batch, one) for one in sent]
        for table, rows in batch.new.items():
            insert_rows(connection, table, rows)
        senders: dict[bytes, list[bytes]] = {}
        for campaign, person, *_ in (*batch.new[tables.report], *batch.new[tables.sketch]):
            senders.setdefault(campaign, []).append(person)
        shown: dict[bytes, int] = {}
        for campaign, who in senders.items():
            count = _show(connection, batch, campaign, who)
            if count is not None:
                shown[campaign] = count
        people = [batch.people.get(one.participant) for one in sent]
        campaigns = [None if person is None else person.campaign_id for person in people]
        return Taken(outcomes, shown, campaigns)

    def _gather(
        self, connection: Connection, sent: Sequence[WorkerUpload], clock: Callable[[], float]
    ) -> _Batch:
        people = _people(connection, {one.participant for one in sent})
        by_campaign: dict[bytes, set[bytes]] = {}
        for person in people.values():
            by_campaign.setdefault(person.campaign_id, set()).add(person.id)
        fixed: dict[bytes, _Fixed] = {}
        removed: dict[bytes, ProblemError] = {}
        for campaign in by_campaign:
            try:
                fixed[campaign] = self._fixed(connection, campaign)
            except RemovedMechanismError as error:
                removed[campaign] = ProblemError("mechanism-removed", str(error))
        batch = _Batch(
            people=people,
            fixed=fixed,
            removed=removed,
            now=clock(),  # once the campaigns are locked, so that no round is shown before
            reports={one: {} for one in people},
            sketches={},
            taken=set(),
        )
        ids: dict[bytes, list[bytes]] = {}
        for one in sent:
            if (member := people.get(one.participant)) is not None:
                ids.setdefault(member.campaign_id, []).extend(one.report_ids)
        for campaign in fixed:
            _read_stored(connection, batch, campaign, by_campaign[campaign], ids.get(campaign, []))
        return batch

    def _fixed(self, connection: Connection, campaign: bytes) -> _Fixed:
        if campaign not in self._known:
            if len(self._known) >= _CACHED:
                self._known.clear()
            row = connection.execute(
                select(tables.campaign).where(tables.campaign.c.id == campaign)
            ).one()
            tasks = connection.scalars(
                select(tables.task.c.id).where(tables.task.c.campaign_id == campaign)
            ).all()
            options = read_options(connection, campaign, parse_mechanism(row.mechanism))
            config = json.loads(row.config)
            self._known[campaign] = _Fixed(
                tasks=frozenset(tasks),
                options={task: len(listed) for task, listed in options.items()},
                rules=_rules(row.mechanism, config, len(tasks)),
                rounds=choices_in(row.config).rounds,
                most=config["answers_per_participant"],
                hands_out="allotment" in config,
                completion_code=row.completion_code,
            )
        return self._known[campaign]


def _rules(mechanism: str, config: Mapping[str, Any], tasks: int) -> list[ReportRule]:
    if "menu" not in config:
        return [stored_rule(mechanism, tasks)]
    entries = (one["mechanism"] for one in config["menu"]["entries"])
    return [report_rule(Mechanism.from_dict(one), tasks) for one in entries]


def _show(
    connection: Connection, batch: _Batch, campaign: bytes, senders: Sequence[bytes]
) -> int | None:
    """Show new reports or let them wait; return the number of newly visible workers, or None."""
    if any(batch.people[one].waits for one in senders):
        return release_waiting(connection, campaign, set(senders)) or None
    show_at_once(connection, campaign, reports=len(senders))
    return len(set(senders) - batch.known)


def _people(connection: Connection, ids: Iterable[bytes]) -> dict[bytes, _Person]:
    """Return workers and their campaigns, and lock both, campaigns first to prevent deadlocks.

    One transaction at a time counts the new reports of a campaign. Unless workers wait for a
    release, the weaker lock allows results to be written meanwhile.
    """
    person, campaign = tables.participant.c, tables.campaign.c
    wanted = person.id.in_(list(ids))
    met = campaign.id.in_(select(person.campaign_id).where(wanted))
    by_id = {
        row.id: row
        for waits, which in ((False, campaign.at_least <= 1), (True, campaign.at_least > 1))
        for row in connection.execute(
            select(
                *(campaign.id, campaign.state, campaign.config_hash),
                *(campaign.at_least, campaign.shown_round),
            )
            .where(met, which)
            .order_by(campaign.id)
            .with_for_update(key_share=not waits)
        )
    }
    found = connection.execute(
        select(
            *(person.id, person.campaign_id, person.token_sha256),
            *(person.allotment, person.placed, person.choice, person.slot, person.after),
        )
        .where(wanted, person.campaign_id.in_(by_id))
        .order_by(person.id)
        .with_for_update()
    ).all()
    return {
        row.id: _Person(
            id=row.id,
            campaign_id=row.campaign_id,
            token_sha256=row.token_sha256,
            state=by_id[row.campaign_id].state,
            config_hash=by_id[row.campaign_id].config_hash,
            waits=waits_for_others(by_id[row.campaign_id]),
            allotted=frozenset(allotted_tasks(row.allotment)),
            placed=row.placed == 1,
            choice=row.choice or 0,
            slot=row.slot,
            after=max(_or_none(row.after), _or_none(by_id[row.campaign_id].shown_round)),
        )
        for row in found
    }


def _or_none(number: int | None) -> int:
    return -1 if number is None else number


def _read_stored(
    connection: Connection,
    batch: _Batch,
    campaign: bytes,
    members: set[bytes],
    ids: Sequence[bytes],
) -> None:
    table = batch.fixed[campaign].table
    for row in look_up(connection, table, campaign, "participant_id", list(members)):
        if table is tables.sketch:
            batch.sketches[row.participant_id] = (row.report_id, row.numbers)
        else:
            stored = _Stored(row.report_id, row.value, row.bit, row.again)
            key = row.round if table is tables.round_report else 0, row.task_id
            batch.reports[row.participant_id][key] = stored
    found = look_up(connection, table, campaign, "report_id", ids)
    batch.taken.update((campaign, row.report_id) for row in found)


def _outcome(batch: _Batch, sent: WorkerUpload) -> Receipt | ProblemError:
    try:
        return _decide(batch, sent)
    except ProblemError as problem:
        return problem


def _decide(batch: _Batch, sent: WorkerUpload) -> Receipt:
    person = batch.people.get(sent.participant)
    if person is None or not same_hash(person.token_sha256, token_hash(sent.credential)):
        raise ProblemError("credential", "Join the campaign first.")
    if not person.placed:
        raise ProblemError("place-needed", "PUT /me/place before you randomize and send.")
    if not same_hash(person.config_hash, bytes.fromhex(sent.upload.config_hash)):
        raise ProblemError(
            "config-mismatch", "Read the campaign again; send only what the worker agreed to."
        )
    if person.campaign_id in batch.removed:
        raise batch.removed[person.campaign_id]
    fixed = batch.fixed[person.campaign_id]
    if (sent.upload.round is None) != (fixed.rounds is None):
        raise broken_rule("/round", "round", "Campaigns in rounds, and no others, require a round.")
    rule = fixed.rules[person.choice]
    if (sent.upload.sketch is not None) != (rule.sketch_length is not None) or (
        sent.upload.sketch is not None and sent.upload.reports
    ):
        raise broken_rule("", "kind", "Send reports or a sketch, as the mechanism requires.")
    if sent.upload.sketch is not None:
        return _decide_sketch(batch, person, fixed, sent.upload)
    return _decide_reports(batch, person, fixed, sent.upload)


def _decide_reports(batch: _Batch, person: _Person, fixed: _Fixed, upload: Upload) -> Receipt:
    stored, number, rule = batch.reports[person.id], upload.round or 0, fixed.rules[person.choice]
    before = {task: one for (at, task), one in stored.items() if at == number}
    held, duplicates, rejected = dict(before), 0, []
    ids: set[bytes] = set()
    for item in upload.reports:
        task = bytes.fromhex(item.task_id)
        report = _Stored(bytes.fromhex(item.report_id), item.value, item.bit, int(item.again))
        known = task in held
        code = _reason(batch, person, fixed, held, task, report)
        if code is None and not known and person.waits and before:
            code = "conflict"  # with the worker's only upload
        if code is None and not known and report.report_id in ids:
            code = "conflict"  # with an earlier item of this upload
        if code is not None:
            rejected.append(Rejected.model_validate({"report_id": item.report_id, "code": code}))
            continue
        ids.add(report.report_id)
        duplicates += known
        held[task] = report
    if rule.every_task and (rejected or held.keys() != fixed.tasks):
        raise broken_rule(
            "/reports",
            "incomplete",
            "Every worker reports every task of the campaign, once, in one upload.",
        )
    new = held.keys() - before.keys()
    if new and person.state != "open":
        raise ProblemError("campaign-closed", "The campaign accepts no more reports.")
    rounds = fixed.rounds
    if new and rounds is not None:
        mine = number > person.after and rounds.accepts(number, person.slot, batch.now)
        if not mine:
            raise ProblemError("round-not-open", "Missed rounds are not made up.")
    stored.update(((number, task), held[task]) for task in new)
    batch.taken.update((person.campaign_id, held[task].report_id) for task in new)
    of_round = () if rounds is None else (number,)
    batch.new[fixed.table] += [
        (person.campaign_id, person.id, *of_round, task, *held[task]) for task in new
    ]
    return fixed.receipt(len(new), duplicates, rejected)


def _reason(
    batch: _Batch,
    person: _Person,
    fixed: _Fixed,
    held: Mapping[bytes, _Stored],
    task: bytes,
    report: _Stored,
) -> str | None:
    if task not in fixed.tasks:
        return "unknown-task"
    within = report.value < fixed.options.get(task, math.inf)
    rule = fixed.rules[person.choice]
    if not (within and rule.accepts(report.value, report.bit)):
        return "out-of-domain"
    if task in held:
        return None if held[task] == report else "conflict"
    if fixed.hands_out and task not in person.allotted:
        return "unknown-task"
    if (person.campaign_id, report.report_id) in batch.taken:
        return "conflict"
    return "budget" if len(held) >= fixed.most and not rule.every_task else None


def _decide_sketch(batch: _Batch, person: _Person, fixed: _Fixed, upload: Upload) -> Receipt:
    item = upload.sketch
    assert item is not None
    numbers = fixed.rules[0].packed(item.numbers)
    if numbers is None:
        raise broken_rule(
            "/sketch/numbers", "out-of-domain", "No device of the campaign can send these."
        )
    report_id, packed = bytes.fromhex(item.report_id), numbers.tobytes()
    stored = batch.sketches.get(person.id)
    if stored == (report_id, packed):
        return fixed.receipt(0, 1, [])
    if person.state != "open":
        raise ProblemError("campaign-closed", "The campaign accepts no more reports.")
    if stored is not None or (person.campaign_id, report_id) in batch.taken:
        rejected = [Rejected(report_id=item.report_id, code="conflict")]
        return fixed.receipt(0, 0, rejected)
    batch.sketches[person.id] = (report_id, packed)
    batch.taken.add((person.campaign_id, report_id))
    batch.new[tables.sketch].append((person.campaign_id, person.id, report_id, packed))
    return fixed.receipt(1, 0, [])
