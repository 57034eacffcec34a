"""Mechanisms and methods by their names on the command line, with parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import unquote

import typer
from attrs import fields_dict

from quietcrowd.commands import names
from quietcrowd.commands.best_choice import BEST, BestMechanism
from quietcrowd.commands.options import as_printed
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.mechanism import require_kept
from quietcrowd.validation import check_names, did_you_mean

if TYPE_CHECKING:
    from quietcrowd.inference.fitting import FittingMethod

__all__ = [
    "MECHANISMS",
    "METHODS_LISTED",
    "MechanismName",
    "MechanismNames",
    "MethodName",
    "MethodNames",
    "choose",
    "choose_mechanism",
    "choose_method",
]

T = TypeVar("T")

MECHANISMS = Mechanism.registry()


def _choice(*flags: str, known: Iterable[str], listed: str, more: str, several: bool) -> Any:
    return typer.Option(
        *flags,
        metavar="NAMES" if several else "NAME",
        help=f"{f'Of {listed}; by commas or repeated.' if several else f'One of {listed}.'} {more}",
        autocompletion=lambda: list(known),
    )


_mechanism = partial(
    _choice,
    "--mechanism",
    "-m",
    known=[*MECHANISMS, BEST],
    listed=", ".join([*MECHANISMS, BEST]),
    more="Parameters after colons: laplace:fill=midpoint. best: the one of least error under "
    "public facts, as best:workers=50:prior=no=0.9.",
)
_method = partial(_choice, "--method", known=names.METHODS, listed="those below")
_METHOD_PARAMETERS = "Parameters after colons: crh:loss=absolute."

MechanismName = Annotated[str, _mechanism(several=False)]
MechanismNames = Annotated[list[str] | None, _mechanism(several=True)]
MethodName = Annotated[
    str | None,
    _method(
        several=False,
        more=f"{_METHOD_PARAMETERS} Default: noise-aware for labels, and for numbers whose noise "
        "it knows; else weighted-vote or weighted-mean.",
    ),
]
MethodNames = Annotated[list[str] | None, _method(several=True, more=_METHOD_PARAMETERS)]


def _list_methods() -> str:
    """List all methods with their parameters, marked so that the help keeps the line breaks."""
    width = max(map(len, names.METHODS))
    lines = ["\b", "Methods, and their parameters besides tolerance:"]
    lines += [f"  {name:<{width}}  {own}".rstrip() for name, own in names.METHODS.items()]
    return "\n".join(lines)


METHODS_LISTED = _list_methods()
"""Epilog of the help of commands with a method option."""


def choose(name: str, known: Mapping[str, T], option: str) -> T:
    """Return the value of a name; raise ParameterError if it is unknown."""
    if name not in known:
        raise ParameterError(
            f"{option} must be one of {', '.join(known)}; got {name!r}{did_you_mean(name, known)}"
        )
    return known[name]


def choose_mechanism(
    text: str, option: str = "--mechanism"
) -> tuple[str, Callable[..., Mechanism]]:
    """Return a mechanism's name with parameters, and a factory that takes domain and epsilon.

    ``laplace:fill=midpoint`` is `LaplacePerturbation` with ``fill="midpoint"``; ``best:workers=50``
    is the result of `best_mechanism` for 50 workers. Errors name `option`.
    """
    elsewhere = {"epsilon": "--epsilon", "domain": "--labels, --levels or --between"}
    if text.split(":", maxsplit=1)[0] == BEST:
        _, facts = _choose_with_parameters(text, {BEST: None}, option, elsewhere)
        return text, BestMechanism(facts=facts)
    require_kept(text.split(":", maxsplit=1)[0])
    kind, parameters = _choose_with_parameters(text, MECHANISMS, option, elsewhere)
    return text, partial(kind.from_claimed_epsilon, **parameters)


def choose_method(text: str, **options: Any) -> FittingMethod:
    """Return a method from its name with parameters, and from the options that are not None.

    ``crh:loss=absolute`` is `CRH` with ``loss="absolute"``; ``noise-aware:prior=no=0.9/yes=0.1`` is
    `NoiseAware` with ``prior={"no": 0.9, "yes": 0.1}``. In a label ``%2F`` is a slash, ``%3A`` a
    colon and ``%25`` a percent sign, as in URLs. Parameters in `options` have a separate option on
    the command line and are invalid in `text`.
    """
    from quietcrowd.inference import METHODS

    elsewhere = {key: f"--{key.replace('_', '-')}" for key in options}
    kind, parameters = _choose_with_parameters(text, METHODS, "--method", elsewhere)
    check_names(kind.name, parameters, [key for key in fields_dict(kind) if key not in elsewhere])
    given = {key: value for key, value in options.items() if value is not None}
    return kind(**given, **parameters)


def _choose_with_parameters(
    text: str, known: Mapping[str, T], option: str, elsewhere: Mapping[str, str]
) -> tuple[T, dict[str, Any]]:
    """Parse ``name:key=value:key=value``; return the named value and its parameters.

    Values are numbers, ``true``, ``false``, ``none``, words, or mappings such as
    ``no=0.9/yes=0.1``. `elsewhere` maps parameters to the options that set them instead.
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
"""Whole numbers below it become ints; beyond it floats are not exact."""


def _parameter(text: str) -> Any:
    if "=" in text:
        pairs = [part.rpartition("=") for part in text.split("/")]
        if len({unquote(label) for label, _, _ in pairs}) < len(pairs) or not all(map(all, pairs)):
            raise ParameterError(
                "labels and numbers are written label=number/label=number, with %2F for a slash, "
                f"%3A for a colon and %25 for % in a label; got {text!r}"
            )
        return {unquote(label): _parameter(number) for label, _, number in pairs}
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        number = float(text)
    except ValueError:
        return text
    return as_printed(number) if abs(number) < _LARGEST_WHOLE else number
