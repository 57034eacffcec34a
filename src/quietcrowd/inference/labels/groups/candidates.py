"""Sets of workers that may form a group, by the agreement of pairs on some of the tasks."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from quietcrowd.inference.labels.groups.reports import Crowd, Floats, Ints, Mask

LEAST_MEMBERS = 4
"""Number of workers below which nothing is called a group."""

LEAST_SHARED = 3
"""Number of common tasks below which a pair is left out."""

NEAR, FAR = 0.5, 0.3
"""Agreement with a group, as a fraction of that within it, of its members and of other workers."""

NEARER = 0.75
"""The same of members if the source is often right, so that other workers agree with it too."""

_DENSE, _FEW = 0.1, 60
_FEW_PAIRS = 50_000  # products with a dense matrix would start threads, which takes longer
_ROUNDS, _FACTORS, _MOST = 12, 4, 6


class Pairs(NamedTuple):
    """Pairs of workers, each once, with their agreement beyond chance and its precision.

    Agreement is 1 if all answers agree.
    """

    one: Ints
    two: Ints
    agreement: Floats
    precision: Floats

    def matrix(self, values: Floats, workers: int) -> Any:
        """Return a symmetric matrix of values of the pairs: sparse if few workers are a pair."""
        place, shape = (self.one, self.two), (workers, workers)
        if workers > _FEW and len(values) < max(_FEW_PAIRS, _DENSE * workers**2 / 2):
            found: Any = sparse.csr_array((values, place), shape)
        else:
            found = np.zeros(shape)
            found[place] = values
        return found + found.T


def candidates(crowd: Crowd, free: Mask) -> list[tuple[Mask, Mask]]:
    """Return sets of `free` workers that agree, each with workers far from it.

    First guesses are the leading factors of the pairs' agreement. Each is refined until it contains
    all workers with a mean agreement with it above a fraction of that within it.
    """
    one, two, agreement, precision = pair_agreement(crowd)
    both = free[one] & free[two]
    pairs = Pairs(one[both], two[both], agreement[both], precision[both])
    least = LEAST_MEMBERS * (LEAST_MEMBERS - 1) // 2
    if len(pairs.one) < least or not pairs.agreement.any():
        return []
    weights, weighted, matrix = (
        pairs.matrix(values, crowd.workers)
        for values in (
            pairs.precision,
            pairs.precision * pairs.agreement,
            np.sqrt(pairs.precision) * pairs.agreement,
        )
    )
    guesses = np.array(_leading(matrix)) & free
    members, size = np.concatenate([guesses, guesses]), len(guesses)
    near = np.repeat([NEAR, NEARER], size)[:, np.newaxis]
    far = np.repeat([FAR, NEARER], size)[:, np.newaxis]
    amount, mean = np.zeros((2, *members.shape))
    level, moving = np.zeros(near.shape), np.arange(2 * size)
    for _ in range(_ROUNDS):
        old = members[moving]
        amounts = (weights @ old.T).T
        means = (weighted @ old.T).T / np.maximum(amounts, 1e-12)
        within = amounts * old
        levels = (means * within).sum(axis=1) / np.maximum(within.sum(axis=1), 1e-12)
        levels = levels[:, np.newaxis]
        new = (means > near[moving] * levels) & (amounts > 0) & (levels > 0)
        amount[moving], mean[moving], level[moving], members[moving] = amounts, means, levels, new
        moving = moving[(new != old).any(axis=1)]
        if len(moving) == 0:
            break
    rest = (mean < far * level) & (amount > 0) & ~members
    score = level[:, 0] * np.sqrt(np.maximum((amount * members).sum(axis=1), 0.0))
    found: list[Any] = []
    for place in np.argsort(-score.round(6), kind="stable"):  # equal sets: the first
        one, others = members[place], members[found]
        alike = (one & others).sum(axis=1) > 0.8 * (one | others).sum(axis=1)
        if one.sum() >= LEAST_MEMBERS and not alike.any() and len(found) < _MOST:
            found.append(place)
    return [(members[place], rest[place]) for place in found]


def pair_agreement(crowd: Crowd) -> Pairs:
    """Return the pairs of workers with enough common tasks.

    Chance is that of the two workers' reports on common tasks.
    """
    scale, sizes = crowd.scale(crowd.value), np.bincount(crowd.task)
    shared = sizes > 1
    rows = np.flatnonzero(shared[crowd.task])
    task = (np.cumsum(shared) - 1)[crowd.task[rows]]
    dense = (sizes[shared] ** 2).sum() > shared.sum() * (_DENSE * crowd.workers) ** 2
    counted = _counted_by_products if dense else _counted_by_pairs
    one, two, number, agreed, expected = counted(task, crowd.worker[rows], crowd.value[rows], crowd)
    excess = (agreed / number - expected / number**2) * number / (number - 1.0)
    chance = expected.sum() / max((number**2).sum(), 1.0)
    rate = np.clip((agreed + 10.0 * chance) / (number + 10.0), 0.02, 0.98)
    return Pairs(one, two, excess / scale, number * scale**2 / (rate * (1.0 - rate)))


def _counted_by_products(task: Ints, worker: Ints, value: Ints, crowd: Crowd) -> tuple[Any, ...]:
    """Return pairs of workers, with the numbers of common tasks, of equal reports and by chance.

    Counts are whole numbers below 2^24, and so exact.
    """
    shape = crowd.classes, crowd.workers, int(task.max(initial=-1)) + 1
    cells = np.bincount((value * shape[1] + worker) * shape[2] + task, minlength=math.prod(shape))
    given = cells.reshape(shape).astype(np.float32)
    present = given.sum(axis=0).T
    common, agreed, expected = np.zeros((3, crowd.workers, crowd.workers))
    for reports in given:
        reported = (reports @ present).astype(np.float64)
        common += reported
        agreed += reports @ reports.T
        expected += reported * reported.T
    one, two = np.nonzero(np.triu(common >= LEAST_SHARED, 1))
    return one, two, *(part[one, two] for part in (common, agreed, expected))


def _counted_by_pairs(task: Ints, worker: Ints, value: Ints, crowd: Crowd) -> tuple[Any, ...]:
    """Return the same from all pairs of reports, if few workers share a task."""
    steps = np.arange(1, np.bincount(task).max(initial=2))
    ahead = [np.flatnonzero(task[step:] == task[:-step]) for step in steps]
    left = np.concatenate(ahead)
    right = left + np.repeat(steps, [len(part) for part in ahead])
    codes = worker.astype(np.int32)
    pair = codes[left] * np.int32(crowd.workers) + codes[right]
    ordered = np.sort(pair)
    often = ordered[LEAST_SHARED - 1 :]
    often = often[often == ordered[: len(often)]]
    pairs = often[np.flatnonzero(np.diff(often, append=-1))]
    one, two = divmod(pairs, crowd.workers)
    pairs, one, two = (part[one != two] for part in (pairs, one, two))
    places = np.full(crowd.workers**2, -1, np.int32)
    places[pairs] = np.arange(len(pairs))
    place = places[pair]
    kept = np.flatnonzero(place >= 0)
    left, right, place = left[kept], right[kept], place[kept]
    agreed = np.bincount(place, value[left] == value[right], len(pairs))
    size = len(pairs), crowd.classes
    reported = [
        np.bincount(place * size[1] + value[side], minlength=math.prod(size)).reshape(size)
        for side in (left, right)
    ]
    expected = np.einsum("ij,ij->i", *reported)
    return one, two, np.bincount(place, minlength=len(pairs)), agreed, expected


def _leading(matrix: Floats) -> list[Mask]:
    """Return the workers with the largest loadings of the leading factors."""
    size = matrix.shape[0]
    if size > _FEW:
        start = np.cos(np.arange(size))
        _, vectors = sparse.linalg.eigsh(matrix, _FACTORS, which="LA", v0=start, tol=1e-4)
    else:
        _, vectors = linalg.eigh(matrix, subset_by_index=(max(size - _FACTORS, 0), size - 1))
    guesses = []
    for vector in (*vectors.T, *-vectors.T):
        top = np.sort(vector)[-LEAST_MEMBERS:].mean()
        guesses += [vector > max(cut * top, 0.0) for cut in (0.3, 0.6)]
    return guesses
