"""Arrays with one entry per task that a sweep fills, and how far they scatter."""

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import astuple, fields_dict, frozen

from quietcrowd.inference import integer_sums


@frozen(kw_only=True, eq=False)
class Estimates:
    """Estimates of some tasks: one entry per task; `truths` are codes of labels, or numbers."""

    truths: npt.NDArray[Any]

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """All arrays, which kernels fill."""
        return astuple(self, recurse=False)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join the estimates of consecutive tasks."""
        return cls(
            **{
                name: np.concatenate([getattr(part, name) for part in parts])
                for name in fields_dict(cls)
            }
        )


@frozen(kw_only=True, eq=False)
class LabelEstimates(Estimates):
    """Labels with a confidence from 0 to 1; `tied` if other labels were as good."""

    confidence: npt.NDArray[np.float64]
    tied: npt.NDArray[np.bool_]

    @classmethod
    def empty(cls, tasks: int, dtype: npt.DTypeLike) -> "LabelEstimates":
        """Allocate estimates of n tasks."""
        return cls(
            truths=np.zeros(tasks, dtype),
            confidence=np.zeros(tasks, np.float64),
            tied=np.zeros(tasks, np.bool_),
        )


@frozen(kw_only=True, eq=False)
class NumericEstimates(Estimates):
    """Numbers, their standard errors (NaN if unknown), and the RMS distance of their answers."""

    standard_error: npt.NDArray[np.float64]
    spread: npt.NDArray[np.float64]

    @classmethod
    def empty(cls, tasks: int) -> "NumericEstimates":
        """Allocate estimates of n tasks."""
        return cls(truths=np.zeros(tasks), standard_error=np.zeros(tasks), spread=np.zeros(tasks))


@frozen(kw_only=True)
class Scatter:
    """Moments of estimates, scaled by `Summary.extent`; those of partitions add up.

    Of the `inferred` truths with a standard error above 0: the `mean`, the sum of `squares` of
    distances from it, and the sum of squared standard `errors`. Of `labels` with a confidence: the
    expected number that is `wrong`, in units of `integer_sums.ONE`.
    """

    inferred: int = 0
    mean: float = 0.0
    squares: float = 0.0
    errors: float = 0.0
    labels: int = 0
    wrong: int = 0

    @classmethod
    def of(cls, estimates: Estimates) -> Self:
        """Return the moments of some tasks."""
        if isinstance(estimates, LabelEstimates):
            confidences = estimates.confidence[~np.isnan(estimates.confidence)]
            unsure = np.rint((1.0 - confidences) * integer_sums.ONE).astype(np.int64)
            return cls(labels=len(unsure), wrong=int(unsure.sum()))
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
        labels = {"labels": self.labels + other.labels, "wrong": self.wrong + other.wrong}
        count = self.inferred + other.inferred
        if not count:
            return type(self)(**labels)
        apart, share = other.mean - self.mean, other.inferred / count
        return type(self)(
            inferred=count,
            mean=self.mean + apart * share,
            squares=self.squares + other.squares + apart**2 * share * self.inferred,
            errors=self.errors + other.errors,
            **labels,
        )

    @property
    def noise(self) -> float:
        """Root mean square of the standard errors."""
        return math.sqrt(self.errors / self.inferred)

    @property
    def spread(self) -> float:
        """Standard deviation of the truths."""
        return math.sqrt(self.squares / self.inferred)

    @property
    def error_rate(self) -> float:
        """Expected fraction of wrong labels."""
        return self.wrong / integer_sums.ONE / self.labels
