"""What `NoiseAware` believes of a crowd that gives labels: laws of accuracies and of mistakes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.accuracies import no_histograms
from quietcrowd.inference.labels.reports import WorkerReports
from quietcrowd.inference.passes import State, Tally

__all__ = [
    "ACCURACIES",
    "ACCURACY_STEPS",
    "CALIBRATION_ONE",
    "CENTRES",
    "CONSTANT_RATE",
    "FRACTION_BITS",
    "LEAST",
    "PRIOR_ACCURACIES",
    "PRIOR_MISTAKES",
    "PRIOR_TASKS",
    "PRIOR_WORKERS",
    "TEMPERATURES",
    "CrowdState",
    "CrowdTally",
    "first_frequencies",
    "fixed_logarithms",
    "law_of_guesses",
    "normalised",
    "prior_accuracies",
    "prior_communities",
    "prior_constants",
    "prior_crowd",
    "prior_mistakes",
]

Floats = npt.NDArray[np.float64]

ACCURACY_STEPS = 24
"""So many accuracies there are."""

ACCURACIES = (np.arange(ACCURACY_STEPS) + 0.5) / ACCURACY_STEPS
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

TEMPERATURES = np.geomspace(0.04, 2.0, 34)
"""Log-odds are multiplied by one of these where known truths tell which."""

CALIBRATION_ONE = 2.0**24
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
    report_counts : ndarray of int64, shape (reports,)
        How often each report is given; counted in the very first pass alone.
    calibration : ndarray of int64, shape (temperatures,)
        Log-probabilities of known truths, in units of 1 / `CALIBRATION_ONE`.
    compared : int
        How many known truths these are of.
    agreed, histograms : ndarray of int64
        As in `AgreementTally`.
    """

    counts: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    entropy: int
    report_counts: npt.NDArray[np.int64]
    calibration: npt.NDArray[np.int64]
    compared: int
    agreed: npt.NDArray[np.int64]
    histograms: npt.NDArray[np.int64] = field(factory=no_histograms)


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
        See `label_learning.Crowd`.
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


def normalised(counts: Floats) -> Floats:
    """Return laws in proportion to counts, along the last axis."""
    shares: Floats = counts / counts.sum(axis=-1, keepdims=True)
    return shares


def prior_accuracies(guesses: Floats) -> Floats:
    """Return the law of accuracies in each community, at each label, before any report."""
    labels = max(len(guesses), 2)
    above = 1.0 / labels + (2.0 * CENTRES - 1.0) * (1.0 - 1.0 / labels)
    centres = np.where(CENTRES > 0.5, above, 2.0 * CENTRES / labels) if labels > 2 else CENTRES
    skill = ((centres - 1.0 / labels) / (1.0 - 1.0 / labels))[:, np.newaxis]
    means = np.where(skill >= 0, skill + (1.0 - skill) * guesses, (1.0 + skill) * guesses)
    means = np.clip(means, 0.01, 0.99)[:, :, np.newaxis]
    shape = CONCENTRATION * means
    rest = CONCENTRATION - shape
    return normalised(ACCURACIES ** (shape - 1.0) * (1.0 - ACCURACIES) ** (rest - 1.0))


def prior_mistakes(guesses: Floats) -> Floats:
    """Return the law of answers that are not the truth; of a single label there is no other."""
    same = np.eye(len(guesses), dtype=bool) & (len(guesses) > 1)
    return normalised(np.where(same, 0.0, guesses))


def prior_constants(labels: int) -> Floats:
    """Return the shares of workers who always give each label, before any report."""
    return np.full(labels, CONSTANT_SHARE / labels)


def prior_communities() -> Floats:
    """Return the shares of workers in each community, before any report."""
    return (1.0 - CONSTANT_SHARE) * SHARES


def law_of_guesses(report_counts: npt.NDArray[np.int64], table: Floats) -> Floats:
    """Return how often each label is given, from the histogram of all reports.

    The most probable law by what reports say and `PRIOR_REPORTS` of each label, by expectation
    maximisation.

    Parameters
    ----------
    report_counts : ndarray of int, shape (reports,)
        How often each is given.
    table : ndarray, shape (labels, reports)
        Probability of each report given each label.
    """
    law = np.full(len(table), 1.0 / len(table))
    for _ in range(200):
        parts = law[:, np.newaxis] * table
        law = normalised(
            (parts / np.maximum(parts.sum(axis=0), LEAST)) @ report_counts + PRIOR_REPORTS
        )
    return law


def prior_crowd(
    reports: WorkerReports, report_counts: npt.NDArray[np.int64], prior: Any
) -> CrowdState:
    """Return what is believed before the first pass but for the histogram of all reports.

    Parameters
    ----------
    reports : WorkerReports
        Their laws.
    report_counts : ndarray of int, shape (reports,)
        How often each report is given.
    prior : ndarray of float64, shape (labels,), or None
        Known frequencies of the labels among the truths.
    """
    labels = reports.labels
    guesses = law_of_guesses(report_counts, reports.mean_table)
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
        communities=prior_communities(),
        constants=prior_constants(labels),
        accuracies=prior_accuracies(guesses),
        mistakes=prior_mistakes(guesses),
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
    return normalised(normalised(frequencies) ** START_POWER)


def fixed_logarithms(frequencies: Floats) -> npt.NDArray[np.int64]:
    """Return the logarithms of frequencies, in units of 2^-32."""
    return integer_sums.to_fixed(np.log(np.maximum(frequencies, LEAST)))


def _to_32_bits(logs: Floats) -> npt.NDArray[np.int32]:
    """Round log-odds to what is stored."""
    return np.rint(np.ldexp(logs, FRACTION_BITS)).astype(np.int32)
