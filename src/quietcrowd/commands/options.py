"""Options that several commands share, and their parsers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from quietcrowd.commands.declare import option, option_group
from quietcrowd.domains import Categorical, Domain, Interval, Label, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.intake import MISSING

if TYPE_CHECKING:
    from quietcrowd.formats.headers import Name

USUAL_COLUMNS = "task,worker,label"
"""Default columns of non-private answers."""

USUAL_DUPLICATES = "error"
"""Default treatment of a second answer."""


def duplicates_option(text: str, *more: str) -> Any:
    """Declare what to do with a second answer, described by `text`."""
    known = ["error", "first", "last", *more]
    return option(
        metavar="|".join(known),
        help=text,
        autocompletion=lambda: known,
        default=USUAL_DUPLICATES,
    )


def output_option(text: str = "") -> Any:
    """Declare the file that a command writes; its help begins with `text`."""
    return option(
        "--output",
        "-o",
        metavar="FILE",
        help=f"{text}A .csv, .tsv or .jsonl file (also .gz), .parquet or .xlsx; - is standard "
        "output.",
        default=None,
    )


class Goal(StrEnum):
    """The goal of a campaign, which defines a good result."""

    TRUTHS = "truths"
    SHARES = "shares"


GOAL = option(
    help="The right answer to each question, or how many people give each answer.",
    default=Goal.TRUTHS,
)
BETWEEN = option(
    metavar="LOW,HIGH", help="Public bounds, if answers are numbers: 0,10.", default=None
)
COLUMNS = option(
    metavar="TASK,WORKER,LABEL",
    help="Column names, comma-separated; or numbers from 1, if the file has no header.",
    default=USUAL_COLUMNS,
)
DECIMAL = option(
    metavar="MARK", help="Decimal mark of numbers: . or a comma, as in 3,5.", default=None
)
WITHDRAWAL_LOG = option(
    metavar="URL",
    envvar="QUIETCROWD_WITHDRAWAL_LOG",
    help="Journal of withdrawals, outside the database and its copies: sqlite:///FILE, "
    "postgresql://USER@HOST/OTHER or none. Default: a file next to the SQLite database.",
    default=None,
)
ACCEPT_LOST_WITHDRAWAL_LOG = option(
    help="Accept once that the journal of withdrawals was lost. A copy then restores withdrawn "
    "workers. Uses the journal at --withdrawal-log, or a new one.",
    default=False,
)
DUPLICATES = duplicates_option(
    "If a worker answered a task twice: stop, or use the first or last answer."
)
EPSILON = option(
    "--epsilon", "-e", metavar="NUMBER", help="Privacy loss per answer, as claimed.", default=1.0
)
QUESTION = option(
    metavar="NAME",
    help="Question to read, if a file of a platform has several.",
    default=None,
)
GOLD = option(
    metavar="FILE",
    help="Known truths, which stay fixed, in columns task and label.",
    default=None,
)
ROUND = option(
    "--round",
    min=0,
    metavar="NUMBER",
    help="Round of reports of a campaign in rounds.",
    default=None,
)
JSON = option("--json", help="Print JSON.", default=False)
MAX_ITER = option(metavar="NUMBER", help="Maximum number of iterations.", default=None)
NEW_LABEL_CONFIG = option(
    metavar="FILE",
    help="Also write the config of a Label Studio project.",
    default=None,
)
MISSING_MARKS = option(
    "--missing",
    metavar="TEXTS",
    help="Texts that mark a missing answer. Default: NA, NaN, None, null and others, as in pandas. "
    "An empty list reads these as answers.",
    default=None,
)
TASK_OPTIONS = option(
    "--options",
    metavar="FILE",
    help="Public list of possible answers per task, in columns task and label.",
    default=None,
)
OUTPUT = output_option()
NON_PRIVATE = option(help="The input contains non-private answers, not reports.", default=False)
DASK = option(
    metavar="ADDRESS",
    help="Dask cluster for a store: tcp://host:port, or local:N for N processes.",
    default=None,
)
SIMULATE = option(
    min=0,
    metavar="SEED",
    help="Reproducible noise, which protects no one.",
    default=None,
)
DROP_INVALID = option(help="Drop and count missing and invalid answers.", default=False)


@option_group("Possible answers")
class PossibleAnswers:
    """Options for the domain of answers."""

    labels: str | None = option(
        metavar="LABELS", help="Public list of possible answers: no,yes.", default=None
    )
    levels: str | None = option(
        metavar="NUMBERS",
        help="Increasing numeric levels, instead of labels: 1,2,3.",
        default=None,
    )
    between: str | None = BETWEEN

    @property
    def written(self) -> dict[str, str | None]:
        """Values by option, None if not given."""
        return {"--labels": self.labels, "--levels": self.levels, "--between": self.between}

    def domain(self) -> Domain:
        """Return the domain; labels that print as numbers become numbers."""
        given = sum(text is not None for text in self.written.values())
        if given > 1:
            raise ParameterError("commands.kinds-conflict")
        if not given:
            raise ParameterError("commands.kind-missing")
        if self.between is not None:
            bounds = parse_numbers([self.between], "--between")
            if len(bounds) != 2:
                raise ParameterError("commands.between-malformed", between=self.between)
            return Interval(low=bounds[0], high=bounds[1])
        if self.levels is not None:
            numbers = parse_numbers([self.levels], "--levels")
            return Ordinal([as_printed(number) for number in numbers])
        return Categorical(labels_as_printed(split(self.labels or "")))


def split(text: str) -> list[str]:
    """Split a comma-separated list; quotes protect a comma."""
    try:
        parts = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        raise ParameterError("commands.list-malformed", text=text, error=error) from None
    return [part.strip() for part in parts if part.strip()]


def join(parts: Iterable[str]) -> str:
    """Return a list as a text that `split` understands."""
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(parts)
    return written.getvalue()


def missing_marks(text: str | None) -> list[str]:
    """Return the texts that mark a missing value."""
    return [*MISSING] if text is None else split(text)


def three_columns(text: str) -> tuple[Name, Name, Name]:
    """Return the names or numbers of the task, worker and label columns."""
    names = _columns(text)
    if len(names) != 3:
        raise ParameterError("commands.columns-malformed", text=text)
    return names[0], names[1], names[2]


def four_columns(text: str) -> tuple[Name, Name, Name, Name]:
    """Return the names or numbers of the worker, left, right and label columns."""
    names = _columns(text)
    if len(names) != 4:
        raise ParameterError("commands.comparison-columns-malformed", text=text)
    return names[0], names[1], names[2], names[3]


def _columns(text: str) -> Sequence[Name]:
    names = split(text)
    _check_named_once(names)
    numbers = all(name.isascii() and name.isdecimal() for name in names)
    return [int(name) for name in names] if numbers else names


def _check_named_once(names: list[str]) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ParameterError("commands.columns-repeat", name=name)


def split_all(texts: Iterable[str]) -> list[str]:
    """Split an option that may be repeated and contain commas."""
    return [part for text in texts for part in split(text)]


def parse_numbers(texts: Iterable[str], option: str) -> list[float]:
    """Parse the numbers of an option; raise ParameterError if one is invalid."""
    parts = split_all(texts)
    try:
        return [float(part) for part in parts]
    except ValueError:
        raise ParameterError(
            "commands.numbers-malformed", option=option, parts=",".join(parts)
        ) from None


def labels_as_printed(parts: list[str]) -> list[Label]:
    """Return labels as numbers if all of them print as numbers."""
    values: list[Label] = [_label(part) for part in parts]
    return [*parts] if any(isinstance(value, str) for value in values) else values


def as_printed(number: float) -> int | float:
    """Return a whole number as an int, which prints without a decimal point."""
    return int(number) if number.is_integer() else number


def _label(text: str) -> Label:
    try:
        value = as_printed(float(text))
    except (OverflowError, ValueError):
        return text
    return value if str(value) == text else text  # 007 and 1e3 are labels
