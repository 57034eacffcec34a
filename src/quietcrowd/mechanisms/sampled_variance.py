"""Gaussian noise of a variance that every worker draws for itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from attrs.validators import optional
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.domains import Interval, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channel import Channel, Shift
from quietcrowd.mechanisms.discrete_gaussian import MOST_LEAST, DrawnGaussian
from quietcrowd.mechanisms.discrete_laplace import positive_epsilon
from quietcrowd.mechanisms.grid import Grid, bounded_domain
from quietcrowd.mechanisms.mechanism import Reports
from quietcrowd.mechanisms.randomness import Randomness
from quietcrowd.mechanisms.taskwise import TaskwiseMechanism
from quietcrowd.privacy.guarantee import (
    ABOUT_TASKS,
    PrivacyGuarantee,
    Tasks,
    check_counts,
    check_linked,
)
from quietcrowd.privacy.rounding import ratio_up
from quietcrowd.privacy.sampled_variance import (
    MAX_ANSWERS,
    MEAN,
    VarianceLaw,
    claimed_epsilon,
    claimed_rate,
    variance_tail_epsilon,
)
from quietcrowd.privacy.tail_bound import TailBound
from quietcrowd.report_domains import Lattice
from quietcrowd.validation import at_least, check_proportion, check_whole, optional_number

__all__ = ["SampledVarianceChannel", "SampledVarianceGaussian"]

MOST_EPSILON = 32.0
"""Of one answer alone; 64 scales of noise are then no longer far beyond the domain."""

MOST_SCALE = 2.0**30
"""In steps of the grid."""

LEAST_DELTA = 1e-30

SETUP_DRAWS = 30
"""Setting up the exact noise of a worker takes as long as so many draws."""


def _check_delta(_: object, __: object, delta: float | None) -> None:
    if delta is None:
        raise ParameterError(
            "delta must be given: the paper claims a pair (epsilon, delta), as in delta=0.05 "
            "(on the command line: -m sampled-variance:delta=0.05)"
        )
    if not LEAST_DELTA <= delta < 1:
        raise ParameterError(f"delta must be at least {LEAST_DELTA:g} and below 1; got {delta!r}")


def _check_rate(_: object, __: object, rate: float) -> None:
    if not (math.isfinite(rate) and rate > 0):
        raise ParameterError(
            f"rate must be a finite number above 0: at 0 the noise would be infinite; got {rate!r}"
        )


@frozen(kw_only=True, slots=False)
class SampledVarianceChannel(Channel):
    """The law of one report of a worker of whom nothing else is known.

    A place on a grid plus discrete Gaussian noise, whose variance is drawn: `least_variance` and
    an exponential amount of mean ``2 * scale**2``. Without a least variance this is Laplace noise
    of that scale, but for what the grid and the units of the variance change: see
    ``docs/theory/sampled-variance.md``. Several answers of one worker share the variance and are
    not independent: their joint law is no product of this channel.

    Attributes
    ----------
    grid : Grid
        Answers are rounded to it.
    noise : DrawnGaussian
        In steps of the grid.
    """

    grid: Grid
    noise: DrawnGaussian

    @cached_property
    def shift(self) -> Shift:
        """The grid and the noise of a worker of whom nothing else is known."""
        return Shift(grid=self.grid, noise=self.noise)

    @property
    def scale(self) -> float:
        """Scale b of the Laplace noise that the drawn part amounts to, in the answers' own unit."""
        return self.shift.scale

    @property
    def least_variance(self) -> float:
        """Least variance of a worker's noise, in the squared unit of the answers."""
        return self.grid.step**2 * self.noise.least_variance

    @property
    def variance(self) -> float:
        """Mean variance of the noise, in the squared unit of the answers."""
        return self.shift.variance

    @property
    def reach(self) -> int:
        """How many steps beyond the domain reports are cut off: 64 scales, public."""
        return self.noise.reach

    @cached_property
    def law(self) -> VarianceLaw:
        """What answers lose to this noise, in steps of the grid."""
        noise = self.noise
        return VarianceLaw(steps=self.grid.steps, rate=noise.rate, least=noise.least_variance)

    @cached_property
    def epsilon(self) -> float:
        """Pure privacy loss of one report, rounded up."""
        return self.law.one_answer_epsilon

    @override
    def describe(self) -> Mapping[str, Any]:
        return {
            "kind": "sampled-variance",
            "grid": self.grid.describe(),
            "variance_unit": self.noise.unit,
            "least_units": self.noise.least,
            "reach": self.reach,
        }


@frozen(kw_only=True, slots=False)
class SampledVarianceGaussian(TaskwiseMechanism):
    """Draw one noise variance per worker, then add Gaussian noise of it to every answer.

    The server publishes a rate. Worker s draws ``V_s``, exponential of that rate, once, and tells
    nobody; a report is the answer, clipped and rounded to a public grid, plus ``N(0, V_s)``,
    discrete on that grid. Answered tasks alone are reported.

    Parameters
    ----------
    domain : Ordinal or Interval
        At least two numbers.
    epsilon : float, optional
        The claimed loss, natural logarithm, above 0. It gives the rate
        ``2 epsilon ln(1 / (1 - delta)) / width**2``.
    rate : float, optional
        The rate lambda_2 itself, in 1 over the squared unit of the answers; the mean variance is
        ``1 / rate``. Exactly one of epsilon and rate is given.
    delta : float
        Of the claimed pair (epsilon, delta), above 0 and below 1; must be given.
    least_variance : float, optional
        Variances below it are drawn again: ``V_s`` is then this much, in the squared unit of the
        answers, and an exponential amount more; at most ``16 / rate``. As printed there is none,
        and every worker runs a risk of a variance near 0, which hides nothing.
    step : float, optional
        Of the grid, a power of two; see `Grid.over`.

    Raises
    ------
    ParameterError
        Where the domain holds less than two numbers, a parameter is out of range or missing, or
        the noise is finer than a step, coarser than 2^30, or less than 1/32 of the width; where
        the step is so coarse that no delta below 1 can be proved at the claimed epsilon.

    Guarantee
    ---------
    One answer alone: N(0, V) with an exponential V is Laplace noise, so the loss is pure,
    ``width * sqrt(2 rate)``; `guarantee` states it where it is within the claimed epsilon.

    In all other cases `guarantee` states the claimed epsilon, and as delta an upper bound on the
    least one there, for one answer given all others, even if the worker's variance became known:
    with many answers it does. No pure loss holds then that does not grow with the fineness of the
    grid. The delta is below the claimed one, so that the claim holds; its proof does not, since no
    Gaussian noise loses a bounded amount. `worker_epsilon` is the loss about all n answers
    together at the same delta: about n times the claim. (Infinite where none can be proved.) A
    report loses more than the claimed epsilon about 1 + 1/epsilon times as often as that delta
    says; `tail` says what is exceeded with that probability.

    References
    ----------
    Y. Li et al., "Towards Differentially Private Truth Discovery for Crowd Sensing Systems", ICDCS
    2020, arXiv:1810.04760. What holds: ``docs/theory/sampled-variance.md``.

    Examples
    --------
    >>> mechanism = SampledVarianceGaussian(
    ...     domain=Interval(low=0, high=10), epsilon=1.0, delta=0.1
    ... )
    >>> one, five = (mechanism.guarantee(answers=n) for n in (1, 5))
    >>> round(one.epsilon, 4), one.delta
    (0.6492, 0.0)
    >>> five.epsilon, round(five.delta, 4), round(five.worker_epsilon, 4)
    (1.0, 0.0916, 5.3845)
    """

    name: ClassVar[str] = "sampled-variance"
    no_memo: ClassVar[str] = (
        "Gaussian noise of a drawn variance cannot be had again in a fixed number of steps. Send "
        "its reports once and keep nothing, or take LaplacePerturbation with fill=None"
    )
    domain: Ordinal | Interval = field(validator=bounded_domain)
    epsilon: float | None = field(
        default=None, converter=optional_number, validator=optional(positive_epsilon)
    )
    rate: float | None = field(
        default=None, converter=optional_number, validator=optional(_check_rate)
    )
    delta: float | None = field(default=None, converter=optional_number, validator=_check_delta)
    least_variance: float | None = field(
        default=None, converter=optional_number, validator=optional(at_least(0))
    )
    step: float | None = field(default=None, converter=optional_number)

    def __attrs_post_init__(self) -> None:
        if (self.epsilon is None) == (self.rate is None):
            raise ParameterError(
                "give either epsilon, the claimed loss, or rate, that of the variance; "
                f"got epsilon={self.epsilon!r}, rate={self.rate!r}"
            )
        law = self.channel.law  # refuses noise that the grid cannot hold
        if law.delta_at(self.claimed_epsilon) >= 1:
            raise ParameterError(
                f"step={self.grid.step:g} leaves a grid of {self.grid.steps:,} steps, too coarse: "
                "nothing can be proved of two answers. Take a finer step, as "
                f"step={self.grid.step / 16:g}, or leave it out."
            )

    @cached_property
    def grid(self) -> Grid:
        """The public grid that answers are rounded to."""
        return Grid.over(self.domain, self.step)

    @cached_property
    def channel(self) -> SampledVarianceChannel:
        """The law of one report of a worker of whom nothing else is known."""
        unit = self._unit
        least = 0
        if self.least_variance:
            variance = Fraction(self.least_variance) / Fraction(self.grid.step) ** 2
            least = math.ceil(variance / Fraction(unit))
            if least > MOST_LEAST:
                most = MOST_LEAST * unit * self.grid.step**2
                raise ParameterError(
                    f"least_variance must be at most 16 times the mean that is drawn, {most:.4g}; "
                    f"got {self.least_variance!r}. Take a lower one, or less epsilon or rate."
                )
        return SampledVarianceChannel(grid=self.grid, noise=DrawnGaussian(unit=unit, least=least))

    @property
    def _unit(self) -> float:
        """Unit of the variance, in squared steps, rounded up: towards more noise."""
        steps = self.grid.steps
        if self.rate is not None:
            rate = Fraction(self.rate) * Fraction(self.grid.step) ** 2
            given = f"rate={self.rate!r}"
        else:
            of_one = Fraction(claimed_rate(1.0, self.delta or 0.0, steps))
            rate = of_one * Fraction(self.epsilon or 0.0) * (1 - Fraction(1, 2**48))
            given = f"epsilon={self.epsilon!r} with delta={self.delta!r}"
        finest = max(1.0, steps / MOST_EPSILON)
        if not finest**2 <= 1 / (2 * rate) <= MOST_SCALE**2:
            power = (rate.denominator.bit_length() - rate.numerator.bit_length()) // 2
            size = "large" if 1 / (2 * rate) < finest**2 else "small"
            raise ParameterError(
                f"{given} is too {size}: it needs noise of about 2^{power} steps of the grid; "
                f"from {finest:g} to {MOST_SCALE:g} are possible. Take another one, or "
                "another step."
            )
        return ratio_up(1 / (rate * MEAN))

    @property
    def worker_channel(self) -> None:
        """None: the variance of a worker is known to that worker alone."""
        return None

    @property
    def report_domain(self) -> Lattice:
        """What a report can be: numbers in steps of the grid, also outside of the domain."""
        return self.grid.lattice(self.channel.noise.scale)

    @override
    def noise_draws(self, *, answers: int, tasks: int, workers: int) -> int:
        return answers + SETUP_DRAWS * workers

    @property
    def claimed_epsilon(self) -> float:
        """What the paper states together with `delta`, for the width of the grid."""
        if self.epsilon is not None:
            return self.epsilon
        return claimed_epsilon(self.rate or 0.0, self.delta or 0.0, self.grid.width)

    def guarantee(
        self, answers: int = 1, tasks: Tasks | None = None, *, linked: int = 1
    ) -> PrivacyGuarantee:
        """Return what a worker loses at most; see the class and `Mechanism.guarantee`.

        A pure loss (delta 0) for a single answer, where that is within the claim; else the
        claimed epsilon and the delta that is proved there for one answer given all others. The
        `worker_epsilon` holds at the same delta.
        """
        count = check_counts(answers, tasks)
        check_whole("answers", answers, 1, MAX_ANSWERS)
        law, claimed = self.channel.law, self.claimed_epsilon
        epsilon = linked_epsilon = worker_epsilon = self.channel.epsilon
        delta = 0.0
        if count > 1 or epsilon > claimed:
            epsilon = claimed
            delta = law.delta_at(epsilon)
            linked_epsilon = self._epsilon_of(check_linked(linked, count), delta)
            worker_epsilon = self._epsilon_of(count, delta)
        return PrivacyGuarantee(
            answers=answers,
            epsilon=epsilon,
            worker_epsilon=worker_epsilon,
            linked=linked,
            linked_epsilon=linked_epsilon,
            delta=delta,
            tail=self.tail(delta, answers, linked=linked) if delta else None,
            participation_protected=False,
            claimed_epsilon=claimed,
            claimed_delta=self.delta or 0.0,
            assumptions=(
                "the variance is drawn once per worker, and "
                + (
                    "may become known: for who knows it the tail is proved, for others computed"
                    if delta
                    else "stays secret"
                ),
                f"it serves {count:,} answer{'s' * (count != 1)} and no more",
                *ABOUT_TASKS,
            ),
            source="docs/theory/sampled-variance.md; claimed by Li et al., ICDCS 2020",
        )

    def _epsilon_of(self, differing: int, delta: float) -> float:
        """Return what is lost at a delta where rows may differ in so many answers."""
        claimed = self.claimed_epsilon
        if differing == 1:
            return claimed
        return max(claimed, self.channel.law.epsilon_at(delta, count=differing))

    def tail(
        self,
        probability: float,
        answers: int = 1,
        tasks: Tasks | None = None,
        *,
        linked: int = 1,
    ) -> TailBound:
        """Return losses that are each exceeded with a probability at most; see `Mechanism.tail`.

        They are those of who learns the worker's variance besides, or of who does not, whichever
        are larger; and for one answer alone at most the pure loss.
        """
        check_proportion("probability", probability)
        count = check_counts(answers, tasks)
        shared = check_linked(linked, count)
        epsilon, linked_epsilon, worker_epsilon = (
            variance_tail_epsilon(self.channel.law, probability, differing=differing, answers=count)
            for differing in (1, shared, count)
        )
        if count == 1:
            epsilon = linked_epsilon = worker_epsilon = min(epsilon, self.channel.epsilon)
        return TailBound(
            probability=float(probability),
            epsilon=epsilon,
            linked_epsilon=linked_epsilon,
            worker_epsilon=worker_epsilon,
        )

    def draw_workers(self, workers: int, rng: Randomness) -> npt.NDArray[np.float64]:
        """Return the workers' standard deviations; see `TaskwiseMechanism.draw_workers`."""
        return self.channel.noise.draw(workers, rng)

    @override
    def randomize_tasks(
        self, answers: Answers, drawn: npt.NDArray[Any] | None, rng: Randomness
    ) -> Reports:
        assert drawn is not None
        channel = self.channel
        noisy = channel.noise.sample(drawn, answers.worker_codes, rng)
        noisy += self.grid.places(self.domain.numbers(answers.values))
        np.clip(noisy, -channel.reach, self.grid.steps + channel.reach, out=noisy)
        domain = self.report_domain
        return Reports(
            table=answers.with_values(domain, noisy.astype(domain.dtype)),
            mechanism=self,
            simulated=isinstance(rng, np.random.Generator),
        )

    def _parameters(self) -> dict[str, Any]:
        return {
            **super()._parameters(),
            "grid_step": self.grid.step,
            "steps": self.grid.steps,
            "variance_unit": self.channel.noise.unit,
            "least_units": self.channel.noise.least,
        }
