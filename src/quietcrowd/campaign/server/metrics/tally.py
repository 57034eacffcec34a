"""What a server counts, and holds back until a release has told as much.

What workers do is counted apart. Of it a state is kept as it was at a release: the one at which as
many workers had been shown, since the last publication, as the largest ``at_least`` of all open
campaigns. Reports are counted with the release of their own campaign. So nothing that is published
moves because somebody joined, sent or withdrew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from threading import Lock

from attrs import define, field, frozen

from quietcrowd.campaign.server.metrics.kinds import Kind, Mover, Sample

__all__ = ["Ripe", "Tally"]

_NEVER = 2**62
"""Stands for `least` where nothing is published."""


@frozen(kw_only=True)
class Ripe:
    """What workers did, as of a release.

    Attributes
    ----------
    counts : mapping
        How often.
    peaks : mapping
        What was highest since the last publication.
    """

    counts: Mapping[Sample, int]
    peaks: Mapping[Sample, int]


@define
class Tally:
    """Counts of a server, since it started; for several threads."""

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
        """Count something."""
        with self._lock:
            self._counts[mover][Sample(kind.name, labels)] += by

    def observe(self, mover: Mover, kind: Kind, value: float, *labels: str) -> None:
        """Count a value in its bucket."""
        with self._lock:
            self._counts[mover][Sample(kind.name, labels, kind.bucket(value))] += 1

    def reach(self, kind: Kind, value: int) -> None:
        """Note what workers brought about, if it is the highest so far."""
        with self._lock:
            sample = Sample(kind.name)
            self._peaks[sample] = max(self._peaks[sample], value)

    def hold(self, campaign: bytes, kind: Kind, *labels: str, by: int) -> None:
        """Count what workers of a campaign sent, with the next release of it."""
        with self._lock:
            self._held.setdefault(campaign, Counter())[Sample(kind.name, labels)] += by

    def released(self, shown: Mapping[bytes, int]) -> None:
        """Take note of a release: how many workers of each campaign are shown now, and were not."""
        with self._lock:
            for campaign, workers in shown.items():
                self._told += workers
                self._counts["workers"].update(self._held.pop(campaign, {}))
            if 1 < self._least <= self._told:
                self._ripe = self._now()

    def read(self, mover: Mover) -> dict[Sample, int]:
        """Return all counts of a mover, as they are."""
        with self._lock:
            return dict(self._counts[mover])

    def take_ripe(self, least: int) -> Ripe | None:
        """Return what may be told of workers now, if anything; what was told has to be told anew.

        Parameters
        ----------
        least : int
            The largest ``at_least`` of all campaigns that are open or hold workers, from now on.
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
