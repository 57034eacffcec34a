"""The law of a number with Laplace noise."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeAlias

from attrs import frozen

from quietcrowd.mechanisms.channel import Channel
from quietcrowd.mechanisms.discrete_laplace import DiscreteLaplace
from quietcrowd.mechanisms.grid import Grid
from quietcrowd.privacy.rounding import ratio_up

__all__ = ["BIT_GRID", "Fill", "LaplaceChannel"]

Fill: TypeAlias = Literal["uniform", "midpoint"] | float | None

BIT_GRID = Grid(low=0.0, step=2.0**-10, steps=2**10, high=1.0)
"""The grid of the participation bit: 0 is "not answered", 1 is "answered"."""


@frozen(kw_only=True, slots=False)
class LaplaceChannel(Channel):
    """The law of a numeric report: a place on a grid plus discrete Laplace noise.

    Attributes
    ----------
    grid : Grid
        Answers are rounded to it.
    noise : DiscreteLaplace
        In steps of the grid.
    fill : {"uniform", "midpoint"}, float or None
        What an unanswered task is reported as, before the noise; None: it is not reported.
    participation_noise : DiscreteLaplace or None
        Of the noisy bit beside the report, in steps of 1/1024.
    """

    grid: Grid
    noise: DiscreteLaplace
    fill: Fill
    participation_noise: DiscreteLaplace | None = None

    @property
    def scale(self) -> float:
        """Scale b of the noise, in the answers' own unit."""
        return self.grid.step * self.noise.scale

    @property
    def variance(self) -> float:
        """Variance of the noise, in the squared unit of the answers."""
        return self.grid.step**2 * self.noise.variance

    @cached_property
    def epsilon(self) -> float:
        """Privacy loss of one report, rounded up.

        One answer against another, or, where the participation bit is released, half of that and
        the bit together, whichever is more.
        """
        one = self.noise.loss(self.grid.steps)
        if self.participation_noise is None:
            return one
        half = Fraction(self.grid.middle) / Fraction(self.noise.scale)
        bit = Fraction(BIT_GRID.steps) / Fraction(self.participation_noise.scale)
        return max(one, ratio_up(half + bit))
