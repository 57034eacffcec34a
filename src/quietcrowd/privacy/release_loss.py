"""What a worker's reports to one campaign cost: about one answer, and about all together."""

from __future__ import annotations

from attrs import frozen

from quietcrowd.privacy.loss_law import LossLaw

__all__ = ["ReleaseLoss"]


@frozen(kw_only=True, eq=False)
class ReleaseLoss:
    """Laws of the loss of all that a worker reports to one campaign.

    Attributes
    ----------
    answer : LossLaw
        About one answer, given all others of the worker.
    each : LossLaw
        About everything that one release tells; releases are independent of each other.
    count : int
        How many releases there are: the number of answers or tasks, where each has noise of its
        own; 1, where one draw serves them all.
    """

    answer: LossLaw
    each: LossLaw
    count: int
