"""Tables about densities of tasks that fit a terminal of 80 columns."""

from __future__ import annotations

import math
import sys
import textwrap

import pandas as pd
from rich.console import Console
from rich.text import Text

from quietcrowd.commands.tables import plain_table
from quietcrowd.evaluation.papers import FigureResult
from quietcrowd.evaluation.papers.density_plots import DENSITY_SCORES, DUST, panels_of
from quietcrowd.privacy.guarantee import show_loss

__all__ = ["print_densities"]


def print_densities(result: FigureResult) -> None:
    """Print a table with a row per method, or one per score along the figure's axis."""
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 80)
    console.print(f"{result.figure.title}\n", soft_wrap=True)
    if result.figure.across == "method":
        _print_methods(console, result.frame)
        notes = (
            "ISE: sum of the tasks' integrated squared errors; SISE: sum of their square roots; "
            "printed: sum of their squares. exact: what one claim loses at most; inf: no bound "
            "holds. released: share of the wanted claims. A task of which nothing is released "
            "counts as an even density."
        )
    else:
        for score in result.figure.scores:
            _print_across(console, result, score)
        notes = "A task of which nothing is released counts as an even density."
        if "milliseconds" in result.frame:
            notes = "Processor time of a release of all tasks; densities are learnt beforehand."
    notes += f" Means of {int(result.frame['trials'].max())} trials."
    console.print(textwrap.fill(notes, 80, break_on_hyphens=False))


def _print_methods(console: Console, frame: pd.DataFrame) -> None:
    for panel, rows in panels_of(frame):
        table = plain_table(
            f"{_in_lines(panel)}\n  method",
            *("\nISE", "std.\nerror", "\nSISE", "SISE\nprinted"),
            *("exact\nepsilon", "re-\nleased"),
            numeric_from=1,
        )
        table.columns[0].no_wrap = True
        for _, row in rows.iterrows():
            table.add_row(
                Text(f"  {row['method']}"),
                *(_short(row[name]) for name in ("ise", "ise_se", "sise", "sise_printed")),
                show_loss(row["epsilon"]),
                f"{row['released']:.2f}",
            )
        console.print(table)
        console.print()


def _print_across(console: Console, result: FigureResult, score: str) -> None:
    """Print a score, a row per method and a column per place along the axis."""
    across = result.figure.across
    places = sorted(result.frame[across].unique())
    name = DENSITY_SCORES[score]
    table = plain_table(f"{name}, by {across}", *(f"{place:g}" for place in places), numeric_from=1)
    table.columns[0].no_wrap = True
    for panel, rows in panels_of(result.frame):
        table.add_row(Text(_in_lines(panel)))
        for method, line in rows.groupby("method", sort=False):
            cells = line.set_index(across)[score]
            shown = (_shorter(cells.get(place, math.nan)) for place in places)
            table.add_row(Text(f"  {method}"), *shown)
    console.print(table)
    console.print()


def _in_lines(panel: str) -> str:
    """Return data set and true density in a line each."""
    return panel.replace(", against", "\nagainst")


def _shorter(number: float) -> str:
    """Print at most four characters of numbers from 0 to 9999, or nothing for NaN."""
    if math.isnan(number):
        return ""
    if number < DUST:
        return "0"
    return f"{number:.{max(0, 2 - int(math.log10(max(number, 1.0))))}f}"


def _short(number: float) -> str:
    """Print three significant digits of numbers at least 0, or nothing for NaN."""
    if math.isnan(number):
        return ""
    if number < DUST:
        return "0"
    return f"{number:.0f}" if number >= 100 else f"{number:#.3g}".rstrip(".")
