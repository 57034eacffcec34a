"""Campaigns that anyone with the link can join: the warning to requesters, and a limit."""

from __future__ import annotations

__all__ = ["ANYONE", "USUAL_MOST_PARTICIPANTS", "most_participants"]

ANYONE = (
    "anyone who has the link can take part, and as often as they like: some of these workers may "
    "be invented, and agree with each other. Take invites where that matters"
)
"""The warning, as the middle of a sentence."""

USUAL_MOST_PARTICIPANTS = 10_000


def most_participants(join_mode: str, named: int | None) -> int | None:
    """Return the number of visible workers at which a campaign is full; None for no limit.

    `named` is the requester's limit. Campaigns open to anyone always have one.
    """
    return USUAL_MOST_PARTICIPANTS if named is None and join_mode == "open" else named
