"""The law of a number with Gaussian noise of a drawn variance."""

from __future__ import annotations

import math
from functools import cached_property

from attrs import frozen

from quietcrowd.mechanisms.channel import Channel
from quietcrowd.mechanisms.discrete_gaussian import DrawnGaussian
from quietcrowd.mechanisms.grid import Grid
from quietcrowd.privacy.sampled_variance import VarianceLaw

__all__ = ["SampledVarianceChannel"]


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

    @property
    def scale(self) -> float:
        """Scale b of the Laplace noise that the drawn part amounts to, in the answers' own unit."""
        return self.grid.step * self.noise.scale

    @property
    def least_variance(self) -> float:
        """Least variance of a worker's noise, in the squared unit of the answers."""
        return self.grid.step**2 * self.noise.least_variance

    @property
    def variance(self) -> float:
        """Mean variance of the noise, in the squared unit of the answers."""
        return self.least_variance + 2 * self.scale**2

    @property
    def reach(self) -> int:
        """How many steps beyond the domain reports are cut off: 64 scales, public."""
        return math.ceil(64 * self.noise.scale)

    @cached_property
    def law(self) -> VarianceLaw:
        """What answers lose to this noise, in steps of the grid."""
        noise = self.noise
        return VarianceLaw(steps=self.grid.steps, rate=noise.rate, least=noise.least_variance)

    @cached_property
    def epsilon(self) -> float:
        """Pure privacy loss of one report, rounded up."""
        return self.law.one_answer_epsilon
