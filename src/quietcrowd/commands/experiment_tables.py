"""What experiments found, as tables that fit a terminal of 80 columns."""

from __future__ import annotations

import math
import sys
import textwrap

import pandas as pd
from rich.table import Table
from rich.text import Text

from quietcrowd.commands.printing import console, plain_table
from quietcrowd.evaluation.experiment import ExperimentResult
from quietcrowd.evaluation.plots import EQUAL_EXACT
from quietcrowd.privacy.guarantee import show_loss

__all__ = ["print_experiment"]

SCORE_HEADS = {
    "error_rate": ("error\nrate", "error rates"),
    "mae": ("\nMAE", "mean absolute errors"),
}


def print_experiment(result: ExperimentResult) -> None:
    """Print an experiment, its references first."""
    out = console(None if sys.stdout.isatty() else 80)
    private = result.frame[result.frame["mechanism"] != "none"]
    references = result.frame[result.frame["mechanism"] == "none"]
    trials = int(private["trials"].max())
    out.print(
        f"{result.dataset}: {SCORE_HEADS[result.score][1]}, mean of {trials} trials\n",
        soft_wrap=True,
    )
    listed = Table.grid(padding=(0, 1))
    listed.add_column(min_width=32, overflow="fold")
    listed.add_column(justify="right")
    for _, row in references.iterrows():
        what = "constant guess" if row["method"] == "constant" else f"{row['method']}, not private"
        listed.add_row(_fold(what, 65, "  "), f"{row[result.score]:.4f}")
    out.print(listed)
    out.print()
    guess = float(references.loc[references["method"] == "constant", result.score].iloc[0])
    out.print(_experiment_table(result, private, guess))
    notes = _experiment_notes(result, private, guess)
    out.print(f"\n{textwrap.fill(notes, 80, break_on_hyphens=False)}")


def _marks_participation(private: pd.DataFrame) -> bool:
    """Return whether rows differ in what they hide, or are about sparse answers."""
    return private["participation_protected"].nunique() > 1 or "correlation" in private


def _experiment_table(result: ExperimentResult, private: pd.DataFrame, guess: float) -> Table:
    """Return a table with a line per mechanism, and below it one per method."""
    numbers = "correlation" in private
    table = plain_table(
        "claimed\nepsilon",
        "mechanism\n  method",
        f"exact\nat {result.mean_answers:,}",
        f"exact\nat {result.most_answers:,}",
        SCORE_HEADS[result.score][0],
        "\nchange",
        "std.\nerror",
        *(("corre-\nlation",) if numbers else ()),
        numeric_from=2,
    )
    marks = _marks_participation(private)
    width = 24 if numbers else 30
    for _, rows in private.groupby(["claimed_epsilon", "mechanism"], sort=False):
        first = rows.iloc[0]
        table.add_row(
            f"{first['claimed_epsilon']:g}",
            _fold(
                first["mechanism"] + "‡" * (marks and not first["participation_protected"]), width
            ),
            show_loss(first["exact_epsilon_mean"]),
            show_loss(first["exact_epsilon_busiest"]),
        )
        for _, row in rows.iterrows():
            change = row["change"]
            table.add_row(
                "",
                _fold(row["method"], width, "  "),
                "",
                "",
                f"{row[result.score]:.4f}" + ("†" if row[result.score] >= guess else " "),
                "" if math.isnan(change) else f"{change:+.4f}",
                "" if math.isnan(change) else f"{row['change_se']:.4f}",
                *((_or_nothing(row["correlation"]),) if numbers else ()),
            )
    return table


def _fold(name: str, width: int, indent: str = "") -> Text:
    """Return a name in lines that begin with it or with the colon before a parameter."""
    first, *parameters = name.split(":")
    lines = [f"{indent}{first}"]
    for parameter in parameters:
        if len(f"{lines[-1]}:{parameter}") <= width:
            lines[-1] += f":{parameter}"
        else:
            lines.append(f"{indent}:{parameter}")
    return Text("\n".join(lines))


def _or_nothing(number: float) -> str:
    return "" if math.isnan(number) else f"{number:.2f}"


def _experiment_notes(result: ExperimentResult, private: pd.DataFrame, guess: float) -> str:
    notes = (
        "change: from the same method on the plain answers. exact: what one answer loses at most, "
        f"for the mean worker ({result.mean_answers:,} answers) and for the busiest "
        f"({result.most_answers:,})."
    )
    if private["change"].isna().any():
        notes += " No change stands where a method reads reports alone."
    if (private["mechanism"] == EQUAL_EXACT).any():
        notes += (
            f" {EQUAL_EXACT}: the one-layer mechanism at the exact epsilon that the mechanism "
            "above it has for the mean worker: equal privacy, not equal claims."
        )
    if worse := int((private[result.score] >= guess).sum()):
        notes += f" †: no better than the constant guess ({worse} of {len(private)} rows)."
    if _marks_participation(private) and not private["participation_protected"].all():
        notes += " ‡: does not hide which tasks were answered."
    return notes
