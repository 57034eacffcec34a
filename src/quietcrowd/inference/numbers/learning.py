"""What the model of numbers on bins learns from a pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import evolve

from quietcrowd._core import weigh_laws
from quietcrowd.inference import integer_sums
from quietcrowd.inference.numbers.answering import Answering
from quietcrowd.inference.numbers.bounded_bins import bounded_laws
from quietcrowd.inference.numbers.crowd import (
    LEAST_LENGTH,
    TINY,
    NumberState,
    NumberTally,
    likely_unit,
    residual_unit,
    table_rows,
    truth_unit,
)
from quietcrowd.inference.numbers.report_bins import (
    BINS,
    ErrorLaws,
    answer_laws,
)
from quietcrowd.inference.numbers.sweep import error_laws, fills_in
from quietcrowd.inference.numbers.trials import Trial, first_truths
from quietcrowd.inference.partition import Summary
from quietcrowd.mechanisms.channels.base import known_grid, laplace_shift

__all__ = ["first_number_state", "learn", "lower_bound", "sigma_quantiles", "try_laws"]

CROWD_TRUST = 5.0
"""Each law of errors counts as if so many workers had followed it."""

BORNE_OUT = 0.8
"""A worker's sigma is borne out that others' reports say it is not above, with this probability."""


def first_number_state(summary: Summary) -> NumberState:
    """Return what is believed before the first pass."""
    grid, shift = known_grid(summary.channel), laplace_shift(summary.channel)
    low, high = (summary.low, summary.high) if grid is None else grid.ends
    if high - low <= LEAST_LENGTH * max(abs(low), abs(high), TINY):
        half = max(0.5, LEAST_LENGTH * max(abs(low), abs(high)))
        low, high = low - half, high + half
    truths = None if grid is None else first_truths()
    bounded = None if summary.channel is None else summary.channel.bounded_law
    scale = 0.0 if shift is None else shift.scale / (high - low)
    share = (answer_laws(scale) if bounded is None else bounded_laws(bounded)).share
    trial = None if grid is None else Trial.first(fills_in(summary))
    answering = None
    if trial is not None and fills_in(summary):
        answering = Answering.first(trial.shares[0], summary.workers)
    return NumberState(
        low=low,
        high=high,
        beliefs=np.tile(share, (summary.workers, 1)),
        crowd=share,
        truths=truths,
        law=np.full(BINS, 1.0 / BINS) if truths is None else truths.shares,
        answering=answering,
        borne=np.zeros(summary.workers),
        looks=-1 if grid else 0,
        trial=trial,
    )


def lower_bound(summary: Summary, tally: NumberTally, state: NumberState) -> float:
    """Return the lower bound of the log posterior at the state of a pass, up to a constant."""
    heard = summary.answers_per_worker > 0
    laws = error_laws(summary, state)
    trust = CROWD_TRUST * len(laws.share)
    total = float(tally.likely[0]) / likely_unit(summary) - state.distance(heard)
    total += trust * float(np.sum(laws.share * np.log(state.crowd / laws.share)))
    if state.truths is not None:
        total += state.truths.penalty(state.law)
    if state.answering is not None:
        total += state.answering.objective(summary.answers_per_worker)
    return total


def _weights(logs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return probabilities, shape as given; the last axis sums to 1."""
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    shares: npt.NDArray[np.float64] = weights / weights.sum(axis=-1, keepdims=True)
    return shares


def try_laws(summary: Summary, tally: NumberTally, state: NumberState) -> NumberState:
    """Return the state with the laws that the reports favour so far, and what to try next."""
    assert state.trial is not None
    coarse, last = state.trial.coarse, state.trial.last
    evidence = tally.tried / likely_unit(summary)
    trial = state.trial.following(evidence, summary.answers, state.answering)
    if trial.coarse:
        share = trial.shares[trial.number]
        return evolve(state, trial=trial, answering=Answering.first(share, summary.workers))
    assert trial.best is not None
    truths, answering = trial.best.truths, trial.best.answering
    state = evolve(state, answering=answering) if coarse else learn(summary, tally, state)
    return evolve(state, truths=truths, law=truths.shares, trial=None if last else trial)


def _reviewed(summary: Summary, tally: NumberTally, state: NumberState) -> NumberState:
    """Return the state with what the last pass is to know beside what sweeps learn."""
    laws = error_laws(summary, state)
    logs = tally.supported / likely_unit(summary) + np.log(state.crowd)
    order = np.argsort(-laws.variance, kind="stable")
    above = np.cumsum(_weights(logs)[:, order], axis=1)
    place = np.minimum((above <= 1.0 - BORNE_OUT).sum(axis=1), len(order) - 1)
    return evolve(state, borne=1.0 / laws.variance[order][place])


def learn(summary: Summary, tally: NumberTally, state: NumberState) -> NumberState:
    """Return what the tally tells of workers and truths."""
    laws = error_laws(summary, state)
    heard = summary.answers_per_worker > 0
    logs = tally.evidence / likely_unit(summary) + np.log(state.crowd)
    evidence = np.empty((len(tally.residuals), logs.shape[1]))
    weigh_laws(tally.residuals, residual_unit(summary), np.ascontiguousarray(laws.logs), evidence)
    logs[table_rows(summary) >= 0] += evidence
    beliefs = _weights(logs)
    followed = integer_sums.to_fixed(beliefs[heard]).sum(axis=0) / integer_sums.ONE
    crowd = followed + CROWD_TRUST * len(laws.share) * laws.share
    crowd /= crowd.sum()
    beliefs[~heard] = crowd
    passes = state.passes + (state.passes >= 0)
    state = _reviewed(summary, tally, state) if state.reviews else state
    learned = evolve(state, beliefs=beliefs, crowd=crowd, passes=passes)
    if state.truths is not None:
        counts = tally.truths / truth_unit(summary)
        truths = state.truths.climbed(counts)
        learned = evolve(learned, truths=truths, law=truths.with_counts(counts))
    if state.answering is not None:
        answered = tally.answered / residual_unit(summary)
        answering = state.answering.learned(answered, summary.answers_per_worker)
        learned = evolve(learned, answering=answering)
    return learned


def sigma_quantiles(
    beliefs: npt.NDArray[np.float64], laws: ErrorLaws, levels: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return quantiles of each worker's sigma, shape (workers, levels).

    A size stands for all between it and the middles to its neighbours, in logarithms.
    """
    order = np.argsort(laws.sigma)
    logs = np.log(laws.sigma[order])
    ends = np.concatenate([logs[:1], (logs[1:] + logs[:-1]) / 2.0, logs[-1:]])
    below = np.cumsum(beliefs[:, order], axis=1)
    place = np.minimum((below[:, :, np.newaxis] < levels).sum(axis=1), len(order) - 1)
    share = np.take_along_axis(beliefs[:, order], place, axis=1)
    before = np.take_along_axis(below, place, axis=1) - share
    part = np.clip((levels - before) / np.maximum(share, 1e-300), 0.0, 1.0)
    quantiles: npt.NDArray[np.float64] = np.exp(
        ends[place] + part * (ends[place + 1] - ends[place])
    )
    return quantiles
