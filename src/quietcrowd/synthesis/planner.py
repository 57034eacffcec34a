"""What an epsilon affords: parameters of a release whose loss stays within a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from scipy.stats import binom

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.discrete_laplace import require_positive_epsilon
from quietcrowd.privacy.guarantee import PrivacyGuarantee, show_loss
from quietcrowd.synthesis.blur import Blur
from quietcrowd.synthesis.pris_crowd import PrisCrowd
from quietcrowd.validation import check_real, check_whole

__all__ = ["ReleasePlan", "plan_releases", "typical_counts"]

GAMMAS = (1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0)
COUNTS = (2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 448, 640, 896)
NOISES = tuple(float(f"{0.02 * 1.15**power:.3g}") for power in range(45))
"""What is tried for gamma, k and epsilon0."""

PLACES = 81
"""Candidates at which the crowd is looked at, out to 5 standard deviations of them."""


@frozen(kw_only=True)
class ReleasePlan:
    """Parameters, and what they give.

    Attributes
    ----------
    method : PrisCrowd
        With these parameters.
    guarantee : PrivacyGuarantee
        Of a user with as many claims as were asked for.
    expected : float
        How many synthetic claims per task it gives on average, where the claims about it are
        normal and as wide as was said.
    """

    method: PrisCrowd
    guarantee: PrivacyGuarantee
    expected: float


def plan_releases(
    epsilon: float,
    *,
    bandwidth: float,
    users: int,
    most_users: int | None = None,
    claims: int = 30,
    answers: int = 1,
    tasks: int = 1,
    delta: float = 1e-6,
    spread: float | None = None,
    **fixed: Any,
) -> list[ReleasePlan]:
    """Return plans for a loss of at most `epsilon`, the most fruitful first.

    Every plan is the best one found for its ``k``. They depend on public numbers alone.

    Parameters
    ----------
    epsilon : float
        Of all `answers` claims of a user together, but for a probability `delta`; above 0.
    bandwidth : float
        In the unit of the claims.
    users, most_users, answers, tasks, delta
        As of `PrisCrowd.guarantee`.
    claims : int
        How many synthetic claims are wanted per task.
    spread : float, optional
        Standard deviation of the claims about a task, in the unit of the claims, as far as it can
        be known without looking. Default: what the bandwidth is best for, by Silverman's rule.
    fixed
        Other parameters of `PrisCrowd`; ``k``, ``gamma`` and ``epsilon0`` among them are not
        searched for.

    Raises
    ------
    ParameterError
        Where a parameter is out of its range, or no parameters keep within the budget; the message
        says the least loss that was found.

    Examples
    --------
    >>> best = plan_releases(3.0, bandwidth=0.4, users=200, claims=5)[0]
    >>> best.method.k, best.method.gamma, best.guarantee.epsilon <= 3
    (28, 1.25, True)
    """
    require_positive_epsilon(epsilon)
    check_whole("users", users, 2)
    width = 1 / (1.06 * users**-0.2) if spread is None else _in_bandwidths(spread, bandwidth)
    gammas = [fixed.pop("gamma")] if "gamma" in fixed else list(GAMMAS)
    counts = [fixed.pop("k")] if "k" in fixed else [k for k in COUNTS if k <= users]
    noises = [fixed.pop("epsilon0")] if "epsilon0" in fixed else list(NOISES)
    first = PrisCrowd(epsilon0=1.0, bandwidth=bandwidth, claims=claims, k=users, **fixed)
    size = {"users": users, "most_users": most_users, "answers": answers, "tasks": tasks}
    plans, least = [], math.inf
    for gamma in gammas:
        blur = evolve(first, gamma=gamma).blur
        crowd = typical_counts(blur, users, width)
        for k in counts:
            found, loss = _best_noise(
                evolve(first, gamma=gamma, k=k), noises, crowd, epsilon, {**size, "delta": delta}
            )
            plans += found
            least = min(least, loss)
    if not plans:
        raise ParameterError(
            f"no parameters that were tried lose at most epsilon={epsilon:g} with {users:,} users "
            f"per task, {claims} claims per task and delta={delta:g}; the least loss is "
            f"{show_loss(least)}. Take fewer claims, a larger epsilon or delta, or tasks with more "
            "users."
        )
    best = {plan.method.k: plan for plan in sorted(plans, key=lambda plan: plan.expected)}
    return sorted(best.values(), key=lambda plan: -plan.expected)


def _in_bandwidths(spread: float, bandwidth: float) -> float:
    check_real("spread", spread, 0)
    return spread / bandwidth


def _best_noise(
    method: PrisCrowd,
    noises: Sequence[float],
    crowd: npt.NDArray[np.float64],
    epsilon: float,
    size: dict[str, Any],
) -> tuple[list[ReleasePlan], float]:
    """Return the most fruitful plan within the budget, if any, and the least loss of all."""
    best: list[ReleasePlan] = []
    least = math.inf
    for epsilon0 in noises:
        tried = evolve(method, epsilon0=epsilon0)
        guarantee = tried.guarantee(**size)
        least = min(least, guarantee.worker_epsilon)
        if guarantee.worker_epsilon > epsilon:
            continue
        passes = tried.test.probabilities
        rate = crowd @ passes[np.minimum(np.arange(len(crowd)), len(passes) - 1)]
        plan = ReleasePlan(method=tried, guarantee=guarantee, expected=rate * tried.attempts)
        if not best or plan.expected > best[0].expected:
            best = [plan]
    return best, least


def typical_counts(blur: Blur, users: int, width: float) -> npt.NDArray[np.float64]:
    """Return how likely a candidate has 0, 1, ... claims in its bucket, shape (users + 1,).

    Parameters
    ----------
    blur : Blur
        The law of the step from a claim to a candidate.
    users : int
        How many claims the task has.
    width : float
        Standard deviation of the claims, which are normal, in bandwidths; at least 0.

    Examples
    --------
    >>> typical_counts(Blur(gamma=4.0), 20, 0.0).round(2)[[1, 19, 20]].tolist()
    [0.0, 0.0, 1.0]
    """
    if width == 0:
        return np.eye(users + 1)[users]
    steps = np.arange(-blur.reach, blur.reach + 1)
    buckets = np.floor(blur.falls[np.abs(steps)]).astype(np.intp)
    law = blur.weights[np.abs(steps)].astype(np.float64)
    found = np.zeros(users + 1)
    farthest = 5 * math.hypot(width, 1.0)
    for candidate in np.linspace(-farthest, farthest, PLACES):
        near = (candidate - steps / blur.cells) / width
        claims = np.exp(-0.5 * near * near) / (width * blur.cells * math.sqrt(2 * math.pi))
        inside = np.minimum(np.bincount(buckets, claims), 1.0)
        chosen = np.bincount(buckets, claims * law)
        kept = chosen > chosen.sum() * 1e-6
        found[1:] += chosen[kept] @ binom.pmf(
            np.arange(users), users - 1, inside[kept, np.newaxis]
        )
    return found / found.sum()
