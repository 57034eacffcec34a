"""Channels: the distribution of a report given the answer.

A channel offers its distribution in some form, and a method asks for one that it can use: a table,
additive noise, sets or bounded places.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.bounded_distribution import TOTAL, BoundedDistribution
from quietcrowd.mechanisms.channels.grid import Grid
from quietcrowd.mechanisms.channels.noise import Floats, Shift
from quietcrowd.mechanisms.channels.set_distribution import SetDistribution
from quietcrowd.mechanisms.report_meanings import ListedMeanings, ReportMeanings
from quietcrowd.privacy.rounding import exp_of

__all__ = [
    "MAX_EPSILON",
    "TOTAL",
    "Channel",
    "known_grid",
    "laplace_shift",
    "other_weight_for",
]

_UPWARDS = Context(prec=60, rounding=ROUND_CEILING)

MAX_EPSILON = 16.0
"""Largest privacy loss that 32-bit weights represent with a useful precision."""


class Channel(ABC):
    """Public distribution of a device's report given its worker's answer.

    A subclass defines `epsilon`. It gives its distribution as `probabilities`, a `shift`, `sets` or
    a `bounded_distribution`, which imply `log_likelihood`, or only as `log_likelihood`. Callers ask
    for a form that they can use, not for the class.
    """

    kind: ClassVar[str | None] = None
    """Kind of the document that `describe` returns; None if there is no document."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Privacy loss of one report, rounded up."""

    @property
    def exact_epsilon(self) -> Fraction:
        """Privacy loss of one report as a fraction, or an upper bound on it; at most `epsilon`."""
        return Fraction(self.epsilon)

    @property
    def probabilities(self) -> Floats | None:
        """Probability of each report given each answer, shape (answers, reports), or None."""
        return None

    @cached_property
    def table(self) -> Floats | None:
        """``ln P(report | answer)``, shape (answers, reports), or None.

        Each is the nearest float or its neighbor; minus infinity for an impossible report.
        """
        if self.probabilities is None:
            return None
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(self.probabilities)
        logs.flags.writeable = False
        return logs

    @property
    def keep_and_other(self) -> tuple[float, float] | None:
        """Probabilities of the answer and of each other label; None unless randomized response."""
        return None

    @property
    def shift(self) -> Shift | None:
        """Grid and noise of additive noise; else None."""
        return None

    @property
    def sets(self) -> SetDistribution | None:
        """Distribution of the set, if a report is the number of a set of labels; else None."""
        return None

    @property
    def bounded_distribution(self) -> BoundedDistribution | None:
        """Weights of the places of bounded reports; else None."""
        return None

    @property
    def parts(self) -> tuple["Channel", ...]:
        """Channels of a mixture, where each report states its own; by default only this channel."""
        return (self,)

    @property
    def participation(self) -> Shift | None:
        """Distribution of a noisy bit with each report, 1 for "answered"; else None."""
        return None

    @property
    def fillings(self) -> Floats | None:
        """Equally likely numbers that replace a missing answer.

        None if missing answers are not reported, or reports are not numbers.
        """
        return None

    def log_likelihood(self, reports: npt.NDArray[Any], answers: npt.NDArray[Any]) -> Floats:
        """Return ``ln P(report | answer)`` of each report, shape (n,).

        `reports`, shape (n, ...), are as the report domain stores them: codes, steps from the
        lowest number of the grid, or places of bounded reports. `answers`, shape (n,), are codes of
        labels, NULL last, or places on the grid. Both broadcast. Reports that were cut off count as
        noise of that size. Raises ParameterError if a report belongs to no single answer.
        """
        if self.table is not None:
            logs: Floats = self.table[answers, reports]
            return logs
        if self.shift is not None:
            return self.shift.noise.log_mass(np.asarray(reports, np.int64) - answers)
        if self.sets is not None:
            return self.sets.log_likelihood(reports, answers)
        if self.bounded_distribution is not None:
            with np.errstate(divide="ignore"):
                found: Floats = np.log(self.bounded_distribution.weights(reports, answers) / TOTAL)
            return found
        raise ParameterError("mechanisms.channel-missing", type_name=type(self).__name__)

    def describe(self) -> Mapping[str, Any]:
        """Return the channel document, JSON-ready: all that a device does to an answer.

        It is part of a campaign's configuration: a table of integers, or a grid and the scale of
        the noise in its steps; never only an epsilon. `read_channel` reads it. Raises
        ParameterError if a subclass does not define it.
        """
        raise ParameterError("mechanisms.description-missing", type_name=type(self).__name__)

    def identity(self, answers: Any, reports: ReportMeanings) -> Mapping[str, Any]:
        """Return the distribution of reports given each answer, JSON-ready, in a canonical order.

        Channels with equal identities are the same function from labels to distributions over
        meanings. By default reordered labels make a different channel. `answers` are labels by
        code, or bounds.
        """
        listed = {"reports": reports.listed} if isinstance(reports, ListedMeanings) else {}
        return {"answers": answers, **listed, **self.describe()}


def laplace_shift(channel: Channel | None) -> Shift | None:
    """Return the shift of a channel with Laplace noise of a public scale; else None."""
    shift = None if channel is None else channel.shift
    return None if shift is None or shift.noise.laplace_scale is None else shift


def known_grid(channel: Channel | None) -> Grid | None:
    """Return the grid of the answers if the distribution of numeric reports is known; else None.

    It is known for bounded reports and for Laplace noise of a public scale. Grids of several
    channels must have the same ends; the first is returned.
    """
    if channel is None:
        return None
    grids = [_grid(part) for part in channel.parts]
    same = all(grid is not None and grids[0] and grid.ends == grids[0].ends for grid in grids)
    return grids[0] if same else None


def _grid(channel: Channel) -> Grid | None:
    if channel.bounded_distribution is not None:
        return channel.bounded_distribution.grid
    shift = laplace_shift(channel)
    return None if shift is None else shift.grid


def other_weight_for(size: int, epsilon: float) -> int:
    """Return the weight of each other label for a privacy loss of at most `epsilon`.

    ``2**32 / (k - 1 + exp(epsilon))``, rounded up, towards more noise (Li et al., KDD 2018, Theorem
    6.2, solved for the probability).
    """
    with localcontext(_UPWARDS):  # independent of the program's context
        weight = TOTAL / (size - 1 + exp_of(Decimal(epsilon)))
        return int(weight.to_integral_value())
