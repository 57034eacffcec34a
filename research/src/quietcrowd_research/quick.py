"""Figures in small, compared with values that are stored in the package.

``quietcrowd reproduce --quick`` runs the figures that have a `Figure.quick` and compares their
scores with those in ``quick_values.csv``, which many more trials gave. What is random may be
`ERRORS` combined standard errors off; what has no chance in it, a rounding.
``python -m research.tests.write_quick_values`` writes the stored values anew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from attrs import evolve, frozen

from quietcrowd_research.figure import Figure

QUICK_TRIALS = 10
"""Crowds, or randomisations of a real one, per point."""

ERRORS = 10.0
"""So many combined standard errors a value may be off.

The standard error of the few trials is taken from the deviation of the many that are stored. Were
means of ten trials normal, none of a thousand values would be off by chance in 10^19 runs. 10 and
not 6 leaves room for other distributions: with trials of an exponential distribution one value is
off with 2e-10, and one of a thousand with 2e-7. With the default seed the same version draws the
same, and nothing is left to chance.
"""

ROUNDING = 1e-6
"""What has no chance in it may be off by this part of it."""

STORED = Path(__file__).with_name("quick_values.csv")


@frozen(kw_only=True)
class Comparison:
    """How a figure in small compares with what is stored.

    Attributes
    ----------
    values : int
        How many were compared.
    farthest : float
        The largest distance, in combined standard errors, of those that are random.
    off : sequence of str
        A sentence for each value that is too far off.
    """

    values: int
    farthest: float
    off: Sequence[str]


def quick_values(
    name: str, figure: Figure, *, trials: int = QUICK_TRIALS, seed: int = 0
) -> pd.DataFrame:
    """Run a figure in small, and return its scores.

    Parameters
    ----------
    name : str
        Of the figure.
    figure : Figure
        One that has a `Figure.quick`.
    trials, seed : int
        As of `Figure.run`.

    Returns
    -------
    pandas.DataFrame
        Columns ``figure``, ``row`` (what marks it), ``score``, ``value``, ``se``, ``trials``; a row
        for each score that has a standard error.

    Raises
    ------
    FormatError
        Where a real data set is needed and not there.
    """
    if figure.quick is None:
        raise ValueError(f"{name} cannot be run in small")
    frame = evolve(figure, parts=figure.quick).run(trials=trials, seed=seed).frame
    scores = [score for score in figure.scores if f"{score}_se" in frame]
    rows = [
        {
            "figure": name,
            "row": _mark(row, figure),
            "score": score,
            "value": float(row[score]),
            "se": float(row[f"{score}_se"]),
            "trials": trials,
        }
        for row in frame.to_dict("records")
        for score in scores
    ]
    return pd.DataFrame(rows, columns=[*_Value._fields])


def _mark(row: dict[Any, Any], figure: Figure) -> str:
    """Return what tells a row from the others: its texts, and where it stands on an axis."""
    axes = {figure.across, figure.panel, "claimed_epsilon"}
    if figure.lines in ("density", "table"):
        axes -= {"claimed_epsilon"}
    return ", ".join(
        f"{cell:g}" if isinstance(cell, float | int) else str(cell)
        for name, cell in row.items()
        if isinstance(cell, str) or name in axes
    )


class _Value(NamedTuple):
    figure: str
    row: str
    score: str
    value: float
    se: float
    trials: int


def _values(frame: pd.DataFrame) -> list[_Value]:
    return [_Value(*row) for row in frame[[*_Value._fields]].to_numpy(object).tolist()]


def compared(found: pd.DataFrame, stored: pd.DataFrame) -> Comparison:
    """Compare the scores of one figure with the stored ones.

    Parameters
    ----------
    found, stored : pandas.DataFrame
        As `quick_values` returns it, of the same figure.
    """
    names = [f"{one.row}: {one.score}" for one in _values(found)]
    if names != [f"{one.row}: {one.score}" for one in _values(stored)]:
        return Comparison(
            values=0, farthest=0.0, off=("its rows are not those that are stored: store it anew",)
        )
    off, farthest = [], 0.0
    for name, new, old in zip(names, _values(found), _values(stored), strict=True):
        error = old.se * math.sqrt(1.0 + old.trials / new.trials)
        distance = abs(new.value - old.value)
        if new.value == old.value or (math.isnan(new.value) and math.isnan(old.value)):
            continue  # infinite ones too
        # "not <=" and not ">": a NaN beside a number is off
        if not distance <= ERRORS * error + ROUNDING * max(1.0, abs(old.value)):
            off.append(
                f"{name} is {new.value:.6g}; {old.value:.6g} is stored, with a combined standard "
                f"error of {error:.2g}"
            )
        if error > ROUNDING:
            farthest = max(farthest, distance / error)
    return Comparison(values=len(names), farthest=farthest, off=tuple(off))
