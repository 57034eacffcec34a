"""How MOON learns from a pass: the workers' variances and the law of the truths."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from attrs import evolve

from quietcrowd.inference.kernels import fixed_point
from quietcrowd.inference.moon_state import ErrorModel, ErrorTally, TruthPrior, truth_unit
from quietcrowd.inference.numeric import error_unit
from quietcrowd.inference.partition import Summary

__all__ = [
    "LEAST_VARIANCE",
    "cautious_step",
    "learn_truths",
    "log_prior",
    "pooled_variance",
    "scores_step",
]

LEAST_VARIANCE = 1e-12
"""Of the squared range of all reports: a variance is taken to be at least this part of it."""

FARTHEST_STEP = 1.0
"""A step of the scores changes the logarithm of a variance by no more than this."""

LEAST_POOLED = 0.025
"""The workers' mean squared own error is at least this part of the variance of the noise."""


def log_prior(summary: Summary, tally: ErrorTally, prior: TruthPrior) -> float:
    """Return the log prior of the truths, up to a constant, their posterior variances included."""
    if prior.precision == 0:
        return 0.0
    total, squares = (float(part) / truth_unit(summary) for part in tally.truths[:2])
    count = int(tally.truths[2])
    distance = squares - 2.0 * prior.mean * total + count * prior.mean**2
    return (count * math.log(prior.precision) - prior.precision * distance) / 2.0


def learn_truths(summary: Summary, tally: ErrorTally, first: TruthPrior) -> TruthPrior:
    """Return the normal law that the truths seem to be drawn from.

    As if one more task was drawn from the `first` prior, so that a single task does not tell how
    truths vary.
    """
    count = int(tally.truths[2]) + 1
    total, squares = (float(part) / truth_unit(summary) for part in tally.truths[:2])
    mean = (total + first.mean) / count
    square = (squares + first.mean**2 + 1.0 / first.precision) / count
    return TruthPrior(mean=mean, precision=1.0 / max(square - mean**2, LEAST_VARIANCE))


def pooled_variance(summary: Summary, tally: ErrorTally, noise: float) -> float:
    """Return the mean of the squared own errors of all workers, at least a small part of the noise.

    `noise` is the variance of the noise that is in the reports.
    """
    total = fixed_point.exact_sum(tally.errors.squared / error_unit(summary), summary.workers)
    return max(total / summary.answers - noise, LEAST_POOLED * noise, LEAST_VARIANCE)


def scores_step(
    state: ErrorModel,
    squares: npt.NDArray[np.float64],
    count: npt.NDArray[np.float64],
    information: npt.NDArray[np.float64],
) -> ErrorModel:
    """Return variances after a step of the scores, at least that of expectation maximisation.

    That sets the variance to ``squares / count``. The score of ln(variance) is
    ``(squares / variance - count) / 2``; over the information it is the step of the scores. A
    worker whose step turns round has gone too far: its haste is halved.
    """
    cautious = squares / count
    shortest = np.log(cautious / state.variance)
    turned = shortest * state.step < 0
    haste = np.where(turned, np.maximum(state.haste / 2.0, 1.0), state.haste)
    with np.errstate(divide="ignore", over="ignore"):
        longest = np.abs((squares / state.variance - count) / 2.0 / information)
    size = np.minimum(longest, np.minimum(haste * np.abs(shortest), FARTHEST_STEP))
    step = np.sign(shortest) * np.maximum(size, np.abs(shortest))
    variance = state.variance * np.exp(step)
    return evolve(state, variance=variance, cautious=cautious, step=step, haste=haste)


def cautious_step(state: ErrorModel) -> ErrorModel:
    """Return the model after the cautious step, where the longer one lowered the objective."""
    return evolve(
        state,
        variance=state.cautious,
        step=np.zeros_like(state.step),
        haste=np.maximum(state.haste / 4.0, 1.0),
    )
