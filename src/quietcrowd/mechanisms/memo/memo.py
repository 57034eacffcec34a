"""What a worker's device keeps, so that sending again tells nothing new.

Whoever draws fresh noise for the same answer gives another hint about it: at a loss of 1 about
"yes" or "no", the majority of 21 reports is the answer in 98.9 % of cases. So a device fixes,
before the first answer, what it would send for every task and every possible answer, and keeps
that until the campaign closes.

It keeps a key of 256 random bits. The random word of a label, and the noise of a number, are
SHAKE-256 of the key, the campaign, the worker, the mechanism, the list of tasks, the task and *the
answer*. This is the way for labels and numbers alike, for three reasons. One noise value per
numeric task would not do: if the answer is edited, the difference of the two reports is exactly the
difference of the two answers. A table of noise for every task and every answer would do, but a
grid has up to 2^24 places. And a key is a small file of a size that depends on public things alone,
drawn in one step before there is any answer, and quickly destroyed. What it costs: the numbers are
as good as independent ones to whoever cannot break SHAKE-256 with an unknown key. That is no weaker
than fresh noise, which comes from a generator of that kind in the operating system.

What remains to be known of editing: ``docs/theory/memoisation.md``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.memo.memo_reports import fixed_reports
from quietcrowd.mechanisms.memo.private_file import create_private, read_private, wipe_private
from quietcrowd.mechanisms.memo.scope import MemoScope, TaskId
from quietcrowd.mechanisms.memo.secret import Secret
from quietcrowd.mechanisms.memo.worker_table import worker_table
from quietcrowd.mechanisms.reports import Reports

__all__ = ["Memo"]


@frozen(kw_only=True, eq=False)
class Memo:
    """The noise of one worker in one campaign, fixed before the first answer.

    Make it with `Memo.open`. What is reported is a function of the memo and the answers: sending
    again, after a restart or a failure, gives the identical reports and tells nothing new, and so
    does an answer that is edited and edited back before anything is sent.

    An answer that is edited *after* it was sent gives a report of its own, with its own random
    numbers. Whoever sent t different answers to a task loses what t reports lose: count them all in
    ``mechanism.guarantee(answers=...)``, or as tasks where every task is reported. That an answer
    was changed, and that it was changed back, can show; which answers they were is protected. So
    let workers edit first and send once.

    The file and the reports together reveal the answers. Destroy the memo when the campaign closes.
    Whoever loses or destroys it before, and opens a new one, loses as much again. Before every
    report the file is read again: one that was destroyed or replaced, by whatever program, ends all
    that was opened from it. What cannot be done from here: to end a copy of the file, or a program
    that reads another one's memory.

    Guarantee
    ---------
    That of the mechanism, given that SHAKE-256 under an unknown key of 256 bits cannot be told from
    random numbers. Labels have exactly the mechanism's law then. Numbers have it up to 2^-182 in
    total variation, the participation bit included, so that a pure loss of epsilon becomes
    (epsilon, delta) with delta = (1 + e^epsilon) 2^-182 for each report, below 2^-180 at
    epsilon = 1. Derivation: ``docs/theory/memoisation.md``.

    Attributes
    ----------
    path : Path
        Where it is kept, from the root.
    scope : MemoScope
        Worker, campaign, mechanism and tasks. What a worker draws once, as the flip probability of
        the two-layer mechanism, is drawn once per memo.

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

        A new file can be read by its owner alone (0600, whatever the umask); it is there whole or
        not at all. Take a folder that nobody else can write to: who removes the file makes the
        device draw afresh. On Windows rights are those of the folder.

        Parameters
        ----------
        path : path
            One file per worker and campaign.
        mechanism : Mechanism
            Of the campaign; one whose reports are made of one answer each.
        tasks : iterable of str or of int
            All tasks of the campaign, in any order; public, and not those that were answered.
        campaign : str
            Its name; not empty.
        worker : str or int
            The worker's id in reports.
        create : bool
            Whether to make a memo where there is none. False once something was sent: a new memo
            is fresh noise.

        Raises
        ------
        ParameterError
            Where the mechanism's reports cannot be fixed in advance, or a parameter is missing.
        FormatError
            Where the file is damaged, was destroyed, or is of another campaign, worker, mechanism
            or list of tasks; where it is no plain file, another user's, or others have rights to
            it.
        FileNotFoundError
            Where there is no such folder, or no memo and `create` is False.
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
        """Return what the device sends for these answers; identical for identical answers.

        All tasks are gone through in the same order, whichever are answered. What this raises names
        a task, and never an answer: messages end up in logs.

        Parameters
        ----------
        answers : mapping of task to answer
            All answers of the worker so far; None, or no entry, is no answer.

        Returns
        -------
        Reports
            Of this worker alone; of all tasks where the mechanism reports every task.

        Raises
        ------
        AnswerError
            Where a task is not on the list or an answer outside the domain: then nothing is drawn.
        ParameterError
            Where the memo was destroyed, or its file is gone.
        FormatError
            Where the file was replaced or damaged since it was opened, or others have rights to
            it.
        """
        self._require_kept()
        scope = self.scope
        table = worker_table(
            answers,
            domain=scope.mechanism.domain,
            tasks=scope.tasks,
            worker=scope.worker,
            campaign=scope.campaign,
        )
        return fixed_reports(scope.mechanism, table, self._secret)

    def destroy(self) -> None:
        """Overwrite and remove the file, and forget the key; a second time changes nothing.

        Nor does a first time where there is no file any more. One that was moved is not found.
        Where this fails nothing is forgotten: set right what the error says, and destroy it again.

        Raises
        ------
        FormatError
            Where another file has taken its place: that one is not touched.
        OSError
            Where the file cannot be overwritten or removed.
        """
        if self._secret.forgotten:
            return
        wipe_private(self.path, self.scope.content(self._secret.key))
        self._secret.forget()

    def _require_kept(self) -> None:
        """Raise an error unless the file is there, with the same key in it."""
        if not self._secret.forgotten:
            try:
                content = read_private(self.path)
            except FileNotFoundError:
                content = b""
            if not any(content):
                self._secret.forget()
            elif self.scope.key_in(content, self.path) != self._secret.key:
                raise FormatError(
                    f"{self.path} was replaced by another memo since it was opened. Open it again "
                    "if nothing was sent with the one before; else send nothing more."
                )
        if self._secret.forgotten:
            raise ParameterError(
                f"the memo {self.path} was destroyed, or its file is gone: nothing can be reported "
                f"in campaign {self.scope.campaign!r} any more"
            )
