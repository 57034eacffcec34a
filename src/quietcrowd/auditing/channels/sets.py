"""Attacks on mechanisms with sets of labels as reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.auditing.attack import (
    VALUE,
    AuditPlan,
    Collisions,
    ExactLoss,
    Floats,
    Observed,
    Pair,
    taskwise_attacks,
)
from quietcrowd.mechanisms.channels.set_law import SetLaw
from quietcrowd.privacy.guarantee import add_losses
from quietcrowd.privacy.rounding import log_ratio_up
from quietcrowd.report_domains import sets_of

__all__ = ["plan_sets"]

ONE, OTHER = 0, 1
"""Codes of the two answers; all pairs are equivalent."""

HALF = 0.5
"""Fraction of the workers who have whole rows, as random words are cheap."""


def plan_sets(law: SetLaw, answers: int) -> AuditPlan:
    """Return the audit plan of a mechanism whose reports are sets of labels.

    The sets with one answer and not the other have the full ratio of probabilities.
    """
    epsilon = log_ratio_up(law.ratio)

    def score(observed: Observed) -> Floats:
        first = observed.cells[:, 0]
        known = (first >= 0) & (first < law.count)
        held = _held(np.where(known, first, 0).astype(np.int64), law)
        gains = epsilon * (held[:, ONE].astype(np.float64) - held[:, OTHER])
        return np.where(known, gains, np.nan)

    pair = Pair(name=VALUE, one=ONE, other=OTHER, score=score)
    alike = float(_equal_sets(law))
    return AuditPlan(
        exact=ExactLoss(
            epsilon=epsilon,
            worker_epsilon=add_losses(epsilon, answers),
            delta_at=lambda at: _delta(law, at),
        ),
        attacks=taskwise_attacks([pair], answers, _no_numbers, part=HALF),
        collisions=Collisions(answer=ONE, chance=lambda tasks: alike**tasks),
    )


def _held(reports: npt.NDArray[np.int64], law: SetLaw) -> npt.NDArray[np.bool_]:
    """Return whether sets contain the two labels, shape (reports, 2)."""
    sets = sets_of(reports, law.labels, law.members)
    held: npt.NDArray[np.bool_] = (sets[:, :, np.newaxis] == (ONE, OTHER)).any(axis=1)
    return held


def _no_numbers(row: Sequence[Any]) -> Floats:
    return np.full(len(row), np.nan)


def _equal_sets(law: SetLaw) -> Fraction:
    """Return the probability that two devices with the same answer send the same set."""
    with_answer = math.comb(law.labels - 1, law.members - 1)
    without = law.count - with_answer
    return law.held**2 / with_answer + (1 - law.held) ** 2 / without


def _delta(law: SetLaw, epsilon: float) -> float:
    """Return the least delta at `epsilon`, at least 0; any two answers are equivalent."""
    one, other = map(float, law.parted)
    return max(0.0, one - math.exp(epsilon) * other)
