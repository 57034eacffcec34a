"""The command line: ``quietcrowd randomize | infer | evaluate | ...``."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import quietcrowd
from quietcrowd import cli_options as options
from quietcrowd.answers import Answers
from quietcrowd.campaign.extra import require_client, require_server
from quietcrowd.cli_answer import answer
from quietcrowd.cli_audit import audit
from quietcrowd.cli_budget import budget
from quietcrowd.cli_campaign import campaign
from quietcrowd.cli_convert import convert
from quietcrowd.cli_density_tables import print_densities
from quietcrowd.cli_noise import announce_exact_noise, refuse_own_lists, tell_guarantee
from quietcrowd.cli_reading import closing_words, note, read_gold, read_ids, read_plain
from quietcrowd.cli_scale import infer_from_store, partition, randomize_a_store
from quietcrowd.cli_serve import serve
from quietcrowd.cli_synthesize import synthesize
from quietcrowd.cli_tables import print_experiment, print_figure, print_frame
from quietcrowd.datasets import dataset_domain, load_dataset
from quietcrowd.domains import FiniteDomain
from quietcrowd.evaluation import FIGURES, DensityFigureResult, Experiment
from quietcrowd.evaluation.plots import check_picture
from quietcrowd.exceptions import (
    AnswerError,
    ParameterError,
    QuietcrowdError,
    QuietcrowdWarning,
)
from quietcrowd.formats import (
    check_target,
    read_reports,
    write_reports,
    write_table,
)
from quietcrowd.formats.whole_file import refuse_overwriting
from quietcrowd.inference import TruthEstimate, usual_method
from quietcrowd.inference.method import LabelEstimates
from quietcrowd.known_truths import KnownTruthError
from quietcrowd.mechanisms import Reports
from quietcrowd.scale import is_store

__all__ = ["app", "main"]

INTERRUPTED = 130
DEBUG = "QUIETCROWD_DEBUG"

app = typer.Typer(
    name="quietcrowd",
    help="Find what is true from a crowd's answers without anyone having to see them.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"quietcrowd {quietcrowd.__version__}")
        raise typer.Exit


@app.callback()
def _options_of_all(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Find what is true from a crowd's answers without anyone having to see them."""


@app.command()
def randomize(
    answers: Annotated[Path, typer.Argument(help="File of answers, dataset folder, or store.")],
    output: options.Output = None,
    mechanism: options.MechanismName = "one-layer",
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon", "-e", metavar="NUMBER", help="Privacy loss per answer, as claimed."
        ),
    ] = 1.0,
    labels: options.Labels = None,
    levels: options.Levels = None,
    between: options.Between = None,
    all_tasks: options.AllTasks = None,
    all_workers: options.AllWorkers = None,
    columns: options.Columns = "task,worker,label",
    duplicates: options.Duplicates = "error",
    field: options.Field = None,
    simulate: options.Simulate = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Randomise answers, as the workers' devices do.

    Example: quietcrowd randomize answers.csv --labels no,yes -e 1 -o reports.parquet

    Example: quietcrowd randomize ann.csv --between 0,10 -m laplace -e 1
    --all-tasks tasks.csv --all-workers workers.csv -o ann.parquet

    Example: quietcrowd randomize big -o big-reports --scheduler tcp://10.0.0.1:8786
    """
    if output is None:
        raise ParameterError("say where the reports go: --output reports.parquet")
    _, maker = options.choose_mechanism(mechanism)
    domain = (labels, levels, between)
    if is_store(answers):
        if (*domain, columns, duplicates, field) != (
            *(None, None, None, "task,worker,label", "error", None),
        ):
            raise ParameterError(
                "a store knows what it holds: --labels, --levels, --between, --columns, "
                "--duplicates and --field do not go with it"
            )
        lists = {"tasks": all_tasks, "workers": all_workers}
        randomize_a_store(
            answers, output, (mechanism, maker), epsilon, simulate, scheduler, **lists
        )
        return
    if scheduler is not None:
        raise ParameterError("--scheduler goes with a store: quietcrowd partition makes one")
    check_target(output)
    refuse_overwriting(answers, output)
    if simulate is None and (all_tasks is None or all_workers is None):
        # Before the answers are read: no error may depend on whether there are any.
        public = dataset_domain(answers) if answers.is_dir() else options.build_domain(*domain)
        refuse_own_lists(mechanism, maker(domain=public, epsilon=epsilon))
    table = read_plain(
        answers,
        domain,
        columns,
        duplicates,
        field,
        tasks=read_ids(all_tasks, "task"),
        workers=read_ids(all_workers, "worker"),
    )
    randomiser = maker(domain=table.domain, epsilon=epsilon)
    rng = None if simulate is None else np.random.default_rng(simulate)
    if rng is None:
        announce_exact_noise(
            randomiser.noise_draws(
                answers=len(table), tasks=len(table.tasks), workers=len(table.workers)
            )
        )
    reports = randomiser.randomize(table, rng=rng)
    write_reports(reports, output)
    note(f"{len(reports):,} reports written to {output}; workers: {len(table.workers):,}.")
    tell_guarantee(
        randomiser,
        mechanism,
        table.answers_per_worker,
        len(table.tasks),
        simulated=reports.simulated,
        listed=all_tasks is not None,
    )


@app.command(epilog=options.METHOD_LIST)
def infer(
    reports: Annotated[
        list[Path],
        typer.Argument(help="Files of reports, made alike; or one of answers, with --plain."),
    ],
    method: options.MethodName = None,
    gold: options.Gold = None,
    max_iterations: options.MaxIterations = None,
    output: options.Output = None,
    workers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where the workers' quality goes; as --output."),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keeps the state, where a store is inferred from."),
    ] = None,
    scheduler: options.Scheduler = None,
    plain: options.Plain = False,
    labels: options.Labels = None,
    levels: options.Levels = None,
    between: options.Between = None,
    columns: options.Columns = "task,worker,label",
    duplicates: options.Duplicates = "error",
    field: options.Field = None,
    skip_outside: options.SkipOutside = False,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="For ties.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Infer truths and workers' quality from reports.

    Example: quietcrowd infer reports.parquet -o truths.csv --workers workers.csv

    Example: quietcrowd infer reports.parquet --gold known.csv

    Example: quietcrowd infer reports.parquet --method moon:variant=variance

    Example: quietcrowd infer big -o truths.parquet --checkpoint big.checkpoint
    """
    choose = partial(options.choose_method, max_iterations=max_iterations, seed=seed)
    targets = {"output": output, "workers": workers}
    if any(map(is_store, reports)):
        given = (plain, labels, levels, between, columns, duplicates, field, skip_outside, as_json)
        if given != (False, None, None, None, "task,worker,label", "error", None, False, False):
            raise ParameterError(
                "a store knows what it holds: --plain, --labels, --levels, --between, --columns, "
                "--duplicates, --field, --skip-outside and --json do not go with it"
            )
        kept = {"gold": gold, "checkpoint": checkpoint}
        infer_from_store(reports, choose, method, scheduler, **kept, **targets)
        return
    if checkpoint is not None or scheduler is not None:
        option = "--scheduler" if checkpoint is None else "--checkpoint"
        raise ParameterError(f"{option} goes with a store: quietcrowd partition makes one")
    chosen = None if method is None else choose(method)
    _check_files(reports, gold, *targets.values())
    known = None if gold is None else read_gold(gold, field)
    domain = (labels, levels, between)
    data: Reports | Answers
    if plain:
        data = _read_plain(reports, domain, columns, duplicates, field, skip_outside=skip_outside)
    elif skip_outside or duplicates != "error" or field is not None:
        raise ParameterError("--skip-outside, --duplicates and --field go with --plain")
    else:
        data = _read_reports(reports, domain)
    try:
        estimate = (chosen or choose(_usual_method(data))).fit(data, gold=known)
    except KnownTruthError as error:
        raise AnswerError(error.in_file(gold)) from None
    _show_estimate(estimate, output, workers, as_json=as_json)
    note(_closing_words(estimate, by_default=chosen is None))


def _check_files(sources: list[Path], gold: Path | None, *targets: Path | None) -> None:
    """Raise unless targets can be written, and are not what is read from: before long work."""
    for target in filter(None, targets):
        check_target(target)
    for path in (*sources, *([] if gold is None else [gold])):
        refuse_overwriting(path, *targets)


def _show_estimate(
    estimate: TruthEstimate, output: Path | None, workers: Path | None, *, as_json: bool
) -> None:
    """Write or print what was found."""
    if output is not None:
        write_table(estimate.truths, output)
    if workers is not None:
        write_table(estimate.workers, workers)
    if as_json:
        typer.echo(_estimate_as_json(estimate))
    elif output is None:
        print_frame(estimate.truths)


def _closing_words(estimate: TruthEstimate, *, by_default: bool) -> str:
    answers, tied = estimate.answers, None
    if isinstance(estimate.estimates, LabelEstimates):
        tied = int(estimate.truths_as("pandas")["tied"].sum())
    return closing_words(
        estimate,
        counts=(len(answers.tasks), len(answers.workers), len(answers)),
        known=int(estimate.known.sum()),
        null_reports=answers.dropped.null_reports,
        tied=tied,
        by_default=by_default,
    )


def _usual_method(data: Reports | Answers) -> str:
    """Return the name of the method that suits the answers."""
    if isinstance(data, Reports):
        return usual_method(data.table.domain, participation=data.participation is not None)
    return usual_method(data.domain, participation=False)


def _read_plain(
    paths: list[Path],
    domain: tuple[str | None, str | None, str | None],
    columns: str,
    duplicates: str,
    field: str | None,
    *,
    skip_outside: bool,
) -> Answers:
    if len(paths) > 1:
        raise ParameterError("--plain takes one file or folder")
    skip = {"out_of_domain": "skip"} if skip_outside else {}
    return read_plain(paths[0], domain, columns, duplicates, field, **skip)


def _read_reports(paths: list[Path], domain: tuple[str | None, str | None, str | None]) -> Reports:
    if any(path.is_dir() for path in paths):
        raise ParameterError("a dataset folder holds plain answers: say --plain")
    if any(domain):
        raise ParameterError(
            "--labels, --levels and --between go with --plain: reports carry their own"
        )
    reports = read_reports(*paths)
    if reports.simulated:
        note("These reports are simulated: they protect nobody.")
    return reports


def _estimate_as_json(estimate: TruthEstimate) -> str:
    frames = {"truths": estimate.truths, "workers": estimate.workers}
    return json.dumps(
        {
            "method": estimate.method.to_dict(),
            "iterations": estimate.iterations,
            "converged": estimate.converged,
        }
        | {
            name: json.loads(
                frame.to_json(orient="records", double_precision=15, date_format="iso")
            )
            for name, frame in frames.items()
        }
    )


@app.command(epilog=options.METHOD_LIST)
def evaluate(
    dataset: Annotated[Path, typer.Argument(help="Dataset folder with answers and truths.")],
    mechanism: options.MechanismNames = None,
    method: options.MethodNames = None,
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
        Path | None, typer.Option(metavar="FILE.png", help="A picture of the result.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Measure what privacy costs on answers whose truths are known.

    Example: quietcrowd evaluate FOLDER -m one-layer,two-layer -e 1,0.5 --trials 100

    Example: quietcrowd evaluate FOLDER -m laplace,matrix-factorization:rank=20 -e 1
    --method mean,weighted-mean
    """
    _check_targets(output, plot)
    crowd = load_dataset(dataset)
    labels = isinstance(crowd.answers.domain, FiniteDomain)
    kinds = mechanism or (["one-layer", "two-layer"] if labels else ["laplace"])
    names = method or (["majority", "weighted-vote"] if labels else ["mean", "weighted-mean"])
    experiment = Experiment(
        dataset=crowd,
        mechanisms=dict(map(options.choose_mechanism, options.split_all(kinds))),
        epsilons=sorted(set(options.parse_numbers(epsilon, "--epsilon")), reverse=True),
        methods={name: options.choose_method(name) for name in options.split_all(names)},
        trials=trials,
        seed=seed,
        equal_exact=equal_exact,
    )
    result = experiment.run(progress=sys.stderr.isatty())
    _hand_over(result, print_experiment, output, plot, as_json)


def _check_targets(output: Path | None, plot: Path | None) -> None:
    """Raise unless results can be written where they are to go: before long work."""
    if output is not None:
        check_target(output)
    if plot is not None:
        check_picture(plot)


def _hand_over(
    result: Any, show: Callable[[Any], None], output: Path | None, plot: Path | None, as_json: bool
) -> None:
    """Print, write and draw what an experiment or a figure gave."""
    for sentence in result.skipped:
        _one_line(f"note: {sentence}")
    if as_json:
        typer.echo(result.frame.to_json(orient="records", double_precision=15))
    else:
        show(result)
    if output is not None:
        write_table(result.frame, output)
    if plot is not None:
        result.plot(plot)


@app.command()
def reproduce(
    figure: options.FigureName,
    trials: Annotated[
        int, typer.Option(min=2, metavar="NUMBER", help="Crowds or randomisations per point.")
    ] = 3,
    seed: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Of crowds and noise.")] = 0,
    output: options.Output = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="A picture of the result.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Run the experiments behind a published figure.

    Example: quietcrowd reproduce sun2018-3 --plot figure3.png
    """
    chosen = options.choose(figure, FIGURES, "FIGURE")
    _check_targets(output, plot)
    result = chosen.run(trials=trials, seed=seed, progress=sys.stderr.isatty())
    show = print_densities if isinstance(result, DensityFigureResult) else print_figure
    _hand_over(result, show, output, plot, as_json)


app.command()(partition)
app.command()(audit)
app.command()(synthesize)
app.command()(budget)
app.command()(answer)
app.command()(convert)
app.command()(serve)
app.add_typer(campaign)


@app.command()
def demo(
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", metavar="NUMBER", help="Privacy loss per answer.")
    ] = 1.0,
    seed: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="Of the crowd, not of the noise.")
    ] = 7,
    stay: Annotated[
        bool, typer.Option("--stay", help="Serve until Ctrl-C: to look at the dashboard.")
    ] = False,
) -> None:
    """Play a campaign: a server on this machine, and a simulated crowd.

    Example: quietcrowd demo --epsilon 0.5
    """
    require_server()
    require_client()
    from quietcrowd.demo import play

    play(epsilon=epsilon, seed=seed, stay=stay)


def _one_line(message: object) -> None:
    print(f"quietcrowd: {' '.join(str(message).split())}", file=sys.stderr)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    _one_line(f"note: {message}")


def main() -> None:
    """Run the command line: one line and exit status 2 for bad input, no traceback."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", QuietcrowdWarning)
        warnings.showwarning = _show_warning
        before = signal.signal(signal.SIGTERM, _stop)
        try:
            sys.exit(_run(sys.argv[1:] or ["--help"]))
        finally:
            signal.signal(signal.SIGTERM, before)


def _stop(*_: object) -> None:
    """End as Ctrl-C does, so that temporary files go away."""
    raise KeyboardInterrupt


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
    except FileNotFoundError as error:
        usual = error.filename is not None and error.strerror == os.strerror(errno.ENOENT)
        _one_line(f"error: {f'{error.filename}: there is no such file' if usual else error}")
        return 2
    except (QuietcrowdError, OSError) as error:
        _one_line(f"error: {error}")
        return 2
    except Exception as error:
        if DEBUG in os.environ:
            raise
        kind = type(error).__name__
        _one_line(f"error: {kind}: {error}. This is our fault; {DEBUG}=1 shows where it was.")
        return 2
    if status == INTERRUPTED:
        _one_line("stopped")
    return status if isinstance(status, int) else 0
