"""What of a mechanism is public, and which reports its channel can give."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.campaign.terms.canonical import LARGEST_WHOLE
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import (
    FiniteChannel,
    LaplaceChannel,
    MatrixFactorization,
    Mechanism,
    SampledVarianceChannel,
    SketchChannel,
)
from quietcrowd.mechanisms.discrete_laplace import DiscreteLaplace
from quietcrowd.mechanisms.grid import Grid
from quietcrowd.mechanisms.laplace_channel import BIT_GRID
from quietcrowd.mechanisms.sketch_channel import farthest
from quietcrowd.mechanisms.task_profile import UNIT
from quietcrowd.report_domains import Lattice, OrNull

__all__ = ["MAX_LABELS", "MAX_NUMBERS", "ReportRule", "describe_channel", "report_rule"]

MAX_LABELS = 64
"""Most values of a report that is a label: the table of integers is part of the configuration."""

MAX_NUMBERS = 20_000
"""Most numbers of a sketch: it fits into one request."""

_SCALES = 64
"""Noise beyond so many scales has a probability below 10^-27: a device cuts it off there."""


@frozen(kw_only=True)
class ReportRule:
    """Which reports the devices of a campaign can send.

    Attributes
    ----------
    low, high : int or float
        Of the value of a report: the position of a label, or a number of steps of the grid. Of
        each number of a sketch.
    bit_low, bit_high : int or None
        Of the noisy participation bit beside it; None where there is none.
    every_task : bool
        Whether every worker reports every task.
    sketch_length : int or None
        How many numbers a worker sends for all tasks together; None where reports are per task.
    whole : bool
        Whether these numbers are whole.
    """

    low: float
    high: float
    bit_low: int | None = None
    bit_high: int | None = None
    every_task: bool = False
    sketch_length: int | None = None
    whole: bool = True

    def accepts(self, value: int, bit: int | None) -> bool:
        """Return whether the channel can give this value and this bit."""
        if self.bit_low is None or self.bit_high is None:
            return self.low <= value <= self.high and bit is None
        fits = bit is not None and self.bit_low <= bit <= self.bit_high
        return self.low <= value <= self.high and fits

    def packed(self, numbers: Sequence[int | float]) -> npt.NDArray[Any] | None:
        """Return the numbers of a sketch as an array, or None where no device gives them."""
        whole = all(isinstance(number, int) for number in numbers)
        if len(numbers) != self.sketch_length or (self.whole and not whole):
            return None
        if not all(self.low <= number <= self.high for number in numbers):
            return None
        return np.array(numbers, self.dtype)

    def cut_off(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values of reports, or numbers of a sketch, with noise cut off at the bounds."""
        within: npt.NDArray[Any] = np.clip(values, self.low, self.high)
        return within

    def cut_off_bits(self, bits: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return participation bits with noise cut off at the bounds."""
        within: npt.NDArray[Any] = np.clip(bits, self.bit_low, self.bit_high)
        return within

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of a sketch as it is stored."""
        return np.dtype("<i8" if self.whole else "<f8")

    def to_dict(self) -> dict[str, Any]:
        """Return what a client needs to know, JSON-ready."""
        if self.sketch_length is not None:
            numbers = "whole" if self.whole else "real"
            told = {"kind": "sketch", "length": self.sketch_length, "numbers": numbers}
            return {**told, "value": [self.low, self.high]} if self.whole else told
        bit = None if self.bit_low is None else [self.bit_low, self.bit_high]
        value = [self.low, self.high]
        return {"kind": "value", "value": value, "bit": bit, "every_task": self.every_task}


def report_rule(mechanism: Mechanism, tasks: int) -> ReportRule:
    """Return which reports a mechanism can give.

    Parameters
    ----------
    mechanism : Mechanism
        Of the campaign.
    tasks : int
        How many tasks there are.

    Raises
    ------
    ParameterError
        Where its reports have too many labels or numbers, or are not such that JSON can hold them
        exactly.
    """
    if isinstance(mechanism, MatrixFactorization):
        if mechanism.sketch_length > MAX_NUMBERS:
            raise ParameterError(
                f"a worker of a campaign sends at most {MAX_NUMBERS:,} numbers; at this rank they "
                f"are {mechanism.sketch_length:,}"
            )
        return _sketch_rule(mechanism, tasks)
    low, high = _range(mechanism.report_domain, mechanism)
    bit, channel = mechanism.participation_domain, mechanism.channel
    bit_low, bit_high = None, None
    if isinstance(bit, Lattice) and isinstance(channel, LaplaceChannel):
        assert channel.participation_noise is not None
        bit_low, bit_high = _with_noise(BIT_GRID, channel.participation_noise, bit)
    return ReportRule(
        low=low, high=high, bit_low=bit_low, bit_high=bit_high, every_task=mechanism.every_task
    )


def _range(domain: Domain, mechanism: Mechanism) -> tuple[int, int]:
    """Return the least and the largest stored value of a report."""
    if isinstance(domain, FiniteDomain | OrNull):
        highest = domain.null_code if isinstance(domain, OrNull) else domain.size - 1
        if highest >= MAX_LABELS:
            raise ParameterError(
                f"a report of a campaign has at most {MAX_LABELS} labels, NULL included; "
                f"got {highest + 1}"
            )
        return 0, highest
    if not isinstance(domain, Lattice):
        raise ParameterError(f"reports in {domain.example()} cannot be taken in")
    channel = mechanism.channel
    if isinstance(channel, SampledVarianceChannel):
        return _fitting(-channel.reach, channel.grid.steps + channel.reach)
    assert isinstance(channel, LaplaceChannel)
    return _with_noise(channel.grid, channel.noise, domain)


def _with_noise(grid: Grid, noise: DiscreteLaplace, domain: Lattice) -> tuple[int, int]:
    beyond = math.ceil(_SCALES * noise.scale)
    most = min(int(np.iinfo(domain.dtype).max), LARGEST_WHOLE)
    return max(-beyond, -most), min(grid.steps + beyond, most)


def _fitting(low: int, high: float) -> tuple[int, int]:
    if max(-low, high) > LARGEST_WHOLE:
        raise ParameterError(
            "the noise goes beyond whole numbers that every reader of JSON can hold, 2^53: take "
            "a larger epsilon or a larger step"
        )
    return low, int(high)


def _sketch_rule(mechanism: MatrixFactorization, tasks: int) -> ReportRule:
    """Return the rule of noisy sums, or of the profile that a device solves for from them.

    A solution with a ridge is at most as long as the sums, divided by the ridge. One without has no
    such bound: it is cut off 2^24 times beyond the sums.
    """
    channel = mechanism.channel
    answers = tasks * farthest(channel.grid, channel.centre) * UNIT
    largest = math.ceil(answers + _SCALES * channel.noise.scale)
    length, whole = mechanism.sketch_length, mechanism.variant in ("fill", "statistics")
    if whole:
        low, high = _fitting(-largest, largest)
        return ReportRule(low=low, high=high, every_task=True, sketch_length=length)
    sums = largest / UNIT * channel.grid.step * math.sqrt(mechanism.rank)
    solution = sums / mechanism.ridge if mechanism.ridge else sums * UNIT
    bound = min(solution, sys.float_info.max)
    return ReportRule(low=-bound, high=bound, every_task=True, sketch_length=length, whole=False)


def describe_channel(mechanism: Mechanism) -> Mapping[str, Any]:
    """Return the numbers that fix what a device does to an answer, JSON-ready.

    A table of integers, or a grid and the scale of the noise in its steps; never an epsilon alone.
    Where a worker's law is drawn by the device this is the law of one report of a worker of whom
    nothing else is known.
    """
    channel = mechanism.channel
    if isinstance(channel, FiniteChannel):
        return {"kind": "table", "weights": channel.weights.tolist()}
    if isinstance(channel, LaplaceChannel):
        bit = channel.participation_noise
        return {
            "kind": "laplace",
            "grid": _describe_grid(channel.grid),
            "noise_scale": channel.noise.scale,
            "fill": channel.fill,
            "participation": None
            if bit is None
            else {"grid": _describe_grid(BIT_GRID), "noise_scale": bit.scale},
        }
    if isinstance(channel, SampledVarianceChannel):
        return {
            "kind": "sampled-variance",
            "grid": _describe_grid(channel.grid),
            "variance_unit": channel.noise.unit,
            "least_units": channel.noise.least,
            "reach": channel.reach,
        }
    assert isinstance(channel, SketchChannel)
    return {
        "kind": "sketch",
        "grid": _describe_grid(channel.grid),
        "centre": channel.centre,
        "noise_scale": channel.noise.scale,
        "noise_unit": 1 / UNIT,
        "moments_epsilon": channel.moments_epsilon,
        "profile": {
            "kind": channel.profile.kind,
            "rank": channel.profile.rank,
            "seed": channel.profile.seed,
        },
    }


def _describe_grid(grid: Grid) -> dict[str, Any]:
    return {"low": grid.low, "step": grid.step, "steps": grid.steps, "high": grid.high}
