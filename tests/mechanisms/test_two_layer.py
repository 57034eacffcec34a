import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quietcrowd.answers import Answers
from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Categorical, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism, RandomizedResponse, TwoLayerRandomizedResponse

FALSE_ALARM = 1e-6
BINARY = Categorical([0, 1])


@pytest.mark.parametrize(
    ("epsilon", "answers", "exact"),
    [
        (1.0, 1, 1.0),
        (1.0, 5, 1.681),
        (0.5, 5, 1.613),
        (0.0, 5, math.log(5)),
        (1.0, 26, 3.26),
        (1.0, 277, 5.62),
        (0.0, 277, math.log(277)),
        (1.0, 1834, 7.51),
        (1.0, 2134, 7.67),
    ],
)
def test_exact_loss_of_the_papers_setting(epsilon, answers, exact):
    mechanism = TwoLayerRandomizedResponse.from_claimed_epsilon(domain=BINARY, epsilon=epsilon)
    guarantee = mechanism.guarantee(answers=answers)
    assert guarantee.epsilon == pytest.approx(exact, abs=5e-3)
    assert guarantee.claimed_epsilon == pytest.approx(epsilon)
    assert guarantee.claim_holds == (answers == 1)


@pytest.mark.parametrize(
    ("epsilon", "high"),
    [(1.0, 0.53788), (0.9, 0.57810), (0.5, 0.75508), (0.1, 0.95004), (0.001, 0.99950), (0.0, 1.0)],
)
def test_bounds_of_theorem_6_3(epsilon, high):
    mechanism = TwoLayerRandomizedResponse.from_claimed_epsilon(domain=BINARY, epsilon=epsilon)
    assert mechanism.high == pytest.approx(high, abs=5e-6)


@pytest.mark.parametrize(
    ("answers", "low"), [(1, 0.038), (2, 0.079), (3, 0.109), (5, 0.149), (10, 0.199), (100, 0.262)]
)
def test_a_low_above_0_keeps_the_loss_at_1(answers, low):
    mechanism = TwoLayerRandomizedResponse(domain=BINARY, low=low, high=0.5)
    assert mechanism.guarantee(answers=answers).epsilon == pytest.approx(1.0, abs=5e-3)


@given(st.floats(0.05, 0.4), st.floats(0.05, 0.4), st.integers(2, 5))
def test_one_answer_is_the_one_layer_mechanism_at_the_mean(low, more, labels):
    domain = Ordinal(range(labels))
    two = TwoLayerRandomizedResponse(domain=domain, low=low, high=low + more)
    one = RandomizedResponse(domain=domain, flip_probability=low + more / 2)
    assert two.guarantee().epsilon == pytest.approx(one.guarantee().epsilon, abs=1e-7)
    np.testing.assert_allclose(two.channel.probabilities, one.channel.probabilities, atol=1e-9)


@given(st.floats(0.05, 0.9), st.integers(2, 5), st.integers(1, 50))
def test_equal_bounds_are_the_one_layer_mechanism_at_any_number_of_answers(flip, labels, answers):
    domain = Ordinal(range(labels))
    two = TwoLayerRandomizedResponse(domain=domain, low=flip, high=flip).guarantee(answers=answers)
    one = RandomizedResponse(domain=domain, flip_probability=flip).guarantee(answers=answers)
    assert two.epsilon == pytest.approx(one.epsilon, abs=1e-7)
    assert two.total_epsilon == pytest.approx(one.total_epsilon, abs=1e-6)


def test_the_distribution_of_reports_is_the_mixture():
    """Agreements of a worker with n answers follow the mixture of binomials, not one binomial."""
    workers, answers = 40_000, 4
    frame = pd.DataFrame(
        {
            "task": np.tile(np.arange(answers), workers),
            "worker": np.repeat(np.arange(workers), answers),
            "label": 1,
        }
    )
    table = Answers.from_frame(frame, BINARY)
    mechanism = TwoLayerRandomizedResponse(domain=BINARY, low=0.1, high=0.7)
    reports = mechanism.simulate(table, random_state=11).table
    agreed = np.bincount(reports.worker_codes, weights=reports.values, minlength=workers)
    counts = np.bincount(agreed.astype(int), minlength=answers + 1)
    flips = np.linspace(0.1, 0.7, 20_001)
    distribution = np.array(
        [stats.binom.pmf(c, answers, 1 - flips).mean() for c in range(answers + 1)]
    )
    assert stats.chisquare(counts, distribution / distribution.sum() * workers).pvalue > FALSE_ALARM
    marginal = stats.binom.pmf(np.arange(answers + 1), answers, 0.6)
    assert stats.chisquare(counts, marginal * workers).pvalue < FALSE_ALARM


@pytest.mark.slow
def test_the_marginal_channel_is_met_and_nobody_knows_a_workers_own():
    crowd = make_crowd(tasks=200, workers=20_000, answers_per_task=200, labels=range(3))
    mechanism = TwoLayerRandomizedResponse(domain=crowd.answers.domain, low=0.2, high=0.8)
    assert mechanism.worker_channel is None
    first = np.unique(crowd.answers.worker_codes, return_index=True)[1]  # one answer per worker
    reports = mechanism.simulate(crowd.answers, random_state=2).table.values[first]
    given_answers = crowd.answers.values[first]
    for answer in range(3):
        counts = np.bincount(reports[given_answers == answer], minlength=3)
        expected = mechanism.channel.probabilities[answer] * counts.sum()
        assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


def test_the_flip_probability_never_leaves():
    crowd = make_crowd(tasks=10, workers=20)
    reports = TwoLayerRandomizedResponse(domain=crowd.answers.domain, low=0.1, high=0.5).randomize(
        crowd.answers
    )
    assert set(reports.to_frame().columns) == {"task", "worker", "label", "mechanism"}
    assert reports.participation is None
    assert reports.sketches is None
    assert reports.mechanism.to_dict().keys() == {
        "mechanism",
        "version",
        "domain",
        "low",
        "high",
        "epsilon",
        "law",
        "null",
        "other_weights",
    }


def test_weights_have_an_even_sum_and_lie_on_the_noisy_side():
    for low, high in ((0.0, 1.0), (0.1, 0.3), (1 / 3, 1 / 3), (0.0, 0.537)):
        for labels in (2, 3, 4, 7):
            mechanism = TwoLayerRandomizedResponse(
                domain=Ordinal(range(labels)), low=low, high=high
            )
            first, last = mechanism.worker_distribution.bounds
            assert (first + last) % 2 == 0
            assert first <= last <= 2**32 // (labels - 1)
            assert Mechanism.from_dict(mechanism.to_dict()) == mechanism


@pytest.mark.parametrize(
    "options",
    [
        {"low": 0.5, "high": 0.4},
        {"low": -0.1, "high": 0.4},
        {"low": 0.1, "high": 1.1},
        {"low": 0.0, "high": 0.0},
        {"low": 0.0, "high": 1e-9},
        {"low": math.nan, "high": 0.5},
        {"low": 0.1, "high": "x"},
    ],
)
def test_bad_parameters(options):
    with pytest.raises(ParameterError):
        TwoLayerRandomizedResponse(domain=BINARY, **options)


def test_claims_that_need_more_than_certainty_are_refused_with_a_way_out():
    domain = Ordinal(range(4))
    with pytest.raises(
        ParameterError, match=r"needs high=1.049, which is above 1. Use a low of at"
    ):
        TwoLayerRandomizedResponse.from_claimed_epsilon(domain=domain, epsilon=1.0)
    TwoLayerRandomizedResponse.from_claimed_epsilon(domain=domain, epsilon=1.0, low=0.0494)
    TwoLayerRandomizedResponse.from_claimed_epsilon(domain=domain, epsilon=1.0987)
    with pytest.raises(ParameterError, match="Use a smaller low"):
        TwoLayerRandomizedResponse.from_claimed_epsilon(domain=BINARY, epsilon=2.0, low=0.4)
    for epsilon in (-1.0, math.inf, math.nan):
        with pytest.raises(ParameterError, match="epsilon must be"):
            TwoLayerRandomizedResponse.from_claimed_epsilon(domain=BINARY, epsilon=epsilon)
    with pytest.raises(ParameterError, match="2 to"):
        TwoLayerRandomizedResponse.from_claimed_epsilon(domain=Categorical(["one"]), epsilon=1.0)


@pytest.mark.grid
@pytest.mark.parametrize("labels", range(3, 30))
def test_the_way_out_is_a_way_out(labels):
    domain = Ordinal(range(labels))
    for epsilon in (0.0, 0.3, 0.69):
        with pytest.raises(ParameterError) as refused:
            TwoLayerRandomizedResponse.from_claimed_epsilon(domain=domain, epsilon=epsilon)
        low, least = re.findall(r"at least ([\d.e-]+\d)", str(refused.value))
        build = TwoLayerRandomizedResponse.from_claimed_epsilon
        build(domain=domain, epsilon=epsilon, low=float(low))
        build(domain=domain, epsilon=float(least))


@pytest.mark.parametrize("epsilon", [17.0, 800.0, "1", None])
def test_claims_beyond_32_bits_are_refused(epsilon):
    with pytest.raises(ParameterError):
        TwoLayerRandomizedResponse.from_claimed_epsilon(domain=BINARY, epsilon=epsilon)


@pytest.mark.parametrize("answers", [1, 5, 1_000])
@pytest.mark.parametrize("law", ["flip", "epsilon"])
def test_losses_are_plain_numbers(answers, law):
    mechanism = TwoLayerRandomizedResponse.from_claimed_epsilon(
        domain=BINARY, epsilon=1.0, distribution=law
    )
    guarantee = mechanism.guarantee(answers=answers)
    assert {type(guarantee.epsilon), type(guarantee.total_epsilon)} == {float}


BETA = {"distribution": "beta", "alpha": 2, "beta": 3}


@pytest.mark.parametrize(
    ("labels", "low", "high", "shapes"),
    [(2, 0.0, 0.5, (2, 3)), (3, 0.1, 0.95, (5, 1)), (2, 0.4, 1.0, (2, 2)), (4, 0.0, 0.7, (1, 1))],
)
def test_a_beta_distribution_loses_what_all_rows_of_reports_say(labels, low, high, shapes):
    """By the definition: every row of reports, the mean over all 1,024 weights."""
    n, (alpha, beta) = 4, shapes
    mechanism = TwoLayerRandomizedResponse(
        domain=Ordinal(range(labels)),
        low=low,
        high=high,
        distribution="beta",
        alpha=alpha,
        beta=beta,
    )
    others = np.array(mechanism.worker_distribution.table) / 2**32
    agree = 1 - (labels - 1) * others
    chance = np.array([(agree**c * others ** (n - c)).mean() for c in range(n + 1)])
    reports = np.array(list(np.ndindex(*[labels] * n)))

    def log_chance(row):
        return np.log(chance[(reports == row).sum(axis=1)])

    start = log_chance((0,) * n)
    cell = np.abs(start - log_chance((1,) + (0,) * (n - 1))).max()
    row = max(np.abs(start - log_chance(other)).max() for other in reports.tolist())
    stated = mechanism.guarantee(answers=n)
    assert stated.epsilon == pytest.approx(cell, rel=1e-9)
    assert stated.total_epsilon == pytest.approx(row, rel=1e-9)
    assert mechanism.guarantee().epsilon == pytest.approx(abs(mechanism.claimed_epsilon), abs=1e-8)


def test_the_loss_of_a_beta_distribution_at_a_delta_is_that_of_its_weights():
    from quietcrowd.privacy.two_layer.weights import SharedWeight

    mechanism = TwoLayerRandomizedResponse(domain=Ordinal(range(3)), low=0.1, high=0.6, **BETA)
    table = np.array(mechanism.worker_distribution.table, float)
    distribution = SharedWeight.listed(table, others=2, null=False)
    answer = mechanism.loss(answers=20).answer
    assert answer.epsilon == pytest.approx(distribution.cell_epsilon(20))
    for epsilon in (0.5, 1.0, 2.0):
        delta = float((answer.masses * np.maximum(0, 1 - np.exp(epsilon - answer.losses))).sum())
        assert delta == pytest.approx(distribution.delta(20, epsilon), rel=1e-6, abs=1e-12)


def test_a_beta_distribution_is_drawn_as_it_says():
    mechanism = TwoLayerRandomizedResponse(domain=BINARY, low=0.1, high=0.6, **BETA)
    drawn = mechanism.draw_workers(200_000, np.random.default_rng(3))[0] / 2**32
    distribution = stats.beta(2, 3)
    start, end = distribution.cdf([0.1, 0.6])
    assert drawn.min() >= 0.1
    assert drawn.max() <= 0.6
    places = (distribution.cdf(drawn) - start) / (end - start)
    counts = np.histogram(places, bins=64, range=(0, 1))[0]
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_a_beta_distribution_for_a_claim():
    make = TwoLayerRandomizedResponse.from_claimed_epsilon
    for labels, epsilon, shapes in ((2, 1.0, {}), (2, 0.0, {}), (3, 0.5, {"alpha": 4, "beta": 1})):
        domain = Ordinal(range(labels))
        mechanism = make(domain=domain, epsilon=epsilon, distribution="beta", **shapes)
        assert mechanism.claimed_epsilon == pytest.approx(epsilon, abs=1e-4)
        assert mechanism.guarantee().epsilon == pytest.approx(epsilon, abs=1e-4)
        assert Mechanism.from_dict(mechanism.to_dict()) == mechanism
    uniform, usual = (
        make(domain=BINARY, epsilon=1.0),
        make(domain=BINARY, epsilon=1.0, distribution="beta"),
    )
    assert (usual.alpha, usual.beta) == (2, 2)
    assert usual.guarantee(answers=277).epsilon < uniform.guarantee(answers=277).epsilon - 1
    with pytest.raises(
        ParameterError, match="Use a smaller low, a larger alpha, or a larger epsilon"
    ):
        make(domain=BINARY, epsilon=0.0, distribution="beta", alpha=2, beta=5)
    assert "by a beta distribution" in usual.guarantee().assumptions[0]
    assert "alpha" not in repr(uniform)
    assert "alpha=2, beta=2" in repr(usual)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 2, "beta": 2}, 'alpha and beta require distribution="beta"'),
        ({"distribution": "beta", "alpha": 2}, 'distribution="beta" requires alpha and beta'),
        ({"distribution": "beta", "alpha": 0, "beta": 2}, "alpha must be"),
        ({"distribution": "beta", "alpha": 2, "beta": 17}, "beta must be"),
        ({"distribution": "beta", "alpha": 2.5, "beta": 2}, "alpha must be"),
        ({**BETA, "missing": "category"}, 'distribution="beta" requires low and high'),
    ],
)
def test_shapes_that_are_none(options, message):
    with pytest.raises(ParameterError, match=message):
        TwoLayerRandomizedResponse(domain=BINARY, low=0.1, high=0.5, **options)
