"""The maximization step of `NoiseAware` for numbers."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve

from quietcrowd._core import weigh_distributions
from quietcrowd.inference import integer_sums
from quietcrowd.inference.numbers.crowd import (
    LEAST_LENGTH,
    TINY,
    NumberState,
    NumberTally,
    tables_of_parts,
)
from quietcrowd.inference.numbers.report_bins import BINS, ErrorDistributions
from quietcrowd.inference.numbers.sweep import BinModel
from quietcrowd.inference.numbers.trials import Answering, Trial, first_truths
from quietcrowd.inference.numbers.truth_map import STATISTICS, TruthMap, learn_map

CROWD_TRUST = 5.0
"""Number of workers that the prior of each error distribution counts as."""

SIZE_TRUST, FEW_ANSWERS = 16.0, 100.0
"""Degrees of freedom of the prior of a worker's size with many answers, half of them with 100."""

LEAST_SIZE = 4.0
"""With n answers, the prior falls steeply below ``sqrt(4 / (n (n + 100)))`` of the crowd's size."""

BORNE_OUT = 0.8
"""Probability, given others' reports, of the upper bound of a worker's sigma."""


def first_number_state(model: BinModel) -> NumberState:
    """Return the state before the first pass."""
    summary, ends = model.summary, model.public_range
    low, high = ends or (summary.low, summary.high)
    if high - low <= LEAST_LENGTH * max(abs(low), abs(high), TINY):
        half = max(0.5, LEAST_LENGTH * max(abs(low), abs(high)))
        low, high = low - half, high + half
    truths = None if model.little_noise else first_truths()
    share = model.prior_shares(low, high)
    trial = None if truths is None else Trial.first(model.fills_in)
    answering = None
    if trial is not None and model.fills_in:
        answering = Answering.first(trial.shares[0], summary.workers)
    return NumberState(
        low=low,
        high=high,
        beliefs=np.tile(share, (summary.workers, 1)),
        crowd=share,
        truths=truths,
        distribution=np.full(BINS, 1.0 / BINS) if truths is None else truths.shares,
        answering=answering,
        borne=np.zeros((summary.workers, len(model.parts))),
        truth_map=TruthMap.first(model.method.shared_errors, high - low),
        looks=-1 if ends else 0,
        trial=trial,
    )


def lower_bound(model: BinModel, tally: NumberTally, state: NumberState) -> float:
    """Return a lower bound of the log posterior at the state of a pass, up to a constant."""
    answers = model.summary.answers_per_worker
    heard = answers > 0
    distributions = model.error_distributions(state)
    trust = CROWD_TRUST * len(distributions.share)
    total = float(tally.likely[0]) / model.likely_unit - state.distance(heard)
    total += trust * float(np.sum(distributions.share * np.log(state.crowd / distributions.share)))
    if model.distance_shares.any():
        told = model.informative_answers(state)
        prior = np.sum(state.beliefs * _size_prior(distributions, state, told), axis=1)
        total += integer_sums.exact_sum(prior, len(prior))
    if state.truths is not None:
        total += state.truths.penalty(state.distribution)
    if state.answering is not None:
        total += state.answering.objective(answers)
    return total


def _weights(logs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    weights = np.exp(logs - logs.max(axis=-1, keepdims=True))
    shares: npt.NDArray[np.float64] = weights / weights.sum(axis=-1, keepdims=True)
    return shares


def try_distributions(model: BinModel, tally: NumberTally, state: NumberState) -> NumberState:
    """Return the state with the best distributions so far, and the next trial."""
    assert state.trial is not None
    coarse, last = state.trial.coarse, state.trial.last
    evidence = tally.tried / model.likely_unit
    trial = state.trial.following(evidence, model.summary.answers, state.answering)
    if trial.coarse:
        share = trial.shares[trial.number]
        return evolve(state, trial=trial, answering=Answering.first(share, model.summary.workers))
    assert trial.best is not None
    truths, answering = trial.best.truths, trial.best.answering
    state = evolve(state, answering=answering) if coarse else learn(model, tally, state)
    return evolve(state, truths=truths, distribution=truths.shares, trial=None if last else trial)


def _reviewed(model: BinModel, tally: NumberTally, state: NumberState) -> NumberState:
    """Return the state with `NumberState.borne`, for the last pass."""
    distributions = model.error_distributions(state)
    logs = tally.supported / model.likely_unit + np.log(state.crowd)
    order = np.argsort(-distributions.variance[0], kind="stable")
    above = np.cumsum(_weights(logs)[:, order], axis=1)
    place = np.minimum((above <= 1.0 - BORNE_OUT).sum(axis=1), len(order) - 1)
    return evolve(state, borne=1.0 / distributions.variance.T[order][place])


def _size_prior(
    distributions: ErrorDistributions, state: NumberState, answers: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    """Return the log prior of each size, shape (workers, sizes), 0 at the crowd's size.

    The square of a worker's size, relative to the crowd's, has an F distribution with `trust` and
    `trust` degrees of freedom, times a factor against sizes that few answers cannot show. The
    crowd's size is the geometric mean over workers, weighted by `trust`.
    """
    squares, given = np.log(distributions.sigma**2), np.maximum(answers, 1)
    trust = SIZE_TRUST * answers / (answers + FEW_ANSWERS)
    logs = trust * (state.beliefs @ squares)
    size = integer_sums.exact_sum(logs, len(logs)) / integer_sums.exact_sum(trust, len(trust))
    prior: npt.NDArray[np.float64] = np.outer(-trust, np.log(np.cosh((squares - size) / 2.0)))
    return prior - np.outer(LEAST_SIZE / (given * (given + FEW_ANSWERS)), np.exp(size - squares))


def log_evidence(
    model: BinModel, tally: NumberTally, state: NumberState
) -> npt.NDArray[np.float64]:
    """Return the evidence by columns, at [worker, distribution]; 0 for workers without a table."""
    distributions = model.error_distributions(state)
    total = np.zeros((model.summary.workers, len(distributions.share)))
    parts = tables_of_parts(tally.residuals, distributions.columns, model.table_workers)
    for (told, columns, workers), share in zip(parts, model.distance_shares, strict=True):
        evidence = np.empty((len(workers), total.shape[1]))
        weigh_distributions(
            told, model.residual_unit, np.ascontiguousarray(distributions.logs[columns]), evidence
        )
        total[workers] += (1.0 - share) * evidence
    return total


def learn(model: BinModel, tally: NumberTally, state: NumberState) -> NumberState:
    """Return the next state."""
    distributions, answers = model.error_distributions(state), model.summary.answers_per_worker
    heard = answers > 0
    logs = tally.evidence / model.likely_unit + np.log(state.crowd)
    logs += log_evidence(model, tally, state)
    if model.distance_shares.any():  # smaller and smaller steps, so that states do not alternate
        logs += _size_prior(distributions, state, model.informative_answers(state))
        step = 4.0 / (max(state.passes, 0) + 8.0)
        logs = step * logs + (1.0 - step) * np.log(np.maximum(state.beliefs, TINY))
    beliefs = _weights(logs)
    followed = integer_sums.to_fixed(beliefs[heard]).sum(axis=0) / integer_sums.ONE
    crowd = followed + CROWD_TRUST * len(distributions.share) * distributions.share
    crowd /= crowd.sum()
    beliefs[~heard] = crowd
    passes = state.passes + (state.passes >= 0)
    state = _reviewed(model, tally, state) if state.reviews else state
    learned = evolve(state, beliefs=beliefs, crowd=crowd, passes=passes)
    if state.truths is not None:
        counts = tally.truths / model.truth_unit
        truths = state.truths.climbed(counts)
        distribution = truths.shares if model.mostly_bounded(state) else truths.with_counts(counts)
        learned = evolve(learned, truths=truths, distribution=distribution)
    if state.answering is not None:
        answered = tally.answered / model.residual_unit
        answering = state.answering.learned(answered, answers)
        learned = evolve(learned, answering=answering)
    return learned


def with_map(model: BinModel, tally: NumberTally, state: NumberState) -> NumberState:
    """Return the state with the map from the apparent truths, given the sums of a pass."""
    first = TruthMap.first(model.method.shared_errors, state.high - state.low)
    logs = 2.0 * np.log(model.error_distributions(state).sigma)
    means = state.beliefs @ logs
    spread = np.maximum(state.beliefs @ logs**2 - means**2, 0.0)
    answers, total = model.summary.answers_per_worker, model.summary.answers
    size = integer_sums.exact_sum(np.exp(means) * answers, len(answers)) / total
    unsure = math.sqrt(integer_sums.exact_sum(spread * answers, len(answers)) / total)
    known = tally.known if len(tally.known) else np.zeros((len(first.omegas), STATISTICS))
    return evolve(state, truth_map=learn_map(first, known / model.truth_unit, size, unsure))


def sigma_quantiles(
    beliefs: npt.NDArray[np.float64],
    distributions: ErrorDistributions,
    levels: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return quantiles of each worker's sigma, shape (workers, levels).

    A size represents all between it and the midpoints to its neighbors, in logarithms.
    """
    order = np.argsort(distributions.sigma)
    logs = np.log(distributions.sigma[order])
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
