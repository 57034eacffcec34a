"""Scheduling of inference: some time after new reports, one campaign at a time."""

import json
import subprocess
import sys
import time
from threading import Condition, Thread, Timer

from attrs import asdict, define, field

from quietcrowd.campaign.results.large_campaigns import LargeCampaigns, sweep
from quietcrowd.campaign.results.results import (
    Provenance,
    outdated_campaigns,
    read_provenance,
    without_reports,
    write_failure,
)
from quietcrowd.campaign.server.jobs import processes
from quietcrowd.campaign.server.logs import log_failure
from quietcrowd.campaign.server.metrics.counters import (
    INFERENCE_LAG,
    INFERENCE_SECONDS,
    INFERENCES,
    Tally,
)
from quietcrowd.campaign.store.database import Database
from quietcrowd.mechanisms import Mechanism

_COMMAND = (sys.executable, "-m", "quietcrowd.campaign.results.inference_process")
_AGAIN = 2.0  # minimum delay in seconds before a retry if the database is unreachable

_PAUSE, _LONGEST_PAUSE = 1.0, 300.0
"""Seconds until a failed inference is retried; doubled after each failure, up to the maximum."""

_TOO_LONG = (
    "The inference exceeded the time limit of this server: use a method with fewer iterations, or "
    "export the reports."
)

_FAILURES = 3  # number of consecutive failures after which the results report them
_EVERY = 60.0  # seconds between two checks for changes by other servers
_LOOK = b""  # scheduled like a campaign, to check all campaigns

_REST = 3
"""After an inference, its campaign pauses for this multiple of its duration, to favor uploads."""


class _TooLongError(Exception):
    """An inference exceeded its time limit."""


class _InferenceError(Exception):
    """The inference process failed or ended; the next campaign gets a new one."""


def _modules() -> list[str]:
    """Return the modules outside of quietcrowd that define mechanisms and methods."""
    kinds: list[type] = list(Mechanism.registry().values())
    registry = sys.modules.get("quietcrowd.inference.registry")  # loaded when needed
    if registry is not None:
        kinds += registry.METHODS.values()
    modules = {kind.__module__ for kind in kinds}
    return sorted(name for name in modules if not name.startswith("quietcrowd."))


@define(kw_only=True)
class InferenceJobs:
    """Scheduler of inferences in a separate process.

    An inference follows `debounce` seconds after the first change of a campaign, and includes later
    changes. It is ended after `longest` seconds, and not retried until something changes.
    """

    database: Database
    debounce: float
    longest: float
    tally: Tally = field(factory=Tally)
    large: LargeCampaigns = field(factory=LargeCampaigns)
    _asked: dict[bytes, float] = field(factory=dict, init=False)
    _since: float = field(default=0.0, init=False)
    _due: dict[bytes, float] = field(factory=dict, init=False)
    _rests: dict[bytes, float] = field(factory=dict, init=False)
    _failures: dict[bytes, int] = field(factory=dict, init=False)
    _held: set[bytes] = field(factory=set, init=False)
    _changed: Condition = field(factory=Condition, init=False)
    _process: subprocess.Popen[str] | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)
    _thread: Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        sweep(self.large.folder)
        self._look()
        self._thread = Thread(target=self._run, name="inference", daemon=True)
        self._thread.start()

    def request(self, campaign: bytes, least: float = 0.0) -> None:
        """Schedule an inference of a campaign, in `least` seconds at the earliest."""
        with self._changed:
            now = time.monotonic()
            due = now + max(self.debounce, least)
            self._asked.setdefault(campaign, now)
            self._due.setdefault(campaign, max(due, self._rests.get(campaign, due)))
            self._changed.notify()

    @property
    def alive(self) -> bool:
        """Whether the scheduler runs."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Kill the process and stop; the next start finds outdated campaigns."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            if self._process is not None:
                self._process.kill()
        self._thread.join()
        self._forget_process()

    def _look(self) -> None:
        """Schedule outdated campaigns, repeatedly if other servers may change reports."""
        if self.database.path is None:
            self.request(_LOOK, least=_EVERY)
        with self.database.read() as connection:
            gone = without_reports(connection, self._held)
            for campaign in (*outdated_campaigns(connection), *gone):
                self.request(campaign)

    def _run(self) -> None:
        while (campaign := self._next()) is not None:
            try:
                if campaign == _LOOK:
                    self._look()
                else:
                    self._serve(campaign)
            except Exception as error:  # the thread serves all campaigns, so it must continue
                log_failure("inference", error, timed=True)
                self.request(campaign, least=_AGAIN)

    def _serve(self, campaign: bytes) -> None:
        with self.database.read() as connection:
            provenance = read_provenance(connection, campaign)
        with self._changed:
            self._since = self._asked.pop(campaign, time.monotonic())
        try:
            self._infer(campaign)
            self._failures.pop(campaign, None)
        except _TooLongError as error:
            self._forget_process()
            log_failure("inference", error, timed=True)
            self.tally.count("releases", INFERENCES, "too-long")
            self._write_failure(provenance, _TOO_LONG)
        except (OSError, ValueError, _InferenceError) as error:
            self._forget_process()
            if not self._closed:
                log_failure("inference", error, timed=True)
                self.tally.count("releases", INFERENCES, "failed")
                self._ask_again(campaign)
                self._try_later(campaign, provenance)

    def _try_later(self, campaign: bytes, provenance: Provenance | None) -> None:
        failures = self._failures[campaign] = self._failures.get(campaign, 0) + 1
        self.request(campaign, least=min(_PAUSE * 2 ** min(failures - 1, 20), _LONGEST_PAUSE))
        if failures >= _FAILURES:
            self._write_failure(
                provenance, "The inference failed several times, and will be repeated."
            )

    def _write_failure(self, provenance: Provenance | None, reason: str) -> None:
        if provenance is not None:
            with self.database.write() as connection:
                write_failure(connection, provenance, reason)

    def _next(self) -> bytes | None:
        with self._changed:
            while not self._closed:
                if not self._due:
                    self._changed.wait()
                    continue
                campaign = min(self._due, key=self._due.__getitem__)
                left = self._due[campaign] - time.monotonic()
                if left <= 0:
                    del self._due[campaign]
                    return campaign
                self._changed.wait(left)
        return None

    def _ask_again(self, campaign: bytes) -> None:
        with self._changed:
            self._asked[campaign] = self._since

    def _infer(self, campaign: bytes) -> None:
        process = self._started()
        start = time.monotonic()
        until = start + self.longest
        limit = Timer(self.longest, process.kill)
        limit.start()
        try:
            answer = processes.ask(process, campaign.hex())
        finally:
            limit.cancel()
        if not answer and not self._closed and time.monotonic() >= until:
            raise _TooLongError
        if answer.startswith("later"):
            self._ask_again(campaign)
            self.request(campaign, least=_AGAIN)
        elif not answer or answer.startswith("failed"):
            raise _InferenceError
        elif answer.startswith("nothing"):
            self._held.discard(campaign)
        elif answer.startswith("done"):
            self._held.add(campaign)
            self._rest(campaign, _REST * float(answer.split()[1]))
            now = time.monotonic()
            self.tally.count("releases", INFERENCES, "done")
            self.tally.observe("releases", INFERENCE_SECONDS, now - start)
            self.tally.observe("releases", INFERENCE_LAG, now - self._since)

    def _rest(self, campaign: bytes, seconds: float) -> None:
        now = time.monotonic()
        with self._changed:
            self._rests = {one: until for one, until in self._rests.items() if until > now}
            self._rests[campaign] = now + seconds
            if campaign in self._due:
                self._due[campaign] = max(self._due[campaign], now + seconds)

    def _started(self) -> subprocess.Popen[str]:
        with self._changed:
            if self._closed:
                raise _InferenceError
            if self._process is None:
                self._process = processes.start(_COMMAND)
                url = self.database.url.render_as_string(hide_password=False)
                assert self._process.stdin is not None
                begin = {"database": url, "modules": _modules(), "large": asdict(self.large)}
                self._process.stdin.write(f"{json.dumps(begin)}\n")
            return self._process

    def _forget_process(self) -> None:
        process, self._process = self._process, None
        self._held.clear()
        if process is not None:
            processes.end(process)
            sweep(self.large.folder)
