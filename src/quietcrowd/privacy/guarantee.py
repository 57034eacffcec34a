"""Privacy guarantees: proved bounds on a worker's privacy loss, with assumptions and source."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from attrs import Factory, field, frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.rounding import ratio_up, show_loss
from quietcrowd.privacy.tails import TailBound
from quietcrowd.validation import check_whole, plain

__all__ = [
    "ABOUT_TASKS",
    "MOST_REPORTS",
    "PUBLIC_TASKS",
    "PrivacyGuarantee",
    "Tasks",
    "add_losses",
    "are_named",
    "check_counts",
    "check_linked",
    "finite_loss",
    "show_loss",
    "task_names",
]

Tasks: TypeAlias = "int | Sequence[Any] | pa.Array"
"""Number of tasks, or their ids; a guarantee for given ids can be less than one for any tasks."""

_SENT_UNSEEN = (
    "sending and withdrawing depend neither on the answers nor on the random draws",
    "random numbers are as good as uniform ones that no one knows",
)

ABOUT_TASKS = ("which tasks are answered does not depend on the answers", *_SENT_UNSEEN)
"""Assumptions if a worker reports only the answered tasks."""

PUBLIC_TASKS = ("the lists of tasks and of workers are public and fixed beforehand", *_SENT_UNSEEN)
"""Assumptions if every worker reports every task."""

MOST_REPORTS = 10**7
"""Largest number of reports of a worker; the arithmetic of losses is safe up to it."""

CLAIM_ROUNDING = 1e-6
"""Tolerance for claims about real-valued probabilities, which a grid of 2^-32 rounds."""


def finite_loss(epsilon: float) -> float | None:
    """Return a loss for JSON; None if it is infinite."""
    return epsilon if math.isfinite(epsilon) else None


def _tail_of_pairs(guarantee: PrivacyGuarantee) -> TailBound | None:
    if not guarantee.delta:
        return None
    return TailBound.of_pair(
        guarantee.epsilon, guarantee.linked_epsilon, guarantee.total_epsilon, guarantee.delta
    )


@frozen(kw_only=True)
class PrivacyGuarantee:
    """Upper bounds on the privacy loss of a worker with a number of answers.

    Neighboring inputs are answers of one worker. The adversary knows the mechanism, all other
    workers' answers and the worker's other answers, and sees all reports. The device's randomness
    stays secret, unless an assumption states otherwise. Losses are natural logarithms.

    If `delta` is 0, no loss exceeds the stated bounds. Otherwise `epsilon`, `linked_epsilon` and
    `total_epsilon` each form a pair (epsilon, delta) of differential privacy. Such pairs compose,
    but do not state how likely a larger loss is; `tail` does.

    Attributes
    ----------
    answers : int
        Number of answers that the worker gives.
    epsilon : float
        Loss about one answer, given all others of the worker.
    total_epsilon : float
        Loss about all answers together, between any two rows of the worker.
    linked : int
        Largest number of answers that may share one fact, as copies of a question do.
    linked_epsilon : float
        Loss about such a fact, given the other answers; `epsilon` if `linked` is 1.
    delta : float
        Delta of the pairs (epsilon, delta); 0 for pure privacy.
    tail : TailBound or None
        Losses that are exceeded with a small probability at most; None if `delta` is 0.
    participation_protected : bool
        Whether the fact of having answered a task is protected like an answer.
    tasks : int or None
        Number of tasks if every worker reports every task, answered or not; None otherwise.
    claimed_epsilon, claimed_delta : float
        Values that the paper states; below `epsilon` or `delta` they do not hold.
    participation_claimed : bool
        Whether the paper's claim covers participation.
    claimed_by_paper : bool
        Whether the claim is a paper's, not just the requested epsilon.
    assumptions : tuple of str
        Conditions of the guarantee.
    source : str
        Theorem and paper, or page below ``research``.
    """

    answers: int = field(converter=plain)
    epsilon: float
    total_epsilon: float
    linked: int = field(default=1, converter=plain)
    linked_epsilon: float = field(default=Factory(lambda self: self.epsilon, takes_self=True))
    delta: float = 0.0
    tail: TailBound | None = field(default=Factory(_tail_of_pairs, takes_self=True))
    participation_protected: bool
    tasks: int | None = None
    claimed_epsilon: float
    claimed_delta: float = 0.0
    participation_claimed: bool = False
    _claimed_by_paper: bool = True
    assumptions: tuple[str, ...]
    source: str

    @property
    def claim_holds(self) -> bool:
        """Whether the stated losses prove the claim, up to the rounding of 32-bit weights.

        If the claim covers participation, that must be protected too.
        """
        covered = (
            self.epsilon <= self.claimed_epsilon + CLAIM_ROUNDING
            and self.delta <= self.claimed_delta
        )
        return covered and self.participation_protected >= self.participation_claimed

    def __str__(self) -> str:
        sentences = (
            *(self._loss_by_chance() if self.tail else (self._loss(),)),
            "Whether a task was answered "
            + ("is protected alike" if self.participation_protected else "is not protected"),
            *self._claim(),
            f"Assumed: {'; '.join(self.assumptions)}",
            f"Source: {self.source}",
        )
        return textwrap.fill(". ".join(sentences) + ".", width=80, break_on_hyphens=False)

    def _loss(self) -> str:
        return f"A worker who {self._who()} has a privacy loss of at most {self._about(self)}"

    def _loss_by_chance(self) -> tuple[str, str]:
        assert self.tail is not None
        alternative = (
            "another answer, or list of answers, that is"
            if self._many
            else "another answer that is"
        )
        tail = (
            f"Each with probability at least 1 - {show_loss(self.tail.probability, 3)} over the "
            f"device's draw, the loss of a worker who {self._who()} is at most "
            f"{self._about(self.tail, '')}, against {alternative} fixed beforehand"
        )
        pairs = (
            "For composition, the pairs of differential privacy at delta = "
            f"{show_loss(self.delta, 3)}: {self._about(self)}"
        )
        return tail, pairs

    @property
    def _many(self) -> bool:
        return (self.tasks or self.answers) != 1

    def _who(self) -> str:
        if self.tasks is None:
            return f"gives {self.answers:,} answer{'s' * self._many}"
        return f"reports {self.tasks:,} task{'s' * self._many}, answered or not,"

    def _about(self, losses: PrivacyGuarantee | TailBound, name: str = "epsilon = ") -> str:
        text = f"{name}{show_loss(losses.epsilon)} about {'one of them' if self._many else 'it'}"
        if not self._many:
            return text
        linked = ""
        if self.linked > 1:
            shown = show_loss(losses.linked_epsilon)
            linked = f" {shown} about a fact that {self.linked:,} of them share,"
        whole = show_loss(losses.total_epsilon)
        return f"{text}, given the others,{linked} and {whole} about all together"

    def _claim(self) -> tuple[str, ...]:
        """Return the verdict on a claim; on a requested epsilon only if it does not hold."""
        if self.claim_holds and not self._claimed_by_paper:
            return ()
        claim = f"{self.claimed_epsilon:.4g}"
        if self.claimed_delta:
            claim += f" with delta = {self.claimed_delta:.3g}"
        refuted = "is not shown to hold" if self.delta else "does not hold"
        whose = "The paper's claim" if self._claimed_by_paper else "The claim"
        return (f"{whose} of {claim} {'holds' if self.claim_holds else refuted}",)


def check_counts(answers: int, tasks: Tasks | None, *, every_task: bool = False) -> int:
    """Return the number of reports of a worker: one per answer, or with `every_task` one per task.

    With `every_task`, `tasks` is required.
    """
    check_whole("answers", answers, 1, MOST_REPORTS)
    count: Any = len(task_names(tasks)) if are_named(tasks) else tasks
    if count is not None:
        check_whole("tasks", count, answers, MOST_REPORTS)
    if not every_task:
        return int(answers)
    if count is None:
        raise ParameterError("privacy.tasks-count-needed", answers=answers)
    return int(count)


def are_named(tasks: Any) -> bool:
    """Return whether tasks are given as ids, not as a number."""
    listed = isinstance(tasks, Sequence | np.ndarray | pa.Array | pa.ChunkedArray)
    return listed and not isinstance(tasks, str | bytes)


def task_names(tasks: Any) -> tuple[str, ...]:
    """Return task ids as strings.

    Examples
    --------
    >>> task_names([7, 8])
    ('7', '8')
    """
    try:
        ids = tasks if isinstance(tasks, pa.Array | pa.ChunkedArray) else pa.array(tasks)
        texts = ids.cast(pa.large_string()).to_pylist()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise ParameterError("privacy.tasks-invalid", reason=reason) from None
    seen: set[str] = set()
    for place, text in enumerate(texts):
        if text is None or text in seen:
            what = "is missing" if text is None else f"is {text!r} once more"
            raise ParameterError("privacy.task-ids-invalid", place=place, subject=what)
        seen.add(text)
    return tuple(texts)


def check_linked(linked: int, count: int) -> int:
    """Return `linked`; raise `ParameterError` unless it is a whole number from 1 to `count`."""
    check_whole("linked", linked, 1, count)
    return int(linked)


def add_losses(epsilon: float, count: int) -> float:
    """Return ``count * epsilon``, rounded up."""
    return ratio_up(count * Fraction(epsilon)) if math.isfinite(epsilon) else math.inf
