"""Results as tables that fit a terminal of 80 columns."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from quietcrowd.evaluation.experiment import ExperimentResult
from quietcrowd.evaluation.plots import EQUAL_EXACT
from quietcrowd.privacy.guarantee import show_loss

__all__ = ["plain_table", "print_experiment", "print_frame"]

SHOWN = 20


def plain_table(*columns: str, numeric_from: int) -> Table:
    """Return an empty table whose columns from `numeric_from` on are numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place >= numeric_from else "left")
    return table


def print_frame(frame: pd.DataFrame) -> None:
    """Print a frame: all of it as CSV into a pipe, its first rows as a table to a terminal."""
    if not sys.stdout.isatty():
        frame.to_csv(sys.stdout, index=False)
        return
    table = plain_table(*frame.columns, numeric_from=2)
    for row in frame.head(SHOWN).itertuples(index=False):
        table.add_row(
            *(f"{cell:.3f}" if isinstance(cell, float) else Text(str(cell)) for cell in row)
        )
    Console(highlight=False, markup=False).print(table)
    if len(frame) > SHOWN:
        print(f"… and {len(frame) - SHOWN:,} more; write all with --output truths.csv")


def print_experiment(result: ExperimentResult) -> None:
    """Print an experiment, its references first."""
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 80)
    private = result.frame["mechanism"] != "none"
    trials = int(result.frame["trials"].max())
    console.print(f"{result.dataset}: error rates, mean of {trials} trials\n")
    for row in result.frame[~private].itertuples():
        what = "constant guess" if row.method == "constant" else f"{row.method}, not private"
        console.print(f"  {what:<30} {row.error_rate:.4f}")
    console.print()
    table = plain_table(
        "claimed\nepsilon",
        "\nmechanism",
        "\nmethod",
        f"exact\nat {result.mean_answers:,}",
        f"exact\nat {result.most_answers:,}",
        "error\nrate",
        "\nchange",
        "std.\nerror",
        numeric_from=3,
    )
    guess = float(result.frame.loc[result.frame["method"] == "constant", "error_rate"].iloc[0])
    worse = int((result.frame.loc[private, "error_rate"] >= guess).sum())
    before = None
    rows: Iterable[Any] = result.frame[private].itertuples()
    for row in rows:
        group = (row.claimed_epsilon, row.mechanism)
        if before is not None and group != before:
            table.add_section()
        table.add_row(
            *((f"{row.claimed_epsilon:g}", row.mechanism) if group != before else ("", "")),
            Text(row.method),
            *(
                (show_loss(row.exact_epsilon_mean), show_loss(row.exact_epsilon_busiest))
                if group != before
                else ("", "")
            ),
            f"{row.error_rate:.4f}" + ("†" if row.error_rate >= guess else " "),
            f"{row.change:+.4f}",
            f"{row.change_se:.4f}",
        )
        before = group
    console.print(table)
    notes = (
        "change: from the same method on the plain answers. exact: what one answer loses at most, "
        f"for the mean worker ({result.mean_answers:,} answers) and for the busiest "
        f"({result.most_answers:,})."
    )
    if (result.frame["mechanism"] == EQUAL_EXACT).any():
        notes += (
            f" {EQUAL_EXACT}: the one-layer mechanism at the exact epsilon that the mechanism "
            "above it has for the mean worker: equal privacy, not equal claims."
        )
    if worse:
        notes += f" †: no better than the constant guess ({worse} of {int(private.sum())} rows)."
    console.print(f"\n{textwrap.fill(notes, 80, break_on_hyphens=False)}")
