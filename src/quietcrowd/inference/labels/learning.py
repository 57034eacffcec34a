"""What `NoiseAware` learns of a crowd that gives labels from a pass: one step of maximisation."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from scipy import special

from quietcrowd._core import weigh_workers
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.crowd import (
    ACCURACIES,
    ACCURACY_STEPS,
    CALIBRATION_ONE,
    CENTRES,
    CONSTANT_RATE,
    FRACTION_BITS,
    LEAST,
    PRIOR_ACCURACIES,
    PRIOR_MISTAKES,
    PRIOR_TASKS,
    PRIOR_WORKERS,
    TEMPERATURES,
    CrowdState,
    CrowdTally,
    normalised,
    prior_accuracies,
    prior_communities,
    prior_constants,
    prior_mistakes,
)
from quietcrowd.inference.labels.reports import WorkerReports

__all__ = [
    "LEAST_KNOWN_TRUTHS",
    "MISTAKES_EVERY",
    "Crowd",
    "CrowdSums",
    "learn_crowd",
    "log_frequencies",
    "penalty",
    "sharpness_of",
]

Floats = npt.NDArray[np.float64]

MISTAKES_EVERY = 4
"""What mistakes are is learnt in every fourth update: it takes a second look at all workers."""


class Crowd(NamedTuple):
    """What is believed of all workers, as arrays of float64.

    Channels are those that one worker may have; places are those of accuracies on a grid.

    Attributes
    ----------
    laws : ndarray, shape (channels, labels, places, reports)
        Probability of each report of a worker of an accuracy, given the truth.
    constant_laws : ndarray, shape (channels, labels, reports)
        Probability of each report of a worker who always gives one label.
    channels : ndarray, shape (channels,)
        Probability of each channel.
    communities : ndarray, shape (communities,)
        Probability of each community.
    constants : ndarray, shape (labels,)
        Probability that a worker always gives this label.
    accuracies : ndarray, shape (communities, labels, places)
        Probability of each accuracy at a label, in a community.
    """

    laws: Floats
    constant_laws: Floats
    channels: Floats
    communities: Floats
    constants: Floats
    accuracies: Floats

    @classmethod
    def of(cls, laws: Floats, constant_laws: Floats, channels: Floats, state: CrowdState) -> Self:
        """Return laws of reports, and what is believed of the crowd, contiguous."""
        believed = state.communities, state.constants, state.accuracies
        return cls(*map(np.ascontiguousarray, (laws, constant_laws, channels, *believed)))


class CrowdSums(NamedTuple):
    """Expected numbers of workers in whole units, as arrays of int64 of the shapes of `Crowd`."""

    communities: npt.NDArray[np.int64]
    constants: npt.NDArray[np.int64]
    accuracies: npt.NDArray[np.int64]

    @classmethod
    def zeros(cls, labels: int) -> Self:
        """Return sums to add to."""
        return cls(
            np.zeros(len(CENTRES), np.int64),
            np.zeros(labels, np.int64),
            np.zeros((len(CENTRES), labels, ACCURACY_STEPS), np.int64),
        )


def _laws(reports: WorkerReports, mistakes: Floats) -> tuple[Floats, Floats]:
    """Return the laws of reports by accuracy, and those of constant answers.

    Shapes are (kinds, channels, labels, places, reports) and (kinds, channels, labels, reports).
    """
    tables = reports.tables[:, :, :, np.newaxis]
    wrong = (mistakes @ reports.tables)[:, :, :, np.newaxis]
    right = ACCURACIES[:, np.newaxis]
    laws = right * tables + (1.0 - right) * wrong
    rest = (1.0 - CONSTANT_RATE) / reports.labels
    constant = np.eye(reports.labels) * CONSTANT_RATE + rest
    constant_laws = constant @ reports.tables
    return (
        np.ascontiguousarray(np.maximum(laws, LEAST)),
        np.ascontiguousarray(np.maximum(constant_laws, LEAST)),
    )


@frozen(kw_only=True, eq=False)
class _Learned:
    """What one look at all workers gives; expected reports have the shape of the laws."""

    log_odds: npt.NDArray[np.int32]
    votes: npt.NDArray[np.int32]
    constancy: Floats
    sums: CrowdSums
    expected: npt.NDArray[np.int64]
    evidence: float


def _look(
    reports: WorkerReports,
    counts: npt.NDArray[np.int64],
    count_unit: float,
    state: CrowdState,
    *,
    mistakes_too: bool,
) -> _Learned:
    """Weigh all workers by their expected reports, and by what is believed of the crowd."""
    labels, kinds = reports.labels, len(reports.tables)
    shape = (reports.workers + 1, reports.reports, labels)
    log_odds, votes = np.empty(shape, np.int32), np.empty(shape, np.int32)
    constancy = np.empty(reports.workers + 1)
    laws, constant_laws = _laws(reports, state.mistakes)
    logs, constant_logs = np.log(laws), np.log(constant_laws)
    sums, aside = CrowdSums.zeros(labels), CrowdSums.zeros(labels)
    expected = np.zeros(laws.shape if mistakes_too else (kinds, 0, 0, 0, 0), np.int64)
    not_asked = np.zeros((0, 0, 0, 0), np.int64)
    nobody = np.zeros(labels * reports.reports, np.int64)
    evidence = 0
    for kind in range(kinds):
        crowd = Crowd.of(laws[kind], constant_laws[kind], reports.chances, state)
        everybody = (reports.members(kind), counts.reshape(-1), slice(0, -1), sums, expected[kind])
        ends = [everybody]
        if kind == reports.usual_kind:
            ends.append((np.zeros(1, np.int64), nobody, slice(-1, None), aside, not_asked))
        for members, given, where, added, added_reports in ends:
            evidence += weigh_workers(
                members,
                given,
                count_unit,
                crowd,
                logs[kind],
                constant_logs[kind],
                2.0**FRACTION_BITS,
                reports.worker_unit,
                reports.report_unit,
                reports.evidence_unit,
                log_odds[where].reshape(-1),
                votes[where].reshape(-1),
                constancy[where],
                added,
                added_reports,
            ) * (where.start == 0)
    return _Learned(
        log_odds=log_odds,
        votes=votes,
        constancy=constancy,
        sums=sums,
        expected=expected,
        evidence=evidence / reports.evidence_unit,
    )


def _learned_mistakes(
    reports: WorkerReports, expected: npt.NDArray[np.int64], state: CrowdState
) -> Floats:
    """Return the most probable law of mistakes, given expected reports of each accuracy."""
    laws, _ = _laws(reports, state.mistakes)
    per_law = expected / reports.report_unit / laws
    wrong = ((1.0 - ACCURACIES)[:, np.newaxis] * per_law).sum(axis=3)
    by_answer = (wrong @ np.swapaxes(reports.tables, 2, 3)).sum(axis=(0, 1))
    share: Floats = state.mistakes * by_answer
    return normalised(share + PRIOR_MISTAKES * prior_mistakes(state.guesses))


def penalty(state: Any) -> float:
    """Return the log-density of what is believed of the crowd, up to a constant."""
    labels = len(state.guesses)
    pairs = [
        (PRIOR_WORKERS * prior_communities(), state.communities),
        (PRIOR_WORKERS * prior_constants(labels), state.constants),
        (PRIOR_ACCURACIES * prior_accuracies(state.guesses), state.accuracies),
    ]
    if labels > 2:
        pairs.append((PRIOR_MISTAKES * prior_mistakes(state.guesses), state.mistakes))
    return float(sum(special.xlogy(counts, shares).sum() for counts, shares in pairs))


def log_frequencies(classes: Floats) -> tuple[Floats, float]:
    """Return the expected logarithms of frequencies of labels, and the evidence for them."""
    counts = classes + PRIOR_TASKS
    total, prior = counts.sum(), PRIOR_TASKS * len(counts)
    evidence = special.gammaln(prior) - special.gammaln(total)
    evidence += (special.gammaln(counts) - special.gammaln(PRIOR_TASKS)).sum()
    return special.psi(counts) - special.psi(total), float(evidence)


def learn_crowd(
    reports: WorkerReports, tally: CrowdTally, state: CrowdState, unit: float, prior: Any
) -> tuple[CrowdState, float]:
    """Return what is believed after a pass, and the objective: a bound of the log-evidence.

    Parameters
    ----------
    reports : WorkerReports
        Laws of reports.
    tally : CrowdTally
        Of the pass.
    state : CrowdState
        What it believed.
    unit : float
        What 1 is stored as in the tally.
    prior : ndarray of float64 or None
        As of `prior_crowd`.
    """
    labels = reports.labels
    if labels > 2 and state.updates % MISTAKES_EVERY == 0:
        expected = _look(reports, tally.counts, unit, state, mistakes_too=True).expected
        state = evolve(state, mistakes=_learned_mistakes(reports, expected, state))
    seen = _look(reports, tally.counts, unit, state, mistakes_too=False)
    classes = tally.classes / unit
    if prior is None:
        log_priors, of_frequencies = log_frequencies(classes)
    else:
        log_priors = np.log(np.maximum(prior, LEAST))
        of_frequencies = float((classes * log_priors).sum())
    climbed = seen.evidence + tally.entropy / unit + of_frequencies + penalty(state)
    communities = seen.sums.communities / reports.worker_unit + PRIOR_WORKERS * prior_communities()
    constants = seen.sums.constants / reports.worker_unit + PRIOR_WORKERS * prior_constants(labels)
    everybody = communities.sum() + constants.sum()
    accuracies = seen.sums.accuracies / reports.worker_unit
    accuracies += PRIOR_ACCURACIES * prior_accuracies(state.guesses)
    return evolve(
        state,
        log_odds=seen.log_odds,
        votes=reports.bounded(seen.votes, FRACTION_BITS),
        constancy=seen.constancy,
        log_priors=integer_sums.to_fixed(log_priors),
        communities=communities / everybody,
        constants=constants / everybody,
        accuracies=normalised(accuracies),
        sharpness=sharpness_of(tally),
        updates=state.updates + 1,
    ), climbed


LEAST_KNOWN_TRUTHS = 10
"""Known truths from which on they tell how sure estimates should be."""

_LOG_SPREAD = 0.7
"""Standard deviation of the logarithm of the sharpness, before any known truth."""


def sharpness_of(tally: Any) -> float:
    """Return by what log-odds are multiplied so that known truths are as likely as they come."""
    if tally.compared < LEAST_KNOWN_TRUTHS:
        return 1.0
    logs = np.log(TEMPERATURES)
    log_shares = tally.calibration / CALIBRATION_ONE - (logs / _LOG_SPREAD) ** 2 / 2.0
    shares = np.exp(log_shares - log_shares.max())
    return float(np.exp((shares * logs).sum() / shares.sum()))
