"""``quietcrowd lab suggest``: the tasks to ask next."""

import json
from pathlib import Path
from typing import Any

import typer

from quietcrowd.commands import options
from quietcrowd.commands.choices import METHODS_LISTED, choose_method, method_option
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.files import gold_error, read_gold
from quietcrowd.commands.printing import counted, note, print_frame, records_of
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import check_target, read_reports, write_table
from quietcrowd.formats.files import check_new, require_no_overwriting
from quietcrowd.gold import KnownTruthError


@command(epilog=METHODS_LISTED)
class Suggest:
    """Suggest which tasks to ask next, or which to check.

    It assigns answers to the tasks with the largest expected reduction of error per report.
    Assignments then depend on earlier reports, so fix the number of answers per worker in advance.
    It supports the reports that noise-aware supports.

    Example: quietcrowd lab suggest reports.parquet --count 200 -o next.csv

    With --to-check it suggests tasks of which you find out the truth yourself, for --gold: half of
    them at random, and half the least certain ones.

    Example: quietcrowd lab suggest reports.parquet --worker ann --count 5

    Example: quietcrowd lab suggest reports.parquet --to-check 20 -o check.csv
    """

    reports: list[Path] = argument(metavar="REPORTS", help="Files of reports.")
    count: int = option(min=1, metavar="NUMBER", help="Number of answers to assign.", default=100)
    max_per_task: int | None = option(
        min=1,
        metavar="NUMBER",
        help="Maximum number of answers per task. Default: three times an even division.",
        default=None,
    )
    worker: str | None = option(
        metavar="ID", help="Worker for the answers. Default: a typical worker.", default=None
    )
    to_check: int | None = option(
        min=1, metavar="NUMBER", help="Number of tasks to check, instead of answers.", default=None
    )
    method: str | None = method_option(default="noise-aware")
    gold: Path | None = options.GOLD
    output: Path | None = options.OUTPUT
    as_json: bool = options.JSON

    def run(self) -> None:
        """Suggest tasks, and print them."""
        if self.to_check is not None and (self.worker or self.max_per_task):
            raise ParameterError("commands.options-of-answers")
        if self.output is not None:
            check_target(self.output)
            for path in (*self.reports, *([] if self.gold is None else [self.gold])):
                require_no_overwriting(path, self.output)
            check_new(self.output)
        known = None if self.gold is None else read_gold(self.gold, None, beside_answers=False)
        try:
            estimate = choose_method(self.method or "noise-aware").fit(
                read_reports(*self.reports), gold=known
            )
        except KnownTruthError as error:
            raise gold_error(error, self.gold) from None
        if self.to_check is not None:
            found = estimate.suggest_gold(self.to_check, backend="pandas")
            text = (
                f"{counted(len(found), 'task')} to check. Write their truths into a file with "
                "columns task and label, and pass it to infer as --gold."
            )
        else:
            found = estimate.suggest_tasks(
                self.count, per_task=self.max_per_task, worker=self.worker, backend="pandas"
            )
            given = int(found["answers"].sum())
            text = (
                f"{counted(given, 'answer')} for {counted(len(found), 'task')}. Run this again "
                "when they have arrived, because the suggestion may change."
            )
        if self.output is not None:
            write_table(found, self.output)
        if self.as_json:
            typer.echo(_as_json(found))
        elif self.output is None:
            print_frame(found, "--output next.csv")
        note(text)


def _as_json(found: Any) -> str:
    rows = records_of(found)
    return json.dumps({"tasks": rows})
