"""``quietcrowd lab rank``: ranking of items from reports or non-private paired comparisons."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quietcrowd.commands import options
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.files import STREAM, check_one_stream, check_outputs, from_stdin
from quietcrowd.commands.printing import counted, note, print_csv, print_frame, records_of
from quietcrowd.comparisons import COLUMNS
from quietcrowd.exceptions import AnswerError, ConvergenceWarning, ParameterError
from quietcrowd.formats import read_reports, write_table
from quietcrowd.formats.answers import in_file, read_comparison_table

if TYPE_CHECKING:
    from quietcrowd.inference.ranking.ranking import Ranking

_USUAL_COLUMNS = ",".join(COLUMNS)


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
        help="Files of reports, or one file of comparisons with --non-private; "
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
        "If a worker compared a pair twice in the same order: stop, or use one, or all.", "all"
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
        found = self._rank_comparisons(files) if self.non_private else self._rank_reports(files)
        _show(found, self.output, as_json=self.as_json)
        end = "converged" if found.converged else "NOT converged: increase --max-iter"
        note(
            f"{counted(len(found.items), 'item')}, {counted(found.reports, 'comparison')}, "
            f"{counted(found.workers, 'worker')}; {end}."
        )
        for sentence in found.notes:
            note(sentence)

    def _rank_reports(self, files: list[Path]) -> Ranking:
        if (self.columns, self.duplicates) != (_USUAL_COLUMNS, options.USUAL_DUPLICATES):
            raise ParameterError("commands.columns-need-non-private")
        return self._rank(read_reports(*files))

    def _rank_comparisons(self, files: list[Path]) -> Ranking:
        if len(files) > 1:
            raise ParameterError("commands.non-private-takes-a-file")
        asked = options.four_columns(self.columns)
        table, columns = read_comparison_table(files[0], asked)
        try:
            return self._rank(
                table,
                non_private=True,
                duplicates=self.duplicates,
                columns=tuple(map(str, columns)),
            )
        except AnswerError as error:
            raise in_file(files[0], error, None, columns) from None

    def _rank(self, data: Any, **options: Any) -> Ranking:
        """Rank the items; the closing note reports convergence, so the warning is suppressed."""
        from quietcrowd.inference.ranking.bradley_terry import BradleyTerry

        given = {"spread": self.prior_sd, "max_iter": self.max_iter}
        method = BradleyTerry(**{k: value for k, value in given.items() if value is not None})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return method.fit(data, **options)


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
