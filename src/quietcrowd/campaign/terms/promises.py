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

from quietcrowd.campaign.terms.plain_text import counted
from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.validation import check_text, checked_by, whole_number

ANYONE = (
    "anyone with the link can take part, as often as they like: some of these workers may be "
    "invented, and agree with each other. Use invites if that matters"
)
"""The warning, as the middle of a sentence."""

USUAL_MOST_PARTICIPANTS = 10_000


def most_participants(join_mode: str, named: int | None) -> int | None:
    """Return the maximum of visible workers; an open campaign always has one."""
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

    @property
    def summary(self) -> tuple[str, ...]:
        """The same in brief."""
        least, days = self.at_least, self.retention_days
        shown = (
            "The requester sees which reports are yours."
            if least == 1
            else f"The requester sees new people {least:,} or more at a time."
        )
        return (
            shown,
            f"Reports are deleted {counted(days, 'day')} after closing, or if you withdraw.",
        )


PROMISED = tuple(Promises.__annotations__)


def _shown(least: int) -> str:
    if least == 1:
        return (
            "The requester sees when you join, and sees your reports as soon as you send them. By "
            "looking before and after, the requester can see which reports are yours."
        )
    return (
        f"The requester sees the reports of at least {least:,} new workers at a time. Until then "
        "yours wait, and the server does not show whether you have joined or answered. One "
        "exception: trying to join with your invite reveals whether it was used. If fewer than "
        f"{least:,} wait when the campaign closes, their reports are never shown. The server "
        "ensures this, and this device cannot check it. A requester can defeat it by inventing "
        "workers to reach the number."
    )


def _withdrawn(least: int) -> str:
    at_once = "If you withdraw, the server deletes your reports at once. The requester"
    if least == 1:
        return f"{at_once} can see that."
    return (
        f"{at_once} sees that with the next workers shown, or when the campaign closes. After "
        "closing, it can be seen at once."
    )


def _kept(days: int) -> str:
    return (
        "The server deletes your reports and everything else it has about you "
        f"{counted(days, 'day')} after the campaign closes. Deleting copies made before then is up "
        "to the requester."
    )


AllotmentKind: TypeAlias = Literal["random", "suggested"]

ALLOTMENTS: tuple[AllotmentKind, ...] = ("random", "suggested")
"""Kinds of assignment. ``random``: the tasks assigned least often, with random ties. ``suggested``:
those for which further reports are expected to help most, given the visible results; ``random``
without results."""

_DRAWN = {
    "random": "It draws at random from the questions asked least often so far.",
    "suggested": "It picks those for which more answers are expected to help most, and draws at "
    "random among equal ones. It judges this by the reports of others that the requester can see "
    "by then. As long as none are shown, all questions are asked equally often. Your answers do "
    "not decide which questions you get.",
}

_COMPARED = {
    "random": "All questions are asked equally often. Comparing your questions with those of "
    "others can therefore reveal about when you joined.",
    "suggested": "Comparing your questions with those of others can reveal about when you joined, "
    "and which truths the reports of others had left open by then.",
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
    def summary(self) -> str:
        """The number of tasks in brief."""
        return f"You get {self.answers:,} of the {self.tasks:,} questions."

    @property
    def sentence(self) -> str:
        """The text that a worker agrees to."""
        return (
            f"You are asked {self.answers:,} of the {self.tasks:,} questions, and this device "
            "answers no others. The server draws them when you join, in the same way for everyone. "
            f"{_DRAWN[self.kind]} This device cannot check the draw, but ensures that your "
            f"questions stay the same. {_COMPARED[self.kind]}"
        )
