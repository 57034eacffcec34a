"""Server responses about a worker's reports: the receipt of an upload, and the stored reports."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
from attrs import asdict, frozen

from quietcrowd.campaign.device.checked_terms import CampaignTask
from quietcrowd.campaign.device.draw import CommittedReports, Report, readable_reports
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.settings import MAX_COMPLETION_CODE
from quietcrowd.exceptions import CampaignError
from quietcrowd.mechanisms import Mechanism

_LONGEST_CODE = 40

_SentReport: TypeAlias = tuple[Any, ...]


@frozen(kw_only=True)
class WorkerReceipt:
    """Server's response to an upload.

    `accepted` reports were stored now and `duplicates` before. `rejected` has (task, code) pairs.
    The campaign gives the `completion_code` to all workers with stored reports, as proof for
    the payer.
    """

    accepted: int
    duplicates: int
    rejected: tuple[tuple[str, str], ...] = ()
    completion_code: str | None = None

    @classmethod
    def read(
        cls, document: Mapping[str, Any], upload: CommittedReports, tasks: Sequence[CampaignTask]
    ) -> WorkerReceipt:
        """Parse the response to an upload; raise CampaignError if its counts do not add up."""
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
            raise CampaignError("campaign.acknowledgement-inconsistent")
        return cls(
            accepted=counts[0], duplicates=counts[1], rejected=tuple(rejected), completion_code=code
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt, JSON-ready."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> WorkerReceipt:
        """Return the receipt that `to_dict` described."""
        return cls(**{**kept, "rejected": tuple(map(tuple, kept["rejected"]))})

    def require_all(self) -> WorkerReceipt:
        """Return the receipt; raise CampaignError if a report was rejected."""
        if self.rejected:
            task, code = self.rejected[0]
            raise CampaignError(
                "campaign.reports-rejected",
                accepted=self.accepted + self.duplicates,
                count=len(self.rejected),
                task=task,
                code=code,
            )
        return self


@frozen(kw_only=True)
class HeldReports:
    """Reports that a server stores of a worker, compared with those sent from this device.

    `count` is the number of reports or sketches at the server. `reports` and `sketch` are shown
    only once the server has acknowledged the upload. `missing` counts those sent and not stored
    unchanged, `strange` those stored and not sent from here.
    """

    count: int
    reports: tuple[Report, ...]
    sketch: tuple[float, ...] | None
    missing: int
    strange: int

    @property
    def as_sent(self) -> bool:
        """Whether the server stores exactly the sent reports."""
        return not self.missing and not self.strange

    @property
    def empty(self) -> bool:
        """Whether the server stores nothing."""
        return not self.count

    @classmethod
    def read(
        cls,
        document: Mapping[str, Any],
        uploads: Sequence[CommittedReports],
        mechanism: Mechanism,
        tasks: Sequence[CampaignTask],
        *,
        acknowledged: bool = True,
        deleted: Collection[int] = (),
    ) -> HeldReports:
        """Compare a server's document with the uploads; raise CampaignError if it is invalid.

        The server may have `deleted` the reports of some rounds; they do not count as missing.
        """
        sketches_sent = [one.sketch for one in uploads if one.sketch is not None]
        try:
            sent = {
                *(_sent({"round": one.round, **item}) for one in uploads for item in one.items),
                *map(_sent_sketch, sketches_sent),
            }
            listed, its_sketch = document["reports"], document["sketch"]
            sketches = [] if its_sketch is None else [_sent_sketch(its_sketch)]
            held = {*map(_sent, listed), *sketches}
            shown = acknowledged or not uploads
            due = {report for report in sent if report[-1] not in deleted}
            return cls(
                count=len(listed) + len(sketches),
                reports=readable_reports(listed, mechanism, tasks) if shown else (),
                sketch=tuple(its_sketch["numbers"]) if sketches and shown else None,
                missing=len(due - held) if acknowledged or held else 0,
                strange=len(held - sent),
            )
        except (KeyError, TypeError, ValueError, OverflowError, pa.ArrowException, IndexError):
            raise CampaignError("campaign.server-records-unreadable") from None


def _sent(item: Mapping[str, Any]) -> _SentReport:
    return (
        item["report_id"],
        item["task_id"],
        item["value"],
        item.get("bit"),
        item.get("again", False),
        item.get("round"),
    )


def _sent_sketch(sketch: Mapping[str, Any]) -> _SentReport:
    return sketch["report_id"], *sketch["numbers"]
