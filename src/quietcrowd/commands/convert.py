"""``quietcrowd convert``: conversion of answers, reports and truths between formats.

It also creates stores, and describes files.
"""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.answer_errors import ADVICE
from quietcrowd.answers import Answers
from quietcrowd.commands import options
from quietcrowd.commands.declare import argument, command, given_options, option, option_group
from quietcrowd.commands.describe import describe_file
from quietcrowd.commands.files import (
    STREAM,
    check_label_config,
    from_stdin,
    place_of,
    to_stdout,
)
from quietcrowd.commands.partition import StoreOptions
from quietcrowd.commands.printing import counted, note, print_frame
from quietcrowd.commands.wide import WideOptions
from quietcrowd.comparisons import COLUMNS
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.formats import FORMATS, check_target, read_reports, read_table, write_table
from quietcrowd.formats.answers import (
    holds_comparisons,
    read_comparisons,
    read_scored_truths,
)
from quietcrowd.formats.columns import Choice, in_named_order, resolve
from quietcrowd.formats.csv import count_formulas
from quietcrowd.formats.files import check_new, require_no_overwriting, sidecar
from quietcrowd.formats.headers import are_numbers
from quietcrowd.formats.kinds import find_format
from quietcrowd.formats.likely_columns import labels_in
from quietcrowd.formats.platforms.label_studio_config import write_label_config
from quietcrowd.formats.registry import format_of, holds_truths, read_names, read_note
from quietcrowd.formats.reports import RANDOMISED, write_reports
from quietcrowd.frames import as_frame, column_of
from quietcrowd.intake import Intake, decoded

SEPARATOR = ","
"""Default separator of labels in a text."""

_PRINTED = (None, "csv", "crowd-kit")
"""Formats that can be printed as CSV."""


STORE = "store"

_OF_DESCRIPTION = ("gold", "as_json")
_OF_FILES = (
    *("from_format", "question", "decimal", "include_rejected"),
    *("label_config", "multi_label", "separator", "wide"),
)
_OF_WIDE = ("worker", "task", "questions", "ignore")
_OF_STORE = (
    *("labels", "levels", "between", "non_private", "duplicates", "drop_invalid"),
    *("partitions", "campaign"),
)


def _format(flag: str, what: str, *more: str) -> Any:
    known = [*FORMATS, *more]
    return option(
        flag,
        metavar="FORMAT",
        help=f"{what}: one of {', '.join(known)}.",
        autocompletion=lambda: known,
        default=None,
    )


@option_group("With --describe")
class DescriptionOptions:
    """Options for counts of answers."""

    describe: bool = option(help="Print counts of answers and labels instead.", default=False)
    gold: Path | None = options.GOLD
    as_json: bool = options.JSON


@command()
class Convert(WideOptions, StoreOptions, DescriptionOptions):
    """Convert answers, reports or truths into another format.

    It overwrites nothing. Paired comparisons with columns worker, left, right and label become
    answers left and right. Reports keep their mechanism, in OUT or in OUT.mechanism.json.

    With --to store it creates a directory for data larger than memory, which infer reads in parts.
    With --describe it counts answers without noise. Show the counts only to people who may see the
    answers.

    Example: quietcrowd convert Batch_17.csv answers.csv --question category

    Example: quietcrowd convert pool.tsv answers.parquet

    Example: quietcrowd convert answers.csv tasks.json --label-config project.xml

    Example: quietcrowd convert tags.csv questions.csv --multi-label cat,dog,tree

    Example: quietcrowd convert reports.parquet big --to store

    Example: quietcrowd convert study.csv answers.csv --wide --worker id --questions 'stim_*'

    Example: quietcrowd convert january.parquet february.parquet big --to store
    --non-private --labels no,yes

    Example: quietcrowd convert big --to store --campaign 0123456789abcdef0123456789abcdef

    Example: quietcrowd convert answers.csv --describe --gold known.csv
    """

    paths: list[Path] = argument(
        metavar="IN... [OUT]",
        help="Input and output; - is a standard stream. Without OUT, CSV is printed.",
    )
    from_format: str | None = _format("--from", "Format of IN, if its name does not select it")
    to_format: str | None = _format("--to", "Format of OUT, if its name does not select it", STORE)
    question: str | None = options.QUESTION
    columns: str = options.COLUMNS
    missing: str | None = options.MISSING_MARKS
    decimal: str | None = options.DECIMAL
    include_rejected: bool = option(
        help="Include answers that were rejected, not finished or tests.", default=False
    )
    label_config: Path | None = options.NEW_LABEL_CONFIG
    multi_label: str | None = option(
        metavar="LABELS",
        help="All labels, if answers are sets: cat,'\"a, b\"'. Each becomes a question.",
        default=None,
    )
    separator: str | None = option(
        metavar="TEXT", help=f"Separator of the labels of a set. Default: {SEPARATOR}", default=None
    )

    def run(self) -> None:
        """Convert a file, create a store, or describe a file."""
        if self.describe:
            others = set(_OF_FILES) - {"question", "decimal"}
            self._reject_options("--describe", (*_OF_STORE, *sorted(others)))
            if len(self.paths) > 1 or self.to_format is not None:
                raise ParameterError("commands.description-takes-a-file")
            choice = self.question, self.decimal
            describe_file(self.paths[0], self.gold, self.columns, choice, as_json=self.as_json)
            return
        if not self.wide:
            self._require("--wide", _OF_WIDE)
        self._require("--describe", _OF_DESCRIPTION)
        if self.to_format == STORE:
            self._reject_options(f"--to {STORE}", _OF_FILES)
            *sources, output = self.paths
            self.write_store(sources, output, self.columns)
            return
        self._require("--to store", _OF_STORE)
        if len(self.paths) > 2:
            raise ParameterError("commands.conversion-takes-two-files")
        if self.separator is not None and self.multi_label is None:
            raise ParameterError("commands.separator-needs-multi-label")
        source = from_stdin(self.paths[0])
        target = self.paths[1] if len(self.paths) > 1 else None
        if target == STREAM and self.to_format in _PRINTED:
            target = None
        suffix = find_format(STREAM, self.to_format or "csv").suffixes[0]
        with to_stdout(target, suffix) if target is not None else nullcontext() as written:
            self._convert(source, written)

    def _reject_options(self, what: str, names: Iterable[str]) -> None:
        if given := given_options(self, names):
            raise ParameterError("commands.option-does-not-apply", option=given[0], subject=what)

    def _require(self, what: str, names: Iterable[str]) -> None:
        if given := given_options(self, names):
            raise ParameterError("commands.option-requires", option=given[0], required=what)

    def _convert(self, source: Path, target: Path | None) -> None:
        to_format = self.to_format
        if target is not None:
            to_format = find_format(target, to_format).name
            check_target(target, to_format)
            require_no_overwriting(source, target, sidecar(target), self.label_config)
            require_no_overwriting(sidecar(source), target)
            for place in (target, sidecar(target)):
                check_new(place)
        elif to_format not in _PRINTED:
            raise ParameterError("commands.output-missing", to_format=to_format)
        check_label_config(self.label_config, None if target is None else to_format)
        held = read_note(source, self.from_format)
        if held is None or "mechanism" not in held:
            self._write_plain(*self._read(source), target, to_format)
            return
        asked = ("question", "columns", "decimal", "include_rejected", "multi_label", "wide")
        if given_options(self, asked):
            raise ParameterError("commands.options-need-non-private-answers")
        if target is None:
            raise ParameterError("commands.reports-need-an-output", source=source)
        reports = read_reports(source, file_format=self.from_format)
        write_reports(reports, target, file_format=to_format)
        note(f"{counted(len(reports), 'report')} written to {place_of(target)}. {RANDOMISED}")
        if self.label_config is not None:
            write_label_config(self.label_config, reports.mechanism.report_domain)

    def _write_plain(
        self, table: pa.Table, what: str, target: Path | None, to_format: str | None
    ) -> None:
        if target is None:
            print_frame(table.to_pandas(), "quietcrowd convert IN OUT")
            note(f"{counted(len(table), what)}.")
            return
        write_table(table, target, file_format=to_format)
        note(f"{counted(len(table), what)} written to {place_of(target)}.")
        if self.label_config is not None:
            labels = pc.unique(table["label"]).drop_null().to_pylist()
            write_label_config(self.label_config, None, labels)
        name = target.name.lower().removesuffix(".gz")
        spreadsheet = name.endswith((".csv", ".tsv", ".tab", ".txt"))
        if spreadsheet and (formulas := count_formulas(table)):
            note(
                f"cells that a spreadsheet would read as formulas: {formulas:,}. The file has a ' "
                "before each; quietcrowd removes it on reading."
            )

    def _read(self, source: Path) -> tuple[pa.Table, str]:
        """Return the contents of a file, and their kind."""
        sets, intake = self.multi_label is not None, Intake(options.missing_marks(self.missing))
        if self.wide:
            self._reject_options("--wide", ("question", "columns"))
            table = self.read_wide(
                source,
                self.from_format,
                intake,
                rejected=self.include_rejected,
                sets=sets,
                decimal=self.decimal,
            )
        elif _of_comparisons(source, self.from_format, self.columns):
            usual = self.columns == options.USUAL_COLUMNS
            wanted = COLUMNS if usual else options.four_columns(self.columns)
            answers = read_comparisons(source, wanted, file_format=self.from_format)
            table = answers.to_frame("pyarrow")
        elif holds_truths(source, options.three_columns(self.columns), self.from_format):
            return self._read_truths(source), "truth"
        else:
            table = self._read_answers(source, intake)
        return self._questions_of(source, table) if sets else table, "answer"

    def _read_truths(self, source: Path) -> pa.Table:
        if ",".join(map(str, options.three_columns(self.columns))) != options.USUAL_COLUMNS:
            raise ParameterError("commands.columns-of-truths")
        truths = read_scored_truths(
            source, file_format=self.from_format, field=self.question, decimal=self.decimal
        )
        if self.multi_label is not None:
            raise ParameterError("commands.multi-label-needs-answers", source=source)
        return truths

    def _read_answers(self, source: Path, intake: Intake) -> pa.Table:
        columns, sets = options.three_columns(self.columns), self.multi_label is not None
        table = read_table(
            source,
            columns,
            file_format=self.from_format,
            choice=Choice(field=self.question, rejected=self.include_rejected),
            sets=sets,
            decimal=self.decimal,
            timed=True,
        )
        try:
            given = [str(name) for name in columns]
            table = in_named_order(table, given[0], given[1])
            found = [column_of(as_frame(table), name, ADVICE["infer"].column) for name in given]
            found[0], found[1] = (decoded(intake.ids(found[i], given[i])) for i in (0, 1))
            if not sets:
                found[2] = decoded(intake.encoded(found[2], given[2]))
        except AnswerError as error:
            raise AnswerError("commands.in-source", source=source, error=error) from None
        intake.warn()
        names = [] if are_numbers(columns) else read_names(source, self.from_format, given) or []
        read = resolve(source, names, given).values() if names else ()
        if others := [name for name in names if name not in read]:
            note(f"dropped columns: {', '.join(others)}")
        return pa.table(dict(zip(options.USUAL_COLUMNS.split(","), found, strict=True)))

    def _questions_of(self, source: Path, table: pa.Table) -> pa.Table:
        """Convert sets of labels to "no" and "yes" per label; print the privacy loss.

        In a table without types an empty cell is an empty set.
        """
        known, column, hint = options.split(self.multi_label or ""), table["label"], ""
        separator = self.separator
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            if separator is None:
                separator = SEPARATOR
                hint = (
                    f" Labels are separated by {separator!r}; --separator sets another separator."
                )
            kind = format_of(source, self.from_format)
            if not (kind.typed or kind.platform):
                table = table.set_column(2, "label", pc.fill_null(column, ""))
            _report_split(pc.unique(column).drop_null().to_pylist(), known, separator)
        try:
            marks = options.missing_marks(self.missing)
            answers = Answers.from_label_sets(table, known, separator=separator, missing=marks)
        except AnswerError as error:
            raise AnswerError(
                "commands.in-source-with-hint", source=source, error=error, hint=hint
            ) from None
        note(
            f"{counted(len(known), 'label')}: a task becomes {counted(len(known), 'question')}. A "
            f"worker's privacy loss for it is {len(known)} times the epsilon of one answer."
        )
        return answers.to_frame("pyarrow")


def _of_comparisons(source: Path, file_format: str | None, columns: str) -> bool:
    """Return whether a file contains paired comparisons, by its columns or by four given names."""
    if columns == options.USUAL_COLUMNS:
        return holds_comparisons(source, file_format)
    return len(options.split(columns)) == 4


def _report_split(texts: Sequence[str], known: Sequence[str], separator: str) -> None:
    """Report known labels that only occur together, like a label that was split."""
    for text in labels_in(texts, separator):
        parts = [part.strip() for part in text.split(separator)]
        if len(parts) > 1 and set(parts) <= set(known):
            note(
                f"{' and '.join(map(repr, parts))} always occur together. If they are one label, "
                f"quote it: --multi-label '\"{text}\",...'"
            )
