"""What to warn of: noise that is read as if it were answers, simulated, or without a signal."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from quietcrowd.exceptions import NoiseIgnoredWarning, NoSignalWarning, SimulatedNoiseWarning
from quietcrowd.inference.method import Scatter, TruthInference
from quietcrowd.inference.observations import Observations
from quietcrowd.inference.partition import Summary

__all__ = [
    "noise_ignored",
    "noise_warnings",
    "report_warnings",
    "signal_warnings",
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
        yield _simulated()
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
        yield _simulated()
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


def _ignored(method: Method, mechanism: Any) -> NoiseIgnoredWarning:
    more = ""
    if method.corrects_quality:
        more += " Only the workers' quality is corrected for the noise, where it can be."
    if mechanism.every_task:
        more += (
            " Every worker reports every task: what noise made of no answer counts as an answer."
        )
    return NoiseIgnoredWarning(
        f"{type(method).__name__} has no model of the noise: it reads the reports of "
        f"{type(mechanism).__name__} as plain answers, and is surer of the truths than it should "
        f"be.{more}"
    )


def _simulated() -> SimulatedNoiseWarning:
    return SimulatedNoiseWarning(
        "these reports are simulated: they protect nobody. Real ones are made without rng= (on "
        "the command line: without --simulate)."
    )


@contextmanager
def noise_ignored() -> Iterator[None]:
    """Silence `NoiseIgnoredWarning` where reading reports as answers is what is wanted.

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
