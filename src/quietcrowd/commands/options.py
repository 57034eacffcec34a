"""The options of the command line, and what their words mean."""

from __future__ import annotations

import csv
import textwrap
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from attrs import fields_dict

from quietcrowd.domains import (
    Categorical,
    Domain,
    Interval,
    Label,
    Ordinal,
)
from quietcrowd.evaluation import FIGURES
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats.files import check_folder
from quietcrowd.inference import METHODS
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.mechanisms import Mechanism
from quietcrowd.validation import check_names, did_you_mean

__all__ = [
    "COLUMNS",
    "DOMAIN",
    "DUPLICATES",
    "METHOD_LIST",
    "AllTasks",
    "AllWorkers",
    "Between",
    "Columns",
    "Duplicates",
    "Epsilon",
    "Epsilons",
    "Field",
    "FigureName",
    "Gold",
    "Json",
    "Labels",
    "Levels",
    "MaxIterations",
    "MechanismName",
    "MechanismNames",
    "MethodName",
    "MethodNames",
    "NeededOutput",
    "NewLabelConfig",
    "Output",
    "ParticipationPublic",
    "Plain",
    "Scheduler",
    "Simulate",
    "SkipOutside",
    "build_domain",
    "check_label_config",
    "choose",
    "choose_mechanism",
    "choose_method",
    "parse_numbers",
    "split",
    "split_all",
    "three_columns",
]

T = TypeVar("T")

MECHANISMS = Mechanism.registry()


def _choice(known: Mapping[str, Any], *flags: str, names: str, more: str, several: bool) -> Any:
    """Return an option whose value is a name, or several, and that completes it."""
    return typer.Option(
        *flags,
        metavar="NAMES" if several else "NAME",
        help=f"{f'Of {names}; by commas or repeated.' if several else f'One of {names}.'} {more}",
        autocompletion=lambda: list(known),
    )


def _list_methods() -> str:
    """Return all methods with parameters of their own, in lines that the help leaves alone."""
    lines = ["\b", "Methods, and their parameters besides tolerance:"]
    width = max(map(len, METHODS))
    parameters = {name: list(fields_dict(kind)) for name, kind in METHODS.items()}
    shared = set.intersection(*map(set, parameters.values()))
    for name, keys in parameters.items():
        own = ", ".join(key for key in keys if key not in shared)
        lines += textwrap.wrap(
            f"{name:<{width}}  {own}",
            78,
            initial_indent="  ",
            subsequent_indent=" " * (width + 4),
            break_on_hyphens=False,
        )
    return "\n".join(lines)


METHOD_LIST = _list_methods()


AllTasks = Annotated[
    Path | None,
    typer.Option(
        "--all-tasks",
        metavar="FILE",
        help="All tasks there are, public, in a column task; for what hides who answered.",
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
"""Of plain answers, where no others are named."""

Columns = Annotated[
    str,
    typer.Option(
        metavar="TASK,WORKER,LABEL", help="Names of the columns of plain answers, by commas."
    ),
]
DUPLICATES = "error"
"""What is done with a second answer, where nothing else is asked for."""

Duplicates = Annotated[
    str,
    typer.Option(
        metavar="error|first|last",
        help="Where a worker answered a task twice: stop, or keep the first or last answer.",
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
FigureName = Annotated[
    str,
    typer.Argument(
        metavar="FIGURE",
        help=f"One of {', '.join(FIGURES)}.",
        autocompletion=lambda: list(FIGURES),
    ),
]
Gold = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Known truths of some tasks, columns task and label: they stay as they are.",
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
_mechanism_choice = partial(
    _choice,
    MECHANISMS,
    "--mechanism",
    "-m",
    names=", ".join(MECHANISMS),
    more="Parameters after colons: laplace:fill=midpoint.",
)
_method_choice = partial(_choice, METHODS, "--method", names="those below")
_METHOD_PARAMETERS = "Parameters after colons: crh:loss=absolute."
MechanismName = Annotated[str, _mechanism_choice(several=False)]
MechanismNames = Annotated[list[str] | None, _mechanism_choice(several=True)]
MethodName = Annotated[
    str | None,
    _method_choice(several=False, more=f"{_METHOD_PARAMETERS} Default: by what an answer is."),
]
MethodNames = Annotated[list[str] | None, _method_choice(several=True, more=_METHOD_PARAMETERS)]
_SUFFIXES = "Ends in .csv, .tsv, .parquet or .jsonl; .csv.gz, .tsv.gz, .jsonl.gz."

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


def check_label_config(path: Path | None, file_format: str | None) -> None:
    """Raise unless a config can be written to `path`, beside tasks of Label Studio."""
    if path is None:
        return
    if file_format != "label-studio":
        raise ParameterError(
            "--label-config goes with a file of Label Studio's tasks, whose name ends in .json"
        )
    check_folder(path)


def split(text: str) -> list[str]:
    """Return the parts of a list with commas; quotes keep a comma inside of a part."""
    try:
        parts = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        raise ParameterError(f"{text!r} is no list with commas: {error}") from None
    return [part.strip() for part in parts if part.strip()]


def three_columns(text: str) -> tuple[str, str, str]:
    """Return the names of the columns of tasks, workers and labels."""
    names = split(text)
    if len(names) != 3:
        raise ParameterError(f"--columns must be three names, by commas; got {text!r}")
    return names[0], names[1], names[2]


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
        raise ParameterError(
            f"{option} must be one of {', '.join(known)}; got {name!r}{did_you_mean(name, known)}"
        )
    return known[name]


def choose_mechanism(text: str) -> tuple[str, Callable[..., Mechanism]]:
    """Return the name of a mechanism with its parameters, and what makes it from an epsilon.

    ``laplace:fill=midpoint`` is `LaplacePerturbation` with ``fill="midpoint"``.
    """
    elsewhere = {"epsilon": "--epsilon", "domain": "--labels, --levels or --between"}
    kind, parameters = _choose_with_parameters(text, MECHANISMS, "--mechanism", elsewhere)
    return text, partial(kind.from_claimed_epsilon, **parameters)


def choose_method(text: str, **options: Any) -> FittingMethod[Any, Any]:
    """Return a method by its name with its parameters, and those of the options not None.

    ``crh:loss=absolute`` is `CRH` with ``loss="absolute"``. `options` are parameters that have an
    option of their own on the command line, and no other place.
    """
    elsewhere = {key: f"--{key.replace('_', '-')}" for key in options}
    kind, parameters = _choose_with_parameters(text, METHODS, "--method", elsewhere)
    check_names(kind.name, parameters, [key for key in fields_dict(kind) if key not in elsewhere])
    given = {key: value for key, value in options.items() if value is not None}
    return kind(**given, **parameters)


def _choose_with_parameters(
    text: str, known: Mapping[str, T], option: str, elsewhere: Mapping[str, str]
) -> tuple[T, dict[str, Any]]:
    """Return what ``name:key=value:key=value`` names, and its parameters.

    Values are numbers, ``true``, ``false``, ``none``, or words. `elsewhere` says of parameters that
    belong to other options to which.
    """
    name, *given = text.split(":")
    kind = choose(name, known, option)
    parameters: dict[str, Any] = {}
    for part in given:
        key, _, value = part.partition("=")
        if not key or not value:
            raise ParameterError(
                f"{option}: parameters are written name:key=value:key=value; got {text!r}"
            )
        if key in elsewhere:
            raise ParameterError(
                f"{option}: {key!r} belongs to another option, {elsewhere[key]}; got {text!r}"
            )
        if key in parameters:
            raise ParameterError(f"{option}: {key!r} is given twice; got {text!r}")
        parameters[key] = _parameter(value)
    return kind, parameters


_WORDS = {"none": None, "true": True, "false": False}

_LARGEST_WHOLE = 2**53
"""Whole numbers below are ints; from here on floats skip some."""


def _parameter(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        number = float(text)
    except ValueError:
        return text
    return _as_printed(number) if abs(number) < _LARGEST_WHOLE else number


DOMAIN = ("--labels", "--levels", "--between")
"""The options that say what an answer can be, of which one is given."""


def build_domain(labels: str | None, levels: str | None, between: str | None = None) -> Domain:
    """Return the domain of one of three options; what prints as a number is one."""
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
