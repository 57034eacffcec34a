"""Tables on a terminal of 80 columns, and frames as CSV in a pipe."""

from __future__ import annotations

import sys

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from quietcrowd.formats.csv_files import guard_cell

__all__ = ["plain_table", "print_frame"]

SHOWN = 20


def plain_table(*columns: str, numeric_from: int) -> Table:
    """Return an empty table whose columns from `numeric_from` on are numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for place, column in enumerate(columns):
        numeric = place >= numeric_from
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    return table


def print_frame(frame: pd.DataFrame, way: str) -> None:
    """Print a frame: all of it as CSV into a pipe, its first rows as a table to a terminal.

    `way` says there what writes all of it to a file, where there are more rows.
    """
    if not sys.stdout.isatty():
        _guarded(frame).to_csv(sys.stdout, index=False)
        return
    table = plain_table(*frame.columns, numeric_from=2)
    for row in frame.head(SHOWN).itertuples(index=False):
        table.add_row(
            *(f"{cell:.3f}" if isinstance(cell, float) else Text(str(cell)) for cell in row)
        )
    Console(highlight=False, markup=False).print(table)
    if len(frame) > SHOWN:
        print(f"… and {len(frame) - SHOWN:,} more; write all with {way}")


def _guarded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with its texts as CSV files have them."""
    texts = {
        str(name): frame[name].map(_guarded_cell)
        for name in frame
        if not pd.api.types.is_numeric_dtype(frame[name])
    }
    return frame.assign(**texts)


def _guarded_cell(cell: object) -> object:
    return guard_cell(cell) if isinstance(cell, str) else cell
