"""What commands say of the noise: how long it takes, and what it protects."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quietcrowd.commands.notes import counted, note
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.privacy.guarantee import Tasks

__all__ = ["announce_exact_noise", "refuse_own_lists", "tell_guarantee", "tell_no_signal"]

DRAWS_A_SECOND = 100_000

SLOW = 5.0
"""Seconds: what takes longer is announced."""


def refuse_own_lists(name: str, mechanism: Mechanism) -> None:
    """Raise where a mechanism hides who answered, and the lists would be those who did."""
    if mechanism.participation_protected:
        raise ParameterError(
            f"{name} hides which tasks were answered: name all tasks and all workers "
            "with --all-tasks FILE and --all-workers FILE. Those that occur in the answers "
            "would give it away."
        )


def announce_exact_noise(draws: int, pace: int = DRAWS_A_SECOND) -> None:
    """Say how long so many draws of exact noise will take, at so many a second; if it is long."""
    if draws > SLOW * pace:
        note(f"Drawing {draws:,} exact numbers of noise: about {draws / pace:,.0f} s.")


def tell_guarantee(
    mechanism: Mechanism,
    name: str,
    answers_per_worker: npt.NDArray[np.int64],
    tasks: Tasks,
    *,
    simulated: bool,
    listed: bool,
    left_out: int,
) -> None:
    """Say what reports protect, of the worker who gave most answers.

    `listed` is whether all tasks were listed, as is needed where it is hidden who answered;
    `left_out` is how many rows were left out because their answers were not possible.
    """
    if listed and not mechanism.participation_protected:
        note(
            f"{name} does NOT hide which tasks were answered; laplace and "
            "one-layer:null=category do."
        )
    busiest = int(answers_per_worker.max())
    if not mechanism.every_task:
        note(f"Answers of the busiest worker: {busiest:,}.")
    note(str(mechanism.guarantee(answers=max(1, busiest), tasks=tasks)))
    if left_out and not mechanism.participation_protected:
        note(
            f"Not covered by this: that no report comes of {counted(left_out, 'row')} tells that "
            "the answer was missing or not possible."
        )
    note("Randomising the same answers once more costs as much once more.")
    tell_no_signal(mechanism)
    if simulated:
        note("The noise is simulated: these reports protect nobody.")


def tell_no_signal(mechanism: Mechanism) -> None:
    """Say so where reports do not depend on the answers."""
    if mechanism.tells_nothing:
        note("Epsilon is 0 or next to it: reports tell nothing, and no truth can be inferred.")
