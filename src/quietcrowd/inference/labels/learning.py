"""The maximization step of `NoiseAware` for labels: workers and crowd, from a tally."""

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
    CENTRES,
    FRACTION_BITS,
    LEAST,
    PLACES,
    PRIOR_TASKS,
    CrowdState,
    CrowdTally,
    PriorCounts,
    constant_answers,
    normalised,
)
from quietcrowd.inference.labels.reports import ALL, Blocks, WorkerReports

Floats = npt.NDArray[np.float64]

MISTAKES_EVERY = 4
"""Period, in updates, of learning the distribution of mistakes, which doubles the work."""


_USUAL, _OPPOSED = slice(0, ACCURACY_STEPS), slice(ACCURACY_STEPS, None)


def _places(labels: int) -> Floats:
    return PLACES if labels > 2 else ACCURACIES


class Crowd(NamedTuple):
    """Distributions that all workers share.

    `distributions`, at [channel, truth, place in `PLACES`, report], and
    `constant_distributions`, at [channel, label, report], are those of the reports of a worker with
    an accuracy, or with a constant label. The others are probabilities: of each of the `channels`,
    `communities` and `constants`, and of `accuracies` at [community, label, place].
    """

    distributions: Floats
    constant_distributions: Floats
    channels: Floats
    communities: Floats
    constants: Floats
    accuracies: Floats

    @classmethod
    def of(
        cls,
        distributions: Floats,
        constant_distributions: Floats,
        channels: Floats,
        state: CrowdState,
    ) -> Self:
        """Return contiguous arrays."""
        believed = state.communities, state.constants, state.accuracies
        return cls(
            *map(np.ascontiguousarray, (distributions, constant_distributions, channels, *believed))
        )


class CrowdSums(NamedTuple):
    """Expected numbers of workers in integer units, arrays of int64 of the shapes of `Crowd`."""

    communities: npt.NDArray[np.int64]
    constants: npt.NDArray[np.int64]
    accuracies: npt.NDArray[np.int64]

    @classmethod
    def zeros(cls, labels: int, places: int = ACCURACY_STEPS) -> Self:
        """Return empty sums."""
        return cls(
            np.zeros(len(CENTRES), np.int64),
            np.zeros(labels, np.int64),
            np.zeros((len(CENTRES), labels, places), np.int64),
        )


def _distributions(reports: WorkerReports, mistakes: Floats) -> tuple[Floats, Floats]:
    """Return the distributions of reports by accuracy, and those of constant answers.

    Shapes are (kinds, channels, labels, places, reports) and (kinds, channels, labels, reports).
    """
    tables = reports.tables[:, :, :, np.newaxis]
    usual, opposed = (mistakes[:, np.newaxis, np.newaxis] @ reports.tables)[..., np.newaxis, :]
    right = _places(reports.labels)[:, np.newaxis]
    wrong = np.where(np.arange(len(right))[:, np.newaxis] < ACCURACY_STEPS, usual, opposed)
    distributions = right * tables + (1.0 - right) * wrong
    constant_distributions = constant_answers(reports.labels, reports.blocks) @ reports.tables
    return (
        np.ascontiguousarray(np.maximum(distributions, LEAST)),
        np.ascontiguousarray(np.maximum(constant_distributions, LEAST)),
    )


@frozen(kw_only=True, eq=False)
class _Learned:
    """Result of one sweep; expected reports have the shape of `Crowd.distributions`."""

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
    labels, kinds = reports.labels, len(reports.tables)
    shape = (reports.workers + 1, reports.reports, labels)
    log_odds, votes = np.empty(shape, np.int32), np.empty(shape, np.int32)
    constancy = np.empty(reports.workers + 1)
    distributions, constant_distributions = _distributions(reports, state.mistakes)
    logs, constant_logs = np.log(distributions), np.log(constant_distributions)
    places = len(_places(labels))
    sums, aside = CrowdSums.zeros(labels, places), CrowdSums.zeros(labels, places)
    expected = np.zeros(distributions.shape if mistakes_too else (kinds, 0, 0, 0, 0), np.int64)
    not_asked = np.zeros((0, 0, 0, 0), np.int64)
    nobody = np.zeros(labels * reports.reports, np.int64)
    evidence = 0
    for kind in range(kinds):
        crowd = Crowd.of(distributions[kind], constant_distributions[kind], reports.chances, state)
        everybody = (reports.members[kind], counts.reshape(-1), slice(0, -1), sums, expected[kind])
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
    reports: WorkerReports, expected: npt.NDArray[np.int64], state: CrowdState, prior: Floats
) -> Floats:
    """Return the most probable distribution of mistakes, given expected reports by accuracy."""
    distributions, _ = _distributions(reports, state.mistakes)
    per_distribution = expected / reports.report_unit / distributions
    wrong = (1.0 - _places(reports.labels))[:, np.newaxis] * per_distribution
    learned = []
    for mistakes, places in zip(state.mistakes, (_USUAL, _OPPOSED), strict=True):
        of_places = wrong[:, :, :, places].sum(axis=3)
        by_answer = (of_places @ np.swapaxes(reports.tables, 2, 3)).sum(axis=(0, 1))
        learned.append(normalised(mistakes * by_answer + prior))
    return np.stack(learned)


def penalty(state: Any, prior: PriorCounts) -> float:
    """Return the log prior density of the crowd, up to a constant."""
    pairs = [
        (prior.communities, state.communities),
        (prior.constants, state.constants),
        (prior.accuracies, state.accuracies),
    ]
    if len(state.guesses) > 2:
        pairs.append((prior.mistakes, state.mistakes))
    return float(sum(special.xlogy(counts, shares).sum() for counts, shares in pairs))


def log_frequencies(classes: Floats, blocks: Blocks = ALL) -> tuple[Floats, float]:
    """Return the expected log-frequencies of the labels of each block, and their log evidence."""
    logs, evidence = zip(*(_log_frequencies(classes[one]) for one in blocks), strict=True)
    return np.concatenate(logs), sum(evidence)


def _log_frequencies(classes: Floats) -> tuple[Floats, float]:
    counts = classes + PRIOR_TASKS
    total, prior = counts.sum(), PRIOR_TASKS * len(counts)
    evidence = special.gammaln(prior) - special.gammaln(total)
    evidence += (special.gammaln(counts) - special.gammaln(PRIOR_TASKS)).sum()
    return special.psi(counts) - special.psi(total), float(evidence)


def learn_crowd(
    reports: WorkerReports, tally: CrowdTally, state: CrowdState, unit: float, frequencies: Any
) -> tuple[CrowdState, float]:
    """Return the next state, and the objective, a lower bound of the log evidence."""
    prior = PriorCounts.of(state.guesses, reports.blocks)
    if reports.labels > 2 and state.updates % MISTAKES_EVERY == 0:
        expected = _look(reports, tally.counts, unit, state, mistakes_too=True).expected
        state = evolve(state, mistakes=_learned_mistakes(reports, expected, state, prior.mistakes))
    seen = _look(reports, tally.counts, unit, state, mistakes_too=False)
    classes = tally.classes / unit
    if frequencies is None:
        log_priors, of_frequencies = log_frequencies(classes, reports.blocks)
    else:
        log_priors = np.log(np.maximum(frequencies, LEAST))
        of_frequencies = float((classes * log_priors).sum())
    climbed = seen.evidence + tally.entropy / unit + of_frequencies + penalty(state, prior)
    communities = seen.sums.communities / reports.worker_unit + prior.communities
    constants = seen.sums.constants / reports.worker_unit + prior.constants
    everybody = communities.sum() + constants.sum()
    accuracies = seen.sums.accuracies / reports.worker_unit
    accuracies += prior.accuracies
    return evolve(
        state,
        log_odds=seen.log_odds,
        votes=reports.bounded(seen.votes, FRACTION_BITS),
        constancy=seen.constancy,
        log_priors=integer_sums.to_fixed(log_priors),
        communities=communities / everybody,
        constants=constants / everybody,
        accuracies=normalised(accuracies),
        updates=state.updates + 1,
    ), climbed
