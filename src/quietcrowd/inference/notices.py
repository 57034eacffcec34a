"""What to warn of: noise that is read as answers, simulated, or without a signal; no rest."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import fields_dict

from quietcrowd.domains import FiniteDomain
from quietcrowd.exceptions import (
    NoiseIgnoredWarning,
    NoSignalWarning,
    NotConvergedWarning,
    SimulatedNoiseWarning,
)
from quietcrowd.inference.method import TruthInference
from quietcrowd.inference.partition import Summary
from quietcrowd.inference.passes import Scatter
from quietcrowd.inference.reading import Observations
from quietcrowd.mechanisms.channels.base import known_grid

__all__ = [
    "noise_ignored",
    "noise_warnings",
    "report_warnings",
    "rest_warnings",
    "signal_warnings",
    "simulated_warning",
    "warn_of",
]

Method = TruthInference[Any, Any]


def warn_of(found: Iterable[Warning], stacklevel: int) -> None:
    """Give warnings; `stacklevel` is as of `warnings.warn`, called where this is."""
    for one in found:
        warnings.warn(one, stacklevel=stacklevel + 1)


def noise_warnings(method: Method, observed: Observations) -> Iterator[Warning]:
    """Yield what to warn of where a method reads reports, or a frame that holds them."""
    if observed.mechanism is not None:
        yield from report_warnings(method, observed.mechanism, simulated=observed.simulated)
    elif observed.simulated:
        yield simulated_warning()
    if observed.marked:
        yield NoiseIgnoredWarning(
            f"the frame says that it holds randomised reports: {type(method).__name__} reads them "
            "as plain answers, and is surer of the truths than it should be. Give it the Reports "
            "themselves."
        )


def report_warnings(method: Method, mechanism: Any, *, simulated: bool) -> Iterator[Warning]:
    """Yield what to warn of where a method is given the reports of a mechanism.

    Parameters
    ----------
    method : TruthInference
        What reads them.
    mechanism : Mechanism
        What made them.
    simulated : bool
        Whether the noise is simulated.
    """
    if simulated:
        yield simulated_warning()
    if mechanism.tells_nothing:
        yield NoSignalWarning(
            f"the reports of {type(mechanism).__name__} tell nothing of the answers: its epsilon "
            "is 0 or next to it, and what is found in them is chance. It takes a larger epsilon."
        )
    if not method.models_noise(mechanism):
        yield _ignored(method, mechanism)
    elif mechanism.every_task and method.counts_filled:
        yield NoiseIgnoredWarning(
            f"{type(method).__name__} knows the noise, but not who answered: every worker reports "
            "every task, and what was filled in for no answer counts as an answer and draws the "
            'truths towards it. With participation="released", RatioMean is free of that.'
        )


def signal_warnings(
    method: Method, mechanism: Any, summary: Summary, tally: Any, state: Any, scatter: Scatter
) -> Iterator[Warning]:
    """Yield what to warn of after an inference, but where it was said before.

    Reports that tell nothing whatever is found in them are told of by `report_warnings`.

    Parameters
    ----------
    method, mechanism
        As of `report_warnings`; the mechanism is None where answers are plain.
    summary, tally, state, scatter
        As of `TruthInference.signal_warnings`.
    """
    if mechanism is None or not mechanism.tells_nothing:
        yield from method.signal_warnings(summary, tally, state, scatter)


def rest_warnings(method: Method, *, converged: bool) -> Iterator[Warning]:
    """Yield what to warn of where a loop stopped at its limit; not at one lower than the usual."""
    limit = method.max_iterations
    usual: Any = fields_dict(type(method))["max_iterations"].default
    if not converged and limit >= usual and not method.enough_at_limit:
        yield NotConvergedWarning(
            f"{type(method).__name__} stopped after {limit:,} iterations, before it converged: "
            f"the truths may still change. More: max_iterations={10 * limit} (on the command "
            f"line: --max-iterations {10 * limit})."
        )


def _ignored(method: Method, mechanism: Any) -> NoiseIgnoredWarning:
    more = ""
    if method.corrects_quality:
        more += " Only the workers' quality is corrected for the noise, where it can be."
    if mechanism.every_task:
        more += (
            " Every worker reports every task: what noise made of no answer counts as an answer."
        )
    if _has_known_law(mechanism):
        more += " NoiseAware knows the noise (on the command line: --method noise-aware)."
    return NoiseIgnoredWarning(
        f"{type(method).__name__} has no model of the noise: it reads the reports of "
        f"{type(mechanism).__name__} as plain answers, and is surer of the truths than it should "
        f"be.{more}"
    )


def _has_known_law(mechanism: Any) -> bool:
    """Return whether `NoiseAware` serves such reports; a test holds it to `usual_method`."""
    if isinstance(mechanism.domain, FiniteDomain) and mechanism.channel.sets is not None:
        return True
    grid = known_grid(mechanism.worker_channel) is not None
    filled = mechanism.every_task and mechanism.participation_domain is None
    return (grid and not filled) or (not grid and mechanism.report_law is not None)


def simulated_warning() -> SimulatedNoiseWarning:
    """Return what to warn of where the noise of reports is simulated."""
    return SimulatedNoiseWarning(
        "these reports are simulated: they protect nobody. Real ones are made without rng= (on "
        "the command line: without --simulate)."
    )


@contextmanager
def noise_ignored() -> Iterator[None]:
    """Silence `NoiseIgnoredWarning` where reports are read as answers on purpose.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.synthetic_crowd(tasks=5, workers=10)
    >>> mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    >>> with noise_ignored():
    ...     estimate = qc.MajorityVote().fit(mechanism.randomize(crowd.answers))
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoiseIgnoredWarning)
        yield
