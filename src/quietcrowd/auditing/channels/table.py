"""Attacks on mechanisms for labels: tables of integers, and sets of labels."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve

from quietcrowd.auditing.attack import (
    ALL,
    HALF,
    NULL,
    PART,
    SHORT,
    VALUE,
    Attack,
    AuditPlan,
    Collisions,
    ExactLoss,
    Floats,
    Observed,
    Pair,
    alone,
    taskwise_plan,
)
from quietcrowd.mechanisms.channels.base import TOTAL
from quietcrowd.mechanisms.channels.per_worker import UniformFlips, WorkerDistribution
from quietcrowd.mechanisms.channels.set_distribution import SetDistribution
from quietcrowd.mechanisms.channels.table import TableChannel
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.privacy.loss import is_randomized_response
from quietcrowd.privacy.rounding import log_ratio_up
from quietcrowd.privacy.two_layer.weights import SharedWeight
from quietcrowd.report_domains import sets_of


def table_epsilon(weights: npt.NDArray[Any]) -> float:
    """Return ln of the largest ratio in a column, in integers, rounded up.

    `weights` has shape (answers, reports), and all rows have the same sum.

    Examples
    --------
    >>> table_epsilon(np.array([[3, 1], [1, 3]]))
    1.0986122886681098
    """
    high, low = (np.asarray(part, object) for part in (weights.max(axis=0), weights.min(axis=0)))
    if (np.array(low == 0) & np.array(high > 0)).any():
        return math.inf
    ratios = (Fraction(int(h), int(s)) for h, s in zip(high, low, strict=True) if h)
    return log_ratio_up(max(ratios, default=Fraction(1)))


def table_delta(weights: npt.NDArray[Any], epsilon: float) -> float:
    """Return the least delta at `epsilon`, over all ordered pairs of rows.

    In randomized response, any two rows are the first two with their columns permuted.
    """
    if is_randomized_response(weights):
        weights = weights[:2]
    chances = weights / weights.sum(axis=1, keepdims=True, dtype=np.float64)
    return max(
        float(np.maximum(row - math.exp(epsilon) * chances, 0.0).sum(axis=1).max())
        for row in chances
    )


def worst_rows(weights: npt.NDArray[Any], among: int) -> tuple[int, int]:
    """Return two of the first `among` rows with the largest ratio in a column."""
    logs = np.log(np.maximum(weights[:among].astype(np.float64), 0.5))
    column = int(np.ptp(logs, axis=0).argmax())
    one, other = int(logs[:, column].argmax()), int(logs[:, column].argmin())
    return (one, other) if one != other else (0, min(1, among - 1))


def plan_finite(mechanism: Mechanism, channel: TableChannel, answers: int) -> AuditPlan:
    """Return the audit plan of a mechanism with one public table."""
    weights, labels = channel.weights, getattr(mechanism.domain, "size", channel.answers)
    epsilon = table_epsilon(weights)
    logs = np.log(np.maximum(weights.astype(np.float64), 0.5))

    def score(one: int, other: int, observed: Observed) -> Floats:
        first = observed.cells[:, 0]
        missing = np.isnan(first)
        gains = logs[one] - logs[other]
        return np.where(missing, np.nan, gains[np.where(missing, 0, first).astype(np.intp)])

    one, other = worst_rows(weights, labels)
    pairs = [Pair(name=VALUE, one=one, other=other, score=partial(score, one, other))]
    if mechanism.every_task:
        pairs.append(Pair(name=NULL, one=0, other=None, score=partial(score, 0, labels)))
    alike = float(np.sum((weights[one] / TOTAL) ** 2))
    delta_at = partial(table_delta, weights)
    return taskwise_plan(
        pairs, answers, _codes, epsilon=epsilon, delta_at=delta_at, alike=alike, part=HALF
    )


def _codes(row: Sequence[Any]) -> Floats:
    return np.array([np.nan if value is None else value for value in row], np.float64)


def plan_shared(
    mechanism: Mechanism,
    channel: TableChannel,
    worker_distribution: WorkerDistribution,
    answers: int,
) -> AuditPlan:
    """Return the audit plan of a mechanism with one drawn weight per worker."""
    distribution = _shared_distribution(mechanism, worker_distribution)
    collisions = Collisions(answer=0, chance=partial(_equal_rows, distribution))
    if answers == 1:
        return evolve(plan_finite(mechanism, channel, answers), collisions=collisions)
    return AuditPlan(
        exact=ExactLoss(
            epsilon=distribution.cell_epsilon(answers),
            total_epsilon=distribution.row_epsilon(answers),
            delta_at=partial(distribution.delta, answers),
            rounding=1e-9,
        ),
        attacks=_shared_attacks(mechanism, distribution, answers),
        collisions=collisions,
    )


def _shared_distribution(
    mechanism: Mechanism, worker_distribution: WorkerDistribution
) -> SharedWeight:
    others = mechanism.size - 1  # type: ignore[attr-defined]
    if isinstance(worker_distribution, UniformFlips):
        low, high = worker_distribution.bounds
        return SharedWeight.even(low=low, high=high, others=others)
    table = np.array(worker_distribution.table, np.float64)  # type: ignore[attr-defined]
    return SharedWeight.listed(table, others=others, null=mechanism.every_task)


def _equal_rows(distribution: SharedWeight, tasks: int) -> float:
    """Return the probability that two devices, with independent weights, send equal rows."""
    other = distribution.weights / distribution.total
    keep = 1 - distribution.others * other
    alike = np.outer(keep, keep) + distribution.others * np.outer(other, other)
    return float(distribution.chances @ alike**tasks @ distribution.chances)


def _shared_attacks(mechanism: Mechanism, distribution: SharedWeight, answers: int) -> list[Attack]:
    null = mechanism.domain.size  # type: ignore[attr-defined]

    def value_score(observed: Observed) -> Floats:
        cells = observed.cells
        gains = distribution.value_gains(answers)[(cells[:, 1:] == 0).sum(axis=1)]
        return np.where(cells[:, 0] == 0, gains, np.where(cells[:, 0] == 1, -gains, 0.0))

    def null_score(observed: Observed) -> Floats:
        cells = observed.cells
        agree = (cells[:, 1:] == 0).sum(axis=1)
        kept, became_null, neither = (gains[agree] for gains in distribution.null_gains(answers))
        first = cells[:, 0]
        scores = np.where(first == 0, kept, np.where(first == null, became_null, neither))
        return np.where(np.isnan(first), np.nan, scores)

    def row_score(observed: Observed) -> Floats:
        row = distribution.log_row(answers)
        of_one, of_other = ((observed.cells == label).sum(axis=1) for label in (0, 1))
        gain: Floats = row[of_one] - row[of_other]
        return gain

    def attack(name: str, one: list[Any], other: list[Any], score: Any, **more: Any) -> Attack:
        plain = (_codes(one), _codes(other))
        return Attack(
            name=name, tasks=range(answers), one=one, other=other, score=score, plain=plain, **more
        )

    rest, search = [0] * (answers - 1), answers >= SHORT
    found = [attack(VALUE, [0, *rest], [1, *rest], value_score, search=search)]
    if mechanism.every_task:
        found.append(attack(NULL, [0, *rest], [None, *rest], null_score, search=search))
    found.append(alone(found[0]))
    whole = attack(ALL, [0] * answers, [1] * answers, row_score, share=PART, whole=True)
    return [*found, whole]


ONE, OTHER = 0, 1
"""Codes of the two answers; all pairs are equivalent."""


def plan_sets(distribution: SetDistribution, answers: int) -> AuditPlan:
    """Return the audit plan of a mechanism that reports sets of labels."""
    epsilon = log_ratio_up(distribution.ratio)

    def score(observed: Observed) -> Floats:
        first = observed.cells[:, 0]
        known = (first >= 0) & (first < distribution.count)
        sets = sets_of(
            np.where(known, first, 0).astype(np.int64), distribution.labels, distribution.members
        )
        held = (sets[:, :, np.newaxis] == (ONE, OTHER)).any(axis=1)
        gains = epsilon * (held[:, ONE].astype(np.float64) - held[:, OTHER])
        return np.where(known, gains, np.nan)

    pair = Pair(name=VALUE, one=ONE, other=OTHER, score=score)
    return taskwise_plan(
        [pair],
        answers,
        plain=lambda row: np.full(len(row), np.nan),
        epsilon=epsilon,
        delta_at=partial(_sets_delta, distribution),
        alike=float(_equal_sets(distribution)),
        part=HALF,
    )


def _equal_sets(distribution: SetDistribution) -> Fraction:
    """Return the probability that two devices with the same answer send the same set."""
    with_answer = math.comb(distribution.labels - 1, distribution.members - 1)
    without = distribution.count - with_answer
    return distribution.held**2 / with_answer + (1 - distribution.held) ** 2 / without


def _sets_delta(distribution: SetDistribution, epsilon: float) -> float:
    """Return the least delta at `epsilon`, at least 0; any two answers are equivalent."""
    one, other = map(float, distribution.parted)
    return max(0.0, one - math.exp(epsilon) * other)
