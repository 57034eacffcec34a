import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.attempt import (
    TOTAL,
    WORDS,
    Blur,
    PrivacyTest,
    floored_bounds,
    seed_edges,
    uniform_bounds,
)
from quietcrowd.synthesis.kde import EPANECHNIKOV, GAUSSIAN


@pytest.mark.parametrize("kernel", [GAUSSIAN, EPANECHNIKOV])
@pytest.mark.parametrize("cells", [2, 9, 32, 200])
def test_the_distribution_is_the_kernel_on_the_grid(kernel, cells):
    blur = Blur(kernel=kernel, cells=cells)
    weights = blur.weights.astype(object)
    assert weights[0] + 2 * weights[1:].sum() == TOTAL
    assert (np.diff(weights.astype(float)) <= 0).all()
    assert weights[-1] > 0
    steps = np.arange(-blur.reach, blur.reach + 1)
    density = kernel.density(steps / cells, 1.0)
    distribution = blur.weights[np.abs(steps)] / TOTAL
    np.testing.assert_allclose(distribution, density / density.sum(), rtol=1e-4, atol=1e-12)
    assert blur.edges[-1] == TOTAL
    np.testing.assert_array_equal(np.diff(blur.edges), blur.weights[np.abs(steps)][1:])


@pytest.mark.parametrize("kernel", [GAUSSIAN, EPANECHNIKOV])
@pytest.mark.parametrize("gamma", [1.1, 2.0, 4.0, 100.0])
def test_likelihoods_in_a_bucket_differ_by_at_most_gamma(kernel, gamma):
    blur = Blur(kernel=kernel, gamma=gamma, cells=16)
    buckets, weights = np.floor(blur.falls), blur.weights.tolist()
    ratios = [
        Fraction(weights[a], weights[b])
        for a in range(len(weights))
        for b in range(len(weights))
        if buckets[a] == buckets[b]
    ]
    assert max(ratios) == blur.exact_gamma
    assert 1 <= blur.exact_gamma <= gamma * (1 + 1e-12)


def test_buckets_are_rings_around_the_claim():
    blur = Blur(gamma=4.0)
    edge = math.sqrt(2 * math.log(4)) * 32  # exp(-d^2 / 2) = 1 / 4
    assert np.floor(blur.falls[math.floor(edge)]) == 0
    assert np.floor(blur.falls[math.ceil(edge)]) == 1
    assert blur.falls[0] == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gamma": 1.0}, "in a bucket, must be above 1"),
        ({"gamma": math.nan}, "gamma must be a finite number"),
        ({"cells": 1}, "cells must be a whole number, at least 2"),
        ({"cells": 10**6}, "at most 4,096"),
    ],
)
def test_wrong_parameters_of_a_step_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        Blur(**given)


def weights_of(offsets, edges):
    edges = edges.astype(np.int64)
    return [np.diff(edges[start:end], prepend=0) for start, end in itertools.pairwise(offsets)]


@pytest.mark.parametrize("claims", [1, 2, 3, 7, 1000])
def test_equal_weights_are_as_equal_as_integers_can_be(claims):
    offsets = np.array([0, claims])
    [weights] = weights_of(offsets, seed_edges(offsets, np.full(claims, 1 / claims), 1.0))
    bounds = uniform_bounds(claims, claims)
    assert weights.sum() == WORDS
    assert weights.max() <= bounds.most * WORDS
    assert weights.max() <= bounds.ratio * weights.min()
    assert weights.max() - weights.min() <= 1


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=30),
    st.floats(0.01, 0.99),
)
def test_learnt_weights_keep_their_public_bounds(raw, floor):
    raw = np.array(raw)
    weights = raw / raw.sum() if raw.sum() > 0 else np.full(len(raw), 1 / len(raw))
    offsets = np.array([0, 0, len(raw)])
    _, own = weights_of(offsets, seed_edges(offsets, weights, floor))
    bounds = floored_bounds(len(raw), len(raw), floor)
    assert own.sum() == WORDS
    assert own.max() <= bounds.most * WORDS
    assert bounds.most / bounds.ratio * WORDS <= own.min()
    wanted = floor / len(raw) + (1 - floor) * weights
    np.testing.assert_allclose(own / WORDS, wanted, atol=len(raw) * 2.0**-31)


def test_without_a_floor_a_claim_may_count_nothing():
    offsets = np.array([0, 3])
    [weights] = weights_of(offsets, seed_edges(offsets, np.array([0.0, 1.0, 0.0]), 0.0))
    assert weights.tolist() == [0, WORDS, 0]


def test_a_task_does_not_hear_of_the_others():
    """The rounding of one task's weights must not depend on another task's claims."""
    own = np.array([0.1, 0.2, 0.3, 0.4])
    edges = [
        seed_edges(np.array([0, 3, 7]), np.concatenate([other, own]), 0.5)[3:]
        for other in (np.array([1.0, 0.0, 0.0]), np.array([1 / 3, 1 / 7, 1 - 1 / 3 - 1 / 7]))
    ]
    np.testing.assert_array_equal(*edges)


@pytest.mark.parametrize(("k", "epsilon0", "drop"), [(1, 0.3, 0.0), (5, 1.0, 0.5), (30, 4.0, 0.9)])
def test_the_weights_are_the_distribution_of_laplace_noise(k, epsilon0, drop):
    test = PrivacyTest(k=k, epsilon0=epsilon0, drop=drop)
    counts = np.arange(len(test.weights) - 1)
    noise = counts - k
    distribution = np.where(
        noise < 0, 0.5 * np.exp(epsilon0 * noise), 1 - 0.5 * np.exp(-epsilon0 * noise)
    ) * (1 - drop)
    np.testing.assert_allclose(test.probabilities[:-1], distribution, rtol=1e-9, atol=2.0**-62)
    assert test.probabilities[-1] == pytest.approx(1 - drop, abs=1e-15)
    assert (np.diff(test.weights.astype(float)) >= 0).all()
    assert test.weights[-1] == math.floor((1 - drop) * TOTAL)


def test_it_is_sure_of_what_it_is_sure_of():
    test = PrivacyTest(k=3, epsilon0=50.0, drop=0.0)
    assert test.probabilities[[0, 1, 2]].max() < 1e-20
    assert test.probabilities[3] == 0.5
    assert test.probabilities[4] == pytest.approx(1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 0}, "k must be a whole number, at least 1"),
        ({"epsilon0": 0}, "epsilon0 must be a finite number above 0"),
        ({"epsilon0": math.nan}, "epsilon0 must be a finite number above 0"),
        ({"epsilon0": "much"}, "must be a number"),
        ({"drop": 1}, "drop must be at least 0 and below 1"),
        ({"drop": -0.1}, "drop must be at least 0 and below 1"),
    ],
)
def test_wrong_parameters_of_a_test_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        PrivacyTest(**{"k": 5, "epsilon0": 1.0, **given})


def test_noise_too_wide_for_a_table_is_refused():
    with pytest.raises(ParameterError, match="too small for k=5"):
        _ = PrivacyTest(k=5, epsilon0=1e-9).weights
