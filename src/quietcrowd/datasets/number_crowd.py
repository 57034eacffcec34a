"""Synthetic crowds of numbers with a known distribution."""

from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen
from scipy.special import ndtr, ndtri

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.datasets.drawn import (
    check_assigned_sizes,
    check_given,
    draw_assignment,
    drawn_answers,
    drawn_crowd,
)
from quietcrowd.domains import Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_between, check_positive, check_real

Floats = npt.NDArray[np.float64]

LEAST_SIGMA = 1e-9
"""Least value of `worker_sigmas`, in widths of the domain."""


@frozen(kw_only=True, eq=False)
class NumberDistribution:
    """Distribution of a crowd of numbers by `number_crowd`; `sigma` and `scale` are per worker."""

    domain: Interval
    middle: float
    spread: float
    bias: float
    sigma: Floats
    scale: Floats
    outliers: float
    outlier_factor: float

    def truth_below(self, numbers: Any) -> Floats:
        """Return the probability that a truth is at most each number."""
        low, high, at = (
            ndtr((np.asarray(edge, np.float64) - self.middle) / self.spread)
            for edge in (self.domain.low, self.domain.high, numbers)
        )
        below: Floats = np.clip((at - low) / (high - low), 0.0, 1.0)
        return below

    def answer_below(self, worker: int, seen: Any, numbers: Any) -> Floats:
        """Return the probability that a worker's answer is at most each of `numbers`.

        `seen` are truths plus the error that all answers share.
        """
        at = np.asarray(numbers, np.float64)
        centre = self.middle + self.scale[worker] * (np.asarray(seen) - self.middle)
        apart = (at - centre) / self.sigma[worker]
        usual, wide = ndtr(apart), ndtr(apart / self.outlier_factor)
        below: Floats = (1 - self.outliers) * usual + self.outliers * wide
        return np.where(at >= self.domain.high, 1.0, np.where(at < self.domain.low, 0.0, below))


@frozen(kw_only=True, eq=False)
class SampledNumbers(Dataset):
    """Synthetic crowd of numbers, and the `distribution` from which it was sampled."""

    distribution: NumberDistribution


def number_crowd(
    *,
    tasks: int = 200,
    workers: int = 40,
    answers_per_task: int = 10,
    answers_per_worker: int | None = None,
    domain: Interval | None = None,
    middle: float | None = None,
    spread: float = 1.5,
    sigmas: tuple[float, float] = (0.3, 3.0),
    scales: tuple[float, float] = (1.0, 1.0),
    worker_sigmas: Any = None,
    worker_scales: Any = None,
    bias: float = 0.0,
    outliers: float = 0.0,
    outlier_factor: float = 10.0,
    seed: int = 0,
) -> SampledNumbers:
    """Sample a crowd that measures numbers, with its distribution.

    Truths are normal, truncated to the domain. All answers to a task share an error, which is added
    to the truth. The worker's scale multiplies the distance of this sum from the middle, an
    individual error is added, and the answer is clipped to the domain. Scales are uniform between
    two bounds; standard deviations of individual errors are log-uniform, and at least 10^-9 times
    the width of the domain. All workers give equally many answers, to within one.
    """
    check_assigned_sizes(tasks, workers, answers_per_task if answers_per_worker is None else 1)
    bounds = Interval(low=0, high=10) if domain is None else domain
    _check_lengths(spread, sigmas, scales, bias, outliers, outlier_factor)
    rng = np.random.default_rng(seed)
    distribution = NumberDistribution(
        domain=bounds,
        middle=_middle(bounds, middle),
        spread=float(spread),
        bias=float(bias),
        sigma=_sigmas(rng, sigmas, worker_sigmas, workers, bounds),
        scale=_scales(rng, scales, worker_scales, workers),
        outliers=float(outliers),
        outlier_factor=float(outlier_factor),
    )
    truths = _truths(rng, distribution, tasks)
    counts, who = draw_assignment(rng, tasks, workers, answers_per_task, answers_per_worker)
    answers = _answers(rng, distribution, truths, counts, who)
    return drawn_crowd(
        SampledNumbers,
        f"drawn numbers (seed {seed})",
        drawn_answers(bounds, workers, counts, who, answers),
        truths,
        distribution=distribution,
    )


def _check_lengths(
    spread: float, sigmas: Any, scales: Any, bias: float, outliers: float, factor: float
) -> None:
    for name, pair in (("sigmas", sigmas), ("scales", scales)):
        if len(pair) != 2 or not 0 < pair[0] <= pair[1] < np.inf:
            raise ParameterError("datasets.bounds-invalid", name=name, pair=pair)
    check_positive("spread", spread)
    check_real("bias", bias, 0)
    check_between("outliers", outliers, 0, 1)
    check_real("outlier_factor", factor, 1)


def _middle(domain: Interval, middle: float | None) -> float:
    if middle is None:
        return (domain.low + domain.high) / 2
    check_real("middle", middle, domain.low)
    if middle > domain.high:
        raise ParameterError(
            "datasets.middle-outside-domain", domain=domain.describe(), middle=middle
        )
    return float(middle)


def _sigmas(
    rng: np.random.Generator, bounds: tuple[float, float], given: Any, workers: int, of: Interval
) -> Floats:
    if given is None:
        drawn: Floats = np.exp(rng.uniform(np.log(bounds[0]), np.log(bounds[1]), workers))
        return drawn
    least = LEAST_SIGMA * (of.high - of.low)
    known: Floats = check_given("worker_sigmas", given, workers, least, np.inf)
    return known


def _scales(
    rng: np.random.Generator, bounds: tuple[float, float], given: Any, workers: int
) -> Floats:
    if given is None:
        return rng.uniform(bounds[0], bounds[1], workers)
    known: Floats = check_given("worker_scales", given, workers, 0.0, np.inf)
    return known


def _truths(rng: np.random.Generator, distribution: NumberDistribution, tasks: int) -> Floats:
    ends = np.array([distribution.domain.low, distribution.domain.high]) - distribution.middle
    low, high = ndtr(ends / distribution.spread)
    truths = distribution.middle + distribution.spread * ndtri(
        low + (high - low) * rng.random(tasks)
    )
    inside: Floats = np.clip(truths, distribution.domain.low, distribution.domain.high)
    return inside


def _answers(
    rng: np.random.Generator,
    distribution: NumberDistribution,
    truths: Floats,
    counts: npt.NDArray[np.int64],
    who: npt.NDArray[np.int64],
) -> Floats:
    seen = np.repeat(truths + distribution.bias * rng.normal(size=len(truths)), counts)
    wide = np.where(rng.random(who.shape) < distribution.outliers, distribution.outlier_factor, 1.0)
    own = distribution.sigma[who] * wide * rng.normal(size=who.shape)
    answers = distribution.middle + distribution.scale[who] * (seen - distribution.middle) + own
    cut: Floats = np.clip(answers, distribution.domain.low, distribution.domain.high)
    return cut
