"""Kernel densities of claims, distances of claims from them, and rules for bandwidths.

A density is a weighted mean of kernels at the claims of a task. The claims of task ``t`` are rows
``offsets[t]`` to ``offsets[t + 1] - 1``. Closed forms of the integrals:
``research/docs/theory/crowd-densities.md``.

The rules derive bandwidths from claims and leak them, so a guarantee for a public bandwidth does
not hold for theirs. Use them to explore claims, not for releases.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd._core import (
    claim_distances,
    feature_inners,
    kernel_densities,
    kernel_overlaps,
)
from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.claim_arrays import (
    Floats,
    Offsets,
    checked_bandwidths,
    checked_offsets,
    checked_rows,
    checked_shares,
    checked_widths,
    sums_per_task,
    task_of_rows,
)
from quietcrowd.validation import check_choice, check_real, check_whole, one_of


@frozen(kw_only=True)
class Kernel:
    """Probability density around a claim, scaled by a bandwidth: `GAUSSIAN` or `EPANECHNIKOV`.

    Arguments of the methods broadcast; bandwidths and differences are in the unit of the claims.
    Bandwidths must be above 0, or ParameterError is raised. `mean_distance` from the center, and
    `reach`, the end of the support, are in bandwidths. `gaussian` selects the kernel in compiled
    loops.
    """

    name: str
    gaussian: bool = field(repr=False)
    mean_distance: float = field(repr=False)
    reach: float = field(repr=False)

    def density(self, difference: npt.ArrayLike, bandwidth: npt.ArrayLike) -> Floats:
        """Return the density ``K_h`` at a difference from the center.

        The bandwidth h is the standard deviation of the Gaussian kernel, and half the width of
        Epanechnikov's ``3 / (4 h) (1 - (difference / h)^2)``.
        """
        return _elementwise(kernel_densities, self.gaussian, difference, bandwidth)

    def feature_inner(self, difference: npt.ArrayLike, bandwidth: npt.ArrayLike) -> Floats:
        """Return the inner product of two kernels with one bandwidth that defines distances.

        For Gaussian kernels it is ``K_h`` at the difference of the centers, the inner product in
        the reproducing kernel Hilbert space. Epanechnikov's kernel is not positive definite; its
        inner product is the integral of the product of the densities.
        """
        return _elementwise(feature_inners, self.gaussian, difference, bandwidth)

    def inner(
        self, difference: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike
    ) -> Floats:
        """Return the integral of the product of densities with bandwidths `first` and `second`.

        For Gaussian kernels it is the density of ``N(0, first^2 + second^2)`` at the difference.
        """
        return _elementwise(kernel_overlaps, self.gaussian, difference, first, second)


GAUSSIAN = Kernel(
    name="gaussian", gaussian=True, mean_distance=math.sqrt(2 / math.pi), reach=math.inf
)
EPANECHNIKOV = Kernel(name="epanechnikov", gaussian=False, mean_distance=3 / 8, reach=1.0)
KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {kernel.name: kernel for kernel in (GAUSSIAN, EPANECHNIKOV)}
)


@frozen(kw_only=True, eq=False)
class KernelDensities:
    """One density per task: a weighted mean of kernels at the task's points.

    Points are claims or synthetic claims. `weights` are at least 0 and sum to 1 in each nonempty
    task. `bandwidths`, shape (tasks,), are above 0, in the unit of the points. Source: Huai et al.,
    IJCAI 2019, equation 5.
    """

    offsets: Offsets = field(converter=checked_offsets)
    points: Floats
    weights: Floats
    bandwidths: Floats
    kernel: Kernel = field(default=GAUSSIAN, validator=one_of(*KERNELS.values()))

    def __attrs_post_init__(self) -> None:
        given: dict[str, Any] = {
            "points": checked_rows("points", self.points, self.offsets),
            "weights": checked_shares("weights", self.weights, self.offsets),
            "bandwidths": checked_bandwidths(self.bandwidths, self.offsets),
        }
        for name, values in given.items():
            object.__setattr__(self, name, values)

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return len(self.offsets) - 1

    def pdf(self, task_index: int, x: npt.ArrayLike) -> Floats:
        """Return the density of a task at `x`, in the unit of the points."""
        check_whole("task_index", task_index, 0, self.tasks - 1)
        rows = slice(self.offsets[task_index], self.offsets[task_index + 1])
        if rows.start == rows.stop:
            raise ParameterError("synthesis.task-without-points", task_index=task_index)
        places = np.asarray(x, np.float64)
        density = np.zeros(places.shape)
        for point, weight in zip(self.points[rows], self.weights[rows], strict=True):
            density += weight * self.kernel.density(places - point, self.bandwidths[task_index])
        return density


def distances(
    offsets: npt.ArrayLike,
    values: npt.ArrayLike,
    weights: npt.ArrayLike,
    bandwidths: npt.ArrayLike,
    kernel: Kernel,
) -> Floats:
    """Return the squared distance of each claim's kernel from its task's density, shape (rows,).

    It uses `Kernel.feature_inner` (Huai et al., IJCAI 2019, equations 1 and 3), and is in one over
    the unit of the values.
    """
    check_choice("kernel", kernel, list(KERNELS.values()))
    begins = checked_offsets(offsets)
    claims = checked_rows("values", values, begins)
    shares = checked_shares("weights", weights, begins)
    widths = checked_bandwidths(bandwidths, begins)
    squared = np.empty(len(claims))
    claim_distances(kernel.gaussian, (begins, claims, shares, widths), squared)
    return squared


def _elementwise(
    fill: Callable[..., None],
    gaussian: bool,
    difference: npt.ArrayLike,
    *bandwidths: npt.ArrayLike,
) -> Floats:
    widths = map(checked_widths, bandwidths)
    arrays = np.broadcast_arrays(np.asarray(difference, np.float64), *widths)
    found = np.empty(arrays[0].shape)
    fill(gaussian, *(array.flatten() for array in arrays), found.reshape(-1))
    return found


LEAST_PART = 1e-3
"""Smallest bandwidth, as a fraction of the public range."""


def silverman(offsets: npt.ArrayLike, values: npt.ArrayLike, *, value_range: float) -> Floats:
    """Return bandwidths by Silverman's rule, per task. They leak claims and void the guarantee.

    ``1.06 min(standard deviation, interquartile range / 1.34) n^(-1/5)`` of a task's n claims, and
    at least a thousandth of `value_range`, the public width of the range (Silverman, "Density
    estimation", 1986, section 3.4).
    """
    begins, claims, least = _checked(offsets, values, value_range)
    counts = np.diff(begins)
    mean = sums_per_task(claims, begins) / np.maximum(counts, 1)
    squares = sums_per_task((claims - mean[task_of_rows(begins)]) ** 2, begins)
    deviation = np.sqrt(squares / np.maximum(counts - 1, 1))
    ranked = _ranked(claims, begins)
    middle_half = _quantiles(ranked, begins, 0.75) - _quantiles(ranked, begins, 0.25)
    spread = np.minimum(deviation, middle_half / 1.34)
    return np.asarray(np.maximum(1.06 * spread * np.maximum(counts, 1) ** -0.2, least))


def mad(offsets: npt.ArrayLike, values: npt.ArrayLike, *, value_range: float) -> Floats:
    """Return the median absolute deviation from the median, per task, as bandwidths.

    They leak claims and void the guarantee. For bounds and errors see `silverman`. Source: Wan et
    al., "From truth discovery to trustworthy opinion discovery", KDD 2016.
    """
    begins, claims, least = _checked(offsets, values, value_range)
    middle = _quantiles(_ranked(claims, begins), begins, 0.5)
    off = np.abs(claims - middle[task_of_rows(begins)])
    return np.maximum(_quantiles(_ranked(off, begins), begins, 0.5), least)


RULES: Mapping[str, Callable[..., Floats]] = MappingProxyType({"silverman": silverman, "mad": mad})


def _checked(
    offsets: npt.ArrayLike, values: npt.ArrayLike, value_range: float
) -> tuple[Offsets, Floats, float]:
    begins = checked_offsets(offsets)
    check_real("value_range", value_range, 0)
    if value_range == 0:
        raise ParameterError("synthesis.value-range-zero")
    return begins, checked_rows("values", values, begins), LEAST_PART * value_range


def _ranked(numbers: Floats, offsets: Offsets) -> Floats:
    return numbers[np.lexsort((numbers, task_of_rows(offsets)))]


def _quantiles(ranked: Floats, offsets: Offsets, part: float) -> Floats:
    """Interpolate a quantile of each task's sorted numbers; 0 for empty tasks."""
    if not len(ranked):
        return np.zeros(len(offsets) - 1)
    counts = np.diff(offsets)
    place = part * np.maximum(counts - 1, 0)
    below = np.minimum(offsets[:-1] + place.astype(np.int64), len(ranked) - 1)
    above = np.minimum(below + 1, np.maximum(offsets[1:] - 1, 0))
    found = ranked[below] + (place % 1.0) * (ranked[above] - ranked[below])
    return np.where(counts > 0, found, 0.0)
