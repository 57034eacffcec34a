"""What majority and weighted voting share: the pass, its tally, and the fit of a finite domain."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.inference.carrying import Move
from quietcrowd.inference.kernels import fixed_point
from quietcrowd.inference.kernels.voting import vote_kernel
from quietcrowd.inference.method import LabelEstimates, Tally
from quietcrowd.inference.partition import Partition, Summary

__all__ = ["AgreementTally", "share_of_agreements", "sweep_votes"]


@frozen(kw_only=True, eq=False)
class AgreementTally(Tally):
    """How often each worker agreed with the estimates.

    Attributes
    ----------
    agreed : ndarray of int64, shape (workers,)
        Sums of `fixed_point.shares`: an agreement with one of t tied labels counts 1 / t.
    """

    agreed: npt.NDArray[np.int64]

    def __add__(self, other: Self) -> Self:
        return type(self)(agreed=self.agreed + other.agreed)

    def carried(self, move: Move) -> Self:
        """Return the same for more answers; see `Tally.carried`."""
        return type(self)(agreed=move.sums(self.agreed))


def sweep_votes(
    partition: Partition,
    summary: Summary,
    *,
    weights: npt.NDArray[np.int64],
    nats: float,
    seed: int,
    estimates: LabelEstimates | None,
) -> AgreementTally:
    """Let every answer vote with its worker's weight, and credit the workers who agree.

    Parameters
    ----------
    partition, summary, estimates
        See `TruthInference.sweep`.
    weights : ndarray of int64, shape (workers,)
        What a worker's vote counts.
    nats : float
        Log-odds of a vote of 1, for confidences; 0 where votes are counts.
    seed : int
        For ties.
    """
    room = estimates or LabelEstimates.empty(0, partition.values.dtype)
    agreed = np.zeros(summary.workers, np.int64)
    vote_kernel(summary.labels, estimating=estimates is not None)(
        partition.offsets,
        partition.worker_codes.view(np.uint32),
        partition.values,
        partition.draws,
        partition.gold,
        weights,
        fixed_point.shares(summary.labels),
        nats,
        np.uint64(seed),
        agreed,
        room.truths,
        room.confidence,
        room.tied,
    )
    return AgreementTally(agreed=agreed)


def share_of_agreements(summary: Summary, agreed: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return agreements over answers, shape (workers,); NaN where there is no answer.

    `agreed` is as in `AgreementTally`.
    """
    with np.errstate(invalid="ignore"):
        return fixed_point.from_shares(agreed) / summary.answers_per_worker
