"""Promises to workers beyond privacy: requester, retention, releases, and assignment of tasks.

The server keeps these promises; a device cannot check that.

The server samples a worker's tasks at joining, before any answer. The device accepts no others
later: otherwise a server could learn answers to all tasks step by step. The tasks may depend on
other workers' reports, but their number, on which the privacy guarantee depends, does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from attrs import asdict, field, frozen

from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.validation import check_text, checked_by, whole_number

ANYONE = (
    "anyone who has the link can take part, and as often as they like: some of these workers may "
    "be invented, and agree with each other. Take invites where that matters"
)
"""The warning, as the middle of a sentence."""

USUAL_MOST_PARTICIPANTS = 10_000


def most_participants(join_mode: str, named: int | None) -> int | None:
    """Return how many visible workers fill a campaign, if open always a number."""
    return USUAL_MOST_PARTICIPANTS if named is None and join_mode == "open" else named


LONGEST_REQUESTER = 200
LONGEST_CONTACT = 200
LONGEST_PURPOSE = 1_000  # most characters of each text

USUAL_RETENTION_DAYS, MAX_RETENTION_DAYS = 90, 3_650
"""Days after closing until all data of workers is deleted."""

USUAL_AT_LEAST, MAX_AT_LEAST = 5, 1_000
_LENGTHS = {"requester": LONGEST_REQUESTER, "contact": LONGEST_CONTACT, "purpose": LONGEST_PURPOSE}


@frozen(kw_only=True)
class Promises:
    """The promises of a campaign.

    The server deletes all data of workers `retention_days` after closing. A release shows the
    reports of at least `at_least` new workers; 1 shows reports at once.
    """

    requester: str = field(validator=checked_by(check_text))
    contact: str = field(validator=checked_by(check_text))
    purpose: str = field(validator=checked_by(check_text))
    retention_days: int = field(validator=whole_number(1, MAX_RETENTION_DAYS))
    at_least: int = field(validator=whole_number(1, MAX_AT_LEAST))

    def __attrs_post_init__(self) -> None:
        for name, most in _LENGTHS.items():
            text = getattr(self, name)
            if not text.strip():
                raise ParameterError("campaign.text-empty", name=name)
            if len(text) > most:
                raise ParameterError(
                    "campaign.text-too-long", name=name, most=most, count=len(text)
                )

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Promises:
        """Read the promises of a configuration; raise `ParameterError` if one is invalid."""
        said: dict[str, Any] = {name: config.get(name) for name in PROMISED}
        return cls(**said)

    def to_dict(self) -> dict[str, Any]:
        """Return the members of a configuration, JSON-ready."""
        return asdict(self)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences that a worker agrees to, without the requester's words."""
        return (_shown(self.at_least), _withdrawn(self.at_least), _kept(self.retention_days))


PROMISED = tuple(Promises.__annotations__)


def _shown(least: int) -> str:
    if least == 1:
        return (
            "Whoever asks is shown your reports as soon as you send them, and when you join: who "
            "looks before and after sees which are yours."
        )
    return (
        f"Whoever asks is shown the reports of at least {least:,} new workers at a time, and yours "
        "wait until then. Until then, the server does not show whether you have joined or "
        "answered. Exception: anyone who tries to join with your invite learns whether it was "
        f"used. If fewer than {least:,} wait when the campaign closes, theirs are never shown. The "
        "server sees to that, and this device cannot check it; whoever asks and invents workers to "
        "make up the number defeats it."
    )


def _withdrawn(least: int) -> str:
    at_once = "If you withdraw, the server deletes your reports at once"
    if least == 1:
        return f"{at_once}, and whoever asks can see that."
    return (
        f"{at_once}; whoever asks sees that with the next workers who are shown, or when the "
        "campaign closes. After closing it can be seen at once."
    )


def _kept(days: int) -> str:
    count = "1 day" if days == 1 else f"{days:,} days"
    return (
        f"The server deletes your reports, and all else that it holds of you, {count} after the "
        "campaign closes. What whoever asks has taken out by then is theirs to delete."
    )


AllotmentKind: TypeAlias = Literal["random", "suggested"]

ALLOTMENTS: tuple[AllotmentKind, ...] = ("random", "suggested")
"""Kinds of assignment. ``random``: the tasks assigned least often, with random ties. ``suggested``:
those for which further reports are expected to help most, given the visible results; ``random``
without results."""

_DRAWN = {
    "random": "at random, whoever you are: among those that the fewest were asked until then.",
    "suggested": "whoever you are: those where further answers are expected to help most, by what "
    "others reported and whoever asks is shown by then, and among equal ones at random. As long as "
    "nothing is shown, all are asked evenly. Your own answers do not decide what you are asked.",
}

_COMPARED = {
    "random": "As all are asked evenly, which ones you answer can tell whoever compares them with "
    "those of others about when you joined.",
    "suggested": "Which ones you answer can tell whoever compares them with those of others about "
    "when you joined, and which truths the reports of others had left open by then.",
}


@frozen(kw_only=True)
class Allotment:
    """Assignment of `answers` of the `tasks` tasks to each worker; for `kind` see `ALLOTMENTS`."""

    kind: AllotmentKind
    answers: int
    tasks: int

    @classmethod
    def of(
        cls, kind: Any, *, mechanism: Mechanism, answers: int | None, tasks: int
    ) -> Allotment | None:
        """Return the assignment of a campaign, or None; raise `ParameterError` if it is invalid."""
        if kind is None:
            return None
        if kind not in ALLOTMENTS:
            raise ParameterError("campaign.unknown-allotment", allotments=", ".join(ALLOTMENTS))
        if mechanism.every_task:
            raise ParameterError("campaign.allotment-needs-taskwise")
        most = min(tasks, MAX_REPORTS)
        if answers is None or not 1 <= answers <= most:
            said = "none" if answers is None else f"{answers:,}"
            raise ParameterError(
                "campaign.allotment-out-of-range", tasks=tasks, most=most, given=said
            )
        return cls(kind=kind, answers=answers, tasks=tasks)

    @property
    def sentence(self) -> str:
        """The text that a worker agrees to."""
        return (
            f"You are asked {self.answers:,} of the {self.tasks:,} questions, and this device "
            f"answers no others. The server draws them as you join, {_DRAWN[self.kind]} This "
            "device cannot check how it draws, and sees to it that they stay the same. "
            f"{_COMPARED[self.kind]}"
        )
