"""Privacy loss of a release of synthetic claims, per claim and per user."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.guarantee import PrivacyGuarantee, add_losses
from quietcrowd.privacy.rounding import log_ratio_up
from quietcrowd.privacy.tails import TailBound, tail_of_curve
from quietcrowd.synthesis.attempt import TOTAL, floored_bounds, uniform_bounds
from quietcrowd.synthesis.attempt_loss import Attempt, compose_curve
from quietcrowd.synthesis.parameters import Parameters
from quietcrowd.validation import check_delta, check_real, check_whole

ASSUMPTIONS = (
    "the tasks of each user's claims are public and do not depend on the claims",
    "range, bandwidth and grid do not depend on the claims",
    "nothing else about the same claims is released",
)
LOOP = ("none: a loop that ends when enough candidates pass reveals which candidates can pass",)
SHARES = (0.5, 0.1, 0.01, 0.001)
"""Fractions of a probability at which (epsilon, delta) pairs are evaluated."""

SOURCE = "docs/theory/pris-crowd.md"
PRINTED = "Huai et al., IJCAI 2019, Theorem 2; docs/theory/pris-crowd.md"


@frozen(kw_only=True)
class ReleaseSize:
    """Public size of a release of `tasks` tasks.

    Every task has `fewest` to `most` claims, and a user makes at most `answers` claims about them.
    """

    fewest: int
    most: int
    answers: int = 1
    tasks: int = 1

    def __attrs_post_init__(self) -> None:
        check_whole("users", self.fewest, 1, 2**31)
        check_whole("most_users", self.most, self.fewest, 2**31)
        check_whole("answers", self.answers, 1)
        check_whole("tasks", self.tasks, self.answers)

    @classmethod
    def of(cls, claims: Answers, k: int) -> ReleaseSize:
        """Return the size of a release of the tasks with at least k claims.

        Without such tasks, return the size for one task with k claims, an upper bound.
        """
        released = claims.answers_per_task >= k
        counts = claims.answers_per_task[released]
        of_workers = np.bincount(claims.worker_codes[released[claims.task_codes]])
        return cls(
            fewest=int(counts.min()) if len(counts) else k,
            most=int(counts.max(initial=k)),
            answers=max(1, int(of_workers.max(initial=1))),
            tasks=max(1, len(counts)),
        )


def release_guarantee(method: Parameters, size: ReleaseSize, delta: float) -> PrivacyGuarantee:
    """Return an upper bound of the privacy loss of one user's claims in a release.

    `delta`, at least 0 and below 1, is for all claims of the user together.
    """
    check_delta("delta", delta)
    claimed_epsilon, claimed_delta = _printed(method)
    holds = method.release == "attempts"
    losses = {changed: _loss(method, size, delta, changed) for changed in {1, size.answers}}
    return PrivacyGuarantee(
        answers=size.answers,
        epsilon=losses[1],
        total_epsilon=losses[size.answers],
        delta=delta if holds else 0.0,
        tail=_tail(method, size, delta) if holds and delta else None,
        participation_protected=False,
        claimed_epsilon=claimed_epsilon,
        claimed_delta=claimed_delta,
        assumptions=ASSUMPTIONS if holds else LOOP,
        source=SOURCE if holds else PRINTED,
    )


def worker_loss(method: Parameters, size: ReleaseSize, delta: float) -> float:
    """Return only the ``total_epsilon`` of `release_guarantee`, without the slower tail bound."""
    check_delta("delta", delta)
    return _loss(method, size, delta, size.answers)


def _tail(method: Parameters, size: ReleaseSize, delta: float) -> TailBound:
    """Bound the loss exceeded with probability at most `delta`, by pairs of smaller deltas."""
    losses = {
        changed: tail_of_curve(
            ((_loss(method, size, delta * share, changed), delta * share) for share in SHARES),
            delta,
        )
        for changed in {1, size.answers}
    }
    return TailBound(
        probability=delta,
        epsilon=losses[1],
        linked_epsilon=losses[1],
        total_epsilon=losses[size.answers],
    )


def _loss(method: Parameters, size: ReleaseSize, delta: float, changed: int) -> float:
    """Return the loss if `changed` claims of a user change, each about another task.

    The attempt has the bounds for all tasks and the counts of the largest. The loss of the paper's
    loop is infinite.
    """
    if method.release != "attempts":
        return math.inf
    bounds = uniform_bounds(size.fewest, size.most)
    if method.learns:
        bounds = floored_bounds(size.fewest, size.most, method.floor)
    if bounds.ratio is None:
        return math.inf
    attempt = Attempt(
        passes=method.test.weights.tolist(),
        total=TOTAL,
        gamma=method.blur.exact_gamma,
        most=bounds.most,
        least=bounds.most / bounds.ratio,
        claims=size.most,
    )
    own = compose_curve(attempt.epsilon, method.attempts * changed, delta)
    if not method.learns:
        return own
    moved = method.attempts * (size.tasks if method.couples_tasks else changed)
    return math.fsum([own, add_losses(log_ratio_up(bounds.ratio), moved)]) * (1 + 2**-50)


def _printed(method: Parameters) -> tuple[float, float]:
    """Return Theorem 2's pair for all of Algorithm 1, with equal weights and t = 1."""
    test = method.test
    if test.k == 1:  # no t exists
        return math.inf, 1.0
    return claimed_release_loss(
        [1.0], epsilon0=test.epsilon0, gamma=method.gamma, k=test.k, threshold=1
    )


def claimed_release_loss(
    weights: npt.ArrayLike, *, epsilon0: float, gamma: float, k: int, threshold: int
) -> tuple[float, float]:
    """Return the (epsilon, delta) of one released claim that Theorem 2 of Huai et al. claims.

    ::

        epsilon = epsilon0 + ln(1 + gamma / (t n min c)),   delta = n max c exp(-epsilon0 (k - t))

    for the weights c, with sum 1, of the n claims about a task, and any `threshold` t from 1 to k -
    1. Our text of the paper lacks some symbols. For equal weights, this form is Theorem 1 of
    Bindschaedler, Shokri and Gunter (PVLDB 2017), as the paper's Remark 1 states. It does not hold:
    ``research/docs/theory/pris-crowd.md``. If the weights are learned from the claims, this pair
    reveals information about them, too.

    Examples
    --------
    >>> equal = [0.05] * 20
    >>> pair = claimed_release_loss(equal, epsilon0=1.0, gamma=4.0, k=5, threshold=1)
    >>> [round(number, 4) for number in pair]
    [2.6094, 0.0183]
    >>> claimed_release_loss([0.5, 0.5, 0.0], epsilon0=1.0, gamma=4.0, k=5, threshold=1)[0]
    inf
    """
    chances = np.asarray(weights, np.float64)
    if chances.ndim != 1 or not len(chances) or not (chances >= 0).all():
        raise ParameterError("synthesis.weights-invalid", weights=weights)
    if not math.isclose(chances.sum(), 1.0, rel_tol=1e-9):
        raise ParameterError("synthesis.weights-sum", sum=float(chances.sum()))
    check_real("epsilon0", epsilon0, 0)
    check_real("gamma", gamma, 1)
    check_whole("k", k, 2)
    check_whole("threshold", threshold, 1, k - 1)
    least, most = float(chances.min()), float(chances.max())
    epsilon = math.inf
    if least > 0:
        epsilon = epsilon0 + math.log1p(gamma / (threshold * len(chances) * least))
    return epsilon, len(chances) * most * math.exp(-epsilon0 * (k - threshold))
