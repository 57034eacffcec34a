"""A request that was answered: logged, and counted."""

from __future__ import annotations

from quietcrowd.campaign.server.logs import known_method, log_request
from quietcrowd.campaign.server.metrics.kinds import REQUEST_SECONDS, REQUESTS, Mover
from quietcrowd.campaign.server.metrics.tally import Tally

__all__ = ["note_request"]


def note_request(
    tally: Tally, mover: Mover, method: str, route: str, status: int, seconds: float
) -> None:
    """Log and count a request.

    Parameters
    ----------
    tally : Tally
        Of the server.
    mover : {'workers', 'others'}
        Who may have asked.
    method : str
        Of HTTP.
    route : str
        The template of the route, and nothing that stands in its place.
    status : int
        Of the answer; 0 where there was none.
    seconds : float
        How long it took.
    """
    log_request(method, route, status, seconds)
    known = known_method(method)
    tally.count(mover, REQUESTS, known, route, str(status))
    tally.observe(mover, REQUEST_SECONDS, seconds, known, route)
