"""Logging and counting of requests."""

from __future__ import annotations

from quietcrowd.campaign.server.logs import known_method, log_request
from quietcrowd.campaign.server.metrics.kinds import REQUEST_SECONDS, REQUESTS, Mover
from quietcrowd.campaign.server.metrics.tally import Tally

__all__ = ["note_request"]


def note_request(
    tally: Tally, mover: Mover, method: str, route: str, status: int, seconds: float
) -> None:
    """Log and count a request; `route` is its template, and `status` is 0 without a response."""
    log_request(method, route, status, seconds)
    known = known_method(method)
    tally.count(mover, REQUESTS, known, route, str(status))
    tally.observe(mover, REQUEST_SECONDS, seconds, known, route)
