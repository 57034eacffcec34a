"""Densities for tests, and quadrature."""

from itertools import pairwise

import numpy as np
from scipy.integrate import quad

from quietcrowd.synthesis.kde import GAUSSIAN, KernelDensities

__all__ = ["crowd", "integral", "reach"]


def reach(kernel, bandwidth):
    return 12 * bandwidth if kernel is GAUSSIAN else bandwidth


def integral(function, low, high, breaks=()):
    """Return an integral, in pieces between which a function may bend."""
    inner = sorted(place for place in breaks if low < place < high)
    ends = [low, *inner, high]
    return sum(
        quad(function, left, right, epsabs=1e-13, epsrel=1e-12)[0] for left, right in pairwise(ends)
    )


def crowd(kernel, seed=0, sizes=(3, 0, 1, 7), scale=1.0):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    points = rng.normal(0, scale, offsets[-1])
    weights = rng.uniform(0.1, 1, offsets[-1])
    for start, end in pairwise(offsets):
        weights[start:end] /= weights[start:end].sum()
    return KernelDensities(
        offsets=offsets,
        points=points,
        weights=weights,
        bandwidths=scale * rng.uniform(0.3, 1.5, len(sizes)),
        kernel=kernel,
    )
