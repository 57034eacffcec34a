"""The inner loop of GLAD: easiness and posterior of each task, and what they say of workers.

What is added over rows are integers.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference.kernels.compiling import rows_of
from quietcrowd.inference.kernels.glad_easiness import (
    PRIOR_EASE,
    TaskAnswers,
    believe_at,
    ease,
    no_answers,
)
from quietcrowd.inference.kernels.posteriors import Beliefs, no_beliefs, settle
from quietcrowd.inference.kernels.vector_math import exp_minus, log, to_integer

__all__ = ["glad_kernel"]

_NATS = 2.0**-32
_SMALL = 1e-6


@numba.njit(nogil=True, cache=True)
def _most_rows(offsets: npt.NDArray[np.int64], block: int) -> int:
    """Return how many answers the tasks of a block have at most."""
    most = 0
    for first in range(0, len(offsets) - 1, block):
        last = min(first + block, len(offsets) - 1)
        most = max(most, offsets[last] - offsets[first])
    return most


@numba.njit(nogil=True, cache=True)
def _gather(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    abilities: npt.NDArray[np.int64],
    sums: npt.NDArray[np.int64],
    answers: TaskAnswers,
) -> None:
    """Fill in the answers of a block of tasks, given the offsets of their rows.

    The sums are room for one per label.
    """
    count = len(offsets) - 1
    answers.counts[:, :count] = 0.0
    for place in range(count):
        answers.offsets[place + 1] = offsets[place + 1] - offsets[0]
        start, end = rows_of(offsets, place)
        sums[:] = 0
        for row in range(start, end):
            ability = abilities[worker_codes[row]]
            sums[values[row]] += ability
            answers.counts[values[row], place] += 1.0
            answers.alphas[row - np.uint64(offsets[0])] = ability * _NATS
        for label in range(len(sums)):
            answers.sums[label, place] = sums[label] * _NATS


@numba.njit(nogil=True, cache=True)
def _lean(
    values: npt.NDArray[Any],
    answers: TaskAnswers,
    shares: npt.NDArray[np.float64],
    count: int,
    leans: npt.NDArray[np.float64],
) -> None:
    """Fill in how much more probable than even it is that each answer is right."""
    for place in range(count):
        for row in range(answers.offsets[place], answers.offsets[place + 1]):
            leans[row] = shares[values[row], place] - 0.5


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _bound(
    answers: TaskAnswers,
    rows: int,
    leans: npt.NDArray[np.float64],
    unit: float,
    rest_unit: float,
    spread: float,
) -> np.int64:
    """Fill in slope and curvature of the bound by each answer; return the rest of all.

    Slopes and curvatures take the place of the derivatives.
    """
    _, alphas, _, _, betas, pulls, bends = answers
    rest = np.int64(0)
    for row in range(rows):
        beta = betas[row]
        x = alphas[row] * beta
        size = abs(x)
        t = exp_minus(size)
        curve = 0.125
        if size > _SMALL:
            curve = (0.5 - t / (1.0 + t)) / (2.0 * size)
        pulls[row] = to_integer(leans[row] * beta * unit)
        bends[row] = to_integer(2.0 * curve * beta * beta * unit)
        softplus = (x if x > 0.0 else 0.0) + log(1.0 + t)
        rest += to_integer(((curve * x - leans[row]) * x - softplus - spread) * rest_unit)
    return rest


@numba.njit(nogil=True, cache=True)
def _credit(
    worker_codes: npt.NDArray[np.uint32],
    answers: TaskAnswers,
    pulls: npt.NDArray[np.int64],
    bends: npt.NDArray[np.int64],
) -> None:
    """Add slope and curvature of the bound by each answer to those of its worker."""
    for row in range(len(worker_codes)):
        worker = worker_codes[row]
        pulls[worker] += answers.first[row]
        bends[worker] += answers.second[row]


@numba.njit(nogil=True, cache=True)
def _add_priors(
    beliefs: Beliefs, eases: npt.NDArray[np.float64], flat: float, rest_unit: float
) -> np.int64:
    """Return the sum of the logarithms of what tasks are normalised by, and of their priors."""
    rest = np.int64(0)
    for place in range(len(eases)):
        off = eases[place] - PRIOR_EASE
        evidence = beliefs.best[place] + beliefs.rest[place] - flat - off * off / 2.0
        rest += np.int64(np.rint(evidence * rest_unit))
    return rest


@numba.njit(nogil=True, cache=True, error_model="numpy")
def glad_kernel(
    offsets: npt.NDArray[np.int64],
    worker_codes: npt.NDArray[np.uint32],
    values: npt.NDArray[Any],
    draws: npt.NDArray[np.uint64],
    gold: npt.NDArray[np.int32],
    abilities: npt.NDArray[np.int64],
    labels: int,
    block: int,
    unit: float,
    rest_unit: float,
    even: npt.NDArray[np.int64],
    seed: np.uint64,
    pulls: npt.NDArray[np.int64],
    bends: npt.NDArray[np.int64],
    agreed: npt.NDArray[np.int64],
    truths: npt.NDArray[Any],
    confidence: npt.NDArray[np.float64],
    tied: npt.NDArray[np.bool_],
    easiness: npt.NDArray[np.float64],
) -> int:
    """Find easiness and posteriors of tasks, and tally what they say of the workers.

    Return, in units, what of the objective does not depend on new abilities.

    Parameters
    ----------
    offsets, worker_codes, values, draws, gold
        Of a `Partition`; worker codes as unsigned numbers.
    abilities : ndarray of int64
        Per worker, in units of 2^-32.
    labels, block : int
        How many labels there are, and `block_of` them.
    unit, rest_unit : float
        What 1.0 is stored as in the sums of workers, and in what is returned. Of one answer no
        slope, curvature or rest is stored as more than 2^50.
    even : ndarray of int64
        `fixed_point.shares`.
    seed : uint64
        For ties.
    pulls, bends : ndarray of int64
        Per worker, to which slope and curvature of the bound are added.
    agreed : ndarray of int64
        Per worker, to which agreements are added where there is room for truths.
    truths, confidence, tied, easiness
        One entry per task, to be filled where they are not empty.
    """
    spread, flat = np.log(max(labels - 1, 1)), np.log(labels)
    most = _most_rows(offsets, block)
    answers, beliefs = no_answers(labels, block, most), no_beliefs(labels, block)
    room, all_eases, leans = np.empty((10, block)), np.empty(block), np.empty(most)
    sums, credit = np.empty(labels, np.int64), np.empty(labels, np.int64)
    rest = np.int64(0)
    for first in range(0, len(offsets) - 1, block):
        last = min(first + block, len(offsets) - 1)
        rows, known = offsets[first : last + 1], gold[first:last]
        betas, eases = room[0, : last - first], all_eases[: last - first]
        _gather(rows, worker_codes, values, abilities, sums, answers)
        ease(answers, known, spread, beliefs, room, eases)
        believe_at(answers, known, spread, eases, betas, beliefs)
        rest += _add_priors(beliefs, eases, flat, rest_unit)
        _lean(values[rows[0] : rows[-1]], answers, beliefs.shares, last - first, leans)
        rest += _bound(answers, rows[-1] - rows[0], leans, unit, rest_unit, spread)
        _credit(worker_codes[rows[0] : rows[-1]], answers, pulls, bends)
        if len(truths):
            easiness[first:last] = betas
            settle(
                beliefs,
                rows,
                worker_codes,
                values,
                known,
                draws[first:last],
                seed,
                even,
                credit,
                agreed,
                truths[first:last],
                confidence[first:last],
                tied[first:last],
            )
    return int(rest)
