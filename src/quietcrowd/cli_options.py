"""The options of the command line, and what their words mean."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from quietcrowd.domains import Categorical, FiniteDomain, Label, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import METHODS, WeightedVote
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.mechanisms import Mechanism

__all__ = [
    "Columns",
    "Duplicates",
    "Epsilons",
    "Json",
    "Labels",
    "Levels",
    "MaxIterations",
    "MechanismName",
    "MechanismNames",
    "MethodName",
    "MethodNames",
    "Output",
    "SkipOutside",
    "Smoothing",
    "build_domain",
    "build_method",
    "choose",
    "parse_numbers",
    "refuse_overwriting",
    "split",
    "split_all",
]

T = TypeVar("T")

MECHANISMS = Mechanism.registry()


def _choice(known: Mapping[str, Any], *flags: str, several: bool = False) -> Any:
    """Return an option whose value is a name, or several, and that completes it."""
    names = ", ".join(known)
    return typer.Option(
        *flags,
        metavar="NAMES" if several else "NAME",
        help=f"Of {names}; by commas or repeated." if several else f"One of {names}.",
        autocompletion=lambda: list(known),
    )


Columns = Annotated[
    str,
    typer.Option(
        metavar="TASK,WORKER,LABEL", help="Names of the columns of plain answers, by commas."
    ),
]
Duplicates = Annotated[
    str,
    typer.Option(
        metavar="error|first|last",
        help="Where a worker answered a task twice: stop, or keep the first or last answer.",
        autocompletion=lambda: ["error", "first", "last"],
    ),
]
Epsilons = Annotated[
    list[str],
    typer.Option(
        "--epsilon", "-e", metavar="NUMBERS", help="Claimed losses, by commas or repeated."
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
MaxIterations = Annotated[
    int | None, typer.Option(metavar="NUMBER", help="Most iterations before giving up.")
]
MechanismName = Annotated[str, _choice(MECHANISMS, "--mechanism", "-m")]
MechanismNames = Annotated[list[str], _choice(MECHANISMS, "--mechanism", "-m", several=True)]
MethodName = Annotated[str, _choice(METHODS, "--method")]
MethodNames = Annotated[list[str], _choice(METHODS, "--method", several=True)]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Ends in .csv, .parquet or .jsonl (or .csv.gz, .jsonl.gz).",
    ),
]
SkipOutside = Annotated[
    bool,
    typer.Option("--skip-outside", help="Skip and count answers that are missing or not possible."),
]
Smoothing = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="Of weighted-vote: answers of each kind added to every worker's record.",
    ),
]


def split(text: str) -> list[str]:
    """Return the parts of a list with commas; quotes keep a comma inside of a part."""
    try:
        parts = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        raise ParameterError(f"{text!r} is no list with commas: {error}") from None
    return [part.strip() for part in parts if part.strip()]


def split_all(texts: Iterable[str]) -> list[str]:
    """Return the parts of an option that may be repeated and hold commas."""
    return [part for text in texts for part in split(text)]


def parse_numbers(texts: Iterable[str], option: str) -> list[float]:
    """Return the numbers of an option; ParameterError where one is none."""
    parts = split_all(texts)
    try:
        return [float(part) for part in parts]
    except ValueError:
        raise ParameterError(
            f"{option} must be numbers separated by commas; got {','.join(parts)!r}"
        ) from None


def choose(name: str, known: Mapping[str, T], option: str) -> T:
    """Return what a name stands for; ParameterError where it is unknown."""
    if name not in known:
        raise ParameterError(f"{option} must be one of {', '.join(known)}; got {name!r}")
    return known[name]


def build_domain(labels: str | None, levels: str | None) -> FiniteDomain:
    """Return the domain of ``--labels`` or ``--levels``; what prints as a number is one."""
    if labels is not None and levels is not None:
        raise ParameterError("give --labels or --levels, not both")
    if labels is None and levels is None:
        raise ParameterError(
            "give the possible answers with --labels no,yes or --levels 1,2,3: they are public, "
            "and are not read off private answers"
        )
    if levels is not None:
        return Ordinal([_as_printed(number) for number in parse_numbers([levels], "--levels")])
    parts = split(labels or "")
    values: list[Label] = [_label(part) for part in parts]
    return Categorical(parts if any(isinstance(value, str) for value in values) else values)


def _as_printed(number: float) -> int | float:
    return int(number) if number.is_integer() else number


def _label(text: str) -> Label:
    try:
        value = _as_printed(float(text))
    except (OverflowError, ValueError):
        return text
    return value if str(value) == text else text  # 007 and 1e3 are names


def build_method(
    name: str, smoothing: float | None = None, **parameters: Any
) -> FittingMethod[Any, Any]:
    """Return a method by its name, with those of the parameters that are not None."""
    kind = choose(name, METHODS, "--method")
    given = {key: value for key, value in parameters.items() if value is not None}
    if smoothing is not None and kind is WeightedVote:
        given["smoothing"] = smoothing
    return kind(**given)


def refuse_overwriting(source: Path, *targets: Path | None) -> None:
    """Raise ParameterError where a target is what is read from, or two targets are one."""
    places = [target.resolve() for target in targets if target is not None]
    for place in places:
        if source.resolve() in (place, place.parent if source.is_dir() else place):
            raise ParameterError(f"{place} is what is read from: write to another file or folder")
    if len(set(places)) < len(places):
        raise ParameterError(f"{places[0]} is named for two outputs: write to another file")
