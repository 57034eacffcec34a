"""Input files, dataset directories, the file name ``-``, and checks that several commands share.

Standard input goes to a temporary file, whose suffix follows from its first bytes. The program
deletes it when it ends.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from quietcrowd.answer_errors import AdviceName, plain_type
from quietcrowd.answers import Answers, DroppedRows
from quietcrowd.commands import options
from quietcrowd.commands.declare import option_group
from quietcrowd.commands.options import missing_marks
from quietcrowd.commands.printing import counted, note
from quietcrowd.domains import Categorical, Domain, FiniteDomain, as_numbers
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.formats import check_target, read_table, read_truths
from quietcrowd.formats.answers import decimal_mark, read_found_answers
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.files import (
    HEAD,
    check_folder,
    check_new,
    require_no_overwriting,
    suffix_of,
)
from quietcrowd.formats.registry import format_of, place_of_row, read_names
from quietcrowd.gold import KnownTruthError
from quietcrowd.intake import Intake, distinct
from quietcrowd.mechanisms import Mechanism
from quietcrowd.report_domains import Reals
from quietcrowd.task_options import TaskOptions

if TYPE_CHECKING:
    from quietcrowd.inference.fitting import FittingMethod

MOST_NAMES = 8
"""Maximum number of labels printed if they come from the data."""

NEARLY_ALL = 0.9
"""Above this fraction of decimal numbers, answers are not taken as labels."""


@option_group("Non-private answers")
class PlainAnswers(options.PossibleAnswers):
    """Options for reading non-private answers."""

    columns: str = options.COLUMNS
    duplicates: str = options.DUPLICATES
    question: str | None = options.QUESTION
    missing: str | None = options.MISSING_MARKS
    decimal: str | None = options.DECIMAL
    drop_invalid: bool = options.DROP_INVALID
    options_file: Path | None = options.TASK_OPTIONS

    @cached_property
    def task_options(self) -> TaskOptions | None:
        """The possible answers per task; labels that print as numbers become numbers."""
        path = self.options_file
        if path is None:
            return None
        table = read_table(path, ("task", "label"))
        domain = super().domain() if any(self.written.values()) else None
        try:
            found = TaskOptions.read(table, domain, missing=self.missing_marks)
            if domain is not None or _has_types(path):
                return found
            labels = options.labels_as_printed(list(map(str, found.domain.labels)))
            return TaskOptions.read(found, Categorical(labels))
        except AnswerError as error:
            raise AnswerError("formats.in-file", path=path, error=error) from None

    def domain(self) -> Domain:
        """Return the domain, which is that of options if it is not given."""
        if self.task_options is None:
            return super().domain()
        return self.task_options.domain

    @property
    def missing_marks(self) -> list[str]:
        """Texts that mark a missing answer."""
        return missing_marks(self.missing)

    def by_option(self) -> dict[str, Any]:
        """Return the values by option."""
        return {
            **self.written,
            "--columns": self.columns,
            "--duplicates": self.duplicates,
            "--question": self.question,
            "--missing": self.missing,
            "--decimal": self.decimal,
            "--drop-invalid": self.drop_invalid,
            "--options": self.options_file,
        }

    def read(
        self,
        path: Path,
        *,
        advice: AdviceName,
        method: FittingMethod | None = None,
        **lists: Any,
    ) -> Answers:
        """Read the answers of a file or a dataset folder."""
        written = self.written.values()
        lists |= {
            "duplicates": self.duplicates,
            "out_of_domain": "skip" if self.drop_invalid else "error",
        }
        if is_dataset(path):
            given = (self.question, self.decimal, self.options_file)
            if any(written) or any(one is not None for one in given):
                raise ParameterError("commands.kind-options-need-a-file")
            from quietcrowd.datasets import load_dataset  # with pandas

            ways = advice if advice == "claims" else "folder"
            answers = load_dataset(path, advice=ways, **lists).answers
        else:
            columns, decimal = options.three_columns(self.columns), self.decimal
            domain_of: Callable[[pa.Table], Domain]
            no_list = all(text is None for text in written) and self.task_options is None
            if method is not None and no_list:
                name = str(columns[2])
                domain_of = partial(_found_domain, path, name, self.missing_marks, method)
            else:
                domain = self.domain()
                domain_of, decimal = partial(_given_domain, domain), decimal_mark(decimal, domain)
            answers = read_found_answers(
                path,
                domain_of,
                columns,
                choice=Choice(field=self.question),
                decimal=decimal,
                missing=self.missing_marks,
                options=self.task_options,
                advice=advice,
                **lists,
            )
        print_dropped(answers.dropped)
        return answers


def _given_domain(domain: Domain, _: pa.Table) -> Domain:
    return domain


def _found_domain(
    path: Path, name: str, missing: Iterable[str], method: FittingMethod, table: pa.Table
) -> Domain:
    """Return the domain that a method finds in a table, as if it were a frame.

    Texts become numbers if all are numbers, as in a frame from CSV. In typed formats, texts of
    whole numbers stay texts.
    """
    if name not in table.column_names:
        return Reals()  # the reader raises for the missing column
    labels = distinct(Intake(missing).labels(table[name], name))
    if not len(labels):
        raise AnswerError("commands.column-empty", name=name)
    if pa.types.is_string(plain_type(labels.type)):
        found = _as_numbers_or_labels(labels)
        labels = labels if _has_types(path) and not pa.types.is_floating(found.type) else found
    domain = method.domain_of(labels)
    _print_domain(domain)
    return domain


def _has_types(path: Path) -> bool:
    return format_of(path).typed


def _print_domain(domain: Domain) -> None:
    if not isinstance(domain, FiniteDomain):
        note("Answers are read as numbers. For labels use --labels.")
        return
    names = [str(label) for label in domain.labels]
    shown = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else ".")
    numbers = all(name.lstrip("-").isdigit() for name in names) and len(names) > MOST_NAMES
    advice = " For numbers use --between LOW,HIGH." * numbers
    note(f"{counted(len(names), 'label')} in the file: {shown}{advice}")


def _as_numbers_or_labels(texts: pa.Array) -> pa.Array:
    """Convert texts to numbers if all are numbers and one has a decimal point, else to labels."""
    numbers = as_numbers(texts)
    finite = np.isfinite(numbers)
    points = np.array(["." in text for text in texts.to_pylist()]) & finite
    if points.any() and finite.all():
        return pa.array(np.unique(numbers))
    if points.sum() > NEARLY_ALL * len(texts):
        odd = texts[int(np.argmin(finite))].as_py()
        raise AnswerError("commands.mixed-answers", sum=finite.sum(), count=len(texts), odd=odd)
    labels = options.labels_as_printed(texts.to_pylist())
    small = all(isinstance(label, int) and abs(label) < 2**63 for label in labels)
    return pa.array(labels) if small else texts


def is_dataset(path: Path) -> bool:
    """Return whether a path is a dataset directory, and not one of a platform's JSON files."""
    described = path / "dataset.json"
    return path.is_dir() and (described.is_file() or not any(path.rglob("*.json")))


def is_store(path: Path) -> bool:
    """Return whether a path is a store; imports `quietcrowd.scale` for directories only."""
    if not path.is_dir():
        return False
    from quietcrowd.scale import is_store as in_folder

    return in_folder(path)


def print_dropped(dropped: DroppedRows) -> None:
    """Print how many non-private answers were dropped, if any."""
    if dropped.duplicates or dropped.out_of_domain:
        note(
            f"dropped: {counted(dropped.duplicates, 'repeated answer')}, "
            f"{dropped.out_of_domain:,} missing or invalid"
        )


def read_gold(
    path: Path, field: str | None, decimal: str | None = None, *, beside_answers: bool
) -> pa.Table:
    """Read known truths; `field` is ``--question``, for files of platforms."""
    if beside_answers and read_names(path) is not None:
        field = None
    return read_truths(path, field=field, decimal=decimal)


def gold_error(error: KnownTruthError, path: Path | None) -> AnswerError:
    """Return an error about known truths with the name of their file and the place of the row."""
    line = None
    if path is not None and error.row is not None:
        line = place_of_row(path, error.row, ("task", "label"))
    return error.in_file(path, line)


def read_ids(path: Path | None, column: str) -> list[Any] | None:
    """Return the ids in a column of a file, or None without a file."""
    if path is None:
        return None
    table = read_table(path, (column,))
    if column not in table.column_names:
        raise FormatError("commands.comparison-column-missing", path=path, column=column)
    return table[column].to_pylist()  # type: ignore[no-any-return]


def require_public_lists(name: str, mechanism: Mechanism) -> None:
    """Raise ParameterError if lists taken from the answers would reveal who participated.

    This applies to mechanisms that protect participation.
    """
    if mechanism.participation_protected:
        raise ParameterError("commands.all-ids-needed", name=name)


def check_label_config(path: Path | None, file_format: str | None) -> None:
    """Raise ParameterError unless a new Label Studio config can be written to `path`."""
    if path is None:
        return
    if file_format != "label-studio":
        raise ParameterError("commands.label-config-needs-json")
    check_folder(path)
    check_new(path)


def check_outputs(sources: Iterable[Path | None], *targets: Path | None) -> None:
    """Raise unless new files can be written, before a long computation; - is always valid."""
    files = [target for target in targets if target is not None and target != STREAM]
    for target in files:
        check_target(target)
    for source in filter(None, sources):
        require_no_overwriting(source, *files)
    for target in files:
        check_new(target)


def check_targets(output: Path | None, plot: Path | None) -> None:
    """Raise unless a table and a picture can be written, before a long computation."""
    if output is not None:
        check_target(output)
        check_new(output)
    if plot is not None:
        from quietcrowd.evaluation.plots import check_picture

        check_picture(plot)
        check_new(plot)


STREAM = Path("-")

_NAME, _WRITTEN = "standard-input", "standard-output"
_KEPT: list[TemporaryDirectory[str]] = []


def from_stdin(path: Path) -> Path:
    """Copy standard input to a temporary file if `path` is ``-``; otherwise return `path`."""
    if path != STREAM:
        return path
    if sys.stdin.isatty():
        raise ParameterError("commands.nothing-piped")
    _KEPT.append(TemporaryDirectory(prefix="quietcrowd-"))
    raw = Path(_KEPT[-1].name, _NAME)
    with raw.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with raw.open("rb") as file:
        suffix = suffix_of(file.read(HEAD))
    return raw.rename(raw.with_suffix(suffix))


def check_one_stream(*targets: Path | None, as_json: bool) -> None:
    """Raise ParameterError if more than one output, ``--json`` included, is standard output."""
    if as_json and STREAM in targets:
        raise ParameterError("commands.standard-output-shared")
    if sum(target == STREAM for target in targets) > 1:
        raise ParameterError("commands.standard-output-twice")


@contextmanager
def to_stdout(path: Path, suffix: str) -> Iterator[Path]:
    """Provide `path` within a context, or for ``-`` a file that is copied to standard output."""
    if path != STREAM:
        yield path
        return
    with TemporaryDirectory(prefix="quietcrowd-") as folder:
        written = Path(folder, f"{_WRITTEN}{suffix}")
        yield written
        with written.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()


def place_of(path: Path) -> str:
    """Return the name of an output in messages."""
    return "standard output" if path == STREAM or path.name.startswith(_WRITTEN) else str(path)


def shown(text: str) -> str:
    """Replace the names of temporary files by "standard input" in a message."""
    for folder in _KEPT:
        for file in Path(folder.name).glob("*"):
            text = text.replace(str(file), "standard input")
    return text
