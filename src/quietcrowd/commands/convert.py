"""``quietcrowd convert``: conversion of answers, reports and truths between formats."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.answer_errors import ADVICE, check_ids
from quietcrowd.answers import Answers
from quietcrowd.commands import options
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.files import LIST_FORMATS, check_label_config
from quietcrowd.commands.printing import counted, note, print_frame
from quietcrowd.commands.streams import STREAM, from_stdin, place_of, to_stdout
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.formats import FORMATS, check_target, read_reports, read_table, write_table
from quietcrowd.formats.answers import (
    COMPARISONS,
    holds_comparisons,
    read_comparisons,
    read_scored_truths,
)
from quietcrowd.formats.columns import Choice, resolve
from quietcrowd.formats.csv import count_formulas
from quietcrowd.formats.files import check_new, refuse_overwriting, sidecar
from quietcrowd.formats.platforms.label_studio_config import write_label_config
from quietcrowd.formats.registry import find_format, holds_truths, read_names, read_note
from quietcrowd.formats.reports import RANDOMISED, write_reports
from quietcrowd.frames import as_frame, column_of

SEPARATOR = ","
"""Default separator of labels in a text."""

_PRINTED = (None, "csv", "crowd-kit")
"""Formats that can be printed as CSV."""


def _format(flag: str, what: str) -> Any:
    return option(
        flag,
        metavar="FORMAT",
        help=f"Of {what}: one of {', '.join(FORMATS)}.",
        autocompletion=lambda: list(FORMATS),
        default=None,
    )


@command()
class Convert:
    """Convert answers, reports or truths into another format.

    Overwrites nothing. A table of paired comparisons, with columns worker, left, right and label,
    becomes answers of left and right.

    Reports keep what made them, inside of OUT or in OUT.mechanism.json beside it.

    Example: quietcrowd convert Batch_17.csv answers.csv --question category

    Example: quietcrowd convert pool.tsv answers.parquet

    Example: quietcrowd convert answers.csv tasks.json --label-config project.xml

    Example: quietcrowd convert answers.csv short.json --to label-studio-min

    Example: quietcrowd convert answers.parquet batch.csv --to mturk

    Example: quietcrowd convert comparisons.csv answers.csv

    Example: quietcrowd convert tags.csv questions.csv --multi-label cat,dog,tree
    """

    source: Path = argument(metavar="IN", help="File of answers or reports; - is standard input.")
    target: Path | None = argument(
        metavar="OUT",
        help="Its suffix says how it is written; - is standard output. Default: printed as CSV.",
        default=None,
    )
    from_format: str | None = _format("--from", "IN, where its name and its header do not say so")
    to_format: str | None = _format("--to", "OUT, where its name does not say so")
    question: str | None = options.QUESTION
    columns: str = options.COLUMNS
    include_rejected: bool = option(
        help="Take answers too that a requester rejected.", default=False
    )
    label_config: Path | None = options.NEW_LABEL_CONFIG
    multi_label: str | None = option(
        metavar="LABELS",
        help="All labels, public, where an answer is a set of them: cat,dog. Each becomes a "
        "question of its own, with no or yes.",
        default=None,
    )
    separator: str | None = option(
        metavar="TEXT",
        help=f"What stands between the labels of such an answer. Default: {SEPARATOR}",
        default=None,
    )

    def run(self) -> None:
        """Convert a file, or standard input."""
        if self.separator is not None and self.multi_label is None:
            raise ParameterError("commands.separator-needs-multi-label")
        source, target = from_stdin(self.source), self.target
        if target == STREAM and self.to_format in _PRINTED:
            target = None
        to_format = self.to_format
        suffix = ".csv" if to_format is None else find_format(STREAM, to_format).suffixes[0]
        with to_stdout(target, suffix) if target is not None else nullcontext() as place:
            self._convert(source, place)

    def _convert(self, source: Path, target: Path | None) -> None:
        to_format = self.to_format
        if target is not None:
            to_format = find_format(target, to_format).name
            check_target(target, to_format)
            refuse_overwriting(source, target, sidecar(target), self.label_config)
            refuse_overwriting(sidecar(source), target)
            for place in (target, sidecar(target)):
                check_new(place)
        elif to_format not in _PRINTED:
            raise ParameterError("commands.output-missing", to_format=to_format)
        check_label_config(self.label_config, None if target is None else to_format)
        held = read_note(source, self.from_format)
        if held is None or "mechanism" not in held:
            table, what = self._read(source)
            _write_plain(table, what, target, to_format, self.label_config)
            return
        asked = (self.question, self.columns, self.include_rejected, self.multi_label)
        if asked != (None, options.USUAL_COLUMNS, False, None):
            raise ParameterError("commands.options-need-non-private-answers")
        _convert_reports(source, target, (self.from_format, to_format), self.label_config)

    def _read(self, source: Path) -> tuple[pa.Table, str]:
        """Read answers or truths, and say which they are."""
        choice = Choice(field=self.question, rejected=self.include_rejected)
        sets = self.multi_label is not None
        table, what = _read(source, self.from_format, self.columns, choice, sets=sets)
        if self.multi_label is None:
            return table, what
        if what != "answer":
            raise ParameterError("commands.multi-label-needs-answers", source=source)
        return _questions_of(
            source, self.from_format, table, self.multi_label, self.separator
        ), what


def _convert_reports(
    source: Path,
    target: Path | None,
    formats: tuple[str | None, str | None],
    label_config: Path | None,
) -> None:
    if target is None:
        raise ParameterError("commands.reports-need-an-output", source=source)
    reports = read_reports(source, file_format=formats[0])
    write_reports(reports, target, file_format=formats[1])
    note(f"{counted(len(reports), 'report')} written to {place_of(target)}. {RANDOMISED}")
    if label_config is not None:
        write_label_config(label_config, reports.mechanism.report_domain)


def _write_plain(
    table: pa.Table,
    what: str,
    target: Path | None,
    to_format: str | None,
    label_config: Path | None,
) -> None:
    if target is None:
        print_frame(table.to_pandas(), "quietcrowd convert IN OUT")
        note(f"{counted(len(table), what)}.")
        return
    write_table(table, target, file_format=to_format)
    note(f"{counted(len(table), what)} written to {place_of(target)}.")
    if label_config is not None:
        write_label_config(label_config, None, pc.unique(table["label"]).drop_null().to_pylist())
    formulas = count_formulas(table) if _is_spreadsheet(target) else 0
    if formulas:
        note(
            f"cells that begin as formulas of spreadsheets do: {formulas:,}; a ' stands before "
            "them in the file, and goes away where quietcrowd reads it"
        )


def _is_spreadsheet(path: Path) -> bool:
    return path.name.lower().endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz"))


def _read(
    source: Path, file_format: str | None, names: str, choice: Choice, *, sets: bool
) -> tuple[pa.Table, str]:
    if _of_comparisons(source, file_format, names):
        wanted = COMPARISONS if names == options.USUAL_COLUMNS else options.four_columns(names)
        answers = read_comparisons(source, wanted, file_format=file_format)
        return answers.to_frame("pyarrow"), "answer"
    columns = options.three_columns(names)
    if holds_truths(source, columns, file_format):
        if columns != tuple(options.USUAL_COLUMNS.split(",")):
            raise ParameterError("commands.columns-of-truths")
        return read_scored_truths(source, file_format=file_format, field=choice.field), "truth"
    table = read_table(source, columns, file_format=file_format, choice=choice, sets=sets)
    try:
        found = [column_of(as_frame(table), name, ADVICE["infer"].column) for name in columns]
        for name, column in zip(columns[:2], found, strict=False):
            check_ids(column, name)
    except AnswerError as error:
        raise AnswerError("commands.in-source", source=source, error=error) from None
    _tell_other_columns(source, file_format, columns)
    return pa.table(dict(zip(options.USUAL_COLUMNS.split(","), found, strict=True))), "answer"


def _of_comparisons(source: Path, file_format: str | None, columns: str) -> bool:
    """Return whether a file contains paired comparisons, by its columns or by four given names."""
    if columns == options.USUAL_COLUMNS:
        return holds_comparisons(source, file_format)
    return len(options.split(columns)) == 4


def _tell_other_columns(
    source: Path, file_format: str | None, columns: tuple[str, str, str]
) -> None:
    names = read_names(source, file_format) or []
    others = [name for name in names if name not in resolve(source, names, columns).values()]
    if others:
        note(f"left out: columns {', '.join(others)}")


def _questions_of(
    source: Path, file_format: str | None, table: pa.Table, labels: str, separator: str | None
) -> pa.Table:
    """Convert answers that are sets of labels to "no" and "yes" per label; print the privacy loss.

    An empty cell is an empty set, except in formats with explicit missing values.
    """
    known, column, hint = options.split(labels), table["label"], ""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        if separator is None:
            hint = f" Labels are taken to stand between {SEPARATOR!r}; --separator names another."
            separator = SEPARATOR
        if find_format(source, file_format).name not in LIST_FORMATS:
            table = table.set_column(2, "label", pc.fill_null(column, ""))
    try:
        answers = Answers.from_label_sets(table, known, separator=separator)
    except AnswerError as error:
        raise AnswerError(
            "commands.in-source-with-hint", source=source, error=error, hint=hint
        ) from None
    note(
        f"{counted(len(known), 'label')}: a task becomes {counted(len(known), 'question')}. What a "
        f"worker loses about it is {len(known)} times the epsilon of one answer."
    )
    return answers.to_frame("pyarrow")
