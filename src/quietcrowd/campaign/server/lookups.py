"""Batched and cached lookups of keys and credentials, which only decide who may send a body."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread

from attrs import define, field

from quietcrowd.campaign.server.logs import log_failure
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.shown_tokens import Shown, known_among

__all__ = ["Lookups"]

_TOGETHER, _WAIT = 500, 0.002
"""Maximum number of lookups in a batch, and seconds to wait for more."""

_KNOWN_SECONDS, _UNKNOWN_SECONDS = 60.0, 10.0
_MOST = 50_000
"""Maximum number of entries of each cache; the oldest are dropped."""


@define(kw_only=True)
class _Memory:
    """A cache of tokens whose entries expire after some seconds."""

    seconds: float
    _until: OrderedDict[Shown, float] = field(factory=OrderedDict, init=False)

    def __contains__(self, shown: Shown) -> bool:
        return self._until.get(shown, 0.0) > time.monotonic()

    def add(self, shown: Shown) -> None:
        self._until[shown] = time.monotonic() + self.seconds
        self._until.move_to_end(shown)
        if len(self._until) > _MOST:
            self._until.popitem(last=False)

    def remove(self, shown: Shown) -> None:
        self._until.pop(shown, None)


_Job = tuple[Shown, bool, "asyncio.Future[bool]"]


@define(kw_only=True)
class Lookups:
    """Cached lookups of keys, credentials and campaigns, in one event loop."""

    database: Database
    _known: _Memory = field(factory=lambda: _Memory(seconds=_KNOWN_SECONDS), init=False)
    _unknown: _Memory = field(factory=lambda: _Memory(seconds=_UNKNOWN_SECONDS), init=False)
    _queue: SimpleQueue[_Job | None] = field(factory=SimpleQueue, init=False)
    _thread: Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = Thread(target=self._run, name="lookups", daemon=True)
        self._thread.start()

    async def is_known(self, shown: Shown, *, remember: bool = True) -> bool:
        """Return whether a token exists, or the database is unreachable: the route reports that."""
        if shown in self._known:
            return True
        if shown in self._unknown:
            return False
        answer = asyncio.get_running_loop().create_future()
        self._queue.put((shown, remember, answer))
        found: bool = await answer
        return found

    def learn(self, shown: Shown) -> None:
        """Cache that the token exists now."""
        self._unknown.remove(shown)
        self._known.add(shown)

    def forget(self, shown: Shown) -> None:
        """Cache that the token no longer exists."""
        self._known.remove(shown)
        self._unknown.add(shown)

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Stop the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        going = True
        while going:
            jobs, going = self._next_jobs()
            if jobs:
                self._settle(jobs)

    def _next_jobs(self) -> tuple[list[_Job], bool]:
        jobs: list[_Job] = []
        job = self._queue.get()
        if job is not None:
            time.sleep(_WAIT)
        while job is not None:
            jobs.append(job)
            if len(jobs) >= _TOGETHER:
                return jobs, True
            try:
                job = self._queue.get_nowait()
            except Empty:
                return jobs, True
        return jobs, False

    def _settle(self, jobs: list[_Job]) -> None:
        found: set[Shown] | None = None
        try:
            with self.database.read() as connection:
                found = known_among(connection, {shown for shown, *_ in jobs})
        except Exception as error:
            log_failure("lookups", error)
        with suppress(RuntimeError):  # the loop has ended
            jobs[0][2].get_loop().call_soon_threadsafe(self._tell, jobs, found)

    def _tell(self, jobs: Iterable[_Job], found: set[Shown] | None) -> None:
        for shown, remember, answer in jobs:
            known = found is None or shown in found
            if found is not None and remember:
                (self._known if known else self._unknown).add(shown)
            if not answer.done():
                answer.set_result(known)
