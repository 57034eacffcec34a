"""Campaigns in rounds: their times, their losses, and what workers agree to.

By ``crowd``, each device samples a slot when it joins, and answers one round in `step`. By
``budget``, every worker may answer every round, with a fraction of the loss.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from attrs import asdict, field, frozen

from quietcrowd.accounting.consent import limit_sentence
from quietcrowd.campaign.terms.plain_text import counted
from quietcrowd.campaign.terms.promises import Promises
from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.guarantee import add_losses
from quietcrowd.validation import one_of, whole_number

MOST_ROUNDS, LEAST_SECONDS, MOST_SECONDS = 10_000, 60, 366 * 86_400
MOST_KEPT = 32  # rounds that an estimate stores, and a release computes again
_UNITS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_MOMENT = re.compile(r"[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:00Z", re.ASCII)


def _check_moment(_: object, __: object, text: Any) -> None:
    try:
        found = isinstance(text, str) and _MOMENT.fullmatch(text) and datetime.fromisoformat(text)
    except ValueError:
        found = None
    if not found:
        raise ParameterError("campaign.first-round-invalid", first=text)


_SECONDS = whole_number(LEAST_SECONDS, MOST_SECONDS)
_ROUNDS = whole_number(1, MOST_ROUNDS)


@frozen(kw_only=True)
class RoundLosses:
    """Losses of a worker about all answers of a round, of any window, of all rounds, and a fact."""

    round: float
    window: float
    campaign: float
    fact: float

    def to_dict(self) -> dict[str, float]:
        """Return the member ``losses`` of a configuration, JSON-ready."""
        return asdict(self)


@frozen(kw_only=True)
class Rounds:
    """Rounds of a campaign, as members of its configuration.

    Round t, counted from 0, begins `length` * t seconds after `first`; its reports are accepted
    until `grace` seconds after its end. There are `cap` rounds, or at most that without a `count`.
    `window` is the number of rounds in a row for which a loss is stated. Facts are ``lasting`` if
    several rounds ask about the same one. Reports are deleted `keep` rounds after they were shown.
    """

    first: str = field(validator=_check_moment)
    length: int = field(validator=_SECONDS)
    count: int | None
    cap: int = field(validator=_ROUNDS)
    grace: int = field(validator=_SECONDS)
    window: int = field(validator=_ROUNDS)
    step: int = field(validator=_ROUNDS)
    division: str = field(validator=one_of("crowd", "budget"))
    facts: str = field(validator=one_of("fresh", "lasting"))
    keep: int = field(validator=whole_number(1, MOST_KEPT))

    def __attrs_post_init__(self) -> None:
        if self.count is not None and (type(self.count) is not int or self.count != self.cap):
            raise ParameterError("campaign.rounds-count-differs", count=self.count, cap=self.cap)
        if self.grace > self.length:
            grace, length = spell_seconds(self.grace), spell_seconds(self.length)
            raise ParameterError("campaign.grace-too-long", grace=grace, length=length)
        if not self.window <= self.step <= self.cap:
            raise ParameterError(
                "campaign.step-out-of-range", step=self.step, window=self.window, cap=self.cap
            )
        if self.division == "budget" and self.facts == "lasting":
            raise ParameterError("campaign.lasting-needs-crowd")

    @classmethod
    def read(cls, described: Any) -> Rounds:
        """Return the rounds that a configuration describes, or raise `ParameterError`."""
        names = list(cls.__annotations__)
        if not isinstance(described, Mapping) or described.keys() != set(names):
            raise ParameterError("campaign.rounds-incomplete", names=", ".join(names))
        return cls(**described)

    def to_dict(self) -> dict[str, Any]:
        """Return the member ``rounds`` of a configuration, JSON-ready."""
        return asdict(self)

    @property
    def slots(self) -> int:
        """Number of slots; 1 if every worker may answer every round."""
        return self.step if self.division == "crowd" else 1

    @property
    def most(self) -> int:
        """Most rounds of a worker."""
        return -(-self.cap // self.slots)

    def begin(self, number: int) -> int:
        """Return when a round begins, in seconds since 1970."""
        return int(datetime.fromisoformat(self.first).timestamp()) + number * self.length

    def end(self, number: int) -> int:
        """Return when a round ends, and the next begins."""
        return self.begin(number + 1)

    def at(self, now: float) -> int | None:
        """Return the round at a time in seconds since 1970; None before the first and later."""
        number = int((now - self.begin(0)) // self.length)
        return number if 0 <= number < self.cap else None

    def is_own(self, number: int, slot: int | None) -> bool:
        """Return whether a round is one of a worker's slot; None without slots."""
        return 0 <= number < self.cap and number % self.slots == (slot or 0)

    def next_own(self, now: float, slot: int | None) -> int | None:
        """Return the present or next round of a slot; None after the last."""
        present = max(0, int((now - self.begin(0)) // self.length))
        found = present + (((slot or 0) - present) % self.slots)
        return found if found < self.cap else None

    def accepts(self, number: int, slot: int | None, now: float) -> bool:
        """Return whether a worker's reports of a round are accepted now."""
        in_time = self.begin(number) <= now <= self.end(number) + self.grace
        return self.is_own(number, slot) and in_time

    def losses(self, epsilon: float) -> RoundLosses:
        """Return the losses of a worker who loses `epsilon` by all answers of a round."""
        in_window = 1 if self.division == "crowd" else self.window
        campaign = add_losses(epsilon, self.most)
        return RoundLosses(
            round=epsilon,
            window=add_losses(epsilon, in_window),
            campaign=campaign,
            fact=campaign if self.facts == "lasting" else epsilon,
        )

    def sentences(self, epsilon: float, promises: Promises) -> tuple[str, ...]:
        """Return the sentences that a worker agrees to, also in place of those of the promises."""
        losses, most = self.losses(epsilon), "" if self.count is not None else "at most "
        begin = f"{self.first[:10]} {self.first[11:16]} UTC"
        kept, days = counted(self.keep, "round"), counted(promises.retention_days, "day")
        window = f"all answers in any {self.window:,} rounds in a row"
        return (
            f"The figures above are for one round. A round takes {spell_seconds(self.length)}. "
            f"The first begins at {begin}. There are {most}{counted(self.cap, 'round')}.",
            _OWN[self.slots > 1].format(slots=f"{self.slots:,}"),
            *([limit_sentence(window, losses.window)] if self.window > 1 else []),
            limit_sentence(
                f"all answers in all your rounds, at most {self.most:,}", losses.campaign
            ),
            _FACTS[self.facts],
            "A missed round is never made up. Do not stay away from a round because of an answer. "
            "That would reveal more about the answer than these figures allow.",
            self._shown(promises.at_least),
            "If you withdraw, the server deletes all your reports at once, and computes the last "
            f"{kept} anew. The requester can see that. Reports of older rounds are deleted "
            "already, but their part in older results remains.",
            f"The server deletes the reports of a round after the next {kept} with results, and "
            f"everything else it has about you {days} after the campaign closes. Deleting copies "
            "made before then is up to the requester.",
        )

    def summary(self, least: int) -> tuple[str, ...]:
        """Return the same in brief, without the losses."""
        own = f"one round in {self.slots:,}" if self.slots > 1 else "every round"
        when = f"{least:,} people have" if least > 1 else "anyone has"
        return (
            f"You answer {own}. Missed rounds are not made up.",
            f"The requester sees a round when {when} answered.",
            f"Reports are deleted after {counted(self.keep, 'round')}, or if you withdraw.",
        )

    def figures(self, epsilon: float) -> list[tuple[float, str]]:
        """Return the losses that a summary shows, and what each is about."""
        losses = self.losses(epsilon)
        window = [(losses.window, f"any {self.window:,} rounds")] if self.window > 1 else []
        return [*window, (losses.campaign, f"all your rounds, at most {self.most:,}")]

    def _shown(self, least: int) -> str:
        after = f"{spell_seconds(self.grace)} after its end"
        yours = "Your reports of all rounds have the same pseudonym."
        if least == 1:
            return (
                f"The requester sees when you join, and sees the reports of a round {after}. "
                f"{yours} By looking before and after, the requester can see which reports are "
                "yours."
            )
        return (
            f"The requester sees the reports of a round {after}, if at least {least:,} workers "
            "sent some. Otherwise they wait, and are shown together with those of the next "
            f"rounds. If fewer than {least:,} wait in the end, their reports are never shown. "
            f"{yours} Until your first reports are shown, the server does not show whether "
            "you have joined or answered. One exception: trying to join with your invite reveals "
            "whether it was used. The server ensures this, and this device cannot check it. A "
            "requester can defeat it by inventing workers to reach the number."
        )


_OWN = (
    "You may answer every round.",
    "This device draws one of {slots} slots at random when you join. It answers only the rounds of "
    "this slot, one in {slots}.",
)

_FACTS = {
    "fresh": "The requester states that no fact is asked about in more than one round. If one is, "
    "the figure for all rounds is its limit.",
    "lasting": "About a fact that is the same in all rounds, the figure for all rounds is the "
    "limit.",
}


def spell_seconds(seconds: int) -> str:
    """Return a duration in the largest unit that divides it.

    Examples
    --------
    >>> spell_seconds(86_400), spell_seconds(5_400)
    ('1 day', '90 minutes')
    """
    unit, size = next((name, size) for name, size in _UNITS.items() if seconds % size == 0)
    return counted(seconds // size, unit)
