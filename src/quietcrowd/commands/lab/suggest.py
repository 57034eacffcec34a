"""``quietcrowd suggest``: the tasks to ask next."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from quietcrowd.commands import options
from quietcrowd.commands.choices import METHODS_LISTED, MethodName, choose_method
from quietcrowd.commands.files import read_gold
from quietcrowd.commands.printing import counted, note, print_frame, records_of
from quietcrowd.exceptions import AnswerError
from quietcrowd.formats import check_target, read_reports, write_table
from quietcrowd.formats.files import check_new, refuse_overwriting
from quietcrowd.gold import KnownTruthError

__all__ = ["app", "suggest"]

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog=METHODS_LISTED)
def suggest(
    reports: Annotated[
        list[Path],
        typer.Argument(metavar="REPORTS", help="Files of reports of one mechanism."),
    ],
    answers: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="How many answers to allot.")
    ] = 100,
    per_task: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="Most of them for one task. Default: three times the even share.",
        ),
    ] = None,
    worker: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Who is to answer. Default: a typical worker."),
    ] = None,
    method: MethodName = "noise-aware",
    gold: options.Gold = None,
    output: options.Output = None,
    as_json: options.Json = False,
) -> None:
    """Suggest which tasks to ask next.

    Answers are allotted to the tasks whose error is expected to drop most per further report. That
    follows from the reports alone; who is asked what then depends on them, so fix beforehand how
    many answers each worker gives. Of reports that noise-aware reads.

    Example: quietcrowd suggest reports.parquet --answers 200 -o next.csv

    Example: quietcrowd suggest reports.parquet --worker ann --answers 5
    """
    from quietcrowd.inference.suggesting import suggest_tasks

    if output is not None:
        check_target(output)
        for path in (*reports, *([] if gold is None else [gold])):
            refuse_overwriting(path, output)
        check_new(output)
    known = None if gold is None else read_gold(gold, None, beside_answers=False)
    try:
        estimate = choose_method(method or "noise-aware").fit(read_reports(*reports), gold=known)
    except KnownTruthError as error:
        raise AnswerError(error.in_file(gold)) from None
    found = suggest_tasks(estimate, answers, per_task=per_task, worker=worker, backend="pandas")
    if output is not None:
        write_table(found, output)
    if as_json:
        typer.echo(_as_json(found))
    elif output is None:
        print_frame(found, "--output next.csv")
    given = int(found["answers"].sum())
    note(
        f"{counted(given, 'answer')} for {counted(len(found), 'task')}. Infer again when they are "
        "in: what is best may have changed."
    )


def _as_json(found: Any) -> str:
    rows = records_of(found)
    return json.dumps({"tasks": rows})
