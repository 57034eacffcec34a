"""What workers choose on joining: an entry of the menu, and a slot that decides their rounds.

A requester who could have slots drawn until one fits would know in which rounds a person answers,
and so which pseudonyms are possible. So each device draws its slot on joining, and accepts no other
from the server; no link has one, whoever tries, replaces or revokes it. A replaced worker begins
`step` rounds later instead: then any window has at most one round of both workers, whatever slots
they drew. The operator of the server sees all slots, and could refuse devices until one fits.
"""

import json
import math
from functools import lru_cache
from typing import Any

from attrs import frozen

from quietcrowd.campaign.protocol.problems import ProblemError, broken_rule
from quietcrowd.campaign.protocol.worker_documents import JoinRequest
from quietcrowd.campaign.terms.menu import count_choices
from quietcrowd.campaign.terms.rounds import Rounds


@frozen(kw_only=True)
class Choices:
    """What a configuration leaves to workers: the numbers of entries and slots, 0 for none."""

    entries: int
    slots: int
    rounds: Rounds | None


@lru_cache(maxsize=64)
def choices_in(config: str) -> Choices:
    """Return what a configuration leaves to workers."""
    members = json.loads(config)
    rounds = Rounds.read(members["rounds"]) if "rounds" in members else None
    return Choices(
        entries=count_choices(members) or 0,
        slots=rounds.slots if rounds is not None and rounds.division == "crowd" else 0,
        rounds=rounds,
    )


def last_begun(rounds: Rounds, now: float) -> int:
    """Return the last round that has begun; -1 for none."""
    return max(-1, min(int((now - rounds.begin(0)) // rounds.length), rounds.cap - 1))


def last_over(rounds: Rounds, now: float) -> int:
    """Return the last round that accepts no more reports; -1 or less for none."""
    ends = math.ceil((now - rounds.grace - rounds.begin(0)) / rounds.length)
    return min(ends - 2, rounds.cap - 1)


def read_choice(campaign: Any, request: JoinRequest) -> dict[str, int | None]:
    """Return choice and slot of a new worker, or raise ProblemError."""
    found = choices_in(campaign.config)
    for name, count in (("choice", found.entries), ("slot", found.slots)):
        value = getattr(request, name)
        if (value is not None) != (count > 0) or not 0 <= (value or 0) < max(count, 1):
            rule = f"It must be at least 0 and less than {count}." if count else "It must be null."
            raise broken_rule(f"/{name}", name, rule)
    return {"choice": request.choice, "slot": request.slot}


def require_same(person: Any, request: JoinRequest) -> None:
    """Raise ProblemError if a known worker asks for another choice or slot than before.

    A worker who continues has the choice of the earlier device.
    """
    same = request.continues or person.choice == request.choice
    if not same or person.slot != request.slot:
        raise ProblemError("choice-fixed", "Withdraw, or go on with the earlier choice.")


def rounds_over(config: str, person: Any) -> list[int]:
    """Return the rounds that were a worker's, had the invite not replaced another in between."""
    rounds = choices_in(config).rounds
    if rounds is None or person.after is None:
        return []
    return [at for at in range(person.after + 1) if rounds.is_own(at, person.slot)]


def over_before(
    campaign: Any, earlier: int | None, now: float, latest: int | None
) -> dict[str, int | None]:
    """Return the last round that is over for a replaced worker; -1 before the first round.

    The earlier worker may have reported in the last round begun, or in `latest`, the last one of
    anyone, if the clock went back. The server knows no more of the earlier worker's rounds.
    """
    rounds = choices_in(campaign.config).rounds
    if rounds is None:
        return {}
    begun = max(last_begun(rounds, now), -1 if latest is None else latest)
    after = -1 if begun < 0 else begun + rounds.slots - 1
    return {"after": after if earlier is None else max(earlier, after)}
