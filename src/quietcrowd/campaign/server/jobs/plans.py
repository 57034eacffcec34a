"""Plans for requesters: computed one at a time, each within a time limit."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Any

from attrs import define, field

from quietcrowd.campaign.protocol.problems import ProblemError, broken_rule
from quietcrowd.campaign.server.jobs import processes
from quietcrowd.campaign.server.logs import log_failure

_COMMAND = (sys.executable, "-m", "quietcrowd.campaign.server.jobs.plan_process")
_AGAIN = 0.05  # seconds between two attempts to kill a process that may still be starting


class _PlanningError(Exception):
    """The planning process failed or ended; the next plan gets a new one."""


@define(kw_only=True)
class PlanJobs:
    """Queue of plans, one at a time in a separate process, and one per requester."""

    longest: float
    _asking: set[bytes] = field(factory=set, init=False)
    _turn: asyncio.Lock = field(factory=asyncio.Lock, init=False)
    _pool: ThreadPoolExecutor = field(
        factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="plans"), init=False
    )
    _process: subprocess.Popen[str] | None = field(default=None, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    async def make(
        self,
        requester: bytes,
        order: Mapping[str, Any],
        leaving: Callable[[], Coroutine[Any, Any, None]],
    ) -> dict[str, Any]:
        """Return a `PlanDocument`, abandoned when `leaving` ends, or raise ProblemError."""
        if requester in self._asking:
            raise ProblemError(
                "too-many-requests", "Another plan of yours is running: wait for it, or stop it."
            )
        self._asking.add(requester)
        work = asyncio.ensure_future(self._in_turn(json.dumps(order)))
        left = asyncio.ensure_future(leaving())
        try:
            await asyncio.wait({work, left}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ProblemError("too-slow", "The client disconnected.")
            return work.result()
        finally:
            left.cancel()
            work.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await work
            self._asking.discard(requester)

    def close(self) -> None:
        """Kill the process."""
        self._kill()
        self._pool.shutdown()
        self._kill()

    async def _in_turn(self, line: str) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self.longest):
                await self._turn.acquire()
        except TimeoutError:
            raise ProblemError("busy", "Other plans are running: try again later.") from None
        try:
            return _plan_in(await self._answered(line))
        except (OSError, ValueError, _PlanningError) as error:
            self._kill()
            log_failure("plan", error)
            raise ProblemError("internal", "The error is logged; nothing was changed.") from None
        finally:
            self._turn.release()

    async def _answered(self, line: str) -> str:
        answer = asyncio.get_running_loop().run_in_executor(self._pool, self._ask, line)
        answer.add_done_callback(_take_note)  # no one retrieves it after two cancellations
        try:
            return await asyncio.wait_for(asyncio.shield(answer), self.longest)
        except (TimeoutError, asyncio.CancelledError) as error:
            while not answer.done():
                self._kill()
                await asyncio.wait({answer}, timeout=_AGAIN)
            if isinstance(error, TimeoutError):
                raise ProblemError(
                    "plan-too-long",
                    f"The server stopped it after {self.longest:g} seconds. Use fewer workers, "
                    "answers, mechanisms or epsilons, or run quietcrowd plan locally. The first "
                    "plan of a server takes longest.",
                ) from None
            raise

    def _ask(self, line: str) -> str:
        answer = processes.ask(self._started(), line)
        if not answer:
            raise _PlanningError
        return answer

    def _started(self) -> subprocess.Popen[str]:
        with self._lock:
            if self._process is None:
                self._process = processes.start(_COMMAND)
            return self._process

    def _kill(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            processes.end(process)


def _take_note(answer: asyncio.Future[str]) -> None:
    if not answer.cancelled():
        answer.exception()


def _plan_in(answer: str) -> dict[str, Any]:
    found = json.loads(answer)
    if "refused" in found:
        pointer, message = found["refused"]
        raise broken_rule(pointer, "plan", message)
    if "plan" not in found:
        raise _PlanningError(found["failed"])
    plan: dict[str, Any] = found["plan"]
    return plan
