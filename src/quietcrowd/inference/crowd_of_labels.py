"""What `NoiseAware` believes of a crowd that gives labels: laws of accuracies and of mistakes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from scipy import special
from typing_extensions import override

from quietcrowd.inference.accuracies import told_nothing
from quietcrowd.inference.kernels import integer_sums
from quietcrowd.inference.kernels.label_crowd import Crowd, CrowdSums, weigh_workers
from quietcrowd.inference.method import State, Tally
from quietcrowd.inference.worker_reports import WorkerReports

__all__ = [
    "ACCURACIES",
    "ENOUGH",
    "FRACTION_BITS",
    "LEAST",
    "PLACES",
    "TEMPERATURES",
    "TOLD_ONE",
    "CrowdState",
    "CrowdTally",
    "first_frequencies",
    "fixed_logarithms",
    "law_of_guesses",
    "learn_crowd",
    "prior_crowd",
]

Floats = npt.NDArray[np.float64]

PLACES = 24
"""So many accuracies there are."""

ACCURACIES = (np.arange(PLACES) + 0.5) / PLACES
"""A worker's accuracy at a label is one of these."""

CENTRES = np.array([0.15, 0.35, 0.5, 0.62, 0.74, 0.86, 0.95])
"""Mean accuracies of communities of workers, of two labels."""

SHARES = np.array([0.02, 0.06, 0.12, 0.20, 0.25, 0.22, 0.13])
"""How many workers are in each, before any report."""

CONCENTRATION = 8.0
"""Accuracies in a community are as if so many answers had told of them."""

CONSTANT_SHARE, CONSTANT_RATE = 0.05, 0.96
"""Share of workers who always give one label, before any report, and how often they do."""

PRIOR_WORKERS, PRIOR_ACCURACIES, PRIOR_MISTAKES, PRIOR_TASKS = 10.0, 5.0, 30.0, 4.0
"""What is believed before any report counts as so many workers in communities, workers per
community and label, mistakes per label, and tasks per label."""

PRIOR_REPORTS = 20.0
"""Of each label, in the law of guesses."""

FIRST_ACCURACY = 0.75
"""Of every worker, in the first pass."""

START_POWER = 0.25
"""Frequencies of truths in the first pass: the debiased ones to this power."""

RARE = 0.02
"""No label is taken to be rarer, in the first pass."""

LEAST = 1e-27
"""No report is taken to be less likely."""

FRACTION_BITS = 24
"""Log-odds of reports are stored in units of 2 to minus this."""

MISTAKES_EVERY = 4
"""What mistakes are is learnt in every fourth update: it takes a second look at all workers."""

TEMPERATURES = np.geomspace(0.04, 2.0, 34)
"""Log-odds are multiplied by one of these where known truths tell which."""

TOLD_ONE = 2.0**24
"""What a log-probability of a known truth of 1 is stored as: there is room for 5 10^8 of 1,000."""


@frozen(kw_only=True, eq=False)
class CrowdTally(Tally):
    """What a pass tells of workers and tasks.

    Attributes
    ----------
    counts : ndarray of int64, shape (workers, reports, labels)
        Expected reports.
    classes : ndarray of int64, shape (labels,)
        Expected tasks of each label, in the same units.
    entropy : int
        Sum of the entropies of the posteriors, in the same units.
    histogram : ndarray of int64, shape (reports,)
        How often each report is given; counted in the very first pass alone.
    calibration : ndarray of int64, shape (temperatures,)
        Log-probabilities of known truths, in units of 1 / `TOLD_ONE`.
    compared : int
        How many known truths these are of.
    agreed, told : ndarray of int64
        As in `AgreementTally`.
    """

    counts: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    entropy: int
    histogram: npt.NDArray[np.int64]
    calibration: npt.NDArray[np.int64]
    compared: int
    agreed: npt.NDArray[np.int64]
    told: npt.NDArray[np.int64] = field(factory=told_nothing)


@frozen(kw_only=True, eq=False)
class CrowdState(State):
    """What is believed of workers, of the crowd they are drawn from, and of truths.

    Of `log_odds` and `votes` the last entry is that of a worker of whom nothing is known.

    Attributes
    ----------
    log_odds : ndarray of int32, shape (workers + 1, reports, labels)
        Expected log-probability of a report given a truth, in units of 2^-`FRACTION_BITS`.
    votes : ndarray of int32, shape (workers + 1, reports, labels)
        Logarithm of its expected probability, by which the last pass goes.
    constancy : ndarray of float64, shape (workers + 1,)
        Probability that a worker always gives one label.
    log_priors : ndarray of int64, shape (labels,)
        Expected log-frequency of each label among the truths, in units of 2^-32.
    guesses : ndarray of float64, shape (labels,)
        How often each label is given.
    communities, constants, accuracies : ndarray of float64
        See `kernels.label_crowd.Crowd`.
    mistakes : ndarray of float64, shape (labels, labels)
        Law of an answer that is not the truth, by truth.
    sharpness : float
        What log-odds are multiplied by for estimates; 1 unless known truths tell.
    updates : int
        How many there were.
    """

    log_odds: npt.NDArray[np.int32]
    votes: npt.NDArray[np.int32]
    constancy: Floats
    log_priors: npt.NDArray[np.int64]
    guesses: Floats
    communities: Floats
    constants: Floats
    accuracies: Floats
    mistakes: Floats
    sharpness: float
    updates: int

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; of a new one nothing is known."""
        chosen = np.append(positions, -1)
        return evolve(
            self,
            log_odds=self.log_odds[chosen],
            votes=self.votes[chosen],
            constancy=self.constancy[chosen],
        )


def _normalised(counts: Floats) -> Floats:
    shares: Floats = counts / counts.sum(axis=-1, keepdims=True)
    return shares


def _prior_accuracies(guesses: Floats) -> Floats:
    """Return the law of accuracies in each community, at each label, before any report."""
    labels = max(len(guesses), 2)
    above = 1.0 / labels + (2.0 * CENTRES - 1.0) * (1.0 - 1.0 / labels)
    centres = np.where(CENTRES > 0.5, above, 2.0 * CENTRES / labels) if labels > 2 else CENTRES
    skill = ((centres - 1.0 / labels) / (1.0 - 1.0 / labels))[:, np.newaxis]
    means = np.where(skill >= 0, skill + (1.0 - skill) * guesses, (1.0 + skill) * guesses)
    means = np.clip(means, 0.01, 0.99)[:, :, np.newaxis]
    shape = CONCENTRATION * means
    rest = CONCENTRATION - shape
    return _normalised(ACCURACIES ** (shape - 1.0) * (1.0 - ACCURACIES) ** (rest - 1.0))


def _prior_mistakes(guesses: Floats) -> Floats:
    """Return the law of answers that are not the truth; of a single label there is no other."""
    same = np.eye(len(guesses), dtype=bool) & (len(guesses) > 1)
    return _normalised(np.where(same, 0.0, guesses))


def _prior_constants(labels: int) -> Floats:
    return np.full(labels, CONSTANT_SHARE / labels)


def _prior_communities() -> Floats:
    return (1.0 - CONSTANT_SHARE) * SHARES


def law_of_guesses(histogram: npt.NDArray[np.int64], table: Floats) -> Floats:
    """Return how often each label is given, from the histogram of all reports.

    The most probable law by what reports say and `PRIOR_REPORTS` of each label, by expectation
    maximisation.

    Parameters
    ----------
    histogram : ndarray of int, shape (reports,)
        How often each is given.
    table : ndarray, shape (labels, reports)
        Probability of each report given each label.
    """
    law = np.full(len(table), 1.0 / len(table))
    for _ in range(200):
        parts = law[:, np.newaxis] * table
        law = _normalised(
            (parts / np.maximum(parts.sum(axis=0), LEAST)) @ histogram + PRIOR_REPORTS
        )
    return law


def prior_crowd(reports: WorkerReports, histogram: npt.NDArray[np.int64], prior: Any) -> CrowdState:
    """Return what is believed before the first pass but for the histogram of all reports.

    Parameters
    ----------
    reports : WorkerReports
        Their laws.
    histogram : ndarray of int, shape (reports,)
        How often each report is given.
    prior : ndarray of float64, shape (labels,), or None
        Known frequencies of the labels among the truths.
    """
    labels = reports.labels
    guesses = law_of_guesses(histogram, reports.mean_table)
    wrong = _first_mistakes(labels)
    theta = np.where(np.eye(labels, dtype=bool), FIRST_ACCURACY, wrong)
    likely = np.maximum(theta @ reports.mean_table, LEAST)
    rows = _to_32_bits(np.log(likely).T)
    tables = np.repeat(rows[np.newaxis], reports.workers + 1, axis=0)
    return CrowdState(
        log_odds=tables,
        votes=tables.copy(),
        constancy=np.full(reports.workers + 1, CONSTANT_SHARE),
        log_priors=fixed_logarithms(first_frequencies(guesses, prior)),
        guesses=guesses,
        communities=_prior_communities(),
        constants=_prior_constants(labels),
        accuracies=_prior_accuracies(guesses),
        mistakes=_prior_mistakes(guesses),
        sharpness=1.0,
        updates=0,
    )


def _first_mistakes(labels: int) -> float:
    """Return how often each wrong label is given at a truth, in the first pass."""
    return (1.0 - FIRST_ACCURACY) / max(labels - 1, 1)


def first_frequencies(guesses: Floats, prior: Any) -> Floats:
    """Return how frequent each label is among the truths, in the first pass.

    Parameters
    ----------
    guesses : ndarray of float64, shape (labels,)
        How often each label is given.
    prior : ndarray of float64 or None
        As of `prior_crowd`.
    """
    if prior is not None:
        known: Floats = prior
        return known
    wrong = _first_mistakes(len(guesses))
    frequencies = np.maximum((guesses - wrong) / (FIRST_ACCURACY - wrong), RARE)
    return _normalised(_normalised(frequencies) ** START_POWER)


def fixed_logarithms(frequencies: Floats) -> npt.NDArray[np.int64]:
    """Return the logarithms of frequencies, in units of 2^-32."""
    return integer_sums.to_fixed(np.log(np.maximum(frequencies, LEAST)))


def _to_32_bits(logs: Floats) -> npt.NDArray[np.int32]:
    """Round log-odds to what is stored."""
    return np.rint(np.ldexp(logs, FRACTION_BITS)).astype(np.int32)


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
    return np.maximum(laws, LEAST), np.maximum(constant @ reports.tables, LEAST)


@frozen(kw_only=True, eq=False)
class _Learned:
    """What one look at all workers gives."""

    log_odds: npt.NDArray[np.int32]
    votes: npt.NDArray[np.int32]
    constancy: Floats
    sums: CrowdSums
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
    sums = CrowdSums(
        np.zeros(len(CENTRES), np.int64),
        np.zeros(labels, np.int64),
        np.zeros((len(CENTRES), labels, PLACES), np.int64),
        np.zeros((kinds, *laws.shape[1:]), np.int64),
    )
    nobody = np.zeros(labels * reports.reports, np.int64)
    evidence = 0
    for kind in range(kinds):
        crowd = Crowd(
            laws[kind],
            constant_laws[kind],
            reports.chances,
            state.communities,
            state.constants,
            state.accuracies,
        )
        ends = [(reports.members(kind), counts.reshape(-1), slice(0, -1), sums)]
        if kind == reports.usual_kind:
            aside = CrowdSums(*(np.zeros_like(part) for part in sums))
            ends.append((np.zeros(1, np.int64), nobody, slice(-1, None), aside))
        for members, told, where, added in ends:
            evidence += weigh_workers(
                members,
                told,
                count_unit,
                crowd,
                logs[kind],
                constant_logs[kind],
                2.0**FRACTION_BITS,
                reports.worker_unit,
                reports.report_unit,
                reports.evidence_unit,
                mistakes_too,
                log_odds[where].reshape(-1),
                votes[where].reshape(-1),
                constancy[where],
                CrowdSums(added[0], added[1], added[2], added[3][kind]),
            ) * (where.start == 0)
    return _Learned(
        log_odds=log_odds,
        votes=votes,
        constancy=constancy,
        sums=sums,
        evidence=evidence / reports.evidence_unit,
    )


def _learned_mistakes(reports: WorkerReports, sums: CrowdSums, state: CrowdState) -> Floats:
    """Return the most probable law of mistakes, given expected reports of each accuracy."""
    laws, _ = _laws(reports, state.mistakes)
    per_law = sums.reports / reports.report_unit / laws
    wrong = ((1.0 - ACCURACIES)[:, np.newaxis] * per_law).sum(axis=3)
    by_answer = (wrong @ np.swapaxes(reports.tables, 2, 3)).sum(axis=(0, 1))
    expected: Floats = state.mistakes * by_answer
    return _normalised(expected + PRIOR_MISTAKES * _prior_mistakes(state.guesses))


def _penalty(state: CrowdState) -> float:
    """Return the log-density of what is believed of the crowd, up to a constant."""
    labels = len(state.guesses)
    pairs = [
        (PRIOR_WORKERS * _prior_communities(), state.communities),
        (PRIOR_WORKERS * _prior_constants(labels), state.constants),
        (PRIOR_ACCURACIES * _prior_accuracies(state.guesses), state.accuracies),
    ]
    if labels > 2:
        pairs.append((PRIOR_MISTAKES * _prior_mistakes(state.guesses), state.mistakes))
    return float(sum(special.xlogy(counts, shares).sum() for counts, shares in pairs))


def _log_frequencies(classes: Floats) -> tuple[Floats, float]:
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
        seen = _look(reports, tally.counts, unit, state, mistakes_too=True)
        state = evolve(state, mistakes=_learned_mistakes(reports, seen.sums, state))
    seen = _look(reports, tally.counts, unit, state, mistakes_too=False)
    classes = tally.classes / unit
    if prior is None:
        log_priors, told = _log_frequencies(classes)
    else:
        log_priors = np.log(np.maximum(prior, LEAST))
        told = float((classes * log_priors).sum())
    climbed = seen.evidence + tally.entropy / unit + told + _penalty(state)
    communities = seen.sums.communities / reports.worker_unit + PRIOR_WORKERS * _prior_communities()
    constants = seen.sums.constants / reports.worker_unit + PRIOR_WORKERS * _prior_constants(labels)
    everybody = communities.sum() + constants.sum()
    accuracies = seen.sums.accuracies / reports.worker_unit
    prior_accuracies = PRIOR_ACCURACIES * _prior_accuracies(state.guesses)
    return evolve(
        state,
        log_odds=seen.log_odds,
        votes=reports.bounded(seen.votes, FRACTION_BITS),
        constancy=seen.constancy,
        log_priors=integer_sums.to_fixed(log_priors),
        communities=communities / everybody,
        constants=constants / everybody,
        accuracies=_normalised(accuracies + prior_accuracies),
        sharpness=_sharpness(tally),
        updates=state.updates + 1,
    ), climbed


ENOUGH = 10
"""Known truths from which on they tell how sure estimates should be."""

_LOG_SPREAD = 0.7
"""Standard deviation of the logarithm of the sharpness, before any known truth."""


def _sharpness(tally: CrowdTally) -> float:
    """Return by what log-odds are multiplied so that known truths are as likely as they come."""
    if tally.compared < ENOUGH:
        return 1.0
    logs = np.log(TEMPERATURES)
    told = tally.calibration / TOLD_ONE - (logs / _LOG_SPREAD) ** 2 / 2.0
    shares = np.exp(told - told.max())
    return float(np.exp((shares * logs).sum() / shares.sum()))
