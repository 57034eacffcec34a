"""The warning that a method reads noise as if it were answers, and how to do without it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from quietcrowd.exceptions import NoiseIgnoredWarning, NoSignalWarning, SimulatedNoiseWarning

__all__ = [
    "noise_ignored",
    "warn_filled",
    "warn_no_signal",
    "warn_noise_ignored",
    "warn_reports_in_frame",
    "warn_simulated",
]


def warn_noise_ignored(
    method: str, mechanism: str, stacklevel: int, *, every_task: bool, corrects: bool
) -> None:
    """Warn that a method without a model of the noise was given reports of a mechanism.

    `every_task` says whether workers report the tasks as well that they did not answer, `corrects`
    whether the method takes the noise out of the workers' quality.
    """
    more = " Only the workers' quality is corrected for the noise, where it can be." * corrects
    if every_task:
        more += (
            " Every worker reports every task: what noise made of no answer counts as an answer."
        )
    warnings.warn(
        f"{method} has no model of the noise: it reads the reports of {mechanism} as plain "
        f"answers, and is surer of the truths than it should be.{more}",
        NoiseIgnoredWarning,
        stacklevel=stacklevel + 1,
    )


def warn_filled(method: str, stacklevel: int) -> None:
    """Warn that a method takes what was filled in for missing answers for answers."""
    warnings.warn(
        f"{method} knows the noise, but not who answered: every worker reports every task, and what"
        " was filled in for no answer counts as an answer and draws the truths towards it. With "
        'participation="released", RatioMean is free of that.',
        NoiseIgnoredWarning,
        stacklevel=stacklevel + 1,
    )


def warn_reports_in_frame(method: str, stacklevel: int) -> None:
    """Warn that a method was given a frame that says that it holds reports."""
    warnings.warn(
        f"the frame says that it holds randomised reports: {method} reads them as plain answers, "
        "and is surer of the truths than it should be. Give it the Reports themselves.",
        NoiseIgnoredWarning,
        stacklevel=stacklevel + 1,
    )


def warn_simulated(stacklevel: int) -> None:
    """Warn that reports protect nobody."""
    warnings.warn(
        "these reports are simulated: they protect nobody. Real ones are made without rng= (on "
        "the command line: without --simulate).",
        SimulatedNoiseWarning,
        stacklevel=stacklevel + 1,
    )


def warn_no_signal(mechanism: str, stacklevel: int) -> None:
    """Warn that the reports of a mechanism do not depend on the answers."""
    warnings.warn(
        f"the reports of {mechanism} tell nothing of the answers: its epsilon is 0 or next to it, "
        "and what is found in them is chance. It takes a larger epsilon.",
        NoSignalWarning,
        stacklevel=stacklevel + 1,
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
