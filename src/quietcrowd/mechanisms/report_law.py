"""Public distribution of all reports of one worker."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.mechanisms.channel import Channel

__all__ = ["ReportLaw"]


@frozen(kw_only=True, eq=False)
class ReportLaw:
    """Possible tables of a worker, who secretly uses one for all reports.

    Attributes
    ----------
    chances : ndarray of float64, shape (channels,)
        Probability of each table.
    tables : ndarray of float64, shape (channels, answers, reports)
        Probability of each report given each answer; NULL is last in both if it is a label.
    loss : callable
        Maps a worker's number of answers to the largest loss about one of them, given the others.
    made_up : ndarray of float64, or None
        If NULL is a label with its own draw: equally likely probabilities that a task without an
        answer is reported as a label.
    """

    chances: npt.NDArray[np.float64]
    tables: npt.NDArray[np.float64]
    loss: Callable[[int], float]
    made_up: npt.NDArray[np.float64] | None = None

    @classmethod
    def of(cls, channel: Channel | None) -> ReportLaw | None:
        """Return the distribution of independent reports by a channel; None if it has no table."""
        if channel is None or channel.probabilities is None:
            return None
        return cls(
            chances=np.ones(1),
            tables=channel.probabilities[np.newaxis],
            loss=_Constant(value=channel.epsilon),
        )

    def same_as(self, other: ReportLaw | None) -> bool:
        """Return whether another distribution has the same tables and chances."""
        return (
            other is not None
            and np.array_equal(self.chances, other.chances)
            and np.array_equal(self.tables, other.tables)
        )


@frozen(kw_only=True)
class _Constant:
    value: float

    def __call__(self, answers: int) -> float:  # noqa: ARG002
        return self.value
