"""Result of planning a campaign: rows, table and plot."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
from attrs import Factory, asdict, field, frozen

from quietcrowd.evaluation.plots import SCORE_NAMES
from quietcrowd.figures import COLORS, REFERENCE, add_legend, new_panels
from quietcrowd.planning.verdict import Outcome, Standing, crowd_words, standing_of


@frozen(kw_only=True)
class PlanRow:
    """Expected error of a campaign with one mechanism, epsilon and size.

    `mechanism` is a name with parameters; "none" for non-private answers, and "A or B" if workers
    choose. `total_epsilon` and
    `epsilon` are exact losses about all answers of a worker and about one; infinite without a
    mechanism. Each worker gives `answers` to the `tasks`. `score` is that of the plan. `error` to
    `high` are those of `ExpectedError`. `constant` is the expected error of the best constant
    guess, and `many_high` would be `high`, both if there were at least 100 such tasks. In a survey,
    `error`, `low` and `high` are the half-width of a 95 % interval, and `constant` half the range.
    """

    mechanism: str
    total_epsilon: float
    epsilon: float
    workers: int
    tasks: int
    answers: int
    score: str
    error: float
    standard_error: float
    low: float
    high: float
    many_high: float = field(default=Factory(lambda self: self.high, takes_self=True))
    constant: float

    @property
    def private(self) -> bool:
        """Whether there is a mechanism."""
        return self.mechanism != "none"

    @property
    def standing(self) -> Standing:
        """Whether the result is good, weak or useless; see `quietcrowd.planning.verdict`.

        With fewer than 100 tasks the interval is that of 100: an unlucky choice of a few tasks is
        no reason to call the reports useless.
        """
        return standing_of(self.score, self.error, self.many_high, self.constant)

    @property
    def useless(self) -> bool:
        """Whether the interval reaches the error of a constant guess."""
        return self.standing == "useless"

    @property
    def heading(self) -> str:
        """The standing in words."""
        return self._outcome.heading

    @property
    def verdict(self) -> str:
        """The expected result, next to a guess, in words."""
        most = "at most " * (" or " in self.mechanism)
        crowd = crowd_words(self.workers, self.tasks, self.answers, self.total_epsilon, most)
        return f"{crowd}, {self._outcome.sentences}"

    @property
    def summary(self) -> str:
        """The expected error in a few words."""
        return self._outcome.summary

    @property
    def _outcome(self) -> Outcome:
        same = {name: getattr(self, name) for name in _COMMON}
        return Outcome(guess=self.constant, **same)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description, with None for infinite losses."""
        document = {
            key: None if isinstance(value, float) and math.isinf(value) else value
            for key, value in asdict(self).items()
        }
        return {**document, **{name: getattr(self, name) for name in _DERIVED}}


_COMMON = ("score", "tasks", "error", "low", "high", "standing")
_DERIVED = ("standing", "useless", "heading", "verdict")


def _row_key(row: PlanRow) -> tuple[Any, ...]:
    return row.error, row.total_epsilon, row.workers * row.answers


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
        Kind of all errors: ``error_rate`` or ``mae``, in a survey ``share`` or ``mean``.
    assumed : str
        Assumptions about the crowd, in words.
    floor : float
        Approximate error that remains with any number of answers, because workers share errors. It
        is assumed, not measured.
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
    floor: float
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
        return tuple(sorted(reached, key=lambda r: (r.workers * r.answers, r.total_epsilon)))

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
            "floor": self.floor,
            "target": self.target,
            "draws": self.draws,
            "rows": [row.to_dict() for row in self.rows],
            "meeting": [row.to_dict() for row in self.meeting],
            "skipped": list(self.skipped),
        }

    def plot(self) -> Any:
        """Return a Matplotlib figure of expected errors against the total epsilon of a person.

        Bands are the 90 % intervals. Dotted lines are the non-private results and, in gray, the
        constant guess.

        Raises
        ------
        MissingExtraError
            If Matplotlib is not installed.
        """
        names = list(dict.fromkeys(row.mechanism for row in self.private))
        figure, panels = new_panels(len(names), width=3.5 + 4 * len(names), share_y=True)
        for axes, name in zip(panels, names, strict=True):
            axes.set_title(name, fontsize="medium")
            axes.set_xlabel("total privacy loss of a person (epsilon)")
            rows = [row for row in self.private if row.mechanism == name]
            _draw(axes, self.rows, rows, self.target)
        panels[0].set_ylabel(f"{SCORE_NAMES[self.score]}, with 90 % interval")
        add_legend(figure, panels)
        return figure


def _draw(
    axes: Any, every: Sequence[PlanRow], rows: Sequence[PlanRow], target: float | None
) -> None:
    without_privacy = {(row.workers, row.answers): row for row in every if not row.private}
    for place, size in enumerate(dict.fromkeys((row.workers, row.answers) for row in rows)):
        line = [row for row in rows if (row.workers, row.answers) == size]
        line.sort(key=lambda row: row.total_epsilon)
        losses = [row.total_epsilon for row in line]
        color = COLORS[place % len(COLORS)]
        label = f"{size[0]:,} workers, {size[1]:,} answers each"
        axes.plot(losses, [row.error for row in line], color=color, marker="o", label=label)
        axes.fill_between(
            losses,
            [row.low for row in line],
            [row.high for row in line],
            color=color,
            alpha=0.15,
            linewidth=0,
        )
        axes.axhline(without_privacy[size].error, color=color, linestyle=REFERENCE)
    constant = sum(row.constant for row in rows) / len(rows)
    axes.axhline(constant, color="grey", linestyle=REFERENCE, label="constant guess")
    if target is not None:
        axes.axhline(target, color="black", linewidth=0.8, label="target")
    axes.plot([], [], color="black", linestyle=REFERENCE, label="not private")
    axes.set_xscale("log")
    ticks = sorted({round(row.total_epsilon, 3) for row in rows})
    axes.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
