"""What theory says of the error that noise leaves, and whether it holds.

Two families: votes of independent workers on questions with two labels (Li et al., KDD 2018,
section 6.2), and weighted means of numeric answers (Sun et al., IEEE Big Data 2018, Theorems 2, 3
and 5). A name that begins with ``claimed`` is a formula as printed that does not hold as stated;
its docstring says where it fails. Derivations and counterexamples:
``research/docs/error-bounds.md``.

An argument that is one number per worker may be a single number, which stands for all. Every
function raises ParameterError where a number is out of its range or lists differ in length.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_whole

_Array: TypeAlias = npt.NDArray[np.float64]

MAX_PATTERNS = 2**20
_EPS, _TINY, _HUGE = (float(getattr(np.finfo(np.float64), key)) for key in ("eps", "tiny", "max"))
_HALF_NORMAL_MEAN = math.sqrt(2 / math.pi)


def flipped_accuracy(accuracy: npt.ArrayLike, flip_probability: npt.ArrayLike) -> _Array:
    """Return the accuracy of reports that are flipped answers: ``p (1 - f) + (1 - p) f``.

    Equation 8 of Li et al.

    Parameters
    ----------
    accuracy : array_like, shape (m,)
        Probability p that an answer to a question with two labels is right, 0 to 1.
    flip_probability : array_like, shape (m,)
        Probability f that the report is the other label, 0 to 1.

    Examples
    --------
    >>> flipped_accuracy([0.9, 0.5], 0.25).round(3).tolist()
    [0.7, 0.5]
    """
    right, flip = _of_one_length(
        accuracy=_numbers("accuracy", accuracy, 0, 1),
        flip_probability=_numbers("flip_probability", flip_probability, 0, 1),
    )
    return np.asarray(right * (1 - flip) + (1 - right) * flip)


def vote_error(accuracy: npt.ArrayLike, *, weights: npt.ArrayLike | None = None) -> float:
    """Return the exact probability that a weighted vote is wrong; a tie is half an error.

    Parameters
    ----------
    accuracy : array_like, shape (m,)
        Probability that each worker is right, 0 to 1.
    weights : array_like, shape (m,), optional
        Weight of each vote; a negative one counts for the other label. The log-odds of the
        accuracies if left out: no other vote errs less. A single number: majority vote.

    Raises
    ------
    ParameterError
        Also where there are too many workers. Those with the same accuracy and weight form a
        group; the product of (group size + 1) may be 2^20: 20 workers who all differ, or a
        million who do not.

    Examples
    --------
    >>> round(vote_error([0.9, 0.9, 0.9]), 3)
    0.028
    >>> round(vote_error([0.9, 0.6, 0.6]), 3), round(vote_error([0.9, 0.6, 0.6], weights=1), 3)
    (0.1, 0.208)
    """
    chances = _numbers("accuracy", accuracy, 0, 1)
    if weights is None:
        votes = _log(chances) - _log(1 - chances)
    else:
        chances, votes = _of_one_length(accuracy=chances, weights=_numbers("weights", weights))
    votes = votes / (np.abs(votes).max() or 1.0)
    groups, counts = np.unique(np.stack([chances, votes]), axis=1, return_counts=True)
    patterns = math.prod(int(count) + 1 for count in counts)
    if patterns > MAX_PATTERNS:
        raise ParameterError(
            f"accuracy must leave at most {MAX_PATTERNS:,} patterns of votes to add up; got "
            f"{len(counts)} kinds of workers; vote_error_bound takes any crowd"
        )
    sums, probabilities = np.zeros(1), np.ones(1)
    for (chance, vote), count in zip(groups.T, counts, strict=True):
        sums = np.add.outer(sums, vote * np.arange(-count, count + 1, 2)).ravel()
        probabilities = np.multiply.outer(probabilities, _binomial(count, chance)).ravel()
    tied = np.abs(sums) <= _EPS * chances.size * np.abs(votes).sum()  # as far as rounding tells
    return float(probabilities[(sums < 0) & ~tied].sum() + probabilities[tied].sum() / 2)


def vote_error_bound(accuracy: npt.ArrayLike) -> float:
    """Return an upper bound of the error of the log-odds vote: the product of 2 sqrt(p (1 - p)).

    Parameters
    ----------
    accuracy : array_like, shape (m,)
        Probability p that each worker is right on a question with two labels, 0 to 1.

    Notes
    -----
    Chernoff's bound ``P(S <= 0) <= E[exp(-S)]`` with half the log-odds as weights, which is the
    same vote. It counts a tie as an error; where ties are split evenly, half of it holds. The
    weights must come from the true accuracies: what estimating them adds is not covered.

    Examples
    --------
    >>> round(vote_error_bound([0.9, 0.9, 0.9]), 3)
    0.216
    """
    return float(np.prod(_factors(_numbers("accuracy", accuracy, 0, 1))))


def claimed_vote_error_bound(accuracy: npt.ArrayLike, *, linear: bool = False) -> float:
    """Return the printed "bound" of the error of the log-odds vote; it is no upper bound.

    The product of ``(p / e + (1 - p) e)^ln(p / (1 - p))``, equation 7 of Li et al., who take
    ``E[exp(-w t x)]`` for ``E[exp(-t x)]^w``. As with them, an accuracy above 1/2 stands for that
    of the inverted worker, ``1 - p``.

    Parameters
    ----------
    accuracy : array_like, shape (m,)
        As in `vote_error_bound`.
    linear : bool
        Take each factor for ``2 p``, as in equation 10; that is off by up to 0.076.

    Examples
    --------
    Three workers, each right with probability 0.9, err together with probability 0.028.

    >>> round(claimed_vote_error_bound([0.9, 0.9, 0.9]), 4)
    0.0025
    >>> round(claimed_vote_error_bound([0.9, 0.9, 0.9], linear=True), 4)
    0.008
    """
    chances = _numbers("accuracy", accuracy, 0, 1)
    factors = 2 * np.minimum(chances, 1 - chances) if linear else _claimed_factors(chances)
    return float(np.prod(factors))


def worker_importance(accuracy: npt.ArrayLike, *, claimed: bool = False) -> _Array:
    """Return by how much each worker lowers `vote_error_bound`: ``1 / (2 sqrt(p (1 - p)))``.

    The bound without the worker over the bound with them: 1 for a worker who guesses, infinite
    for one who is always right or always wrong. (Li et al., section 6.2.3.)

    Parameters
    ----------
    accuracy : array_like, shape (m,)
        As in `vote_error_bound`.
    claimed : bool
        Take `claimed_vote_error_bound`, as the paper does. The order of the workers is the same.

    Examples
    --------
    >>> worker_importance([0.5, 0.9, 0.1]).round(2).tolist()
    [1.0, 1.67, 1.67]
    >>> worker_importance([0.5, 0.9, 0.1], claimed=True).round(2).tolist()
    [1.0, 7.38, 7.38]
    """
    chances = _numbers("accuracy", accuracy, 0, 1)
    with np.errstate(divide="ignore"):
        return np.asarray(1 / (_claimed_factors(chances) if claimed else _factors(chances)))


def important_workers(importance: npt.ArrayLike, *, threshold: float) -> npt.NDArray[np.bool_]:
    """Return which workers are nearly as important as the best one (Li et al., section 6.2.3).

    Parameters
    ----------
    importance : array_like, shape (m,)
        From `worker_importance`.
    threshold : float
        Least share c of the largest importance, ``0 < c <= 1``. With 1 only the best remain.

    Examples
    --------
    >>> important_workers(worker_importance([0.95, 0.9, 0.6]), threshold=0.5).tolist()
    [True, True, False]
    """
    scores = _numbers("importance", importance, 1, math.inf)
    least = _positive("threshold", threshold, 1) * scores.max()
    return np.asarray(scores >= least * (1 - 16 * _EPS))  # equal as far as rounding tells


def claimed_change_density(change: npt.ArrayLike, *, workers: int, high: float) -> _Array:
    """Return the density of what Li et al. take for the change of the error rate (Figure 1).

    That is the product of n flip probabilities, each uniform from 0 to b, with the density
    ``ln(b^n / x)^(n - 1) / ((n - 1)! b^n)`` at ``0 <= x <= b^n``. This distribution of the product
    is right. That the error rate changes by it rests on `claimed_vote_error_bound` in its linear
    form, less a factor ``2^n``, and on workers who are never wrong.

    Parameters
    ----------
    change : array_like, shape (r,)
        Where to evaluate it; at 0 it is infinite for more than one worker.
    workers : int
        Number of important workers n, at least 1.
    high : float
        Largest flip probability b, ``0 < b <= 1``.

    Examples
    --------
    >>> claimed_change_density([0.1, 0.5, 1.2], workers=2, high=1.0).round(3).tolist()
    [2.303, 0.693, 0.0]
    """
    points = _numbers("change", change)
    check_whole("workers", workers, 1)
    top = workers * math.log(_positive("high", high, 1))
    with np.errstate(divide="ignore", over="ignore"):
        depth = top - np.log(np.maximum(points, 0.0))
        rise = (workers - 1) * _log(depth) if workers > 1 else 0.0
        density = np.exp(rise - math.lgamma(workers) - top)
    return np.where((points >= 0) & (depth >= 0), density, 0.0)


def laplace_error_bound(
    truths: npt.ArrayLike,
    *,
    answered: npt.ArrayLike,
    sigma: npt.ArrayLike,
    fill: npt.ArrayLike,
    sensitivity: float,
    epsilon: float,
    quality: npt.ArrayLike = 1.0,
) -> float:
    """Return an upper bound of the mean absolute error under Laplace noise on every cell.

    Theorem 2 of Sun et al., made valid for a random fill. A worker's answer is the truth plus
    normal noise; a missing one is filled in; every cell gets Laplace noise of scale
    ``sensitivity / epsilon``; the truth is the quality-weighted mean.

    Parameters
    ----------
    truths : array_like, shape (n,)
        Truth mu of each task, in the unit of the answers.
    answered : array_like, shape (m,)
        Share s of the tasks that each worker answers, 0 to 1, whatever their truths.
    sigma : array_like, shape (m,)
        Standard deviation of each worker's answers about the truth, >= 0.
    fill : array_like, shape (f,)
        Values v that stand in for a missing answer, equally likely.
    sensitivity : float
        How far one answer can move, > 0. The paper takes the number of levels; what privacy needs
        is the distance of the highest from the lowest.
    epsilon : float
        Privacy loss per cell, nats, > 0.
    quality : array_like, shape (m,)
        Weight of each worker, >= 0 and not all 0; only ratios count. Weights that are estimated
        from the reports are not covered.

    Notes
    -----
    The mean over tasks of the weighted mean over workers of::

        (1 - s) E|v - mu| + s sigma sqrt(2 / pi) + sensitivity / epsilon

    The paper prints ``|E v - mu|`` for ``E|v - mu|``. That is the same for a constant fill and no
    bound for a random one; the mean of the values as `fill` gives it.

    Examples
    --------
    The paper's setting with 10 levels, then with the width of 0 to 9:

    >>> setting = {"answered": 0.1, "sigma": 1.0, "fill": range(10), "epsilon": 1.0}
    >>> [round(laplace_error_bound(0.0, sensitivity=s, **setting), 2) for s in (10, 9)]
    [14.13, 13.13]
    """
    centres = _numbers("truths", truths)
    offset = np.abs(_numbers("fill", fill)[:, None] - centres).mean(axis=0)
    workers = _workers(answered, _numbers("sigma", sigma, 0), quality)
    return _laplace_bound(offset, workers, sensitivity, epsilon)


def claimed_laplace_error_bound(
    truths: npt.ArrayLike,
    *,
    answered: npt.ArrayLike,
    sigma: npt.ArrayLike,
    fill: npt.ArrayLike,
    sensitivity: float,
    epsilon: float,
    quality: npt.ArrayLike = 1.0,
) -> float:
    """Return the printed "bound" of the error under Laplace noise on every cell.

    Theorem 2 of Sun et al.

    Parameters
    ----------
    truths, answered, sigma, fill, sensitivity, epsilon, quality
        As in `laplace_error_bound`.

    Notes
    -----
    It has ``|E v - mu|`` where `laplace_error_bound` has ``E|v - mu|``, which is larger where some
    of the values v are above the truth and others below it. With one worker who answers nothing,
    next to no noise, and a fill of 0 or 2, the error about a truth of 1 is 1, the printed formula
    next to 0.

    Examples
    --------
    The paper prints 14.13 for truths of 0; its slides, for truths of 1.

    >>> setting = {"answered": 0.1, "sigma": 1.0, "fill": range(10), "epsilon": 1.0}
    >>> [round(claimed_laplace_error_bound(t, sensitivity=10, **setting), 2) for t in (0, 1)]
    [14.13, 13.23]
    >>> round(laplace_error_bound(1, sensitivity=10, **setting), 2)
    13.41
    """
    centres = _numbers("truths", truths)
    offset = np.abs(_numbers("fill", fill).mean() - centres)
    workers = _workers(answered, _numbers("sigma", sigma, 0), quality)
    return _laplace_bound(offset, workers, sensitivity, epsilon)


def _laplace_bound(
    offset: _Array, workers: list[_Array], sensitivity: float, epsilon: float
) -> float:
    """Return the mean over tasks of what workers err at most, filled by something `offset` away."""
    share, spread, weights = workers
    scale = _positive("sensitivity", sensitivity) / _positive("epsilon", epsilon)
    errors = (1 - share) * offset + share * spread * _HALF_NORMAL_MEAN + scale
    return float((weights * errors).sum(axis=0).mean())


def claimed_randomized_response_error_bound(
    truths: npt.ArrayLike,
    *,
    answered: npt.ArrayLike,
    sigma: npt.ArrayLike,
    levels: npt.ArrayLike,
    epsilon: float,
    quality: npt.ArrayLike = 1.0,
) -> float:
    """Return the printed "bound" of the error under randomised response with NULL as a label.

    Theorem 3 of Sun et al.

    Parameters
    ----------
    truths, answered, sigma, epsilon, quality
        As in `laplace_error_bound`, but ``sigma > 0``.
    levels : array_like, shape (K,)
        The numbers y that can be answered, each once, without NULL.

    Notes
    -----
    With ``q = 1 / (e^epsilon + K)``, the mean over tasks of the weighted mean over workers (in the
    paper, over those of the task) of::

        (1 - s) |mu - q sum(y)| + s sum over x of N(x; mu, sigma) |mu - sum over y of y P(y | x)|

    It is no upper bound for the procedure. NULL reports enter as the value 0, while truths are
    inferred without them, which in the paper's setting has error 4.43. It measures how far the
    mean report is from the truth and misses the scatter that a finite crowd leaves. And the
    densities N at the levels do not sum to 1: in the paper's setting, where the truth is the
    lowest level, to 0.70, and with ``sigma = 0.1`` to 3.99.

    Examples
    --------
    The paper's setting; it prints 3.551. With all answers at 1 the formula gives 3.5517.

    >>> setting = {"answered": 0.1, "sigma": 1.0, "levels": range(10), "epsilon": 1.0}
    >>> round(claimed_randomized_response_error_bound(0.0, **setting), 3)
    3.437
    """
    centres = _numbers("truths", truths)
    share, spread, weights = _workers(answered, _numbers("sigma", sigma, 0, above=True), quality)
    values = _numbers("levels", levels)
    if len(np.unique(values)) < len(values):
        raise ParameterError(f"levels must differ from each other; got {values.tolist()}")
    shrink = math.exp(-_positive("epsilon", epsilon))
    total = 1 + len(values) * shrink
    flat, kept = shrink / total * values.sum(), (1 - shrink) / total
    errors = (1 - share) * np.abs(centres - flat)
    for value in values:
        with np.errstate(over="ignore"):
            density = np.exp(-(((value - centres) / spread) ** 2) / 2)
        density = density / (spread * math.sqrt(2 * math.pi))
        errors = errors + share * density * np.abs(centres - flat - kept * value)
    return float((weights * errors).sum(axis=0).mean())


def claimed_factorization_error_bound(
    *,
    factors: int,
    tasks: int,
    sensitivity: float,
    epsilon: float,
    quality: npt.ArrayLike = 1.0,
) -> float:
    """Return the printed "bound" of the error under perturbed matrix factorisation.

    Theorem 5 of Sun et al.: ``m max(q) (sqrt(2 / pi) + d sensitivity / (n epsilon))``, with
    qualities q that sum to 1.

    Parameters
    ----------
    factors : int
        Length d of a worker's profile, at least 1.
    tasks : int
        Number of tasks n, at least 1.
    sensitivity, epsilon, quality
        As in `laplace_error_bound`.

    Notes
    -----
    It knows neither the truths nor how well workers answer, so it bounds no error. Its first term
    is the error of the constant 0 where truths are standard normal. With every truth at 9 and one
    factor of random signs, estimates are near 0 and the error near 9.

    Examples
    --------
    >>> setting = {"factors": 100, "tasks": 1000, "sensitivity": 10, "epsilon": 1.0}
    >>> round(claimed_factorization_error_bound(**setting), 3)
    1.798
    """
    check_whole("factors", factors, 1)
    check_whole("tasks", tasks, 1)
    scale = _positive("sensitivity", sensitivity) / _positive("epsilon", epsilon)
    weights = _shares(quality)
    return len(weights) * float(weights.max()) * (_HALF_NORMAL_MEAN + factors / tasks * scale)


def _factors(chances: _Array) -> _Array:
    return np.asarray(2 * np.sqrt(chances * (1 - chances)))


def _claimed_factors(chances: _Array) -> _Array:
    low = np.minimum(chances, 1 - chances)
    with np.errstate(divide="ignore"):
        log_odds = np.log(low) - np.log1p(-low)
    return np.asarray(np.exp(log_odds * np.log(low / math.e + (1 - low) * math.e)))


def _log(values: _Array | float) -> _Array:
    """Return logarithms, that of 0 finite, so that 0 ln 0 is 0."""
    return np.asarray(np.log(np.maximum(values, _TINY)))


def _binomial(count: int, chance: float) -> _Array:
    """Return the probabilities of 0 to `count` right answers."""
    right = np.arange(count + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(right[1:]))])
    terms = right * _log(chance) + (count - right) * _log(1 - chance)
    chances = np.exp(terms + factorials[-1] - factorials - factorials[::-1])
    return np.asarray(chances / chances.sum())


def _workers(answered: npt.ArrayLike, sigma: _Array, quality: npt.ArrayLike) -> list[_Array]:
    """Return all three as columns, one row per worker; the last sums to 1."""
    share, spread, weights = _of_one_length(
        answered=_numbers("answered", answered, 0, 1), sigma=sigma, quality=_shares(quality)
    )
    return [share[:, None], spread[:, None], weights[:, None] / weights.sum()]


def _shares(quality: npt.ArrayLike) -> _Array:
    """Return qualities scaled to sum 1."""
    weights = _numbers("quality", quality, 0)
    if not weights.any():
        raise ParameterError("quality must be above 0 for at least one worker; got 0 for all")
    weights = weights / weights.max()
    return np.asarray(weights / weights.sum())


def _of_one_length(**lists: _Array) -> tuple[_Array, ...]:
    try:
        return np.broadcast_arrays(*lists.values())
    except ValueError:
        lengths = ", ".join(str(len(values)) for values in lists.values())
        raise ParameterError(
            f"{', '.join(lists)} must be single numbers or lists of one length; got {lengths}"
        ) from None


def _positive(name: str, value: float, high: float = _HUGE) -> float:
    """Return `value` if it is a number above 0."""
    numbers = _numbers(name, value, 0, high, above=True)
    if len(numbers) > 1:
        raise ParameterError(f"{name} must be a single number; got {value!r}")
    return float(numbers[0])


def _numbers(
    name: str, values: npt.ArrayLike, low: float = -_HUGE, high: float = _HUGE, above: bool = False
) -> _Array:
    """Return one number or a list of them as float64, shape (m,), if all are in range."""
    try:
        given = np.atleast_1d(values)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.dtype.kind not in "iuf" or given.ndim > 1 or not given.size:
        raise ParameterError(f"{name} must be a number or a list of numbers; got {values!r}")
    inside = (given > low if above else given >= low) & (given <= high)
    if not inside.all():
        ends = ["finite"] if high == _HUGE else []
        if low > -_HUGE:
            ends.append(f"above {low:g}" if above else f"at least {low:g}")
        if high < _HUGE:
            ends.append(f"at most {high:g}")
        wrong = given[int(inside.argmin())].item()
        raise ParameterError(f"{name} must be {' and '.join(ends)}; got {wrong!r}")
    return given.astype(np.float64)
