"""All truth-inference methods by name, and the default method for some data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain, FiniteDomain, NumericDomain
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.inference.estimate import TruthEstimate
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.labels.dawid_skene import DawidSkene
from quietcrowd.inference.labels.glad import GLAD
from quietcrowd.inference.labels.mace import MACE
from quietcrowd.inference.labels.voting import MajorityVote, WeightedVote
from quietcrowd.inference.method import STORED_AS
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.inference.numbers.averaging import Mean, Median, WeightedMean
from quietcrowd.inference.numbers.gtm import GTM
from quietcrowd.inference.numbers.kdem import KDEm
from quietcrowd.inference.numbers.losses import CATD, CRH
from quietcrowd.inference.numbers.moon import MOON
from quietcrowd.inference.numbers.ratio_mean import RatioMean
from quietcrowd.inference.reading import Given, domain_in
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.validation import find_described

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

MethodT = TypeVar("MethodT", bound=type[FittingMethod])

_BY_NAME: dict[str, type[FittingMethod]] = {}

METHODS: Mapping[str, type[FittingMethod]] = MappingProxyType(_BY_NAME)
"""All methods by name in files, campaigns and on the command line."""


def register_method(kind: MethodT) -> MethodT:
    """Register a method under its name, which must be new; a decorator of its class."""
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


def method_from_dict(data: Mapping[str, Any]) -> FittingMethod:
    """Return the method that `to_dict` described.

    Raises
    ------
    FormatError
        If the name or version is unknown, or a parameter is missing, unknown or invalid.

    Examples
    --------
    >>> method_from_dict(WeightedVote(smoothing=3.0).to_dict()).smoothing
    3.0
    """
    named = {stored: name for name, stored in STORED_AS.items()}
    parameters = {named.get(key, key): value for key, value in data.items()}
    name, version = parameters.pop("method", None), parameters.pop("version", None)
    kind = find_described("method", name, version, METHODS)
    try:
        method: FittingMethod = kind(**parameters)
    except (TypeError, ParameterError) as error:
        raise FormatError("inference.method-unreadable", name=name, error=error) from None
    if differing := method.to_dict().keys() ^ data.keys():
        raise FormatError(
            "inference.method-differs", name=name, differing=", ".join(sorted(differing))
        )
    return method


def usual_method(domain: Domain, mechanism: Mechanism | None = None) -> str:
    """Return the name of the default method for answers, or for the reports of a mechanism.

    That is `NoiseAware` for labels, and for reports whose channel is known (a table, sets of
    labels, Laplace noise, bounded numbers), unless numbers are filled in for tasks without an
    answer and there is no participation bit. `domain` is that of the answers or reports.

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


@overload
def fit(
    data: pd.DataFrame | Answers | Reports | list[Any],
    *,
    gold: Any = None,
    n_jobs: int | None = None,
    mechanisms: Iterable[Mechanism] = (),
    non_private: bool = False,
) -> TruthEstimate[pd.DataFrame]: ...
@overload
def fit(
    data: pl.DataFrame | pl.LazyFrame,
    *,
    gold: Any = None,
    n_jobs: int | None = None,
    mechanisms: Iterable[Mechanism] = (),
    non_private: bool = False,
) -> TruthEstimate[pl.DataFrame]: ...
@overload
def fit(
    data: pa.Table,
    *,
    gold: Any = None,
    n_jobs: int | None = None,
    mechanisms: Iterable[Mechanism] = (),
    non_private: bool = False,
) -> TruthEstimate[pa.Table]: ...


def fit(
    data: Any,
    *,
    gold: Any = None,
    n_jobs: int | None = None,
    mechanisms: Iterable[Mechanism] = (),
    non_private: bool = False,
) -> TruthEstimate[Any]:
    """Infer the truths and the workers' quality by the default method for the data.

    That is `NoiseAware` for labels, and for reports whose noise it models: of all methods it has
    the smallest mean error on real data sets (``research/docs/truth-under-noise.md``). Non-private
    numbers are read by `WeightedMean`. ``estimate.method`` is the method, and ``estimate.notes``
    explain when another one may be better.

    Parameters, results and exceptions are those of `FittingMethod.fit`. In a frame strings and
    whole numbers are labels, and floats are numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"task": [*"aaa"], "worker": [*"uvw"], "label": ["no", "yes", "yes"]})
    >>> estimate = fit(votes, non_private=True)
    >>> estimate.method.name, estimate.truths["truth"].tolist()
    ('noise-aware', ['yes'])
    """
    given = Given.of(data, mechanisms, non_private=non_private)
    method: FittingMethod = METHODS[usual_method_of(given.data)]()
    return method._fit(given, None, gold, n_jobs)


def usual_method_of(data: Any) -> str:
    """Return the name of the default method for reports, answers or a frame of answers."""
    if isinstance(data, Reports):
        return usual_method(data.table.domain, data.mechanism)
    if isinstance(data, Answers):
        return usual_method(data.domain)
    return usual_method(domain_in(data, NoiseAware()))
