"""The inner loops over kernel densities; see `quietcrowd.synthesis.kde_kernels`."""

from __future__ import annotations

import math
from typing import TypeAlias

import numba
import numpy as np
import numpy.typing as npt

__all__ = [
    "densities_at",
    "density_at",
    "distance_kernel",
    "feature_gap",
    "feature_inner_at",
    "feature_inners_at",
    "feature_norm",
    "fill_distances",
    "overlap_of",
    "overlaps_of",
    "squared_error_kernel",
]

Floats: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.int64]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def densities_at(gaussian: bool, differences: Floats, bandwidths: Floats) -> Floats:
    """Return `density_at` of each difference and bandwidth."""
    found = np.empty(len(differences))
    for place in range(len(found)):
        found[place] = density_at(gaussian, differences[place], bandwidths[place])
    return found


@numba.njit(nogil=True, cache=True, error_model="numpy")
def feature_inners_at(gaussian: bool, differences: Floats, bandwidths: Floats) -> Floats:
    """Return `feature_inner_at` of each difference and bandwidth."""
    found = np.empty(len(differences))
    for place in range(len(found)):
        found[place] = feature_inner_at(gaussian, differences[place], bandwidths[place])
    return found


@numba.njit(nogil=True, cache=True, error_model="numpy")
def overlaps_of(gaussian: bool, differences: Floats, firsts: Floats, seconds: Floats) -> Floats:
    """Return `overlap_of` of each difference and pair of bandwidths."""
    found = np.empty(len(differences))
    for place in range(len(found)):
        found[place] = overlap_of(gaussian, differences[place], firsts[place], seconds[place])
    return found


@numba.njit(nogil=True, cache=True, error_model="numpy")
def fill_distances(
    gaussian: bool, claims: Floats, shares: Floats, bandwidth: float, distances: Floats
) -> None:
    """Fill in how far each kernel of a task is from their mean, squared, in kernels' own lengths.

    With shares a that sum to 1 and inner products ``1 - gap``, this is ``2 gap a - a' gap a``: a
    small distance is no difference of large numbers. It is 0 to 2.
    """
    distances[:] = 0.0
    for place in range(len(claims)):
        for other in range(place + 1, len(claims)):
            gap = feature_gap(gaussian, claims[place] - claims[other], bandwidth)
            distances[place] += shares[other] * gap
            distances[other] += shares[place] * gap
    mean = 0.0
    for place in range(len(claims)):
        mean += shares[place] * distances[place]
    for place in range(len(claims)):
        distances[place] = max(2.0 * distances[place] - mean, 0.0)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def distance_kernel(
    gaussian: bool,
    offsets: Counts,
    values: Floats,
    weights: Floats,
    bandwidths: Floats,
    distances: Floats,
) -> None:
    """Fill in the squared distance of each claim's kernel from its task's density."""
    for task in range(len(offsets) - 1):
        rows = slice(offsets[task], offsets[task + 1])
        fill_distances(gaussian, values[rows], weights[rows], bandwidths[task], distances[rows])
        square = feature_norm(gaussian, bandwidths[task])
        for row in range(offsets[task], offsets[task + 1]):
            distances[row] *= square


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _product(
    gaussian: bool,
    points: Floats,
    weights: Floats,
    bandwidth: float,
    others: Floats,
    other_weights: Floats,
    other_bandwidth: float,
) -> float:
    """Return the integral of the product of two densities."""
    total = 0.0
    for place in range(len(points)):
        row = 0.0
        for other in range(len(others)):
            difference = points[place] - others[other]
            row += other_weights[other] * overlap_of(
                gaussian, difference, bandwidth, other_bandwidth
            )
        total += weights[place] * row
    return total


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _square(gaussian: bool, points: Floats, weights: Floats, bandwidth: float) -> float:
    """Return the integral of the square of a density."""
    twice, once = 0.0, 0.0
    for place in range(len(points)):
        row = 0.0
        for other in range(place):
            difference = points[place] - points[other]
            row += weights[other] * overlap_of(gaussian, difference, bandwidth, bandwidth)
        twice += weights[place] * row
        once += weights[place] * weights[place]
    return float(2.0 * twice + once * overlap_of(gaussian, 0.0, bandwidth, bandwidth))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def squared_error_kernel(
    gaussian: bool,
    run: tuple[int, int],
    offsets: Counts,
    points: Floats,
    weights: Floats,
    bandwidths: Floats,
    other_offsets: Counts,
    other_points: Floats,
    other_weights: Floats,
    other_bandwidths: Floats,
    errors: Floats,
) -> None:
    """Fill in the integral of the squared difference of two densities for a run of tasks.

    NaN where a density has no points.
    """
    for task in range(run[0], run[1]):
        rows = slice(offsets[task], offsets[task + 1])
        others = slice(other_offsets[task], other_offsets[task + 1])
        if rows.start == rows.stop or others.start == others.stop:
            errors[task] = np.nan
            continue
        width, other_width = bandwidths[task], other_bandwidths[task]
        squares = _square(gaussian, points[rows], weights[rows], width)
        squares += _square(gaussian, other_points[others], other_weights[others], other_width)
        product = _product(
            gaussian,
            points[rows],
            weights[rows],
            width,
            other_points[others],
            other_weights[others],
            other_width,
        )
        errors[task] = max(squares - 2.0 * product, 0.0)


FAR = 9.0
"""So many bandwidths apart, a Gaussian kernel is below 2^-58 of its peak."""

_NORMAL = 1.0 / math.sqrt(2.0 * math.pi)
_NODE = math.sqrt(0.6)
"""Where a Gauss-Legendre rule of three points has the outer two, on -1..1."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def density_at(gaussian: bool, difference: float, bandwidth: float) -> float:
    """Return the kernel as a density: it integrates to 1 over the difference."""
    ratio = difference / bandwidth
    if gaussian:
        return float(_NORMAL / bandwidth * np.exp(-0.5 * ratio * ratio))
    return float(0.75 / bandwidth * (1.0 - ratio * ratio)) if abs(ratio) < 1.0 else 0.0


@numba.njit(nogil=True, cache=True, error_model="numpy")
def feature_norm(gaussian: bool, bandwidth: float) -> float:
    """Return the squared length of a kernel in the space where distances are measured."""
    return float((_NORMAL if gaussian else 0.6) / bandwidth)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def feature_gap(gaussian: bool, difference: float, bandwidth: float) -> float:
    """Return by how much an inner product falls short of `feature_norm`, as a part of it.

    It has no cancellation where the difference is small.
    """
    ratio = abs(difference / bandwidth)
    if gaussian:
        return float(-np.expm1(-0.5 * ratio * ratio)) if ratio < FAR else 1.0
    if ratio >= 2.0:
        return 1.0
    return float(ratio * ratio * (40.0 + ratio * (ratio * ratio - 20.0)) / 32.0)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def feature_inner_at(gaussian: bool, difference: float, bandwidth: float) -> float:
    """Return the inner product of two kernels in the space where distances are measured."""
    if gaussian:
        return float(density_at(True, difference, bandwidth))
    ratio = abs(difference / bandwidth)
    if ratio >= 2.0:
        return 0.0
    return float(3.0 / 160.0 / bandwidth * (2.0 - ratio) ** 3 * (ratio * (ratio + 6.0) + 4.0))


@numba.njit(nogil=True, cache=True, error_model="numpy")
def overlap_of(gaussian: bool, difference: float, first: float, second: float) -> float:
    """Return the integral of the product of two kernels of these bandwidths.

    Epanechnikov's are a polynomial of degree 4 where they overlap: three points are exact.
    """
    if gaussian:
        return float(density_at(True, difference, np.hypot(first, second)))
    low, high = max(-first, difference - second), min(first, difference + second)
    if low >= high:
        return 0.0
    middle, half = low + (high - low) / 2.0, (high - low) / 2.0
    total = 0.0
    for place, weight in ((-_NODE, 5.0 / 9.0), (0.0, 8.0 / 9.0), (_NODE, 5.0 / 9.0)):
        point = middle + half * place
        left, right = point / first, (point - difference) / second
        total += weight * (1.0 - left * left) * (1.0 - right * right)
    return float(0.5625 * total * (half / first) / second)
