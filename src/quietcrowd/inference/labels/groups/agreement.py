"""Agreement within a set of workers beyond that which the truths explain.

``docs/theory/groups-of-workers.md`` derives the statistic.
"""

from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from attrs import frozen
from scipy import sparse

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
    """Per task: number of reports, their sum, and the sum of their outer products."""

    reports: Floats
    total: Floats
    squares: Floats


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
    def of(cls, crowd: Crowd, tasks: Mask, members: Mask, rest: Mask) -> Self | None:
        """Compare two disjoint sets; None if they share few tasks or the rest does not agree."""
        for side in (members, rest):
            sizes = np.bincount(crowd.task[side[crowd.worker]], minlength=len(tasks))
            tasks = tasks & (sizes > 1)
        count = int(tasks.sum())
        if count < LEAST_TASKS:
            return None
        rows = tasks[crowd.task]
        worker, task = crowd.worker[rows], (np.cumsum(tasks) - 1)[crowd.task[rows]]
        centred = _centred(np.eye(crowd.classes)[crowd.value[rows]], worker, crowd.workers)
        one, two = (_side(centred, task, side[worker], count) for side in (members, rest))
        scale = crowd.scale(crowd.value[rows])
        pairs = (
            one.reports * (one.reports - 1),
            one.reports * two.reports,
            two.reports * (two.reports - 1),
        )
        weights = 1.0 / (1.0 / pairs[0] + 1.0 / pairs[1] + 1.0 / pairs[2])
        weights /= weights.sum()
        parts = [
            (_outer(one.total, one.total) - one.squares) / pairs[0][:, np.newaxis, np.newaxis],
            _outer(one.total, two.total) / pairs[1][:, np.newaxis, np.newaxis],
            (_outer(two.total, two.total) - two.squares) / pairs[2][:, np.newaxis, np.newaxis],
        ]
        within, across, other = (np.tensordot(weights, part, 1) for part in parts)
        if np.trace(other) <= 0:
            return None
        parts = [part - mean for part, mean in zip(parts, (within, across, other), strict=True)]
        inverse = _inverse(other)
        slopes = across @ inverse
        raw = float((slopes * across).sum()) / scale
        inflation = count / (count - 1.0)
        noise = ((parts[1] @ inverse) * parts[1]).sum(axis=(1, 2))
        explained = raw - inflation * float((weights**2 * noise).sum()) / scale

        def error(deviations: Any) -> float:
            return float(np.sqrt(inflation * ((weights * deviations) ** 2).sum())) / scale

        traces = [np.trace(part, axis1=1, axis2=2) for part in parts]
        change = traces[0] - 2.0 * (slopes * parts[1]).sum(axis=(1, 2))
        change += ((slopes.T @ slopes) * parts[2]).sum(axis=(1, 2))
        agreement = float(np.trace(within)) / scale
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
            errors=(error(traces[0]), error(traces[2])),
            explained_raw=raw,
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
        sums = []
        for side, mask in zip(self.sides, (self.members, self.rest), strict=True):
            inside = mask[self.worker] * 1.0
            total = side.total[self.task] - self.centred * inside[:, np.newaxis]
            sums.append((side.reports[self.task] - inside, total))
        (near, near_sum), (far, far_sum) = sums
        shrunk = self.slopes * np.clip(self.explained / max(self.explained_raw, 1e-12), 0.0, 1.0)
        values = (self.centred * near_sum).sum(axis=1) / np.maximum(near, 1.0)
        values -= (self.centred * (far_sum @ shrunk.T)).sum(axis=1) / np.maximum(far, 1.0)
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


def _centred(units: Floats, worker: Ints, workers: int) -> Floats:
    """Subtract the mean of each worker's reports, which are unit vectors."""
    totals = _adder(worker, workers) @ units
    counts = np.bincount(worker, minlength=workers)
    result: Floats = units - (totals / np.maximum(counts, 1)[:, np.newaxis])[worker]
    return result


def _side(centred: Floats, task: Ints, chosen: Mask, tasks: int) -> _Side:
    own, add = centred[chosen], _adder(task[chosen], tasks)
    squares = add @ _outer(own, own).reshape(len(own), -1)
    number = np.bincount(task[chosen], minlength=tasks).astype(np.float64)
    return _Side(number, add @ own, squares.reshape(tasks, own.shape[1], -1))


def _adder(place: Ints, size: int) -> Any:
    """Return the matrix that adds rows by their place."""
    return sparse.csr_array(
        (np.ones(len(place)), (place, np.arange(len(place)))), (size, len(place))
    )


def _outer(left: Floats, right: Floats) -> Floats:
    product: Floats = left[:, :, np.newaxis] * right[:, np.newaxis, :]
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
