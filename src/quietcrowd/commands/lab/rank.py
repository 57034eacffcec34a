"""``quietcrowd lab rank``: ranking of items from reports or non-private paired comparisons."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from quietcrowd.answers import Answers
from quietcrowd.commands import options
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.files import STREAM, check_one_stream, check_outputs, from_stdin
from quietcrowd.commands.printing import counted, note, print_csv, print_frame, records_of
from quietcrowd.exceptions import ConvergenceWarning, ParameterError
from quietcrowd.formats import read_reports, write_table
from quietcrowd.formats.answers import COMPARISONS, read_comparisons
from quietcrowd.mechanisms import Reports

if TYPE_CHECKING:
    from quietcrowd.inference.ranking.ranking import Ranking

_USUAL_COLUMNS = ",".join(COMPARISONS)


@command()
class Rank:
    """Rank items by paired comparisons.

    A task is a public pair, such as "tea | coffee"; the answer, left or right, is randomized.
    Scores are log-odds with mean 0. Standard errors include the noise.

    Example: quietcrowd lab rank reports.parquet -o ranking.csv

    Example: quietcrowd lab rank comparisons.csv --non-private

    Example: quietcrowd convert comparisons.csv - | quietcrowd randomize - --labels left,right -e 1
    -o reports.parquet
    """

    reports: list[Path] = argument(
        metavar="REPORTS",
        help="Files of reports of one mechanism, or one file of comparisons with --non-private; "
        "- is standard input.",
    )
    non_private: bool = option(
        help="The file contains non-private comparisons: worker, left, right, and label, the "
        "chosen item, or tie.",
        default=False,
    )
    columns: str = option(
        metavar="WORKER,LEFT,RIGHT,LABEL",
        help="Column names of non-private comparisons, or numbers from 1 without a header.",
        default=_USUAL_COLUMNS,
    )
    duplicates: str = options.duplicates_option(
        "If a worker compared a pair twice in the same order: stop, or use one."
    )
    prior_sd: float | None = option(
        metavar="NUMBER",
        help="Standard deviation of the normal prior of each score. Default: 2.5.",
        default=None,
    )
    max_iter: int | None = options.MAX_ITER
    output: Path | None = options.OUTPUT
    as_json: bool = options.JSON

    def run(self) -> None:
        """Rank the items, and print them."""
        check_outputs(self.reports, self.output)
        check_one_stream(self.output, as_json=self.as_json)
        if self.reports.count(STREAM) > 1:
            raise ParameterError("commands.standard-input-twice")
        files = [from_stdin(path) for path in self.reports]
        data = _read(files, self.columns, self.duplicates, plain=self.non_private)
        found = _ranked(data, self.prior_sd, self.max_iter)
        _show(found, self.output, as_json=self.as_json)
        end = "converged" if found.converged else "NOT converged: increase --max-iter"
        note(
            f"{counted(len(found.items), 'item')}, {counted(found.reports, 'comparison')}, "
            f"{counted(found.workers, 'worker')}; {end}."
        )
        for sentence in found.notes:
            note(sentence)


def _read(files: list[Path], columns: str, duplicates: str, *, plain: bool) -> Reports | Answers:
    if not plain:
        if (columns, duplicates) != (_USUAL_COLUMNS, options.USUAL_DUPLICATES):
            raise ParameterError("commands.columns-need-non-private")
        return read_reports(*files)
    if len(files) > 1:
        raise ParameterError("commands.non-private-takes-a-file")
    names = options.four_columns(columns)
    return read_comparisons(files[0], names, duplicates=duplicates, ties="keep")  # type: ignore[arg-type]


def _ranked(data: Reports | Answers, spread: float | None, max_iter: int | None) -> Ranking:
    """Rank the items; the closing note reports convergence, so the warning is suppressed."""
    from quietcrowd.inference.ranking.bradley_terry import BradleyTerry

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        given = {"spread": spread, "max_iter": max_iter}
        return BradleyTerry(**{k: value for k, value in given.items() if value is not None}).fit(
            data
        )


def _show(found: Ranking, output: Path | None, *, as_json: bool) -> None:
    frame = found.to_frame("pandas")
    if output == STREAM:
        print_csv(frame)
    elif output is not None:
        write_table(frame, output)
    if as_json:
        typer.echo(_as_json(found))
    elif output is None:
        print_frame(frame, "--output ranking.csv")


def _as_json(found: Ranking) -> str:
    return json.dumps(
        {
            "items": records_of(found.to_frame("pandas")),
            "comparisons": found.reports,
            "workers": found.workers,
            "mechanism": None if found.mechanism is None else found.mechanism.to_dict(),
            "spread": found.spread,
            "converged": found.converged,
            "notes": list(found.notes),
        }
    )
