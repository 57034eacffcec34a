"""Sets of workers that may form a group, by the agreement of pairs on some of the tasks."""

from typing import Any

import numpy as np
from scipy import linalg, sparse

from quietcrowd.inference.labels.groups.reports import Crowd, Floats, Mask

LEAST_MEMBERS = 4
"""Number of workers below which nothing is called a group."""

LEAST_SHARED = 3
"""Number of common tasks below which a pair is left out."""

NEAR, FAR = 0.5, 0.3
"""Agreement with a group, as a fraction of that within it, of its members and of other workers."""

NEARER = 0.75
"""The same of members if the source is often right, so that other workers agree with it too."""

_DENSE, _FEW = 0.05, 60
_ROUNDS, _FACTORS, _MOST = 12, 4, 6


def candidates(crowd: Crowd, tasks: Mask, free: Mask) -> list[tuple[Mask, Mask]]:
    """Return sets of `free` workers that agree on some tasks, each with workers far from it.

    First guesses are the leading factors of the pairs' agreement. Each is refined until it contains
    all workers with a mean agreement with it above a fraction of that within it.
    """
    if _shared_pairs(crowd, tasks) < LEAST_MEMBERS * (LEAST_MEMBERS - 1):
        return []
    agreement, weights = pair_agreement(crowd, tasks)
    weights *= free[:, np.newaxis] & free
    matrix = agreement * np.sqrt(weights)
    if not matrix.any():
        return []
    guesses = np.array(_leading(matrix)).T & free[:, np.newaxis]
    members = np.concatenate([guesses, guesses], axis=1)
    near = np.repeat([NEAR, NEARER], guesses.shape[1])
    far = np.repeat([FAR, NEARER], guesses.shape[1])
    weighted = weights * agreement
    for _ in range(_ROUNDS):
        amount = weights @ members
        mean = (weighted @ members) / np.maximum(amount, 1e-12)
        level = (mean * amount * members).sum(axis=0) / np.maximum(
            (amount * members).sum(axis=0), 1e-12
        )
        chosen = (mean > near * level) & (amount > 0) & (level > 0)
        if (chosen == members).all():
            break
        members = chosen
    rest = (mean < far * level) & (amount > 0) & ~members
    score = level * np.sqrt(np.maximum((amount * members).sum(axis=0), 0.0))
    found: list[tuple[Mask, Mask]] = []
    for place in np.argsort(-score, kind="stable"):
        one = members[:, place]
        new = all((one & old).sum() <= 0.8 * (one | old).sum() for old, _ in found)
        if new and one.sum() >= LEAST_MEMBERS and len(found) < _MOST:
            found.append((one, rest[:, place]))
    return found


def pair_agreement(crowd: Crowd, tasks: Mask) -> tuple[Floats, Floats]:
    """Return the agreement of each pair of workers beyond chance, and its precision.

    1 means that all answers agree. Chance is that of the two workers' reports on common tasks.
    Counts are whole numbers below 2^24, and so exact.
    """
    rows = tasks[crowd.task]
    task, worker, value = crowd.task[rows], crowd.worker[rows], crowd.value[rows]
    shape = crowd.workers, len(tasks)
    dense = len(task) > _DENSE * shape[0] * int(tasks.sum())

    def matrix(chosen: Any) -> Any:
        ones = np.ones(int(chosen.sum()), np.float32)
        found = sparse.csr_array((ones, (worker[chosen], task[chosen])), shape)
        return found[:, tasks].toarray() if dense else found

    def product(left: Any, right: Any) -> Floats:
        found = left @ right.T
        return np.asarray(found if dense else found.toarray(), np.float64)

    present = matrix(np.ones(len(task), bool))
    common = product(present, present)
    agreed, expected = np.zeros_like(common), np.zeros_like(common)
    for label in range(crowd.classes):
        given = matrix(value == label)
        agreed += product(given, given)
        reported = product(given, present)
        expected += reported * reported.T
    usable = common >= LEAST_SHARED
    np.fill_diagonal(usable, False)
    number = np.maximum(common, 2.0)
    excess = (agreed / number - expected / number**2) * number / (number - 1.0)
    chance = expected[usable].sum() / max((common[usable] ** 2).sum(), 1.0)
    rate = np.clip((agreed + 10.0 * chance) / (common + 10.0), 0.02, 0.98)
    scale = crowd.scale(value)
    precision = number * scale**2 / (rate * (1.0 - rate))
    return np.where(usable, excess / scale, 0.0), np.where(usable, precision, 0.0)


def _shared_pairs(crowd: Crowd, tasks: Mask) -> int:
    """Return the number of ordered pairs of workers with enough common tasks, if these are few.

    Counting many pairs would take longer than comparing them.
    """
    rows = tasks[crowd.task]
    sizes = np.bincount(crowd.task[rows])
    if (sizes**2).sum() > crowd.workers**2:
        return crowd.workers**2
    ones = np.ones(int(rows.sum()), np.int32)
    present = sparse.csr_array((ones, (crowd.worker[rows], crowd.task[rows])))
    common = present @ present.T
    common.setdiag(0)
    return int((common.data >= LEAST_SHARED).sum())


def _leading(matrix: Floats) -> list[Mask]:
    """Return the workers with the largest loadings of the leading factors."""
    size = len(matrix)
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
