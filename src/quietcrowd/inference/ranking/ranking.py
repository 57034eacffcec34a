"""Rankings of items: scores, standard errors and probabilities of preferences."""

from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen
from scipy.special import expit

from quietcrowd.exceptions import ParameterError
from quietcrowd.frames import Backend, positions_by_text, to_native
from quietcrowd.inference.display import frames_as_html

WIDTH = NormalDist().inv_cdf(0.975)
"""Standard errors on each side of a 95 % interval."""

Floats = npt.NDArray[np.float64]


@frozen(kw_only=True)
class PreferenceChance:
    """Probability that a worker prefers one item to another, with a 95 % interval."""

    probability: float
    low: float
    high: float


@frozen(kw_only=True, eq=False, slots=False)
class Ranking:
    """Scores of items from paired comparisons; a difference of scores is a log-odds.

    Attributes
    ----------
    items : pyarrow.Array
        Distinct ids in order of first occurrence.
    scores : ndarray of float64, shape (items,)
        Centered at 0. An item with a score higher by 1 is preferred with probability 0.731.
    covariance : ndarray of float64, shape (items, items)
        Inverse of the observed information of the reports plus that of the prior.
    comparisons : ndarray of int64, shape (items,)
        Number of comparisons that show each item.
    reports, workers : int
        Number of comparisons, and of workers with at least one.
    mechanism : Mechanism, Channel or None
        What randomized the preferences; None if they are non-private.
    spread : float
        Standard deviation of the normal prior of each score.
    history : tuple of float
        Penalized log-likelihood at equal scores and after each step.
    converged : bool
        Whether the search converged within its limit of steps.
    backend : {"pandas", "polars", "pyarrow"}
        Library of the frame.
    notes : tuple of str
        Remarks for the reader, one sentence each.
    """

    items: pa.Array
    scores: Floats = field(repr=False)
    covariance: Floats = field(repr=False)
    comparisons: npt.NDArray[np.int64] = field(repr=False)
    reports: int
    workers: int
    mechanism: Any
    spread: float
    history: tuple[float, ...] = field(repr=False)
    converged: bool
    backend: Backend = "pandas"
    notes: tuple[str, ...] = ()

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """Positions in `items`, best first; ties to six decimals keep the order of `items`."""
        return np.argsort(-np.round(self.scores, 6), kind="stable")

    @property
    def ranking(self) -> list[Any]:
        """Item ids, best first."""
        return self.items.take(pa.array(self.order)).to_pylist()  # type: ignore[no-any-return]

    @property
    def standard_errors(self) -> Floats:
        """Standard error of each centered score, shape (items,)."""
        means = self.covariance.mean(axis=1)
        variances = np.diagonal(self.covariance) - 2 * means + means.mean()
        found: Floats = np.sqrt(np.maximum(variances, 0.0))
        return found

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return a dataframe with one row per item, best first.

        Columns are ``item``; ``rank``, from 1; ``score``, centered at 0; ``standard_error``;
        ``low`` and ``high``, the ends of a 95 % interval; and ``comparisons``, how many show the
        item.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the dataframe. Default: that of the input.
        """
        order = self.order
        scores, errors = self.scores[order], self.standard_errors[order]
        return to_native(
            {
                "item": self.items.take(pa.array(order)),
                "rank": np.arange(1, len(order) + 1),
                "score": scores,
                "standard_error": errors,
                "low": scores - WIDTH * errors,
                "high": scores + WIDTH * errors,
                "comparisons": self.comparisons[order],
            },
            self.backend if backend is None else backend,
        )

    def chance(self, item: Any, other: Any) -> PreferenceChance:
        """Return the probability that a worker prefers `item` to `other`, with a 95 % interval.

        The result has the attributes ``probability``, ``low`` and ``high``. Items match by their
        printed form; the two need not have been compared with each other.

        Raises
        ------
        ParameterError
            If one of them is not among the items, or both are the same.
        """
        first, second = self._place(item), self._place(other)
        if first == second:
            raise ParameterError("inference.same-item-twice", value=item)
        gap, error = self.gap(first, second)
        low, middle, high = expit([gap - WIDTH * error, gap, gap + WIDTH * error]).tolist()
        return PreferenceChance(probability=middle, low=low, high=high)

    def gap(self, first: Any, second: Any) -> tuple[Any, Any]:
        """Return the difference of two scores and its standard error; arguments index `items`."""
        own = np.diagonal(self.covariance)
        variance = own[first] + own[second] - 2 * self.covariance[first, second]
        return self.scores[first] - self.scores[second], np.sqrt(np.maximum(variance, 0.0))

    @property
    def distinguished(self) -> int:
        """Number of neighbors in the ranking whose 95 % interval of the difference excludes 0."""
        gaps, errors = self.gap(self.order[:-1], self.order[1:])
        return int((gaps > WIDTH * errors).sum())

    def _place(self, item: Any) -> int:
        place = int(positions_by_text(pa.array([item]), self.items)[0])
        if place < 0:
            raise ParameterError("inference.item-unknown", value=item, count=len(self.items))
        return place

    def _repr_html_(self) -> str:
        return frames_as_html(repr(self), self.notes, {"items": self.to_frame("pandas")})

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        made = "plain" if self.mechanism is None else repr(self.mechanism)
        return (
            f"Ranking({len(self.items):,} items, {self.reports:,} comparisons, "
            f"{self.workers:,} workers, {made}, {end})"
        )
