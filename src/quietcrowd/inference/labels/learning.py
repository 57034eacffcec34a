"""The maximization step of `NoiseAware` for labels: workers and crowd, from a tally."""

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from scipy import special

from quietcrowd._core import weigh_workers
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.crowd import (
    FRACTION_BITS,
    LEAST,
    PRIOR_TASKS,
    CrowdState,
    CrowdTally,
    Grid,
    PriorCounts,
    constant_answers,
    normalised,
)
from quietcrowd.inference.labels.reports import ALL, Blocks, WorkerReports

Floats = npt.NDArray[np.float64]

MISTAKES_EVERY = 4
"""Period, in updates, of learning the distribution of mistakes, which doubles the work."""


class Crowd(NamedTuple):
    """Distributions that all workers share.

    The distribution of reports at a place of the `Grid` is a mixture of `parts`, at [part, channel,
    report, truth]: reports of right answers, and of wrong ones of usual and of opposed workers. The
    `mixture` has their weights at [part, place]. `constant_distributions`, at [channel, label,
    report], are those of a worker with a constant label. The others are probabilities: of each of
    the `channels`, `communities` and `constants`, and of `accuracies` at [community, label, place].
    """

    parts: Floats
    mixture: Floats
    constant_distributions: Floats
    channels: Floats
    communities: Floats
    constants: Floats
    accuracies: Floats

    @classmethod
    def of(cls, reports: WorkerReports, kind: int, state: CrowdState) -> Self:
        """Return contiguous arrays for the workers of a kind."""
        tables = reports.tables[kind]
        right, opposed = Grid.of(reports.labels)
        wrong = [np.where(opposed == which, 1.0 - right, 0.0) for which in (False, True)]
        mistakes = state.mistakes[:, np.newaxis]
        constants = constant_answers(reports.labels, reports.blocks)[np.newaxis]
        if not reports.without_noise:
            mistakes, constants = mistakes @ tables, constants @ tables
        parts = np.stack([tables, *mistakes])
        found = (
            np.swapaxes(parts, 2, 3),
            np.stack([right, *wrong]),
            np.maximum(constants, LEAST),
            reports.chances[kind],
            state.communities,
            state.constants,
            state.accuracies,
        )
        return cls(*map(np.ascontiguousarray, found))


class CrowdSums(NamedTuple):
    """Expected numbers of workers in integer units, arrays of int64 of the shapes of `Crowd`."""

    communities: npt.NDArray[np.int64]
    constants: npt.NDArray[np.int64]
    accuracies: npt.NDArray[np.int64]

    @classmethod
    def zeros(cls, state: Any) -> Self:
        """Return empty sums, for a `CrowdState` or `SetState`."""
        shapes = (getattr(state, name).shape for name in cls._fields)
        return cls(*(np.zeros(shape, np.int64) for shape in shapes))


@frozen(kw_only=True, eq=False)
class _Learned:
    """Result of one pass over the workers."""

    log_odds: npt.NDArray[np.int32]
    votes: npt.NDArray[np.int32]
    constancy: Floats
    sums: CrowdSums
    evidence: float


def _weigh(
    reports: WorkerReports,
    counts: npt.NDArray[np.int64],
    count_unit: float,
    state: CrowdState,
    mistaken: list[npt.NDArray[np.int64]] | None = None,
    *,
    all_rows: bool = True,
) -> _Learned:
    """Weigh all workers; if `mistaken` is given, add only expected wrong answers to it, by kind.

    Unless `all_rows`, tables of many labels are 0 for reports that a worker has not given.
    """
    labels = reports.labels
    shape = (reports.workers + 1, reports.reports, labels)
    log_odds, votes = np.zeros((2, *shape), np.int32)
    constancy = np.zeros(reports.workers + 1)
    sums, aside = CrowdSums.zeros(state), CrowdSums.zeros(state)
    nobody = np.zeros(labels * reports.reports, np.int64)
    evidence = 0
    for kind in range(len(reports.tables)):
        crowd = Crowd.of(reports, kind, state)
        wrong = np.zeros((0, 0, 0, 0), np.int64) if mistaken is None else mistaken[kind]
        everybody = (reports.members[kind], counts.reshape(-1), slice(0, -1), sums)
        ends = [everybody]
        if kind == reports.usual_kind and mistaken is None and all_rows:
            ends.append((np.zeros(1, np.int64), nobody, slice(-1, None), aside))
        for members, given, where, total in ends:
            evidence += weigh_workers(
                members,
                given,
                count_unit,
                crowd,
                2.0**FRACTION_BITS,
                reports.worker_unit,
                reports.report_unit,
                reports.evidence_unit,
                all_rows,
                log_odds[where].reshape(-1),
                votes[where].reshape(-1),
                constancy[where],
                total,
                wrong,
            ) * (where.start == 0)
    return _Learned(
        log_odds=log_odds,
        votes=votes,
        constancy=constancy,
        sums=sums,
        evidence=evidence / reports.evidence_unit,
    )


def _learned_mistakes(
    reports: WorkerReports,
    counts: npt.NDArray[np.int64],
    unit: float,
    state: CrowdState,
    prior: Floats,
) -> Floats:
    """Return the most probable distributions of mistakes, given expected reports."""
    opposed, labels, many = len(state.mistakes), reports.labels, reports.reports
    mistaken = [np.zeros((opposed, len(one), many, labels), np.int64) for one in reports.chances]
    _weigh(reports, counts, unit, state, mistaken)
    by_answer = np.zeros_like(state.mistakes)
    for found, tables in zip(mistaken, reports.tables, strict=True):
        expected = np.swapaxes(found / reports.report_unit, 2, 3)
        for which, mistakes in enumerate(state.mistakes):
            part = mistakes if reports.without_noise else mistakes @ tables
            ratios = expected[which] / np.maximum(part, LEAST)
            back = ratios if reports.without_noise else ratios @ np.swapaxes(tables, 1, 2)
            by_answer[which] += back.sum(axis=0)
    return normalised(state.mistakes * by_answer + prior)


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
    reports: WorkerReports,
    tally: CrowdTally,
    state: CrowdState,
    unit: float,
    frequencies: Any,
    *,
    all_rows: bool = True,
) -> tuple[CrowdState, float]:
    """Return the next state, and the objective, a lower bound of the log evidence.

    Unless `all_rows`, tables of many labels are 0 for reports that a worker has not given.
    """
    prior = PriorCounts.of(state.guesses, reports.blocks)
    if reports.labels > 2 and state.updates % MISTAKES_EVERY == 0:
        learned = _learned_mistakes(reports, tally.counts, unit, state, prior.mistakes)
        state = evolve(state, mistakes=learned)
    seen = _weigh(reports, tally.counts, unit, state, all_rows=all_rows)
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
