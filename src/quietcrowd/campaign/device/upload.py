"""The reports of a device as one request: made once, kept, and sent as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
from attrs import asdict, field, frozen

from quietcrowd.campaign.device.checked_terms import CampaignTask, Terms
from quietcrowd.campaign.device.questions import Coded
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.channel_config import report_rule
from quietcrowd.campaign.terms.mechanisms import decoded
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.settings import MAX_BODY
from quietcrowd.campaign.terms.tokens import new_id
from quietcrowd.exceptions import CampaignError
from quietcrowd.mechanisms import Mechanism, Reports

__all__ = ["HeldReports", "Receipt", "Report", "Upload", "coded_reports"]

_LONGEST_CODE = 40

_Sent: TypeAlias = tuple[Any, ...]


@frozen(kw_only=True)
class Report:
    """A randomised report, as people read it.

    Attributes
    ----------
    task : str
        Name.
    value : label or number
        What was drawn; None is NULL, "no answer", where that can be drawn.
    participation : float or None
        A noisy 1 or 0, whether the task was answered, where that is released.
    """

    task: str
    value: Any
    participation: float | None = None


@frozen(kw_only=True)
class Upload:
    """All reports of a worker, ready to be sent.

    Attributes
    ----------
    content : bytes
        The body of the request: JSON, reports in the order of their tasks' ids.
    """

    content: bytes = field(repr=False)

    @classmethod
    def of(cls, reports: Mapping[str, Coded], terms: Terms) -> Upload:
        """Return the upload of a worker's reports.

        Parameters
        ----------
        reports : mapping of str to (value, bit)
            By the ids of tasks.
        terms : Terms
            What was agreed to.

        Raises
        ------
        CampaignError
            Where they do not fit into one request.
        """
        items = []
        for task in sorted(reports):
            value, bit = reports[task]
            item = {"report_id": new_id().hex(), "task_id": task, "value": value}
            items.append(item if bit is None else {**item, "bit": bit})
        return cls._fitting({"config_hash": terms.config_hash, "reports": items})

    @classmethod
    def of_sketch(cls, reports: Reports, terms: Terms) -> Upload:
        """Return the upload of a worker who sends one sketch; errors as of `of`."""
        assert reports.sketches is not None
        rule = report_rule(terms.mechanism, terms.tasks)
        numbers = rule.cut_off(reports.sketches[0]).tolist()
        sketch = {"report_id": new_id().hex(), "numbers": numbers}
        return cls._fitting({"config_hash": terms.config_hash, "sketch": sketch})

    @classmethod
    def _fitting(cls, body: Mapping[str, Any]) -> Upload:
        content = canonical_json(body)
        if len(content) > MAX_BODY:
            raise CampaignError(
                f"the reports take {len(content):,} bytes, and a campaign takes in {MAX_BODY:,} at "
                "most: it cannot be answered"
            )
        return cls(content=content)

    @property
    def items(self) -> list[dict[str, Any]]:
        """The reports as they are sent; none where a sketch is."""
        items: list[dict[str, Any]] = json.loads(self.content).get("reports", [])
        return items

    @property
    def sketch(self) -> dict[str, Any] | None:
        """The sketch as it is sent: noisy sums over all answers; None where reports are."""
        sketch: dict[str, Any] | None = json.loads(self.content).get("sketch")
        return sketch

    def reports(self, mechanism: Mechanism, tasks: Sequence[CampaignTask]) -> tuple[Report, ...]:
        """Return the reports as people read them; none where a sketch is sent."""
        return _readable(self.items, mechanism, tasks)


def coded_reports(reports: Reports, terms: Terms) -> dict[str, Coded]:
    """Return the reports of one worker as they are sent, by the names of their tasks.

    Noise is cut off at what the campaign takes in, which is a function of the reports alone.
    """
    rule = report_rule(terms.mechanism, terms.tasks)
    table, bits = reports.table, reports.participation_codes
    names = table.tasks.take(pa.array(table.task_codes)).to_pylist()
    values = rule.cut_off(table.values).tolist()
    shown = [None] * len(values) if bits is None else rule.cut_off_bits(bits).tolist()
    return dict(zip(names, zip(values, shown, strict=True), strict=True))


def _readable(
    items: Sequence[Mapping[str, Any]], mechanism: Mechanism, tasks: Sequence[CampaignTask]
) -> tuple[Report, ...]:
    if not items:
        return ()
    names = {task.id: task.name for task in tasks}
    values = decoded(mechanism.report_domain, [item["value"] for item in items]).to_pylist()
    bits: list[Any] = [None] * len(items)
    if mechanism.participation_domain is not None:
        bits = decoded(mechanism.participation_domain, [item["bit"] for item in items]).to_pylist()
    return tuple(
        Report(task=names[item["task_id"]], value=value, participation=bit)
        for item, value, bit in zip(items, values, bits, strict=True)
    )


@frozen(kw_only=True)
class Receipt:
    """What became of an upload.

    Attributes
    ----------
    accepted, duplicates : int
        How many reports were stored, now or before.
    rejected : tuple of (str, str)
        The task of each report that was not, and why; empty where a sketch was sent.
    """

    accepted: int
    duplicates: int
    rejected: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(
        cls, document: Mapping[str, Any], upload: Upload, tasks: Sequence[CampaignTask]
    ) -> Receipt:
        """Return what a server says of an upload; CampaignError where it does not add up."""
        names = {task.id: task.name for task in tasks}
        by_id = {item["report_id"]: names[item["task_id"]] for item in upload.items}
        if upload.sketch is not None:
            by_id = {upload.sketch["report_id"]: "all tasks"}
        try:
            counts = document["accepted"], document["duplicates"]
            rejected = [
                (by_id[one["report_id"]], one_line(one["code"])[:_LONGEST_CODE])
                for one in document["rejected"]
            ]
            whole = all(type(count) is int and count >= 0 for count in counts)
            adds_up = whole and sum(counts) + len(rejected) == len(by_id)
        except (KeyError, TypeError, AttributeError):
            adds_up = False
        if not adds_up:
            raise CampaignError(
                "what the server says of the reports does not add up; they are kept here, and can "
                "be sent again"
            )
        return cls(accepted=counts[0], duplicates=counts[1], rejected=tuple(rejected))

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as it is kept, JSON-ready; `from_dict` is its inverse."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Receipt:
        """Return the receipt that `to_dict` described."""
        rejected = tuple((task, code) for task, code in kept["rejected"])
        return cls(accepted=kept["accepted"], duplicates=kept["duplicates"], rejected=rejected)

    def require_all(self) -> Receipt:
        """Return the receipt; CampaignError where a report was rejected."""
        if self.rejected:
            task, code = self.rejected[0]
            more = f", and {len(self.rejected) - 1:,} more" * (len(self.rejected) > 1)
            raise CampaignError(
                f"the server took {self.accepted + self.duplicates:,} reports and rejects "
                f"{len(self.rejected):,}: that on {task!r} ({code}){more}. Sending them again "
                "changes nothing; ask who invited you, or withdraw"
            )
        return self


@frozen(kw_only=True)
class HeldReports:
    """What a server holds of a worker, beside what the worker's device sent.

    Attributes
    ----------
    count : int
        How many reports, or sketches, the server holds.
    reports : tuple of Report
        Held by the server; none where a sketch was sent, or where nothing was acknowledged yet:
        what is on its way is nothing to look at.
    sketch : tuple of float or None
        Held by the server, where a sketch was sent and acknowledged.
    missing : int
        How many were sent and are not held as they were sent.
    strange : int
        How many are held and were not sent from here.
    """

    count: int
    reports: tuple[Report, ...]
    sketch: tuple[float, ...] | None
    missing: int
    strange: int

    @property
    def as_sent(self) -> bool:
        """Whether the server holds what was sent, and nothing else."""
        return not self.missing and not self.strange

    @property
    def empty(self) -> bool:
        """Whether nothing is held."""
        return not self.count

    @classmethod
    def read(
        cls,
        document: Mapping[str, Any],
        upload: Upload | None,
        mechanism: Mechanism,
        tasks: Sequence[CampaignTask],
        *,
        acknowledged: bool = True,
    ) -> HeldReports:
        """Return what a server says that it holds, beside what was sent.

        Parameters
        ----------
        document : mapping
            What the server answered.
        upload : Upload or None
            What was sent; None where nothing was.
        mechanism : Mechanism
            What randomised.
        tasks : sequence of CampaignTask
            All of them.
        acknowledged : bool
            Whether the server said that it took the upload. Before that it may hold nothing, and
            what it holds is compared and not shown.

        Raises
        ------
        CampaignError
            Where the answer cannot be read.
        """
        items: list[dict[str, Any]] = [] if upload is None else upload.items
        sketch = None if upload is None else upload.sketch
        try:
            sent = {*map(_sent, items), *([] if sketch is None else [_sent_sketch(sketch)])}
            listed, its_sketch = document["reports"], document["sketch"]
            sketches = [] if its_sketch is None else [_sent_sketch(its_sketch)]
            held = {*map(_sent, listed), *sketches}
            shown = acknowledged or upload is None
            return cls(
                count=len(listed) + len(sketches),
                reports=_readable(listed, mechanism, tasks) if shown else (),
                sketch=tuple(its_sketch["numbers"]) if sketches and shown else None,
                missing=len(sent - held) if acknowledged or held else 0,
                strange=len(held - sent),
            )
        except (KeyError, TypeError, ValueError, OverflowError, pa.ArrowException, IndexError):
            raise CampaignError(
                "what the server holds cannot be read: ask who invited you"
            ) from None


def _sent(item: Mapping[str, Any]) -> _Sent:
    return item["report_id"], item["task_id"], item["value"], item.get("bit")


def _sent_sketch(sketch: Mapping[str, Any]) -> _Sent:
    return sketch["report_id"], *sketch["numbers"]
