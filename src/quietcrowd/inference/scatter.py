"""How far the truths of all tasks lie apart, and how sure they are: what a warning asks."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
from attrs import frozen

from quietcrowd.inference.method import Estimates, NumericEstimates

__all__ = ["Scatter"]


@frozen(kw_only=True)
class Scatter:
    """Moments of numbers that a pass inferred; those of partitions add up to those of all tasks.

    All are scaled as the numbers of the pass are: by `Summary.extent`.

    Attributes
    ----------
    inferred : int
        How many truths have a standard error above 0.
    mean : float
        Of these truths.
    squares : float
        Sum of their squared distances from the mean.
    errors : float
        Sum of their squared standard errors.
    """

    inferred: int = 0
    mean: float = 0.0
    squares: float = 0.0
    errors: float = 0.0

    @classmethod
    def of(cls, estimates: Estimates) -> Self:
        """Return those of some tasks; of labels there are none."""
        if not isinstance(estimates, NumericEstimates):
            return cls()
        inferred = estimates.standard_error > 0
        truths, count = estimates.truths[inferred], int(inferred.sum())
        if not count:
            return cls()
        return cls(
            inferred=count,
            mean=float(np.mean(truths)),
            squares=float(np.var(truths)) * count,
            errors=float(np.sum(estimates.standard_error[inferred] ** 2)),
        )

    def __add__(self, other: Self) -> Self:
        count = self.inferred + other.inferred
        if not count:
            return self
        apart, share = other.mean - self.mean, other.inferred / count
        return type(self)(
            inferred=count,
            mean=self.mean + apart * share,
            squares=self.squares + other.squares + apart**2 * share * self.inferred,
            errors=self.errors + other.errors,
        )

    @property
    def noise(self) -> float:
        """Root mean square of the standard errors."""
        return math.sqrt(self.errors / self.inferred)

    @property
    def spread(self) -> float:
        """Standard deviation of the truths."""
        return math.sqrt(self.squares / self.inferred)
