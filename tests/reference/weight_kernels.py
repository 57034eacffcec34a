"""The inner loops of global and local weights.

Both take what `quietcrowd.synthesis.weights` explains, and a run of tasks. A pass takes time as the
square of the number of claims of a task, and room as their number.
"""

from __future__ import annotations

from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.kde_kernels import Counts, Floats, fill_distances

__all__ = ["hampel_losses_at", "hampel_psi_at", "hampel_psis_at", "local_kernel", "tally_kernel"]

Codes: TypeAlias = npt.NDArray[np.uint32]

TIED = 1e-9
"""A residual no more than this part above the first threshold does not exceed it."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def hampel_psi_at(residual: float, first: float, second: float, third: float) -> float:
    """Return the derivative of Hampel's loss at a residual of at least 0."""
    if residual <= first:
        return residual
    if residual < second:
        return first
    if residual < third:
        return first * ((third - residual) / (third - second))
    return 0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def hampel_psis_at(residuals: Floats, first: float, second: float, third: float) -> Floats:
    """Return `hampel_psi_at` of each residual."""
    found = np.empty(len(residuals))
    for place in range(len(found)):
        found[place] = hampel_psi_at(residuals[place], first, second, third)
    return found


@numba.njit(nogil=True, cache=True, error_model="numpy")
def hampel_losses_at(residuals: Floats, first: float, second: float, third: float) -> Floats:
    """Return Hampel's loss at each residual of at least 0."""
    most = 0.5 * first * (second + third - first)
    found = np.full(len(residuals), most)
    for place in range(len(found)):
        residual = residuals[place]
        if residual <= first:
            found[place] = 0.5 * residual * residual
        elif residual < second:
            found[place] = first * (residual - 0.5 * first)
        elif residual < third:
            part = (third - residual) / (third - second)
            found[place] = most - 0.5 * first * (third - residual) * part
    return found


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _longest(run: tuple[int, int], offsets: Counts) -> int:
    """Return the most claims that a task of the run has."""
    longest = 0
    for task in range(run[0], run[1]):
        longest = max(longest, offsets[task + 1] - offsets[task])
    return longest


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _scale(weights: Floats) -> None:
    """Divide weights by their sum; make them equal where all are 0."""
    total = 0.0
    for place in range(len(weights)):
        total += weights[place]
    for place in range(len(weights)):
        weights[place] = weights[place] / total if total > 0.0 else 1.0 / len(weights)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def tally_kernel(
    gaussian: bool,
    run: tuple[int, int],
    offsets: Counts,
    worker_codes: Codes,
    values: Floats,
    bandwidths: Floats,
    worker_weights: Floats,
    unit: float,
    tally: Counts,
) -> None:
    """Add the claims' squared distances from their tasks' densities to their workers.

    Parameters
    ----------
    worker_weights : ndarray of float64
        Per worker; a task's density weighs its claims in proportion.
    unit : float
        What 1.0 is stored as in sums of distances, which are at most 2 each.
    tally : ndarray of int64
        Per worker, to which is added.
    gaussian, run, offsets, worker_codes, values, bandwidths
        See the module.
    """
    room = np.empty((2, _longest(run, offsets)))
    for task in range(run[0], run[1]):
        start, end = offsets[task], offsets[task + 1]
        shares, distances = room[0, : end - start], room[1, : end - start]
        for row in range(start, end):
            shares[row - start] = worker_weights[worker_codes[row]]
        _scale(shares)
        fill_distances(gaussian, values[start:end], shares, bandwidths[task], distances)
        for row in range(start, end):
            tally[worker_codes[row]] += np.int64(np.rint(distances[row - start] * unit))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _rank(numbers: Floats, ranked: Floats) -> None:
    """Fill in numbers ascending, by insertion: cheaper than the distances they come from."""
    for place in range(len(numbers)):
        rank = place
        while rank > 0 and ranked[rank - 1] > numbers[place]:
            ranked[rank] = ranked[rank - 1]
            rank -= 1
        ranked[rank] = numbers[place]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _quantile(ranked: Floats, part: float) -> float:
    """Return a quantile of ascending numbers, between neighbours linearly."""
    place = part * (len(ranked) - 1)
    below = int(place)
    above = min(below + 1, len(ranked) - 1)
    return float(ranked[below] + (place - below) * (ranked[above] - ranked[below]))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _reweigh(
    residuals: Floats, thresholds: tuple[float, float, float], printed: bool, weights: Floats
) -> float:
    """Weigh claims anew by their residuals; return the largest change over the largest weight.

    The residuals are overwritten by the new weights.
    """
    first, second, third = thresholds
    if printed:
        residuals[:] = hampel_losses_at(residuals, first, second, third)
    for place in range(0 if printed else len(residuals)):
        residual = residuals[place]
        near = residual <= first * (1.0 + TIED)
        slope = residual if near else hampel_psi_at(residual, first, second, third)
        residuals[place] = slope / residual if residual > 0.0 else 1.0
    _scale(residuals)
    change, largest = 0.0, 0.0
    for place in range(len(residuals)):
        change = max(change, abs(residuals[place] - weights[place]))
        largest = max(largest, residuals[place])
        weights[place] = residuals[place]
    return change / largest


@numba.njit(nogil=True, cache=True, error_model="numpy")
def local_kernel(
    gaussian: bool,
    run: tuple[int, int],
    offsets: Counts,
    values: Floats,
    bandwidths: Floats,
    quantiles: tuple[float, float, float],
    max_iterations: int,
    tolerance: float,
    printed: bool,
    weights: Floats,
) -> None:
    """Fill in the weights of each task's claims by iteratively reweighted least squares.

    Parameters
    ----------
    quantiles : tuple of float
        Of a task's residuals under equal weights; they are the thresholds of the loss.
    max_iterations, tolerance
        A task is done when its weights change by no more than this part of the largest.
    printed : bool
        Whether a weight is in proportion to the loss, as printed, and not to ``psi(r) / r``.
    weights : ndarray of float64
        Per row.
    gaussian, run, offsets, values, bandwidths
        See the module.
    """
    room = np.empty((2, _longest(run, offsets)))
    for task in range(run[0], run[1]):
        claims = values[offsets[task] : offsets[task + 1]]
        shares = weights[offsets[task] : offsets[task + 1]]
        shares[:] = 1.0 / max(len(claims), 1)
        if len(claims) <= 2 or claims.min() == claims.max():
            continue
        residuals, ranked = room[0, : len(claims)], room[1, : len(claims)]
        thresholds = (0.0, 0.0, 0.0)
        for iteration in range(max_iterations):
            fill_distances(gaussian, claims, shares, bandwidths[task], residuals)
            for place in range(len(claims)):
                residuals[place] = np.sqrt(residuals[place])
            if iteration == 0:
                _rank(residuals, ranked)
                thresholds = (
                    _quantile(ranked, quantiles[0]),
                    _quantile(ranked, quantiles[1]),
                    _quantile(ranked, quantiles[2]),
                )
            if _reweigh(residuals, thresholds, printed, shares) <= tolerance:
                break
