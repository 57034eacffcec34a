"""Weights of claims in their task's density, by worker and by position.

Claims are sorted by task, see `quietcrowd.synthesis.kde`. Weights sum to 1 in each nonempty task.
All except `uniform_weights` are learned from the claims and leak them. A guarantee holds unchanged
only for weights that are public or learned from other data.
"""

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
from quietcrowd.validation import check_between, check_choice, check_real, check_whole

Weighting: TypeAlias = Literal["uniform", "local", "global", "combined", "printed"]

Combination: TypeAlias = Literal["product", "geometric"]

MOST_DISTANCE = 2.0
"""Maximum squared distance of two kernels of norm 1, or of one from a mean of kernels."""


@frozen(kw_only=True, eq=False)
class GlobalWeights:
    """Weights of workers over all tasks, shape (workers,); 0 for workers without claims.

    `converged` is false if the updates (`n_iter`) reached their limit first.
    """

    weights: Floats
    n_iter: int
    converged: bool


def uniform_weights(offsets: npt.ArrayLike) -> Floats:
    """Return equal weights for all claims of a task, shape (rows,)."""
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
    max_iter: int = 50,
    tol: float = 1e-6,
    n_jobs: int | None = None,
) -> GlobalWeights:
    """Estimate weights of workers by the proximity of their claims to weighted densities.

    Starting with equal weights, alternate (Huai et al., IJCAI 2019, equations 1-2)::

        f_i = sum of g_s K(., x_is) over the workers s of task i, over the sum of g_s
        d_is = squared distance of K(., x_is) from f_i, relative to the squared norm of a kernel
        D_s = sum, or mean, of d_is over the claims of worker s
        g_s = -ln( D_s / sum of all D )

    D is a mean if `per_claim`, so that more claims do not reduce a weight, and the paper's sum
    otherwise. `bandwidths`, shape (tasks,), are in the unit of the values. The loop ends if no
    weight changes by more than `tol` of the largest. The result does not depend on `n_jobs`.
    """
    check_choice("kernel", kernel, list(KERNELS.values()))
    check_whole("workers", workers, 1)
    check_whole("max_iter", max_iter, 1)
    check_real("tol", tol, 0)
    begins = checked_offsets(offsets)
    codes = checked_codes(worker_codes, begins, workers)
    claims = checked_rows("values", values, begins)
    widths = checked_bandwidths(bandwidths, begins)
    runs = task_runs(begins, n_jobs)
    unit = integer_sums.unit_for(MOST_DISTANCE * len(claims))
    counts = np.bincount(codes, minlength=workers)
    weights, n_iter, converged = (counts > 0).astype(np.float64), 0, False

    def tally(run: tuple[int, int]) -> npt.NDArray[np.int64]:
        sums = np.zeros(workers, np.int64)
        tally_distances(kernel.gaussian, *run, begins, codes, claims, widths, weights, unit, sums)
        return sums

    with ThreadPoolExecutor(len(runs)) as pool:
        while n_iter < max_iter and not converged:
            sums = np.sum(list(pool.map(tally, runs)), axis=0) / unit
            new = _from_distances(sums / np.maximum(counts, 1) if per_claim else sums, counts)
            change = np.abs(new - weights).max()
            converged = bool(change <= tol * new.max())
            weights, n_iter = new, n_iter + 1
    return GlobalWeights(weights=weights, n_iter=n_iter, converged=converged)


def _from_distances(sums: Floats, counts: npt.NDArray[np.int64]) -> Floats:
    """Return -ln of each worker's share of the total distance; 0 for workers without claims."""
    total = integer_sums.exact_sum(sums, len(sums))
    if total == 0:
        return (counts > 0).astype(np.float64)
    weights = -np.log(np.clip(sums / total, LEAST_SHARE, 1.0)) + 0.0  # no negative zero
    return np.where(counts > 0, weights, 0.0)


def local_weights(
    offsets: npt.ArrayLike,
    values: npt.ArrayLike,
    bandwidths: npt.ArrayLike,
    *,
    kernel: Kernel,
    quantiles: tuple[float, float, float] = (0.5, 0.75, 0.85),
    printed: bool = False,
    max_iter: int = 50,
    tol: float = 1e-6,
    n_jobs: int | None = None,
) -> Floats:
    """Estimate weights of claims by proximity to their task's density, with weight 0 for outliers.

    Starting with equal weights, alternate in each task (Huai et al., IJCAI 2019, equation 3; update
    of
    Kim and Scott, JMLR 2012)::

        r_s = distance of K(., x_s) from the sum of l_t K(., x_t)
        l_s = psi(r_s) / r_s, over the sum of these

    psi is `hampel_psi` with the `quantiles` of the task's initial r as thresholds. `printed`
    replaces ``psi(r) / r`` by the loss, as in our text of the paper. This gives outliers the
    largest weights, contrary to the paper's intention: ``research/docs/theory/crowd-densities.md``.
    Weights are equal if a task has one or two claims, if its claims are equal, or if all weights
    would be 0.
    """
    check_whole("max_iter", max_iter, 1)
    check_real("tol", tol, 0)
    check_choice("kernel", kernel, list(KERNELS.values()))
    parts, least = checked_quantiles(quantiles), float(tol)
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
            max_iter,
            least,
            bool(printed),
            weights,
        )

    runs = task_runs(begins, n_jobs)
    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(fill, runs))
    return weights


def hampel_loss(residuals: npt.ArrayLike, first: float, second: float, third: float) -> Floats:
    """Return Hampel's loss: quadratic up to `first`, linear up to `second`, flat from `third`.

    Source: Hampel et al., "Robust statistics", 1986.
    """
    return _at_residuals(hampel_losses, residuals, (first, second, third))


def hampel_psi(residuals: npt.ArrayLike, first: float, second: float, third: float) -> Floats:
    """Return the derivative of `hampel_loss`: it increases, is constant, and decreases to 0."""
    return _at_residuals(hampel_psis, residuals, (first, second, third))


def combined_weights(
    offsets: npt.ArrayLike,
    worker_codes: npt.ArrayLike,
    local: npt.ArrayLike,
    global_: npt.ArrayLike,
    how: Combination = "product",
) -> Floats:
    """Combine local weights of claims and global weights of workers, shape (rows,).

    The weights c with the least sum of relative entropies to local weights l and global ones g are
    proportional to ``sqrt(l g)``: "geometric". The paper (Huai et al., IJCAI 2019, equation 4)
    states this aim and prints ``l g``: "product". Weights are equal if all would be 0.
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
        raise ParameterError("synthesis.global-weights-invalid", value=wrong)
    codes = checked_codes(worker_codes, begins, len(of_workers))
    products = shares * of_workers[codes]
    return shares_of(products if how == "product" else np.sqrt(products), begins)


def floored_weights(offsets: npt.ArrayLike, weights: npt.ArrayLike, floor: float) -> Floats:
    """Mix weights with equal weights: ``(1 - floor) c + floor / n`` for a task with n claims.

    One changed claim then changes no weight by more than the factor ``1 + n (1 - floor) / floor``,
    for any way to learn the weights c.
    """
    check_between("floor", floor, 0, 1)
    begins = checked_offsets(offsets)
    shares = checked_shares("weights", weights, begins)
    equal = floor / np.diff(begins)[task_of_rows(begins)]
    return np.asarray((1.0 - floor) * shares + equal)


def checked_quantiles(quantiles: tuple[float, float, float]) -> tuple[float, float, float]:
    """Return three quantiles; raise ParameterError unless they ascend within 0 to 1."""
    given = np.asarray(quantiles, np.float64)
    if given.shape != (3,) or not 0 <= given[0] <= given[1] <= given[2] <= 1:
        raise ParameterError("synthesis.quantiles-invalid", quantiles=quantiles)
    return float(given[0]), float(given[1]), float(given[2])


def _at_residuals(
    fill: Callable[..., None],
    residuals: npt.ArrayLike,
    thresholds: tuple[float, float, float],
) -> Floats:
    given, (first, second, third) = np.asarray(residuals, np.float64), thresholds
    if not (given >= 0).all():
        raise ParameterError("synthesis.residuals-negative", value=given[~(given >= 0)][0].item())
    if not 0 <= first <= second <= third:
        raise ParameterError(
            "synthesis.thresholds-not-ascending", first=first, second=second, third=third
        )
    found = np.empty(given.shape)
    fill(given.ravel(), (float(first), float(second), float(third)), found.reshape(-1))
    return found
