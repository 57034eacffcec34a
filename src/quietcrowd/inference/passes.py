"""What a pass over tasks is given and tells: states of workers, tallies, and estimates."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import astuple, fields_dict, frozen

from quietcrowd.inference import integer_sums
from quietcrowd.inference.partition import Extension

__all__ = [
    "Estimates",
    "LabelEstimates",
    "NumericEstimates",
    "Scatter",
    "State",
    "Tally",
    "add_up",
    "known_or_median",
]


class State(ABC):
    """What is believed of the workers: a frozen record of arrays, one entry per worker."""

    @abstractmethod
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of the workers at these positions; -1 stands for a new worker."""


def known_or_median(
    positions: npt.NDArray[np.intp], known: npt.NDArray[Any]
) -> npt.NDArray[np.intp]:
    """Return positions of workers, -1 being replaced by that of the one with the median number."""
    middle = np.argsort(known, kind="stable")[len(known) // 2]
    return np.where(positions >= 0, positions, middle)


def add_up(parts: Iterable[Any]) -> Any:
    """Return the sum of what passes tell, one at least; the first is changed, the others let go."""
    rest = iter(parts)
    total = next(rest)
    for part in rest:
        total += part
        del part  # the next one comes
    return total


def _added(total: Any, part: Any) -> Any:
    """Return a sum, in place of the first where that is an array that can hold it."""
    here = isinstance(total, np.ndarray) and total.shape == np.shape(part)
    if not here and not isinstance(total, Tally):
        return total + part
    if here and not (total.flags.writeable and total.dtype == part.dtype):
        return total + part
    total += part
    return total


@frozen(kw_only=True, eq=False)
class Tally:
    """What a pass over tasks tells of the workers: a frozen record that adds, field by field."""

    def __add__(self, other: Self) -> Self:
        names = fields_dict(type(self))
        return type(self)(**{name: getattr(self, name) + getattr(other, name) for name in names})

    def __iadd__(self, other: Self) -> Self:
        """Add to the arrays that are here: there are no others beside them and those that come."""
        names = fields_dict(type(self))
        return type(self)(
            **{name: _added(getattr(self, name), getattr(other, name)) for name in names}
        )

    def extended(self, extension: Extension) -> Self:
        """Return the tally of an earlier pass as one of the workers and units of more answers."""
        raise NotImplementedError(f"{type(self).__name__} is extended by its method")


@frozen(kw_only=True, eq=False)
class Estimates:
    """What a pass says of its tasks: a frozen record of arrays, one entry per task.

    Attributes
    ----------
    truths : ndarray
        What is estimated: codes of labels, or numbers.
    """

    truths: npt.NDArray[Any]

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """All of them, which kernels fill."""
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
    """Estimated labels.

    Attributes
    ----------
    truths : ndarray
        See `Estimates`.
    confidence : ndarray of float64
        From 0 to 1; see the method.
    tied : ndarray of bool
        Whether other labels were as good.
    """

    confidence: npt.NDArray[np.float64]
    tied: npt.NDArray[np.bool_]

    @classmethod
    def empty(cls, tasks: int, dtype: npt.DTypeLike) -> LabelEstimates:
        """Return room for the estimates of a number of tasks."""
        return cls(
            truths=np.zeros(tasks, dtype),
            confidence=np.zeros(tasks, np.float64),
            tied=np.zeros(tasks, np.bool_),
        )


@frozen(kw_only=True, eq=False)
class NumericEstimates(Estimates):
    """Estimated numbers.

    Attributes
    ----------
    truths : ndarray of float64
        See `Estimates`.
    standard_error : ndarray of float64
        Of the truth, as far as the method can tell; NaN where it cannot.
    spread : ndarray of float64
        Root mean square of the distances of the task's answers from the truth.
    """

    standard_error: npt.NDArray[np.float64]
    spread: npt.NDArray[np.float64]

    @classmethod
    def empty(cls, tasks: int) -> NumericEstimates:
        """Return room for the estimates of a number of tasks."""
        return cls(truths=np.zeros(tasks), standard_error=np.zeros(tasks), spread=np.zeros(tasks))


@frozen(kw_only=True)
class Scatter:
    """What tells how much estimates tell; those of partitions add up to those of all tasks.

    Of numbers these are moments, scaled as the numbers of the pass are: by `Summary.extent`.

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
    labels : int
        How many labels were estimated with a confidence.
    wrong : int
        How many of them are expected to be wrong, by their confidences; in units of
        `integer_sums.ONE`.
    """

    inferred: int = 0
    mean: float = 0.0
    squares: float = 0.0
    errors: float = 0.0
    labels: int = 0
    wrong: int = 0

    @classmethod
    def of(cls, estimates: Estimates) -> Self:
        """Return those of some tasks."""
        if isinstance(estimates, LabelEstimates):
            told = estimates.confidence[~np.isnan(estimates.confidence)]
            unsure = np.rint((1.0 - told) * integer_sums.ONE).astype(np.int64)
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
        """Share of the labels that is expected to be wrong."""
        return self.wrong / integer_sums.ONE / self.labels
