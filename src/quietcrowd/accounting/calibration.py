"""The parameters of a mechanism for a target: the losses are computed elsewhere, here inverted."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from quietcrowd.accounting.spending import counted_loss
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.beta_weights import beta_weights
from quietcrowd.mechanisms.mechanism import Mechanism, check_mechanism
from quietcrowd.mechanisms.two_layer import MAX_SHAPE
from quietcrowd.privacy.guarantee import MOST_REPORTS
from quietcrowd.privacy.loss_distribution import compose_losses
from quietcrowd.privacy.rounding import as_entered
from quietcrowd.privacy.shared_flip import cell_epsilon
from quietcrowd.privacy.shared_weight import drawn_cell_epsilon
from quietcrowd.validation import check_real, check_whole

__all__ = ["noise_step", "tasks_within", "two_layer_bounds"]

TOTAL = 2**32
MOST_LABELS = 2**16
MOST_STEPS = 2**24
MOST_TASKS = 10**5

NARROWEST = 2.0**-960
"""As that of `Grid.over`."""


def two_layer_bounds(
    epsilon: float,
    answers: int,
    *,
    labels: int,
    high: float | None = None,
    alpha: int = 1,
    beta: int = 1,
) -> tuple[float, float]:
    """Return flip probabilities of the two-layer mechanism for a loss at a number of answers.

    Parameters
    ----------
    epsilon : float
        The most that may be lost about one answer, given all others of the worker; above 0.
    answers : int
        How many answers a worker gives at most, 1 to 10^7.
    labels : int
        Number of labels k, 2 to 2^16.
    high : float, optional
        The largest flip probability, at most ``(k - 1) / k``, which is the default: there a report
        tells nothing.
    alpha, beta : int
        Shapes of the law "beta", whole numbers from 1 to 16; of 1 and 1 the bounds are those of the
        law "flip", which is uniform.

    Returns
    -------
    low, high : float
        The smallest `low`, on the grid of weights that is drawn from, whose exact loss is at most
        `epsilon`, and `high` on that grid.

    Raises
    ------
    ParameterError
        Where a parameter is out of range, or `high` is so small that no `low` is enough.

    References
    ----------
    ``docs/theory/two-layer.md``: the loss falls when `low` rises, for every law that is truncated,
    as long as `high` is at most ``(k - 1) / k``. A table of such a law follows it up to rounding;
    what is returned was tried.

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
                f"high must be at most (k - 1) / k = {others / labels:.4g} for {labels} labels: "
                f"beyond it a report tells more, not less; got {high!r}"
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
            f"no low is enough for epsilon={epsilon:g} with high={others * top / TOTAL:.6g}: "
            f"take a high above {least:.6g}, or more epsilon"
        )
    low = _first(fits, -1, top)
    if uniform:
        low += (low + top) % 2  # the sum is even, as in the mechanism, so that the mean is whole
    return others * low / TOTAL, others * top / TOTAL


def _above_zero(name: str, value: float) -> float:
    check_real(name, value, 0)
    number = float(value)
    if not number:
        raise ParameterError(f"{name} must be above 0; got {value!r}")
    return number


def _first(fits: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first number above `low` that fits, where `high` does, and so do all after one."""
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            high = middle
        else:
            low = middle
    return high


def tasks_within(mechanism: Mechanism, budget: float, delta: float = 0.0) -> int:
    """Return how many tasks of a campaign a worker can be given within a budget.

    Their number is fixed beforehand, so that losses are composed exactly. A device that decides as
    it goes counts by `PrivacyLedger.used`, and may take fewer.

    Parameters
    ----------
    mechanism : Mechanism
        What randomises the answers; where every task is reported, the campaign has so many tasks.
    budget : float
        The most that a worker may lose in total, finite and at least 0.
    delta : float
        Of the pair (budget, delta), below 1.

    Returns
    -------
    int
        From 0, where a single task exceeds the budget, to 10^5.

    Raises
    ------
    ParameterError
        Where there is no mechanism, or the budget or delta is out of range.

    Examples
    --------
    >>> from quietcrowd import Categorical, RandomizedResponse
    >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=0.1)
    >>> tasks_within(mechanism, budget=4.0), tasks_within(mechanism, budget=4.0, delta=1e-6)
    (40, 74)
    """
    check_mechanism(mechanism)
    check_real("budget", budget, 0)
    check_real("delta", delta, 0)
    if delta >= 1:
        raise ParameterError(f"delta must be below 1; got {delta!r}")

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


def noise_step(width: float, epsilon: float, tolerance: float = 1e-3) -> float:
    """Return the coarsest step of a grid that costs next to nothing beside Laplace noise.

    Parameters
    ----------
    width : float
        Distance of the lowest and the highest answer, at least 2^-960.
    epsilon : float
        Privacy loss of one answer, above 0: the noise has the scale ``width / epsilon``.
    tolerance : float
        By what part the variance may grow, at most 0.01: through rounding to the grid, which adds
        ``step**2 / 12``, and through a grid that ends above the highest answer.

    Returns
    -------
    float
        A power of two, for the parameter ``step`` of mechanisms for numbers.

    Raises
    ------
    ParameterError
        Where a parameter is out of range, or the step would be below 2^-24 of the width.

    Examples
    --------
    >>> noise_step(9.0, epsilon=1.0), noise_step(10.0, epsilon=20.0)
    (0.5, 0.0625)
    """
    width, epsilon = _above_zero("width", width), _above_zero("epsilon", epsilon)
    tolerance = _above_zero("tolerance", tolerance)
    if width < NARROWEST:
        raise ParameterError(f"width must be at least {NARROWEST:g}; got {width!r}")
    if tolerance > 0.01:
        raise ParameterError(f"tolerance must be at most 0.01; got {tolerance!r}")
    step = 2.0 ** (math.frexp(width)[1] - 1)
    while width / step <= MOST_STEPS:
        scale = width / step / epsilon
        if scale >= 1 and _variance_grows(width / step, scale) <= tolerance:
            return step
        step /= 2
    raise ParameterError(
        f"epsilon={epsilon:g} needs a grid finer than 2^-24 of the width for a tolerance of "
        f"{tolerance:g}: take less epsilon, or more tolerance"
    )


def _variance_grows(width: float, scale: float) -> float:
    """Return by what part the variance of a report grows through the grid; all is in steps."""
    wider = 2 * math.ceil(width / 2) / width
    return wider * wider - 1 + 1 / 24 / scale / scale
