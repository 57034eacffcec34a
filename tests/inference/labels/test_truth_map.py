"""The map from the apparent truth to the truth, against its definition."""

import numpy as np
import pytest
from attrs import evolve
from scipy import special
from scipy.optimize import minimize

from quietcrowd.inference.labels.truth_map import (
    BINS,
    CHANCES,
    DERIVATIVE_ONE,
    SLOPES,
    KnownTally,
    TruthMap,
    learn_map,
    log_prior,
)
from quietcrowd.inference.shared_errors import LEARN


def mixed(shares, chance):
    """Return the probability of each label if the apparent truth is wrong with a chance."""
    return (1.0 - chance) * shares + chance * (1.0 - shares) / (shares.shape[1] - 1)


def told_by(logs, truths, before):
    """Return what a sweep adds up of known truths with these log-odds."""
    labels, rows = logs.shape[1], np.arange(len(truths))
    tally = KnownTally.empty(len(SLOPES), len(before.tilt))
    for counts, tilt in ((tally.straight, 0.0), (tally.tilted, before.tilt)):
        for slope, row in zip(SLOPES, counts, strict=len(counts) > 0):
            shares = special.softmax(slope * logs + tilt, axis=1)[rows, truths]
            places = np.clip((special.logit(shares) + 16.0) * 8.0, 0, BINS - 1).astype(int)
            row[:] = np.bincount(places, minlength=BINS)
    shares = special.softmax(before.slope * logs + before.tilt, axis=1)
    floor = before.chance / (labels - 1)
    kept = (1.0 - before.chance - floor) * shares[rows, truths]
    told = kept / (kept + floor)
    pull = told @ (np.eye(labels)[truths] - shares)
    curvature = np.diag(told @ shares) - (told[:, np.newaxis] * shares).T @ shares
    tally.pull[:] = np.rint(pull * DERIVATIVE_ONE)
    tally.curvature[:] = np.rint(curvature * DERIVATIVE_ONE)
    return evolve(tally, compared=len(truths))


def drawn(seed, tasks=400, labels=3, chance=0.0):
    """Return log-odds of an apparent truth, truths that differ from it, and how often they do."""
    rng = np.random.default_rng(seed)
    truths = rng.integers(0, labels, tasks)
    shared = (truths + rng.integers(1, labels, tasks)) % labels
    apparent = np.where(rng.random(tasks) < chance, shared, truths)
    logs = rng.normal(0.0, 1.0, (tasks, labels))
    logs[np.arange(tasks), apparent] += 1.0 + rng.exponential(4.0, tasks)
    return logs, truths, np.mean(apparent != truths)


def learned(logs, truths, updates=12, accuracy=0.8):
    """Return the map after some updates."""
    labels = logs.shape[1]
    found, prior = TruthMap.first(LEARN, labels), log_prior(10.0, accuracy)
    for _ in range(updates):
        tally = told_by(logs, truths, found)
        found = learn_map(found, tally, tally.log_likelihood(labels), prior)
    return found


@pytest.mark.parametrize("labels", [2, 5])
def test_the_arguments_of_kernels_are_the_mean_over_the_grid(labels):
    rng = np.random.default_rng(labels)
    shares = rng.dirichlet(np.ones(2 * len(SLOPES) * len(CHANCES)))
    found = TruthMap(
        slopes=SLOPES,
        chances=CHANCES,
        shares=shares.reshape(2, len(SLOPES), len(CHANCES)),
        tilt=rng.normal(size=labels),
    )
    logs = rng.normal(0.0, 3.0, (20, labels))
    expected = np.zeros(logs.shape)
    for row, tilt in zip(found.shares, (0.0, found.tilt), strict=True):
        for slope, part in zip(SLOPES, row, strict=True):
            for chance, share in zip(CHANCES, part, strict=True):
                expected += share * mixed(special.softmax(slope * logs + tilt, axis=1), chance)
    slopes, weights, floor, tilt, _, _ = found.arguments(labels)
    by_kernel = np.full(logs.shape, floor)
    for row, moved in zip(weights, (0.0, tilt), strict=True):
        for slope, weight in zip(slopes, row, strict=True):
            by_kernel += weight * special.softmax(slope * logs + moved, axis=1)
    np.testing.assert_allclose(by_kernel, expected, atol=1e-12)
    np.testing.assert_allclose(by_kernel.sum(axis=1), 1.0)


def test_the_likelihood_of_known_truths_is_that_of_their_log_odds_up_to_the_bins():
    logs, truths, _ = drawn(1, chance=0.1)
    tally = told_by(logs, truths, TruthMap.first(LEARN, 3))
    found = tally.log_likelihood(3)
    for place, slope in enumerate(SLOPES):
        shares = special.softmax(slope * logs, axis=1)
        for other, chance in enumerate(CHANCES):
            expected = np.log(mixed(shares, chance)[np.arange(len(truths)), truths]).sum()
            assert found[place, other] == pytest.approx(expected, abs=0.02 * len(truths))


def test_the_tilt_climbs_to_the_highest_posterior_density():
    rng, rows, moved = np.random.default_rng(2), np.arange(1200), np.array([1.5, -1.0, 0.0])
    logs = rng.normal(0.0, 2.0, (len(rows), 3))
    edges = special.softmax(logs + moved, axis=1).cumsum(axis=1)
    truths = (rng.random((len(rows), 1)) > edges[:, :-1]).sum(axis=1)
    found = learned(logs, truths)

    def loss(tilt):
        shares = special.softmax(found.slope * logs + tilt, axis=1)
        likely = mixed(shares, found.chance)[rows, truths]
        return -np.log(likely).sum() + tilt @ tilt / 2.0

    best = minimize(loss, np.zeros(3)).x
    np.testing.assert_allclose(found.tilt, best, atol=0.02)
    assert found.tilt[0] - found.tilt[1] == pytest.approx(2.5, abs=0.5)
    assert found.shares[1].sum() > 0.99


@pytest.mark.slow
def test_known_truths_tell_how_often_errors_are_shared():
    for chance in (0.0, 0.1, 0.25):
        logs, truths, shared = drawn(3, tasks=2000, chance=chance)
        found = learned(logs, truths).summary()
        assert found.low - 0.005 <= shared <= found.high
        assert found.size == pytest.approx(shared, abs=0.02)
        assert found.known_truths == 2000


def test_without_known_truths_the_map_is_that_of_other_crowds():
    first = TruthMap.first(LEARN, 3)
    easy, hard = (
        learn_map(first, KnownTally.empty(len(SLOPES), 3), np.zeros((1, 1)), log_prior(10.0, right))
        for right in (0.98, 0.7)
    )
    assert easy.summary().size < 0.02
    assert hard.summary().size > 0.1
    assert easy.summary().known_truths == 0
    assert not easy.tilt.any()
    assert not easy.shares[1].any()


def test_a_chance_that_is_given_is_used_and_0_changes_nothing():
    given = TruthMap.first(0.2, 3)
    assert given.summary().size == given.summary().low == given.summary().high == 0.2
    slopes, weights, floor, *_ = given.arguments(3)
    assert slopes.tolist() == [1.0]
    assert (weights.tolist(), floor) == ([[pytest.approx(0.7)]], pytest.approx(0.1))
    nothing = TruthMap.first(0.0, 3)
    assert nothing.summary() is None
    assert nothing.arguments(3)[1].shape == (0, 1)
    columns = {name: np.array([0.3, 0.9]) for name in ("accuracy", "accuracy_low", "accuracy_high")}
    assert nothing.accuracies(columns, 3) is columns


def test_intervals_of_accuracies_hold_the_uncertainty_of_the_chance():
    columns = {
        "accuracy": np.array([0.9, 0.5]),
        "accuracy_low": np.array([0.85, 0.4]),
        "accuracy_high": np.array([0.93, 0.6]),
    }
    fixed = TruthMap.first(0.2, 0).accuracies(columns, 2)
    np.testing.assert_allclose(fixed["accuracy"], [0.74, 0.5])
    np.testing.assert_allclose(fixed["accuracy_low"], [0.71, 0.44])
    np.testing.assert_allclose(fixed["accuracy_high"], [0.758, 0.56])
    unsure = learn_map(
        TruthMap.first(LEARN, 0), KnownTally.empty(0, 0), np.zeros((1, 1)), log_prior(10.0, 0.7)
    )
    found = unsure.accuracies(columns, 2)
    same = 1.0 - unsure.chance
    middle = same * 0.9 + (1.0 - same) * 0.1
    half = np.hypot((2 * same - 1) * 0.05, 1.645 * np.sqrt(unsure.variance) * 0.8)
    assert found["accuracy"][0] == pytest.approx(middle)
    assert found["accuracy_low"][0] == pytest.approx(middle - half)
