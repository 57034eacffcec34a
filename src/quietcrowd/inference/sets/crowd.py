"""What `NoiseAware` believes of a crowd that sends sets of labels, and learns of it from a pass."""

from __future__ import annotations

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
    PRIOR_ACCURACIES,
    PRIOR_MISTAKES,
    PRIOR_REPORTS,
    PRIOR_WORKERS,
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
    sharpness_of,
)
from quietcrowd.inference.labels.reports import CrowdUnits
from quietcrowd.inference.passes import State, Tally
from quietcrowd.mechanisms.channels.set_law import SetLaw
from quietcrowd.report_domains import binomials

__all__ = [
    "SetSigns",
    "SetState",
    "SetTally",
    "SetWorkers",
    "asks_for_mistakes",
    "first_sets",
    "learn_sets",
    "mistake_unit",
    "node_count",
    "signs_of",
]

Floats = npt.NDArray[np.float64]

SHARE_ONE = 2.0**30
"""What a probability of 1 is stored as in what is believed of workers."""

FINEST = 0.25
MOST_STEPS = 16
"""Nodes are so far apart, or there are so many on either side of 0."""


class SetSigns(NamedTuple):
    """How a set speaks for its answer.

    Attributes
    ----------
    binomials : ndarray of int64, shape (members, labels)
        As of `report_domains.binomials`.
    gain : float
        How much likelier a set is given an answer that it holds than given another one, less 1.
    epsilon : float
        The logarithm of 1 more than that.
    mistakes : ndarray of int64, shape (labels, labels)
        How probable each answer is that is not the truth, at [answer, truth], in `SHARE_ONE`.
    nodes : int
        How many nodes there are, evenly from ``-epsilon`` to ``epsilon``.
    """

    binomials: npt.NDArray[np.int64]
    gain: float
    epsilon: float
    mistakes: npt.NDArray[np.int64]
    nodes: int


class SetWorkers(NamedTuple):
    """What is believed of the workers.

    Attributes
    ----------
    log_odds : ndarray of int32, shape (workers, nodes, labels)
        Expected ``ln(1 + w (exp(v) - 1))`` at each node, in units of `nats`; 0 for who always gives
        one label.
    nats : float
        See above.
    skills : ndarray of int32, shape (workers, labels)
        Expected w at each truth of a worker who does not always give one label.
    constants : ndarray of int32, shape (workers, labels)
        Probability that it always gives this label; both in units of 1 / `SHARE_ONE`.
    constant_base, constant_gain : float
        Likelihood of a set from who always gives one label: the first, and the second more where
        the set holds that label.
    """

    log_odds: npt.NDArray[np.int32]
    nats: float
    skills: npt.NDArray[np.int32]
    constants: npt.NDArray[np.int32]
    constant_base: float
    constant_gain: float


@frozen(kw_only=True, eq=False)
class SetTally(Tally):
    """What a pass over sets tells of workers and tasks.

    Attributes
    ----------
    counts : ndarray of int64, shape (workers, nodes, labels)
        Expected reports by truth and node.
    bases : ndarray of int64, shape (workers,)
        Expected ``ln b``.
    held : ndarray of int64, shape (workers, labels)
        How many sets hold each label.
    mistaken : ndarray of int64, shape (labels, labels)
        At [answer, truth]: expected ``P(wrong) / b`` of sets that hold the answer; on the diagonal,
        of all sets. Filled where it is asked for.
    classes : ndarray of int64, shape (labels,)
        Expected tasks of each label.
    calibration : ndarray of int64
        As of `CrowdTally`.
    agreed : ndarray of int64, shape (workers,)
        How many sets hold the estimate, in `integer_sums.shares`.
    entropy : int
        Sum of the entropies of the posteriors, in the units of `counts`.
    compared : int
        How many known truths `calibration` is of.
    histograms : ndarray of int64
        As in `AgreementTally`.
    """

    counts: npt.NDArray[np.int64]
    bases: npt.NDArray[np.int64]
    held: npt.NDArray[np.int64]
    mistaken: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    entropy: int
    calibration: npt.NDArray[np.int64]
    compared: int
    agreed: npt.NDArray[np.int64]
    histograms: npt.NDArray[np.int64] = field(factory=no_histograms)


@frozen(kw_only=True, eq=False)
class SetState(State):
    """What is believed of workers, of the crowd they are drawn from, and of truths.

    Of what is about workers the last entry is that of a worker of whom nothing is known.

    Attributes
    ----------
    log_odds, skills, steady : ndarray of int32
        See `SetWorkers`, where the third is called ``constants``; log-odds in units of
        2^-`FRACTION_BITS`.
    constancy : ndarray of float64, shape (workers + 1,)
        Probability that a worker always gives one label.
    log_priors, guesses, communities, constants, accuracies, mistakes, sharpness, updates
        As of `CrowdState`.
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
    sharpness: float
    updates: int

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; of a new one nothing is known."""
        chosen = np.append(positions, -1)
        return evolve(
            self,
            log_odds=self.log_odds[chosen],
            skills=self.skills[chosen],
            steady=self.steady[chosen],
            constancy=self.constancy[chosen],
        )

    def answers(self, worker: int) -> Floats:
        """Return how likely a worker gives each answer, at [truth, answer]; rows sum to 1.

        Of who always gives one label the answer is another one at times, all of them alike.
        """
        skills, steady = self.skills[worker] / SHARE_ONE, self.steady[worker] / SHARE_ONE
        own = (1.0 - skills)[:, np.newaxis] * self.mistakes + np.diag(skills)
        kept = CONSTANT_RATE * steady + (1.0 - CONSTANT_RATE) * steady.sum() / len(steady)
        found = (1.0 - steady.sum()) * own + kept
        mixed: Floats = found / found.sum(axis=1, keepdims=True)
        return mixed

    def workers(self, law: SetLaw) -> SetWorkers:
        """Return what the kernels take of it."""
        base, more = _constant_likelihoods(law)
        return SetWorkers(
            log_odds=self.log_odds,
            nats=2.0**-FRACTION_BITS,
            skills=self.skills,
            constants=self.steady,
            constant_base=base,
            constant_gain=more,
        )


def asks_for_mistakes(state: SetState) -> bool:
    """Return whether the next update learns what mistakes are."""
    return len(state.guesses) > 2 and state.updates % MISTAKES_EVERY == 0


def node_count(law: SetLaw) -> int:
    """Return how many nodes there are, from minus epsilon to epsilon."""
    return 1 + 2 * max(4, min(MOST_STEPS, math.ceil(law.epsilon / FINEST)))


def signs_of(law: SetLaw, mistakes: Floats) -> SetSigns:
    """Return how sets speak where wrong answers have a law, by [truth, answer]."""
    return SetSigns(
        binomials=binomials(law.labels, law.members),
        gain=float(law.ratio - 1),
        epsilon=_span(law),
        mistakes=np.ascontiguousarray(np.rint(mistakes.T * SHARE_ONE).astype(np.int64)),
        nodes=node_count(law),
    )


def _span(law: SetLaw) -> float:
    """Return how far nodes reach: epsilon, or next to nothing where sets tell nothing."""
    return max(math.log(law.ratio), 1e-9)


def _constant_likelihoods(law: SetLaw) -> tuple[float, float]:
    """Return how likely a set is from who always gives one label, and more if it holds that."""
    gain = float(law.ratio - 1)
    return 1.0 + gain * (1.0 - CONSTANT_RATE) * law.members / law.labels, gain * CONSTANT_RATE


def _accuracy_logs(law: SetLaw) -> Floats:
    """Return ``ln(1 + w (exp(v) - 1))`` at each accuracy and node, shape (places, nodes)."""
    nodes = np.linspace(-1.0, 1.0, node_count(law)) * _span(law)
    logs: Floats = np.log1p(np.outer(ACCURACIES, np.expm1(nodes)))
    return logs


def _guesses(law: SetLaw, held: npt.NDArray[np.int64], reports: int) -> Floats:
    """Return how often each label is given, from how many sets hold it.

    The share of sets that hold a label is ``q + (p - q) nu``. What that gives counts as so many
    answers without noise as would tell as much, beside `PRIOR_REPORTS` of each label.
    """
    p, q = float(law.held), float(law.held_other)
    if p == q:
        return np.full(law.labels, 1.0 / law.labels)
    found = np.maximum((held / max(reports, 1) - q) / (p - q), 0.0)
    total = integer_sums.exact_sum(found, law.labels)
    shares = found / total if total else np.full(law.labels, 1.0 / law.labels)
    worth = reports * (p - q) ** 2 / ((p - q) ** 2 + law.labels * q * (1.0 - q))
    guesses: Floats = (worth * shares + PRIOR_REPORTS) / (worth + PRIOR_REPORTS * law.labels)
    return guesses


def first_sets(units: CrowdUnits, law: SetLaw, held: npt.NDArray[np.int64], prior: Any) -> SetState:
    """Return what is believed before the first pass but for how many sets hold each label.

    Parameters
    ----------
    units : CrowdUnits
        Of all reports.
    law : SetLaw
        Of a set given the answer; it tells something.
    held : ndarray of int, shape (labels,)
        How many sets hold each label.
    prior : ndarray of float64 or None
        As of `label_state.prior_crowd`.
    """
    labels, workers = law.labels, units.workers + 1
    guesses = _guesses(law, held, units.summary.answers)
    shares = prior_constants(labels)
    likely = 1.0 + FIRST_ACCURACY * np.expm1(np.linspace(-1.0, 1.0, node_count(law)) * _span(law))
    odds = np.rint(np.ldexp((1.0 - shares.sum()) * np.log(likely), FRACTION_BITS))
    steady = np.tile(np.rint(shares * SHARE_ONE).astype(np.int32), (workers, 1))
    return SetState(
        log_odds=np.tile(odds.astype(np.int32)[:, np.newaxis], (workers, 1, labels)),
        skills=np.full((workers, labels), round(FIRST_ACCURACY * SHARE_ONE), np.int32),
        steady=steady,
        constancy=steady.sum(axis=1) / SHARE_ONE,
        log_priors=fixed_logarithms(first_frequencies(guesses, prior)),
        guesses=guesses,
        communities=prior_communities(),
        constants=shares,
        accuracies=prior_accuracies(guesses),
        mistakes=prior_mistakes(guesses),
        sharpness=1.0,
        updates=0,
    )


def learn_sets(
    units: CrowdUnits, law: SetLaw, tally: SetTally, state: SetState, unit: float, prior: Any
) -> tuple[SetState, float]:
    """Return what is believed after a pass, and the objective: a bound of the log-evidence.

    What mistakes are is learnt from the same pass as the workers are: in the next one the objective
    may fall a little.

    Parameters
    ----------
    units : CrowdUnits
        Of all reports.
    law : SetLaw
        Of a set given the answer.
    tally, state
        Of the pass, and what it believed.
    unit : float
        What 1 is stored as in the tally.
    prior : ndarray of float64 or None
        As of `label_state.prior_crowd`.
    """
    seen, sums, evidence = _look(units, law, tally, state, unit)
    classes = tally.classes / unit
    if prior is None:
        log_priors, of_frequencies = log_frequencies(classes)
    else:
        log_priors = np.log(np.maximum(prior, LEAST))
        of_frequencies = float((classes * log_priors).sum())
    climbed = evidence + tally.entropy / unit + of_frequencies + penalty(state)
    communities = sums.communities / units.worker_unit + PRIOR_WORKERS * prior_communities()
    constants = sums.constants / units.worker_unit + PRIOR_WORKERS * prior_constants(law.labels)
    everybody = communities.sum() + constants.sum()
    accuracies = sums.accuracies / units.worker_unit
    accuracies += PRIOR_ACCURACIES * prior_accuracies(state.guesses)
    return evolve(
        seen,
        log_priors=integer_sums.to_fixed(log_priors),
        communities=communities / everybody,
        constants=constants / everybody,
        accuracies=normalised(accuracies),
        mistakes=_learned_mistakes(units, law, tally, state),
        sharpness=sharpness_of(tally),
        updates=state.updates + 1,
    ), climbed


def _look(
    units: CrowdUnits, law: SetLaw, tally: SetTally, state: SetState, unit: float
) -> tuple[SetState, CrowdSums, float]:
    """Weigh all workers, and one of whom nothing is known; return also the log-evidence."""
    labels, everybody = law.labels, units.workers + 1
    logs = np.ascontiguousarray(_accuracy_logs(law))
    nodes = logs.shape[1]
    log_odds = np.empty((everybody, nodes, labels), np.int32)
    skills, steady = np.empty((2, everybody, labels), np.int32)
    constancy = np.empty(everybody)
    base, more = _constant_likelihoods(law)
    with_label, without = map(float, np.log(np.array([base + more, base])))
    sums, aside = CrowdSums.zeros(labels), CrowdSums.zeros(labels)
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


def _learned_mistakes(units: CrowdUnits, law: SetLaw, tally: SetTally, state: SetState) -> Floats:
    """Return the most probable law of mistakes, given expected ones of the pass."""
    if not asks_for_mistakes(state):
        return state.mistakes
    told = tally.mistaken.T / mistake_unit(units)
    every = np.diagonal(told)[:, np.newaxis]
    holding = np.where(np.eye(law.labels, dtype=bool), 0.0, told)
    expected = state.mistakes * (every + float(law.ratio - 1) * holding)
    return normalised(expected + PRIOR_MISTAKES * prior_mistakes(state.guesses))


def mistake_unit(units: CrowdUnits) -> float:
    """Return what 1 is stored as in `SetTally.mistaken`."""
    return integer_sums.unit_for(units.summary.answers + 1.0)
