"""Files of a campaign on a worker's device, readable by their owner only; never an answer.

Noise is sampled once for each question, channel and requester at a server. If the requester asks
again in another campaign, the device repeats the report, whatever the answer is now, so it reveals
nothing new about the answer. Another requester gets fresh noise: equal reports would prove to both
who took part in the other's campaign. So the device stores each report under the hash of its
question, without a key or an answer. Records outlive the noise and a withdrawal. A record is first
committed in one file with the reports; a copy then goes to a permanent file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import platformdirs
from attrs import asdict, field, frozen

from quietcrowd.campaign.device.ledger import Cost, DeviceLedger
from quietcrowd.campaign.device.questions import CodedReport, channel_hash, read_report
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.server_address import CampaignLink
from quietcrowd.campaign.terms.tokens import has_prefix, new_code, new_token, participant_id
from quietcrowd.exceptions import CampaignError, FormatError, QuietcrowdError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.private_files import (
    create_private,
    file_lock,
    read_private,
    replace_private,
    wipe_private,
)

_CREDENTIAL, _MEMO, _UPLOAD, _RECEIPT = "credential", "memo", "upload.json", "receipt.json"
_ALLOTMENT, _WITHDRAWN, _LOCK = "allotment.json", "withdrawn", "lock"
_IMAGE = "image-"


def default_folder() -> Path:
    """Return the default directory of a device, ``quietcrowd`` in the user's data directory.

    XDG_DATA_HOME or LOCALAPPDATA sets this data directory. Otherwise it is the platform's default:
    ``~/.local/share`` on Linux, ``~/Library/Application Support`` on macOS. An existing directory
    in ``~/.local/share`` remains in use on every system: a ledger left behind could be spent twice.
    Raises CampaignError if both exist, because there may be two ledgers.
    """
    named = os.environ.get("XDG_DATA_HOME") or os.environ.get("LOCALAPPDATA")
    if named:
        return Path(named) / "quietcrowd"
    earlier = Path.home() / ".local" / "share" / "quietcrowd"
    usual = platformdirs.user_data_path("quietcrowd", False)
    if usual == earlier or not os.path.lexists(earlier):
        return usual
    if os.path.lexists(usual):
        raise CampaignError("campaign.two-ledgers", earlier=earlier, usual=usual)
    return earlier


def _committed(folder: Path) -> tuple[bytes, bytes] | tuple[None, None]:
    content = _content(folder / _UPLOAD)
    if content is None:
        return None, None
    record, _, request = content.partition(b"\n")
    return record, request


def _content(path: Path) -> bytes | None:
    """Return the content of a file; None if it is missing or its wiping was interrupted."""
    try:
        content = read_private(path)
    except FileNotFoundError:
        return None
    return content if any(content) or not content else None


@frozen(kw_only=True)
class Membership:
    """Device's credential in one campaign, and the hash of the configuration it agreed to.

    `code` moves the worker to another device; with `continues` it moved the worker here.
    """

    credential: str = field(repr=False)
    config_hash: str
    code: str | None = field(default=None, repr=False)
    continues: bool = False

    @property
    def participant(self) -> str:
        """Participant id derived from the credential, which the server knows."""
        return participant_id(self.credential).hex()


@frozen(kw_only=True)
class CampaignFolder:
    """Files of one campaign on a device; `campaign` is the link without its invite."""

    path: Path
    campaign: str

    @classmethod
    def of(cls, device: Path, link: CampaignLink) -> CampaignFolder:
        """Return the files of a campaign; the same id on another server is another campaign."""
        name = hashlib.sha256(link.name.encode()).hexdigest()[:32]
        return cls(path=device / "campaigns" / name, campaign=link.name)

    @property
    def memo(self) -> Path:
        """Path of the memo."""
        return self.path / _MEMO

    @property
    def credential(self) -> Path:
        """Path of the credential."""
        return self.path / _CREDENTIAL

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the directory; raise CampaignError if another process has locked it."""
        for folder in (self.path.parent.parent, self.path.parent, self.path):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as lock:
            try:
                lock.enter_context(file_lock(self.path / _LOCK, wait=False))
            except (BlockingIOError, PermissionError):
                raise CampaignError("campaign.folder-in-use", campaign=self.campaign) from None
            for draft in self.path.glob(".*.*"):  # of a killed writer
                wipe_private(draft, draft.read_bytes())
            yield

    def membership(self) -> Membership | None:
        """Return the device's membership, or None; raise FormatError if the file is damaged."""
        document = self._read(_CREDENTIAL)
        if document is None:
            return None
        credential, agreed = document.get("credential"), document.get("config_hash")
        if not isinstance(credential, str) or not has_prefix(credential, "qcw_"):
            raise self._damaged(_CREDENTIAL)
        if document.get("campaign") != self.campaign or not isinstance(agreed, str):
            raise self._damaged(_CREDENTIAL)
        code, continues = document.get("code"), document.get("continues", False)
        if not isinstance(code, str | None) or not isinstance(continues, bool):
            raise self._damaged(_CREDENTIAL)
        return Membership(credential=credential, config_hash=agreed, code=code, continues=continues)

    def enter(self, config_hash: str, code: str | None = None) -> Membership:
        """Return the membership; sample and store a credential and a code if they are missing.

        A `code` from another device begins a new membership.
        """
        if code is not None:
            self.forget_noise()
            self._wipe(_CREDENTIAL)
        new = {
            "campaign": self.campaign,
            "config_hash": config_hash,
            "credential": new_token("qcw_"),
            "code": code or new_code(),
            "continues": code is not None,
        }
        create_private(self.credential, canonical_json(new) + b"\n")
        entered = self.membership()
        assert entered is not None
        return entered

    def allotted(self, tasks: Sequence[str]) -> list[str]:
        """Return the task ids first assigned to the worker, storing `tasks` if none were."""
        create_private(self.path / _ALLOTMENT, canonical_json({"tasks": list(tasks)}) + b"\n")
        kept = (self._read(_ALLOTMENT) or {}).get("tasks")
        if not isinstance(kept, list):
            raise self._damaged(_ALLOTMENT)
        return kept

    def upload(self) -> bytes | None:
        """Return the request with all reports if they were committed, else None."""
        return _committed(self.path)[1]

    def keep_upload(self, content: bytes, record: bytes) -> None:
        """Commit reports and their one-line record atomically; no report is on disk before."""
        create_private(self.path / _UPLOAD, record + b"\n" + content)
        self.forget_noise()

    def forget_noise(self) -> None:
        """Destroy the memo, which would reveal the answers together with the reports."""
        self._wipe(_MEMO)

    def images(self) -> dict[str, Path]:
        """Return the stored image files by their hashes."""
        kept = sorted(self.path.glob(f"{_IMAGE}*"))
        return {path.stem.removeprefix(_IMAGE): path for path in kept}

    def keep_image(self, name: str, content: bytes) -> Path:
        """Store an image under its hash and file suffix, and return its path."""
        path = self.path / f"{_IMAGE}{name}"
        create_private(path, content)
        return path

    def _remove_images(self) -> None:
        for path in self.images().values():
            path.unlink(missing_ok=True)

    def receipt(self) -> dict[str, Any] | None:
        """Return the stored receipt of the server, or None."""
        return self._read(_RECEIPT)

    def keep_receipt(self, receipt: Mapping[str, Any]) -> None:
        """Store the server's receipt and remove the images."""
        create_private(self.path / _RECEIPT, canonical_json(receipt) + b"\n")
        self._remove_images()

    @property
    def withdrawn(self) -> bool:
        """Whether the worker withdrew after answering, which is permanent."""
        return (self.path / _WITHDRAWN).exists()

    def leave(self) -> None:
        """Destroy the files of the campaign, except a marker and the record of sent reports."""
        if self.upload() is not None:
            create_private(self.path / _WITHDRAWN, b"withdrawn\n")
        for name in (_MEMO, _UPLOAD, _RECEIPT, _ALLOTMENT, _CREDENTIAL):
            self._wipe(name)
        self._remove_images()

    def _read(self, name: str) -> dict[str, Any] | None:
        content = _content(self.path / name)
        if content is None:
            return None
        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise self._damaged(name)
        return document

    def _damaged(self, name: str) -> FormatError:
        return FormatError("campaign.credential-damaged", path=self.path / name)

    def _wipe(self, name: str) -> None:
        try:
            content = read_private(self.path / name)
        except FileNotFoundError:
            return
        wipe_private(self.path / name, content)


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
        content = read_private(path) if path.exists() else _committed(folder)[0]
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
    origin: str
    requester: str | None
    mechanism: Mechanism

    @classmethod
    def read(
        cls, campaigns: Path, *, origin: str, requester: str | None, mechanism: Mechanism
    ) -> EarlierReports:
        """Read the records below `campaigns`, the parent of all campaign directories."""
        records = (read_record(folder) for folder in sorted(campaigns.glob("*/")))
        found = tuple(record for record in records if record is not None)
        return cls(records=found, origin=origin, requester=requester, mechanism=mechanism)

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
        """Return whether a question, or one sharing letters, has a report but gets fresh noise."""
        if question in self.known:
            return False
        return any(
            question in one.reports or not set(letters).isdisjoint(one.letters)
            for one in self.records
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
