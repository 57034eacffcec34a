"""Exact loss of a table of integer weights, over all pairs of its rows."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from quietcrowd.privacy.rounding import log_ratio_up

__all__ = ["table_delta", "table_epsilon", "worst_rows"]


def table_epsilon(weights: npt.NDArray[Any]) -> float:
    """Return ln of the largest ratio in a column, in integers, rounded up.

    Parameters
    ----------
    weights : ndarray of int, shape (answers, reports)
        All rows have the same sum.

    Examples
    --------
    >>> table_epsilon(np.array([[3, 1], [1, 3]]))
    1.0986122886681098
    """
    high, low = (np.asarray(part, object) for part in (weights.max(axis=0), weights.min(axis=0)))
    if (np.array(low == 0) & np.array(high > 0)).any():
        return math.inf
    ratios = (Fraction(int(h), int(s)) for h, s in zip(high, low, strict=True) if h)
    return log_ratio_up(max(ratios, default=Fraction(1)))


def table_delta(weights: npt.NDArray[Any], epsilon: float) -> float:
    """Return the least delta at `epsilon`, over all ordered pairs of rows."""
    weights = _differing_rows(weights)
    chances = weights / weights.sum(axis=1, keepdims=True, dtype=np.float64)
    return max(
        float(np.maximum(row - math.exp(epsilon) * chances, 0.0).sum(axis=1).max())
        for row in chances
    )


def _differing_rows(weights: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return rows whose ordered pairs have all that any two rows of the table have.

    Two are enough where a table holds one number on its diagonal and one elsewhere: any other two
    rows are these with their columns in another order.
    """
    answers, reports = weights.shape
    if answers != reports or answers < 3:
        return weights
    kept = np.eye(answers, dtype=bool)
    alike = np.ptp(weights[kept]) == 0 and np.ptp(weights[~kept]) == 0
    return weights[:2] if alike else weights


def worst_rows(weights: npt.NDArray[Any], among: int) -> tuple[int, int]:
    """Return two of the first `among` rows that the largest ratio in a column tells apart."""
    logs = np.log(np.maximum(weights[:among].astype(np.float64), 0.5))
    column = int(np.ptp(logs, axis=0).argmax())
    one, other = int(logs[:, column].argmax()), int(logs[:, column].argmin())
    return (one, other) if one != other else (0, min(1, among - 1))
