"""What workers choose on joining: an entry of the menu, and a slot that decides their rounds."""

import json
import math
from functools import lru_cache
from secrets import randbelow
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
    """Return choice and slot of a new worker, or raise ProblemError; none if another has them."""
    if request.continues and campaign.join_mode == "invite":
        return {}
    found = choices_in(campaign.config)
    for name, count in (("choice", found.entries), ("slot", found.slots)):
        value = getattr(request, name)
        if (value is not None) != (count > 0) or not 0 <= (value or 0) < max(count, 1):
            rule = f"It must be at least 0 and less than {count}." if count else "It must be null."
            raise broken_rule(f"/{name}", name, rule)
    return {"choice": request.choice, "slot": request.slot}


def require_same(person: Any, request: JoinRequest) -> None:
    """Raise ProblemError if a known worker asks for another choice or slot than before.

    Values that another worker or a replaced invite binds need not be those of the request.
    """
    if request.continues:
        return
    bound = person.after is not None
    if person.choice != request.choice or not (bound or person.slot == request.slot):
        raise ProblemError("choice-fixed", "Withdraw, or go on with the earlier choice.")


def rounds_over(config: str, person: Any) -> list[int]:
    """Return the rounds that were a worker's, had the invite not replaced another in between."""
    rounds = choices_in(config).rounds
    if rounds is None or person.after is None:
        return []
    return [at for at in range(person.after + 1) if rounds.is_own(at, person.slot)]


def next_rounds(
    campaign: Any, slot: int | None, now: float, latest: int | None
) -> dict[str, int | None]:
    """Return the slot of a replaced invite, sampled unless one is bound, and the last round begun.

    It is at least `latest`, the last round with reports of anyone, because a clock may go back.
    The server knows no more of the earlier worker's rounds than that they are not later.
    """
    found = choices_in(campaign.config)
    if found.rounds is None:
        return {}
    if slot is None and found.slots:
        slot = randbelow(found.slots)
    begun = last_begun(found.rounds, now)
    return {"slot": slot, "after": begun if latest is None else max(begun, latest)}
