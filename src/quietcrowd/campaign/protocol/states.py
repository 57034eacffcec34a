"""The life of a campaign: draft, open, closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from quietcrowd.campaign.protocol.problems import ProblemError

__all__ = ["State", "require_state", "require_step"]

State: TypeAlias = Literal["draft", "open", "closed"]

_NEXT: Mapping[State, State] = {"draft": "open", "open": "closed"}


def require_step(state: State, wanted: State) -> None:
    """Raise ProblemError unless a campaign in this state can be brought into the wanted one."""
    if _NEXT.get(state) != wanted:
        raise ProblemError(
            "bad-state", f"The campaign is {state}. A draft is opened, and what is open is closed."
        )


def require_state(state: State, wanted: State) -> None:
    """Raise ProblemError unless a campaign is in the wanted state."""
    if state != wanted:
        raise ProblemError(
            "bad-state", f"The campaign is {state}; this needs one that is {wanted}."
        )
