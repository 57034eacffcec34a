import math

import numpy as np
import pytest

from quietcrowd.datasets import opinion_crowd
from quietcrowd.evaluation.papers.density_experiment import fitted
from quietcrowd.evaluation.papers.density_methods import (
    EvenGuess,
    Noisy,
    RawClaims,
    Synthetic,
    Untested,
    drawn_claims,
)
from quietcrowd.synthesis import Basic, PrisCrowd
from quietcrowd.synthesis.kde import KernelDensities

CROWD = fitted(opinion_crowd(tasks=30, seed=1), 0.5)


def find(method):
    return method.find(CROWD, np.random.default_rng(0))


def test_draws_follow_the_density():
    density = KernelDensities(
        offsets=[0, 2, 2, 3],
        points=[0.0, 10.0, 50.0],
        weights=[0.25, 0.75, 1.0],
        bandwidths=[0.1, 9.0, 2.0],
    )
    offsets, values = drawn_claims(density, 40_000, np.random.default_rng(5))
    assert offsets.tolist() == [0, 40_000, 40_000, 80_000]
    first, last = values[:40_000], values[40_000:]
    assert (first > 5).mean() == pytest.approx(0.75, abs=0.011)  # 5 standard errors
    assert first[first < 5].std() == pytest.approx(0.1, rel=0.04)
    assert (last.mean(), last.std()) == pytest.approx((50.0, 2.0), abs=0.05)


def test_a_weight_of_nothing_is_never_drawn():
    rng = np.random.default_rng(6)
    weights = np.concatenate([[0.0, 1.0, 0.0], np.full(7, 1 / 7)])
    density = KernelDensities(
        offsets=[0, 3, 10],
        points=np.arange(10.0),
        weights=weights,
        bandwidths=[1e-3, 1e-3],
    )
    offsets, values = drawn_claims(density, 10_000, rng)
    assert np.rint(values[: offsets[1]]).tolist() == [1.0] * 10_000
    assert set(np.rint(values[offsets[1] :])) == set(range(3, 10))


def test_what_references_cost_and_release():
    nothing, raw = find(EvenGuess()), find(RawClaims(weighting="combined"))
    assert (nothing.epsilon, nothing.released, len(nothing.densities.points)) == (0.0, 0.0, 0)
    assert raw.epsilon == math.inf
    assert np.array_equal(raw.densities.weights, CROWD.combined_weights)
    drawn = find(Untested(weighting="uniform", claims=7))
    assert drawn.epsilon == math.inf
    assert (np.diff(drawn.densities.offsets) == 7).all()


def test_costs_are_those_of_the_guarantee():
    method = PrisCrowd(epsilon0=4.0, bandwidth=0.5, claims=10)
    found = find(Synthetic(method=method))
    guarantee = method.guarantee(users=20, answers=30, tasks=30)
    assert (found.epsilon, found.delta) == (guarantee.epsilon, 1e-6)
    assert found.claimed_epsilon == guarantee.claimed_epsilon
    assert found.released == pytest.approx(len(found.densities.points) / 300)
    assert found.attempts == pytest.approx(600 / len(found.densities.points))
    printed = find(Synthetic(method=PrisCrowd(release="paper", epsilon0=1.0, bandwidth=0.5)))
    assert (printed.epsilon, printed.released) == (math.inf, 1.0)
    assert printed.claimed_epsilon == pytest.approx(1 + math.log(5))


def test_all_densities_have_the_bandwidths_of_the_crowd():
    noisy = find(Noisy(method=Basic(epsilon=2.0)))
    assert noisy.epsilon == pytest.approx(2.0, abs=1e-6)
    for found in (noisy, find(EvenGuess()), find(Untested(weighting="local"))):
        assert np.array_equal(found.densities.bandwidths, CROWD.bandwidths)
