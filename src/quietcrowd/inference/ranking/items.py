"""What `rank_items` finds: scores of items, how sure they are, and who is preferred to whom."""

from __future__ import annotations

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

__all__ = ["ItemRanking", "PreferenceChance"]

WIDTH = NormalDist().inv_cdf(0.975)
"""Standard errors on each side of an interval of 95 %."""

Floats = npt.NDArray[np.float64]


@frozen(kw_only=True)
class PreferenceChance:
    """How likely a worker is to prefer one item to another.

    Attributes
    ----------
    probability : float
        That the first is preferred, at the scores that were found.
    low, high : float
        Ends of an interval of 95 %.
    """

    probability: float
    low: float
    high: float


@frozen(kw_only=True, eq=False, slots=False)
class ItemRanking:
    """Scores of items that were compared in pairs; a difference of scores is a log-odds.

    Attributes
    ----------
    items : pyarrow.Array
        Ids, each once, in the order in which they occur.
    scores : ndarray of float64, shape (items,)
        Their mean is 0. An item whose score is higher by 1 is preferred with probability 0.731.
    covariance : ndarray of float64, shape (items, items)
        Of the scores, from the observed information of the reports and the prior.
    comparisons : ndarray of int64, shape (items,)
        How many comparisons each item was shown in.
    reports : int
        How many comparisons there are.
    workers : int
        How many workers sent one at least.
    mechanism : Mechanism, Channel or None
        What was done to the preferences; None where they are plain.
    spread : float
        Standard deviation of the normal prior of each score.
    history : tuple of float
        The penalised log-likelihood at equal scores, and after each step.
    converged : bool
        Whether the search ended before the limit of steps.
    backend : {"pandas", "polars", "pyarrow"}
        Library of the frame.
    notes : tuple of str
        What a reader should know, a sentence each.
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
        """Places in `items`, best first; equal ones, to six places, in the order they occur in."""
        return np.argsort(-np.round(self.scores, 6), kind="stable")

    @property
    def ranking(self) -> list[Any]:
        """The ids of the items, best first."""
        return self.items.take(pa.array(self.order)).to_pylist()  # type: ignore[no-any-return]

    @property
    def standard_errors(self) -> Floats:
        """Of each score less the mean of all, shape (items,)."""
        means = self.covariance.mean(axis=1)
        variances = np.diagonal(self.covariance) - 2 * means + means.mean()
        found: Floats = np.sqrt(np.maximum(variances, 0.0))
        return found

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Return a dataframe, a row for each item, best first.

        Its columns are ``item``; ``rank``, from 1; ``score``, less the mean of all;
        ``standard_error`` of that; ``low`` and ``high``, the ends of an interval of 95 %; and
        ``comparisons``, in how many the item was shown.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            Which kind of dataframe. Default: that of what came in.
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
        """Return how likely a worker is to prefer `item` to `other`, with an interval of 95 %.

        It has the attributes ``probability``, ``low`` and ``high``. Items match by what they print
        as; the two need not have been compared with each other.

        Raises
        ------
        ParameterError
            Where one is not among the items, or both are the same.
        """
        first, second = self._place(item), self._place(other)
        if first == second:
            raise ParameterError(f"item and other must be two items; got {item!r} twice")
        gap, error = self.gap(first, second)
        low, middle, high = expit([gap - WIDTH * error, gap, gap + WIDTH * error]).tolist()
        return PreferenceChance(probability=middle, low=low, high=high)

    def gap(self, first: Any, second: Any) -> tuple[Any, Any]:
        """Return the difference of two scores and its standard error, by their places in `items`.

        Places may be arrays; so are the results then.
        """
        own = np.diagonal(self.covariance)
        variance = own[first] + own[second] - 2 * self.covariance[first, second]
        return self.scores[first] - self.scores[second], np.sqrt(np.maximum(variance, 0.0))

    @property
    def told_apart(self) -> int:
        """How many neighbours in the ranking differ by more than their interval of 95 %."""
        gaps, errors = self.gap(self.order[:-1], self.order[1:])
        return int((gaps > WIDTH * errors).sum())

    def _place(self, item: Any) -> int:
        place = int(positions_by_text(pa.array([item]), self.items)[0])
        if place < 0:
            raise ParameterError(f"item {item!r} is none of the {len(self.items):,} compared")
        return place

    def _repr_html_(self) -> str:
        return frames_as_html(repr(self), self.notes, {"items": self.to_frame("pandas")})

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        made = "plain" if self.mechanism is None else repr(self.mechanism)
        return (
            f"ItemRanking({len(self.items):,} items, {self.reports:,} comparisons, "
            f"{self.workers:,} workers, {made}, {end})"
        )
