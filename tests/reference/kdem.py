"""The inner loop of KDEm: kernel density estimates of each task, and residuals in their space.

A task's claims are sorted and equal ones are put together; their weights add as integers. From
there on sums run over distinct values from the smallest to the largest, so that the order of the
rows changes no bit.
"""

from __future__ import annotations

import numba
import numpy as np

from tests.reference.numeric import (
    LEAST_SPREAD,
    Codes,
    Counts,
    Floats,
    add_squared,
    deviation_of,
    longest_of,
    rank_values,
    spread_of,
    standard_error_of,
    weighted_mean_of,
)

__all__ = ["density_kernel"]

LEAST_BANDWIDTH = 1e-10
"""A bandwidth is at least this part of the standard deviation of a task's claims."""

FAR = 9.0
"""So many bandwidths apart, a kernel is below 2^-58 of its peak."""

TIED = 1e-9
"""Claims whose densities differ by no more than this part are equally dense."""

ROUNDING = 1e-12
"""Densities are exact to this part."""

REST = 1e-13
"""A mode is found where the mean shift is at most this part of the bandwidth."""

MOST_STEPS = 100


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _bandwidth(ranked: Floats, known: float, spread: float, room: Floats) -> float:
    """Return the bandwidth of a task; a known truth counts as one claim more."""
    count = len(ranked)
    if np.isnan(known):
        deviation = deviation_of(ranked)
    else:
        rank = count
        while rank > 0 and ranked[rank - 1] > known:
            room[rank] = ranked[rank - 1]
            rank -= 1
        room[rank] = known
        for before in range(rank):
            room[before] = ranked[before]
        deviation = deviation_of(room[: count + 1])
    return float(max(deviation, LEAST_BANDWIDTH * spread)) if spread > LEAST_SPREAD else np.inf


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _gather(
    ranked: Floats,
    places: Counts,
    task_workers: Codes,
    weights: Floats,
    unit: float,
    points: Floats,
    masses: Counts,
    shares: Floats,
    point_of: Counts,
) -> int:
    """Fill in a task's distinct values, ascending, their shares of all weight, each claim's point.

    Return how many values there are.
    """
    total = np.int64(0)
    count = 0
    for rank in range(len(ranked)):
        if count == 0 or ranked[rank] > points[count - 1]:
            points[count] = ranked[rank]
            masses[count] = 0
            count += 1
        place = places[rank]
        point_of[place] = count - 1
        mass = np.int64(np.rint(weights[task_workers[place]] * unit))
        masses[count - 1] += mass
        total += mass
    for point in range(count):
        shares[point] = masses[point] / total
    return count


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _gap(distance: float) -> float:
    """Return by how much a kernel falls short of its peak, at a distance in bandwidths."""
    return float(1.0 - np.exp(-0.5 * distance * distance)) if abs(distance) < FAR else 1.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_shortfalls(points: Floats, shares: Floats, bandwidth: float, shortfalls: Floats) -> float:
    """Fill in by how much the density at each point falls short of a single kernel's peak.

    Return the mean of it. With weights w and kernel matrix K of ones on the diagonal, these are
    ``1 - K w`` and ``1 - w' K w``, without their cancellation.
    """
    shortfalls[:] = 0.0
    for point in range(len(points)):
        for other in range(point + 1, len(points)):
            gap = _gap((points[other] - points[point]) / bandwidth)
            shortfalls[point] += shares[other] * gap
            shortfalls[other] += shares[point] * gap
    mean = 0.0
    for point in range(len(points)):
        mean += shares[point] * shortfalls[point]
    return mean


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _densest(shortfalls: Floats) -> int:
    """Return the place of the point of the largest density; of several, the smallest."""
    least = 1.0 - (1.0 - shortfalls.min()) * (1.0 - TIED)
    for point in range(len(shortfalls)):
        if shortfalls[point] <= least:
            return point
    return 0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _weighted_median(points: Floats, masses: Counts) -> float:
    """Return the weighted median; the middle of two points that halve the weight."""
    total, below = masses.sum(), np.int64(0)
    for point in range(len(points)):
        below += masses[point]
        if 2 * below == total and point + 1 < len(points):
            return float(points[point] + (points[point + 1] - points[point]) / 2.0)
        if 2 * below >= total:
            break
    return float(points[point])


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _shift(
    points: Floats, shares: Floats, bandwidth: float, place: float
) -> tuple[float, float, float]:
    """Return the density at a place, the mean shift there, in bandwidths, and minus its slope."""
    density, first, second = 0.0, 0.0, 0.0
    for point in range(len(points)):
        distance = (points[point] - place) / bandwidth
        if abs(distance) < FAR:
            part = shares[point] * np.exp(-0.5 * distance * distance)
            density += part
            first += part * distance
            second += part * distance * distance
    shift = first / density
    return density, shift, 1.0 - (second / density - shift * shift)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _climb(points: Floats, shares: Floats, bandwidth: float, best: int) -> float:
    """Return a mode of the density, uphill from the densest point.

    No neighbour is denser, but by rounding or where they tie, so a mode lies between the point and
    the next one uphill from which the mean shift leads back, or which is less dense. Newton steps
    for the mean shift are kept between a place from which it leads on and one beyond the mode:
    where it leads back, or is a valley, or lies below the first in density.
    """
    near = points[best]
    density, shift, _ = _shift(points, shares, bandwidth, near)
    density *= 1.0 - ROUNDING
    way = 1 if shift > 0 else -1
    if abs(shift) <= REST:
        return float(near)
    far, place = near, best + way
    while 0 <= place < len(points):
        here, shift, _ = _shift(points, shares, bandwidth, points[place])
        if shift * way <= 0 or here < density:
            far = points[place]
            break
        near, density = points[place], here * (1.0 - ROUNDING)
        place += way
    if not 0 <= place < len(points):
        return float(near)
    trial = near + (far - near) / 2.0
    for _ in range(MOST_STEPS):
        here, shift, slope = _shift(points, shares, bandwidth, trial)
        resting = abs(shift) <= REST
        if resting and here >= density and slope > -TIED:
            break
        if not resting and shift * way > 0 and here >= density:
            near, density = trial, here * (1.0 - ROUNDING)
        else:
            far = trial
        new = trial + bandwidth * shift / slope
        if not (slope > 0 and min(near, far) < new < max(near, far)):
            new = near + (far - near) / 2.0
        if new == trial:
            break
        trial = new
    return float(trial)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def density_kernel(
    offsets: Counts,
    worker_codes: Codes,
    values: Floats,
    known_truths: Floats,
    weights: Floats,
    at_mode: bool,
    weight_unit: float,
    error_unit: float,
    loss_unit: float,
    squared: Counts,
    losses: Counts,
    truths: Floats,
    standard_errors: Floats,
    spreads: Floats,
) -> None:
    """Tally how far each claim is from its task's density; find the truths where there is room.

    Parameters
    ----------
    offsets, worker_codes, values, known_truths, weights, weight_unit, error_unit, truths, \
standard_errors, spreads
        As of `tests.reference.numeric.mean_kernel`.
    at_mode : bool
        Whether the truth is the mode of the density, which has no standard error: NaN. Otherwise
        it is the mean.
    loss_unit : float
        What 1.0 is stored as in sums of a worker's losses.
    squared : ndarray of int64
        Per worker, to which squared errors are added where there is room for truths; else nothing.
    losses : ndarray of int64
        Per worker, to which squared residuals over the number of claims are added: at most 2 each.
    """
    longest = longest_of(offsets)
    room = np.empty((5, longest + 1))
    codes = np.empty((3, longest), np.int64)
    points, shares, shortfalls = room[0], room[1], room[2]
    masses, point_of = codes[0], codes[1]
    for task in range(len(offsets) - 1):
        start, end = offsets[task], offsets[task + 1]
        truth, known = known_truths[task], not np.isnan(known_truths[task])
        ranked, places = room[3, : end - start], codes[2, : end - start]
        rank_values(values[start:end], ranked, places)
        spread = spread_of(start, end, values, truth)
        bandwidth = _bandwidth(ranked, truth, spread, room[4])
        price = loss_unit / max(end - start, 1)
        count, mean = 0, 0.0
        if known:
            for row in range(start, end):
                loss = 2.0 * _gap((values[row] - truth) / bandwidth)
                losses[worker_codes[row]] += np.int64(np.rint(loss * price))
        else:
            count = _gather(
                ranked,
                places,
                worker_codes[start:end],
                weights,
                weight_unit,
                points,
                masses,
                shares,
                point_of,
            )
            mean = _fill_shortfalls(points[:count], shares, bandwidth, shortfalls[:count])
            for row in range(start, end):
                loss = max(2.0 * shortfalls[point_of[row - start]] - mean, 0.0)
                losses[worker_codes[row]] += np.int64(np.rint(loss * price))
        if not len(truths):
            continue
        standard_error = 0.0 if known else np.nan
        if not known and count == 0:
            truth = 0.0
        elif not known and at_mode and np.isinf(bandwidth):
            truth = _weighted_median(points[:count], masses[:count])
        elif not known and at_mode:
            best = _densest(shortfalls[:count])
            truth = _climb(points[:count], shares, bandwidth, best)
        elif not known:
            middle, total = weighted_mean_of(start, end, worker_codes, values, weights, weight_unit)
            truth = min(max(middle, points[0]), points[count - 1])
            standard_error = standard_error_of(
                start, end, worker_codes, values, weights, weight_unit, middle, total
            )
        errors = add_squared(start, end, worker_codes, values, truth, error_unit, squared)
        truths[task] = truth
        standard_errors[task] = standard_error
        spreads[task] = np.sqrt(errors / error_unit / max(end - start, 1))
