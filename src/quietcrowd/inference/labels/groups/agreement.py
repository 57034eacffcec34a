"""Agreement within a set of workers beyond that which the truths explain.

``research/docs/theory/groups-of-workers.md`` derives the statistic.
"""

from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from attrs import frozen

from quietcrowd.inference.labels.groups.reports import Crowd, Floats, Ints, Mask

LEAST_TASKS = 8
"""Number of tasks with two reports of each side, below which nothing is tested."""

FLOOR = 0.3
"""Least eigenvalue of the covariance of the rest, as a fraction of the mean one."""


class Membership(NamedTuple):
    """Per worker: excess agreement with a set, its t statistic, and the number of tasks."""

    excess: Floats
    t: Floats
    tasks: Ints


class _Side(NamedTuple):
    """Per task: number of reports, and their sum."""

    reports: Floats
    total: Floats


@frozen(kw_only=True, eq=False, slots=False)
class Excess:
    """Agreement within `members`, compared with that between them and the `rest`.

    `within` and `rest_within` are the mean agreement of two answers of a side: 1 if all agree, 0 by
    chance. `explained` is the part of `within` that follows from agreement with the rest, without
    the bias of its square; with it, it is `explained_raw`. `t` is the excess over `explained` in
    standard errors over the `tasks`, and `slopes` the regression of the members on the rest.
    """

    crowd: Crowd
    members: Mask
    rest: Mask
    worker: Ints
    task: Ints
    centred: Floats
    scale: float
    sides: tuple[_Side, _Side]
    known_truths: Ints
    tasks: int
    within: float
    rest_within: float
    errors: tuple[float, float]
    explained_raw: float
    explained: float
    t: float
    slopes: Floats

    @classmethod
    def of(cls, crowd: Crowd, members: Mask, rest: Mask) -> Self | None:
        """Compare two disjoint sets; None if they share few tasks or the rest does not agree."""
        first, second = (
            np.bincount(crowd.task, side[crowd.worker], len(crowd.first))
            for side in (members, rest)
        )
        tasks = (first > 1) & (second > 1)
        count = int(tasks.sum())
        if count < LEAST_TASKS:
            return None
        rows = np.flatnonzero(tasks[crowd.task])
        worker, task = crowd.worker[rows], (np.cumsum(tasks) - 1)[crowd.task[rows]]
        centred = _centred(crowd.value[rows], worker, (crowd.workers, crowd.classes))
        scale = crowd.scale(crowd.value[rows])
        inside = [np.flatnonzero(side[worker]) for side in (members, rest)]
        (own, own_task), (others, others_task) = (
            (centred.take(side, 0), task[side]) for side in inside
        )
        one, two = _side(own, own_task, count), _side(others, others_task, count)
        pairs = (
            one.reports * (one.reports - 1),
            one.reports * two.reports,
            two.reports * (two.reports - 1),
        )
        weights = 1.0 / (1.0 / pairs[0] + 1.0 / pairs[1] + 1.0 / pairs[2])
        weights /= weights.sum()

        def agreed(total: Floats, reports: Floats, place: Ints, number: Floats) -> Floats:
            """Return the mean product of two reports, per task."""
            return (_dot(total, total) - np.bincount(place, _dot(reports, reports), count)) / number

        own_agreed = agreed(one.total, own, own_task, pairs[0])
        others_agreed = agreed(two.total, others, others_task, pairs[2])
        across = one.total.T @ (two.total * (weights / pairs[1])[:, np.newaxis])
        per_pair = (weights / pairs[2])[:, np.newaxis]
        other = two.total.T @ (two.total * per_pair) - others.T @ (
            others * per_pair.take(others_task, 0)
        )
        if np.trace(other) <= 0:
            return None
        inverse = _inverse(other)
        slopes = across @ inverse
        explained_raw = float((slopes * across).sum())
        predicted = two.total @ slopes.T
        crossed = _dot(one.total, predicted) / pairs[1]
        noise = _dot(one.total, one.total) * _dot(two.total @ inverse, two.total) / pairs[1] ** 2
        noise += explained_raw - 2.0 * crossed
        inflation = count / (count - 1.0)
        explained = explained_raw - inflation * float((weights**2 * noise).sum())

        def error(values: Floats) -> float:
            deviations = values - weights @ values
            return float(np.sqrt(inflation * ((weights * deviations) ** 2).sum())) / scale

        change = own_agreed - 2.0 * crossed
        change += agreed(predicted, others @ slopes.T, others_task, pairs[2])
        agreement, explained = float(weights @ own_agreed) / scale, explained / scale
        return cls(
            crowd=crowd,
            members=members,
            rest=rest,
            worker=worker,
            task=task,
            centred=centred,
            scale=scale,
            sides=(one, two),
            known_truths=crowd.known_truths[tasks],
            tasks=count,
            within=agreement,
            rest_within=float(np.trace(other)) / scale,
            errors=(error(own_agreed), error(others_agreed)),
            explained_raw=explained_raw / scale,
            explained=explained,
            t=(agreement - explained) / max(error(change), 1e-12),
            slopes=slopes,
        )

    @property
    def share(self) -> float:
        """Excess agreement, as a fraction of the agreement that is not explained."""
        return (self.within - self.explained) / max(1.0 - max(self.explained, 0.0), 0.05)

    @cached_property
    def membership(self) -> Membership:
        """Each worker's excess agreement with the members; its own reports are left out."""
        (near, near_sum), (far, far_sum) = self.sides
        shrunk = self.slopes * np.clip(self.explained / max(self.explained_raw, 1e-12), 0.0, 1.0)
        own, task = self.centred, self.task
        inside, outside = (mask[self.worker] * 1.0 for mask in (self.members, self.rest))
        near, far = near[task] - inside, far[task] - outside
        values = _dot(own, near_sum.take(task, 0)) - inside * _dot(own, own)
        values /= np.maximum(near, 1.0)
        predicted = _dot(own, (far_sum @ shrunk.T).take(task, 0)) - outside * _dot(
            own, own @ shrunk.T
        )
        values -= predicted / np.maximum(far, 1.0)
        weights = near * far / np.maximum(near + far, 1.0)

        def add(numbers: Any) -> Any:
            return np.bincount(self.worker, numbers, len(self.members))

        total = np.maximum(add(weights), 1e-12)
        mean, tasks = add(weights * values) / total, add(weights > 0).astype(np.int64)
        variance = add((weights * (values - mean[self.worker])) ** 2) / total**2
        variance *= tasks / np.maximum(tasks - 1, 1)
        mean[tasks < 5] = 0.0
        return Membership(mean / self.scale, mean / np.sqrt(np.maximum(variance, 1e-12)), tasks)

    def nearer_to_truths(self) -> tuple[float, int]:
        """Return by how many standard errors known truths agree more with the rest; their number.

        Agreement of a side is in units of that within it.
        """
        known = self.known_truths >= 0
        if known.sum() < 2:
            return 0.0, 0
        truths = self.crowd.table[self.known_truths[known]]
        scores = []
        for side, level in zip(self.sides, (self.within, self.rest_within), strict=True):
            mean = side.total[known] / side.reports[known, np.newaxis]
            scores.append((mean * truths).sum(axis=1) / np.sqrt(max(level, 1e-9)))
        difference = scores[1] - scores[0]
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        return float(difference.mean() / max(error, 1e-12)), len(difference)


def _centred(values: Ints, worker: Ints, shape: tuple[int, int]) -> Floats:
    """Return reports as unit vectors, minus the mean of each worker's; `shape` is that of means."""
    cells = worker * shape[1] + values
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    means = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    units = np.eye(shape[1]) - means[:, np.newaxis]
    result: Floats = units.reshape(-1, shape[1]).take(cells, 0)
    return result


def _side(centred: Floats, task: Ints, tasks: int) -> _Side:
    reports = np.bincount(task, minlength=tasks).astype(np.float64)
    total = np.empty((tasks, centred.shape[1]))
    for place, part in enumerate(centred.T):
        total[:, place] = np.bincount(task, part, tasks)
    return _Side(reports, total)


def _dot(left: Floats, right: Floats) -> Floats:
    product: Floats = np.einsum("ij,ij->i", left, right)
    return product


def _inverse(covariance: Floats) -> Floats:
    """Invert a covariance of reports, which sum to 1, with a floor under its eigenvalues."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    size = len(values)
    floor = FLOOR * max(float(values.sum()), 0.0) / max(size - 1, 1)
    inverse = (vectors / np.maximum(values, max(floor, 1e-12))) @ vectors.T
    centring = np.eye(size) - 1.0 / size
    result: Floats = centring @ inverse @ centring
    return result
