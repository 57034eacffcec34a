"""How easy a task is: Newton's method for GLAD, on a block of tasks side by side.

Sums over rows and over labels are of whole numbers, so that no order of additions matters.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference.kernels.posteriors import Beliefs, believe
from quietcrowd.inference.kernels.vector_math import exp_minus, to_integer, to_whole

__all__ = [
    "LEAST_EASE",
    "MOST_EASE",
    "PRIOR_EASE",
    "TaskAnswers",
    "believe_at",
    "ease",
    "no_answers",
]

PRIOR_EASE = 1.0
"""Mean of the normal prior of a task's log-easiness; its variance is 1."""

LEAST_EASE, MOST_EASE = -4.0, 6.0
"""Log-easiness stays in this range: 5 standard deviations of the prior either way."""

_MOST_BETA = float(np.exp(MOST_EASE))
_UNIT = 2.0**32
_FINE = 2.0**44
_CLOSE = 1e-4
_MOST_STEPS = 60


class TaskAnswers(NamedTuple):
    """The answers of a block of tasks.

    Attributes
    ----------
    offsets : ndarray of int64, shape (block + 1,)
        The rows of a task, counted from the block's first.
    alphas : ndarray of float64, shape (rows,)
        The ability of who answered.
    sums : ndarray of float64, shape (labels, block)
        The sum of the abilities of those who gave the label: whole multiples of 2^-32.
    counts : ndarray of float64, shape (labels, block)
        How many gave the label.
    betas, first, second : ndarray of float64, shape (rows,)
        Room for the easiness of each row's task, and for two derivatives.
    """

    offsets: npt.NDArray[np.int64]
    alphas: npt.NDArray[np.float64]
    sums: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]
    betas: npt.NDArray[np.float64]
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]


@numba.njit(nogil=True, cache=True)
def no_answers(labels: int, block: int, rows: int) -> TaskAnswers:
    """Return room for the answers of a block of tasks."""
    return TaskAnswers(
        np.zeros(block + 1, np.int64),
        np.empty(rows),
        np.empty((labels, block)),
        np.empty((labels, block)),
        np.empty(rows),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
    )


@numba.njit(nogil=True, cache=True, error_model="numpy")
def believe_at(
    answers: TaskAnswers,
    known: npt.NDArray[np.int32],
    spread: float,
    eases: npt.NDArray[np.float64],
    betas: npt.NDArray[np.float64],
    beliefs: Beliefs,
) -> None:
    """Fill in easiness, also of each row's task, and the posteriors, given log-easiness.

    A label's log-odds are ``beta sum of abilities + count ln(k - 1)``; `spread` is the logarithm.
    """
    for place in range(len(eases)):
        betas[place] = _MOST_BETA * exp_minus(MOST_EASE - eases[place])
    for place in range(len(eases)):
        answers.betas[answers.offsets[place] : answers.offsets[place + 1]] = betas[place]
    for label in range(len(answers.sums)):
        for place in range(len(eases)):
            beliefs.votes[label, place] = (
                answers.sums[label, place] * betas[place] + answers.counts[label, place] * spread
            )
    believe(beliefs, known)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _expect(
    sums: npt.NDArray[np.float64],
    shares: npt.NDArray[np.float64],
    scales: npt.NDArray[np.float64],
    means: npt.NDArray[np.float64],
    variances: npt.NDArray[np.float64],
) -> None:
    """Fill in mean and variance of the sums of abilities over the labels.

    The scales are to be filled with the largest of the sums of each task.
    """
    count = len(means)
    for place in range(count):
        scales[place], means[place], variances[place] = 2.0**-32, 0.0, 0.0
    for label in range(len(sums)):
        for place in range(count):
            size = abs(sums[label, place])
            scales[place] = size if size > scales[place] else scales[place]
    for label in range(len(sums)):
        for place in range(count):
            part = sums[label, place] / scales[place]
            means[place] += to_whole(shares[label, place] * part * _FINE)
    for label in range(len(sums)):
        for place in range(count):
            off = sums[label, place] / scales[place] - means[place] * (1.0 / _FINE)
            variances[place] += to_whole(shares[label, place] * off * off * _FINE)
    for place in range(count):
        scale = scales[place] * (1.0 / _FINE)
        means[place] *= scale
        variances[place] *= scale * scales[place]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _pull(
    answers: TaskAnswers,
    count: int,
    first: npt.NDArray[np.float64],
    second: npt.NDArray[np.float64],
) -> None:
    """Fill in the first two derivatives, by beta, of each task's sum of softplus(ability beta)."""
    offsets, alphas, _, _, betas, row_first, row_second = answers
    for row in range(offsets[count]):
        alpha = alphas[row]
        x = alpha * betas[row]
        t = exp_minus(abs(x))
        high = 1.0 / (1.0 + t)
        row_first[row] = to_integer(alpha * (high if x >= 0.0 else t * high) * _UNIT)
        row_second[row] = to_integer(alpha * alpha * t * high * high * _UNIT)
    for place in range(count):
        total, bent = np.int64(0), np.int64(0)
        for row in range(offsets[place], offsets[place + 1]):
            total += row_first[row]
            bent += row_second[row]
        first[place] = total / _UNIT
        second[place] = bent / _UNIT


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _step(
    betas: npt.NDArray[np.float64],
    means: npt.NDArray[np.float64],
    variances: npt.NDArray[np.float64],
    first: npt.NDArray[np.float64],
    second: npt.NDArray[np.float64],
    brackets: npt.NDArray[np.float64],
    eases: npt.NDArray[np.float64],
) -> float:
    """Move the log-easiness of each task that is not at rest yet; return the longest move.

    The brackets are, for each task: the lower and the upper end, the last move and the one before.
    """
    low, high, moved, before = brackets
    longest = 0.0
    for place in range(len(betas)):
        beta, at = betas[place], eases[place]
        rise = beta * (means[place] - first[place])
        slope = rise - (at - PRIOR_EASE)
        bend = rise + beta * beta * (variances[place] - second[place]) - 1.0
        bottom = at if slope > 0.0 else low[place]
        top = high[place] if slope > 0.0 else at
        target = at - slope / bend
        leaves = not bend < 0.0 or not bottom <= target <= top
        if leaves or abs(target - at) > before[place] / 2.0:
            target = (bottom + top) / 2.0
        if moved[place] >= _CLOSE:
            low[place], high[place] = bottom, top
            before[place], moved[place] = moved[place], abs(target - at)
            eases[place] = target
            longest = max(longest, moved[place])
    return longest


@numba.njit(nogil=True, cache=True, error_model="numpy")
def ease(
    answers: TaskAnswers,
    known: npt.NDArray[np.int32],
    spread: float,
    beliefs: Beliefs,
    room: npt.NDArray[np.float64],
    eases: npt.NDArray[np.float64],
) -> None:
    """Fill in the log-easiness at which each task's log-posterior has no slope.

    Newton's method from the prior mean towards the side that rises, within a bracket that is halved
    where a step leaves it or is longer than half the step before the last. A task at rest stays
    there while others move.

    Parameters
    ----------
    answers : TaskAnswers
        Of the tasks.
    known : ndarray of int32
        Their known labels, or -1.
    spread : float
        ``ln(k - 1)`` for k labels.
    beliefs : Beliefs
        Room.
    room : ndarray of float64, shape (10, block)
        Room.
    eases : ndarray of float64
        To be filled.
    """
    count = len(known)
    betas, first, second, scales, means, variances = room[:6, :count]
    brackets = room[6:, :count]
    brackets[0] = LEAST_EASE
    brackets[1] = MOST_EASE
    brackets[2:] = MOST_EASE - LEAST_EASE
    eases[:] = PRIOR_EASE
    for _ in range(_MOST_STEPS):
        believe_at(answers, known, spread, eases, betas, beliefs)
        _expect(answers.sums, beliefs.shares, scales, means, variances)
        _pull(answers, count, first, second)
        if _step(betas, means, variances, first, second, brackets, eases) < _CLOSE:
            break
