"""One row of a plan."""

from __future__ import annotations

import math
from typing import Any

from attrs import asdict, frozen

__all__ = ["PlanRow"]


@frozen(kw_only=True)
class PlanRow:
    """Expected error of a campaign with one mechanism, epsilon and size.

    Attributes
    ----------
    mechanism : str
        Name with parameters; "none" for non-private answers.
    epsilon, worker_epsilon : float
        Exact loss about one answer, and about all answers of a worker; infinite without a
        mechanism.
    workers, answers : int
        Number of workers, and of answers of each.
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
        """Whether a constant guess is expected to be as good."""
        return self.error >= self.constant

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description, with None for infinite losses."""
        return {
            key: None if isinstance(value, float) and math.isinf(value) else value
            for key, value in asdict(self).items()
        }
