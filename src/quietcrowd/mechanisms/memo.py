"""Memos: secret keys of workers' devices, so that sending again reveals nothing new.

Fresh noise for the same answer reveals more: at a loss of 1 about "yes" or "no", the majority of 21
reports is the answer in 98.9 % of cases. So a device fixes, before the first answer, what it would
send for every task and every possible answer, until the campaign closes.

It stores a key of 256 random bits. The random word of a label, and the noise of a number, are
SHAKE-256 of the key, the campaign, the worker, the mechanism, the list of tasks, the task and *the
answer*. One noise value per numeric task would not suffice: after an edit, the difference of the
two reports would be that of the answers. A table of noise for every answer would be large, since a
grid has up to 2^24 places. A key is small, has a size that depends only on public facts, is drawn
before any answer, and is quickly destroyed.

The numbers are as good as independent to anyone who cannot break SHAKE-256 with an unknown key.
That is no weaker than fresh noise from the similar generator of the operating system. The effect of
edits: ``research/docs/theory/memoisation.md``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.mechanisms.randomness import KEY_BYTES, Secret
from quietcrowd.mechanisms.worker_table import TaskId, worker_table
from quietcrowd.private_files import create_private, read_private, wipe_private
from quietcrowd.validation import check_text, plain

KIND = "quietcrowd memo"
VERSION = 1

_KEY = re.compile(f"[0-9a-f]{{{2 * KEY_BYTES}}}")


def _check_campaign(_: object, __: object, campaign: Any) -> None:
    if not isinstance(campaign, str) or not campaign:
        raise ParameterError("mechanisms.campaign-not-a-name", campaign=campaign)
    check_text("campaign", campaign)


def _worker(value: Any) -> TaskId:
    return _check_id("worker", value)


def _check_id(what: str, value: Any) -> TaskId:
    """Return an id as a Python object: text, or a whole number of 64 bits."""
    plain_id = plain(value)
    if isinstance(plain_id, str):
        check_text(what, plain_id)
    whole = isinstance(plain_id, int) and not isinstance(plain_id, bool)
    if isinstance(plain_id, str) or (whole and -(2**63) <= plain_id < 2**63):
        return plain_id  # type: ignore[no-any-return]
    raise ParameterError("mechanisms.id-invalid", subject=what, value=value)


def _sorted_tasks(tasks: Any) -> tuple[TaskId, ...]:
    if isinstance(tasks, str | Mapping) or not isinstance(tasks, Iterable):
        raise ParameterError("mechanisms.tasks-not-a-list", tasks=tasks)
    ids = [_check_id("a task", task) for task in tasks]
    if not ids or len({type(task) for task in ids}) > 1 or len(set(ids)) < len(ids):
        raise ParameterError("mechanisms.tasks-not-unique", ids=ids)
    return tuple(sorted(ids))


def check_memoisable(mechanism: Any) -> Mechanism:
    """Return the mechanism if a memo supports it; else raise ParameterError with the reason."""
    if not isinstance(mechanism, Mechanism):
        raise ParameterError("mechanisms.memo-without-mechanism", mechanism=mechanism)
    if mechanism.no_memo is not None:
        raise ParameterError("mechanisms.no-memo", name=mechanism.name, reason=mechanism.no_memo)
    return mechanism


@frozen(kw_only=True)
class MemoScope:
    """Public context of a memo: one worker, one campaign, its mechanism and its tasks.

    `mechanism` has `fixed_reports`, and `campaign` and `tasks` are not empty. Tasks may be given in
    any order and are stored sorted, as reports are. Ids are text or whole numbers of 64 bits.
    """

    mechanism: Mechanism = field(converter=check_memoisable)
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
        """All of it as one text; other scopes give other random numbers."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def content(self, key: bytes | bytearray) -> bytes:
        """Return the bytes of the file: public part, key, and checksum."""
        body = {**self.to_dict(), "key": key.hex()}
        return json.dumps({**body, "check": _digest(body)}, indent=1).encode() + b"\n"

    def key_in(self, content: bytes, path: Path) -> bytes:
        """Return the key in the bytes of a file.

        The message names `path`, and nothing of the key.
        """
        if content and not any(content):
            raise FormatError("mechanisms.memo-destroyed-partly", path=path)
        body = _whole_body(content, path)
        for name, here in json.loads(self.context).items():
            there = body.get(name)
            if there != here:
                raise FormatError(
                    "mechanisms.memo-of-another",
                    path=path,
                    name=name,
                    differing=_differing(there, here),
                    expected=_differing(here, there),
                )
        key = bytes.fromhex(body["key"])
        if content != self.content(key):
            raise _damaged(path)
        return key


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _whole_body(content: bytes, path: Path) -> dict[str, Any]:
    try:
        body: dict[str, Any] = json.loads(content)
        kind, version = body["file"], body["version"]
        whole = body.pop("check") == _digest(body) and _KEY.fullmatch(body["key"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        whole, kind, version = None, KIND, VERSION
    if (kind, version) != (KIND, VERSION):
        raise FormatError(
            "mechanisms.memo-version",
            path=path,
            kind=kind,
            version=version,
            other_kind=KIND,
            other_version=VERSION,
        )
    if not whole:
        raise _damaged(path)
    return body


def _damaged(path: Path) -> FormatError:
    return FormatError("mechanisms.memo-damaged", path=path)


def _differing(value: Any, other: Any) -> str:
    if isinstance(value, dict) and isinstance(other, dict):
        value = {name: value[name] for name in sorted(value) if value[name] != other.get(name)}
    return repr(value)


@frozen(kw_only=True, eq=False)
class Memo:
    """Noise of one worker in one campaign, fixed before the first answer.

    Make it with `Memo.open`. A report is a function of the memo and the answers. Sending again,
    after a restart or a failure, gives identical reports and reveals nothing new. So does an answer
    that is edited and edited back before anything is sent.

    An answer that is edited *after* it was sent gives a report with its own random numbers. The
    loss about t different answers to a task is that of t reports: count them all in
    ``mechanism.guarantee(answers=...)``, or as tasks if every task is reported. That an answer was
    changed, or changed back, can show; which answers they were is protected. So let workers edit
    first and send once.

    The file and the reports together reveal the answers. Destroy the memo when the campaign closes.
    A new memo before that, after the file was lost or destroyed, costs the same loss again. The
    file is read again before every report: if any program destroyed or replaced it, everything
    opened from it ends. A memo cannot end a copy of the file, or protect against a program that
    reads another one's memory.

    Guarantee
    ---------
    That of the mechanism, if SHAKE-256 under an unknown key of 256 bits is indistinguishable from
    random numbers. Labels then have exactly the mechanism's distribution. Numbers have it up to
    2^-182 in total variation, including the participation bit, so that a pure loss of epsilon
    becomes (epsilon, delta) with delta = (1 + e^epsilon) 2^-182 for each report, below 2^-180 at
    epsilon = 1. Derivation: ``research/docs/theory/memoisation.md``.

    Attributes
    ----------
    path : Path
        Absolute path of the file.
    scope : MemoScope
        Worker, campaign, mechanism and tasks. What a worker draws once, such as the flip
        probability of the two-layer mechanism, is drawn once per memo.

    Examples
    --------
    >>> import tempfile
    >>> from quietcrowd import Categorical, RandomizedResponse
    >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0)
    >>> path = Path(tempfile.mkdtemp()) / "drugs.memo"
    >>> public = {"mechanism": mechanism, "tasks": ["A", "B"], "campaign": "drugs", "worker": "ann"}
    >>> memo = Memo.open(path, **public)
    >>> sent = memo.report({"A": "yes"}).to_frame("pyarrow")
    >>> sent.equals(Memo.open(path, **public).report({"A": "yes"}).to_frame("pyarrow"))
    True
    >>> memo.destroy()
    >>> path.exists()
    False
    """

    path: Path
    scope: MemoScope
    _secret: Secret = field(repr=False)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        mechanism: Mechanism,
        tasks: Iterable[TaskId],
        campaign: str,
        worker: TaskId,
        create: bool = True,
    ) -> Memo:
        """Read the memo at `path`, or create it, before anything is answered.

        Only the owner can read a new file (mode 0600, whatever the umask), which appears completely
        or not at all. Use a directory that no one else can write to: removing the file makes the
        device draw afresh. On Windows the directory determines the permissions.

        Parameters
        ----------
        path : path
            One file per worker and campaign.
        mechanism : Mechanism
            Mechanism of the campaign, with one answer per report.
        tasks : iterable of str or of int
            All tasks of the campaign, not only the answered ones, in any order; public.
        campaign : str
            Name of the campaign, not empty.
        worker : str or int
            The worker's id in reports.
        create : bool
            Whether to create a missing memo. False once something was sent: a new memo is fresh
            noise.

        Raises
        ------
        ParameterError
            If a parameter is invalid, or the mechanism's reports cannot be fixed in advance.
        FormatError
            If the file is damaged, was destroyed, is of another campaign, worker, mechanism or list
            of tasks, is not a regular file, or is accessible to others.
        FileNotFoundError
            If the directory is missing, or the memo is and `create` is False.
        """
        place = Path(path).absolute()
        scope = MemoScope(mechanism=mechanism, campaign=campaign, worker=worker, tasks=tasks)
        if create and not place.exists():
            secret = Secret.draw(scope.context)
            if create_private(place, scope.content(secret.key)):
                return cls(path=place, scope=scope, secret=secret)
        key = scope.key_in(read_private(place), place)
        return cls(path=place, scope=scope, secret=Secret(key=key, context=scope.context))

    def report(self, answers: Mapping[Any, Any]) -> Reports:
        """Return the device's reports for these answers; identical for identical answers.

        All tasks are processed in the same order, answered or not. Errors name a task and never an
        answer, since messages end up in logs.

        Parameters
        ----------
        answers : mapping of task to answer
            All answers of the worker so far; None, or no entry, is a missing answer.

        Returns
        -------
        Reports
            Reports of this worker; on all tasks if the mechanism reports every task.

        Raises
        ------
        AnswerError
            If a task is unknown or an answer is outside the domain; then nothing is drawn.
        ParameterError
            If the memo was destroyed, or its file is gone.
        FormatError
            If the file was replaced or damaged since it was opened, or others have permissions.
        """
        self._require_kept()
        scope = self.scope
        table = worker_table(
            answers,
            domain=scope.mechanism.domain,
            options=scope.mechanism.options,
            tasks=scope.tasks,
            worker=scope.worker,
            campaign=scope.campaign,
        )
        return scope.mechanism.fixed_reports(table, self._secret)

    def destroy(self) -> None:
        """Overwrite and remove the file, and forget the key; does nothing the second time.

        If the file is already gone, only the key is forgotten; a moved file is not found. If this
        fails nothing is forgotten: fix what the error reports, and destroy the memo again.

        Raises
        ------
        FormatError
            If another file is in its place, which is not touched.
        OSError
            If the file cannot be overwritten or removed.
        """
        if self._secret.forgotten:
            return
        wipe_private(self.path, self.scope.content(self._secret.key))
        self._secret.forget()

    def _require_kept(self) -> None:
        if not self._secret.forgotten:
            try:
                content = read_private(self.path)
            except FileNotFoundError:
                content = b""
            if not any(content):
                self._secret.forget()
            elif self.scope.key_in(content, self.path) != self._secret.key:
                raise FormatError("mechanisms.memo-replaced", path=self.path)
        if self._secret.forgotten:
            raise ParameterError(
                "mechanisms.memo-gone", path=self.path, campaign=self.scope.campaign
            )
