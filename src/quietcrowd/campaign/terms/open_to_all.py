"""Campaigns that anyone who has the link can join: what their requesters are told, and how many."""

from __future__ import annotations

__all__ = ["ANYONE", "USUAL_MOST_PARTICIPANTS", "most_participants"]

ANYONE = (
    "anyone who has the link can take part, and as often as they like: some of these workers may "
    "be invented, and agree with each other. Take invites where that matters"
)
"""The warning, as the middle of a sentence."""

USUAL_MOST_PARTICIPANTS = 10_000


def most_participants(join_mode: str, named: int | None) -> int | None:
    """Return from how many workers on that are shown a campaign is full; None: it never is.

    Parameters
    ----------
    join_mode : str
        Of the campaign: where it is open to all there is a limit in any case.
    named : int or None
        As its requester says.
    """
    return USUAL_MOST_PARTICIPANTS if named is None and join_mode == "open" else named
