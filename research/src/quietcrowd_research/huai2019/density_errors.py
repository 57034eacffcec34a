"""How far apart the densities of two sets of claims are, and how far they can be.

Derivations: ``research/docs/theory/crowd-densities.md``.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from quietcrowd._core import squared_errors
from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.claim_arrays import Floats, Offsets, checked_widths, task_runs
from quietcrowd.synthesis.kde import KERNELS, Kernel, KernelDensities
from quietcrowd.validation import check_choice, check_real, check_whole


def integrated_squared_errors(
    first: KernelDensities, second: KernelDensities, *, n_jobs: int | None = None
) -> Floats:
    """Return the integral of ``(f - g)^2`` over the line for each task's two densities f and g.

    Parameters
    ----------
    first, second : KernelDensities
        Of the same tasks, with one kernel; points and bandwidths may differ.
    n_jobs : int, optional
        Default: as many as the process may use and the points are worth. They change no bit.

    Returns
    -------
    ndarray of float64, shape (tasks,)
        In one over the unit of the points, at least 0; NaN where either density has no points.
        Rounding leaves an error of about 1e-16 of the densities' own squares.

    Raises
    ------
    ParameterError
        Where tasks or kernels do not match.

    Examples
    --------
    >>> from quietcrowd.synthesis.kde import EPANECHNIKOV
    >>> near, far = (
    ...     KernelDensities(offsets=[0, 1], points=[x], weights=[1.0], bandwidths=[1.0],
    ...                     kernel=EPANECHNIKOV)
    ...     for x in (0.0, 5.0)
    ... )
    >>> integrated_squared_errors(near, far).round(6).tolist()
    [1.2]
    """
    if first.tasks != second.tasks:
        raise ParameterError(
            f"first has {first.tasks} tasks and second has {second.tasks}; compare the same tasks"
        )
    if first.kernel != second.kernel:
        raise ParameterError(
            f"first has the kernel {first.kernel.name!r} and second has {second.kernel.name!r}; "
            "compare densities of one kernel"
        )
    errors = np.empty(first.tasks)
    runs = task_runs(first.offsets + second.offsets, n_jobs)

    def fill(run: tuple[int, int]) -> None:
        squared_errors(first.kernel.gaussian, *run, _arrays(first), _arrays(second), errors)

    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(fill, runs))
    return errors


def _arrays(densities: KernelDensities) -> tuple[Offsets, Floats, Floats, Floats]:
    return densities.offsets, densities.points, densities.weights, densities.bandwidths


def ise(errors: npt.ArrayLike) -> float:
    """Return the integrated squared error of all tasks: the sum of theirs.

    Parameters
    ----------
    errors : array_like of float, shape (tasks,)
        From `integrated_squared_errors`.

    Raises
    ------
    ParameterError
        Where an error is not finite and at least 0: the message says of which tasks.

    References
    ----------
    Huai et al., IJCAI 2019, section 5.
    """
    return float(_checked_errors(errors).sum())


def sise(errors: npt.ArrayLike) -> float:
    """Return the sum of the square roots of the tasks' integrated squared errors.

    Of the two forms of SISE this is the one that the published table can be: there it exceeds the
    square of the ISE, which a sum of squares cannot; see `sise_printed`.

    Parameters
    ----------
    errors : array_like of float, shape (tasks,)
        From `integrated_squared_errors`.

    Raises
    ------
    ParameterError
        Where an error is not finite and at least 0: the message says of which tasks.

    References
    ----------
    Huai et al., IJCAI 2019, Table 2; ``research/docs/theory/crowd-densities.md``.
    """
    return float(np.sqrt(_checked_errors(errors)).sum())


def sise_printed(errors: npt.ArrayLike) -> float:
    """Return the sum of the squares of the tasks' integrated squared errors.

    That is the definition of SISE as printed. It is at most the square of the ISE, which 12 of the
    15 numbers in the published table are not; see `sise`.

    Parameters
    ----------
    errors : array_like of float, shape (tasks,)
        From `integrated_squared_errors`.

    Raises
    ------
    ParameterError
        Where an error is not finite and at least 0: the message says of which tasks.

    References
    ----------
    Huai et al., IJCAI 2019, section 5.
    """
    return float((_checked_errors(errors) ** 2).sum())


def theorem_1_bound(
    *,
    slope: float,
    bandwidth: float,
    draws: int,
    kernel: Kernel,
    support: float = math.inf,
) -> float:
    """Return a bound of the mean integrated squared error of a density made from draws of another.

    Of ``m`` independent draws from a density f, each is given the same weight. The mean of the
    integral of the squared difference from f is at most ``min(2 b, b^2 V) + B / (m h)``, where
    ``b = A h kernel.mean_distance`` bounds the bias at any place, V is how far the support of f
    reaches once it is wider by the kernel's reach on both sides, and B is the integral of the
    squared kernel of bandwidth 1.

    The published bound needs a kernel of variance 1 within -1..1, which no density is. Nor does
    either bound hold for synthetic claims that a privacy test let through: the test prefers dense
    places, and what it lets through is no draw from f.

    Parameters
    ----------
    slope : float
        A: no two values of f differ by more than A times the distance of their places; in one over
        the square of the unit of the claims, at least 0.
    bandwidth : float
        h, above 0, of the density that is made.
    draws : int
        m, at least 1.
    kernel : Kernel
        Of the density that is made.
    support : float
        Length of the shortest interval outside which f is 0; infinite where there is none.

    Raises
    ------
    ParameterError
        Where a number is out of its range.

    References
    ----------
    The statement is of the kind of Theorem 1 of Huai et al., IJCAI 2019; the bound is derived in
    ``research/docs/theory/crowd-densities.md``.

    Examples
    --------
    >>> from quietcrowd.synthesis.kde import EPANECHNIKOV
    >>> round(theorem_1_bound(slope=1.0, bandwidth=0.1, draws=1000, kernel=EPANECHNIKOV,
    ...                       support=2.0), 6)
    0.009094
    """
    check_choice("kernel", kernel, list(KERNELS.values()))
    check_real("slope", slope, 0)
    check_whole("draws", draws, 1)
    width = float(checked_widths(bandwidth))
    if not support >= 0:
        raise ParameterError(f"support must be a length of at least 0; got {support!r}")
    bias = slope * width * kernel.mean_distance
    length = support + 2 * kernel.reach * width
    squared_bias = 2 * bias if math.isinf(length) else min(2 * bias, bias * bias * length)
    return squared_bias + float(kernel.inner(0.0, 1.0, 1.0)) / (draws * width)


def claimed_theorem_1_bound(
    *, slope: float, bandwidth: float, draws: int, kernel: Kernel, support: float
) -> float:
    """Return the published bound in one dimension: ``4 A h + A^2 h^2 V + B / (m h) + A B V / m``.

    Parameters and errors are those of `theorem_1_bound`; V is `support`, which is finite. The
    published proof needs a kernel of variance 1 within -1..1, and there is none.

    References
    ----------
    Huai et al., IJCAI 2019, Theorem 1, equation 6.

    Examples
    --------
    >>> from quietcrowd.synthesis.kde import GAUSSIAN
    >>> round(claimed_theorem_1_bound(slope=0.24, bandwidth=1.0, draws=30, kernel=GAUSSIAN,
    ...                               support=20.0), 3)
    2.167
    """
    check_choice("kernel", kernel, list(KERNELS.values()))
    check_real("slope", slope, 0)
    check_real("support", support, 0)
    check_whole("draws", draws, 1)
    width, square = float(checked_widths(bandwidth)), float(kernel.inner(0.0, 1.0, 1.0))
    bias = 4 * slope * width + (slope * width) ** 2 * support
    return bias + square / (draws * width) + slope * square * support / draws


def _checked_errors(errors: npt.ArrayLike) -> Floats:
    given = np.asarray(errors, np.float64)
    if given.ndim != 1:
        raise ParameterError(f"errors must be one number per task; got shape {given.shape}")
    wrong = np.flatnonzero(~(np.isfinite(given) & (given >= 0)))
    if len(wrong):
        some = ", ".join(f"{task} ({given[task].item()!r})" for task in wrong[:5])
        raise ParameterError(
            f"errors must be finite and at least 0; not so of {len(wrong)} of {len(given)} tasks: "
            f"{some}{', ...' if len(wrong) > 5 else ''}. A task without points has no error: "
            "leave it out of both densities"
        )
    return given
