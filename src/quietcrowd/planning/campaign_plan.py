"""Result of planning a campaign."""

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
    """Expected error of a campaign, before the first answer.

    Attributes
    ----------
    rows : tuple of PlanRow
        Private rows, and for every size one without a mechanism.
    tasks : int
        Number of tasks.
    score : str
        Kind of all errors, ``error_rate`` or ``mae``.
    assumed : str
        Assumptions about the crowd, in words.
    target : float or None
        Desired error.
    draws : int
        Number of simulated crowds for each size.
    skipped : tuple of str
        Omitted cells, with reasons.
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
        """Rows with a mechanism."""
        return tuple(row for row in self.rows if row.private)

    @property
    def best(self) -> PlanRow:
        """Private row of least expected error."""
        return min(self.private, key=_row_key)

    @property
    def meeting(self) -> tuple[PlanRow, ...]:
        """Private rows that reach the target, sorted by total answers, then by worker epsilon."""
        if self.target is None:
            return ()
        reached = [row for row in self.private if row.error <= self.target]
        return tuple(sorted(reached, key=lambda r: (r.workers * r.answers, r.worker_epsilon)))

    @property
    def frame(self) -> pd.DataFrame:
        """All rows as a table, with the columns of `PlanRow`."""
        return pd.DataFrame([asdict(row) for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
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
        """Plot expected errors against epsilon to a PNG or SVG file.

        Raises
        ------
        ParameterError
            If the name ends neither in ``.png`` nor in ``.svg``.
        MissingExtraError
            If Matplotlib is not installed.
        """
        plot_plan(self.rows, Path(path), score=self.score, target=self.target)


def _dicts(rows: Iterable[PlanRow]) -> list[dict[str, Any]]:
    return [row.to_dict() for row in rows]
