"""Smoothing kernels, one pair of numbers at a time, for compiled loops.

``gaussian`` chooses the kernel: Gaussian, or Epanechnikov's. Differences and bandwidths are in the
unit of the claims; a ratio to a bandwidth is in none. Derivations:
``docs/theory/crowd-densities.md``.
"""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["density_at", "feature_gap", "feature_inner_at", "feature_norm", "overlap_of"]

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
