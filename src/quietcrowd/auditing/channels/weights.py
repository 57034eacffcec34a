"""Attacks on mechanisms with bounded reports of numbers, by their weights."""

from fractions import Fraction
from functools import partial

import numpy as np

from quietcrowd.auditing.attack import (
    VALUE,
    AuditPlan,
    Floats,
    Observed,
    Pair,
    ends,
    places,
    plain_numbers,
    taskwise_plan,
)
from quietcrowd.mechanisms.channels.bounded_law import TOTAL, BoundedLaw
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.privacy.rounding import log_ratio_up


def plan_bounded(mechanism: Mechanism, law: BoundedLaw, answers: int) -> AuditPlan:
    """Return the audit plan of a mechanism with a bounded distribution of reports.

    The exact loss is that of all pairs of answers. With two outcomes the delta is that of the two
    farthest answers; with a window the worst pair is not known.
    """
    low, high = ends(mechanism)
    bottom, top = places(mechanism, law.grid, [low, high]).tolist()
    epsilon = _largest_loss(law, bottom, top)

    def score(observed: Observed) -> Floats:
        sent = observed.cells[:, 0]
        missing = np.isnan(sent)
        reports = np.where(missing, 0, sent).astype(np.int64)
        one, other = (np.maximum(law.weights(reports, place), 0.5) for place in (top, bottom))
        return np.where(missing, np.nan, np.log(one) - np.log(other))

    pair = Pair(name=VALUE, one=high, other=low, score=score)
    every = law.weights(np.arange(law.reports), top) / TOTAL
    return taskwise_plan(
        [pair],
        answers,
        partial(plain_numbers, mechanism, law.grid),
        epsilon=epsilon,
        delta_at=None if law.lift else partial(_delta, law, bottom, top),
        alike=float(np.sum(every**2)),
    )


def _largest_loss(law: BoundedLaw, bottom: int, top: int) -> float:
    """Return ln of the largest ratio of two weights of a report, over the answers in between.

    The weight of a report is linear in the answer except at the ends of its window. So the largest
    and the least are at the domain's ends, or on either side of a window's.
    """
    reports = np.arange(law.reports)
    found = np.stack(
        [
            law.weights(reports, np.clip(answers, bottom, top))
            for first in (reports, reports - law.window)
            for answers in (first, first + 1, bottom, top)
        ]
    )
    high, low = found.max(axis=0), found.min(axis=0)
    pairs = {(int(h), int(s)) for h, s in zip(high, low, strict=True)}
    return log_ratio_up(max(Fraction(h, s) for h, s in pairs))


def _delta(law: BoundedLaw, bottom: int, top: int, epsilon: float) -> float:
    reports, factor = np.arange(law.reports), np.exp(epsilon)
    one, other = (law.weights(reports, place) / TOTAL for place in (top, bottom))
    return float(
        max(np.maximum(a - factor * b, 0.0).sum() for a, b in ((one, other), (other, one)))
    )
