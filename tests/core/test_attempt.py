import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.kernels import assert_recorded_bits

from quietcrowd import _core
from quietcrowd.synthesis.attempt import TOTAL, WORDS, Blur, PrivacyTest, seed_edges
from quietcrowd.synthesis.kde import EPANECHNIKOV

BLURS = [Blur(cells=2, kernel=EPANECHNIKOV, gamma=1.1), Blur(cells=32, gamma=4.0)]


def weights_of(rng, sizes):
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    weights = rng.random(offsets[-1]) * (rng.random(offsets[-1]) < 0.8)
    sums = np.add.reduceat(np.append(weights, 0.0), offsets[:-1])
    return offsets, weights / np.repeat(np.where(sums > 0, sums, 1.0), sizes)


def arguments_of(rng, sizes, *, blur=BLURS[1], attempts=3000, spread=40, lift=0.0):
    """Return the arguments of `make_attempts`; words are also the least and the largest."""
    offsets, weights = weights_of(rng, sizes)
    places = rng.integers(-spread, spread + 1, len(weights))
    words = rng.integers(0, 2**64, (attempts, 3), dtype=np.uint64)
    ends = np.array([0, 2**64 - 1, 2**32 - 1], np.uint64)
    words[: attempts // 100] = rng.choice(ends, (attempts // 100, 3))
    return (
        (offsets, places, seed_edges(offsets, weights, 0.3), rng.normal(0, lift, len(sizes))),
        blur.edges,
        blur.falls,
        PrivacyTest(k=3, epsilon0=1.0, drop=0.25).weights,
        rng.choice(np.flatnonzero(sizes), attempts),
        words,
        np.zeros(attempts, np.int64),
        np.zeros(attempts, np.bool_),
    )


@pytest.mark.parametrize("blur", BLURS, ids=["coarse", "fine"])
@pytest.mark.parametrize("sizes", [[1], [0, 1, 2, 0, 3, 40], [200, 3]])
@pytest.mark.parametrize("lift", [0.0, 0.7, 1e17])
def test_every_bit_of_attempts(blur, sizes, lift):
    rng = np.random.default_rng(len(sizes))
    for spread in (0, 40, 2**62):
        given_arrays = arguments_of(rng, sizes, blur=blur, spread=spread, lift=lift)
        assert_recorded_bits("make_attempts", *given_arrays)


@given(st.data())
def test_every_bit_at_the_edges(data):
    """A word, or a level of a bucket, at an edge or next to it decides alike everywhere."""
    blur = data.draw(st.sampled_from(BLURS))
    places = np.array(data.draw(st.lists(st.integers(-300, 300), min_size=1, max_size=6)))
    offsets = np.array([0, len(places)])
    seeds = seed_edges(offsets, np.full(len(places), 1 / len(places)), 1.0)
    passes = PrivacyTest(k=2, epsilon0=2.0, drop=0.0).weights
    lift = data.draw(st.sampled_from([0.0, *(1.0 - blur.falls % 1.0)]))

    def near(edges, bits):
        word = int(data.draw(st.sampled_from(edges.tolist()))) + data.draw(st.integers(-1, 0))
        return min(max(word, 0), 2 ** (64 - bits) - 1) << bits

    words = np.array([[near(seeds, 32), near(blur.edges, 1), near(passes, 1)]], np.uint64)
    claims = (offsets, places, seeds, np.array([lift]))
    rest = (np.zeros(1, np.int64), words, np.zeros(1, np.int64), np.zeros(1, np.bool_))
    distributions = (blur.edges, blur.falls, passes)
    assert_recorded_bits("make_attempts", claims, *distributions, *rest)


def test_a_bucket_counts_claims_that_are_as_far_as_integers_reach():
    """Distances that wrap are no distances: the claim is not counted."""
    lowest = -(2**63)
    claims = (np.array([0, 2]), np.array([0, lowest]), np.array([WORDS, WORDS], np.uint64))
    passes = np.array([0, TOTAL, 0], np.uint64)
    edges = np.array([0, TOTAL, TOTAL], np.uint64)
    candidates, passed = np.zeros(1, np.int64), np.zeros(1, np.bool_)
    words = np.zeros((1, 3), np.uint64)
    rest = (edges, np.zeros(2), passes, np.zeros(1, np.int64), words, candidates, passed)
    _core.make_attempts((*claims, np.zeros(1)), *rest)
    assert candidates.tolist() == [0]
    assert passed.tolist() == [True]


@pytest.mark.parametrize(
    ("place", "part"), [(0, 0), (0, 1), (0, 2), (0, 3), (1, None), (2, None), (5, None)]
)
def test_arrays_of_wrong_sizes_and_types_are_refused(place, part):
    for change, error in (
        (lambda a: a[:-1], ValueError),
        (lambda a: a[:0], ValueError),
        (lambda a: np.concatenate((a, a[-1:])), ValueError),
        (lambda a: a.astype(np.float32), TypeError),
        (lambda a: np.repeat(a, 2, axis=0)[::2], TypeError),
    ):
        arguments = list(arguments_of(np.random.default_rng(1), [2, 3]))
        if part is None:
            arguments[place] = change(arguments[place])
        else:
            changed = list(arguments[place])
            changed[part] = change(changed[part])
            arguments[place] = tuple(changed)
        with pytest.raises(error):
            _core.make_attempts(*arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({1: np.zeros(0, np.uint64), 2: np.zeros(0)}, "blur edges must be"),
        ({3: np.zeros(0, np.uint64)}, "passes must have"),
        ({4: np.zeros(4, np.int64)}, "words must be three per attempt"),
        ({5: np.zeros((5, 2), np.uint64)}, "words must be three per attempt"),
        ({6: np.zeros(4, np.int64)}, "results must be one per attempt"),
        ({7: np.zeros(4, np.bool_)}, "results must be one per attempt"),
        ({4: np.array([0, 2, 3, 2, 0])}, "the task is out of range in attempt 2"),
        ({4: np.array([0, -1, 2, 2, 0])}, "the task is out of range in attempt 1"),
        ({4: np.array([0, 2, 2, 2, 1])}, "the task has no claims, .* in attempt 4"),
    ],
)
def test_attempts_that_do_not_fit_are_refused(change, message):
    arguments = list(arguments_of(np.random.default_rng(1), [2, 0, 3], attempts=5))
    for place, array in change.items():
        arguments[place] = array
    with pytest.raises(ValueError, match=message):
        _core.make_attempts(*arguments)


@pytest.mark.parametrize("offsets", [[0, 3, 3, 6], [0, -1, 3, 5], [-1, 2, 2, 5], [0, 4, 3, 2]])
def test_claims_outside_of_the_rows_are_refused(offsets):
    arguments = list(arguments_of(np.random.default_rng(1), [2, 0, 3]))
    arguments[0] = (np.array(offsets), *arguments[0][1:])
    with pytest.raises(ValueError, match="leave the rows, in attempt"):
        _core.make_attempts(*arguments)


@pytest.mark.parametrize("sizes", [[], [0], [1], [0, 5, 0, 1, 300, 2, 0]])
def test_every_bit_of_seed_edges(sizes):
    rng = np.random.default_rng(len(sizes))
    offsets, weights = weights_of(rng, sizes)
    edges = np.zeros(len(weights), np.uint64)
    for most in (1, WORDS // 400, WORDS, 2**63 - 1):
        least = rng.integers(0, most, len(sizes))
        for total in (WORDS, 2**63 - 1, -5):
            given_arrays = (offsets, weights, least, total, edges)
            assert_recorded_bits("fill_seed_edges", *given_arrays)
    for wrong in (np.nan, np.inf, -np.inf, -1.0, 1e300):
        if len(weights) > 2:
            weights[1] = wrong
            given_arrays = (offsets, weights, np.zeros(len(sizes), np.int64), WORDS, edges)
            assert_recorded_bits("fill_seed_edges", *given_arrays)


def test_seed_edges_refuse_what_does_not_fit():
    offsets, weights = weights_of(np.random.default_rng(2), [2, 0, 3])
    least, edges = np.zeros(3, np.int64), np.zeros(5, np.uint64)
    for wrong in ([0, 6, 6, 6], [0, -1, 2, 5], [0, 3, 2, 5], [-1, 2, 2, 5]):
        with pytest.raises(ValueError, match="offsets fall or leave the rows, at or after task"):
            _core.fill_seed_edges(np.array(wrong), weights, least, WORDS, edges)
    for arrays in (
        (offsets[:0], weights, least, edges),
        (offsets, weights[:-1], least, edges),
        (offsets, weights, least[:-1], edges),
        (offsets, weights, least, edges[:-1]),
    ):
        with pytest.raises(ValueError, match="must"):
            _core.fill_seed_edges(*arrays[:3], WORDS, arrays[3])
    for arrays in (
        (offsets.astype(np.int32), weights, least, edges),
        (offsets, weights.astype(np.float32), least, edges),
        (offsets, weights, least.astype(np.float64), edges),
        (offsets, weights, least, edges.astype(np.int64)),
    ):
        with pytest.raises(TypeError):
            _core.fill_seed_edges(*arrays[:3], WORDS, arrays[3])
