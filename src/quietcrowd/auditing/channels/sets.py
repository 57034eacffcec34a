"""Attacks on mechanisms with sets of labels as reports."""

import math
from fractions import Fraction
from functools import partial

import numpy as np

from quietcrowd.auditing.attack import (
    HALF,
    VALUE,
    AuditPlan,
    Floats,
    Observed,
    Pair,
    taskwise_plan,
)
from quietcrowd.mechanisms.channels.set_law import SetLaw
from quietcrowd.privacy.rounding import log_ratio_up
from quietcrowd.report_domains import sets_of

ONE, OTHER = 0, 1
"""Codes of the two answers; all pairs are equivalent."""


def plan_sets(law: SetLaw, answers: int) -> AuditPlan:
    """Return the audit plan of a mechanism that reports sets of labels."""
    epsilon = log_ratio_up(law.ratio)

    def score(observed: Observed) -> Floats:
        first = observed.cells[:, 0]
        known = (first >= 0) & (first < law.count)
        sets = sets_of(np.where(known, first, 0).astype(np.int64), law.labels, law.members)
        held = (sets[:, :, np.newaxis] == (ONE, OTHER)).any(axis=1)
        gains = epsilon * (held[:, ONE].astype(np.float64) - held[:, OTHER])
        return np.where(known, gains, np.nan)

    pair = Pair(name=VALUE, one=ONE, other=OTHER, score=score)
    return taskwise_plan(
        [pair],
        answers,
        plain=lambda row: np.full(len(row), np.nan),
        epsilon=epsilon,
        delta_at=partial(_delta, law),
        alike=float(_equal_sets(law)),
        part=HALF,
    )


def _equal_sets(law: SetLaw) -> Fraction:
    """Return the probability that two devices with the same answer send the same set."""
    with_answer = math.comb(law.labels - 1, law.members - 1)
    without = law.count - with_answer
    return law.held**2 / with_answer + (1 - law.held) ** 2 / without


def _delta(law: SetLaw, epsilon: float) -> float:
    """Return the least delta at `epsilon`, at least 0; any two answers are equivalent."""
    one, other = map(float, law.parted)
    return max(0.0, one - math.exp(epsilon) * other)
