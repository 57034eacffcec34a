"""What a worker's device keeps: files that their owner alone can read, and never an answer.

For each campaign of each server a folder of its own: the credential, drawn once; which tasks the
worker is asked, where the campaign hands out some; the memo, which fixes the noise until reports
are committed; the images of the tasks, until reports are acknowledged; the reports, as they are
sent; and each of them under its question, for good.
"""

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

from quietcrowd.campaign.device.link import CampaignLink
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.file_lock import file_lock
from quietcrowd.campaign.terms.tokens import has_prefix, new_token, participant_id
from quietcrowd.exceptions import CampaignError, FormatError
from quietcrowd.mechanisms.memo.private_file import create_private, read_private, wipe_private

__all__ = ["CampaignFolder", "Membership", "committed_record", "default_folder"]

_CREDENTIAL, _MEMO, _UPLOAD, _RECEIPT = "credential", "memo", "upload.json", "receipt.json"
_ALLOTMENT, _WITHDRAWN, _LOCK = "allotment.json", "withdrawn", "lock"
_IMAGE = "image-"


def default_folder() -> Path:
    """Return where a device keeps its files: ``quietcrowd`` in the user's own data folder.

    That is what XDG_DATA_HOME or LOCALAPPDATA names, or else what the system has for it: on Linux
    ``~/.local/share``, on macOS ``~/Library/Application Support``. A folder that a device has in
    ``~/.local/share`` stays in use on every system: a ledger that is left behind is a budget that
    can be spent twice.

    Raises
    ------
    CampaignError
        Where there is a folder in both places, so that there may be two ledgers.
    """
    named = os.environ.get("XDG_DATA_HOME") or os.environ.get("LOCALAPPDATA")
    if named:
        return Path(named) / "quietcrowd"
    earlier = Path.home() / ".local" / "share" / "quietcrowd"
    usual = platformdirs.user_data_path("quietcrowd", False)
    if usual == earlier or not os.path.lexists(earlier):
        return usual
    if os.path.lexists(usual):
        raise CampaignError(
            f"both {earlier} and {usual} are there, and each may hold a ledger of what this device "
            "has spent. Name the one to use with folder= (on the command line: --folder), and put "
            "the other one away."
        )
    return earlier


def committed_record(folder: Path) -> bytes | None:
    """Return what stands beside the reports that were committed in a folder; None without any."""
    committed = _committed(folder)
    return None if committed is None else committed[0]


def _committed(folder: Path) -> tuple[bytes, bytes] | None:
    """Return the record and the request of a folder; None where none were committed."""
    content = _content(folder / _UPLOAD)
    if content is None:
        return None
    record, _, request = content.partition(b"\n")
    return record, request


def _content(path: Path) -> bytes | None:
    """Return what is in a file; None where there is none, or its wiping was interrupted."""
    try:
        content = read_private(path)
    except FileNotFoundError:
        return None
    return content if any(content) or not content else None


@frozen(kw_only=True)
class Membership:
    """Who a device is in one campaign.

    Attributes
    ----------
    credential : str
        Drawn here; not printed.
    config_hash : str
        Of what was agreed to.
    """

    credential: str = field(repr=False)
    config_hash: str

    @property
    def participant(self) -> str:
        """The id that follows from the credential: who the server knows."""
        return participant_id(self.credential).hex()


@frozen(kw_only=True)
class CampaignFolder:
    """The files of one campaign on a device.

    Attributes
    ----------
    path : Path
        Of the folder, in that of the device.
    campaign : str
        The link without its invite.
    """

    path: Path
    campaign: str

    @classmethod
    def of(cls, device: Path, link: CampaignLink) -> CampaignFolder:
        """Return the folder of a campaign; another server's of the same id is another one."""
        name = hashlib.sha256(link.name.encode()).hexdigest()[:32]
        return cls(path=device / "campaigns" / name, campaign=link.name)

    @property
    def memo(self) -> Path:
        """Where the memo is."""
        return self.path / _MEMO

    @property
    def credential(self) -> Path:
        """Where the credential is."""
        return self.path / _CREDENTIAL

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes out.

        Raises
        ------
        CampaignError
            Where one is at work.
        """
        for folder in (self.path.parent.parent, self.path.parent, self.path):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as lock:
            try:
                lock.enter_context(file_lock(self.path / _LOCK, wait=False))
            except (BlockingIOError, PermissionError):
                raise CampaignError(
                    f"another process works on {self.campaign} right now: wait for it to end"
                ) from None
            self._remove_drafts()
            yield

    def _remove_drafts(self) -> None:
        """Remove what a writer that was killed left beside a file, before it had its name."""
        for draft in self.path.glob(".*.*"):
            wipe_private(draft, draft.read_bytes())

    def membership(self) -> Membership | None:
        """Return who the device is in the campaign, if it is anybody.

        Raises
        ------
        FormatError
            Where the file is damaged, or others have rights to it.
        """
        document = self._read(_CREDENTIAL)
        if document is None:
            return None
        credential, agreed = document.get("credential"), document.get("config_hash")
        if not isinstance(credential, str) or not has_prefix(credential, "qcw_"):
            raise self._damaged(_CREDENTIAL)
        if document.get("campaign") != self.campaign or not isinstance(agreed, str):
            raise self._damaged(_CREDENTIAL)
        return Membership(credential=credential, config_hash=agreed)

    def enter(self, config_hash: str) -> Membership:
        """Return who the device is in the campaign; drawn now unless that was done before."""
        new = {
            "campaign": self.campaign,
            "config_hash": config_hash,
            "credential": new_token("qcw_"),
        }
        create_private(self.credential, canonical_json(new) + b"\n")
        entered = self.membership()
        assert entered is not None
        return entered

    def allotted(self, tasks: Sequence[str]) -> list[str]:
        """Return the ids of the tasks that the worker was first given; these where none were.

        Parameters
        ----------
        tasks : sequence of str
            Their ids, as the server gives them now.

        Raises
        ------
        FormatError
            As of `membership`.
        """
        create_private(self.path / _ALLOTMENT, canonical_json({"tasks": list(tasks)}) + b"\n")
        kept = (self._read(_ALLOTMENT) or {}).get("tasks")
        if not isinstance(kept, list):
            raise self._damaged(_ALLOTMENT)
        return kept

    def upload(self) -> bytes | None:
        """Return the request with all reports, if they were committed."""
        committed = _committed(self.path)
        return None if committed is None else committed[1]

    def keep_upload(self, content: bytes, record: bytes) -> None:
        """Commit reports, in one step: before it nothing of a draw is on the disk.

        Parameters
        ----------
        content : bytes
            The request with all reports; from now on it is what is sent.
        record : bytes
            What is to be remembered of it; one line. See `committed_record`.
        """
        create_private(self.path / _UPLOAD, record + b"\n" + content)
        self.forget_noise()

    def forget_noise(self) -> None:
        """Destroy the memo: with it, and the reports, the answers could be found."""
        self._wipe(_MEMO)

    def images(self) -> dict[str, Path]:
        """Return the files of the images that are kept, by their hashes."""
        kept = sorted(self.path.glob(f"{_IMAGE}*"))
        return {path.stem.removeprefix(_IMAGE): path for path in kept}

    def keep_image(self, name: str, content: bytes) -> Path:
        """Keep an image under its hash and what its name ends in, and return its file."""
        path = self.path / f"{_IMAGE}{name}"
        create_private(path, content)
        return path

    def _remove_images(self) -> None:
        for path in self.images().values():
            path.unlink(missing_ok=True)

    def receipt(self) -> dict[str, Any] | None:
        """Return what the server said of the reports, if it took them."""
        return self._read(_RECEIPT)

    def keep_receipt(self, receipt: Mapping[str, Any]) -> None:
        """Keep what the server said of the reports; images are not needed any more."""
        create_private(self.path / _RECEIPT, canonical_json(receipt) + b"\n")
        self._remove_images()

    @property
    def withdrawn(self) -> bool:
        """Whether the worker left the campaign after answering: then it is for good."""
        return (self.path / _WITHDRAWN).exists()

    def leave(self) -> None:
        """Destroy all that is kept of the campaign.

        Where reports had been committed a sign stays, and each of them under its question.
        """
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
        return FormatError(
            f"{self.path / name} is damaged. Restore it from a copy; without it this device cannot "
            "show the server who it is."
        )

    def _wipe(self, name: str) -> None:
        try:
            content = read_private(self.path / name)
        except FileNotFoundError:
            return
        wipe_private(self.path / name, content)
