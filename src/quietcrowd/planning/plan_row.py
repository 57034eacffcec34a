"""A cell of a plan."""

from __future__ import annotations

import math
from typing import Any

from attrs import asdict, frozen

__all__ = ["PlanRow"]


@frozen(kw_only=True)
class PlanRow:
    """What error a campaign will have, by one mechanism at one epsilon with one crowd.

    Attributes
    ----------
    mechanism : str
        Its name with its parameters; "none" where answers come in plain.
    epsilon, worker_epsilon : float
        What one answer loses, and all answers of a worker together; exact. Infinite without a
        mechanism.
    workers, answers : int
        Workers, and answers of each.
    error, standard_error, low, high : float
        See `ExpectedError`.
    constant : float
        Expected error of the best constant guess.
    """

    mechanism: str
    epsilon: float
    worker_epsilon: float
    workers: int
    answers: int
    error: float
    standard_error: float
    low: float
    high: float
    constant: float

    @property
    def private(self) -> bool:
        """Whether there is a mechanism."""
        return self.mechanism != "none"

    @property
    def useless(self) -> bool:
        """Whether a constant guess is expected to do as well."""
        return self.error >= self.constant

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON can hold it: None where a loss is infinite."""
        return {
            key: None if isinstance(value, float) and math.isinf(value) else value
            for key, value in asdict(self).items()
        }
