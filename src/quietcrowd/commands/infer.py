"""``quietcrowd infer``: truth inference from reports or non-private answers."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quietcrowd.answers import Answers
from quietcrowd.commands import options
from quietcrowd.commands.choices import METHODS_LISTED, MethodName, choose_method
from quietcrowd.commands.files import is_store, read_gold
from quietcrowd.commands.label_sets import sets_for
from quietcrowd.commands.plain_options import PlainOptions
from quietcrowd.commands.printing import (
    closing_words,
    note,
    print_csv,
    print_frame,
    records_of,
)
from quietcrowd.commands.streams import STREAM, check_one_stream, from_stdin
from quietcrowd.exceptions import AnswerError, NotConvergedWarning, ParameterError
from quietcrowd.formats import check_target, read_reports, write_table
from quietcrowd.formats.files import check_new, refuse_overwriting
from quietcrowd.gold import KnownTruthError
from quietcrowd.mechanisms import Reports

if TYPE_CHECKING:
    from quietcrowd.inference import TruthEstimate
    from quietcrowd.inference.fitting import FittingMethod

__all__ = ["app", "infer"]

app = typer.Typer(rich_markup_mode=None)


_Reports = Annotated[
    list[Path],
    typer.Argument(
        metavar="REPORTS",
        help="Files of reports of one mechanism; or one of answers, with --plain. Or a "
        "store. - is standard input.",
    ),
]
_Workers = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Output file for the workers' quality; as --output."),
]
_Posterior = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Output file for the probability of every label, or for quantiles of numbers; "
        "as --output.",
    ),
]
_Sets = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Output file for the labels of each task, of questions that convert --several made; "
        "as --output.",
    ),
]
_Checkpoint = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Saves the state, to resume the inference of a store."),
]
_Seed = Annotated[int, typer.Option(metavar="NUMBER", help="For ties.")]


@app.command(epilog=METHODS_LISTED)
def infer(
    reports: _Reports,
    method: MethodName = None,
    gold: options.Gold = None,
    max_iterations: options.MaxIterations = None,
    output: options.Output = None,
    workers: _Workers = None,
    posterior: _Posterior = None,
    sets: _Sets = None,
    checkpoint: _Checkpoint = None,
    scheduler: options.Scheduler = None,
    plain: options.Plain = False,
    labels: options.Labels = None,
    levels: options.Levels = None,
    between: options.Between = None,
    columns: options.Columns = options.COLUMNS,
    duplicates: options.Duplicates = options.DUPLICATES,
    field: options.Field = None,
    skip_outside: options.SkipOutside = False,
    seed: _Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Infer truths and workers' quality from reports.

    Overwrites nothing. With --plain, answers can be what occurs in the file, unless --labels,
    --levels or --between say what they can be.

    Example: quietcrowd infer reports.parquet -o truths.csv --workers workers.csv

    Example: quietcrowd infer reports.parquet --gold known.csv

    Example: quietcrowd infer reports.parquet --method moon:variant=variance

    Example: quietcrowd convert pool.tsv - | quietcrowd infer - --plain -o truths.csv

    Example: quietcrowd infer reports.parquet --sets sets.csv

    Example: quietcrowd infer big -o truths.parquet --checkpoint big.checkpoint
    """
    choose = partial(choose_method, max_iterations=max_iterations, seed=seed)
    said = PlainOptions((labels, levels, between), columns, duplicates, field, skip_outside)
    if any(map(is_store, reports)):
        beside = {"--plain": plain, **said.by_option(with_field=gold is None)}
        beside |= {"--posterior": posterior, "--sets": sets, "--json": as_json}
        files = {"output": output, "workers": workers, "gold": gold, "checkpoint": checkpoint}
        _infer_from_store(reports, choose, method, scheduler, beside, field=field, **files)
        return
    _refuse_of_stores({"--checkpoint": checkpoint, "--scheduler": scheduler})
    chosen = None if method is None else choose(method)
    reports, gold = _piped(reports, gold)
    check_one_stream(output, workers, posterior, sets, as_json=as_json)
    _check_files(reports, gold, output, workers, posterior, sets)
    known = None if gold is None else read_gold(gold, field, beside_answers=plain)
    data = _read_plain(reports, said, chosen) if plain else _read_reports(reports, said, gold)
    from quietcrowd.inference import usual_method_of

    estimate = _fit(chosen or choose(usual_method_of(data)), data, known, gold)
    _show_estimate(estimate, output, workers, posterior, sets, as_json=as_json)
    note(_closing_words(estimate, by_default=chosen is None))
    for sentence in estimate.notes:
        note(sentence)


def _refuse_of_stores(given: dict[str, Any]) -> None:
    for option, value in given.items():
        if value is not None:
            raise ParameterError(f"{option} goes with a store: quietcrowd partition makes one")


def _piped(reports: list[Path], gold: Path | None) -> tuple[list[Path], Path | None]:
    if [*reports, gold].count(STREAM) > 1:
        raise ParameterError("only one file can be -, standard input")
    return [from_stdin(path) for path in reports], None if gold is None else from_stdin(gold)


def _write(frame: Any, target: Path | None) -> None:
    if target == STREAM:
        print_csv(frame)
    elif target is not None:
        write_table(frame, target)


def _fit(
    method: FittingMethod, data: Reports | Answers, known: Any, gold: Path | None
) -> TruthEstimate:
    """Fit a method; errors about known truths name their file.

    The closing note reports convergence, so the warning is suppressed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            return method.fit(data, gold=known)
    except KnownTruthError as error:
        raise AnswerError(error.in_file(gold)) from None


def _infer_from_store(
    folders: list[Path],
    choose: Callable[..., Any],
    method: str | None,
    scheduler: str | None,
    beside: dict[str, Any],
    **files: Any,
) -> None:
    """Infer from a store; `beside` contains the options that are invalid for one."""
    from quietcrowd.commands.stores import infer_from_store, refuse_beside_store

    refuse_beside_store(beside)
    for name in ("output", "workers"):
        if files[name] is not None:
            check_new(files[name])
    infer_from_store(folders, choose, method, scheduler, **files)


def _check_files(sources: list[Path], gold: Path | None, *targets: Path | None) -> None:
    """Raise unless the targets are new and can be written, before a long computation."""
    files = [target for target in targets if target not in (None, STREAM)]
    for target in filter(None, files):
        check_target(target)
    for path in (*sources, *([] if gold is None else [gold])):
        refuse_overwriting(path, *files)
    for target in filter(None, files):
        check_new(target)


def _show_estimate(
    estimate: TruthEstimate,
    output: Path | None,
    workers: Path | None,
    posterior: Path | None,
    sets: Path | None,
    *,
    as_json: bool,
) -> None:
    if sets is not None:  # first, because it raises for questions of another kind
        _write(sets_for(sets, estimate), sets)
    if posterior is not None:
        _write(estimate.posterior, posterior)
    _write(estimate.truths, output)
    _write(estimate.workers, workers)
    if as_json:
        typer.echo(_estimate_as_json(estimate))
    elif output is None and STREAM not in (workers, posterior, sets):
        print_frame(estimate.truths, "--output truths.csv")


def _closing_words(estimate: TruthEstimate, *, by_default: bool) -> str:
    answers, tied = estimate.answers, None
    if estimate.method.infers_labels(estimate.summary.domain):
        tied = int(estimate.truths_as("pandas")["tied"].sum())
    return closing_words(
        estimate,
        counts=(len(answers.tasks), len(answers.workers), len(answers)),
        known=int(estimate.known.sum()),
        null_reports=answers.dropped.null_reports,
        tied=tied,
        by_default=by_default,
    )


def _read_plain(paths: list[Path], said: PlainOptions, method: FittingMethod | None) -> Answers:
    if len(paths) > 1:
        raise ParameterError("--plain takes one file or folder")
    from quietcrowd.inference import NoiseAware

    takes = method or NoiseAware()  # which accepts labels and numbers
    return said.read(paths[0], advice="infer", method=takes)


def _read_reports(paths: list[Path], said: PlainOptions, gold: Path | None) -> Reports:
    if said.skip_outside or (said.columns, said.duplicates) != (
        options.COLUMNS,
        options.DUPLICATES,
    ):
        raise ParameterError("--columns, --skip-outside and --duplicates go with --plain")
    if said.field is not None and gold is None:
        raise ParameterError("--field goes with --plain, or with --gold")
    if any(path.is_dir() for path in paths):
        raise ParameterError("a dataset folder holds plain answers: say --plain")
    if any(said.domain):
        raise ParameterError(
            "--labels, --levels and --between go with --plain: reports carry their own"
        )
    return read_reports(*paths)


def _estimate_as_json(estimate: TruthEstimate) -> str:
    return json.dumps(
        {
            "method": estimate.method.to_dict(),
            "iterations": estimate.iterations,
            "converged": estimate.converged,
            "notes": list(estimate.notes),
            "truths": records_of(estimate.truths),
            "workers": records_of(estimate.workers),
        }
    )
