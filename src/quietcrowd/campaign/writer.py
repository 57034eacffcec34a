"""One thread writes all uploads, many to a transaction; each is acknowledged after the commit."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread

from attrs import define, field, frozen
from sqlalchemy.exc import DBAPIError, IntegrityError

from quietcrowd.campaign.database import Database
from quietcrowd.campaign.intake import Intake, Sent
from quietcrowd.campaign.logs import log_failure
from quietcrowd.campaign.problems import ProblemError
from quietcrowd.campaign.schemas import Receipt

__all__ = ["Writer"]

_UPLOADS, _REPORTS, _WAIT = 100, 20_000, 0.005
"""What a transaction holds at most, and for how many seconds it waits for more."""

_PATIENCE = 30.0
"""Seconds to try again where the database fails, before giving up."""

_PAUSE = 0.1


@frozen(kw_only=True)
class _Job:
    sent: Sent
    done: Future[Receipt] = field(factory=Future)


@define(kw_only=True)
class Writer:
    """The only one who writes reports.

    Attributes
    ----------
    database : Database
        Where to.
    waiting : int
        Most uploads that wait.
    changed : callable
        Is told, after a commit, of each campaign that has more reports.
    """

    database: Database
    waiting: int
    changed: Callable[[bytes], None]
    _queue: queue.Queue[_Job | None] = field(init=False)
    _thread: Thread = field(init=False)
    _closed: bool = field(default=False, init=False)
    _intake: Intake = field(factory=Intake, init=False)

    def __attrs_post_init__(self) -> None:
        self._queue = queue.Queue(self.waiting)
        self._thread = Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, sent: Sent) -> Future[Receipt]:
        """Queue an upload; the future ends when it is stored for good, or refused.

        Raises
        ------
        ProblemError
            Where too many uploads wait, or the server ends.
        """
        job = _Job(sent=sent)
        try:
            if self._closed:
                raise queue.Full
            self._queue.put_nowait(job)
        except queue.Full:
            raise ProblemError("busy", "Send the same reports again in a moment.") from None
        return job.done

    def close(self) -> None:
        """Write all that waits, and end; a database that fails is not waited for."""
        self._closed = True
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            batch, going = self._next_batch()
            batch = [job for job in batch if job.done.set_running_or_notify_cancel()]
            if batch:
                self._settle(batch)

    def _next_batch(self) -> tuple[list[_Job], bool]:
        """Return the uploads of the next transaction, and whether there may be more."""
        batch: list[_Job] = []
        job = self._queue.get()
        until = time.monotonic() + _WAIT
        reports = 0
        while job is not None:
            batch.append(job)
            reports += len(job.sent.upload.reports)
            left = until - time.monotonic()
            if len(batch) >= _UPLOADS or reports >= _REPORTS or left <= 0:
                return batch, True
            try:
                job = self._queue.get(timeout=left)
            except queue.Empty:
                return batch, True
        return batch, False

    def _settle(self, batch: list[_Job]) -> None:
        try:
            outcomes, changed = self._commit(batch)
        except Exception as error:
            log_failure("writer", error)
            name = "busy" if isinstance(error, DBAPIError) else "internal"
            for job in batch:
                job.done.set_exception(ProblemError(name, "Send the same reports again later."))
            return
        for job, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, Receipt):
                job.done.set_result(outcome)
            else:
                job.done.set_exception(outcome)
        for campaign in changed:
            self.changed(campaign)

    def _commit(self, batch: list[_Job]) -> tuple[list[Receipt | ProblemError], set[bytes]]:
        """Write a batch; again, where another process or the database came in between."""
        until = time.monotonic() + _PATIENCE
        clashes = 0
        while True:
            try:
                with self.database.write() as connection:
                    return self._intake.take(connection, [job.sent for job in batch])
            except DBAPIError as error:
                clashes += isinstance(error, IntegrityError)
                if self._closed or time.monotonic() > until or clashes > 3:
                    raise
            time.sleep(_PAUSE)
