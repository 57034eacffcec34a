"""The metrics of a server, and their counters, some of them withheld until a release.

Actions of workers are counted separately, and published as they were at a release. That is the
release at which enough workers had been released since the last publication: the largest
``at_least`` of all open campaigns. Reports are counted with the release of their campaign. So no
published number changes because a worker joined, sent reports or withdrew.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeAlias

from attrs import define, field, frozen

from quietcrowd.campaign.server.logs import known_method, log_request

Mover: TypeAlias = Literal["workers", "releases", "others"]
"""Cause of a count: actions of workers; releases and their consequences; requesters and checks.

The first are rounded and published with releases, the second once a minute, the last immediately.
"""


class Sample(NamedTuple):
    """Key of a count."""

    kind: str
    labels: tuple[str, ...] = ()
    bucket: int = 0


@frozen(kw_only=True)
class Kind:
    """A metric; values of labels are from fixed lists, and the last bucket has no bound."""

    name: str
    about: str
    labels: tuple[str, ...] = ()
    form: Literal["counter", "histogram", "gauge"] = "counter"
    bounds: tuple[float, ...] = ()

    def bucket(self, value: float) -> int:
        """Return the index of a value's bucket."""
        return bisect_left(self.bounds, value)

    def middle(self, bucket: int) -> float:
        """Return the midpoint of a bucket, used in sums because no value is stored."""
        ends = (0.0, *self.bounds, self.bounds[-1])
        return (ends[bucket] + ends[bucket + 1]) / 2


_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_LONG = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0, 1_800.0)
KINDS: dict[str, Kind] = {}  # all metrics by name


def _kind(name: str, about: str, *labels: str, **further: Any) -> Kind:
    kind = KINDS[name] = Kind(name=name, about=about, labels=labels, **further)
    return kind


REQUESTS = _kind("quietcrowd_requests", "Answered requests.", "method", "route", "status")
REQUEST_SECONDS = _kind(
    "quietcrowd_request_seconds",
    "Duration of requests, in seconds.",
    "method",
    "route",
    form="histogram",
    bounds=_SECONDS,
)
REPORTS = _kind(
    "quietcrowd_reports",
    "Received reports: accepted, duplicate, or the reason for rejection.",
    "outcome",
)
COMMITS = _kind("quietcrowd_commits", "Transactions that stored uploads.")
BATCH_UPLOADS = _kind(
    "quietcrowd_batch_uploads",
    "Uploads per transaction.",
    form="histogram",
    bounds=(1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0),
)
QUEUE_DEPTH = _kind(
    "quietcrowd_queue_depth",
    "Maximum number of uploads that waited to be written, since the last publication.",
    form="gauge",
)
INFERENCES = _kind(
    "quietcrowd_inferences",
    "Inferences: done, failed, or stopped at the time limit.",
    "outcome",
)
INFERENCE_SECONDS = _kind(
    "quietcrowd_inference_seconds",
    "Duration of inferences, in seconds.",
    form="histogram",
    bounds=_LONG,
)
INFERENCE_LAG = _kind(
    "quietcrowd_inference_lag_seconds",
    "From the first change of a campaign to its results, in seconds.",
    form="histogram",
    bounds=_LONG,
)
WRITABLE = _kind("quietcrowd_writable", "1 while the database is writable.", form="gauge")
CLOCK_HELD = _kind(
    "quietcrowd_clock_held",
    "1 while the clock is implausible, and no campaign is closed or deleted by date.",
    form="gauge",
)
AT_LEAST = _kind(
    "quietcrowd_at_least",
    "The largest at_least of an open campaign: new workers shown at a time.",
    form="gauge",
)

_NEVER = 2**62  # threshold while nothing is published


@frozen(kw_only=True)
class Ripe:
    """Actions of workers as counted at a release; `peaks` are maxima since the last publication."""

    counts: Mapping[Sample, int]
    peaks: Mapping[Sample, int]


@define
class Tally:
    """Thread-safe counters since the start of a server."""

    _counts: dict[Mover, Counter[Sample]] = field(
        factory=lambda: {"workers": Counter(), "releases": Counter(), "others": Counter()},
        init=False,
    )
    _peaks: Counter[Sample] = field(factory=Counter, init=False)
    _held: dict[bytes, Counter[Sample]] = field(factory=dict, init=False)
    _least: int = field(default=_NEVER, init=False)
    _told: int = field(default=0, init=False)
    _ripe: Ripe | None = field(default=None, init=False)
    _lock: Lock = field(factory=Lock, init=False)

    def count(self, mover: Mover, kind: Kind, *labels: str, by: int = 1) -> None:
        """Increase a count."""
        with self._lock:
            self._counts[mover][Sample(kind.name, labels)] += by

    def observe(self, mover: Mover, kind: Kind, value: float, *labels: str) -> None:
        """Count a value in its bucket."""
        with self._lock:
            self._counts[mover][Sample(kind.name, labels, kind.bucket(value))] += 1

    def reach(self, kind: Kind, value: int) -> None:
        """Record a maximum that workers caused."""
        with self._lock:
            sample = Sample(kind.name)
            self._peaks[sample] = max(self._peaks[sample], value)

    def hold(self, campaign: bytes, kind: Kind, *labels: str, by: int) -> None:
        """Count reports of a campaign with its next release."""
        with self._lock:
            self._held.setdefault(campaign, Counter())[Sample(kind.name, labels)] += by

    def released(self, shown: Mapping[bytes, int]) -> None:
        """Record a release: the number of workers per campaign shown for the first time."""
        with self._lock:
            for campaign, workers in shown.items():
                self._told += workers
                self._counts["workers"].update(self._held.pop(campaign, {}))
            if 1 < self._least <= self._told:
                self._ripe = self._now()

    def read(self, mover: Mover) -> dict[Sample, int]:
        """Return all counts with this cause."""
        with self._lock:
            return dict(self._counts[mover])

    def take_ripe(self, least: int) -> Ripe | None:
        """Return the counts of workers if they may be published; wait for `least` from now on."""
        with self._lock:
            self._least = least
            found = self._now() if least <= 1 else self._ripe if self._told >= least else None
            if found is not None:
                self._ripe, self._told = None, 0
                self._peaks.clear()
            return found

    def _now(self) -> Ripe:
        return Ripe(counts=dict(self._counts["workers"]), peaks=dict(self._peaks))


def note_request(
    tally: Tally, mover: Mover, method: str, route: str, status: int, seconds: float
) -> None:
    """Log and count a request; `route` is its template, and `status` is 0 without a response."""
    log_request(method, route, status, seconds)
    known = known_method(method)
    tally.count(mover, REQUESTS, known, route, str(status))
    tally.observe(mover, REQUEST_SECONDS, seconds, known, route)
