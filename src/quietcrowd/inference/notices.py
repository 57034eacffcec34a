"""Warnings of a fit: ignored, simulated or too much noise, and no convergence."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import fields_dict

from quietcrowd.domains import FiniteDomain
from quietcrowd.exceptions import (
    ConvergenceWarning,
    NoiseIgnoredWarning,
    NoSignalWarning,
    SimulatedNoiseWarning,
)
from quietcrowd.inference.loop import LoopResult
from quietcrowd.inference.method import TruthInference
from quietcrowd.inference.model import Model
from quietcrowd.inference.reading import Observations
from quietcrowd.inference.task_estimates import Scatter
from quietcrowd.mechanisms.channels.base import known_grid


def warn_each(found: Iterable[Warning], stacklevel: int) -> None:
    """Issue warnings; `stacklevel` is that of `warnings.warn`, called in place of this."""
    for one in found:
        warnings.warn(one, stacklevel=stacklevel + 1)


def warn_about_source(method: TruthInference, observed: Observations, stacklevel: int) -> None:
    """Warn about the reports that a method reads."""
    if observed.mechanism is not None:
        found = report_warnings(method, observed.mechanism, simulated=observed.simulated)
        warn_each(found, stacklevel + 1)


def warn_about_result(
    model: Model[Any, Any, Any], mechanism: Any, result: LoopResult, stacklevel: int
) -> None:
    """Warn about the findings of a loop; `mechanism` is None for non-private answers."""
    scatter = Scatter.of(result.estimates)
    found = [*signal_warnings(model, mechanism, result.tally, result.state, scatter)]
    warn_each([*found, *_convergence_warnings(model.method, result)], stacklevel + 1)


def report_warnings(
    method: TruthInference, mechanism: Any, *, simulated: bool
) -> Iterator[Warning]:
    """Yield warnings about the reports of a mechanism that a method reads."""
    if simulated:
        yield simulated_warning()
    if mechanism.is_uninformative:
        yield NoSignalWarning(
            "inference.reports-without-signal", type_name=type(mechanism).__name__
        )
    if not method.models_noise(mechanism):
        yield _ignored(method, mechanism)
    elif method.counts_filled and mechanism.every_task:
        yield NoiseIgnoredWarning("inference.fill-biases-truths", type_name=type(method).__name__)


def signal_warnings(
    model: Model[Any, Any, Any], mechanism: Any, tally: Any, state: Any, scatter: Scatter
) -> Iterator[Warning]:
    """Yield the warnings of a model after the last pass, except those of `report_warnings`."""
    if mechanism is None or not mechanism.is_uninformative:
        yield from model.warnings(tally, state, scatter)


def _convergence_warnings(method: TruthInference, result: LoopResult) -> Iterator[Warning]:
    """Yield a warning if a loop stopped at its limit; not at one below the default."""
    limit = method.max_iter
    usual: Any = fields_dict(type(method))["max_iter"].default
    if not result.converged and limit >= usual and not method.enough_at_limit:
        yield ConvergenceWarning(
            "inference.not-converged",
            type_name=type(method).__name__,
            limit=limit,
            value=10 * limit,
        )


def _ignored(method: TruthInference, mechanism: Any) -> NoiseIgnoredWarning:
    more = ""
    if method.corrects_quality:
        more += " It corrects only the workers' quality for the noise, if possible."
    if mechanism.every_task:
        more += " Every worker reports every task: noise for a missing answer counts as an answer."
    ignoring, ignored = type(method).__name__, type(mechanism).__name__
    if _has_known_distribution(mechanism):
        return NoiseIgnoredWarning(
            "inference.noise-left-to-noise-aware",
            type_name=ignoring,
            other_type=ignored,
            more=more,
        )
    return NoiseIgnoredWarning(
        "inference.noise-not-modelled", type_name=ignoring, other_type=ignored, more=more
    )


def _has_known_distribution(mechanism: Any) -> bool:
    """Return whether `NoiseAware` is the default for such reports; a test compares the two."""
    if mechanism.options is not None:
        return True
    if isinstance(mechanism.domain, FiniteDomain) and mechanism.channel.sets is not None:
        return True
    grid = known_grid(mechanism.worker_channel) is not None
    filled = mechanism.every_task and mechanism.participation_domain is None
    return (grid and not filled) or (not grid and mechanism.report_distribution is not None)


def simulated_warning() -> SimulatedNoiseWarning:
    """Return the warning that reports are simulated."""
    return SimulatedNoiseWarning("inference.simulated-reports")


@contextmanager
def ignores_noise() -> Iterator[None]:
    """Silence `NoiseIgnoredWarning` while reports are read as answers on purpose.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.make_crowd(tasks=5, workers=10)
    >>> mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    >>> with ignores_noise():
    ...     estimate = qc.MajorityVote().fit(mechanism.randomize(crowd.answers))
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseIgnoredWarning)
        yield
