"""A guarantee is a value: what is proved, under which assumptions, by which theorem."""

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
from quietcrowd.privacy.tail_bound import TailBound
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
"""A whole number of tasks, or their ids; a guarantee for ids can be less than one for any tasks."""

_SENT_UNSEEN = (
    "what is sent, or withdrawn, depends neither on the answers nor on what was drawn",
    "random numbers are as good as uniform ones that nobody knows",
)

ABOUT_TASKS = ("which tasks are answered does not depend on the answers", *_SENT_UNSEEN)
"""What is assumed where reports exist for the answered tasks alone."""

PUBLIC_TASKS = ("the lists of tasks and of workers are public and fixed beforehand", *_SENT_UNSEEN)
"""What is assumed where every worker reports every task."""

MOST_REPORTS = 10**7
"""A worker makes no more: the arithmetic of losses is safe up to there."""

CLAIM_ROUNDING = 1e-6
"""A claim of real-valued probabilities may be missed by this on a grid of 2^-32."""


def finite_loss(epsilon: float) -> float | None:
    """Return a loss as JSON can hold it: None where it is infinite."""
    return epsilon if math.isfinite(epsilon) else None


def _tail_of_pairs(guarantee: PrivacyGuarantee) -> TailBound | None:
    """Return what the pairs alone say of chance; None where no loss is larger."""
    if not guarantee.delta:
        return None
    return TailBound.of_pair(
        guarantee.epsilon, guarantee.linked_epsilon, guarantee.worker_epsilon, guarantee.delta
    )


@frozen(kw_only=True)
class PrivacyGuarantee:
    """The largest loss of a worker who gives a number of answers.

    Neighbouring inputs are the answers of one worker. The adversary knows the mechanism, all other
    workers' answers, and the worker's own other answers, and sees all reports; what the device
    draws stays secret, unless an assumption says otherwise. All losses are natural logarithms.

    At a delta of 0 no loss is larger than what is stated. Above 0 `epsilon`, `linked_epsilon` and
    `worker_epsilon` are each the first number of a pair (epsilon, delta) of differential privacy:
    what adds up, and what is cited. How likely a loss is larger they do not say; `tail` does.

    Attributes
    ----------
    answers : int
        How many answers the worker gives.
    epsilon : float
        Loss about one answer, given all others of the worker.
    worker_epsilon : float
        Loss about all answers together: between any two rows of the worker.
    linked : int
        How many of the answers may share one fact, as copies of a question do.
    linked_epsilon : float
        Loss about such a fact, given the other answers; `epsilon` where none are linked.
    delta : float
        Of the pairs (epsilon, delta); 0 for pure privacy, where the losses have no exception.
    tail : TailBound or None
        Losses that are exceeded with a small probability at most; None where delta is 0.
    participation_protected : bool
        Whether the fact of having answered a task is protected as an answer is.
    tasks : int or None
        How many tasks there are, where every worker reports every task: all of them count then,
        answered or not.
    claimed_epsilon, claimed_delta : float
        What the paper states. Either may be less than `epsilon` or `delta`: then the claim does
        not hold.
    participation_claimed : bool
        Whether the paper states it for participation as well.
    claimed_by_paper : bool
        Whether a paper states it, and it is not just what was asked for.
    assumptions : tuple of str
        What has to be true for the guarantee to hold.
    source : str
        Theorem and paper, or page of ``docs/theory``.
    """

    answers: int = field(converter=plain)
    epsilon: float
    worker_epsilon: float
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
        """Whether the paper's claim is shown to hold: its figures cover the loss that is stated.

        Up to 32-bit weights; and participation is protected, where the paper says so.
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
        return f"A worker who {self._who()} loses at most {self._about(self)}"

    def _loss_by_chance(self) -> tuple[str, str]:
        """Say what is lost but for a small probability, and the pairs that are cited."""
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
        """Print what is lost about one answer, about linked ones, and about all."""
        text = f"{name}{show_loss(losses.epsilon)} about {'one of them' if self._many else 'it'}"
        if not self._many:
            return text
        linked = ""
        if self.linked > 1:
            shown = show_loss(losses.linked_epsilon)
            linked = f" {shown} about a fact that {self.linked:,} of them share,"
        whole = show_loss(losses.worker_epsilon)
        return f"{text}, given the others,{linked} and {whole} about all together"

    def _claim(self) -> tuple[str, ...]:
        """Say whether the claim holds: of a paper always, of what was asked for if it does not."""
        if self.claim_holds and not self._claimed_by_paper:
            return ()
        claim = f"{self.claimed_epsilon:.4g}"
        if self.claimed_delta:
            claim += f" with delta = {self.claimed_delta:.3g}"
        refuted = "is not shown to hold" if self.delta else "does not hold"
        whose = "The paper's claim" if self._claimed_by_paper else "The claim"
        return (f"{whose} of {claim} {'holds' if self.claim_holds else refuted}",)


def check_counts(answers: int, tasks: Tasks | None, *, every_task: bool = False) -> int:
    """Return how many reports a worker makes: one per answer, or one per task.

    Raises
    ------
    ParameterError
        Unless ``1 <= answers <= tasks <= 10**7``, where every task is reported and `tasks` is
        None, or where tasks are named otherwise than each once.
    """
    check_whole("answers", answers, 1, MOST_REPORTS)
    count: Any = len(task_names(tasks)) if are_named(tasks) else tasks
    if count is not None:
        check_whole("tasks", count, answers, MOST_REPORTS)
    if not every_task:
        return int(answers)
    if count is None:
        raise ParameterError(
            "every worker reports every task: say how many there are, as in "
            f"guarantee(answers={answers}, tasks=1000)"
        )
    return int(count)


def are_named(tasks: Any) -> bool:
    """Return whether tasks are ids, and not a number of them."""
    listed = isinstance(tasks, Sequence | np.ndarray | pa.Array | pa.ChunkedArray)
    return listed and not isinstance(tasks, str | bytes)


def task_names(tasks: Any) -> tuple[str, ...]:
    """Return the ids of tasks as the texts that they print as.

    Raises
    ------
    ParameterError
        Where one is missing or no id, or stands there twice.

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
        raise ParameterError(f"tasks must be a number of tasks or their ids: {reason}") from None
    seen: set[str] = set()
    for place, text in enumerate(texts):
        if text is None or text in seen:
            what = "is missing" if text is None else f"is {text!r} once more"
            raise ParameterError(f"tasks must be ids, each once: id {place} {what}")
        seen.add(text)
    return tuple(texts)


def check_linked(linked: int, count: int) -> int:
    """Return how many reports share a fact.

    Raises
    ------
    ParameterError
        Unless it is a whole number from 1 to `count`.
    """
    check_whole("linked", linked, 1, count)
    return int(linked)


def add_losses(epsilon: float, count: int) -> float:
    """Return ``count * epsilon``, rounded up."""
    return ratio_up(count * Fraction(epsilon)) if math.isfinite(epsilon) else math.inf
