"""The command line: ``quietcrowd randomize | infer | evaluate | demo``."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import attrs
import numpy as np
import typer
from rich.console import Console

from quietcrowd.answers import Answers
from quietcrowd.cli_tables import print_experiment, print_frame
from quietcrowd.datasets import load_dataset, synthetic_crowd
from quietcrowd.domains import Categorical, FiniteDomain, Label, Ordinal
from quietcrowd.evaluation import Experiment
from quietcrowd.exceptions import ParameterError, QuietcrowdError, QuietcrowdWarning
from quietcrowd.formats import (
    check_folder,
    check_target,
    read_answers,
    read_reports,
    write_reports,
    write_table,
)
from quietcrowd.inference import METHODS, WeightedVote
from quietcrowd.inference.categorical import CategoricalMethod
from quietcrowd.mechanisms import Mechanism, Reports

__all__ = ["app", "main"]

app = typer.Typer(
    name="quietcrowd",
    help="Find what is true from a crowd's answers without anyone having to see them.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

INTERRUPTED = 130
MECHANISMS = Mechanism.registry()

MechanismName = Annotated[
    list[str],
    typer.Option(
        "--mechanism",
        "-m",
        help=f"One of {', '.join(MECHANISMS)}.",
        autocompletion=lambda: list(MECHANISMS),
    ),
]
MethodNames = Annotated[
    list[str],
    typer.Option(
        "--method",
        help=f"One of {', '.join(METHODS)}; may be repeated.",
        autocompletion=lambda: list(METHODS),
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(help="Public list of the possible answers, separated by commas: no,yes."),
]
Levels = Annotated[
    str | None,
    typer.Option(help="Public list of numeric levels, increasing, instead of labels: 1,2,3."),
]
Duplicates = Annotated[
    str,
    typer.Option(
        help="Where a worker answered a task twice: error, or keep the first or the last answer.",
        autocompletion=lambda: ["error", "first", "last"],
    ),
]
SkipOutside = Annotated[
    bool,
    typer.Option("--skip-outside", help="Skip and count answers that are missing or not possible."),
]
Columns = Annotated[
    str, typer.Option(help="Names of the columns of task, worker and answer, by commas.")
]
Smoothing = Annotated[
    float | None,
    typer.Option(help="Of weighted-vote: answers of each kind added to every worker's record."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Ends in .csv, .parquet or .jsonl (or .csv.gz, .jsonl.gz)."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _label(text: str) -> Label:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _domain(labels: str | None, levels: str | None) -> FiniteDomain:
    if (labels is None) == (levels is None):
        raise ParameterError(
            "give the possible answers with --labels no,yes or --levels 1,2,3: they are public, "
            "and are not read off private answers"
        )
    values = [_label(text) for text in _split(labels or levels or "")]
    if len({isinstance(value, str) for value in values}) > 1:
        values = _split(labels or levels or "")  # type: ignore[assignment]
    return Categorical(values) if labels is not None else Ordinal(values)


def _answers(
    path: Path,
    domain: tuple[str | None, str | None],
    columns: str,
    duplicates: str,
    skip_outside: bool,
) -> Answers:
    if path.is_dir():
        return load_dataset(path).answers
    names = _split(columns)
    if len(names) != 3:
        raise ParameterError(f"--columns must be three names, by commas; got {columns!r}")
    answers = read_answers(
        path,
        _domain(*domain),
        *names,
        duplicates=duplicates,
        out_of_domain="skip" if skip_outside else "error",
    )
    dropped = answers.dropped
    if dropped.duplicates or dropped.out_of_domain:
        _one_line(
            f"note: left out {dropped.duplicates:,} repeated answers and "
            f"{dropped.out_of_domain:,} that are missing or not possible"
        )
    return answers


def _choose(name: str, known: Any, option: str) -> Any:
    if name not in known:
        raise ParameterError(f"{option} must be one of {', '.join(known)}; got {name!r}")
    return known[name]


def _method(name: str, smoothing: float | None) -> CategoricalMethod[Any, Any]:
    kind = _choose(name, METHODS, "--method")
    if smoothing is not None and kind is WeightedVote:
        return WeightedVote(smoothing=smoothing)
    return kind()  # type: ignore[no-any-return]


def _numbers(text: str, option: str) -> list[float]:
    try:
        return [float(part) for part in _split(text)]
    except ValueError:
        raise ParameterError(
            f"{option} must be numbers separated by commas; got {text!r}"
        ) from None


@app.command()
def randomize(
    answers: Annotated[Path, typer.Argument(help="File of answers, or dataset folder.")],
    output: Output = None,
    mechanism: Annotated[
        str,
        typer.Option("--mechanism", "-m", autocompletion=lambda: list(MECHANISMS)),
    ] = "one-layer",
    epsilon: Annotated[
        float,
        typer.Option("--epsilon", "-e", help="Privacy loss per answer, as the paper claims it."),
    ] = 1.0,
    labels: Labels = None,
    levels: Levels = None,
    columns: Columns = "task,worker,label",
    duplicates: Duplicates = "error",
    skip_outside: SkipOutside = False,
    simulate: Annotated[
        int | None,
        typer.Option(help="A seed: reproducible noise for experiments, private to nobody."),
    ] = None,
) -> None:
    """Randomise answers, as the workers' devices do.

    Example: quietcrowd randomize answers.csv --labels no,yes -e 1 -o reports.parquet
    """
    if output is None:
        raise ParameterError("say where the reports go: --output reports.parquet")
    check_target(output)
    table = _answers(answers, (labels, levels), columns, duplicates, skip_outside)
    kind = _choose(mechanism, MECHANISMS, "--mechanism")
    randomiser = kind.from_claimed_epsilon(domain=table.domain, epsilon=epsilon)
    rng = None if simulate is None else np.random.default_rng(simulate)
    reports = randomiser.randomize(table, rng=rng)
    write_reports(reports, output)
    note = Console(stderr=True, highlight=False)
    note.print(f"{len(reports):,} reports of {len(table.workers):,} workers written to {output}.")
    busiest = int(table.answers_per_worker.max())
    note.print(str(randomiser.guarantee(answers=busiest)), soft_wrap=True)
    if reports.simulated:
        note.print("The noise is simulated: these reports protect nobody.")


@app.command()
def infer(
    reports: Annotated[Path, typer.Argument(help="File of reports; or of answers, with --plain.")],
    method: Annotated[
        str,
        typer.Option(help=f"One of {', '.join(METHODS)}.", autocompletion=lambda: list(METHODS)),
    ] = "weighted-vote",
    smoothing: Smoothing = None,
    output: Output = None,
    workers: Annotated[
        Path | None, typer.Option(help="Where the workers' quality goes; suffix as for --output.")
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="The file holds plain answers, not reports.")
    ] = False,
    labels: Labels = None,
    levels: Levels = None,
    columns: Columns = "task,worker,label",
    duplicates: Duplicates = "error",
    skip_outside: SkipOutside = False,
    seed: Annotated[int, typer.Option(help="For ties.")] = 0,
    as_json: Json = False,
) -> None:
    """Infer truths and workers' quality from reports.

    Example: quietcrowd infer reports.parquet -o truths.csv --workers workers.csv
    """
    chosen = attrs.evolve(_method(method, smoothing), seed=seed)
    for target in filter(None, (output, workers)):
        check_target(target)
    data: Reports | Answers
    if plain or reports.is_dir():
        data = _answers(reports, (labels, levels), columns, duplicates, skip_outside)
    else:
        data = read_reports(reports)
    estimate = chosen.fit(data)
    if output is not None:
        write_table(estimate.truths, output)
    if workers is not None:
        write_table(estimate.workers, workers)
    if as_json:
        summary = {
            "method": chosen.to_dict(),
            "iterations": estimate.iterations,
            "converged": estimate.converged,
            "truths": json.loads(estimate.truths.to_json(orient="records", double_precision=15)),
            "workers": json.loads(estimate.workers.to_json(orient="records", double_precision=15)),
        }
        typer.echo(json.dumps(summary))
    elif output is None:
        print_frame(estimate.truths)
    tied = int(estimate.estimates.tied.sum())
    Console(stderr=True, highlight=False).print(
        f"{len(estimate.answers.tasks):,} tasks, {len(estimate.answers.workers):,} workers, "
        f"{len(estimate.answers):,} answers; {tied:,} tied; {estimate.iterations} iterations, "
        f"{'converged' if estimate.converged else 'NOT converged'}."
    )


@app.command()
def evaluate(
    dataset: Annotated[Path, typer.Argument(help="Dataset folder with answers and truths.")],
    mechanism: MechanismName = ["one-layer", "two-layer"],  # noqa: B006
    method: MethodNames = ["majority", "weighted-vote"],  # noqa: B006
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", help="Claimed losses, separated by commas.")
    ] = "1,0.5,0.1",
    smoothing: Smoothing = None,
    trials: Annotated[int, typer.Option(min=2, help="Randomisations per cell.")] = 100,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    equal_exact: Annotated[
        bool,
        typer.Option(help="Also run one-layer at the exact epsilon of the others (one-layer*)."),
    ] = True,
    output: Output = None,
    plot: Annotated[Path | None, typer.Option(help="A PNG file to draw the result into.")] = None,
    as_json: Json = False,
) -> None:
    """Measure what privacy costs on answers whose truths are known.

    Example: quietcrowd evaluate data/duchenne -m one-layer -m two-layer -e 1,0.5 --trials 100
    """
    methods: dict[str, CategoricalMethod[Any, Any]] = {}
    for name in method:
        chosen = _method(name, smoothing)
        if chosen != _method(name, None):
            methods[f"{name}/{smoothing:g}"] = chosen
            chosen = _method(name, None)
        methods[name] = chosen
    if output is not None:
        check_target(output)
    if plot is not None:
        check_folder(plot)
    experiment = Experiment(
        dataset=load_dataset(dataset),
        mechanisms=[_choose(name, MECHANISMS, "--mechanism") for name in mechanism],
        epsilons=_numbers(epsilon, "--epsilon"),
        methods=methods,
        trials=trials,
        seed=seed,
        equal_exact=equal_exact,
    )
    result = experiment.run(progress=sys.stderr.isatty())
    if output is not None:
        write_table(result.frame, output)
    if plot is not None:
        result.plot(plot)
    if as_json:
        typer.echo(result.frame.to_json(orient="records", double_precision=15))
    else:
        print_experiment(result)


@app.command()
def demo(
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="Privacy loss per answer.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the crowd, not of the noise.")] = 7,
) -> None:
    """Play a private round on a synthetic crowd, from answers to truths.

    Example: quietcrowd demo --epsilon 0.5
    """
    from quietcrowd.demo import play

    play(synthetic_crowd(tasks=1_000, workers=200, answers_per_task=40, seed=seed), epsilon)


def _one_line(message: object) -> None:
    print(f"quietcrowd: {' '.join(str(message).split())}", file=sys.stderr)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    _one_line(f"note: {message}")


def main() -> None:
    """Run the command line: one line and exit status 2 for bad input, no traceback."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", QuietcrowdWarning)
        warnings.showwarning = _show_warning
        sys.exit(_run(sys.argv[1:] or ["--help"]))


def _run(words: list[str]) -> int:
    try:
        status = app(words, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (typer.Abort, KeyboardInterrupt):
        status = INTERRUPTED
    except typer.TyperException as error:
        _one_line(f"error: {getattr(error, 'format_message', error.__str__)()}")
        return 2
    except (QuietcrowdError, OSError) as error:
        _one_line(f"error: {error}")
        return 2
    if status == INTERRUPTED:
        _one_line("stopped")
    return status if isinstance(status, int) else 0
