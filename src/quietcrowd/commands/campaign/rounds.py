"""Options of ``quietcrowd campaign create`` for rounds and for a menu of privacy losses."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum

from quietcrowd.campaign.terms.rounds import MOST_KEPT, Rounds
from quietcrowd.commands.declare import given_options, option, option_group, option_names
from quietcrowd.exceptions import ParameterError

_SECONDS = {"m": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"(\d{1,6})([mhd])", re.ASCII)
_ENTRY = re.compile(r"([0-9]*\.?[0-9]+):([0-9]*\.?[0-9]+)%?", re.ASCII)


class Division(StrEnum):
    """Division of the loss of a window."""

    CROWD = "crowd"
    BUDGET = "budget"


class Facts(StrEnum):
    """Whether rounds ask about the same facts."""

    FRESH = "fresh"
    LASTING = "lasting"


@option_group("Rounds")
class RoundOptions:
    """Options for asking the same questions again and again."""

    rounds: int | None = option(
        min=1,
        metavar="NUMBER",
        help="Number of rounds that ask all questions. The other options below require it.",
        default=None,
    )
    open_end: bool = option(help="Rounds may end earlier: --rounds is the most.", default=False)
    every: str = option(
        metavar="DURATION", help="Length of a round, such as 1d, 6h or 30m.", default="1d"
    )
    first: str | None = option(
        metavar="DATE",
        help="Begin of the first round in UTC, such as 2026-12-01 or 2026-12-01T06:00.",
        default=None,
    )
    grace: str | None = option(
        metavar="DURATION",
        help="How long reports are accepted after a round. Default: a quarter of a round.",
        default=None,
    )
    window: int = option(
        min=1, metavar="NUMBER", help="Rounds in a row whose loss is stated.", default=1
    )
    step: int | None = option(
        min=1,
        metavar="NUMBER",
        help="A person answers one in so many rounds, unless the loss is divided. Default: "
        "--window.",
        default=None,
    )
    divide: Division = option(
        help="Divide the crowd among the rounds of a window or, for small losses, the loss.",
        default=Division.CROWD,
    )
    facts: Facts = option(
        help="Whether several rounds ask about the same fact of a person.", default=Facts.FRESH
    )
    keep: int = option(
        min=1,
        max=MOST_KEPT,
        metavar="NUMBER",
        help="Later rounds after which reports are deleted.",
        default=14,
    )

    @property
    def planned_rounds(self) -> Rounds | None:
        """The rounds of the campaign, or None."""
        if self.rounds is None:
            alone = given_options(self, option_names(RoundOptions))
            if alone:
                raise ParameterError("commands.option-needs-rounds", flag=alone[0])
            return None
        if self.first is None:
            raise ParameterError("commands.rounds-need-first")
        length = _seconds("--every", self.every)
        grace = max(60, length // 4) if self.grace is None else _seconds("--grace", self.grace)
        step = self.step or self.window
        if not self.window <= step <= self.rounds:
            raise ParameterError(
                "commands.window-too-long", window=self.window, step=step, rounds=self.rounds
            )
        return Rounds(
            first=_moment(self.first),
            length=length,
            count=None if self.open_end else self.rounds,
            cap=self.rounds,
            grace=grace,
            window=self.window,
            step=step,
            division=self.divide.value,
            facts=self.facts.value,
            keep=self.keep,
        )


def _seconds(name: str, text: str) -> int:
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ParameterError("commands.duration-invalid", name=name, text=text)
    return int(found[1]) * _SECONDS[found[2]]


def _moment(text: str) -> str:
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise ParameterError("commands.first-invalid", text=text) from None
    return read.replace(tzinfo=read.tzinfo or UTC).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_menu(text: str) -> tuple[Sequence[float], Sequence[float]]:
    """Return total losses and shares, which add up to 1, of a menu such as ``0.5:70,4:30``."""
    found = [_ENTRY.fullmatch(entry.strip()) for entry in text.split(",")]
    pairs = [(float(one[1]), float(one[2])) for one in found if one is not None]
    if len(pairs) < len(found):
        raise ParameterError("commands.menu-invalid", text=text)
    total = sum(share for _, share in pairs)
    if not 99.9 < total < 100.1:
        raise ParameterError("commands.menu-shares", total=total)
    return [loss for loss, _ in pairs], [round(share / total, 12) for _, share in pairs]
