import math

import numpy as np
import pytest

from quietcrowd.mechanisms.randomness import word_source
from quietcrowd.synthesis.blur import Blur
from quietcrowd.synthesis.grid_claims import GridClaims
from quietcrowd.synthesis.plausible_deniability import PrivacyTest
from quietcrowd.synthesis.seed_weights import seed_edges

DRAWS = 200_000


def grid_of(places, *, k=2, epsilon0=1.0, drop=0.5, gamma=4.0, cells=4, lift=0.0, weights=None):
    places = np.array(places)
    offsets = np.array([0, len(places)])
    shares = np.full(len(places), 1 / len(places)) if weights is None else np.array(weights)
    return GridClaims(
        offsets=offsets,
        places=places,
        seed_edges=seed_edges(offsets, shares, 1.0 if weights is None else 0.0),
        lifts=np.array([lift]),
        blur=Blur(gamma=gamma, cells=cells),
        test=PrivacyTest(k=k, epsilon0=epsilon0, drop=drop),
    )


def law_by_hand(grid, shares):
    """Return the exact law of one attempt's passes, in plain Python."""
    blur, law = grid.blur, {}
    buckets = [math.floor(grid.lifts[0] + fall) for fall in blur.falls]
    passes = grid.test.probabilities
    for claim, share in zip(grid.places.tolist(), shares, strict=True):
        for step in range(-blur.reach, blur.reach + 1):
            candidate = claim + step
            count = sum(
                abs(other - candidate) <= blur.reach
                and buckets[abs(other - candidate)] == buckets[abs(step)]
                for other in grid.places.tolist()
            )
            weight = share * blur.weights[abs(step)] / 2**63 * passes[min(count, len(passes) - 1)]
            law[candidate] = law.get(candidate, 0.0) + weight
    return law


@pytest.mark.parametrize(
    ("places", "options", "shares"),
    [
        ([0, 1, 5], {}, [1 / 3] * 3),
        ([0, 0, 0, 40], {"k": 3, "drop": 0.0}, [1 / 4] * 4),
        ([0, 7], {"lift": 0.6, "gamma": 2.0}, [1 / 2] * 2),
        ([0, 2, 9], {"weights": [0.0, 0.25, 0.75]}, [0.0, 0.25, 0.75]),
    ],
)
def test_attempts_follow_their_law(places, options, shares):
    """Chi-squared, over all candidates and failing."""
    grid = grid_of(places, **options)
    law = law_by_hand(grid, shares)
    passes = grid.attempt(np.zeros(DRAWS, np.int64), word_source(np.random.default_rng(7)))
    found = dict(zip(*np.unique(passes.candidates, return_counts=True), strict=True))
    assert set(found) <= set(law)
    frequent = {key: p * DRAWS for key, p in law.items() if p * DRAWS >= 10}
    statistic = sum((found.get(key, 0) - n) ** 2 / n for key, n in frequent.items())
    failed = DRAWS * (1 - sum(law.values()))
    statistic += (DRAWS - len(passes.candidates) - failed) ** 2 / failed
    assert statistic < len(frequent) + 6 * math.sqrt(2 * len(frequent))


def test_tasks_do_not_mix():
    offsets = np.array([0, 2, 2, 4])
    grid = GridClaims(
        offsets=offsets,
        places=np.array([0, 0, 10**6, 10**6]),
        seed_edges=seed_edges(offsets, np.full(4, 0.5), 1.0),
        lifts=np.zeros(3),
        blur=Blur(),
        test=PrivacyTest(k=1, epsilon0=50.0, drop=0.0),
    )
    tasks = np.tile([0, 2], 500)
    passes = grid.attempt(tasks, word_source(np.random.default_rng(0)))
    assert len(passes.tasks) > 400
    near = passes.candidates < 10**5
    np.testing.assert_array_equal(near, passes.tasks == 0)


def test_words_of_the_operating_system_serve_as_well():
    passes = grid_of([0] * 10).attempt(np.zeros(1000, np.int64), word_source(None))
    assert 300 < len(passes.candidates) < 700
