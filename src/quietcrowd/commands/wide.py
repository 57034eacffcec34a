"""Options of ``quietcrowd convert`` for tables with a row per worker or a column per worker."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from quietcrowd.commands import options
from quietcrowd.commands.declare import option, option_group
from quietcrowd.commands.printing import counted, note
from quietcrowd.exceptions import AnswerError, FormatError
from quietcrowd.formats.decimals import with_decimal_points
from quietcrowd.formats.wide_tables import read_wide
from quietcrowd.intake import Intake
from quietcrowd.wide import LongRows, reject_sets

MOST_NAMES = 8
"""Maximum number of questions or workers printed."""


@option_group("With --wide")
class WideOptions:
    """Options for wide tables."""

    wide: bool = option(
        help="Read a row per worker, or with --task a column per worker.", default=False
    )
    worker: str | None = option(
        metavar="COLUMN",
        help="Column of workers, if a row is a worker. Not needed for known surveys.",
        default=None,
    )
    task: str | None = option(
        metavar="COLUMN",
        help="Column of tasks, if a row is a task and each other column a worker.",
        default=None,
    )
    questions: str | None = option(
        metavar="NAMES",
        help="Columns of answers, or patterns: Q1,'stim_*'. Default: all others.",
        default=None,
    )
    ignore: str | None = option(
        metavar="NAMES", help="Columns or patterns to drop: gold,'*_comment'.", default=None
    )

    def read_wide(
        self,
        source: Path,
        file_format: str | None,
        intake: Intake,
        *,
        rejected: bool,
        sets: bool,
        decimal: str | None,
    ) -> pa.Table:
        """Read a wide table, and print the roles of its columns; `sets` have no numbers."""
        found = read_wide(
            source,
            file_format=file_format,
            worker=self.worker,
            task=self.task,
            questions=None if self.questions is None else options.split(self.questions),
            ignore=options.split(self.ignore or ""),
            rejected=rejected,
            sets=sets,
            intake=intake,
        )
        intake.warn()
        if not sets:
            try:
                reject_sets(found)
            except AnswerError as error:
                raise AnswerError("commands.in-source", source=source, error=error) from None
        _print_roles(found)
        return found.table if sets else _with_decimal_points(source, found, decimal)


def _with_decimal_points(source: Path, found: LongRows, decimal: str | None) -> pa.Table:
    """Replace decimal commas; errors name the row and the column of the wide table."""
    try:
        labels = with_decimal_points(source, found.table["label"], "label", decimal)
    except FormatError as error:
        place = int(str(error.fields["row"]))
        where = {"row": int(found.rows[place]), "name": found.column_at(place)}
        raise FormatError(error.code, **{**error.fields, **where}) from None
    return found.table.set_column(2, "label", labels)


def _print_roles(found: LongRows) -> None:
    names, layout = list(found.questions), found.layout
    listed = ", ".join(names[:MOST_NAMES]) + ", ..." * (len(names) > MOST_NAMES)
    kind, ids = ("question", "workers") if layout.by_worker else ("worker", "tasks")
    source = "numbers of rows" if layout.id is None else f"column {layout.id!r}"
    note(f"{ids}: {source}; {counted(len(names), kind)}: {listed}")
    if found.empty:
        note(f"{counted(found.empty, 'empty cell')} without an answer")
    others = [name for name in layout.others if name.strip()]
    if others:
        note(f"dropped columns: {', '.join(others)}")
