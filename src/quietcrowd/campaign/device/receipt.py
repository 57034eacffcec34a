"""What a server says of a worker's reports: what became of them, and what it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
from attrs import asdict, frozen

from quietcrowd.campaign.device.checked_terms import CampaignTask
from quietcrowd.campaign.device.draw import CommittedReports, Report, readable_reports
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.settings import MAX_COMPLETION_CODE
from quietcrowd.exceptions import CampaignError
from quietcrowd.mechanisms import Mechanism

__all__ = ["HeldReports", "WorkerReceipt"]

_LONGEST_CODE = 40

_SentReport: TypeAlias = tuple[Any, ...]


@frozen(kw_only=True)
class WorkerReceipt:
    """What became of an upload.

    Attributes
    ----------
    accepted, duplicates : int
        How many reports were stored, now or before.
    rejected : tuple of (str, str)
        The task of each report that was not, and why; empty where a sketch was sent.
    completion_code : str or None
        What the campaign gives to all whose reports are stored, to be shown to whoever pays.
    """

    accepted: int
    duplicates: int
    rejected: tuple[tuple[str, str], ...] = ()
    completion_code: str | None = None

    @classmethod
    def read(
        cls, document: Mapping[str, Any], upload: CommittedReports, tasks: Sequence[CampaignTask]
    ) -> WorkerReceipt:
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
            code = document.get("completion_code")
            code = None if code is None else one_line(code)[:MAX_COMPLETION_CODE]
            whole = all(type(count) is int and count >= 0 for count in counts)
            adds_up = whole and sum(counts) + len(rejected) == len(by_id)
        except (KeyError, TypeError, AttributeError):
            adds_up = False
        if not adds_up:
            raise CampaignError(
                "what the server says of the reports does not add up; they are kept here, and can "
                "be sent again"
            )
        return cls(
            accepted=counts[0],
            duplicates=counts[1],
            rejected=tuple(rejected),
            completion_code=code,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as it is kept, JSON-ready; `from_dict` is its inverse."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> WorkerReceipt:
        """Return the receipt that `to_dict` described."""
        rejected = tuple((task, code) for task, code in kept["rejected"])
        return cls(
            accepted=kept["accepted"],
            duplicates=kept["duplicates"],
            rejected=rejected,
            completion_code=kept.get("completion_code"),
        )

    def require_all(self) -> WorkerReceipt:
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
        upload: CommittedReports | None,
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
        upload : CommittedReports or None
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
                reports=readable_reports(listed, mechanism, tasks) if shown else (),
                sketch=tuple(its_sketch["numbers"]) if sketches and shown else None,
                missing=len(sent - held) if acknowledged or held else 0,
                strange=len(held - sent),
            )
        except (KeyError, TypeError, ValueError, OverflowError, pa.ArrowException, IndexError):
            raise CampaignError(
                "what the server holds cannot be read: ask who invited you"
            ) from None


def _sent(item: Mapping[str, Any]) -> _SentReport:
    return (
        item["report_id"],
        item["task_id"],
        item["value"],
        item.get("bit"),
        item.get("again", False),
    )


def _sent_sketch(sketch: Mapping[str, Any]) -> _SentReport:
    return sketch["report_id"], *sketch["numbers"]
