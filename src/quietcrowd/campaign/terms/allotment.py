"""Which of a campaign's tasks each worker is asked, where it hands out some of them.

The server draws them as a worker joins, before anything is answered. A device knows how many they
are, asks these alone, and keeps to those that it was given first: else a server could ask, some at
a time, about all of them. Which ones they are may follow from what others reported, their number
may not: it is what the guarantee of a worker is stated for.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from attrs import frozen

from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism

__all__ = ["ALLOTMENTS", "Allotment", "AllotmentKind"]

AllotmentKind: TypeAlias = Literal["random", "suggested"]

ALLOTMENTS: tuple[AllotmentKind, ...] = ("random", "suggested")
"""How tasks can be handed out. ``random``: those that the fewest were asked, ties at random;
``suggested``: those where further reports are expected to help most, by the results that are shown,
and ``random`` as long as there are none."""

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
    """How a campaign hands out its tasks.

    Attributes
    ----------
    kind : {"random", "suggested"}
        See `ALLOTMENTS`.
    answers : int
        Tasks that each worker is asked; at least 1.
    tasks : int
        All that there are; at least as many.
    """

    kind: AllotmentKind
    answers: int
    tasks: int

    @classmethod
    def of(
        cls, kind: Any, *, mechanism: Mechanism, answers: int | None, tasks: int
    ) -> Allotment | None:
        """Return how a campaign hands out its tasks; None where any worker may answer any.

        Parameters
        ----------
        kind : str or None
            As drafts and configurations have it.
        mechanism : Mechanism
            What randomises.
        answers : int or None
            Tasks of each worker.
        tasks : int
            All that there are.

        Raises
        ------
        ParameterError
            Where there is no such kind, the mechanism reports every task, or a worker cannot be
            asked so many.
        """
        if kind is None:
            return None
        if kind not in ALLOTMENTS:
            raise ParameterError(f"allotment must be one of {', '.join(ALLOTMENTS)}")
        if mechanism.every_task:
            raise ParameterError(
                "every worker of this mechanism reports every task, so none can be given some of "
                "them: choose another mechanism, or let all be asked"
            )
        most = min(tasks, MAX_REPORTS)
        if answers is None or not 1 <= answers <= most:
            said = "no number" if answers is None else f"{answers:,}"
            raise ParameterError(
                f"each worker is to be asked some of {tasks:,} tasks: give 1 to {most:,} of them; "
                f"got {said}"
            )
        return cls(kind=kind, answers=answers, tasks=tasks)

    @property
    def sentence(self) -> str:
        """What a worker agrees to."""
        return (
            f"You are asked {self.answers:,} of the {self.tasks:,} questions, and this device "
            f"answers no others. The server draws them as you join, {_DRAWN[self.kind]} This "
            "device cannot check how it draws, and sees to it that they stay the same. "
            f"{_COMPARED[self.kind]}"
        )
