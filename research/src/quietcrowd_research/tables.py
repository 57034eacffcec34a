"""Figures as tables that fit a terminal of 80 columns."""

from __future__ import annotations

import math
import sys
import textwrap

import pandas as pd
from pandas.api.types import is_integer_dtype, is_numeric_dtype
from rich.console import Console
from rich.table import Table
from rich.text import Text

from quietcrowd.commands.printing import console, plain_table
from quietcrowd.evaluation.plots import SCORE_NAMES
from quietcrowd.privacy.guarantee import show_loss
from quietcrowd_research.density_plots import DENSITY_SCORES, DUST, panels_of
from quietcrowd_research.figure import FigureResult
from quietcrowd_research.score_plots import constant_changes

UNLISTED = {
    "tesla-like": "a stand-in that cuts reports to where they can be, and averages",
    "privtdsi-like": "a stand-in that sends a quarter of the answers, at 4 epsilon",
    "every sigma known": "MOON where nothing has to be learnt of the workers",
}
"""What rows of figures are that no --method names."""


def print_figure(result: FigureResult, out: Console | None = None) -> None:
    """Print what a figure shows, to a terminal or pipe, or to another console."""
    show = {
        "method": _print_methods,
        "mechanism": _print_mechanisms,
        "density": _print_densities,
        "table": _print_rows,
    }
    show[result.figure.lines](result, out or console(None if sys.stdout.isatty() else 80))


def _print_rows(result: FigureResult, out: Console) -> None:
    """Print a table as its frame is, or what its figure tells of it."""
    out.print(f"{result.figure.title}\n", soft_wrap=True)
    tell = result.figure.tell
    for place, part in enumerate([result.frame] if tell is None else tell(result.frame)):
        if place:
            out.print()
        if isinstance(part, str):
            out.print(textwrap.fill(part, 80, break_on_hyphens=False))
        else:
            out.print(_plain_rows(part))


def _plain_rows(frame: pd.DataFrame) -> Table:
    """Return a table of a frame: texts as they are, numbers to four digits."""
    texts = [name for name in frame if not is_numeric_dtype(frame[name])]
    numbers = [name for name in frame if name not in texts and not _is_no_error(frame, str(name))]
    heads = (str(name).replace("_", "\n") for name in [*texts, *numbers])
    table = plain_table(*heads, numeric_from=len(texts))
    whole = {name: is_integer_dtype(frame[name]) for name in numbers}
    for row in frame.to_dict("records"):
        cells = (f"{row[name]:,}" if whole[name] else _short(row[name], 4) for name in numbers)
        table.add_row(*(Text(str(row[name])) for name in texts), *cells)
    return table


def _is_no_error(frame: pd.DataFrame, name: str) -> bool:
    """Return whether a column is the standard error of what has none: 0 in all rows."""
    return name.endswith("_se") and bool((frame[name] == 0).all())


def _print_methods(result: FigureResult, out: Console) -> None:
    """Print a score of each method, one row per data set and method, one column per epsilon."""
    score, panel = result.figure.scores[0], result.figure.panel
    out.print(f"{result.figure.title}: {SCORE_NAMES[score]}\n", soft_wrap=True)
    frame = result.frame
    epsilons = sorted(frame.loc[frame["mechanism"] != "none", "claimed_epsilon"].unique())
    heads = [f"eps.\n{epsilon:g}" for epsilon in epsilons]
    table = plain_table(f"{panel}\n  method", *heads, "\nplain", numeric_from=1)
    for name, rows in frame.groupby(panel, sort=False):
        table.add_row(Text(str(name)))
        references = rows[rows["mechanism"] == "none"].drop_duplicates("method")
        plain = references.set_index("method")[score]
        private = rows[rows["mechanism"] != "none"]
        for method, line in private.groupby("method", sort=False):
            cells = line.set_index("claimed_epsilon")[score]
            if cells.isna().all():
                continue
            shown = [_short(cells.get(epsilon, math.nan)) for epsilon in epsilons]
            table.add_row(Text(f"  {method}"), *shown, _short(plain.get(method, math.nan)))
        if score != "weight_distance":
            table.add_row("  constant guess", *[""] * len(epsilons), _short(plain["constant"]))
    out.print(table)
    private = frame[frame["mechanism"] != "none"]
    relative = (private[f"{score}_se"] / private[score]).median()
    notes = (
        f"Means of {int(private['trials'].max())} trials on the same reports for all methods; the "
        f"median standard error is {relative:.1%} of the mean. plain: found in the plain answers."
    )
    out.print(f"\n{textwrap.fill(notes, 80, break_on_hyphens=False)}")
    printed = private.loc[private[score].notna(), "method"]
    names = {str(method).split(",")[0] for method in printed}
    for name, what in UNLISTED.items():
        if name in names:
            out.print(f"{name}: {what}.", soft_wrap=True)


def _short(number: float, digits: int = 3) -> str:
    """Print a few significant digits, or nothing for NaN."""
    return "" if math.isnan(number) else f"{number:#.{digits}g}".rstrip(".")


def _print_mechanisms(result: FigureResult, out: Console) -> None:
    """Print the changes of the mean absolute error that a figure shows, one row per point."""
    out.print(f"{result.figure.title}\n", soft_wrap=True)
    private = result.frame[result.frame["mechanism"] != "none"]
    names = list(private["mechanism"].drop_duplicates())
    crowd = "sparsity" if "sparsity" in private else "dataset"
    heads = (name.replace("-", "-\n") for name in names)
    table = plain_table(crowd, "eps.", *heads, "con-\nstant", "plain\nMAE", numeric_from=1)
    references = result.frame[result.frame["mechanism"] == "none"]
    guesses = constant_changes(result.frame, crowd)
    for (place, epsilon), rows in private.groupby([crowd, "claimed_epsilon"], sort=False):
        cells = rows.set_index("mechanism")
        mine = references[references[crowd] == place].set_index("method")["mae"]
        shown = [
            f"{cells.loc[name, 'change']:+.2f} {cells.loc[name, 'correlation']:+.2f}"
            if name in cells.index
            else ""
            for name in names
        ]
        plain = f"{mine.drop('constant').iloc[0]:.2f}"
        table.add_row(f"{place}", f"{epsilon:g}", *shown, f"{guesses[place]:+.2f}", plain)
    out.print(table)
    notes = (
        "For each mechanism: change of the mean absolute error from the plain answers, and "
        "correlation of estimated and known truths. constant: what the best constant guess "
        "changes. plain MAE: the non-private result. Means of "
        f"{int(private['trials'].max())} trials; the largest standard error of a change is "
        f"{private['change_se'].max():.2f}."
    )
    open_ = private.loc[~private["participation_protected"], "mechanism"].unique()
    if len(open_):
        notes += f" Not hidden by {', '.join(open_)}: which tasks were answered."
    out.print(f"\n{textwrap.fill(notes, 80, break_on_hyphens=False)}")


def _print_densities(result: FigureResult, out: Console) -> None:
    """Print a table with a row per method, or one per score along the figure's axis."""
    out.print(f"{result.figure.title}\n", soft_wrap=True)
    if result.figure.across == "method":
        _print_density_methods(out, result.frame)
        notes = (
            "ISE: sum of the tasks' integrated squared errors; SISE: sum of their square roots; "
            "printed: sum of their squares. exact: what one claim loses at most; inf: no bound "
            "holds. released: share of the wanted claims. A task of which nothing is released "
            "counts as an even density."
        )
    else:
        for score in result.figure.scores:
            _print_density_scores(out, result, score)
        notes = "A task of which nothing is released counts as an even density."
        if "times_plain" in result.frame:
            notes = (
                "Processor time of a fit to reports, over that of CRH on the plain answers, both "
                "by one thread."
            )
        elif "milliseconds" in result.frame:
            notes = "Processor time of a release of all tasks; densities are learnt beforehand."
    notes += f" Means of {int(result.frame['trials'].max())} trials."
    out.print(textwrap.fill(notes, 80, break_on_hyphens=False))


def _print_density_methods(out: Console, frame: pd.DataFrame) -> None:
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
                *(_error_digits(row[name]) for name in ("ise", "ise_se", "sise", "sise_printed")),
                show_loss(row["epsilon"]),
                f"{row['released']:.2f}",
            )
        out.print(table)
        out.print()


def _print_density_scores(out: Console, result: FigureResult, score: str) -> None:
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
            shown = (_few_digits(cells.get(place, math.nan)) for place in places)
            table.add_row(Text(f"  {method}"), *shown)
    out.print(table)
    out.print()


def _in_lines(panel: str) -> str:
    """Return data set and true density in a line each."""
    return panel.replace(", against", "\nagainst")


def _few_digits(number: float) -> str:
    """Print at most four characters of numbers from 0 to 9999, or nothing for NaN."""
    if math.isnan(number):
        return ""
    if number < DUST:
        return "0"
    return f"{number:.{max(0, 2 - int(math.log10(max(number, 1.0))))}f}"


def _error_digits(number: float) -> str:
    """Print three significant digits of numbers at least 0, or nothing for NaN."""
    if math.isnan(number):
        return ""
    if number < DUST:
        return "0"
    return f"{number:.0f}" if number >= 100 else f"{number:#.3g}".rstrip(".")
