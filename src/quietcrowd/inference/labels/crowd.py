"""State and prior of `NoiseAware` for labels: distributions of accuracies and of mistakes."""

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.accuracies import no_histograms
from quietcrowd.inference.labels.reports import ALL, Blocks, WorkerReports
from quietcrowd.inference.labels.truth_map import KnownTally, TruthMap
from quietcrowd.inference.model import State, Tally

Floats = npt.NDArray[np.float64]

ACCURACY_STEPS = 24
"""Number of accuracies on the grid."""

ACCURACIES = (np.arange(ACCURACY_STEPS) + 0.5) / ACCURACY_STEPS
"""Grid of a worker's accuracy for each label."""

MANY_LABELS = 16
"""With more labels the grid has every other accuracy: a worker gives few reports of each."""

HIGHEST_OPPOSED, OPPOSED_COMMUNITIES = 0.38, 3
"""Highest accuracy of opposed workers, and number of their communities of each kind, the lowest
ones."""

CENTRES = np.array([0.15, 0.35, 0.5, 0.62, 0.74, 0.86, 0.95])
"""Mean accuracies of communities of workers, of two labels."""

SHARES = np.array([0.02, 0.06, 0.12, 0.20, 0.25, 0.22, 0.13])
"""Prior fraction of workers in each."""

CONCENTRATION = 8.0
"""Number of answers that the prior of accuracies in a community is worth."""

EVEN_SHARE, EVEN_CONCENTRATION = 0.5, 64.0
"""Prior fraction of workers whose accuracy is about the same for all labels, and the concentration
of their communities. The accuracies of the others follow the frequencies of the answers."""

CONSTANT_SHARE, CONSTANT_RATE = 0.05, 0.96
"""Prior fraction of workers with a constant label, and how often they give it."""

PRIOR_WORKERS, PRIOR_ACCURACIES, PRIOR_MISTAKES, PRIOR_TASKS = 10.0, 5.0, 30.0, 2.0
"""Weights of priors: workers in communities, workers per community and label, mistakes per label,
tasks per label."""

PRIOR_REPORTS = 20.0
"""Weight of the prior of guesses, in reports of each label."""

FIRST_ACCURACY = 0.75
"""Accuracy of every worker in the first pass."""

START_POWER = 0.25
"""Exponent of the debiased frequencies of truths, in the first pass."""

RARE = 0.02
"""Least frequency of a label in the first pass."""

LEAST = 1e-27
"""Least probability of a report."""

FRACTION_BITS = 24
"""Log-odds of reports are stored in units of 2 to minus this."""


class Grid(NamedTuple):
    """Places on which the accuracy of a worker for a label lies, with two arrays of their shape.

    The last places are `opposed` workers, who have their own distribution of mistakes.
    """

    accuracies: Floats
    opposed: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, labels: int) -> Self:
        """Return the grid for this number of labels; for two labels nobody is opposed."""
        steps = ACCURACY_STEPS if labels <= MANY_LABELS else ACCURACY_STEPS // 2
        usual = (np.arange(steps) + 0.5) / steps
        low = usual[usual < HIGHEST_OPPOSED] if labels > 2 else usual[:0]
        return cls(np.concatenate([usual, low]), np.arange(steps + len(low)) >= steps)


@frozen(kw_only=True, eq=False)
class CrowdTally(Tally):
    """Statistics of a sweep.

    Expected `counts` at [worker, report, label], tasks in `classes`, and the `entropy` of the
    posteriors have one unit; so have expected answers of the `sources` of groups, at [group, truth,
    answer]. `heard` are the expected messages of groups, in units of 1 / `HEARD_ONE`.
    `report_counts` is filled only in the very first pass.
    """

    counts: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64]
    entropy: int
    report_counts: npt.NDArray[np.int64]
    known: KnownTally
    agreed: npt.NDArray[np.int64]
    sources: npt.NDArray[np.int64]
    heard: int = 0
    histograms: npt.NDArray[np.int64] = field(factory=no_histograms)


@frozen(kw_only=True, eq=False)
class CrowdState(State):
    """Estimates of the workers, of their crowd, and of the frequencies of truths.

    The last entry of arrays over workers is that of an unknown one. `log_odds`, at [worker, report,
    label], are expected log-probabilities, and `votes` the logarithms of expected probabilities,
    used by the last pass; both are in units of 2^-`FRACTION_BITS`. With more than `MANY_LABELS`
    labels they are 0 before the last update for reports that a worker has not given, and for an
    unknown one. `constancy` is the probability that a worker always gives one label. `log_priors`
    are expected log-frequencies of the truths, in units of 2^-32, `guesses` frequencies of the
    answers. `mistakes`, at [opposed, truth, answer], are the distributions of wrong answers of
    usual and of opposed workers. For the others see `Crowd`.
    `sources`, at [group, truth, answer], are Dirichlet counts of answers of the groups' sources.
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
    truth_map: TruthMap
    sources: Floats
    updates: int

    @override
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of other workers; a new one is unknown."""
        chosen = np.append(positions, -1)
        return evolve(
            self,
            log_odds=self.log_odds[chosen],
            votes=self.votes[chosen],
            constancy=self.constancy[chosen],
        )


def mean_accuracy(state: Any, grid: Floats) -> float:
    """Return how often workers agree with the apparent truth, except those with constant labels.

    `grid` has the accuracies to which `state.accuracies` gives probabilities. The mean is rounded,
    so that the order of the labels has no effect.
    """
    frequencies = normalised(np.exp(state.log_priors / integer_sums.ONE))
    each = state.accuracies @ grid
    return round(float(normalised(state.communities) @ each @ frequencies), 6)


def normalised(counts: Floats) -> Floats:
    """Return distributions in proportion to counts, along the last axis."""
    shares: Floats = counts / counts.sum(axis=-1, keepdims=True)
    return shares


def prior_accuracies(guesses: Floats, accuracies: Floats = ACCURACIES) -> Floats:
    """Return the prior of accuracies on a grid, shape (communities, labels, places).

    The last half of the communities are those of workers with even accuracies.
    """
    even = np.full(len(guesses), 1.0 / len(guesses))
    usual = _prior_of_kind(guesses, CONCENTRATION, accuracies)
    return np.concatenate([usual, _prior_of_kind(even, EVEN_CONCENTRATION, accuracies)])


def _prior_of_kind(guesses: Floats, concentration: float, accuracies: Floats) -> Floats:
    labels = max(len(guesses), 2)
    above = 1.0 / labels + (2.0 * CENTRES - 1.0) * (1.0 - 1.0 / labels)
    centres = np.where(CENTRES > 0.5, above, 2.0 * CENTRES / labels) if labels > 2 else CENTRES
    skill = ((centres - 1.0 / labels) / (1.0 - 1.0 / labels))[:, np.newaxis]
    means = np.where(skill >= 0, skill + (1.0 - skill) * guesses, (1.0 + skill) * guesses)
    means = np.clip(means, 0.01, 0.99)[:, :, np.newaxis]
    shape = concentration * means
    rest = concentration - shape
    return normalised(accuracies ** (shape - 1.0) * (1.0 - accuracies) ** (rest - 1.0))


def prior_mistakes(guesses: Floats) -> Floats:
    """Return the prior of wrong answers, by truth; a single label is its own mistake."""
    same = np.eye(len(guesses), dtype=bool) & (len(guesses) > 1)
    return normalised(np.where(same, 0.0, guesses))


def accuracies_of_blocks(guesses: Floats, blocks: Blocks) -> Floats:
    """Return the prior of accuracies if the frequencies of each block sum to 1.

    It is on the `Grid` of all labels; a block of two has no opposed workers.
    """
    accuracies, opposed = Grid.of(len(guesses))
    steps, low = np.bincount(opposed, minlength=2)
    usual = accuracies[:steps]
    found = np.concatenate([prior_accuracies(guesses[one], usual) for one in blocks], axis=1)
    found = np.concatenate([found, np.zeros((*found.shape[:2], low))], axis=2)
    lowest = np.arange(len(found)) % len(CENTRES) < OPPOSED_COMMUNITIES
    for block in blocks:
        if len(guesses[block]) > 2:
            found[lowest, block, steps:] = found[lowest, block, :low]
            found[lowest, block, :low] = 0.0
    return found


def mistakes_of_blocks(guesses: Floats, blocks: Blocks) -> Floats:
    """Return the prior of wrong answers, which are labels of the truth's block."""
    mistakes = np.zeros((len(guesses), len(guesses)))
    for block in blocks:
        mistakes[block, block] = prior_mistakes(guesses[block])
    return mistakes


def constant_answers(labels: int, blocks: Blocks) -> Floats:
    """Return the distribution of the answers of workers who always give one label.

    In another block they give the label at the same position, or any label if the block is smaller.
    """
    answers = np.empty((labels, labels))
    for own in blocks:
        for block in blocks:
            size = len(answers[block])
            rows = np.eye(len(answers[own]), size) * CONSTANT_RATE
            rows += (1.0 - CONSTANT_RATE) / size
            rows[size:] = 1.0 / size
            answers[own, block] = rows
    return answers


def prior_constants(labels: int) -> Floats:
    """Return the prior fraction of workers with each constant label."""
    return np.full(labels, CONSTANT_SHARE / labels)


def prior_communities() -> Floats:
    """Return the prior fractions of workers in each community."""
    shares = np.concatenate([(1.0 - EVEN_SHARE) * SHARES, EVEN_SHARE * SHARES])
    return (1.0 - CONSTANT_SHARE) * shares


class PriorCounts(NamedTuple):
    """Prior distributions times their weights, as arrays like those of `CrowdState`."""

    communities: Floats
    constants: Floats
    accuracies: Floats
    mistakes: Floats

    @classmethod
    def of(cls, guesses: Floats, blocks: Blocks = ALL, *, opposed: bool = True) -> Self:
        """Return the prior for the frequencies of labels among the answers, in each block.

        Only labels have `opposed` workers.
        """
        accuracies = accuracies_of_blocks(guesses, blocks) if opposed else prior_accuracies(guesses)
        return cls(
            communities=PRIOR_WORKERS * prior_communities(),
            constants=PRIOR_WORKERS * prior_constants(len(guesses)),
            accuracies=PRIOR_ACCURACIES * accuracies,
            mistakes=PRIOR_MISTAKES * mistakes_of_blocks(guesses, blocks),
        )


def distribution_of_guesses(
    report_counts: npt.NDArray[np.int64], table: Floats, blocks: Blocks = ALL
) -> Floats:
    """Return the frequency of each label among the answers of each block.

    `table` has the probability of each report at [label, report].
    """
    return np.concatenate([_guesses(report_counts[one], table[one, one]) for one in blocks])


def _guesses(report_counts: npt.NDArray[np.int64], table: Floats) -> Floats:
    """Return the frequency of each label among the answers, by expectation maximization.

    `table` has the probability of each report at [label, report].
    """
    distribution = np.full(len(table), 1.0 / len(table))
    for _ in range(200):
        parts = distribution[:, np.newaxis] * table
        following = normalised(
            (parts / np.maximum(parts.sum(axis=0), LEAST)) @ report_counts + PRIOR_REPORTS
        )
        if np.array_equal(following, distribution):  # without noise at once
            break
        distribution = following
    return distribution


def prior_crowd(
    reports: WorkerReports, report_counts: npt.NDArray[np.int64], frequencies: Any
) -> CrowdState:
    """Return the state before the first pass that learns; `frequencies` are known ones or None."""
    labels, blocks = reports.labels, reports.blocks
    guesses = distribution_of_guesses(report_counts, reports.mean_table, blocks)
    theta = np.zeros((labels, labels))
    for one in blocks:
        same = np.eye(len(theta[one]), dtype=bool)
        theta[one, one] = np.where(same, FIRST_ACCURACY, _first_mistakes(len(same)))
    log_frequencies = np.concatenate(
        [fixed_logarithms(first_frequencies(guesses[one], frequencies)) for one in blocks]
    )
    likely = np.maximum(theta @ reports.mean_table, LEAST)
    rows = _to_32_bits(np.log(likely).T)
    tables = np.repeat(rows[np.newaxis], reports.workers + 1, axis=0)
    return CrowdState(
        log_odds=tables,
        votes=tables.copy(),
        constancy=np.full(reports.workers + 1, CONSTANT_SHARE),
        log_priors=log_frequencies,
        guesses=guesses,
        communities=prior_communities(),
        constants=prior_constants(labels),
        accuracies=accuracies_of_blocks(guesses, blocks),
        mistakes=np.stack([mistakes_of_blocks(guesses, blocks)] * 2),
        truth_map=TruthMap.first(0, 0),
        sources=np.zeros((0, labels, labels)),
        updates=0,
    )


def _first_mistakes(labels: int) -> float:
    return (1.0 - FIRST_ACCURACY) / max(labels - 1, 1)


def first_frequencies(guesses: Floats, known: Any) -> Floats:
    """Return the first frequencies of the truths: known, or debiased from those of answers."""
    if known is not None:
        given: Floats = known
        return given
    wrong = _first_mistakes(len(guesses))
    frequencies = np.maximum((guesses - wrong) / (FIRST_ACCURACY - wrong), RARE)
    return normalised(normalised(frequencies) ** START_POWER)


def fixed_logarithms(frequencies: Floats) -> npt.NDArray[np.int64]:
    """Return log-frequencies in units of 2^-32."""
    return integer_sums.to_fixed(np.log(np.maximum(frequencies, LEAST)))


def _to_32_bits(logs: Floats) -> npt.NDArray[np.int32]:
    return np.rint(np.ldexp(logs, FRACTION_BITS)).astype(np.int32)
