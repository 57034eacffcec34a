"""What a plan found, and how it is handed on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from attrs import asdict, frozen

from quietcrowd.planning.plan_plot import plot_plan
from quietcrowd.planning.plan_row import PlanRow

__all__ = ["CampaignPlan"]


def _row_key(row: PlanRow) -> tuple[Any, ...]:
    return row.error, row.worker_epsilon, row.workers * row.answers


@frozen(kw_only=True)
class CampaignPlan:
    """The expected error of a campaign, before the first answer.

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
            Where the name ends neither in ``.png`` nor in ``.svg``.
        MissingExtraError
            Where Matplotlib is not installed.
        """
        plot_plan(self.rows, Path(path), score=self.score, target=self.target)


def _dicts(rows: Iterable[PlanRow]) -> list[dict[str, Any]]:
    return [row.to_dict() for row in rows]
