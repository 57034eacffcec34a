"""Randomization of a worker's answers into the upload, made once; nothing else randomizes."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from quietcrowd.answers import Answers
from quietcrowd.campaign.device.checked_terms import CampaignTask, Terms
from quietcrowd.campaign.device.questions import (
    CodedReport,
    TaskQuestions,
    channel_hash,
    readable_values,
    spell_report,
)
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.channels import ReportRule, decoded, report_rule
from quietcrowd.campaign.terms.options import COLUMN
from quietcrowd.campaign.terms.settings import MAX_BODY
from quietcrowd.campaign.terms.tokens import new_id
from quietcrowd.exceptions import CampaignError
from quietcrowd.mechanisms import Mechanism, Memo, Reports
from quietcrowd.mechanisms.worker_table import worker_table


@frozen(kw_only=True)
class Report:
    """Randomized report, decoded for people.

    `task` is a name, and `value` comes from `readable_values`; None means NULL, "no answer".
    `participation` is a noisy 1 or 0, whether the task was answered, if the mechanism releases it.
    """

    task: str
    value: Any
    participation: float | None = None


@frozen(kw_only=True)
class CommittedReports:
    """Request body with all reports of a worker: JSON, ordered by task id."""

    content: bytes = field(repr=False)

    @classmethod
    def of(
        cls,
        reports: Mapping[str, CodedReport],
        terms: Terms,
        again: Collection[str] = (),
        number: int | None = None,
    ) -> CommittedReports:
        """Return the upload of reports by task id, or raise CampaignError if it is too large.

        `number` is that of the round, if the campaign has rounds.
        """
        items = []
        for task in sorted(reports):
            value, bit = reports[task]
            item = {"report_id": new_id().hex(), "task_id": task, "value": value}
            more: dict[str, Any] = {} if bit is None else {"bit": bit}
            items.append(item | more | ({"again": True} if task in again else {}))
        of_round = {} if number is None else {"round": number}
        return cls._fitting({"config_hash": terms.config_hash, "reports": items, **of_round})

    @classmethod
    def of_sketch(cls, reports: Reports, terms: Terms) -> CommittedReports:
        """Return the upload of a worker with one sketch; errors as in `of`."""
        assert reports.sketches is not None
        rule = report_rule(terms.mechanism, terms.tasks)
        numbers = rule.cut_off(reports.sketches[0]).tolist()
        sketch = {"report_id": new_id().hex(), "numbers": numbers}
        return cls._fitting({"config_hash": terms.config_hash, "sketch": sketch})

    @classmethod
    def _fitting(cls, body: Mapping[str, Any]) -> CommittedReports:
        content = canonical_json(body)
        if len(content) > MAX_BODY:
            raise CampaignError("campaign.reports-too-long", count=len(content), max_body=MAX_BODY)
        return cls(content=content)

    @property
    def items(self) -> list[dict[str, Any]]:
        """Reports in their wire format; empty for a sketch."""
        items: list[dict[str, Any]] = json.loads(self.content).get("reports", [])
        return items

    @property
    def round(self) -> int | None:
        """Number of the round; None without rounds."""
        number: int | None = json.loads(self.content).get("round")
        return number

    @property
    def sketch(self) -> dict[str, Any] | None:
        """Sketch in its wire format (noisy sums over all answers), or None for reports."""
        sketch: dict[str, Any] | None = json.loads(self.content).get("sketch")
        return sketch

    def reports(self, mechanism: Mechanism, tasks: Sequence[CampaignTask]) -> tuple[Report, ...]:
        """Return the decoded reports; empty for a sketch."""
        return readable_reports(self.items, mechanism, tasks)


def coded_reports(reports: Reports, rule: ReportRule) -> dict[str, CodedReport]:
    """Return wire codes by task name, with noise clipped to the range that the campaign accepts."""
    table, bits = reports.table, reports.participation_codes
    names = table.tasks.take(pa.array(table.task_codes)).to_pylist()
    given = table.values
    if table.options is not None:
        given = table.options.positions(table.task_codes, given)
    values = rule.cut_off(given).tolist()
    shown = [None] * len(values) if bits is None else rule.cut_off_bits(bits).tolist()
    return dict(zip(names, zip(values, shown, strict=True), strict=True))


def readable_reports(
    items: Sequence[Mapping[str, Any]], mechanism: Mechanism, tasks: Sequence[CampaignTask]
) -> tuple[Report, ...]:
    """Decode reports in their wire format."""
    if not items:
        return ()
    by_id = {task.id: task for task in tasks}
    values = readable_values(mechanism, [item["value"] for item in items])
    if mechanism.option_counts:
        values = [by_id[item["task_id"]].data[COLUMN][item["value"]] for item in items]
    bits: list[Any] = [None] * len(items)
    if mechanism.participation_domain is not None:
        bits = decoded(mechanism.participation_domain, [item["bit"] for item in items]).to_pylist()
    return tuple(
        Report(task=by_id[item["task_id"]].name, value=value, participation=bit)
        for item, value, bit in zip(items, values, bits, strict=True)
    )


@frozen(kw_only=True)
class Draw:
    """Checked answers of a worker, from which `commit` samples the reports.

    `known` contains what this requester received before through the same channel, by question hash.
    """

    terms: Terms
    questions: TaskQuestions
    known: Mapping[str, CodedReport]
    answers: Answers

    @classmethod
    def of(
        cls,
        answers: Mapping[str, Any],
        *,
        worker: str,
        terms: Terms,
        questions: TaskQuestions,
        known: Mapping[str, CodedReport],
    ) -> Draw:
        """Check answers; raise AnswerError, which repeats no answer, if one is invalid."""
        table = worker_table(
            answers,
            domain=terms.mechanism.domain,
            options=questions.randomizer.options,
            tasks=sorted(task.name for task in questions.tasks),
            worker=worker,
            campaign=terms.campaign,
        )
        return cls(terms=terms, questions=questions, known=known, answers=table)

    @property
    def reported(self) -> tuple[CampaignTask, ...]:
        """Tasks that get a report: those answered, or all."""
        if self.terms.mechanism.every_task:
            return tuple(self.questions.tasks)
        names = self.answers.tasks
        answered = {names[code].as_py() for code in self.answers.task_codes.tolist()}
        return tuple(task for task in self.questions.tasks if task.name in answered)

    @property
    def count(self) -> int:
        """Number of sampled reports, which is charged: one per question if copies can share one."""
        if channel_hash(self.terms.mechanism) is None:
            return len(self.reported)
        return len({self._question(task) for task in self.reported} - self.known.keys())

    def commit(
        self, given: Mapping[str, Any], memo: Memo | None
    ) -> tuple[CommittedReports, Mapping[str, Any]]:
        """Sample the reports; return the upload and what the device remembers of each question."""
        if channel_hash(self.terms.mechanism) is None:
            return self._afresh(given, memo)
        assert memo is not None
        return self._once(given, memo)

    def _afresh(
        self, given: Mapping[str, Any], memo: Memo | None
    ) -> tuple[CommittedReports, Mapping[str, Any]]:
        kept = {self._question(task): None for task in self.reported}
        if memo is None:
            reports = self.questions.randomizer.randomize(self.answers)
        else:
            reports = memo.report(given)
        if reports.sketches is not None:
            return CommittedReports.of_sketch(reports, self.terms), kept
        return self._upload(coded_reports(reports, self._rule)), kept

    def _once(
        self, given: Mapping[str, Any], memo: Memo
    ) -> tuple[CommittedReports, Mapping[str, Any]]:
        answers = self.questions.once({str(name): answer for name, answer in given.items()})
        drawn = coded_reports(memo.report(answers), self._rule)
        sent, kept, again = {}, {}, set()
        for task in self.reported:
            question, first = self._question(task), self.questions.first_of(task.name)
            if question in self.known or question in kept:
                again.add(task.id)
            report = self.known[question] if question in self.known else drawn[first]
            sent[task.name] = report
            kept[question] = spell_report(self.terms.mechanism, report)
        # A server that sends no requester id does not know the mark `again` either.
        return self._upload(sent, again if self.terms.requester_id is not None else ()), kept

    def _upload(
        self, sent: Mapping[str, CodedReport], again: Collection[str] = ()
    ) -> CommittedReports:
        by_id = {task.id: sent[task.name] for task in self.reported}
        number = self.questions.occasion.get("round")
        return CommittedReports.of(by_id, self.terms, again, number)

    @property
    def _rule(self) -> ReportRule:
        return report_rule(self.terms.mechanism, self.terms.tasks)

    def _question(self, task: CampaignTask) -> str:
        return self.questions.hashes[task.name]
