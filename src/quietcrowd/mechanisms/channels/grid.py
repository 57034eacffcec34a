"""The public grid that numeric answers are rounded to before noise is added."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.domains import Domain, Interval, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.reading import check_members, invalid_member, real, whole
from quietcrowd.report_domains import Lattice

FINENESS = 10
"""The default step is the largest power of two that is at most ``width / 2**FINENESS``."""

MAX_STEPS = 2**24
SMALLEST = -960
MOST_EXTRA = 1.01
"""Largest ratio of the widths of grid and domain."""


def bounded_domain(_: Any, __: Any, domain: Any) -> None:
    """Validate a domain of numbers between two different public bounds."""
    if not isinstance(domain, Ordinal | Interval):
        text = domain.example() if isinstance(domain, Domain) else repr(domain)
        raise ParameterError("mechanisms.domain-not-numbers", text=text)
    if not 0 < domain.width < math.inf:
        raise ParameterError("mechanisms.domain-not-finite", domain=domain.example())


@frozen(kw_only=True)
class Grid:
    """Equidistant numbers over a domain; the step is a power of two.

    Answers are clipped to the domain and rounded to the grid before noise is added. So two answers
    are a whole number of steps apart, and the sensitivity is the integer `steps`. It is even, so
    that the middle is on the grid. The grid begins at `low`; it may end slightly above `high`, the
    highest number of the domain.
    """

    low: float
    step: float
    steps: int
    high: float

    @classmethod
    def over(cls, domain: Ordinal | Interval, step: float | None = None) -> Grid:
        """Return the grid of a domain, from its lower bound on.

        `step` is a power of two, by default 1/2048 to 1/1024 of the width.
        """
        if domain.width < 2.0**SMALLEST:
            raise ParameterError("mechanisms.domain-too-narrow", domain=domain.example())
        if step is None:
            step = 2.0 ** (math.frexp(domain.width)[1] - 1 - FINENESS)
        if not (math.isfinite(step) and step > 0 and math.frexp(step)[0] == 0.5):
            raise ParameterError("mechanisms.step-not-power-of-two", step=step)
        if not 1 <= domain.width / step <= MAX_STEPS:
            raise ParameterError(
                "mechanisms.step-out-of-range", max_steps=MAX_STEPS, width=domain.width, step=step
            )
        steps = 2 * math.ceil(domain.width / step / 2)
        grid = cls(low=domain.low, step=step, steps=steps, high=domain.high)
        if grid.width > MOST_EXTRA * domain.width:
            raise ParameterError("mechanisms.step-does-not-divide", step=step, width=domain.width)
        farthest = max(abs(domain.low), abs(domain.high))
        if farthest > step * 2.0**50 or not math.isfinite(farthest + step * 2.0**63):
            raise ParameterError("mechanisms.domain-too-far-from-0", domain=domain.example())
        return grid

    @classmethod
    def read(cls, document: Any, domain: Domain) -> Grid:
        """Return the grid of a channel document; raise ParameterError unless it fits the domain."""
        check_members(document, "low step steps high")
        bounded_domain(None, None, domain)
        assert isinstance(domain, Interval | Ordinal)
        grid = cls.over(domain, real("step", document["step"], 0, domain.width))
        low, high = (
            real(name, document[name], domain.low, domain.high) for name in ("low", "high")
        )
        steps = whole("steps", document["steps"], 2, grid.steps)
        if (low, steps, high) != (grid.low, grid.steps, grid.high):
            raise invalid_member("grid", "that of the domain")
        return grid

    @property
    def width(self) -> float:
        """Distance from the lowest number to the highest."""
        return self.step * self.steps

    @property
    def ends(self) -> tuple[float, float]:
        """Lowest and highest number."""
        return self.low, self.low + self.width

    @property
    def middle(self) -> int:
        """Place of the number in the middle."""
        return self.steps // 2

    def places(self, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int32]:
        """Clip and round numbers, shape (n,), to places on the grid, 0 to `steps`."""
        nearest = np.rint((numbers - self.low) / self.step)
        return np.clip(nearest, 0, self.steps).astype(np.int32)

    def place(self, number: float) -> int:
        """Clip and round one number to a place on the grid."""
        return int(self.places(np.array([number]))[0])

    def nearest(self, number: float) -> int:
        """Return the place nearest to a number, also beyond the ends of the grid."""
        place = (number - self.low) / self.step
        if not abs(place) < 2**31:
            raise ParameterError("mechanisms.number-too-far", number=number, step=self.step)
        return round(place)

    def number(self, place: int) -> float:
        """Return the number at a place."""
        return self.low + self.step * place

    def describe(self) -> dict[str, Any]:
        """Return the attributes, JSON-ready."""
        return {"low": self.low, "step": self.step, "steps": self.steps, "high": self.high}

    def lattice(self, noise_scale: float) -> Lattice:
        """Return the domain of places with noise, of 32 bits if 64 scales of noise fit.

        Noise beyond is cut off; it has a probability below 10^-27, and this is post-processing.
        """
        bits = 32 if self.steps + 64 * noise_scale < 2**31 else 64
        return Lattice(origin=self.low, step=self.step, bits=bits)


def cut_off(noisy: npt.NDArray[np.int64], domain: Lattice) -> npt.NDArray[Any]:
    """Clip noisy places, which are overwritten, to the dtype of the reports' domain."""
    most = np.iinfo(domain.dtype).max
    return np.clip(noisy, -most, most, out=noisy).astype(domain.dtype)
