"""``quietcrowd partition``, and ``infer`` on what it made: more answers than fit into memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from quietcrowd import cli_options as options
from quietcrowd.cli_reading import closing_words, note
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.formats import read_truths
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.known_truths import KnownTruthError
from quietcrowd.scale import Store, infer_store, partition_parquet
from quietcrowd.validation import check_choice

__all__ = ["infer_from_store", "partition"]


def partition(
    reports: Annotated[
        list[Path],
        typer.Argument(help="Parquet files of reports, made alike; or of answers, with --plain."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="A new folder for the store."),
    ] = None,
    plain: options.Plain = False,
    labels: options.Labels = None,
    levels: options.Levels = None,
    between: options.Between = None,
    columns: options.Columns = "task,worker,label",
    duplicates: options.Duplicates = "error",
    skip_outside: options.SkipOutside = False,
    partitions: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="How many. Default: one for about 2 million rows each."
        ),
    ] = None,
) -> None:
    """Make a store: a folder that infer passes over without holding all of it in memory.

    Example: quietcrowd partition reports.parquet -o big

    Example: quietcrowd partition january.parquet february.parquet --plain
    --labels no,yes -o big
    """
    if output is None:
        raise ParameterError("say where the store goes: --output FOLDER")
    names = options.split(columns)
    if len(names) != 3:
        raise ParameterError(f"--columns must be three names, by commas; got {columns!r}")
    if not plain and (skip_outside or duplicates != "error" or any((labels, levels, between))):
        raise ParameterError(
            "--labels, --levels, --between, --skip-outside and --duplicates go with --plain: "
            "reports carry what they can be"
        )
    check_choice("--duplicates", duplicates, ("error", "first", "last"))
    store = partition_parquet(
        reports,
        output,
        domain=options.build_domain(labels, levels, between) if plain else None,
        columns=(names[0], names[1], names[2]),
        partitions=partitions,
        duplicates=duplicates,  # type: ignore[arg-type]
        out_of_domain="skip" if skip_outside else "error",
        progress=sys.stderr.isatty(),
    )
    _tell(store)


def _tell(store: Store) -> None:
    """Say what a store holds, and what was left out of it."""
    dropped = store.dropped
    if dropped.duplicates or dropped.out_of_domain:
        note(
            f"left out: {dropped.duplicates:,} repeated answers, "
            f"{dropped.out_of_domain:,} that are missing or not possible"
        )
    null = f"{dropped.null_reports:,} NULL reports left out; " * bool(dropped.null_reports)
    count = len(store.partitions)
    note(
        f"{store.tasks:,} tasks, {len(store.workers):,} workers, {len(store):,} answers; {null}"
        f"{count:,} partition{'s' * (count != 1)} written to {store.folder}."
    )
    if store.mechanism is None:
        note("The store holds the answers themselves: who can read the folder can read them.")
    elif store.simulated:
        note("These reports are simulated: they protect nobody.")


def infer_from_store(
    folders: list[Path],
    choose: Callable[[str], FittingMethod[Any, Any]],
    method: str | None,
    *,
    output: Path | None,
    workers: Path | None,
    gold: Path | None,
    checkpoint: Path | None,
) -> None:
    """Infer truths from a store; `choose` makes a method of its name."""
    if len(folders) > 1:
        raise ParameterError("a store is inferred from alone: name one folder")
    if output is None:
        raise ParameterError("say where the truths go: --output truths.parquet")
    chosen = None if method is None else choose(method)
    options.refuse_overwriting(folders[0], output, workers, checkpoint)
    if gold is not None:
        options.refuse_overwriting(gold, output, workers, checkpoint)
    store = Store.open(folders[0])
    if store.simulated:
        note("These reports are simulated: they protect nobody.")
    try:
        estimate = infer_store(
            store,
            chosen or choose(options.usual_method(store.domain, store.participation)),
            output,
            workers,
            gold=None if gold is None else read_truths(gold),
            checkpoint=checkpoint,
            progress=sys.stderr.isatty(),
        )
    except KnownTruthError as error:
        raise AnswerError(error.in_file(gold)) from None
    note(
        closing_words(
            estimate,
            counts=(store.tasks, len(store.workers), len(store)),
            known=estimate.known,
            null_reports=store.dropped.null_reports,
            tied=estimate.tied if estimate.method.infers_labels else None,
            by_default=chosen is None,
        )
    )
