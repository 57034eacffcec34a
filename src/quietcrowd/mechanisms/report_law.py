"""The law of all reports of one worker, as far as it is public."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.mechanisms.channel import Channel

__all__ = ["ReportLaw"]


@frozen(kw_only=True, eq=False)
class ReportLaw:
    """Tables of which a worker has one for all its reports; which one only the worker knows.

    Attributes
    ----------
    chances : ndarray of float64, shape (channels,)
        Probability of each table.
    tables : ndarray of float64, shape (channels, answers, reports)
        Probability of each report given each answer; NULL is the last of both where it is a label.
    loss : callable
        Takes how many answers a worker gave; returns the largest loss about one of them, the
        others given.
    made_up : ndarray of float64, or None
        Where NULL is a label and has a draw of its own: as equally likely probabilities, those that
        a task without an answer comes back as a label.
    """

    chances: npt.NDArray[np.float64]
    tables: npt.NDArray[np.float64]
    loss: Callable[[int], float]
    made_up: npt.NDArray[np.float64] | None = None

    @classmethod
    def of(cls, channel: Channel | None) -> ReportLaw | None:
        """Return the law of independent reports by a channel; None where that is no table."""
        if channel is None or channel.probabilities is None:
            return None
        return cls(
            chances=np.ones(1),
            tables=channel.probabilities[np.newaxis],
            loss=_Constant(value=channel.epsilon),
        )

    def same_as(self, other: ReportLaw | None) -> bool:
        """Return whether another law has the same tables, equally likely."""
        return (
            other is not None
            and np.array_equal(self.chances, other.chances)
            and np.array_equal(self.tables, other.tables)
        )


@frozen(kw_only=True)
class _Constant:
    """A loss that does not depend on how many answers there are."""

    value: float

    def __call__(self, answers: int) -> float:  # noqa: ARG002
        return self.value
