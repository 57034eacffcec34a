"""Counters of a server, some of them withheld until a release.

Actions of workers are counted separately, and published as they were at a release. That is the
release at which enough workers had been released since the last publication: the largest
``at_least`` of all open campaigns. Reports are counted with the release of their campaign. So no
published number changes because a worker joined, sent reports or withdrew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from threading import Lock

from attrs import define, field, frozen

from quietcrowd.campaign.server.metrics.kinds import Kind, Mover, Sample

__all__ = ["Ripe", "Tally"]

_NEVER = 2**62
"""Threshold while nothing is published."""


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
        """Return the counts of workers if they may be published, and wait for the next release.

        From now on, `least` is the largest ``at_least`` of all campaigns that are open or have
        workers.
        """
        with self._lock:
            self._least = least
            found = self._now() if least <= 1 else self._ripe if self._told >= least else None
            if found is not None:
                self._ripe, self._told = None, 0
                self._peaks.clear()
            return found

    def _now(self) -> Ripe:
        return Ripe(counts=dict(self._counts["workers"]), peaks=dict(self._peaks))
