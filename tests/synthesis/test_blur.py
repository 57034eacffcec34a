import math
from fractions import Fraction

import numpy as np
import pytest

from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.blur import TOTAL, Blur
from quietcrowd.synthesis.kde import EPANECHNIKOV, GAUSSIAN


@pytest.mark.parametrize("kernel", [GAUSSIAN, EPANECHNIKOV])
@pytest.mark.parametrize("cells", [2, 9, 32, 200])
def test_the_law_is_the_kernel_on_the_grid(kernel, cells):
    blur = Blur(kernel=kernel, cells=cells)
    weights = blur.weights.astype(object)
    assert weights[0] + 2 * weights[1:].sum() == TOTAL
    assert (np.diff(weights.astype(float)) <= 0).all()
    assert weights[-1] > 0
    steps = np.arange(-blur.reach, blur.reach + 1)
    density = kernel.density(steps / cells, 1.0)
    law = blur.weights[np.abs(steps)] / TOTAL
    np.testing.assert_allclose(law, density / density.sum(), rtol=1e-4, atol=1e-12)
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
        ({"gamma": 1.0}, "gamma must be above 1"),
        ({"gamma": math.nan}, "gamma must be a finite number"),
        ({"cells": 1}, "cells must be a whole number, at least 2"),
        ({"cells": 10**6}, "at most 4,096"),
    ],
)
def test_wrong_parameters_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        Blur(**given)
