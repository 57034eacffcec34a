"""What each claim counts in its task's density: for its worker, and for where it lies.

Claims are sorted by task, as `quietcrowd.synthesis.kde` has them. Weights of claims sum to 1 over
each task that has any. All but `uniform_weights` are learnt from the claims, so they leak them;
only for weights that are public, or learnt from other data, does a guarantee hold as it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd._core import hampel_losses, hampel_psis, tally_distances, weigh_locally
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import integer_sums
from quietcrowd.inference.numbers.model import LEAST_SHARE
from quietcrowd.synthesis.claim_arrays import (
    Floats,
    checked_bandwidths,
    checked_codes,
    checked_offsets,
    checked_rows,
    checked_shares,
    shares_of,
    task_of_rows,
    task_runs,
)
from quietcrowd.synthesis.kde import KERNELS, Kernel
from quietcrowd.validation import check_choice, check_real, check_whole

__all__ = [
    "Combination",
    "GlobalWeights",
    "Weighting",
    "checked_quantiles",
    "combined_weights",
    "floored_weights",
    "global_weights",
    "hampel_loss",
    "hampel_psi",
    "local_weights",
    "uniform_weights",
]

Weighting: TypeAlias = Literal["uniform", "local", "global", "combined", "printed"]
"""What the claims of a task are weighted by."""

Combination: TypeAlias = Literal["product", "geometric"]
"""How global and local weights become one."""

MOST_DISTANCE = 2.0
"""The squared distance of two kernels of length 1, and of one from a mean of kernels, at most."""


@frozen(kw_only=True, eq=False)
class GlobalWeights:
    """What each worker's claims count, on all tasks.

    Attributes
    ----------
    weights : ndarray of float64, shape (workers,)
        At least 0; 0 for a worker without claims.
    iterations : int
        How many updates were made.
    converged : bool
        Whether the weights converged before the limit.
    """

    weights: Floats
    iterations: int
    converged: bool


def uniform_weights(offsets: npt.ArrayLike) -> Floats:
    """Return the same weight for all claims of a task: one over their number.

    Parameters
    ----------
    offsets : array_like of int64, shape (tasks + 1,)
        The claims of task ``t`` are rows ``offsets[t]`` to ``offsets[t + 1] - 1``.

    Returns
    -------
    ndarray of float64, shape (rows,)
        Above 0.

    Raises
    ------
    ParameterError
        Where the offsets break their rule.

    Examples
    --------
    >>> uniform_weights([0, 2, 2, 3]).tolist()
    [0.5, 0.5, 1.0]
    """
    begins = checked_offsets(offsets)
    return shares_of(np.zeros(begins[-1]), begins)


def global_weights(
    offsets: npt.ArrayLike,
    worker_codes: npt.ArrayLike,
    values: npt.ArrayLike,
    bandwidths: npt.ArrayLike,
    *,
    kernel: Kernel,
    workers: int,
    per_claim: bool = True,
    max_iterations: int = 50,
    tolerance: float = 1e-6,
    threads: int | None = None,
) -> GlobalWeights:
    """Weigh workers by how close their claims are to the densities, and the densities by workers.

    In turn, from equal weights on::

        f_i = sum of g_s K(., x_is) over the workers s of task i, over the sum of g_s
        d_is = squared distance of K(., x_is) from f_i, in squared lengths of a kernel
        D_s = sum, or mean, of d_is over the claims of worker s
        g_s = -ln( D_s / sum of all D )

    A task where all g are 0 counts its claims equally. No D counts as less than 1e-12 of all;
    where all are 0, every worker with claims has the weight 1.

    Parameters
    ----------
    offsets : array_like of int64, shape (tasks + 1,)
        The claims of task ``t`` are rows ``offsets[t]`` to ``offsets[t + 1] - 1``.
    worker_codes : array_like of int32, shape (rows,)
        Who claims it: 0 to `workers` - 1.
    values : array_like of float, shape (rows,)
        What is claimed.
    bandwidths : array_like of float, shape (tasks,)
        In the unit of the values, above 0.
    kernel : Kernel
        Of the densities.
    workers : int
        How many there are, at least 1.
    per_claim : bool
        Whether D is a mean, so that a worker loses nothing by more claims. The paper has a sum.
    max_iterations : int
        At least 1.
    tolerance : float
        The loop ends when no weight changes by more than this part of the largest; at least 0.
    threads : int, optional
        Default: as many as the process may use and the claims are worth. They change no bit.

    Raises
    ------
    ParameterError
        Where an array or a parameter breaks its rule; the message says the row or the task.

    References
    ----------
    Huai et al., "Privacy-aware synthesizing for crowdsourced data", IJCAI 2019, equations 1-2.

    Examples
    --------
    >>> from quietcrowd.synthesis.kde import GAUSSIAN
    >>> claims = [0.0, 0.1, 9.0, 5.0, 5.1, -4.0]
    >>> found = global_weights([0, 3, 6], [0, 1, 2, 0, 1, 2], claims, [1.0, 1.0],
    ...                        kernel=GAUSSIAN, workers=3)
    >>> found.weights.round(2).tolist()
    [6.69, 6.69, 0.0]
    """
    check_choice("kernel", kernel, list(KERNELS.values()))
    check_whole("workers", workers, 1)
    check_whole("max_iterations", max_iterations, 1)
    check_real("tolerance", tolerance, 0)
    begins = checked_offsets(offsets)
    codes = checked_codes(worker_codes, begins, workers)
    claims = checked_rows("values", values, begins)
    widths = checked_bandwidths(bandwidths, begins)
    runs = task_runs(begins, threads)
    unit = integer_sums.unit_for(MOST_DISTANCE * len(claims))
    counts = np.bincount(codes, minlength=workers)
    weights, iterations, converged = (counts > 0).astype(np.float64), 0, False

    def tally(run: tuple[int, int]) -> npt.NDArray[np.int64]:
        sums = np.zeros(workers, np.int64)
        tally_distances(kernel.gaussian, *run, begins, codes, claims, widths, weights, unit, sums)
        return sums

    with ThreadPoolExecutor(len(runs)) as pool:
        while iterations < max_iterations and not converged:
            sums = np.sum(list(pool.map(tally, runs)), axis=0) / unit
            new = _from_distances(sums / np.maximum(counts, 1) if per_claim else sums, counts)
            change = np.abs(new - weights).max()
            converged = bool(change <= tolerance * new.max())
            weights, iterations = new, iterations + 1
    return GlobalWeights(weights=weights, iterations=iterations, converged=converged)


def _from_distances(sums: Floats, counts: npt.NDArray[np.int64]) -> Floats:
    """Return minus the logarithm of each worker's share of all distances; 0 without claims."""
    total = integer_sums.exact_sum(sums, len(sums))
    if total == 0:
        return (counts > 0).astype(np.float64)
    weights = -np.log(np.clip(sums / total, LEAST_SHARE, 1.0)) + 0.0  # no minus 0
    return np.where(counts > 0, weights, 0.0)


def local_weights(
    offsets: npt.ArrayLike,
    values: npt.ArrayLike,
    bandwidths: npt.ArrayLike,
    *,
    kernel: Kernel,
    quantiles: tuple[float, float, float] = (0.5, 0.75, 0.85),
    printed: bool = False,
    max_iterations: int = 50,
    tolerance: float = 1e-6,
    threads: int | None = None,
) -> Floats:
    """Weigh each task's claims by how close they are to its density, outliers not at all.

    In turn, from equal weights on, and each task by itself::

        r_s = distance of K(., x_s) from the sum of l_t K(., x_t)
        l_s = psi(r_s) / r_s, over the sum of these

    psi is the derivative of Hampel's loss (`hampel_psi`); its thresholds are quantiles of the
    task's first r. The loss itself in place of ``psi(r) / r``, as in the text of the paper that we
    have, weighs the outliers most, against what it says; ``docs/theory/crowd-densities.md``.

    Weights are equal where a task has one or two claims, where its claims are equal, and where all
    would be 0.

    Parameters
    ----------
    offsets, values, bandwidths, kernel, threads
        As of `global_weights`.
    quantiles : tuple of three float
        Ascending, 0 to 1.
    printed : bool
        Whether the loss stands in place of ``psi(r) / r``.
    max_iterations : int
        At least 1.
    tolerance : float
        A task is done when no weight changes by more than this part of its largest; at least 0.

    Returns
    -------
    ndarray of float64, shape (rows,)
        At least 0.

    Raises
    ------
    ParameterError
        Where an array or a parameter breaks its rule; the message says the row or the task.

    References
    ----------
    Huai et al., IJCAI 2019, equation 3; J. Kim and C. D. Scott, "Robust kernel density estimation",
    JMLR 2012, for the update.

    Examples
    --------
    >>> from quietcrowd.synthesis.kde import GAUSSIAN
    >>> local_weights([0, 5], [0.0, 0.1, 0.2, 0.1, 9.0], [1.0], kernel=GAUSSIAN).round(2).tolist()
    [0.25, 0.25, 0.25, 0.25, 0.0]
    """
    check_whole("max_iterations", max_iterations, 1)
    check_real("tolerance", tolerance, 0)
    check_choice("kernel", kernel, list(KERNELS.values()))
    parts, least = checked_quantiles(quantiles), float(tolerance)
    begins = checked_offsets(offsets)
    claims = checked_rows("values", values, begins)
    widths = checked_bandwidths(bandwidths, begins)
    weights = np.empty(len(claims))

    def fill(run: tuple[int, int]) -> None:
        weigh_locally(
            kernel.gaussian,
            *run,
            begins,
            claims,
            widths,
            parts,
            max_iterations,
            least,
            bool(printed),
            weights,
        )

    runs = task_runs(begins, threads)
    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(fill, runs))
    return weights


def hampel_loss(residuals: npt.ArrayLike, first: float, second: float, third: float) -> Floats:
    """Return Hampel's loss: a square up to `first`, then linear, then flattening out to `third`.

    Parameters
    ----------
    residuals : array_like of float
        At least 0.
    first, second, third : float
        Thresholds, ascending, at least 0, in the unit of the residuals.

    Returns
    -------
    ndarray of float64
        Of the shape of the residuals, in the square of their unit.

    Raises
    ------
    ParameterError
        Where a residual is below 0, or the thresholds do not ascend.

    References
    ----------
    Hampel et al., "Robust statistics: the approach based on influence functions", 1986.

    Examples
    --------
    >>> hampel_loss([0.5, 1.5, 9.0], 1.0, 2.0, 4.0).tolist()
    [0.125, 1.0, 2.5]
    """
    return _at_residuals(hampel_losses, residuals, (first, second, third))


def hampel_psi(residuals: npt.ArrayLike, first: float, second: float, third: float) -> Floats:
    """Return the derivative of `hampel_loss`: it rises to `first`, stays, and falls to 0 again.

    Parameters
    ----------
    residuals, first, second, third
        As of `hampel_loss`.

    Returns
    -------
    ndarray of float64
        Of the shape of the residuals, in their unit.

    Raises
    ------
    ParameterError
        Where a residual is below 0, or the thresholds do not ascend.

    Examples
    --------
    >>> hampel_psi([0.5, 1.5, 3.0, 9.0], 1.0, 2.0, 4.0).tolist()
    [0.5, 1.0, 0.5, 0.0]
    """
    return _at_residuals(hampel_psis, residuals, (first, second, third))


def combined_weights(
    offsets: npt.ArrayLike,
    worker_codes: npt.ArrayLike,
    local: npt.ArrayLike,
    global_: npt.ArrayLike,
    how: Combination = "product",
) -> Floats:
    """Return one weight per claim from its local weight and its worker's global one.

    The weights c that are closest to both, by the sum of their relative entropies to local weights
    l and global ones g, are proportional to ``sqrt(l g)``: "geometric". The paper states that aim
    and prints ``l g``: "product". Where all would be 0, they are equal.

    Parameters
    ----------
    offsets, worker_codes
        As of `global_weights`.
    local : array_like of float, shape (rows,)
        From `local_weights`, or `uniform_weights` for global weights alone.
    global_ : array_like of float, shape (workers,)
        At least 0, as `GlobalWeights.weights` are.
    how : {"product", "geometric"}
        What they are proportional to.

    Returns
    -------
    ndarray of float64, shape (rows,)
        At least 0.

    Raises
    ------
    ParameterError
        Where an array or `how` breaks its rule; the message says the row, the task or the worker.

    References
    ----------
    Huai et al., IJCAI 2019, equation 4; ``docs/theory/crowd-densities.md``.

    Examples
    --------
    >>> combined_weights([0, 2], [0, 1], [0.5, 0.5], [3.0, 1.0]).tolist()
    [0.75, 0.25]
    """
    check_choice("how", how, get_args(Combination))
    begins = checked_offsets(offsets)
    shares = checked_shares("local", local, begins)
    of_workers = np.asarray(global_, np.float64)
    fine = np.isfinite(of_workers) & (of_workers >= 0)
    if of_workers.ndim != 1 or not fine.all():
        wrong = f"shape {of_workers.shape}"
        if of_workers.ndim == 1:
            worker = int(np.argmin(fine))
            wrong = f"{of_workers[worker].item()!r} of worker {worker}"
        raise ParameterError(f"global_ must be one number of at least 0 per worker; got {wrong}")
    codes = checked_codes(worker_codes, begins, len(of_workers))
    products = shares * of_workers[codes]
    return shares_of(products if how == "product" else np.sqrt(products), begins)


def floored_weights(offsets: npt.ArrayLike, weights: npt.ArrayLike, floor: float) -> Floats:
    """Return weights mixed with equal ones, so that none of a task's n is less than ``floor / n``.

    ``(1 - floor) c + floor / n``: one changed claim then changes no weight by more than the factor
    ``1 + n (1 - floor) / floor``, however the weights c are learnt.

    Parameters
    ----------
    offsets : array_like of int64, shape (tasks + 1,)
        As of `global_weights`.
    weights : array_like of float, shape (rows,)
        At least 0; they sum to 1 over each task that has any.
    floor : float
        0 changes nothing; 1 makes all equal.

    Returns
    -------
    ndarray of float64, shape (rows,)

    Raises
    ------
    ParameterError
        Where an array or the floor breaks its rule.

    Examples
    --------
    >>> floored_weights([0, 2], [1.0, 0.0], 0.5).tolist()
    [0.75, 0.25]
    """
    check_real("floor", floor, 0)
    if floor > 1:
        raise ParameterError(f"floor must be 0 to 1; got {floor!r}")
    begins = checked_offsets(offsets)
    shares = checked_shares("weights", weights, begins)
    equal = floor / np.diff(begins)[task_of_rows(begins)]
    return np.asarray((1.0 - floor) * shares + equal)


def checked_quantiles(quantiles: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return three quantiles; ParameterError unless they ascend from 0 to 1."""
    given = np.asarray(quantiles, np.float64)
    if given.shape != (3,) or not 0 <= given[0] <= given[1] <= given[2] <= 1:
        raise ParameterError(
            f"quantiles must be three ascending numbers from 0 to 1; got {quantiles!r}"
        )
    return float(given[0]), float(given[1]), float(given[2])


def _at_residuals(
    fill: Callable[..., None],
    residuals: npt.ArrayLike,
    thresholds: tuple[float, float, float],
) -> Floats:
    """Return what a kernel fills in for each residual, in the shape of these."""
    given, (first, second, third) = np.asarray(residuals, np.float64), thresholds
    if not (given >= 0).all():
        raise ParameterError(
            f"residuals must be at least 0; got {given[~(given >= 0)][0].item()!r}"
        )
    if not 0 <= first <= second <= third:
        raise ParameterError(
            f"the thresholds must ascend from 0 on; got {first!r}, {second!r}, {third!r}"
        )
    found = np.empty(given.shape)
    fill(given.ravel(), (float(first), float(second), float(third)), found.reshape(-1))
    return found
