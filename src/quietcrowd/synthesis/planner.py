"""Search for parameters of a release within a budget of privacy loss."""

import math
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from rich.console import Console
from rich.progress import Progress

from quietcrowd.answers import Answers
from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.binomial import range_chances
from quietcrowd.privacy.guarantee import PrivacyGuarantee, show_loss
from quietcrowd.synthesis.attempt import Blur
from quietcrowd.synthesis.loss import ReleaseSize, release_guarantee, worker_loss
from quietcrowd.synthesis.pris_crowd import PrisCrowd
from quietcrowd.validation import check_choice, check_positive, check_real, check_whole

GAMMAS = (1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0)
COUNTS = (2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 448, 640, 896)
NOISES = tuple(float(f"{0.02 * 1.25**power:.3g}") for power in range(29))
"""The candidate values of gamma, k and epsilon0."""

LEAST_EXPECTED = 0.01
"""A plan must give at least this many synthetic claims per task on average."""

LEVELS = 500
"""Resolution of the fraction of claims in a bucket."""

PLACES = 81
"""Number of candidates at which counts are computed, within 5 of their standard deviations."""


class UnaffordableError(ParameterError):
    """No parameters in the search stay within the budget; `least` is the least loss found."""

    def __init__(self, code: str, /, *, least: float, **fields: object) -> None:
        super().__init__(code, **fields)
        self.least = least


@frozen(kw_only=True)
class ReleasePlan:
    """Parameters of a release, and their properties.

    `guarantee` is for a user with the given number of claims. `expected` is the mean number of
    synthetic claims per task, if its claims are normal with the given standard deviation.
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
    tasks: int | None = None,
    delta: float = 1e-6,
    spread: float | None = None,
    **fixed: Any,
) -> list[ReleasePlan]:
    """Return plans with a privacy loss of at most `epsilon`, ordered by most released claims.

    Each plan is the best that was found for its ``k``. Plans depend only on public numbers.

    Parameters
    ----------
    epsilon : float
        The epsilon of (epsilon, delta), for all `answers` claims of a user together; above 0.
    bandwidth : float
        In the unit of the claims.
    users, most_users, answers, tasks, delta
        See `PrisCrowd.guarantee`.
    claims : int
        Wanted synthetic claims per task.
    spread : float, optional
        Standard deviation of the claims about a task, in their unit, if it is known without access
        to them. Default: the one for which `bandwidth` is best by Silverman's rule.
    fixed
        Other parameters of `PrisCrowd`. Fixed ``k``, ``gamma`` and ``epsilon0`` are not searched.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    UnaffordableError
        If no parameters stay within the budget; the message gives the least loss found.

    Examples
    --------
    >>> best = plan_releases(3.0, bandwidth=0.4, users=200, claims=5)[0]
    >>> best.method.k, best.method.gamma, best.guarantee.epsilon <= 3
    (80, 4.0, True)
    """
    check_positive("epsilon", epsilon)
    check_whole("users", users, 1, 2**31)
    width = 1 / (1.06 * users**-0.2)
    if spread is not None:
        check_real("spread", spread, 0)
        width = spread / bandwidth
    gammas = [fixed.pop("gamma")] if "gamma" in fixed else list(GAMMAS)
    counts = [fixed.pop("k")] if "k" in fixed else [k for k in COUNTS if k <= users] or [1]
    noises = [fixed.pop("epsilon0")] if "epsilon0" in fixed else list(NOISES)
    first = PrisCrowd(epsilon0=1.0, bandwidth=bandwidth, claims=claims, k=1, **fixed)
    size = ReleaseSize(
        fewest=users,
        most=users if most_users is None else most_users,
        answers=answers,
        tasks=answers if tasks is None else tasks,
    )
    best: dict[int, ReleasePlan] = {}
    least = math.inf
    for gamma in gammas:
        crowd = typical_counts(evolve(first, gamma=gamma).blur, users, width)
        for k in counts:
            trials = [evolve(first, gamma=gamma, k=k, epsilon0=noise) for noise in noises]
            for expected, method in sorted(
                ((_expected(trial, crowd), trial) for trial in trials), key=lambda pair: -pair[0]
            ):
                if expected < LEAST_EXPECTED or (k in best and expected <= best[k].expected):
                    break
                loss = worker_loss(method, size, delta)
                least = min(least, loss)
                if loss <= epsilon:
                    guarantee = release_guarantee(method, size, delta)
                    best[k] = ReleasePlan(method=method, guarantee=guarantee, expected=expected)
                    break
    if not best:
        raise UnaffordableError(
            "synthesis.unaffordable",
            least=least,
            epsilon=epsilon,
            users=users,
            claims=claims,
            delta=delta,
            least_loss=show_loss(least),
        )
    return sorted(best.values(), key=lambda plan: -plan.expected)


def _expected(method: PrisCrowd, crowd: npt.NDArray[np.float64]) -> float:
    """Return the mean number of synthetic claims per task; `crowd` is a distribution of counts."""
    passes = method.test.probabilities
    rate = crowd @ passes[np.minimum(np.arange(len(crowd)), len(passes) - 1)]
    return float(rate * method.attempts)


def typical_counts(blur: Blur, users: int, width: float) -> npt.NDArray[np.float64]:
    """Return the probability of 0, 1, ... claims in a candidate's bucket, shape (users + 1,).

    The claims are normal, with standard deviation `width` in bandwidths, at least 0.
    """
    if width == 0:
        certain = np.zeros(users + 1)
        certain[users] = 1.0
        return certain
    steps = np.arange(-blur.reach, blur.reach + 1)
    buckets = np.floor(blur.falls[np.abs(steps)]).astype(np.intp)
    distribution = blur.weights[np.abs(steps)].astype(np.float64)
    chosen = np.zeros(LEVELS + 1)
    farthest = 5 * math.hypot(width, 1.0)
    for candidate in np.linspace(-farthest, farthest, PLACES):
        near = (candidate - steps / blur.cells) / width
        claims = np.exp(-0.5 * near * near) / (width * blur.cells * math.sqrt(2 * math.pi))
        inside = np.minimum(np.bincount(buckets, claims), 1.0)
        levels = np.rint(inside * LEVELS).astype(np.intp)
        chosen += np.bincount(levels, np.bincount(buckets, claims * distribution), LEVELS + 1)
    found = np.zeros(users + 1)
    for level in np.flatnonzero(chosen):
        if level == LEVELS:
            found[users] += chosen[level]
        else:
            chances, _ = range_chances(0, users - 1, users - 1, level / LEVELS)
            found[1:] += chosen[level] * chances
    found /= found.sum()
    return found


Budget: TypeAlias = Literal["claim", "user"]
"""Whether epsilon bounds one claim of a user given the others, or all of them together."""


def plan_for_claims(
    answers: Answers,
    epsilon: float,
    *,
    bandwidth: float,
    per: Budget = "claim",
    delta: float = 1e-6,
    progress: bool = False,
    **fixed: Any,
) -> list[ReleasePlan]:
    """Return plans for a release of given claims, ordered by most released claims.

    Plans with no bound, within delta, for all claims of a user together are last. A task with fewer
    than k users is not released. With a larger k, fewer tasks are released, and the smallest has
    more users; each plan accounts for this. The values of the claims are not used.

    Parameters
    ----------
    answers : Answers
        The claims.
    epsilon, bandwidth, delta : float
        See `plan_releases`.
    per : {"claim", "user"}
        Whether epsilon bounds one claim, or all claims of a user together.
    progress : bool
        Whether to show a progress bar on standard error.
    fixed
        See `plan_releases`; includes ``claims``.

    Returns
    -------
    list of ReleasePlan
        Guarantees are for the user with most claims about released tasks.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or no task has as many users as the given k.
    UnaffordableError
        If no parameters stay within the budget.

    Examples
    --------
    >>> from quietcrowd import make_crowd
    >>> claims = make_crowd(kind="sensors", tasks=5, workers=200).answers
    >>> best = plan_for_claims(claims, 3.0, bandwidth=0.4, claims=5, k=80)[0]
    >>> best.guarantee.answers, best.guarantee.epsilon <= 3 < best.guarantee.total_epsilon
    (5, True)
    """
    check_choice("per", per, get_args(Budget))
    most = int(answers.answers_per_task.max(initial=0))
    counts = [k for k in COUNTS if k <= most] or [COUNTS[0]]
    if "k" in fixed:
        counts = [fixed.pop("k")]
        check_whole("k", counts[0], 1)
        if counts[0] > most:
            raise ParameterError("synthesis.too-few-users", count=counts[0], most=most)
    plans: list[tuple[int, ReleasePlan]] = []
    missed: list[UnaffordableError] = []
    with Progress(console=Console(stderr=True), disable=not progress, transient=True) as bar:
        for k in bar.track(counts, description="planning"):
            size = ReleaseSize.of(answers, k)
            try:
                (plan,) = plan_releases(
                    epsilon,
                    bandwidth=bandwidth,
                    delta=delta,
                    k=k,
                    users=size.fewest,
                    most_users=size.most,
                    answers=size.answers if per == "user" else 1,
                    tasks=size.tasks,
                    **fixed,
                )
            except UnaffordableError as error:
                missed.append(error)
                continue
            guarantee = release_guarantee(plan.method, size, delta)
            plans.append((size.tasks, evolve(plan, guarantee=guarantee)))
    if not plans:
        raise min(missed, key=lambda error: error.least)
    return [plan for _, plan in sorted(plans, key=_worth, reverse=True)]


def _worth(pair: tuple[int, ReleasePlan]) -> tuple[bool, float]:
    tasks, plan = pair
    return math.isfinite(plan.guarantee.total_epsilon), tasks * plan.expected
