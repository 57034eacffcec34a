"""Is the fact of having answered a task hidden? Checked, not asserted.

Two rows of a worker differ in one cell: no answer, or an answer at the end of the domain. Where the
distribution of what is sent is finite, or known number by number, all its ratios are taken; that
real reports follow the distribution is checked as well, here or by `check_mechanism`. The others
are sampled with the noise that real reports have: the log-likelihood ratio of the two rows is the
best statistic to tell them apart; its threshold is chosen on one half of the samples, and on the
other half Clopper-Pearson bounds, at 99.9 %, of the probabilities to exceed it prove a lower bound
on epsilon. A bound above the stated epsilon convicts; the seed of real noise is not ours to fix,
and a false alarm has a chance of 10^-3 at most: samples that convict are drawn anew, and both do
once in 10^6.
"""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats
from tests.mechanisms.added import added
from tests.nightly import nightly

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical, Interval, Ordinal
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    LaplaceMechanism,
    MatrixFactorization,
    Mechanism,
    OptimalMechanism,
    PiecewiseMechanism,
    RandomizedResponse,
    SubsetSelection,
    TwoLayerRandomizedResponse,
)
from quietcrowd.mechanisms.channels.sketch import UNIT, moment_sensitivity, second_moments

SAMPLES = 200_000
LEVELS = Ordinal(range(10))
TASKS = ["a", "b", "c"]
ANSWERED = {0: 9}
CELL = 1


def row(domain, *, answered, value=9, workers=SAMPLES):
    """Return many workers with the same answers; `answered` says whether the cell has one."""
    values = ANSWERED | ({CELL: value} if answered else {})
    frame = pd.DataFrame(
        [(TASKS[task], label) for task, label in values.items()], columns=["task", "label"]
    )
    frame = frame.merge(pd.DataFrame({"worker": np.arange(workers)}), how="cross")
    return Answers.from_frame(frame, domain, tasks=TASKS, workers=range(workers)).canonical


def proven_epsilon(one, other, confidence=0.999):
    """Return a lower bound on ln of a ratio of two distributions, in either direction."""
    best = 0.0
    for left, right in ((one, other), (-other, -one)):
        half = len(left) // 2
        cuts = np.quantile(np.concatenate([left[:half], right[:half]]), np.linspace(0.01, 0.99, 99))
        margins = [
            np.log((left[:half] > cut).mean() + 1e-3) - np.log((right[:half] > cut).mean() + 1e-3)
            for cut in cuts
        ]
        cut = cuts[int(np.argmax(margins))]
        hits, misses = int((left[half:] > cut).sum()), int((right[half:] > cut).sum())
        low = stats.beta.ppf((1 - confidence) / 2, hits, half - hits + 1) if hits else 0.0
        high = stats.beta.ppf((1 + confidence) / 2, misses + 1, half - misses)
        best = max(best, np.log(low / high) if low > 0 else 0.0)
    return best


def laplace_gain(sent, one, other, scale):
    """Return ln of the ratio of two densities of a row of numbers with Laplace noise."""
    return ((np.abs(sent - other) - np.abs(sent - one)) / scale).sum(axis=1)


def tell_apart(mechanism, statistic):
    """Return the proven epsilon of a mechanism on the two rows; where it convicts, another one."""
    proven = tell_apart_once(mechanism, statistic)
    if proven <= mechanism.guarantee(tasks=3).epsilon:
        return proven
    return tell_apart_once(mechanism, statistic)


def tell_apart_once(mechanism, statistic, seed=None):
    """Return the proven epsilon of a mechanism on the two rows; simulated noise with a seed."""

    def reports(answered):
        answers = row(mechanism.domain, answered=answered)
        if seed is None:
            return mechanism.randomize(answers)
        return mechanism.simulate(answers, random_state=np.random.default_rng((seed, answered)))

    return proven_epsilon(*(statistic(reports(answered)) for answered in (True, False)))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("domain", [Categorical(["no", "yes"]), LEVELS])
def test_randomized_response_with_null(domain, epsilon):
    mechanism = RandomizedResponse(domain=domain, epsilon=epsilon, missing="category")
    table = mechanism.channel.probabilities
    null, values = table[-1], table[:-1]
    loss = max(np.abs(np.log(null / value)).max() for value in values)
    assert mechanism.participation_protected
    assert epsilon - 1e-6 < loss <= mechanism.guarantee(tasks=1).epsilon + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("tasks", [1, 2, 3])
def test_two_layer_with_null(labels, tasks):
    """All rows, all reports: the exact loss by brute force is the stated one."""
    mechanism = TwoLayerRandomizedResponse(
        domain=Ordinal(range(labels)), epsilon=1.0, distribution="epsilon", missing="category"
    )
    weights = np.array(mechanism.worker_distribution.table, float) / 2**32
    keep = 1 - labels * weights

    def distribution(given, sent):
        chance = 1.0
        for kind in (True, False):  # answers, then NULL: a draw of its own for each
            cells = [s == g for g, s in zip(given, sent, strict=True) if (g == labels) != kind]
            agree = sum(cells)
            chance *= (keep**agree * weights ** (len(cells) - agree)).mean()
        return chance

    rows = list(product(range(labels + 1), repeat=tasks))
    table = np.array([[distribution(given, sent) for sent in rows] for given in rows])
    assert table.sum(axis=1) == pytest.approx(1.0)
    loss = {True: 0.0, False: 0.0}
    for i, given in enumerate(rows):
        for j, other in enumerate(rows):
            one_cell = sum(a != b for a, b in zip(given, other, strict=True)) == 1
            loss[one_cell] = max(loss[one_cell], np.log(table[i] / table[j]).max())
    guarantee = mechanism.guarantee(tasks=tasks)
    assert guarantee.epsilon == pytest.approx(loss[True], abs=1e-9)
    assert guarantee.total_epsilon == pytest.approx(max(loss.values()), abs=1e-9)
    assert mechanism.participation_protected


@pytest.mark.parametrize("fill", ["uniform", "midpoint", 0.0])
@pytest.mark.parametrize("domain", [LEVELS, Interval(low=-1, high=1)])
def test_laplace_with_filled_answers(domain, fill):
    """The distribution of a report is known at every place; its ratios are taken one by one."""
    mechanism = LaplaceMechanism(domain=domain, epsilon=1.0, fill=fill, step=2.0**-4)
    grid, scale = mechanism.grid, mechanism.channel.noise.scale
    fillings = {"midpoint": [grid.middle], 0.0: [grid.place(0.0)]}.get(fill)
    if fill == "uniform":
        fillings = (
            grid.places(np.array(LEVELS.levels, float))
            if domain == LEVELS
            else range(grid.steps + 1)
        )
    sent = np.arange(-20 * int(scale), 20 * int(scale))

    def log_distribution(places):
        return np.log(np.mean([np.exp(-np.abs(sent - place) / scale) for place in places], axis=0))

    loss = max(
        np.abs(log_distribution([place]) - log_distribution(fillings)).max()
        for place in range(grid.steps + 1)
    )
    assert mechanism.participation_protected
    assert loss <= mechanism.guarantee(tasks=3).epsilon + 1e-9
    least = {"uniform": 0.5, "midpoint": 0.4}.get(fill, 0.45)
    assert loss > least, "the noise is larger than it has to be"


@pytest.mark.nightly
def test_laplace_with_a_released_bit():
    mechanism = LaplaceMechanism(domain=LEVELS, epsilon=1.0, participation="released")

    def statistic(reports):
        here = reports.table.task_codes == CELL
        sent = np.stack(
            [
                reports.table.domain.numbers(reports.table.values[here]),
                reports.participation[here],
            ],
            axis=1,
        )
        return laplace_gain(sent, np.array([9, 1]), np.array([4.5, 0]), np.array([9.0, 2.0]))

    assert mechanism.participation_protected
    proven = tell_apart(mechanism, statistic)
    assert 0.85 < proven <= mechanism.guarantee(tasks=3).epsilon


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("profile", "seed"), [("gaussian", None), ("rademacher", 1), ("buckets", 2)]
)
def test_factorization_with_filled_answers(profile, seed):
    mechanism = MatrixFactorization(domain=LEVELS, epsilon=1.0, rank=3, profile=profile, fill=0.0)
    sums, scale = exact_sums(mechanism)

    def statistic(reports):
        return laplace_gain(reports.sketches, sums[True], sums[False], scale)

    assert mechanism.participation_protected
    proven = (
        tell_apart(mechanism, statistic)
        if seed is None
        else tell_apart_once(mechanism, statistic, seed)
    )
    assert 0.8 < proven <= mechanism.guarantee(tasks=3).epsilon


@pytest.mark.nightly
def test_factorization_with_noisy_statistics():
    mechanism = MatrixFactorization(domain=LEVELS, epsilon=1.0, rank=2, variant="statistics")
    sums, scale = exact_sums(mechanism)
    profile = mechanism.channel.profile.matrix(row(LEVELS, answered=True, workers=1).tasks)
    moments = {
        answered: second_moments(
            profile, np.isin(np.arange(3), [*ANSWERED, *([CELL] if answered else [])])[np.newaxis]
        )[0]
        for answered in (True, False)
    }
    scales = np.concatenate([np.full(2, scale), np.full(3, 2.0 * moment_sensitivity(profile))])
    rows = [np.concatenate([sums[answered], moments[answered]]) for answered in (True, False)]

    def statistic(reports):
        return laplace_gain(reports.sketches, *rows, scales)

    assert mechanism.participation_protected
    proven = tell_apart(mechanism, statistic)
    assert 0.6 < proven <= mechanism.guarantee(tasks=3).epsilon


def exact_sums(mechanism):
    """Return the profile sums of the two rows, in exact units, and the scale of the noise."""
    channel = mechanism.channel
    profile = channel.profile.matrix(row(LEVELS, answered=True, workers=1).tasks)
    steps = {task: channel.grid.place(value) - channel.centre for task, value in ANSWERED.items()}
    without = sum(profile[task] * moved for task, moved in steps.items())
    cell = profile[CELL] * (channel.grid.place(9) - channel.centre)
    return {True: without + cell, False: without}, channel.noise.scale


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    "noise",
    [
        *("laplace", "piecewise", "sets"),
        *map(nightly, ("duchi", "hybrid", "optimal")),
    ],
)
def test_reports_of_answers_alone_are_convicted(noise):
    """Whether a report exists tells everything: the stated guarantee says so, and so do samples."""
    mechanism = {
        "laplace": LaplaceMechanism(domain=LEVELS, epsilon=1.0, fill=None),
        "piecewise": PiecewiseMechanism(domain=LEVELS, epsilon=1.0),
        "duchi": DuchiMechanism(domain=LEVELS, epsilon=1.0),
        "hybrid": HybridMechanism(domain=LEVELS, epsilon=1.0),
        "sets": SubsetSelection(domain=LEVELS, epsilon=1.0),
        "optimal": OptimalMechanism(domain=LEVELS, epsilon=1.0),
    }[noise]
    assert not mechanism.participation_protected

    def statistic(reports):
        there = reports.table.task_codes == CELL
        return np.bincount(reports.table.worker_codes[there], minlength=SAMPLES).astype(float)

    assert tell_apart_once(mechanism, statistic, seed=4) > 9


@pytest.mark.nightly
def test_factorization_with_exact_statistics_is_convicted():
    """At a nominal epsilon of 1 the exact H tells of participation at far more."""
    domain = Interval(low=0, high=10)
    mechanism = MatrixFactorization(
        domain=domain, epsilon=1.0, rank=5, ridge=0.1, variant="ridge", fill=0.0
    )
    assert not mechanism.participation_protected
    profile = mechanism.channel.profile.matrix(row(domain, answered=True, workers=1).tasks) / UNIT

    def log_density(sent, answered):
        values = ANSWERED | ({CELL: 9} if answered else {})
        rows = profile[list(values)]
        shifted = rows.T @ rows + 0.1 * np.eye(5)
        noise = rows.T @ np.array(list(values.values()), float) - sent @ shifted
        return -np.abs(noise).sum(axis=1) / 10.0 + np.linalg.slogdet(shifted)[1]

    def statistic(reports):
        return log_density(reports.sketches, True) - log_density(reports.sketches, False)

    assert tell_apart_once(mechanism, statistic, seed=3) > 1.96


def test_two_layer_reports_follow_the_joint_distribution():
    """One draw for answers and another for NULL: what is kept in the two is independent."""
    mechanism = TwoLayerRandomizedResponse(
        domain=Ordinal(range(2)), epsilon=3.0, distribution="epsilon", missing="category"
    )
    workers = 60_000
    answers = Answers(
        domain=mechanism.domain,
        tasks=pa.array(["answered", "answered too", "null", "null too"]),
        workers=pa.array(np.arange(workers)),
        offsets=np.array([0, 1, 2, 2, 2]) * workers,
        worker_codes=np.tile(np.arange(workers), 2),
        values=np.zeros(2 * workers, np.uint8),
    )
    kept = mechanism.randomize(answers).table.values.reshape(4, workers) == np.array(
        [[0], [0], [2], [2]]
    )
    keep = 1 - 2 * np.array(mechanism.worker_distribution.table, float) / 2**32
    for one, other in ((0, 1), (2, 3), (0, 2), (1, 3)):
        together = one // 2 == other // 2
        expected = (keep**2).mean() if together else keep.mean() ** 2
        found = int((kept[one] & kept[other]).sum())
        assert stats.binomtest(found, workers, expected).pvalue > 1e-8, (one, other)
    assert (keep**2).mean() - keep.mean() ** 2 > 0.02, "the two distributions can be told apart"


def test_every_mechanism_that_claims_it_is_checked_here():
    """What a mechanism's module is, a test of this file names."""
    source = Path(__file__).read_text()
    tests = "".join(re.findall(r"^def test_(?!every).*?(?=^def |\Z)", source, re.M | re.S))
    kinds = set(Mechanism.registry().values())
    named = {kind for kind in kinds if f"{kind.__name__}(" in tests}
    others = added(LEVELS, named).values()
    assert {type(one) for one in others} == kinds - named
    assert not any(one.participation_protected for one in others)
