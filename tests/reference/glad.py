"""The inner loop of GLAD: easiness and posterior of each task, and what they say of workers.

Tasks are done side by side, a block at a time. Sums over rows and over labels are of whole numbers,
so that no order of additions matters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.posteriors import Beliefs, believe, no_beliefs, settle
from tests.reference.vector_math import exp_minus, log, to_integer, to_whole
from tests.reference.voting import rows_of

__all__ = ["MOST_EASE", "PRIOR_EASE", "glad_kernel"]

PRIOR_EASE = 1.0
"""Mean of the normal prior of a task's log-easiness; its variance is 1."""

LEAST_EASE, MOST_EASE = -4.0, 6.0
"""Log-easiness stays in this range: 5 standard deviations of the prior either way."""

_MOST_BETA = float(np.exp(MOST_EASE))
_UNIT = 2.0**32
_FINE = 2.0**44
_CLOSE = 1e-4
_MOST_STEPS = 60


class _TaskAnswers(NamedTuple):
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
def _no_answers(labels: int, block: int, rows: int) -> _TaskAnswers:
    """Return room for the answers of a block of tasks."""
    return _TaskAnswers(
        np.zeros(block + 1, np.int64),
        np.empty(rows),
        np.empty((labels, block)),
        np.empty((labels, block)),
        np.empty(rows),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
    )


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _believe_at(
    answers: _TaskAnswers,
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
    answers: _TaskAnswers,
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
    """Move the log-easiness of each task that has not converged yet; return the longest move.

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
def _ease(
    answers: _TaskAnswers,
    known: npt.NDArray[np.int32],
    spread: float,
    beliefs: Beliefs,
    room: npt.NDArray[np.float64],
    eases: npt.NDArray[np.float64],
) -> None:
    """Fill in the log-easiness at which each task's log-posterior has no slope.

    Newton's method from the prior mean towards the side that rises, within a bracket that is halved
    where a step leaves it or is longer than half the step before the last. A task that has
    converged stays there while others move.

    Parameters
    ----------
    answers : _TaskAnswers
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
        _believe_at(answers, known, spread, eases, betas, beliefs)
        _expect(answers.sums, beliefs.shares, scales, means, variances)
        _pull(answers, count, first, second)
        if _step(betas, means, variances, first, second, brackets, eases) < _CLOSE:
            break


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
    answers: _TaskAnswers,
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
    answers: _TaskAnswers,
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
    answers: _TaskAnswers,
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
    answers: _TaskAnswers,
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
    known_truths: npt.NDArray[np.int32],
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
    offsets, worker_codes, values, draws, known_truths
        Of a `Partition`; worker codes as unsigned numbers.
    abilities : ndarray of int64
        Per worker, in units of 2^-32.
    labels, block : int
        How many labels there are, and `block_of` them.
    unit, rest_unit : float
        What 1.0 is stored as in the sums of workers, and in what is returned. Of one answer no
        slope, curvature or rest is stored as more than 2^50.
    even : ndarray of int64
        `integer_sums.shares`.
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
    answers, beliefs = _no_answers(labels, block, most), no_beliefs(labels, block)
    room, all_eases, leans = np.empty((10, block)), np.empty(block), np.empty(most)
    sums, credit = np.empty(labels, np.int64), np.empty(labels, np.int64)
    rest = np.int64(0)
    for first in range(0, len(offsets) - 1, block):
        last = min(first + block, len(offsets) - 1)
        rows, known = offsets[first : last + 1], known_truths[first:last]
        betas, eases = room[0, : last - first], all_eases[: last - first]
        _gather(rows, worker_codes, values, abilities, sums, answers)
        _ease(answers, known, spread, beliefs, room, eases)
        _believe_at(answers, known, spread, eases, betas, beliefs)
        rest += _add_priors(beliefs, eases, flat, rest_unit)
        _lean(values[rows[0] : rows[-1]], answers, beliefs.shares, last - first, leans)
        rest += _bound(answers, rows[-1] - rows[0], leans, unit, rest_unit, spread)
        _credit(worker_codes[rows[0] : rows[-1]], answers, pulls, bends)
        if len(truths):
            for place in range(last - first):
                easiness[first + place] = betas[place]
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
