"""``quietcrowd survey``: shares of answers, or means, from reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from quietcrowd.commands import options
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.files import check_one_stream, check_outputs, from_stdin
from quietcrowd.commands.printing import counted, note, print_frame, records_of
from quietcrowd.domains import FiniteDomain
from quietcrowd.formats import read_reports, write_table
from quietcrowd.validation import check_proportion


@command()
class Survey:
    """Estimate how many people give each answer, from reports.

    It prints a share for each question and answer, or the mean answer for numbers, with an
    interval. The interval contains the chance in the noise and in the choice of workers, but not
    that some people do not answer. For the right answer to each question, use quietcrowd infer.

    Example: quietcrowd survey reports.parquet

    Example: quietcrowd survey levels.parquet --means -o means.csv
    """

    reports: list[Path] = argument(metavar="REPORTS", help="Files of reports; - is standard input.")
    means: bool = option(help="Means of levels, instead of shares.", default=False)
    confidence: float = option(
        metavar="NUMBER", help="Fraction of intervals that hold the share.", default=0.95
    )
    of_round: int | None = options.ROUND
    output: Path | None = options.OUTPUT
    as_json: bool = options.JSON

    def run(self) -> None:
        """Estimate from the files, and write or print the estimates."""
        check_proportion("--confidence", self.confidence)
        check_one_stream(self.output, as_json=self.as_json)
        paths = [from_stdin(path) for path in self.reports]
        check_outputs(paths, self.output)
        found = read_reports(*paths, round=self.of_round)
        from quietcrowd.survey import estimate_means, estimate_shares

        labels = isinstance(found.mechanism.domain, FiniteDomain) and not self.means
        estimate = estimate_shares if labels else estimate_means
        frame = estimate(found, confidence=self.confidence)
        show_estimates(
            frame, len(found.table), self.confidence, output=self.output, as_json=self.as_json
        )
        if found.simulated:
            note("The noise is simulated: these reports protect no one.")


def show_frame(frame: Any, way: str, *, output: Path | None, as_json: bool) -> None:
    """Write, or print, a table; `way` are the options with which it is written in full."""
    if output is not None:
        write_table(frame, output)
    if as_json:
        typer.echo(json.dumps(records_of(frame)))
    elif output is None:
        print_frame(frame, way)


def show_estimates(
    frame: Any, reports: int, confidence: float, *, output: Path | None, as_json: bool
) -> None:
    """Write or print shares or means, and explain their intervals."""
    show_frame(frame, "--output shares.csv", output=output, as_json=as_json)
    note(
        f"{counted(reports, 'report')} on {counted(frame['task'].nunique(), 'question')}. Low and "
        f"high are {confidence:.0%} intervals for all people of whom these workers are a random "
        "sample."
    )
