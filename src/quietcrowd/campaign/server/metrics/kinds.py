"""All metrics that a server publishes, with their names, labels and meanings."""

from __future__ import annotations

from bisect import bisect_left
from typing import Literal, NamedTuple, TypeAlias

from attrs import frozen

__all__ = [
    "AT_LEAST",
    "BATCH_UPLOADS",
    "CLOCK_HELD",
    "COMMITS",
    "INFERENCES",
    "INFERENCE_LAG",
    "INFERENCE_SECONDS",
    "KINDS",
    "QUEUE_DEPTH",
    "REPORTS",
    "REQUESTS",
    "REQUEST_SECONDS",
    "WRITABLE",
    "Kind",
    "Mover",
    "Sample",
]

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

REQUESTS = Kind(
    name="quietcrowd_requests",
    about="Requests that were answered.",
    labels=("method", "route", "status"),
)
REQUEST_SECONDS = Kind(
    name="quietcrowd_request_seconds",
    about="How long requests took, in seconds.",
    labels=("method", "route"),
    form="histogram",
    bounds=_SECONDS,
)
REPORTS = Kind(
    name="quietcrowd_reports",
    about="Reports that came in: accepted, sent once more, or refused and why.",
    labels=("outcome",),
)
COMMITS = Kind(name="quietcrowd_commits", about="Transactions that took uploads in.")
BATCH_UPLOADS = Kind(
    name="quietcrowd_batch_uploads",
    about="Uploads of a transaction.",
    form="histogram",
    bounds=(1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0),
)
QUEUE_DEPTH = Kind(
    name="quietcrowd_queue_depth",
    about="Most uploads that waited to be written, since this was published before.",
    form="gauge",
)
INFERENCES = Kind(
    name="quietcrowd_inferences",
    about="Inferences: done, failed, or ended since they took too long.",
    labels=("outcome",),
)
INFERENCE_SECONDS = Kind(
    name="quietcrowd_inference_seconds",
    about="How long inferences took, in seconds.",
    form="histogram",
    bounds=_LONG,
)
INFERENCE_LAG = Kind(
    name="quietcrowd_inference_lag_seconds",
    about="From the first change of a campaign to its results, in seconds.",
    form="histogram",
    bounds=_LONG,
)
WRITABLE = Kind(
    name="quietcrowd_writable", about="1 while the database takes what is written.", form="gauge"
)
CLOCK_HELD = Kind(
    name="quietcrowd_clock_held",
    about="1 while the clock is implausible and nothing is closed or deleted by date.",
    form="gauge",
)
AT_LEAST = Kind(
    name="quietcrowd_at_least",
    about="The largest number of workers who are shown together in a campaign that is open.",
    form="gauge",
)

KINDS = {
    kind.name: kind
    for kind in (
        REQUESTS,
        REQUEST_SECONDS,
        REPORTS,
        COMMITS,
        BATCH_UPLOADS,
        QUEUE_DEPTH,
        INFERENCES,
        INFERENCE_SECONDS,
        INFERENCE_LAG,
        WRITABLE,
        CLOCK_HELD,
        AT_LEAST,
    )
}
