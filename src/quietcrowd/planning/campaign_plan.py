"""What a plan found, and how it is handed on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from attrs import asdict, frozen

__all__ = ["CampaignPlan", "PlanRow"]


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


def _row_key(row: PlanRow) -> tuple[Any, ...]:
    return row.error, row.worker_epsilon, row.workers * row.answers


@frozen(kw_only=True)
class CampaignPlan:
    """What error to expect of a campaign, before the first answer.

    Attributes
    ----------
    rows : tuple of PlanRow
        Private ones, and for every size one without a mechanism.
    tasks : int
        Of the campaign.
    score : str
        ``error_rate`` or ``mae``, of which all errors are.
    assumed : str
        What was assumed of the crowd, in words.
    target : float or None
        The error that is wanted.
    draws : int
        How many crowds were simulated for each size.
    skipped : tuple of str
        Which cells were left out, and why.
    """

    rows: tuple[PlanRow, ...]
    tasks: int
    score: str
    assumed: str
    target: float | None
    draws: int
    skipped: tuple[str, ...] = ()

    @property
    def private(self) -> tuple[PlanRow, ...]:
        """The rows with a mechanism."""
        return tuple(row for row in self.rows if row.private)

    @property
    def best(self) -> PlanRow:
        """The private row of least expected error."""
        return min(self.private, key=_row_key)

    @property
    def meeting(self) -> tuple[PlanRow, ...]:
        """The private rows whose expected error is at most the target, as cheap ones first.

        By answers in all, then by what a worker loses.
        """
        if self.target is None:
            return ()
        reached = [row for row in self.private if row.error <= self.target]
        return tuple(sorted(reached, key=lambda r: (r.workers * r.answers, r.worker_epsilon)))

    @property
    def frame(self) -> pd.DataFrame:
        """All rows as a table, with the columns of `PlanRow`."""
        return pd.DataFrame([asdict(row) for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
        return {
            "tasks": self.tasks,
            "score": self.score,
            "assumed": self.assumed,
            "target": self.target,
            "draws": self.draws,
            "rows": _dicts(self.rows),
            "meeting": _dicts(self.meeting),
            "skipped": list(self.skipped),
        }

    def plot(self, path: str | Path) -> None:
        """Draw the expected errors against epsilon into a PNG file, a line per number of workers.

        Raises
        ------
        ParameterError
            Where the name does not end in ``.png``.
        MissingExtraError
            Where Matplotlib is not installed.
        """
        from quietcrowd.planning.plan_plot import plot_plan

        plot_plan(self, Path(path))


def _dicts(rows: Iterable[PlanRow]) -> list[dict[str, Any]]:
    return [row.to_dict() for row in rows]
