"""Assignment of tasks to workers.

The server samples a worker's tasks at joining, before any answer. The device accepts no others
later: otherwise a server could learn answers to all tasks step by step. The tasks may depend on
other workers' reports, but their number, on which the privacy guarantee depends, does not.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from attrs import frozen

from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism

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
        """Return the assignment of a campaign; None if any worker may answer any task.

        Raises `ParameterError` if the kind is unknown, the mechanism reports every task, or
        `answers` is missing or out of range.
        """
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
