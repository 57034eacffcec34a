"""Options that several commands share, and their parsers."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from quietcrowd.domains import Categorical, Domain, Interval, Label, Ordinal
from quietcrowd.exceptions import ParameterError

__all__ = [
    "COLUMNS",
    "DOMAIN",
    "DUPLICATES",
    "AllTasks",
    "AllWorkers",
    "Between",
    "Columns",
    "Departures",
    "DeparturesLost",
    "Duplicates",
    "Epsilon",
    "Epsilons",
    "Field",
    "Gold",
    "Json",
    "Labels",
    "Levels",
    "MaxIterations",
    "NeededOutput",
    "NewLabelConfig",
    "Output",
    "ParticipationPublic",
    "Plain",
    "Scheduler",
    "Simulate",
    "SkipOutside",
    "as_printed",
    "build_domain",
    "four_columns",
    "labels_as_printed",
    "parse_numbers",
    "split",
    "split_all",
    "three_columns",
]

AllTasks = Annotated[
    Path | None,
    typer.Option(
        "--all-tasks",
        metavar="FILE",
        help="The public list of all tasks, in a column task; for mechanisms that hide who "
        "answered.",
    ),
]
AllWorkers = Annotated[
    Path | None,
    typer.Option(
        "--all-workers", metavar="FILE", help="All workers there are, in a column worker."
    ),
]
Between = Annotated[
    str | None,
    typer.Option(metavar="LOW,HIGH", help="Public bounds, where answers are numbers: 0,10."),
]
COLUMNS = "task,worker,label"
"""Default columns of non-private answers."""

Columns = Annotated[
    str,
    typer.Option(
        metavar="TASK,WORKER,LABEL", help="Names of the columns of plain answers, by commas."
    ),
]
Departures = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="QUIETCROWD_DEPARTURES",
        help="The journal of who left, outside of the database and its copies: sqlite:///FILE, "
        "postgresql://USER@HOST/OTHER or none. Default: a file beside that of SQLite.",
    ),
]
DeparturesLost = Annotated[
    bool,
    typer.Option(
        "--departures-lost",
        help="Give it once if the journal of who left was lost: workers who left before come "
        "back with a copy. Uses what is at --departures, or a new journal.",
    ),
]
DUPLICATES = "error"
"""Default treatment of a second answer."""

Duplicates = Annotated[
    str,
    typer.Option(
        metavar="error|first|last",
        help="If a worker answered a task twice: stop, or use the first or last answer.",
        autocompletion=lambda: ["error", "first", "last"],
    ),
]
Epsilon = Annotated[
    float,
    typer.Option("--epsilon", "-e", metavar="NUMBER", help="Privacy loss per answer, as claimed."),
]
Epsilons = Annotated[
    list[str],
    typer.Option(
        "--epsilon", "-e", metavar="NUMBERS", help="Claimed losses, by commas or repeated."
    ),
]
Field = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Which answers are meant, where a file of MTurk, Toloka or Label Studio has several.",
    ),
]
Gold = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Known truths of some tasks, columns task and label; they are not changed.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Labels = Annotated[
    str | None,
    typer.Option(metavar="LABELS", help="All possible answers, public, by commas: no,yes."),
]
Levels = Annotated[
    str | None,
    typer.Option(metavar="NUMBERS", help="Numeric levels, increasing, instead of labels: 1,2,3."),
]
MaxIterations = Annotated[int | None, typer.Option(metavar="NUMBER", help="The most iterations.")]
_SUFFIXES = (
    "Ends in .csv, .tsv, .parquet, .jsonl or .xlsx; .csv.gz, .tsv.gz, .jsonl.gz. - is standard "
    "output."
)

NewLabelConfig = Annotated[
    Path | None,
    typer.Option(
        "--label-config",
        metavar="FILE",
        help="Write the config of a project of Label Studio too, for its file of tasks.",
    ),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help=_SUFFIXES)]

NeededOutput = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help=f"Required. {_SUFFIXES}"),
]
Plain = Annotated[
    bool, typer.Option("--plain", help="The file or folder holds plain answers, not reports.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A Dask cluster that works on a store: tcp://host:port, or local:N for N processes "
        "here. Default: threads of this process.",
    ),
]
Simulate = Annotated[
    int | None,
    typer.Option(
        min=0, metavar="SEED", help="Reproducible noise for experiments; protects nobody."
    ),
]
SkipOutside = Annotated[
    bool,
    typer.Option("--skip-outside", help="Skip and count answers that are missing or not possible."),
]


ParticipationPublic = Annotated[
    bool,
    typer.Option(
        "--participation-public",
        help="Randomise although rows were skipped: all may know whose answers were not possible.",
    ),
]


def split(text: str) -> list[str]:
    """Split a comma-separated list; quotes protect a comma."""
    try:
        parts = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        raise ParameterError(f"{text!r} is no list with commas: {error}") from None
    return [part.strip() for part in parts if part.strip()]


def three_columns(text: str) -> tuple[str, str, str]:
    """Return the names of the task, worker and label columns."""
    names = split(text)
    if len(names) != 3:
        raise ParameterError(f"--columns must be three names, by commas; got {text!r}")
    _check_named_once(names)
    return names[0], names[1], names[2]


def four_columns(text: str) -> tuple[str, str, str, str]:
    """Return the names of the worker, left, right and label columns."""
    names = split(text)
    if len(names) != 4:
        raise ParameterError(
            f"--columns of comparisons must be four names, by commas; got {text!r}"
        )
    _check_named_once(names)
    return names[0], names[1], names[2], names[3]


def _check_named_once(names: list[str]) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ParameterError(f"--columns names {name!r} twice")


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
            f"{option} must be numbers separated by commas; got {','.join(parts)!r}"
        ) from None


DOMAIN = ("--labels", "--levels", "--between")
"""Options for the possible answers, of which one is required."""


def build_domain(labels: str | None, levels: str | None, between: str | None = None) -> Domain:
    """Return the domain of one of three options; labels that print as numbers become numbers."""
    given = sum(option is not None for option in (labels, levels, between))
    if given > 1:
        raise ParameterError("give one of --labels, --levels and --between, not several")
    if not given:
        raise ParameterError(
            "give the possible answers with --labels no,yes or --levels 1,2,3 or --between 0,10: "
            "they are public, and are not read off private answers"
        )
    if between is not None:
        bounds = parse_numbers([between], "--between")
        if len(bounds) != 2:
            raise ParameterError(f"--between must be two numbers, by a comma; got {between!r}")
        return Interval(low=bounds[0], high=bounds[1])
    if levels is not None:
        return Ordinal([as_printed(number) for number in parse_numbers([levels], "--levels")])
    return Categorical(labels_as_printed(split(labels or "")))


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
