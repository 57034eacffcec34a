"""The inner loop of GLAD: easiness and posterior of each task, and what they say of workers.

What is added over rows are integers, in units of 2^-32 within a task.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from quietcrowd.inference import fixed_point
from quietcrowd.inference.posteriors import believe, settle

__all__ = ["LEAST_EASE", "MOST_EASE", "PRIOR_EASE", "glad_kernel"]

PRIOR_EASE = 1.0
"""Mean of the normal prior of a task's log-easiness; its variance is 1."""

LEAST_EASE, MOST_EASE = -4.0, 6.0
"""Log-easiness stays in this range: 5 standard deviations of the prior either way."""

_UNIT = float(fixed_point.ONE)
_NATS = 1.0 / fixed_point.ONE
_FINE = 2.0**44
_CLOSE = 1e-4
_MOST_STEPS = 60


@numba.njit(nogil=True, cache=True)
def _expect(sums: npt.NDArray[np.int64], shares: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return mean and variance of the sums of abilities over the labels."""
    mean = np.int64(0)
    for label in range(len(sums)):
        mean += np.int64(np.rint(shares[label] * sums[label]))
    largest = np.int64(1)
    for label in range(len(sums)):
        largest = max(largest, abs(sums[label] - mean))
    spread = np.int64(0)
    for label in range(len(sums)):
        off = (sums[label] - mean) / largest
        spread += np.int64(shares[label] * off * off * _FINE)
    scale = largest * _NATS
    return mean * _NATS, spread / _FINE * scale * scale


@numba.njit(nogil=True, cache=True)
def _pull(
    workers: npt.NDArray[np.uint32], abilities: npt.NDArray[np.int64], beta: float
) -> tuple[float, float]:
    """Return the first two derivatives, by beta, of the sum of softplus(ability beta)."""
    first, second = np.int64(0), np.int64(0)
    for row in range(len(workers)):
        ability = abilities[workers[row]] * _NATS
        x = ability * beta
        t = np.exp(-abs(x))
        high = 1.0 / (1.0 + t)
        first += np.int64(np.rint(ability * (high if x >= 0 else t * high) * _UNIT))
        second += np.int64(np.rint(ability * ability * t * high * high * _UNIT))
    return first * _NATS, second * _NATS


@numba.njit(nogil=True, cache=True)
def _vote(
    sums: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    beta: float,
    spread: float,
    votes: npt.NDArray[np.int64],
) -> None:
    """Fill in the log-odds of each label: ``beta sum of abilities + count ln(k - 1)``."""
    for label in range(len(votes)):
        votes[label] = np.int64(np.rint(sums[label] * beta + counts[label] * (spread * _UNIT)))


@numba.njit(nogil=True, cache=True)
def _ease(
    workers: npt.NDArray[np.uint32],
    abilities: npt.NDArray[np.int64],
    known: int,
    spread: float,
    sums: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    votes: npt.NDArray[np.int64],
    shares: npt.NDArray[np.float64],
) -> float:
    """Return the log-easiness at which the task's log-posterior has no slope.

    Newton's method from the prior mean towards the side that rises, within a bracket that is halved
    where a step leaves it or is longer than half the step before the last.
    """
    low, high, ease = LEAST_EASE, MOST_EASE, PRIOR_EASE
    moved = before = high - low
    for _ in range(_MOST_STEPS):
        beta = np.exp(ease)
        _vote(sums, counts, beta, spread, votes)
        believe(votes, known, shares)
        mean, variance = _expect(sums, shares)
        first, second = _pull(workers, abilities, beta)
        rise = beta * (mean - first)
        slope = rise - (ease - PRIOR_EASE)
        bend = rise + beta * beta * (variance - second) - 1.0
        if slope > 0:
            low = ease
        else:
            high = ease
        target = ease - slope / bend if bend < 0 else np.inf
        if not low <= target <= high or abs(target - ease) > before / 2.0:
            target = (low + high) / 2.0
        before, moved = moved, abs(target - ease)
        ease = target
        if moved < _CLOSE:
            break
    return ease


@lru_cache(maxsize=64)
def glad_kernel(labels: int, *, estimating: bool) -> Callable[..., int]:
    """Return the kernel of GLAD for a number of labels.

    Both parameters are known when it is compiled: with `estimating` it fills in the estimates and
    tallies agreements.

    The kernel returns, in units, what of the objective does not depend on new abilities, and takes,
    in this order:

    - ``offsets``, ``worker_codes``, ``values``, ``draws``, ``gold`` of a `Partition`; worker codes
      as unsigned numbers;
    - ``abilities``, int64 per worker, in units of 2^-32;
    - ``unit``, ``rest_unit``, float: what 1.0 is stored as in the sums of workers, and in what is
      returned;
    - ``even``, int64: `fixed_point.shares`;
    - ``seed``, uint64, for ties;
    - ``pulls``, ``bends``, int64 per worker: to which slope and curvature of the bound are added;
    - ``agreed``, int64 per worker, to which agreements are added;
    - ``truths``, ``confidence``, ``tied``, ``easiness``: one entry per task, to be filled.
    """
    spread = float(np.log(max(labels - 1, 1)))
    flat = float(np.log(labels))

    @numba.njit(nogil=True, cache=True)
    def glad(
        offsets: npt.NDArray[np.int64],
        worker_codes: npt.NDArray[np.uint32],
        values: npt.NDArray[Any],
        draws: npt.NDArray[np.uint64],
        gold: npt.NDArray[np.int32],
        abilities: npt.NDArray[np.int64],
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
        sums = np.empty(labels, np.int64)
        counts = np.empty(labels, np.int64)
        votes = np.empty(labels, np.int64)
        shares = np.empty(labels, np.float64)
        rest = np.int64(0)
        for task in range(len(offsets) - 1):
            start, end, known = offsets[task], offsets[task + 1], gold[task]
            for label in range(labels):
                sums[label] = 0
                counts[label] = 0
            for row in range(start, end):
                sums[values[row]] += abilities[worker_codes[row]]
                counts[values[row]] += 1
            workers = worker_codes[start:end]
            ease = _ease(workers, abilities, known, spread, sums, counts, votes, shares)
            beta = np.exp(ease)
            _vote(sums, counts, beta, spread, votes)
            prior = (ease - PRIOR_EASE) * (ease - PRIOR_EASE) / 2.0
            rest += np.int64(np.rint((believe(votes, known, shares) - flat - prior) * rest_unit))
            for row in range(start, end):
                worker = worker_codes[row]
                x = abilities[worker] * _NATS * beta
                t = np.exp(-abs(x))
                lean = np.sign(x) * (0.5 - t / (1.0 + t))
                curve = lean / (2.0 * x) if abs(x) > 1e-6 else 0.125
                pull = shares[values[row]] - 0.5
                pulls[worker] += np.int64(np.rint(pull * beta * unit))
                bends[worker] += np.int64(np.rint(2.0 * curve * beta * beta * unit))
                softplus = max(x, 0.0) + np.log1p(t)
                left = (curve * x - pull) * x - softplus - spread
                rest += np.int64(np.rint(left * rest_unit))
            if estimating:
                settle(
                    task,
                    votes,
                    shares,
                    known,
                    draws[task],
                    seed,
                    even,
                    counts,
                    truths,
                    confidence,
                    tied,
                )
                easiness[task] = beta
                for row in range(start, end):
                    agreed[worker_codes[row]] += counts[values[row]]
        return int(rest)

    return glad
