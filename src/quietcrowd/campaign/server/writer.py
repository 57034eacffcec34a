"""Background threads: one stores uploads, one empties SQLite's journal, one closes and deletes."""

import math
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread

from attrs import define, field, frozen
from sqlalchemy.exc import IntegrityError

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.worker_documents import Receipt
from quietcrowd.campaign.server.logs import log_failure
from quietcrowd.campaign.server.metrics.counters import (
    BATCH_UPLOADS,
    COMMITS,
    QUEUE_DEPTH,
    REPORTS,
    Tally,
)
from quietcrowd.campaign.store.campaigns import (
    close_due,
    delete_expired,
    due_campaigns,
    rounds_to_show,
    show_ended,
    some_expired,
)
from quietcrowd.campaign.store.choices import last_over
from quietcrowd.campaign.store.clock import observe_clock
from quietcrowd.campaign.store.dashboards import delete_ended, some_ended
from quietcrowd.campaign.store.database import UNAVAILABLE, Database
from quietcrowd.campaign.store.intake import Intake, Taken, WorkerUpload
from quietcrowd.campaign.store.withdrawals.journal import Departures, trace_of

_UPLOADS, _REPORTS, _WAIT = 100, 20_000, 0.01
"""Maximum numbers of uploads and reports in a transaction, and seconds to wait for more."""

_PAUSE = 0.1
_CLASHES = 3  # maximum number of retries after conflicts with another process
_ERASE_EVERY = 2.0  # seconds between two attempts to empty the journal
_ERASE_AGAIN = 0.5  # seconds until the next attempt if there was a reader
_ERASE_AT_LAST = 10  # maximum number of attempts at the end; the next server continues


@frozen(kw_only=True)
class _Job:
    sent: WorkerUpload
    until: float
    done: Future[Receipt] = field(factory=Future)


@define(kw_only=True)
class Writer:
    """The only writer of reports; uploads wait `patience` seconds for an unreachable database."""

    database: Database
    changed: Callable[[bytes], None]
    patience: float
    clock: Callable[[], float] = time.time
    tally: Tally = field(factory=Tally)
    _queue: SimpleQueue[_Job | None] = field(factory=SimpleQueue, init=False)
    _thread: Thread = field(init=False)
    _closed: bool = field(default=False, init=False)
    _intake: Intake = field(factory=Intake, init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, sent: WorkerUpload) -> Future[Receipt]:
        """Queue an upload or raise ProblemError; the future ends once it is stored or rejected."""
        if self._closed:
            raise ProblemError("busy", "Send the same reports again in a moment.")
        job = _Job(sent=sent, until=time.monotonic() + self.patience)
        self._queue.put(job)
        return job.done

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Write all queued uploads, and stop; an unreachable database is not retried."""
        self._closed = True
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            batch, going = self._next_batch()
            batch = [job for job in batch if job.done.set_running_or_notify_cancel()]
            if batch:
                self.tally.reach(QUEUE_DEPTH, len(batch) + self._queue.qsize())
                self._store(batch)

    def _next_batch(self) -> tuple[list[_Job], bool]:
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
            except Empty:
                return batch, True
        return batch, False

    def _store(self, batch: list[_Job]) -> None:
        try:
            taken = self._commit(batch)
        except Exception as error:
            log_failure("writer", error)
            name = "unavailable" if isinstance(error, UNAVAILABLE) else "internal"
            for job in batch:
                job.done.set_exception(ProblemError(name, "Send the same reports again later."))
            return
        self._count(batch, taken)
        for job, outcome in zip(batch, taken.outcomes, strict=True):
            if isinstance(outcome, Receipt):
                job.done.set_result(outcome)
            else:
                job.done.set_exception(outcome)
        for campaign in taken.shown:
            self.changed(campaign)

    def _count(self, batch: list[_Job], taken: Taken) -> None:
        """Count outcomes; those of a campaign are published with its next release."""
        self.tally.count("workers", COMMITS)
        self.tally.observe("workers", BATCH_UPLOADS, len(batch))
        for job, outcome, campaign in zip(batch, taken.outcomes, taken.campaigns, strict=True):
            for name, count in _outcomes(job.sent, outcome).items():
                if campaign is None:
                    self.tally.count("workers", REPORTS, name, by=count)
                else:
                    self.tally.hold(campaign, REPORTS, name, by=count)
        self.tally.released(taken.shown)

    def _commit(self, batch: list[_Job]) -> Taken:
        clashes = 0
        while True:
            try:
                with self.database.write() as connection:
                    return self._intake.take(connection, [job.sent for job in batch], self.clock)
            except UNAVAILABLE:
                if self._closed or time.monotonic() > batch[0].until:
                    raise
            except IntegrityError:
                clashes += 1
                if clashes > _CLASHES:
                    raise
            time.sleep(_PAUSE)


def _outcomes(sent: WorkerUpload, outcome: Receipt | ProblemError) -> Counter[str]:
    if isinstance(outcome, ProblemError):
        return Counter({outcome.name: len(sent.report_ids)})
    counts: Counter[str] = Counter(one.code for one in outcome.rejected)
    counts.update(accepted=outcome.accepted, duplicate=outcome.duplicates)
    return counts


@define(kw_only=True)
class JournalEraser:
    """Thread that empties SQLite's journal every few seconds; PostgreSQL has none."""

    database: Database | Departures
    _ended: Event = field(factory=Event, init=False)
    _thread: Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = Thread(target=self._run, name="eraser", daemon=True)
        if self.database.path is not None:
            self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the journal is emptied, if there is one."""
        return self.database.path is None or self._thread.is_alive()

    def close(self) -> None:
        """Empty the journal once more, and stop."""
        self._ended.set()
        if self.database.path is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_ERASE_EVERY if self._empty() else _ERASE_AGAIN):
            pass
        for _ in range(_ERASE_AT_LAST):
            if self._empty():
                return

    def _empty(self) -> bool:
        try:
            return self.database.empty_journal()
        except (sqlite3.Error, OSError) as error:
            log_failure("eraser", error)
            return False


_EVERY = 60.0  # seconds between two checks; no round is shorter
_DAY = 86_400
_SOON = 60.0  # fewest seconds between two checks, so that each is a reading of its own


@define(kw_only=True)
class RetentionKeeper:
    """Closing of campaigns, deletion of expired data and a daily check for damage, in a thread.

    What cannot be undone happens once two readings of the clock in a row agree that it is time. So
    one wrong reading closes, shows and deletes nothing, also the first one after a start.
    """

    database: Database
    departures: Departures
    clock: Callable[[], float]
    changed: Callable[[bytes], None]
    tally: Tally = field(factory=Tally)
    _shown: dict[bytes, int] = field(factory=dict, init=False)
    _next: float = field(default=0.0, init=False)
    _checked: float | None = field(default=None, init=False)
    _last: float | None = field(default=None, init=False)
    _looking: Lock = field(factory=Lock, init=False)
    _ended: Event = field(factory=Event, init=False)
    _thread: Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = Thread(target=self._run, name="retention", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stop the thread."""
        self._ended.set()
        self._thread.join()

    def look(self) -> None:
        """Close campaigns that are due and delete expired data, unless the clock is implausible."""
        with self._looking:
            self._look()

    def _look(self) -> None:
        before, now = self._last, self.clock()
        self._last = now
        if self._checked != now // _DAY:
            self._checked = now // _DAY
            self.database.is_intact()
        if before is None:
            return
        now = min(before, now)
        if observe_clock(now, self.database, self.departures.journal).held:
            return
        with self.database.read() as connection:
            in_rounds = rounds_to_show(connection)
            due = due_campaigns(connection, now)
            expired, ended = some_expired(connection, now), some_ended(connection, now)
        ends = (one.end(last_over(one, now) + 1) + one.grace for one in in_rounds.values())
        self._next = min(ends, default=math.inf)
        for campaign, rounds in in_rounds.items():
            last = last_over(rounds, now)
            if self._shown.get(campaign) == last:
                continue
            with self.database.write() as connection:
                count = show_ended(connection, self.departures, campaign, rounds, now)
            self._shown[campaign] = last
            if count is not None:
                self.tally.released({campaign: count})
                self.changed(campaign)
        for campaign in due:
            with self.database.write() as connection:
                changed = close_due(connection, self.departures, campaign, now)
            if changed:
                self.changed(campaign)
        if ended:
            with self.database.write() as connection:
                delete_ended(connection, now)
        if not expired:
            return
        with self.database.write() as connection:
            over = delete_expired(connection, now)
        for campaign in over:
            self.changed(campaign)
        self.departures.forget(map(trace_of, over))

    def _run(self) -> None:
        while True:
            try:
                self.look()
            except UNAVAILABLE as error:
                log_failure("retention", error, timed=True)
            now = self.clock()
            if self._ended.wait(min(_pause(now), max(self._next - now, _SOON))):
                return


def _pause(now: float) -> float:
    return min(_EVERY, _DAY - now % _DAY)
