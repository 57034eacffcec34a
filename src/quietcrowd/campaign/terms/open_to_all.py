"""Campaigns that anyone who has the link can join: what their requesters are told, and how many."""

from __future__ import annotations

__all__ = ["ANYONE", "USUAL_MOST_JOINED", "most_joined"]

ANYONE = (
    "anyone who has the link can take part, and as often as they like: some of these workers may "
    "be invented, and agree with each other. Take invites where that matters"
)
"""The warning, as the middle of a sentence."""

USUAL_MOST_JOINED = 10_000

_ROOM = 10
"""For each worker that a campaign wants, so many may join: who joins need not send."""


def most_joined(named: int | None, participants: int | None, least: int) -> int:
    """Return how many workers may have joined a campaign and not left, at most.

    Parameters
    ----------
    named : int or None
        As its requester says.
    participants : int or None
        How many workers the campaign wants; where nothing was named, ten times as many may join.
    least : int
        Of how many workers at a time reports are shown: so many may join in any case.
    """
    usual = USUAL_MOST_JOINED if participants is None else _ROOM * participants
    return max(named or usual, least)
