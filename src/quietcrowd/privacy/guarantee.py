"""A guarantee is a value: what is proved, under which assumptions, by which theorem."""

from __future__ import annotations

import math
import textwrap
from decimal import ROUND_CEILING, Context, Decimal, localcontext

from attrs import frozen

from quietcrowd.validation import check_whole

__all__ = ["PrivacyGuarantee", "check_counts", "show_loss"]

CLAIM_ROUNDING = 1e-6
"""A claim of real-valued probabilities may be missed by this on a grid of 2^-32."""


def show_loss(epsilon: float, digits: int = 4) -> str:
    """Print a loss with a few significant digits, rounded up: "at most" must be true."""
    if not math.isfinite(epsilon) or epsilon == 0:
        return f"{epsilon:g}"
    with localcontext(Context(prec=digits, rounding=ROUND_CEILING)):
        return f"{float(+Decimal(epsilon)):.{digits}g}"


@frozen(kw_only=True)
class PrivacyGuarantee:
    """What a worker who gives a number of answers loses at most.

    Neighbouring inputs are the answers of one worker; everything else, the rest of the crowd
    included, is known to the adversary. All losses are natural logarithms.

    Attributes
    ----------
    answers : int
        How many answers the worker gives.
    epsilon : float
        Loss about one answer, given all others of the worker.
    worker_epsilon : float
        Loss about all answers together: between any two rows of the worker.
    delta : float
        Probability outside of the bound; 0 for pure privacy.
    participation_protected : bool
        Whether the fact of having answered a task is protected as an answer is.
    claimed_epsilon : float
        What the paper states. It may be less than `epsilon`: then the claim does not hold.
    assumptions : tuple of str
        What has to be true for the guarantee to hold.
    source : str
        Theorem and paper, or page of ``docs/theory``.
    """

    answers: int
    epsilon: float
    worker_epsilon: float
    delta: float = 0.0
    participation_protected: bool
    claimed_epsilon: float
    assumptions: tuple[str, ...]
    source: str

    @property
    def claim_holds(self) -> bool:
        """Whether the paper's figure covers what one answer loses, up to 32-bit weights."""
        return self.epsilon <= self.claimed_epsilon + CLAIM_ROUNDING

    def __str__(self) -> str:
        plural = self.answers != 1
        loss = (
            f"A worker who gives {self.answers:,} answer{'s' * plural} loses at most epsilon = "
            f"{show_loss(self.epsilon)} about one of them"
        )
        if plural:
            loss += f", given the others, and {show_loss(self.worker_epsilon)} about all together"
        if self.delta:
            loss += f", but for a probability delta = {self.delta:.3g}"
        sentences = (
            loss,
            "Whether a task was answered "
            + ("is protected alike" if self.participation_protected else "is not protected"),
            f"The paper's claim of {self.claimed_epsilon:.4g} "
            + ("holds" if self.claim_holds else "does not hold"),
            f"Assumed: {'; '.join(self.assumptions)}",
            f"Source: {self.source}",
        )
        return textwrap.fill(". ".join(sentences) + ".", width=80, break_on_hyphens=False)


def check_counts(answers: int, tasks: int | None) -> None:
    """Raise ParameterError unless ``1 <= answers <= tasks``."""
    check_whole("answers", answers, 1)
    if tasks is not None:
        check_whole("tasks", tasks, answers)
