"""What a memo is for, and the file that holds its key."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.mechanisms.memo.memo_reports import Memoisable, check_memoisable
from quietcrowd.mechanisms.memo.secret import KEY_BYTES
from quietcrowd.validation import check_text, plain

__all__ = ["MemoScope", "TaskId"]

TaskId = str | int

KIND = "quietcrowd memo"
VERSION = 1

_KEY = re.compile(f"[0-9a-f]{{{2 * KEY_BYTES}}}")


def _check_campaign(_: object, __: object, campaign: Any) -> None:
    if not isinstance(campaign, str) or not campaign:
        raise ParameterError(f"campaign must be a name; got {campaign!r}")
    check_text("campaign", campaign)


def _worker(value: Any) -> TaskId:
    return _check_id("worker", value)


def _check_id(what: str, value: Any) -> TaskId:
    """Return an id as plain Python; a text, or a whole number of 64 bits."""
    plain_id = plain(value)
    if isinstance(plain_id, str):
        check_text(what, plain_id)
    whole = isinstance(plain_id, int) and not isinstance(plain_id, bool)
    if isinstance(plain_id, str) or (whole and -(2**63) <= plain_id < 2**63):
        return plain_id  # type: ignore[no-any-return]
    raise ParameterError(f"{what} must be a text or a whole number of 64 bits; got {value!r}")


def _sorted_tasks(tasks: Any) -> tuple[TaskId, ...]:
    """Return the tasks, sorted as reports are."""
    if isinstance(tasks, str | Mapping) or not isinstance(tasks, Iterable):
        raise ParameterError(f"tasks must be a list of all tasks; got {tasks!r}")
    ids = [_check_id("a task", task) for task in tasks]
    if not ids or len({type(task) for task in ids}) > 1 or len(set(ids)) < len(ids):
        raise ParameterError(
            f"tasks must be at least one, all texts or all whole numbers, each once; got {ids!r}"
        )
    return tuple(sorted(ids))


@frozen(kw_only=True)
class MemoScope:
    """One worker, one campaign, its mechanism and its tasks: all public.

    Parameters
    ----------
    mechanism : RandomizedResponse, TwoLayerRandomizedResponse or LaplacePerturbation
        What is done to an answer.
    campaign : str
        Its name; not empty.
    worker : str or int
        The worker's id in reports.
    tasks : iterable of str or of int
        All tasks, in any order; kept sorted, as reports are.

    Raises
    ------
    ParameterError
        Where the mechanism's reports cannot be fixed in advance, a name or the list of tasks is
        empty, or an id is no text that UTF-8 can hold and no whole number, or there twice.
    """

    mechanism: Memoisable = field(converter=check_memoisable)
    campaign: str = field(validator=_check_campaign)
    worker: TaskId = field(converter=_worker)
    tasks: tuple[TaskId, ...] = field(converter=_sorted_tasks)

    def to_dict(self) -> dict[str, Any]:
        """Return the public part of the file, JSON-ready."""
        return {
            "file": KIND,
            "version": VERSION,
            "campaign": self.campaign,
            "worker": self.worker,
            "mechanism": self.mechanism.to_dict(),
            "tasks": f"{len(self.tasks)} of SHA-256 {_digest(self.tasks)}",
        }

    @property
    def context(self) -> str:
        """All of it in one text: random numbers of another scope are others."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def content(self, key: bytes | bytearray) -> bytes:
        """Return the bytes of the file: the public part, the key, and what shows it to be whole."""
        body = {**self.to_dict(), "key": key.hex()}
        return json.dumps({**body, "check": _digest(body)}, indent=1).encode() + b"\n"

    def key_in(self, content: bytes, path: Path) -> bytes:
        """Return the key in the bytes of a file.

        Raises
        ------
        FormatError
            Where it was overwritten, is damaged, of another version or of another scope; the
            message names `path`, and nothing of the key.
        """
        if content and not any(content):
            raise FormatError(
                f"{path} holds nothing but zeros: the memo was destroyed, and removing it was "
                "interrupted. Remove the file, and send nothing more in this campaign."
            )
        body = _whole_body(content, path)
        for name, here in json.loads(self.context).items():
            there = body.get(name)
            if there != here:
                raise FormatError(
                    f"{path} is the memo of another {name}: {_differing(there, here)}, not "
                    f"{_differing(here, there)}. Take one file per worker and campaign; the "
                    "mechanism and the tasks of a campaign never change."
                )
        key = bytes.fromhex(body["key"])
        if content != self.content(key):
            raise _damaged(path)
        return key


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _whole_body(content: bytes, path: Path) -> dict[str, Any]:
    """Return what the file says, if nothing of it was changed."""
    try:
        body: dict[str, Any] = json.loads(content)
        kind, version = body["file"], body["version"]
        whole = body.pop("check") == _digest(body) and _KEY.fullmatch(body["key"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        whole, kind, version = None, KIND, VERSION
    if (kind, version) != (KIND, VERSION):
        raise FormatError(
            f"{path} is a {kind!r} of version {version!r}; this quietcrowd reads a {KIND!r} of "
            f"version {VERSION}"
        )
    if not whole:
        raise _damaged(path)
    return body


def _damaged(path: Path) -> FormatError:
    return FormatError(
        f"{path} is damaged, or no memo. Restore it from a copy. If nothing was sent with it, "
        "remove it and open a new one; else send nothing more in this campaign: fresh noise "
        "about the same answers would tell as much again."
    )


def _differing(value: Any, other: Any) -> str:
    """Print a value, of a description only what differs from another one."""
    if isinstance(value, dict) and isinstance(other, dict):
        value = {name: value[name] for name in sorted(value) if value[name] != other.get(name)}
    return repr(value)
