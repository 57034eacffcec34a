"""State and maximization step of `NoiseAware` for reports that are sets of labels."""

import math
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd._core import weigh_set_workers
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.accuracies import no_histograms
from quietcrowd.inference.labels.crowd import (
    ACCURACIES,
    CONSTANT_RATE,
    FIRST_ACCURACY,
    FRACTION_BITS,
    LEAST,
    PRIOR_REPORTS,
    PriorCounts,
    first_frequencies,
    fixed_logarithms,
    normalised,
    prior_accuracies,
    prior_communities,
    prior_constants,
    prior_mistakes,
)
from quietcrowd.inference.labels.learning import (
    MISTAKES_EVERY,
    CrowdSums,
    log_frequencies,
    penalty,
)
from quietcrowd.inference.labels.reports import CrowdUnits
from quietcrowd.inference.labels.truth_map import KnownTally, TruthMap
from quietcrowd.inference.model import State, Tally
from quietcrowd.mechanisms.channels.set_distribution import SetDistribution
from quietcrowd.report_domains import binomials

Floats = npt.NDArray[np.float64]

SHARE_ONE = 2.0**30
"""Representation of a probability of 1 in states."""

FINEST = 0.25
MOST_STEPS = 16
"""Distance of nodes, and their largest number on either side of 0."""


class SetSigns(NamedTuple):
    """Likelihood of a set for each answer.

    `binomials` are those of `report_domains`. `gain` is the ratio of the probabilities of a set for
    an answer in it and for another, minus 1; `epsilon` its logarithm. `mistakes`, at [answer,
    truth], is the probability of each wrong answer, in `SHARE_ONE`. The `nodes` are equidistant in
    ``[-epsilon, epsilon]``.
    """

    binomials: npt.NDArray[np.int64]
    gain: float
    epsilon: float
    mistakes: npt.NDArray[np.int64]
    nodes: int


class SetWorkers(NamedTuple):
    """Estimates of the workers.

    `log_odds`, at [worker, node, label], are expected ``ln(1 + w (exp(v) - 1))`` in units of
    `nats`, 0 for constant ones. `skills` are expected w at each truth of another worker,
    `constants` the probability that it always gives a label, in units of 1 / `SHARE_ONE`. A
    constant worker's set has likelihood `constant_base`, plus `constant_gain` if it contains the
    label.
    """

    log_odds: npt.NDArray[np.int32]
    nats: float
    skills: npt.NDArray[np.int32]
    constants: npt.NDArray[np.int32]
    constant_base: float
    constant_gain: float


@frozen(kw_only=True, eq=False)
class SetTally(Tally):
    """Statistics of a sweep over sets.

    `counts` are expected reports at [worker, node, truth], `bases` each worker's expected ``ln b``.
    `held` counts the sets that contain a label, at [worker, label]. `mistaken`, at [answer, truth],
    is the expected ``P(wrong) / b`` of sets that contain the answer, on the diagonal of all sets;
    only filled if `asks_for_mistakes`. `agreed` counts the sets that contain the estimate, in
    `integer_sums.shares`; `entropy` is in the units of `counts`. For the others see `CrowdTally`.
    """

    counts: npt.NDArray[np.int64]
    bases: npt.NDArray[np.int64]
    held: npt.NDArray[np.int64]
    mistaken: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    entropy: int
    known: KnownTally
    agreed: npt.NDArray[np.int64]
    histograms: npt.NDArray[np.int64] = field(factory=no_histograms)


@frozen(kw_only=True, eq=False)
class SetState(State):
    """Estimates of the workers, of their crowd, and of the frequencies of truths.

    Arrays over workers end with an unknown one. `log_odds`, in units of 2^-`FRACTION_BITS`,
    `skills` and `steady` (its ``constants``) are as in `SetWorkers`, all others as in `CrowdState`.
    """

    log_odds: npt.NDArray[np.int32]
    skills: npt.NDArray[np.int32]
    steady: npt.NDArray[np.int32]
    constancy: Floats
    log_priors: npt.NDArray[np.int64]
    guesses: Floats
    communities: Floats
    constants: Floats
    accuracies: Floats
    mistakes: Floats
    truth_map: TruthMap
    updates: int

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one is unknown."""
        chosen = np.append(positions, -1)
        return evolve(
            self,
            log_odds=self.log_odds[chosen],
            skills=self.skills[chosen],
            steady=self.steady[chosen],
            constancy=self.constancy[chosen],
        )

    def answers(self, worker: int) -> Floats:
        """Return a worker's answers at [truth, answer]; constant workers sometimes slip."""
        skills, steady = self.skills[worker] / SHARE_ONE, self.steady[worker] / SHARE_ONE
        own = (1.0 - skills)[:, np.newaxis] * self.mistakes + np.diag(skills)
        kept = CONSTANT_RATE * steady + (1.0 - CONSTANT_RATE) * steady.sum() / len(steady)
        found = (1.0 - steady.sum()) * own + kept
        mixed: Floats = found / found.sum(axis=1, keepdims=True)
        return mixed

    def workers(self, distribution: SetDistribution) -> SetWorkers:
        """Return the arguments of kernels."""
        base, more = _constant_likelihoods(distribution)
        return SetWorkers(
            log_odds=self.log_odds,
            nats=2.0**-FRACTION_BITS,
            skills=self.skills,
            constants=self.steady,
            constant_base=base,
            constant_gain=more,
        )


def asks_for_mistakes(state: SetState) -> bool:
    """Return whether the next update learns the distribution of mistakes."""
    return len(state.guesses) > 2 and state.updates % MISTAKES_EVERY == 0


def node_count(distribution: SetDistribution) -> int:
    """Return the number of nodes from minus epsilon to epsilon."""
    return 1 + 2 * max(4, min(MOST_STEPS, math.ceil(distribution.epsilon / FINEST)))


def signs_of(distribution: SetDistribution, mistakes: Floats) -> SetSigns:
    """Return likelihoods of sets for a distribution of mistakes, at [truth, answer]."""
    return SetSigns(
        binomials=binomials(distribution.labels, distribution.members),
        gain=float(distribution.ratio - 1),
        epsilon=_span(distribution),
        mistakes=np.ascontiguousarray(np.rint(mistakes.T * SHARE_ONE).astype(np.int64)),
        nodes=node_count(distribution),
    )


def _span(distribution: SetDistribution) -> float:
    """Return the largest node: epsilon, but above 0."""
    return max(math.log(distribution.ratio), 1e-9)


def _constant_likelihoods(distribution: SetDistribution) -> tuple[float, float]:
    gain = float(distribution.ratio - 1)
    return 1.0 + gain * (
        1.0 - CONSTANT_RATE
    ) * distribution.members / distribution.labels, gain * CONSTANT_RATE


def _accuracy_logs(distribution: SetDistribution) -> Floats:
    """Return ``ln(1 + w (exp(v) - 1))`` at each accuracy and node, shape (places, nodes)."""
    nodes = np.linspace(-1.0, 1.0, node_count(distribution)) * _span(distribution)
    logs: Floats = np.log1p(np.outer(ACCURACIES, np.expm1(nodes)))
    return logs


def _guesses(distribution: SetDistribution, held: npt.NDArray[np.int64], reports: int) -> Floats:
    """Return the frequency of each label among the answers, from how many sets contain it.

    The fraction of sets with a label is ``q + (p - q) nu``. The estimate has the weight of equally
    precise noiseless answers, and the prior that of `PRIOR_REPORTS`.
    """
    p, q = float(distribution.held), float(distribution.held_other)
    if p == q:
        return np.full(distribution.labels, 1.0 / distribution.labels)
    found = np.maximum((held / max(reports, 1) - q) / (p - q), 0.0)
    total = integer_sums.exact_sum(found, distribution.labels)
    shares = found / total if total else np.full(distribution.labels, 1.0 / distribution.labels)
    worth = reports * (p - q) ** 2 / ((p - q) ** 2 + distribution.labels * q * (1.0 - q))
    guesses: Floats = (worth * shares + PRIOR_REPORTS) / (
        worth + PRIOR_REPORTS * distribution.labels
    )
    return guesses


def first_sets(
    units: CrowdUnits, distribution: SetDistribution, held: npt.NDArray[np.int64], frequencies: Any
) -> SetState:
    """Return the state before the first pass that learns; sets `held` each label."""
    labels, workers = distribution.labels, units.workers + 1
    guesses = _guesses(distribution, held, units.summary.answers)
    shares = prior_constants(labels)
    likely = 1.0 + FIRST_ACCURACY * np.expm1(
        np.linspace(-1.0, 1.0, node_count(distribution)) * _span(distribution)
    )
    odds = np.rint(np.ldexp((1.0 - shares.sum()) * np.log(likely), FRACTION_BITS))
    steady = np.tile(np.rint(shares * SHARE_ONE).astype(np.int32), (workers, 1))
    return SetState(
        log_odds=np.tile(odds.astype(np.int32)[:, np.newaxis], (workers, 1, labels)),
        skills=np.full((workers, labels), round(FIRST_ACCURACY * SHARE_ONE), np.int32),
        steady=steady,
        constancy=steady.sum(axis=1) / SHARE_ONE,
        log_priors=fixed_logarithms(first_frequencies(guesses, frequencies)),
        guesses=guesses,
        communities=prior_communities(),
        constants=shares,
        accuracies=prior_accuracies(guesses),
        mistakes=prior_mistakes(guesses),
        truth_map=TruthMap.first(0, 0),
        updates=0,
    )


def learn_sets(
    units: CrowdUnits,
    distribution: SetDistribution,
    tally: SetTally,
    state: SetState,
    unit: float,
    frequencies: Any,
) -> tuple[SetState, float]:
    """Return the next state, and the objective, a lower bound of the log evidence.

    Mistakes are learned from the same sweep as the workers, so the objective may then fall a
    little.
    """
    prior = PriorCounts.of(state.guesses, opposed=False)
    seen, sums, evidence = _look(units, distribution, tally, state, unit)
    classes = tally.classes / unit
    if frequencies is None:
        log_priors, of_frequencies = log_frequencies(classes)
    else:
        log_priors = np.log(np.maximum(frequencies, LEAST))
        of_frequencies = float((classes * log_priors).sum())
    climbed = evidence + tally.entropy / unit + of_frequencies + penalty(state, prior)
    communities = sums.communities / units.worker_unit + prior.communities
    constants = sums.constants / units.worker_unit + prior.constants
    everybody = communities.sum() + constants.sum()
    accuracies = sums.accuracies / units.worker_unit
    accuracies += prior.accuracies
    return evolve(
        seen,
        log_priors=integer_sums.to_fixed(log_priors),
        communities=communities / everybody,
        constants=constants / everybody,
        accuracies=normalised(accuracies),
        mistakes=_learned_mistakes(units, distribution, tally, state, prior.mistakes),
        updates=state.updates + 1,
    ), climbed


def _look(
    units: CrowdUnits, distribution: SetDistribution, tally: SetTally, state: SetState, unit: float
) -> tuple[SetState, CrowdSums, float]:
    """Estimate all workers, and an unknown one; return sums and the log evidence, too."""
    labels, everybody = distribution.labels, units.workers + 1
    logs = np.ascontiguousarray(_accuracy_logs(distribution))
    nodes = logs.shape[1]
    log_odds = np.empty((everybody, nodes, labels), np.int32)
    skills, steady = np.empty((2, everybody, labels), np.int32)
    constancy = np.empty(everybody)
    base, more = _constant_likelihoods(distribution)
    with_label, without = map(float, np.log(np.array([base + more, base])))
    sums, aside = CrowdSums.zeros(state), CrowdSums.zeros(state)
    evidence = 0
    nobody = np.zeros((1, nodes, labels), np.int64), np.zeros((1, labels), np.int64)
    known = (tally.counts, tally.held, units.summary.answers_per_worker, tally.bases)
    unknown = (*nobody, np.zeros(1, np.int64), np.zeros(1, np.int64))
    for given, where, added in ((known, slice(0, -1), sums), (unknown, slice(-1, None), aside)):
        climbed = weigh_set_workers(
            *given,
            unit,
            np.ascontiguousarray(state.communities),
            np.ascontiguousarray(state.constants),
            np.ascontiguousarray(state.accuracies),
            logs,
            ACCURACIES,
            with_label,
            without,
            2.0**FRACTION_BITS,
            SHARE_ONE,
            units.worker_unit,
            units.evidence_unit,
            log_odds[where],
            skills[where],
            steady[where],
            constancy[where],
            added,
        )
        evidence += climbed * (where.start == 0)
    seen = evolve(state, log_odds=log_odds, skills=skills, steady=steady, constancy=constancy)
    return seen, sums, evidence / units.evidence_unit


def _learned_mistakes(
    units: CrowdUnits,
    distribution: SetDistribution,
    tally: SetTally,
    state: SetState,
    prior: Floats,
) -> Floats:
    if not asks_for_mistakes(state):
        return state.mistakes
    mistakes = tally.mistaken.T / mistake_unit(units)
    every = np.diagonal(mistakes)[:, np.newaxis]
    holding = np.where(np.eye(distribution.labels, dtype=bool), 0.0, mistakes)
    expected = state.mistakes * (every + float(distribution.ratio - 1) * holding)
    return normalised(expected + prior)


def mistake_unit(units: CrowdUnits) -> float:
    """Return the representation of 1 in `SetTally.mistaken`."""
    return integer_sums.unit_for(units.summary.answers + 1.0)
