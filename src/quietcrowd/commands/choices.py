"""Mechanisms and methods by their names on the command line, with parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from attrs import fields_dict

from quietcrowd.commands import options
from quietcrowd.commands.declare import option, option_group
from quietcrowd.commands.makers import BEST, BestMechanism
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.mechanism import require_kept
from quietcrowd.validation import check_names, did_you_mean

if TYPE_CHECKING:
    from quietcrowd.inference.fitting import FittingMethod

T = TypeVar("T")

MECHANISMS = Mechanism.registry()

METHODS = {
    "noise-aware": "prior, shared_errors, groups, over_time",
    "majority": "",
    "weighted-vote": "smoothing",
    "dawid-skene": "one_coin, smoothing, trust, class_smoothing",
    "glad": "",
    "mace": "smoothing, trust",
    "mean": "",
    "median": "",
    "weighted-mean": "floor, smoothing",
    "crh": "loss, divisor, normaliser, per_answer",
    "catd": "loss, alpha, smoothing",
    "gtm": "alpha, beta, prior_mean, prior_sd, outliers",
    "kdem": "truth",
    "moon": "variant, solver, alpha, prior_share, truth_prior",
    "ratio-mean": "",
}
"""Parameters of each method that not all methods have.

Help and completion use them, as the import of all methods is slow; tests compare them with these.
"""


def _choice(
    *flags: str, known: Iterable[str], listed: str, more: str, several: bool, default: Any
) -> Any:
    return option(
        *flags,
        metavar="NAMES" if several else "NAME",
        help=f"{f'Of {listed}; comma-separated.' if several else f'One of {listed}.'} {more}",
        autocompletion=lambda: list(known),
        default=default,
    )


def mechanism_option(*, several: bool = False, default: Any = None, usual: str = "") -> Any:
    """Declare the option for a mechanism, or for several; `usual` describes the default."""
    known = [*MECHANISMS, BEST]
    more = (
        "Parameters after colons: laplace:fill=midpoint. best minimizes the error under public "
        f"facts: best:workers=50:prior=no=0.9.{usual}"
    )
    flags = ("--mechanism", "-m")
    listed = ", ".join(known)
    return _choice(*flags, known=known, listed=listed, more=more, several=several, default=default)


def method_option(*, several: bool = False, default: Any = None) -> Any:
    """Declare the option for a method, or for several."""
    more = "Parameters after colons: crh:loss=absolute."
    if not several:
        more += (
            " Default: noise-aware for labels, and for numbers with noise that it supports; else "
            "weighted-vote or weighted-mean."
        )
    known = METHODS
    return _choice(known=known, listed="those below", more=more, several=several, default=default)


@option_group("Privacy")
class Privacy:
    """Options for a mechanism and its epsilon."""

    mechanism: str = mechanism_option(default="one-layer")
    epsilon: float = options.EPSILON


OPTIONS_OF = {"max_iter": "--max-iter", "random_state": "--seed"}
"""Parameters of methods that have an option."""


def _list_methods() -> str:
    """List all methods with their parameters, marked so that the help keeps the line breaks."""
    width = max(map(len, METHODS))
    lines = ["\b", "Methods, and their parameters except tol:"]
    lines += [f"  {name:<{width}}  {own}".rstrip() for name, own in METHODS.items()]
    return "\n".join(lines)


METHODS_LISTED = _list_methods()
"""Epilog of the help of commands with a method option."""


def choose(name: str, known: Mapping[str, T], flag: str) -> T:
    """Return the value of a name; raise ParameterError if it is unknown."""
    if name not in known:
        raise ParameterError(
            "commands.unknown-choice",
            flag=flag,
            known=", ".join(known),
            name=name,
            suggestion=did_you_mean(name, known),
        )
    return known[name]


def choose_mechanism(text: str, flag: str = "--mechanism") -> tuple[str, Callable[..., Mechanism]]:
    """Return a mechanism's name with parameters, and a factory that takes domain and epsilon.

    ``laplace:fill=midpoint`` is `LaplaceMechanism` with ``fill="midpoint"``; ``best:workers=50``
    is the result of `best_mechanism` for 50 workers. Errors name `flag`.
    """
    elsewhere = {"epsilon": "--epsilon", "domain": "--labels, --levels or --between"}
    if text.split(":", maxsplit=1)[0] == BEST:
        _, facts = _choose_with_parameters(text, {BEST: None}, flag, elsewhere)
        return text, BestMechanism(facts=facts)
    require_kept(text.split(":", maxsplit=1)[0])
    kind, parameters = _choose_with_parameters(text, MECHANISMS, flag, elsewhere)
    return text, partial(kind.from_claimed_epsilon, **parameters)


def choose_method(text: str, **given: Any) -> FittingMethod:
    """Return a method from its name with parameters, and from the options that are not None.

    ``crh:loss=absolute`` is `CRH` with ``loss="absolute"``; ``noise-aware:prior=no=0.9/yes=0.1`` is
    `NoiseAware` with ``prior={"no": 0.9, "yes": 0.1}``. In a label ``%2F`` is a slash, ``%3A`` a
    colon and ``%25`` a percent sign, as in URLs. Parameters in `given` have a separate option on
    the command line and are invalid in `text`.
    """
    from quietcrowd.inference import METHODS as KINDS

    elsewhere = {key: OPTIONS_OF[key] for key in given}
    kind, parameters = _choose_with_parameters(text, KINDS, "--method", elsewhere)
    check_names(kind.name, parameters, [key for key in fields_dict(kind) if key not in elsewhere])
    written = {key: value for key, value in given.items() if value is not None}
    return kind(**written, **parameters)


def _choose_with_parameters(
    text: str, known: Mapping[str, T], flag: str, elsewhere: Mapping[str, str]
) -> tuple[T, dict[str, Any]]:
    """Parse ``name:key=value:key=value``; return the named value and its parameters.

    Values are numbers, ``true``, ``false``, ``none``, words, or mappings such as
    ``no=0.9/yes=0.1``. `elsewhere` maps parameters to the options that set them instead.
    """
    name, *given = text.split(":")
    kind = choose(name, known, flag)
    parameters: dict[str, Any] = {}
    for part in given:
        key, _, value = part.partition("=")
        if not key or not value:
            raise ParameterError("commands.parameters-malformed", flag=flag, text=text)
        if key in elsewhere:
            raise ParameterError(
                "commands.parameter-of-another-option",
                flag=flag,
                key=key,
                elsewhere=elsewhere[key],
                text=text,
            )
        if key in parameters:
            raise ParameterError("commands.parameter-twice", flag=flag, key=key, text=text)
        parameters[key] = _parameter(value)
    return kind, parameters


_WORDS = {"none": None, "true": True, "false": False}

_LARGEST_WHOLE = 2**53
"""Whole numbers below it become ints; beyond it floats are not exact."""


def _parameter(text: str) -> Any:
    if "=" in text:
        pairs = [part.rpartition("=") for part in text.split("/")]
        if len({unquote(label) for label, _, _ in pairs}) < len(pairs) or not all(map(all, pairs)):
            raise ParameterError("commands.mapping-malformed", text=text)
        return {unquote(label): _parameter(number) for label, _, number in pairs}
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        number = float(text)
    except ValueError:
        return text
    return options.as_printed(number) if abs(number) < _LARGEST_WHOLE else number
