"""Numbers on a public grid plus discrete Laplace noise."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import frozen
from typing_extensions import override

from quietcrowd.domains import Domain, Interval
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.grid import Grid
from quietcrowd.mechanisms.channels.noise import DiscreteLaplace, Shift
from quietcrowd.mechanisms.channels.reading import check_members, invalid_member, real
from quietcrowd.mechanisms.report_meanings import ReportMeanings
from quietcrowd.privacy.rounding import ratio_up

Fill: TypeAlias = Literal["uniform", "midpoint"] | float | None

_FILLINGS = 193
"""Number of values that represent all that "uniform" may fill in."""

BIT_GRID = Grid(low=0.0, step=2.0**-10, steps=2**10, high=1.0)
"""Grid of the participation bit: 0 is "not answered", 1 is "answered"."""


@frozen(kw_only=True, slots=False)
class LaplaceChannel(Channel):
    """Distribution of a numeric report: a place on a grid plus discrete Laplace noise.

    Attributes
    ----------
    grid : Grid
        Answers are rounded to it.
    noise : DiscreteLaplace
        In steps of the grid.
    fill : {"uniform", "midpoint"}, float or None
        Value of an unanswered task, before the noise; None if it is not reported.
    participation_noise : DiscreteLaplace or None
        Noise of the participation bit, in steps of 1/1024.
    """

    kind: ClassVar[str] = "shift"
    grid: Grid
    noise: DiscreteLaplace
    fill: Fill
    participation_noise: DiscreteLaplace | None = None

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> LaplaceChannel:
        """Return the channel of a document; raise ParameterError if it is invalid.

        With a participation bit, a missing answer must count as the middle: only then is the loss
        the stated one.
        """
        check_members(document, "kind grid noise_scale fill participation")
        grid = Grid.read(document["grid"], domain)
        noise = DiscreteLaplace.read(document["noise_scale"])
        fill, bit = document["fill"], document["participation"]
        if fill not in (None, "uniform", "midpoint"):
            fill = real("fill", fill, grid.low, grid.high)
        if bit is None:
            return cls(grid=grid, noise=noise, fill=fill)
        check_members(bit, "grid noise_scale")
        if Grid.read(bit["grid"], Interval(low=0, high=1)) != BIT_GRID or fill != "midpoint":
            raise invalid_member("participation", "on its grid, with the fill midpoint")
        bit_noise = DiscreteLaplace.read(bit["noise_scale"])
        return cls(grid=grid, noise=noise, fill=fill, participation_noise=bit_noise)

    @cached_property
    def shift(self) -> Shift:
        """Grid and noise."""
        return Shift(grid=self.grid, noise=self.noise)

    @cached_property
    def participation(self) -> Shift | None:
        """Noisy participation bit with each report, if there is one."""
        noise = self.participation_noise
        return None if noise is None else Shift(grid=BIT_GRID, noise=noise)

    @property
    @override
    def fillings(self) -> npt.NDArray[np.float64] | None:
        """Values of an unanswered task; for "uniform", numbers spread over the grid."""
        if self.fill is None:
            return None
        if self.fill == "uniform":
            return np.linspace(*self.grid.ends, _FILLINGS)
        return np.array([self.grid.number(self._filled_place(self.fill))])

    def _filled_place(self, fill: str | float) -> int:
        return self.grid.middle if fill == "midpoint" else self.grid.place(float(fill))

    @property
    def scale(self) -> float:
        """Scale of the noise, in the unit of the answers."""
        return self.shift.scale

    @property
    def variance(self) -> float:
        """Variance of the noise, in squared units of the answers."""
        return self.shift.variance

    @cached_property
    def epsilon(self) -> float:
        """Privacy loss of one report, rounded up."""
        return ratio_up(self.exact_epsilon)

    @property
    @override
    def exact_epsilon(self) -> Fraction:
        """Exact privacy loss of one report.

        If the participation bit is released, it is the larger of two losses: for another answer,
        and for no answer, which changes the number by half as much and also the bit.
        """
        one = Fraction(self.grid.steps) / Fraction(self.noise.scale)
        if self.participation_noise is None:
            return one
        half = Fraction(self.grid.middle) / Fraction(self.noise.scale)
        bit = Fraction(BIT_GRID.steps) / Fraction(self.participation_noise.scale)
        return max(one, half + bit)

    @override
    def describe(self) -> Mapping[str, Any]:
        bit = self.participation_noise
        return {
            "kind": self.kind,
            "grid": self.grid.describe(),
            "noise_scale": self.noise.scale,
            "fill": self.fill,
            "participation": None
            if bit is None
            else {"grid": BIT_GRID.describe(), "noise_scale": bit.scale},
        }

    @override
    def identity(self, answers: Any, reports: ReportMeanings) -> Mapping[str, Any]:
        fill = self.fill
        place = fill if fill in (None, "uniform") else self._filled_place(fill)
        return {**super().identity(answers, reports), "fill": place}
