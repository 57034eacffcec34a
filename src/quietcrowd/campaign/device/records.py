"""Records of the reports that a device has committed, campaign by campaign.

Noise is sampled once for each question, channel and requester at a server. If the requester asks
again in another campaign, the device repeats the report, whatever the answer is now, so it reveals
nothing new about the answer. Another requester gets fresh noise: equal reports would prove to both
who took part in the other's campaign. So the device stores each report under the hash of its
question, without a key or an answer. Records outlive the noise and a withdrawal. A record is first
committed in one file with the reports; a copy then goes to a permanent file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from quietcrowd.campaign.device.folder import committed
from quietcrowd.campaign.device.ledger import Cost, DeviceLedger
from quietcrowd.campaign.device.questions import CodedReport, channel_hash, read_report
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.exceptions import FormatError, QuietcrowdError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.private_files import read_private, replace_private

_FILE = "questions.json"
_MEMBERS: dict[str, type | tuple[type, ...]] = {
    "campaign": str,
    "origin": str,
    "mechanism": dict,
    "count": int,
    "spared": (int, float),
    "letters": list,
    "reports": dict,
}


@frozen(kw_only=True)
class CampaignRecord:
    """Record of the reports for one campaign; others can reuse those of a known `requester`.

    `count` is the number of reports sampled and charged. `reports` maps question hashes to
    `spell_report`, or to None if no other campaign can reuse the report.
    """

    campaign: str
    origin: str
    mechanism: Mapping[str, Any]
    channel: str | None
    count: int
    spared: float
    letters: list[str]
    reports: Mapping[str, list[Any] | None]
    requester: str | None = None

    @property
    def content(self) -> bytes:
        """Record as one line of JSON."""
        return canonical_json(asdict(self))

    def keep(self, folder: Path) -> None:
        """Write the record into the directory of its campaign unless it is there."""
        if not (folder / _FILE).exists():
            replace_private(folder / _FILE, self.content + b"\n")


def read_record(folder: Path) -> CampaignRecord | None:
    """Return the record of a campaign, None without committed reports; may raise FormatError."""
    path = folder / _FILE
    try:
        content = read_private(path) if path.exists() else committed(folder)[0]
        if content is None:
            return None
        document = json.loads(content)
        whole = all(isinstance(document[name], kind) for name, kind in _MEMBERS.items())
        whole = whole and isinstance(document.get("requester"), str | None)
        if whole and document["count"] >= 0:
            return CampaignRecord(**document)
    except (ValueError, RecursionError, KeyError, TypeError):
        pass
    raise FormatError("campaign.questions-damaged", path=path)


@frozen(kw_only=True, slots=False)
class EarlierReports:
    """Records of all campaigns of a device, as seen from one campaign."""

    records: tuple[CampaignRecord, ...]
    campaign: str
    origin: str
    requester: str | None
    mechanism: Mechanism

    @classmethod
    def read(
        cls,
        campaigns: Path,
        *,
        campaign: str,
        origin: str,
        requester: str | None,
        mechanism: Mechanism,
    ) -> EarlierReports:
        """Read the records below `campaigns`, the parent of all campaign directories."""
        folders = sorted([*campaigns.glob("*/"), *campaigns.glob("*/round-*/")])
        records = (read_record(folder) for folder in folders)
        return cls(
            records=tuple(record for record in records if record is not None),
            campaign=campaign,
            origin=origin,
            requester=requester,
            mechanism=mechanism,
        )

    @cached_property
    def known(self) -> Mapping[str, CodedReport]:
        """Reports to this requester at this server through this channel, by question hash."""
        known: dict[str, CodedReport] = {}
        wanted = (self.origin, self.requester, channel_hash(self.mechanism))
        for record in self.records:
            if None in wanted or (record.origin, record.requester, record.channel) != wanted:
                continue
            for question, kept in record.reports.items():
                try:
                    known.setdefault(question, read_report(self.mechanism, kept or ()))
                except (ValueError, TypeError):
                    raise FormatError(
                        "campaign.record-damaged", campaign=record.campaign, file=_FILE
                    ) from None
        return known

    def asked(self, question: str, letters: Collection[str]) -> bool:
        """Return whether a question, or one sharing letters, has a report but gets fresh noise.

        Other rounds of the same campaign do not count: the worker agreed to their losses.
        """
        if question in self.known:
            return False
        return any(
            question in one.reports or not set(letters).isdisjoint(one.letters)
            for one in self.records
            if not one.campaign.startswith(f"{self.campaign}#")
        )


def charge_records(records: tuple[CampaignRecord, ...], ledger: DeviceLedger) -> None:
    """Charge committed reports that an interrupted process did not charge, under the ledger's lock.

    The budget allowed them when they were committed, and nothing was charged since.
    """
    charged = ledger.campaigns()
    for record in records:
        if record.count and record.campaign not in charged:
            try:
                mechanism = Mechanism.from_dict(record.mechanism)
            except QuietcrowdError as error:
                raise FormatError(
                    "campaign.record-invalid", campaign=record.campaign, error=error
                ) from None
            ledger.charge(
                Cost(
                    campaign=record.campaign,
                    mechanism=mechanism,
                    count=record.count,
                    spared=record.spared,
                )
            )
