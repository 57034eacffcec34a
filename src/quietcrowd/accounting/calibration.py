"""Calibration: mechanism parameters and numbers of tasks for a target privacy loss."""

import math
from collections.abc import Callable
from fractions import Fraction

from quietcrowd.accounting.spending import counted_loss
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.per_worker import MAX_SHAPE, beta_weights
from quietcrowd.mechanisms.mechanism import Mechanism, check_mechanism
from quietcrowd.privacy.guarantee import MOST_REPORTS
from quietcrowd.privacy.loss_grid import compose_losses
from quietcrowd.privacy.rounding import as_entered
from quietcrowd.privacy.two_layer.flips import cell_epsilon
from quietcrowd.privacy.two_layer.weights import drawn_cell_epsilon
from quietcrowd.validation import (
    check_delta,
    check_positive,
    check_real,
    check_whole,
)

TOTAL = 2**32
MOST_LABELS = 2**16
MOST_TASKS = 10**5


def two_layer_bounds(
    epsilon: float,
    answers: int,
    *,
    labels: int,
    high: float | None = None,
    alpha: int = 1,
    beta: int = 1,
) -> tuple[float, float]:
    """Return flip probabilities at which the two-layer mechanism meets a privacy loss.

    `epsilon`, above 0, bounds the loss about one answer, given all others, of a worker who gives at
    most `answers`, 1 to 10^7. `labels` is k, 2 to 2^16. `high` is at most ``(k - 1) / k``, its
    default, at which a report reveals nothing. `alpha` and `beta`, 1 to 16, are the shapes of the
    distribution "beta". At 1 and 1 the bounds are those of the uniform distribution "flip".

    Returns the smallest `low` on the grid of weights with an exact loss of at most `epsilon`, and
    `high` on that grid.

    References
    ----------
    ``research/docs/theory/two-layer.md``: for every truncated distribution, the loss falls as `low`
    rises, as long as `high` is at most ``(k - 1) / k``. A table of weights follows this only up to
    rounding, so the loss at the returned bounds is computed.

    Examples
    --------
    >>> [round(two_layer_bounds(1.0, n, labels=2)[0], 3) for n in (1, 10, 100)]
    [0.038, 0.199, 0.262]
    """
    check_whole("answers", answers, 1, MOST_REPORTS)
    check_whole("labels", labels, 2, MOST_LABELS)
    epsilon, answers, labels = _above_zero("epsilon", epsilon), int(answers), int(labels)
    others = labels - 1
    top = TOTAL // labels
    if high is not None:
        check_real("high", high, 0)
        if high > others / labels:
            raise ParameterError(
                "privacy.high-too-large", others=others / labels, labels=labels, high=high
            )
        top = min(top, math.ceil(Fraction(high) * TOTAL / others))

    check_whole("alpha", alpha, 1, MAX_SHAPE)
    check_whole("beta", beta, 1, MAX_SHAPE)
    uniform = alpha == beta == 1

    def fits(low: int) -> bool:
        if uniform:
            return cell_epsilon(answers, labels=labels, low=low, high=top) <= epsilon
        weights = beta_weights(others, low, top, alpha, beta)
        return drawn_cell_epsilon(answers, weights=weights, others=others) <= epsilon

    if not fits(top):
        least = others * math.exp(-epsilon) / (1 + others * math.exp(-epsilon))
        raise ParameterError(
            "privacy.high-too-small-for-epsilon",
            epsilon=epsilon,
            others=others * top / TOTAL,
            least=least,
        )
    low = _first(fits, -1, top)
    if uniform:
        low += (low + top) % 2  # an even sum, as in the mechanism, makes the mean whole
    return others * low / TOTAL, others * top / TOTAL


def _above_zero(name: str, value: float) -> float:
    check_positive(name, value)
    return float(value)


def _first(fits: Callable[[int], bool], low: int, high: int) -> int:
    """Bisect for the first number above `low` that fits; `fits` is monotone and true at `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            high = middle
        else:
            low = middle
    return high


def tasks_within(mechanism: Mechanism, budget: float, delta: float = 0.0) -> int:
    """Return how many tasks, 0 to 10^5, a worker can be assigned within a privacy budget.

    The number is fixed beforehand, so losses are composed exactly. A device that decides as it goes
    counts by `PrivacyLedger.used` and may accept fewer tasks. If every task is reported, the
    campaign has this many tasks.

    `budget` is a total loss, finite and at least 0; `delta` belongs to it and is below 1.

    Examples
    --------
    >>> from quietcrowd import Categorical, RandomizedResponse
    >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=0.1)
    >>> tasks_within(mechanism, budget=4.0), tasks_within(mechanism, budget=4.0, delta=1e-6)
    (40, 74)
    """
    check_mechanism(mechanism)
    check_real("budget", budget, 0)
    check_delta("delta", delta)

    def exceeds(tasks: int) -> bool:
        if not delta:
            counted = counted_loss(mechanism, tasks)
            return counted is None or counted > as_entered(budget)
        loss = mechanism.loss(answers=tasks, tasks=tasks)
        return compose_losses([(loss.each, loss.count)], delta) > budget

    known, above = 0, 1
    while not exceeds(above):
        if above == MOST_TASKS:
            return MOST_TASKS
        known, above = above, min(2 * above, MOST_TASKS)
    return _first(exceeds, known, above) - 1
