"""What a device remembers of what it sent: of each campaign its questions, and the report on each.

Noise is drawn once for a question, a channel and a requester at a server. If this requester asks
again, in another campaign, the report that was sent is sent once more, whatever the answer is by
now: it says nothing new of the answer. Another requester gets fresh noise: a report that both have
would prove to each who took part in the other's campaign. So each report is kept under the hash of
its question, without a key and without an answer, also after the noise was destroyed and after the
worker has left.

A record is written with the reports, in one file, as they are committed to be sent; from there it
comes into a file of its own, which stays.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from quietcrowd.campaign.device.folder import committed_record
from quietcrowd.campaign.device.ledger import Cost, DeviceLedger
from quietcrowd.campaign.device.questions import CodedReport, channel_hash, read_report
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.exceptions import FormatError, QuietcrowdError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.memo.private_file import read_private, replace_private

__all__ = ["CampaignRecord", "EarlierReports", "charge_records", "read_record"]

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
    """What one campaign was sent.

    Attributes
    ----------
    campaign : str
        Its name: see `CampaignLink.name`.
    origin : str
        Of its server.
    mechanism : mapping
        What randomised, as `Mechanism.to_dict` gives it.
    channel : str or None
        See `channel_hash`.
    count : int
        How many reports were drawn for it, and are charged: what was sent before is not.
    spared : float
        See `Cost`.
    letters : list of str
        What near-copies of its questions have in common; see `letters_hashes`.
    reports : mapping of str to list or None
        By the hash of the question the report as `spell_report` gives it; None where it can serve
        no other campaign.
    requester : str or None
        The requester's public id; None in campaigns of an older version, whose reports serve no
        other campaign.
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
        """The record as one line."""
        return canonical_json(asdict(self))

    def keep(self, folder: Path) -> None:
        """Write the record into the folder of its campaign, unless it is there."""
        if not (folder / _FILE).exists():
            replace_private(folder / _FILE, self.content + b"\n")


def read_record(folder: Path) -> CampaignRecord | None:
    """Return the record in the folder of a campaign, if reports were committed there.

    Raises
    ------
    FormatError
        Where the file is damaged, or others have rights to it.
    """
    path = folder / _FILE
    try:
        content = read_private(path) if path.exists() else committed_record(folder)
        if content is None:
            return None
        document = json.loads(content)
        whole = all(isinstance(document[name], kind) for name, kind in _MEMBERS.items())
        whole = whole and isinstance(document.get("requester"), str | None)
        if whole and document["count"] >= 0:
            return CampaignRecord(**document)
    except (ValueError, RecursionError, KeyError, TypeError):
        pass
    raise FormatError(
        f"{path} is damaged. Restore it from a copy; without it this device cannot tell which "
        "questions it has reported on before."
    )


@frozen(kw_only=True, slots=False)
class EarlierReports:
    """What a device has sent, as far as it matters to one campaign.

    Attributes
    ----------
    records : tuple of CampaignRecord
        Of all campaigns of the device.
    origin : str
        Of the campaign's server.
    requester : str or None
        Public id of the campaign's requester.
    mechanism : Mechanism
        Of the campaign.
    """

    records: tuple[CampaignRecord, ...]
    origin: str
    requester: str | None
    mechanism: Mechanism

    @classmethod
    def read(
        cls, campaigns: Path, *, origin: str, requester: str | None, mechanism: Mechanism
    ) -> EarlierReports:
        """Return what the files of a device say.

        Parameters
        ----------
        campaigns : Path
            Folder of the folders of all campaigns.
        origin, requester, mechanism
            As of the class.

        Raises
        ------
        FormatError
            As of `read_record`.
        """
        records = (read_record(folder) for folder in sorted(campaigns.glob("*/")))
        found = tuple(record for record in records if record is not None)
        return cls(records=found, origin=origin, requester=requester, mechanism=mechanism)

    @cached_property
    def known(self) -> Mapping[str, CodedReport]:
        """What this requester was sent at this server through this channel, by the question's hash.

        Raises
        ------
        FormatError
            Where a record holds a report that the channel cannot give.
        """
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
                        f"what this device keeps of {record.campaign} is damaged: restore "
                        f"{_FILE} of that campaign from a copy"
                    ) from None
        return known

    def asked(self, question: str, letters: Collection[str]) -> bool:
        """Return whether a question, or a near-copy, was reported on and gets fresh noise here."""
        if question in self.known:
            return False
        return any(
            question in one.reports or not set(letters).isdisjoint(one.letters)
            for one in self.records
        )


def charge_records(records: tuple[CampaignRecord, ...], ledger: DeviceLedger) -> None:
    """Charge what was committed and, as the device stopped just then, not yet charged.

    The budget allowed it when it was committed, and nothing was charged since: whoever charges
    settles first, under the lock of the ledger, which the caller holds.

    Raises
    ------
    FormatError
        Where a record has no mechanism.
    """
    charged = ledger.campaigns()
    for record in records:
        if record.count and record.campaign not in charged:
            try:
                mechanism = Mechanism.from_dict(record.mechanism)
            except QuietcrowdError as error:
                raise FormatError(f"what this device keeps of {record.campaign}: {error}") from None
            ledger.charge(
                Cost(
                    campaign=record.campaign,
                    mechanism=mechanism,
                    count=record.count,
                    spared=record.spared,
                )
            )
