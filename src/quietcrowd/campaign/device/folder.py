"""Files of a campaign on a worker's device, readable by their owner only; never an answer."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import platformdirs
from attrs import field, frozen

from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.server_address import CampaignLink
from quietcrowd.campaign.terms.tokens import has_prefix, new_code, new_token, participant_id
from quietcrowd.exceptions import CampaignError, FormatError
from quietcrowd.mechanisms.randomness import system_words, uniform_integers
from quietcrowd.private_files import (
    create_private,
    file_lock,
    read_private,
    replace_private,
    wipe_private,
)

_CREDENTIAL, _CANDIDATE = "credential", "credential.new"
_MEMO, _UPLOAD, _RECEIPT = "memo", "upload.json", "receipt.json"
_ALLOTMENT, _WITHDRAWN, _LOCK = "allotment.json", "withdrawn", "lock"
_IMAGE, _ROUND = "image-", "round-"


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


def draw_slot(slots: int) -> int:
    """Sample a slot, which a device keeps in all rounds."""
    return int(uniform_integers(system_words, 0, slots - 1, 1)[0])


def committed(folder: Path) -> tuple[bytes, bytes] | tuple[None, None]:
    """Return the record and the request that a campaign's directory has committed, or None."""
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

    `link` is the hash of the invite; older versions stored none. `code` moves the worker to another
    device; with `continues` it moved the worker here. `choice` is the worker's entry of a menu, and
    `slot` the one of all rounds, sampled once. Rounds are `spent` if another device could have
    answered there or shortly before, with an invite that this one replaces.
    """

    credential: str = field(repr=False)
    config_hash: str
    link: str | None = field(default=None, repr=False)
    code: str | None = field(default=None, repr=False)
    continues: bool = False
    choice: int | None = None
    slot: int | None = None
    spent: tuple[int, ...] = ()

    @property
    def moved_by(self) -> str | None:
        """Code of the other device from which the worker continues, or None."""
        return self.code if self.continues else None

    @property
    def participant(self) -> str:
        """Participant id derived from the credential, which the server knows."""
        return participant_id(self.credential).hex()


@frozen(kw_only=True)
class CampaignFolder:
    """Files of one campaign on a device, or of one of its rounds.

    `campaign` is the link without its invite, followed by ``#t`` for round t. Files of a round are
    its memo, reports, receipt and record.
    """

    path: Path
    campaign: str

    @classmethod
    def of(cls, device: Path, link: CampaignLink) -> CampaignFolder:
        """Return the files of a campaign; the same id on another server is another campaign."""
        name = hashlib.sha256(link.name.encode()).hexdigest()[:32]
        return cls(path=device / "campaigns" / name, campaign=link.name)

    def in_round(self, number: int) -> CampaignFolder:
        """Return the files of a round."""
        return CampaignFolder(
            path=self.path / f"{_ROUND}{number}", campaign=f"{self.campaign}#{number}"
        )

    def rounds(self) -> dict[int, CampaignFolder]:
        """Return the files of each round that has some, in order."""
        numbers = (path.name.removeprefix(_ROUND) for path in self.path.glob(f"{_ROUND}*/"))
        return {number: self.in_round(number) for number in sorted(map(int, numbers))}

    def commits(self) -> tuple[CampaignFolder, ...]:
        """Return where reports were committed: here, or in which rounds."""
        places = (self, *self.rounds().values())
        return tuple(place for place in places if place.upload() is not None)

    def open(self) -> None:
        """Create the directory."""
        self.path.mkdir(mode=0o700, exist_ok=True)

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
            for draft in self.path.glob("**/.*.*"):  # of a killed writer
                wipe_private(draft, draft.read_bytes())
            yield

    def membership(self) -> Membership | None:
        """Return the device's membership, or None; raise FormatError if the file is damaged."""
        return self._member(_CREDENTIAL)

    def candidate(self) -> Membership | None:
        """Return a membership that a server may have admitted, without a response yet."""
        return self._member(_CANDIDATE)

    def enter(
        self,
        config_hash: str,
        invite: str | None = None,
        code: str | None = None,
        *,
        choice: int | None = None,
        slots: int | None = None,
    ) -> Membership:
        """Return the membership to join with: the present one, or a candidate for its place.

        A `code` from another device begins a new membership, as does another invite until reports
        are committed. Its credential is sampled once and stored, as is one of `slots`.
        """
        link = None if invite is None else participant_id(invite).hex()
        member, candidate = self.membership(), self.candidate()
        is_same = member is not None and (None in (link, member.link) or link == member.link)
        if member is not None and (self.commits() or (is_same and code is None)):
            return member
        if candidate is not None and (candidate.link, candidate.moved_by) == (link, code):
            return candidate
        self._wipe(_CANDIDATE)
        new = {
            "campaign": self.campaign,
            "config_hash": config_hash,
            "credential": new_token("qcw_"),
            "code": code or new_code(),
            "continues": code is not None,
            "link": link,
            **({} if choice is None else {"choice": choice}),
            **({} if slots is None else {"slot": draw_slot(slots)}),
        }
        create_private(self.path / _CANDIDATE, canonical_json(new) + b"\n")
        entered = self.candidate()
        assert entered is not None
        return entered

    def bind(self, member: Membership) -> Membership:
        """Store the choice and the spent rounds to which a server binds a candidate."""
        bound = {"choice": member.choice, "spent": [*member.spent]}
        document = {**(self._read(_CANDIDATE) or {}), **bound}
        replace_private(self.path / _CANDIDATE, canonical_json(document) + b"\n")
        return member

    def accept(self, member: Membership) -> bool:
        """Activate a candidate that the server admitted; return whether that is new."""
        if member == self.membership():
            return False
        for place in (self, *self.rounds().values()):
            place.forget_noise()
        self._wipe(_ALLOTMENT)
        (self.path / _CANDIDATE).replace(self.credential)
        return True

    def reject(self, member: Membership) -> None:
        """Destroy a candidate that the server did not admit."""
        if member == self.candidate():
            self._wipe(_CANDIDATE)

    def _member(self, name: str) -> Membership | None:
        document = self._read(name)
        if document is None:
            return None
        credential, agreed = document.get("credential"), document.get("config_hash")
        if not isinstance(credential, str) or not has_prefix(credential, "qcw_"):
            raise self._damaged(name)
        if document.get("campaign") != self.campaign or not isinstance(agreed, str):
            raise self._damaged(name)
        link, code = document.get("link"), document.get("code")
        continues = document.get("continues", False)
        if not isinstance(link, str | None) or not isinstance(code, str | None):
            raise self._damaged(name)
        if not isinstance(continues, bool):
            raise self._damaged(name)
        choice, slot, spent = document.get("choice"), document.get("slot"), document.get("spent")
        if not all(type(one) in (int, type(None)) for one in (choice, slot, *(spent or ()))):
            raise self._damaged(name)
        return Membership(
            credential=credential,
            config_hash=agreed,
            link=link,
            code=code,
            continues=continues,
            choice=choice,
            slot=slot,
            spent=tuple(spent or ()),
        )

    def allotted(self, tasks: Sequence[str]) -> list[str]:
        """Return the task ids first assigned to the worker, storing `tasks` if none were."""
        create_private(self.path / _ALLOTMENT, canonical_json({"tasks": list(tasks)}) + b"\n")
        kept = (self._read(_ALLOTMENT) or {}).get("tasks")
        if not isinstance(kept, list):
            raise self._damaged(_ALLOTMENT)
        return kept

    def upload(self) -> bytes | None:
        """Return the request with all reports if they were committed, else None."""
        return committed(self.path)[1]

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
        if self.commits():
            create_private(self.path / _WITHDRAWN, b"withdrawn\n")
        for place in self.rounds().values():
            place.leave()
        for name in (_MEMO, _UPLOAD, _RECEIPT, _ALLOTMENT, _CANDIDATE, _CREDENTIAL):
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
