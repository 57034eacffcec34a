"""Bounds against brute force, simulation and the printed figures.

Simulations have fixed seeds; each would fail a correct program with probability 1e-6 or less.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from quietcrowd.exceptions import ParameterError
from quietcrowd_research import bounds
from quietcrowd_research.bounds import (
    claimed_change_density,
    claimed_factorization_error_bound,
    claimed_laplace_error_bound,
    claimed_randomized_response_error_bound,
    claimed_vote_error_bound,
    flipped_accuracy,
    important_workers,
    laplace_error_bound,
    vote_error,
    vote_error_bound,
    worker_importance,
)

FALSE_ALARM = 1e-6
SIGMAS = stats.norm.isf(FALSE_ALARM / 2)
SETTING = {"answered": 0.1, "sigma": 1.0, "epsilon": 1.0}  # of Sun et al., with truths at 0
probabilities = st.floats(0, 1)
crowds = st.lists(probabilities, min_size=1, max_size=7)


def patterns(accuracy):
    """Yield every pattern of right (1) and wrong (-1) votes with its probability."""
    for votes in itertools.product((1, -1), repeat=len(accuracy)):
        yield votes, math.prod(p if v > 0 else 1 - p for p, v in zip(accuracy, votes, strict=True))


def error_by_enumeration(accuracy, weights, tie):
    """Return the error of a vote; a tie counts as `tie` errors."""
    error = 0
    for votes, probability in patterns(accuracy):
        total = sum(w * v for w, v in zip(weights, votes, strict=True))
        error += probability * (1 if total < 0 else tie if total == 0 else 0)
    return error


# ---------------------------------------------------------------------- votes


@given(probabilities, probabilities)
@settings(deadline=None)
def test_flips_mix_accuracy_with_its_complement(p, f):
    assert flipped_accuracy(p, f)[0] == pytest.approx(p + f * (1 - 2 * p), abs=1e-15)


@given(st.lists(st.tuples(probabilities, st.integers(-3, 3)), min_size=1, max_size=7))
@settings(deadline=None)
def test_error_of_any_weights_is_that_of_all_patterns_added_up(workers):
    accuracy, weights = zip(*workers, strict=True)
    exact = error_by_enumeration([Fraction(p) for p in accuracy], weights, Fraction(1, 2))
    assert vote_error(accuracy, weights=weights) == pytest.approx(float(exact), abs=1e-13)


@given(crowds)
@settings(deadline=None)
def test_error_of_log_odds_is_the_least_there_is(accuracy):
    likelihoods = [probability for _, probability in patterns(accuracy)]
    least = sum(map(min, likelihoods, reversed(likelihoods))) / 2
    assert vote_error(accuracy) == pytest.approx(least, abs=1e-13)
    assert vote_error(accuracy) <= vote_error(accuracy, weights=1) + 1e-13


@pytest.mark.parametrize("workers", [1, 2, 15, 1_000])
def test_error_of_equal_workers_is_a_binomial_tail(workers):
    half = workers / 2
    tail = stats.binom.cdf(math.ceil(half) - 1, workers, 0.53)
    tie = stats.binom.pmf(workers // 2, workers, 0.53) if workers % 2 == 0 else 0.0
    assert vote_error([0.53] * workers) == pytest.approx(tail + tie / 2, rel=1e-9)


def test_error_against_simulated_votes():
    accuracy, weights = np.array([0.9, 0.7, 0.7, 0.4, 0.6]), np.array([2.0, 1.0, 1.5, -0.3, 0.7])
    rng = np.random.default_rng(5)
    right = rng.random((200_000, 5)) < accuracy
    wrong = int((np.where(right, weights, -weights).sum(axis=1) < 0).sum())
    expected = vote_error(accuracy, weights=weights)
    assert stats.binomtest(wrong, 200_000, expected).pvalue > FALSE_ALARM


def test_too_many_kinds_of_workers_are_refused():
    assert 0 < vote_error(np.linspace(0.5, 0.7, 20)) < 0.5
    with pytest.raises(ParameterError, match="accuracy must leave at most 1,048,576 patterns"):
        vote_error(np.linspace(0.5, 0.7, 21))


def test_scale_of_weights_and_workers_who_never_err():
    assert vote_error([0.9, 0.6], weights=[1e308, 1e-308]) == pytest.approx(0.1)
    assert vote_error([0.9] * 3, weights=[1e308, 1.1e308, 1.2e308]) == pytest.approx(0.028)
    assert vote_error([0.9, 0.6], weights=0) == 0.5
    assert vote_error([1.0, 0.0, 0.6]) == pytest.approx(0, abs=1e-300)
    assert vote_error([1.0] + [0.6] * 2_000) == pytest.approx(0, abs=1e-300)


@given(crowds)
@settings(deadline=None)
def test_the_bound_holds_and_half_of_it_where_ties_are_split(accuracy):
    assert vote_error(accuracy) <= vote_error_bound(accuracy) / 2 + 1e-13
    folded = [Fraction(max(p, 1 - p)) for p in accuracy]
    if len(set(folded)) == 1:  # majority vote, where ties are ties
        ties_lost = error_by_enumeration(folded, [1] * len(folded), 1)
        assert float(ties_lost) <= vote_error_bound(accuracy) + 1e-13


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=7))
@settings(deadline=None)
def test_the_bound_is_chernoff_with_half_the_log_odds(accuracy):
    half = [math.log(p / (1 - p)) / 2 for p in accuracy]
    moment = sum(
        probability * math.exp(-sum(w * v for w, v in zip(half, votes, strict=True)))
        for votes, probability in patterns(accuracy)
    )
    assert vote_error_bound(accuracy) == pytest.approx(moment, rel=1e-9)
    whole = sum(
        probability * math.exp(-2 * sum(w * v for w, v in zip(half, votes, strict=True)))
        for votes, probability in patterns(accuracy)
    )
    assert whole == pytest.approx(1)  # with the log-odds themselves the argument says nothing


def test_three_good_workers_refute_the_printed_bound():
    crowd = [0.9, 0.9, 0.9]
    assert vote_error(crowd) == pytest.approx(0.028)
    assert vote_error_bound(crowd) == pytest.approx(0.216)
    assert claimed_vote_error_bound(crowd) == pytest.approx(0.0024898, abs=1e-7)
    assert claimed_vote_error_bound(crowd, linear=True) == pytest.approx(0.008)
    assert claimed_vote_error_bound(crowd) < claimed_vote_error_bound(crowd, linear=True)
    assert claimed_vote_error_bound(crowd, linear=True) < vote_error(crowd)


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=7))
@settings(deadline=None)
def test_the_printed_bound_is_its_formula_for_inverted_workers(accuracy):
    inverted = [min(p, 1 - p) for p in accuracy]
    formula = math.prod(
        (p * math.exp(-1) + (1 - p) * math.exp(1)) ** math.log(p / (1 - p)) for p in inverted
    )
    assert claimed_vote_error_bound(accuracy) == pytest.approx(formula, rel=1e-9)
    linear = claimed_vote_error_bound(accuracy, linear=True)
    assert linear == pytest.approx(math.prod(2 * p for p in inverted), rel=1e-9)


def test_the_linear_form_is_off_by_up_to_0_076():
    grid = np.linspace(0, 0.5, 2_001)
    gaps = [claimed_vote_error_bound(p, linear=True) - claimed_vote_error_bound(p) for p in grid]
    assert max(gaps) == pytest.approx(0.0765, abs=1e-4)
    assert min(gaps) == pytest.approx(-0.0042, abs=1e-4)


# ---------------------------------------------------------------------- important workers


@pytest.mark.parametrize(
    ("claimed", "bound"), [(False, vote_error_bound), (True, claimed_vote_error_bound)]
)
def test_importance_is_the_bound_without_over_the_bound_with(claimed, bound):
    crowd = [0.95, 0.2, 0.5, 0.61]
    ratios = [bound(crowd[:u] + crowd[u + 1 :]) / bound(crowd) for u in range(4)]
    assert worker_importance(crowd, claimed=claimed) == pytest.approx(ratios)


def test_both_importances_order_workers_alike_and_the_claimed_one_is_larger():
    crowd = np.linspace(0, 0.5, 501)
    valid, claimed = worker_importance(crowd), worker_importance(crowd, claimed=True)
    assert valid[0] == claimed[0] == math.inf
    assert valid[-1] == claimed[-1] == 1
    assert (np.diff(valid) < 0).all()
    assert (np.diff(claimed) < 0).all()
    assert (claimed[1:-1] > valid[1:-1]).all()


def test_important_workers_reach_a_share_of_the_best():
    scores = worker_importance([0.9, 0.1, 0.8, 0.5])
    assert important_workers(scores, threshold=1).tolist() == [True, True, False, False]
    assert important_workers(scores, threshold=0.7).tolist() == [True, True, True, False]
    assert important_workers(scores, threshold=0.1).all()
    never_wrong = worker_importance([1.0, 0.99, 0.0])
    assert important_workers(never_wrong, threshold=0.01).tolist() == [True, False, True]


# ---------------------------------------------------------------------- change of the error rate


@pytest.mark.parametrize("high", [1.0, 0.538, 0.1])
@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_density_of_the_change_has_mass_one_and_the_mean_of_the_one_layer_change(workers, high):
    def moment(order):
        def distribution(log_point):
            point = math.exp(log_point)
            density = claimed_change_density(point, workers=workers, high=high)[0]
            return density * point ** (order + 1)

        top = workers * math.log(high)
        return integrate.quad(distribution, top - 90, top, epsabs=0, epsrel=1e-10, limit=200)[0]

    assert moment(0) == pytest.approx(1, rel=1e-8)
    assert moment(1) == pytest.approx((high / 2) ** workers, rel=1e-8)


@pytest.mark.parametrize(("workers", "high"), [(2, 1.0), (3, 0.8), (6, 1.0)])
def test_density_of_the_change_against_products_of_draws(workers, high):
    draws = np.random.default_rng(8).uniform(0, high, (100_000, workers)).prod(axis=1)
    edges = np.array([0.001, 0.01, 0.1, 0.3, 0.6, 1.0]) * high**workers
    for low, top in itertools.pairwise(edges):
        share = integrate.quad(
            lambda x: claimed_change_density(x, workers=workers, high=high)[0], low, top
        )[0]
        count = int(((draws > low) & (draws <= top)).sum())
        assert stats.binomtest(count, len(draws), share).pvalue > FALSE_ALARM / 5


def test_density_of_the_change_at_its_ends():
    assert claimed_change_density([0, 0.2, 0.51], workers=1, high=0.5).tolist() == [2, 2, 0]
    two = claimed_change_density([-1, 0, 0.25, 1, 2], workers=2, high=1.0)
    assert two == pytest.approx([0, math.inf, -math.log(0.25), 0, 0], abs=1e-300)
    assert np.isfinite(claimed_change_density(1e-300, workers=400, high=0.5)).all()


# ---------------------------------------------------------------------- numeric answers


def test_laplace_bound_gives_the_printed_figure_and_that_of_the_width():
    ten = laplace_error_bound(0.0, fill=range(10), sensitivity=10, **SETTING)
    nine = laplace_error_bound(0.0, fill=range(10), sensitivity=9, **SETTING)
    assert ten == pytest.approx(14.13, abs=5e-4)
    assert nine == pytest.approx(13.13, abs=5e-4)


def test_laplace_bound_is_its_formula_worker_by_worker():
    rng = np.random.default_rng(1)
    truths, answered, sigma, quality = rng.random(6), rng.random(4), rng.random(4), rng.random(4)
    fill = [0.0, 0.3, 1.0]
    total = 0.0
    for mu in truths:
        for s, spread, q in zip(answered, sigma, quality / quality.sum(), strict=True):
            deviation = sum(abs(v - mu) for v in fill) / 3
            missing = (1 - s) * (deviation + 2 / 0.7)
            total += q * (missing + s * (spread * math.sqrt(2 / math.pi) + 2 / 0.7)) / 6
    workers = {"answered": answered, "sigma": sigma, "quality": quality}
    bound = laplace_error_bound(truths, fill=fill, sensitivity=2, epsilon=0.7, **workers)
    assert bound == pytest.approx(total)
    mean_fill = laplace_error_bound(truths, fill=1.3 / 3, sensitivity=2, epsilon=0.7, **workers)
    assert mean_fill < bound


def simulated_laplace_errors(truths, *, answered, sigma, quality, fill, scale, runs, seed):
    """Return the mean absolute error of each run of the procedure that Theorem 2 is about."""
    rng = np.random.default_rng(seed)
    shape = (runs, len(answered), len(truths))
    answers = truths + rng.normal(size=shape) * np.asarray(sigma)[:, None]
    given = rng.random(shape) < np.asarray(answered)[:, None]
    filled = np.where(given, answers, rng.choice(fill, shape))
    reports = filled + rng.laplace(scale=scale, size=shape)
    return np.abs(np.average(reports, axis=1, weights=quality) - truths).mean(axis=1)


def test_laplace_bound_holds_for_the_procedure():
    truths = np.linspace(0, 9, 20)
    crowd = {"answered": [0.1, 0.9, 0.5], "sigma": [1.0, 0.2, 5.0], "quality": [1, 5, 0.5]}
    errors = simulated_laplace_errors(
        truths, fill=range(10), scale=9.0, runs=2_000, seed=2, **crowd
    )
    bound = laplace_error_bound(truths, fill=range(10), sensitivity=9, epsilon=1, **crowd)
    assert errors.mean() - SIGMAS * stats.sem(errors) < bound


def test_laplace_bound_is_reached_by_one_worker_who_answers_nothing():
    crowd = {"answered": [0.0], "sigma": [0.0], "quality": [1.0]}
    truths = np.full(50, 4.5)
    errors = simulated_laplace_errors(truths, fill=[4.5], scale=2.0, runs=2_000, seed=3, **crowd)
    bound = laplace_error_bound(truths, fill=4.5, sensitivity=2, epsilon=1, **crowd)
    assert errors.mean() == pytest.approx(bound, abs=SIGMAS * stats.sem(errors))


def test_a_random_fill_refutes_the_printed_laplace_bound():
    crowd = {"answered": [0.0], "sigma": [0.0], "quality": [1.0]}
    truths = np.full(50, 4.5)
    errors = simulated_laplace_errors(truths, fill=range(10), scale=0.1, runs=500, seed=4, **crowd)
    printed, valid = (
        laplace_error_bound(truths, fill=fill, sensitivity=10, epsilon=100, **crowd)
        for fill in (4.5, range(10))
    )
    assert printed == pytest.approx(0.1)
    assert valid == pytest.approx(2.6)
    assert printed + 1 < errors.mean() - SIGMAS * stats.sem(errors) < valid


def printed_randomized_response(mu, s, sigma, levels, epsilon, density=stats.norm.pdf):
    """Return e_ij of Theorem 3 with the channel written out cell by cell."""
    low, keep = 1 / (math.exp(epsilon) + len(levels)), math.exp(epsilon)
    missing = abs(mu - sum(y * low for y in levels))
    given = 0.0
    for x in levels:
        mean_report = sum(y * low * (keep if x == y else 1) for y in levels)
        given += density(x, mu, sigma) * abs(mu - mean_report)
    return (1 - s) * missing + s * given


def test_randomized_response_formula_gives_3_437_and_with_all_answers_at_one_the_printed_3_551():
    bound = claimed_randomized_response_error_bound(0.0, levels=range(10), **SETTING)
    assert bound == pytest.approx(3.4368, abs=5e-5)
    at_one = printed_randomized_response(0, 0.1, 1, range(10), 1, lambda x, *_: float(x == 1))
    assert at_one == pytest.approx(3.5517, abs=5e-5)
    weights = stats.norm.pdf(range(10)) / stats.norm.pdf(range(10)).sum()
    normalised = printed_randomized_response(0, 0.1, 1, range(10), 1, lambda x, *_: weights[x])
    assert normalised == pytest.approx(3.5452, abs=5e-5)


def test_densities_at_the_levels_do_not_sum_to_one():
    assert stats.norm.pdf(range(10)).sum() == pytest.approx(0.70, abs=5e-3)
    assert stats.norm.pdf(range(10), scale=0.1).sum() == pytest.approx(3.99, abs=5e-3)


def test_randomized_response_formula_worker_by_worker():
    rng = np.random.default_rng(6)
    truths, answered, quality = rng.normal(size=5), rng.random(3), rng.random(3)
    sigma, levels = rng.random(3) + 0.1, [-1.0, 0.5, 2.0, 7.0]
    total = sum(
        q * printed_randomized_response(mu, s, spread, levels, 1.5) / 5
        for mu in truths
        for s, spread, q in zip(answered, sigma, quality / quality.sum(), strict=True)
    )
    workers = {"answered": answered, "sigma": sigma, "quality": quality}
    bound = claimed_randomized_response_error_bound(truths, levels=levels, epsilon=1.5, **workers)
    assert bound == pytest.approx(total)


def test_dropped_nulls_refute_the_randomized_response_bound():
    """The setting of the paper; answers rounded to levels; truths from non-NULL reports only."""
    rng = np.random.default_rng(7)
    shape = (2_000, 200)
    answers = np.clip(np.rint(rng.normal(size=shape)), 0, 9)
    cells = np.where(rng.random(shape) < 0.1, answers, 10)  # 10 is NULL
    total = math.e + 10
    others = (cells + rng.integers(1, 11, shape)) % 11
    reports = np.where(rng.random(shape) < math.e / total, cells, others)
    kept = reports < 10
    errors = (reports * kept).sum(axis=0) / kept.sum(axis=0)
    assert errors.mean() == pytest.approx(4.43, abs=0.01 + SIGMAS * stats.sem(errors))
    assert errors.mean() - SIGMAS * stats.sem(errors) > 3.5517


def test_a_single_worker_refutes_the_randomized_response_bound_even_with_null_as_zero():
    total = math.e + 10
    exact = sum(abs(y - 4.5) for y in range(10)) / total + 4.5 * math.e / total
    bound = claimed_randomized_response_error_bound(
        4.5, answered=0, sigma=1, levels=range(10), epsilon=1
    )
    assert bound == pytest.approx(0.962, abs=1e-3)
    assert exact == pytest.approx(2.928, abs=1e-3)


def test_factorization_formula():
    setting = {"factors": 100, "tasks": 1_000, "sensitivity": 10, "epsilon": 1}
    assert claimed_factorization_error_bound(**setting) == pytest.approx(1.798, abs=5e-4)
    uneven = claimed_factorization_error_bound(**setting, quality=[3, 1, 0, 0])
    assert uneven == pytest.approx(4 * 0.75 * (math.sqrt(2 / math.pi) + 1))


def test_one_random_factor_refutes_the_factorization_bound():
    """Algorithm 2 with d = 1 solved exactly; all workers answer all tasks with the truth, 9."""
    rng = np.random.default_rng(9)
    tasks, workers, scale = 1_000, 200, 10 / 1.0
    signs = rng.choice([-1.0, 1.0], tasks)
    profiles = (9 * signs.sum() - rng.laplace(scale=scale, size=workers)) / tasks
    error = np.abs(np.mean(profiles) * signs - 9).mean()
    bound = claimed_factorization_error_bound(factors=1, tasks=tasks, sensitivity=10, epsilon=1)
    assert bound < 0.81
    assert error > 8


# ---------------------------------------------------------------------- arguments

SUN = {"truths": [0.0, 1.0], "answered": 0.5, "sigma": [1.0, 2.0], "epsilon": 1.0, "quality": 1.0}
CALLS = {
    flipped_accuracy: {"accuracy": 0.9, "flip_probability": 0.2},
    vote_error: {"accuracy": [0.9, 0.6], "weights": [1.0, 2.0]},
    vote_error_bound: {"accuracy": 0.9},
    claimed_vote_error_bound: {"accuracy": 0.9},
    worker_importance: {"accuracy": 0.9},
    important_workers: {"importance": [2.0, 3.0], "threshold": 0.5},
    claimed_change_density: {"change": 0.1, "workers": 2, "high": 0.5},
    claimed_laplace_error_bound: SUN | {"fill": [0, 1], "sensitivity": 1.0},
    laplace_error_bound: SUN | {"fill": [0, 1], "sensitivity": 1.0},
    claimed_randomized_response_error_bound: SUN | {"levels": [0, 1, 2]},
    claimed_factorization_error_bound: {
        "factors": 2,
        "tasks": 9,
        "sensitivity": 1.0,
        "epsilon": 1.0,
        "quality": 1.0,
    },
}
ARGUMENTS = [(call, name) for call, arguments in CALLS.items() for name in arguments]
NO_NUMBERS = ["0.5", None, True, 0.5j, [], [[0.5]], [[0.5], [0.5, 0.5]], {}, ..., [0.5, None]]
TOO_HIGH = {
    "accuracy": 1,
    "flip_probability": 1,
    "threshold": 1,
    "high": 1,
    "answered": 1,
}
NOT_BELOW_ZERO = {
    *TOO_HIGH,
    *("importance", "workers", "sigma", "epsilon", "quality", "sensitivity", "factors", "tasks"),
}


def refused(call, name, value):
    """Check that `call` refuses `value` by the name of the argument."""
    with pytest.raises(ParameterError, match=rf"^{name} must be "):
        call(**CALLS[call] | {name: value})


def test_every_function_is_tried():
    public = [
        name
        for name, value in vars(bounds).items()
        if getattr(value, "__module__", "") == bounds.__name__ and not name.startswith("_")
    ]
    assert sorted(call.__name__ for call in CALLS) == sorted(public)


@pytest.mark.parametrize(("call", "name"), ARGUMENTS)
def test_what_is_no_number_is_refused(call, name):
    for value in (*NO_NUMBERS, math.nan, -math.inf):
        if (name, value) != ("weights", None):
            refused(call, name, value)


@pytest.mark.nightly
@pytest.mark.parametrize(("call", "name"), ARGUMENTS)
@given(data=st.data())
def test_numbers_out_of_range_are_refused(call, name, data):
    wrong = st.just(math.nan)
    if name != "importance":
        wrong |= st.just(math.inf)
    if name in TOO_HIGH:
        wrong |= st.floats(TOO_HIGH[name], exclude_min=True, allow_infinity=False)
    if name in NOT_BELOW_ZERO:
        wrong |= st.floats(max_value=0, exclude_max=True)
    refused(call, name, data.draw(wrong))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (important_workers, "threshold"),
        (important_workers, "importance"),
        (claimed_change_density, "high"),
        (claimed_change_density, "workers"),
        (laplace_error_bound, "epsilon"),
        (laplace_error_bound, "sensitivity"),
        (laplace_error_bound, "quality"),
        (claimed_randomized_response_error_bound, "sigma"),
        (claimed_factorization_error_bound, "factors"),
        (claimed_factorization_error_bound, "quality"),
    ],
)
def test_zero_is_refused_where_it_means_nothing(call, name):
    refused(call, name, 0)


def test_messages_say_name_rule_and_value():
    with pytest.raises(ParameterError) as caught:
        vote_error([0.5, 1.25, 7])
    assert str(caught.value) == "accuracy must be at least 0 and at most 1; got 1.25"
    with pytest.raises(ParameterError, match=r"answered, sigma, quality .* got 3, 2, 1"):
        laplace_error_bound(**CALLS[laplace_error_bound] | {"answered": [0.1, 0.2, 0.3]})
    with pytest.raises(ParameterError, match=r"levels must differ .* \[1.0, 1.0\]"):
        claimed_randomized_response_error_bound(0.0, levels=[1, 1], **SETTING)
    with pytest.raises(ParameterError, match=r"epsilon must be a single number; got \[1, 2\]"):
        claimed_factorization_error_bound(factors=1, tasks=1, sensitivity=1, epsilon=[1, 2])


@given(st.floats(1e-3, 1e3))
@settings(deadline=None)
def test_only_ratios_of_qualities_count_and_one_number_stands_for_all_workers(factor):
    arguments = SUN | {"fill": 0, "sensitivity": 1, "quality": [1.0, 3.0]}
    bound = laplace_error_bound(**arguments)
    scaled = arguments | {"quality": [factor, 3 * factor], "answered": [0.5, 0.5]}
    assert laplace_error_bound(**scaled) == pytest.approx(bound)
    even = laplace_error_bound(**arguments | {"quality": [factor, factor]})
    assert laplace_error_bound(**arguments | {"quality": factor}) == pytest.approx(even)
