"""The law of sums over all of a worker's answers, with noise."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

from attrs import frozen

from quietcrowd.mechanisms.channel import Channel
from quietcrowd.mechanisms.discrete_laplace import DiscreteLaplace
from quietcrowd.mechanisms.grid import Grid
from quietcrowd.mechanisms.task_profile import UNIT, TaskProfile
from quietcrowd.privacy.rounding import ratio_up

__all__ = ["SketchChannel", "farthest"]


def farthest(grid: Grid, centre: int) -> int:
    """Return the largest distance of a place on the grid from the centre."""
    return max(abs(centre), abs(grid.steps - centre))


@frozen(kw_only=True, slots=False)
class SketchChannel(Channel):
    """The law of what a worker's device computes: exact sums over all tasks, plus noise.

    Attributes
    ----------
    profile : TaskProfile
        The public numbers of each task.
    grid : Grid
        Answers are rounded to it.
    centre : int
        Place on the grid that answers are counted from; a missing answer counts as it.
    noise : DiscreteLaplace
        Of each profile sum, in units of 2^-24 steps.
    moments_epsilon : float
        Loss about one cell by the noisy second moments; 0 where none are sent.
    """

    profile: TaskProfile
    grid: Grid
    centre: int
    noise: DiscreteLaplace
    moments_epsilon: float = 0.0

    @cached_property
    def epsilon(self) -> float:
        """Loss about one cell, rounded up.

        One answer against another; or, where second moments are sent, an answer against none, which
        shows in both, if that is more.
        """
        value = self.noise.loss(self.grid.steps * UNIT)
        if not self.moments_epsilon:
            return value
        moved = Fraction(farthest(self.grid, self.centre) * UNIT) / Fraction(self.noise.scale)
        return max(value, ratio_up(moved + Fraction(self.moments_epsilon)))

    @property
    def scale(self) -> float:
        """Scale of the noise of a profile sum, in the answers' own unit."""
        return self.noise.scale * self.grid.step / UNIT
