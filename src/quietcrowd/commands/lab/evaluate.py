"""``quietcrowd lab evaluate``: the cost of privacy on data with known truths."""

from __future__ import annotations

import json
import math
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quietcrowd.commands import options
from quietcrowd.commands.choices import (
    METHODS_LISTED,
    choose_mechanism,
    choose_method,
    mechanism_option,
    method_option,
)
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.files import check_targets
from quietcrowd.commands.printing import console, plain_table, print_message, records_of
from quietcrowd.domains import FiniteDomain
from quietcrowd.formats import write_table
from quietcrowd.privacy.guarantee import show_loss

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table
    from rich.text import Text

    from quietcrowd.evaluation.experiment import ExperimentResult

_SCORE_HEADS = {
    "error_rate": ("error\nrate", "error rates"),
    "mae": ("\nMAE", "mean absolute errors"),
}


@command(epilog=METHODS_LISTED)
class Evaluate:
    """Measure the cost of privacy if truths are known.

    The directory contains answers.csv (columns task, worker, label), truth.csv (task, label) and
    dataset.json, such as {"kind": "categorical", "domain": ["no", "yes"]}. It overwrites nothing.

    Example: quietcrowd lab evaluate FOLDER -m one-layer,two-layer -e 1,0.5 --trials 100

    Example: quietcrowd lab evaluate FOLDER -e 1 --method mean,weighted-mean
    -m laplace,matrix-factorization:rank=20
    """

    dataset: Path = argument(metavar="FOLDER", help="Dataset directory with answers and truths.")
    mechanism: list[str] | None = mechanism_option(several=True)
    method: list[str] | None = method_option(several=True)
    epsilon: list[str] = option(
        "--epsilon",
        "-e",
        metavar="NUMBERS",
        help="Claimed losses, comma-separated.",
        default=["1,0.5,0.1"],
    )
    trials: int = option(min=2, metavar="NUMBER", help="Randomizations per cell.", default=100)
    seed: int = option(min=0, metavar="NUMBER", help="Seed of the noise.", default=0)
    equal_exact: bool = option(
        "--equal-exact/--no-equal-exact",
        help="Also run one-layer at the exact epsilon of the others (one-layer*).",
        default=True,
    )
    output: Path | None = options.OUTPUT
    plot: Path | None = option(
        metavar="FILE.png", help="File for a plot, .png or .svg.", default=None
    )
    as_json: bool = options.JSON

    def run(self) -> None:
        """Run the experiment, and print its result."""
        from quietcrowd.datasets import load_dataset
        from quietcrowd.evaluation import Experiment

        check_targets(self.output, self.plot)
        crowd = load_dataset(self.dataset)
        labels = isinstance(crowd.answers.domain, FiniteDomain)
        kinds = self.mechanism or (["one-layer", "two-layer"] if labels else ["laplace"])
        chosen = self.method or (
            ["majority", "weighted-vote"] if labels else ["mean", "weighted-mean"]
        )
        experiment = Experiment(
            dataset=crowd,
            mechanisms=dict(map(choose_mechanism, options.split_all(kinds))),
            epsilons=sorted(set(options.parse_numbers(self.epsilon, "--epsilon")), reverse=True),
            methods={name: choose_method(name) for name in options.split_all(chosen)},
            trials=self.trials,
            random_state=self.seed,
            equal_exact=self.equal_exact,
        )
        result = experiment.run(progress=sys.stderr.isatty())

        def draw(path: Path) -> None:
            from quietcrowd.evaluation.plots import save_picture

            save_picture(result.plot(), path)

        hand_over(result, _print_experiment, draw, self.output, self.plot, self.as_json)


def hand_over(
    result: Any,
    show: Callable[[Any], None],
    draw: Callable[[Path], None],
    output: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Write, plot, and then print the results, so that a closed pipe loses no file."""
    if output is not None:
        write_table(result.frame, output)
    if plot is not None:
        draw(plot)
    for sentence in result.skipped:
        print_message(f"note: {sentence}")
    if as_json:
        typer.echo(json.dumps(records_of(result.frame)))
    else:
        show(result)


def _print_experiment(result: ExperimentResult) -> None:
    from rich.table import Table

    out = console(None if sys.stdout.isatty() else 80)
    private = result.frame[result.frame["mechanism"] != "none"]
    references = result.frame[result.frame["mechanism"] == "none"]
    trials = int(private["trials"].max())
    out.print(
        f"{result.dataset}: {_SCORE_HEADS[result.score][1]}, mean of {trials} trials\n",
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
    numbers = "correlation" in private
    table = plain_table(
        "claimed\nepsilon",
        "mechanism\n  method",
        f"exact\nat {result.mean_answers:,}",
        f"exact\nat {result.most_answers:,}",
        _SCORE_HEADS[result.score][0],
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
    from rich.text import Text

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
    from quietcrowd.evaluation.plots import EQUAL_EXACT

    notes = (
        "change: difference to the same method on non-private answers. exact: largest privacy loss "
        f"of one answer, for the mean worker ({result.mean_answers:,} answers) and for the busiest "
        f"({result.most_answers:,})."
    )
    if private["change"].isna().any():
        notes += " Methods that read only reports have no change."
    if (private["mechanism"] == EQUAL_EXACT).any():
        notes += (
            f" {EQUAL_EXACT}: one-layer at the exact epsilon of the mechanism above, for the mean "
            "worker. Their privacy is equal, not their claims."
        )
    if worse := int((private[result.score] >= guess).sum()):
        notes += f" †: no better than the constant guess ({worse} of {len(private)} rows)."
    if _marks_participation(private) and not private["participation_protected"].all():
        notes += " ‡: does not hide which tasks were answered."
    return notes
