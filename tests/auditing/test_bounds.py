"""Lower bounds from samples: they hold, they are not far below, and they refuse nonsense."""

import itertools

import numpy as np
import pytest
from scipy import stats

from quietcrowd.auditing import bounds
from quietcrowd.auditing.bounds import Statistic, compare
from quietcrowd.auditing.scores import learn_projection
from quietcrowd.exceptions import ParameterError


def scores(one, other, learn=None):
    return compare([Statistic(name="scores", one=one, other=other, learn=learn)])


def proven_epsilon(one, other, confidence, delta=0.0):
    return bounds.proven_epsilon(scores(one, other), confidence, delta)[0]


def proven_deltas(one, other, confidence, epsilons):
    return bounds.proven_deltas(scores(one, other), confidence, np.asarray(epsilons))


def binary(epsilon, count, rng):
    """Return samples of the two distributions of randomised response on two labels."""
    keep = np.exp(epsilon) / (1 + np.exp(epsilon))
    return [(rng.random(count) < chance).astype(float) for chance in (keep, 1 - keep)]


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_bounds_are_below_the_truth_and_near(epsilon):
    rng = np.random.default_rng(1)
    found = [proven_epsilon(*binary(epsilon, 20_000, rng), 0.999) for _ in range(20)]
    assert max(found) <= epsilon
    assert min(found) > epsilon - 0.2


@pytest.mark.slow
def test_bounds_are_wrong_as_rarely_as_they_say():
    """At 80 % confidence on equal distributions; a false alarm has a chance of 1e-6."""
    rng = np.random.default_rng(2)
    wrong = sum(
        proven_epsilon(rng.random(400), rng.random(400), confidence=0.8) > 0 for _ in range(300)
    )
    assert wrong <= stats.binom.ppf(1 - 1e-6, 300, 0.2)


def test_limits_are_those_of_clopper_and_pearson():
    counts = bounds._Counts(
        *(np.array(part) for part in ([0, 3, 50], [50] * 3, [0, 7, 40], [40] * 3))
    )
    low, high = counts.limits(0.01)
    for place, (hits, misses) in enumerate([(0, 0), (3, 7), (50, 40)]):
        exact = stats.binomtest(hits, 50).proportion_ci(0.98, "exact")
        other = stats.binomtest(misses, 40).proportion_ci(0.98, "exact")
        assert low[place] == pytest.approx(exact.low)
        assert high[place] == pytest.approx(other.high)


def test_a_single_hit_or_miss_has_no_limit():
    low, high = bounds._Counts(*map(np.array, ([1], [50], [39], [40]))).limits(0.01)
    assert (low[0], high[0]) == (0.0, 1.0)


def test_each_of_the_two_limits_has_half_of_the_risk(monkeypatch):
    risks, limits = [], bounds._Counts.limits

    def noted(counts, risk):
        risks.append(risk)
        return limits(counts, risk)

    monkeypatch.setattr(bounds._Counts, "limits", noted)
    proven_epsilon(*binary(1.0, 400, np.random.default_rng(1)), confidence=0.9)
    assert risks == pytest.approx([0.05, 0.05])


@pytest.mark.parametrize("size", [2, 9, 40])
def test_limits_of_two_probabilities_hold_for_their_mean(size):
    """By enumeration: how probable each number of hits is, and whether a limit is then wrong."""
    hits = np.arange(2 * size + 1)
    counts = bounds._Counts(hits, np.full_like(hits, 2 * size), hits, np.full_like(hits, 2 * size))
    chances = [0.0, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.8, 0.97, 0.999, 1.0]
    for risk in (bounds.MOST_RISK, 0.1, 1e-3):
        low, high = counts.limits(risk)
        for one, other in itertools.combinations_with_replacement(chances, 2):
            distributions = [
                stats.binom.pmf(np.arange(size + 1), size, chance) for chance in (one, other)
            ]
            distribution, mean = np.convolve(*distributions), (one + other) / 2
            assert distribution[high < mean - 1e-12].sum() <= risk + 1e-12, (risk, one, other)
            assert distribution[low > mean + 1e-12].sum() <= risk + 1e-12, (risk, one, other)


def test_bounds_from_both_sides_are_wrong_as_rarely_as_they_say():
    """With exactly this loss, at 80 % confidence; a false alarm has a chance of 1e-6."""
    rng = np.random.default_rng(11)
    wrong = sum(proven_epsilon(*binary(1.0, 400, rng), confidence=0.8) > 1.0 for _ in range(300))
    assert 0 < wrong <= stats.binom.ppf(1 - 1e-6, 300, 0.2)


def test_both_sides_together_prove_more_where_the_loss_is_large():
    """Of an epsilon of 8 by 10^5 draws a side nine tenths, by some 50 hits, nine times in ten."""
    rng = np.random.default_rng(12)
    found = []
    for _ in range(10):
        one, other = binary(8.0, 100_000, rng)
        scores = [8.0 * (2 * side - 1) for side in (one, other)]
        found.append(
            [proven_epsilon(*scores, 0.9995), proven_epsilon(*scores[:1], scores[1][1:], 0.9995)]
        )
    both, alone = np.array(found).T
    assert both.max() <= 8.0
    assert (both > 7.2).sum() >= 9
    assert both.mean() > alone.mean() + 0.1


def test_sides_of_other_sizes_are_compared():
    rng = np.random.default_rng(13)
    one, other = binary(2.0, 8_000, rng)
    for more in (1, 2, 3, 4_000):
        assert 1.5 < proven_epsilon(one, other[more:], 0.999) <= 2.0


def test_delta_is_that_of_the_distributions():
    rng = np.random.default_rng(3)
    one, other = binary(1.0, 100_000, rng)
    one[rng.random(len(one)) < 0.1] = 2.0  # never of the other
    epsilons = np.array([0.0, 1.0, 5.0])
    found = proven_deltas(one, other, 0.999, epsilons)
    keep = np.exp(1) / (1 + np.exp(1))
    exact = 0.1 + np.maximum(0.0, 0.9 * keep - np.exp(epsilons) * (1 - keep))
    assert (found <= exact + 1e-12).all()
    assert found == pytest.approx(exact, abs=0.04)
    assert proven_epsilon(one, other, 0.999) > 5
    assert proven_epsilon(one, other, 0.999, delta=0.1) < 1.0


def test_the_best_statistic_is_chosen():
    rng = np.random.default_rng(4)
    idle = Statistic(name="idle", one=rng.random(4000), other=rng.random(4000))
    one, other = binary(2.0, 4000, rng)
    telling = Statistic(name="telling", one=one, other=other)
    bound, number = bounds.proven_epsilon(compare([idle, telling]), 0.999)
    assert (number, 1.5 < bound <= 2.0) == (1, True)
    assert bounds.proven_epsilon(compare([idle]), 0.999)[0] == 0


@pytest.mark.nightly
def test_choosing_among_many_adds_no_risk():
    """Learnt from noise, 40 statistics prove something as rarely as the confidence says."""
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(100):
        sides = [rng.normal(size=(400, 40)) for _ in range(2)]
        many = [
            Statistic(
                name="noise",
                one=sides[0][:, [number]],
                other=sides[1][:, [number]],
                learn=learn_projection,
            )
            for number in range(40)
        ]
        wrong += bounds.proven_epsilon(compare(many), 0.8)[0] > 0
    assert wrong <= stats.binom.ppf(1 - 1e-6, 100, 0.2)


def test_equal_samples_prove_nothing():
    assert proven_epsilon(np.zeros(1000), np.zeros(1000), 0.999) == 0
    assert proven_deltas(np.zeros(100), np.zeros(100), 0.9, np.array([0.0, 1.0])).tolist() == [0, 0]


def test_infinite_scores_are_scores():
    """A report that the other row cannot give scores infinity; warnings are errors."""
    one, other = np.zeros(1000), np.zeros(1000)
    one[::3], other[::3] = np.inf, -np.inf
    assert proven_epsilon(one, other, 0.999) > 3
    assert proven_deltas(one, other, 0.999, [1.0])[0] > 0.2


def test_extreme_losses_and_deltas():
    one, other = np.ones(1000), np.zeros(1000)
    assert proven_deltas(one, other, 0.9, [0.0, 800.0, np.inf])[1:].tolist() == [0, 0]
    proven = [proven_epsilon(one, other, 0.9, delta) for delta in (0.0, 1e-300, 0.5, 0.999)]
    assert proven == sorted(proven, reverse=True)
    assert proven[0] == proven[1] > proven[2] > proven[3] == 0
    assert proven_epsilon(one, other, 0.9, 1.0) == 0


def test_nonsense_is_refused():
    with pytest.raises(ParameterError, match="confidence must be above 0 and below 1; got 1"):
        proven_epsilon(np.zeros(10), np.zeros(10), 1)
    with pytest.raises(ParameterError, match=r"confidence must be above 0 and below 1; got 'x'"):
        proven_epsilon(np.zeros(10), np.zeros(10), "x")
    with pytest.raises(ParameterError, match="delta must be at most 1; got 2"):
        proven_epsilon(np.zeros(10), np.zeros(10), 0.9, 2)
    with pytest.raises(ParameterError, match="epsilons must be numbers"):
        proven_deltas(np.zeros(10), np.zeros(10), 0.9, [np.nan])
    with pytest.raises(ParameterError, match="at least eight draws per side; got 7"):
        proven_epsilon(np.zeros(7), np.zeros(10), 0.9)
    with pytest.raises(ParameterError, match="a score of scores is NaN"):
        proven_epsilon(np.full(10, np.nan), np.zeros(10), 0.9)


def ratios(epsilon, count, rng):
    """Return log-likelihood ratios of 20 Laplace numbers that move by a twentieth each."""
    parts = epsilon / 20
    noise = [rng.laplace(size=(count, 20)) for _ in range(2)]
    one = (np.abs(noise[0] + parts) - np.abs(noise[0])).sum(axis=1)
    other = (np.abs(noise[1]) - np.abs(noise[1] - parts)).sum(axis=1)
    return one, other


@pytest.mark.nightly
def test_what_a_distribution_foresees_chooses_better():
    """Thresholds that are chosen by a few rare samples are those where these happened to be few."""
    rng = np.random.default_rng(7)
    gained = []
    for _ in range(20):
        one, other = ratios(4.0, 40_000, rng)
        found = [
            bounds.proven_epsilon(
                compare(
                    [
                        Statistic(
                            name="scores", one=one, other=other, by_distribution=by_distribution
                        )
                    ]
                ),
                0.999,
            )[0]
            for by_distribution in (False, True)
        ]
        assert max(found) <= 4
        gained.append(found[1] - found[0])
    assert np.mean(gained) > 0.02


@pytest.mark.slow
def test_a_distribution_that_is_wrong_foresees_wrongly_but_proves_nothing_wrong():
    """At 80 % confidence on equal distributions whose scores are no ratios; false alarm 1e-6."""
    rng = np.random.default_rng(8)
    wrong = 0
    for _ in range(200):
        one, other = rng.normal(3, 2, 400), rng.normal(3, 2, 400)
        statistic = Statistic(name="scores", one=one, other=other, by_distribution=True)
        wrong += bounds.proven_epsilon(compare([statistic]), 0.8)[0] > 0
    assert wrong <= stats.binom.ppf(1 - 1e-6, 200, 0.2)


def test_certain_reports_prove_more_than_a_distribution_foresees():
    one, other = np.full(400, 1.0), np.full(400, -1.0)
    certain = Statistic(name="certain", one=one, other=other, by_distribution=True)
    sides = binary(1.0, 400, np.random.default_rng(10))
    usual = Statistic(name="usual", one=sides[0], other=sides[1])
    bound, number = bounds.proven_epsilon(compare([usual, certain]), 0.999)
    assert (number, bound > 3) == (1, True)


def test_ratios_below_zero_are_foreseen_by_the_samples_that_have_them():
    """The rare side of a rare side: weights of e^7 that hardly occur must not be waited for."""
    rng = np.random.default_rng(9)
    others = np.array([3.35e-4, 0.0064, 1 - 3.35e-4 - 0.0064])
    chances = np.array([0.0, others[1] * np.exp(-7.3), others[2] * np.exp(-8)])
    chances[0] = 1 - chances.sum()
    levels = np.log(chances / others)
    one, other = (rng.choice(levels, 100_000, p=distribution) for distribution in (chances, others))
    distribution = Statistic(name="law", one=one, other=other, by_distribution=True)
    assert bounds.proven_epsilon(compare([distribution]), 0.999)[0] > 7
