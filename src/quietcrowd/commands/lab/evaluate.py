"""``quietcrowd evaluate``: the cost of privacy on data with known truths."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from quietcrowd.commands import options
from quietcrowd.commands.choices import (
    METHODS_LISTED,
    MechanismNames,
    MethodNames,
    choose_mechanism,
    choose_method,
)
from quietcrowd.commands.printing import records_of, tell
from quietcrowd.domains import FiniteDomain
from quietcrowd.formats import check_target, write_table
from quietcrowd.formats.files import check_new

__all__ = ["app", "check_targets", "evaluate", "hand_over"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog=METHODS_LISTED)
def evaluate(
    dataset: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Dataset folder with answers and truths.")
    ],
    mechanism: MechanismNames = None,
    method: MethodNames = None,
    epsilon: options.Epsilons = ["1,0.5,0.1"],  # noqa: B006
    trials: Annotated[
        int, typer.Option(min=2, metavar="NUMBER", help="Randomisations per cell.")
    ] = 100,
    seed: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Of the noise.")] = 0,
    equal_exact: Annotated[
        bool,
        typer.Option(help="Also run one-layer at the exact epsilon of the others (one-layer*)."),
    ] = True,
    output: options.Output = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="A picture of the result, .png or .svg.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Measure what privacy costs where truths are known.

    The folder holds answers.csv (columns task, worker, label), truth.csv (task, label) and
    dataset.json, such as {"kind": "categorical", "domain": ["no", "yes"]}. Overwrites nothing.

    Example: quietcrowd evaluate FOLDER -m one-layer,two-layer -e 1,0.5 --trials 100

    Example: quietcrowd evaluate FOLDER -m laplace,matrix-factorization:rank=20 -e 1
    --method mean,weighted-mean
    """
    from quietcrowd.commands.experiment_tables import print_experiment
    from quietcrowd.datasets import load_dataset
    from quietcrowd.evaluation import Experiment

    check_targets(output, plot)
    crowd = load_dataset(dataset)
    labels = isinstance(crowd.answers.domain, FiniteDomain)
    kinds = mechanism or (["one-layer", "two-layer"] if labels else ["laplace"])
    chosen = method or (["majority", "weighted-vote"] if labels else ["mean", "weighted-mean"])
    experiment = Experiment(
        dataset=crowd,
        mechanisms=dict(map(choose_mechanism, options.split_all(kinds))),
        epsilons=sorted(set(options.parse_numbers(epsilon, "--epsilon")), reverse=True),
        methods={name: choose_method(name) for name in options.split_all(chosen)},
        trials=trials,
        seed=seed,
        equal_exact=equal_exact,
    )
    result = experiment.run(progress=sys.stderr.isatty())
    hand_over(result, print_experiment, output, plot, as_json)


def check_targets(output: Path | None, plot: Path | None) -> None:
    """Raise unless the results can be written, before a long computation."""
    if output is not None:
        check_target(output)
        check_new(output)
    if plot is not None:
        from quietcrowd.evaluation.plots import check_picture

        check_picture(plot)
        check_new(plot)


def hand_over(
    result: Any, show: Callable[[Any], None], output: Path | None, plot: Path | None, as_json: bool
) -> None:
    """Write, plot, and then print the results, so that a closed pipe loses no file."""
    if output is not None:
        write_table(result.frame, output)
    if plot is not None:
        result.plot(plot)
    for sentence in result.skipped:
        tell(f"note: {sentence}")
    if as_json:
        typer.echo(json.dumps(records_of(result.frame)))
    else:
        show(result)
