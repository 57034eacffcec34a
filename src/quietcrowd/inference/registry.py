"""All truth-inference methods by name, and back from their descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from quietcrowd.domains import Domain, FiniteDomain, NumericDomain
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.labels.dawid_skene import DawidSkene
from quietcrowd.inference.labels.glad import GLAD
from quietcrowd.inference.labels.mace import MACE
from quietcrowd.inference.labels.voting import MajorityVote, WeightedVote
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.inference.numbers.averaging import Mean, Median, WeightedMean
from quietcrowd.inference.numbers.gtm import GTM
from quietcrowd.inference.numbers.kdem import KDEm
from quietcrowd.inference.numbers.losses import CATD, CRH
from quietcrowd.inference.numbers.moon import MOON
from quietcrowd.inference.numbers.ratio_mean import RatioMean
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.validation import find_described

__all__ = ["METHODS", "method_from_dict", "register_method", "usual_method"]

MethodT = TypeVar("MethodT", bound=type[FittingMethod[Any, Any]])

_BY_NAME: dict[str, type[FittingMethod[Any, Any]]] = {}

METHODS: Mapping[str, type[FittingMethod[Any, Any]]] = MappingProxyType(_BY_NAME)
"""Every method by its name in files, campaigns and on the command line."""


def register_method(kind: MethodT) -> MethodT:
    """Make a method known by its name; a decorator of its class.

    Raises
    ------
    TypeError
        Where another method has the name.
    """
    if _BY_NAME.setdefault(kind.name, kind) is not kind:
        raise TypeError(f"the name {kind.name!r} is that of {_BY_NAME[kind.name].__name__}")
    return kind


for _method in (
    NoiseAware,
    MajorityVote,
    WeightedVote,
    DawidSkene,
    GLAD,
    MACE,
    Mean,
    Median,
    WeightedMean,
    CRH,
    CATD,
    GTM,
    KDEm,
    MOON,
    RatioMean,
):
    register_method(_method)


def method_from_dict(data: Mapping[str, Any]) -> FittingMethod[Any, Any]:
    """Return the method that its `to_dict` described.

    Raises
    ------
    FormatError
        Where the name or version is unknown, or a parameter is missing, unknown or out of range.

    Examples
    --------
    >>> method_from_dict(WeightedVote(smoothing=3.0).to_dict()).smoothing
    3.0
    """
    parameters = dict(data)
    name, version = parameters.pop("method", None), parameters.pop("version", None)
    kind = find_described("method", name, version, METHODS)
    try:
        method: FittingMethod[Any, Any] = kind(**parameters)
    except (TypeError, ParameterError) as error:
        raise FormatError(f"method {name!r} cannot be read: {error}") from None
    if missing := method.to_dict().keys() - data.keys():
        raise FormatError(f"method {name!r} lacks {', '.join(sorted(missing))}")
    return method


def usual_method(domain: Domain, mechanism: Mechanism | None = None) -> str:
    """Return the name of the method that suits plain answers, or reports.

    Of labels, and of reports whose law is known (a table, sets of labels, Laplace noise, bounded
    numbers), that is `NoiseAware`, unless numbers are filled in for tasks without an answer and no
    participation bit tells which.

    Parameters
    ----------
    domain : Domain
        What an answer, or a report, can be.
    mechanism : Mechanism, optional
        What made the reports; by default they are plain answers.

    Examples
    --------
    >>> from quietcrowd import Categorical, RandomizedResponse
    >>> labels = Categorical(["no", "yes"])
    >>> usual_method(labels), usual_method(labels, RandomizedResponse(domain=labels, epsilon=1.0))
    ('noise-aware', 'noise-aware')
    """
    if mechanism is not None:
        bits = mechanism.participation_domain is not None
        filled = mechanism.every_task and isinstance(domain, NumericDomain) and not bits
        if not filled and NoiseAware().models_noise(mechanism):
            return NoiseAware.name
        if bits:
            return RatioMean.name
    labels = isinstance(domain, FiniteDomain) or not isinstance(domain, NumericDomain)
    if labels and mechanism is None:
        return NoiseAware.name
    return WeightedVote.name if labels else WeightedMean.name
