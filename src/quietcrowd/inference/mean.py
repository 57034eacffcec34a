"""The plain mean: every answer counts the same."""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from quietcrowd.inference.averaging import AveragingMethod
from quietcrowd.inference.method import State

__all__ = ["Mean"]


@frozen(kw_only=True, slots=False)
class Mean(AveragingMethod[State]):
    """The truth is the mean of the task's answers; all workers count the same.

    There is one pass and nothing to iterate, so `max_iterations` and `tolerance` change nothing.

    References
    ----------
    The first step of H. Sun et al., IEEE Big Data 2018, Algorithm 1, before any weight is known.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"task": ["a", "a", "b"], "worker": [1, 2, 1], "label": [2, 5, 4]})
    >>> Mean().fit_predict(frame)
    task
    a    3.5
    b    4.0
    Name: agg_label, dtype: float64
    """

    name: ClassVar[str] = "mean"
