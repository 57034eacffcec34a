"""The method that serves what came in, and a fit of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from quietcrowd.answers import Answers
from quietcrowd.frames import ALIASES, as_frame, collected, unmarked, with_usual_names
from quietcrowd.inference.estimate import TruthEstimate
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.inference.registry import METHODS, usual_method
from quietcrowd.mechanisms.mechanism import Reports

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["fit", "usual_method_of"]


@overload
def fit(
    data: pd.DataFrame | Answers | Reports, *, gold: Any = None, threads: int | None = None
) -> TruthEstimate[pd.DataFrame]: ...
@overload
def fit(
    data: pl.DataFrame | pl.LazyFrame, *, gold: Any = None, threads: int | None = None
) -> TruthEstimate[pl.DataFrame]: ...
@overload
def fit(
    data: pa.Table, *, gold: Any = None, threads: int | None = None
) -> TruthEstimate[pa.Table]: ...


def fit(data: Any, *, gold: Any = None, threads: int | None = None) -> TruthEstimate[Any]:
    """Infer the truths and the workers' quality by the default method for the data.

    Reports are read by a method that knows their noise, `NoiseAware`, wherever it does; so are
    plain labels, which it reads with the least error of all methods in the mean over real sets
    (``docs/truth-under-noise.md``). Plain numbers are read by `WeightedMean`. ``estimate.method``
    says which it was, ``estimate.notes`` where another one may do better.

    Parameters
    ----------
    data, gold, threads
        As of `FittingMethod.fit`. In a frame whole numbers are labels, as texts are, and floats
        are numbers.

    Returns
    -------
    TruthEstimate
        As of `FittingMethod.fit`.

    Raises
    ------
    AnswerError
        As `FittingMethod.fit` does.

    Examples
    --------
    >>> import pandas as pd
    >>> votes = pd.DataFrame({"task": [*"aaa"], "worker": [*"uvw"], "label": ["no", "yes", "yes"]})
    >>> estimate = fit(votes)
    >>> estimate.method.name, estimate.truths["truth"].tolist()
    ('noise-aware', ['yes'])
    """
    if not isinstance(data, (Reports, Answers)):
        data = collected(data, [*ALIASES, *(other for more in ALIASES.values() for other in more)])
    method: FittingMethod[Any, Any] = METHODS[usual_method_of(data)]()
    return method.fit(data, gold=gold, threads=threads)


def usual_method_of(data: Any) -> str:
    """Return the name of the method that suits reports, answers or a frame; see `usual_method`."""
    if isinstance(data, Reports):
        return usual_method(data.table.domain, data.mechanism)
    if isinstance(data, Answers):
        return usual_method(data.domain)
    frame = with_usual_names(as_frame(unmarked(data)))
    return usual_method(NoiseAware().domain_of(frame))
