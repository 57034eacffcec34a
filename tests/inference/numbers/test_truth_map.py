"""The map from the apparent numbers to the truths."""

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import quietcrowd as qc
from quietcrowd.datasets import make_crowd
from quietcrowd.inference.loop import run_loop
from quietcrowd.inference.numbers.truth_map import (
    COST,
    LEVELS,
    OMEGAS,
    SCALE_SPREAD,
    SHIFT_SHARE,
    STATISTICS,
    TruthMap,
    compare,
    learn_map,
)
from quietcrowd.inference.reading import Observations

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")

UNIT = 2.0**50
SIZE = 0.01
FIRST = TruthMap.first("learn", 1.0)
CROWD = make_crowd(kind="sensors", tasks=60, workers=30, share=0.5, random_state=1)


def test_with_known_truths_an_uncertain_size_widens_the_prior():
    nothing = compare(np.array([[0.5, 1e9]]), np.array([0.5]), UNIT) / UNIT  # too uncertain to tell
    found = learn_map(FIRST, nothing, SIZE, unsure=1.0).summary(1.0)
    sizes = SIZE * np.exp(stats.norm.ppf((np.arange(1000) + 0.5) / 1000))
    below = [stats.invgamma.cdf(end**2, 3, scale=sizes).mean() for end in (found.low, found.high)]
    np.testing.assert_allclose(below, [0.05, 0.95], atol=0.01)
    none = np.zeros((len(OMEGAS), STATISTICS))
    np.testing.assert_array_equal(
        learn_map(FIRST, none, SIZE, unsure=1.0).shares, learn_map(FIRST, none, SIZE).shares
    )


def learned(apparent, variance, known, size=SIZE):
    pairs = np.stack([apparent, np.broadcast_to(variance, apparent.shape)], axis=1)
    return learn_map(FIRST, compare(pairs, known, UNIT) / UNIT, size)


def noisy(epsilon=8.0):
    mechanism = qc.LaplaceMechanism(domain=CROWD.answers.domain, epsilon=epsilon, fill=None)
    return mechanism.simulate(CROWD.answers, random_state=2)


def gold(tasks=20, shift=0.0):
    rows = zip(*(CROWD.truths.column(name).to_pylist() for name in ("task", "label")), strict=True)
    return {task: label + shift for task, label in list(rows)[:tasks]}


def fit(data, shared_errors="learn", **given):
    return qc.NoiseAware(shared_errors=shared_errors, max_iter=6).fit(data, **given)


def test_without_known_truths_the_variance_is_half_of_an_answers():
    found = learn_map(FIRST, np.zeros((len(OMEGAS), STATISTICS)), SIZE)
    assert found.variance == pytest.approx(SIZE / 2, rel=0.02)
    assert found.line == (0.0, 1.0)
    low, high = (found.summary(2.0).low, found.summary(2.0).high)
    exact = np.sqrt(stats.invgamma(3, scale=SIZE).ppf([0.05, 0.95])) * 2.0
    np.testing.assert_allclose([low, high], exact, rtol=0.05)


def test_the_prior_is_worth_four_known_truths():
    rng = np.random.default_rng(1)
    apparent = rng.uniform(0.3, 0.7, 30)
    errors = rng.normal(0.0, 0.03, 30)
    errors -= np.polyval(np.polyfit(apparent, errors, 1), apparent)  # no shift, and no tilt
    found = learned(apparent, 1e-5, apparent + errors)
    expected = (4 * SIZE / 2 + np.sum(errors**2)) / (4 + 30)
    assert found.variance == pytest.approx(expected, rel=0.03)
    assert found.known_truths == 30


def test_shift_and_tilt_are_the_posterior_that_is_written_out():
    """At one omega, a regression with a normal prior, weighed by its evidence."""
    rng = np.random.default_rng(2)
    apparent, variance = rng.uniform(0.1, 0.9, 25), rng.uniform(1e-4, 1e-3, 25)
    known = 0.05 + 1.1 * apparent + rng.normal(0.0, 0.02, 25)
    sums = compare(np.stack([apparent, variance], axis=1), known, UNIT) / UNIT
    found = learn_map(FIRST, sums, SIZE)
    weight = 1.0 / (variance + OMEGAS[-1] ** 2)
    assert found.centre == pytest.approx(np.sum(weight * apparent) / np.sum(weight))
    design = np.stack([np.ones(25), apparent - found.centre], axis=1)
    prior = np.diag([SHIFT_SHARE * SIZE, SCALE_SPREAD**2])
    log_evidence = np.empty((2, len(OMEGAS)))
    means = np.empty((len(OMEGAS), 2))
    for row, omega in enumerate(OMEGAS):
        noise = np.diag(variance + omega**2)
        total = noise + design @ prior @ design.T
        errors = known.clip(0, 1) - apparent
        ratio = stats.invgamma(3, scale=SIZE).logpdf(omega**2) + 2 * np.log(omega)
        log_evidence[0, row] = ratio + stats.multivariate_normal(cov=noise).logpdf(errors)
        log_evidence[1, row] = ratio + stats.multivariate_normal(cov=total).logpdf(errors) - COST
        means[row] = prior @ design.T @ np.linalg.solve(total, errors)
    shares = np.exp(log_evidence - log_evidence.max())
    shares /= shares.sum()
    np.testing.assert_allclose(found.shares, shares.sum(axis=0), atol=1e-5)
    np.testing.assert_allclose(found.means, shares[1] @ means, atol=1e-6)
    assert shares[1].sum() > 0.99


def test_known_truths_that_agree_leave_the_line():
    rng = np.random.default_rng(3)
    apparent = rng.uniform(0.2, 0.8, 40)
    found = learned(apparent, 1e-4, apparent + rng.normal(0.0, 0.1, 40))
    assert abs(found.means[0]) < 0.01
    assert found.line[1] == pytest.approx(1.0, abs=0.05)


def test_a_number_or_nothing_is_never_learned_from_known_truths():
    sums = compare(np.full((30, 2), 0.3), np.full(30, 0.9), UNIT) / UNIT
    for choice in (0.0, 0.2):
        first = TruthMap.first(choice, 2.0)
        assert learn_map(first, sums, SIZE) is first
        assert first.variance == (choice / 2.0) ** 2
    assert TruthMap.first(0.0, 2.0).summary(2.0) is None
    shared = TruthMap.first(0.2, 2.0).summary(2.0)
    assert (shared.size, shared.low, shared.high) == pytest.approx((0.2, 0.2, 0.2))


def test_quantiles_of_a_normal_posterior_are_those_of_the_sum():
    first = TruthMap.first(0.06, 1.0)
    apparent = 0.5 + 0.08 * stats.norm.ppf(LEVELS)
    found = first.quantiles(apparent[np.newaxis])[0]
    np.testing.assert_allclose(found, 0.5 + 0.1 * stats.norm.ppf(LEVELS), rtol=1e-9)


def test_quantiles_of_a_learned_error_are_those_of_students_distribution():
    found = learn_map(FIRST, np.zeros((len(OMEGAS), STATISTICS)), 1e-4)
    quantiles = found.quantiles(np.full((1, 5), 0.5))[0]
    student = 0.5 + stats.t(6).ppf(LEVELS) * np.sqrt(1e-4 / 3.0)
    np.testing.assert_allclose(quantiles, student, atol=2e-4)


@given(
    middle=st.floats(0.0, 1.0),
    low=st.floats(0.0, 0.5),
    high=st.floats(0.0, 0.5),
    size=st.floats(1e-6, 0.3),
)
def test_intervals_only_widen_and_reach_an_end_that_they_touched(middle, low, high, size):
    found = learn_map(FIRST, np.zeros((len(OMEGAS), STATISTICS)), size)
    apparent = np.clip(middle + np.array([-low, -low / 2, 0.0, high / 2, high]), 0.0, 1.0)
    quantiles = found.quantiles(apparent[np.newaxis])[0]
    assert (np.diff(quantiles) >= 0).all()
    assert quantiles[2] == apparent[2]
    assert (quantiles[:2] <= apparent[:2]).all()
    assert (quantiles[3:] >= apparent[3:]).all()
    assert quantiles[0] == 0.0 or apparent[0] > 0.0
    assert quantiles[4] == 1.0 or apparent[4] < 1.0


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_sums_over_parts_of_the_known_truths_add_up(parts, seed):
    rng = np.random.default_rng(seed)
    pairs, known = rng.uniform(1e-5, 1.0, (24, 2)), rng.uniform(-0.5, 1.5, 24)
    whole = compare(pairs, known, UNIT)
    split = [
        compare(*part, UNIT)
        for part in zip(np.array_split(pairs, parts), np.array_split(known, parts), strict=True)
    ]
    np.testing.assert_array_equal(np.sum(split, axis=0), whole)


def test_the_variance_of_a_truth_is_that_of_its_distribution():
    rng = np.random.default_rng(4)
    apparent = rng.uniform(0.2, 0.8, 12)
    found = learned(apparent, 1e-4, apparent + 0.1)
    truth = found.line[0] + found.line[1] * 0.7
    apart = 0.7 - found.centre
    (shift, tilt), mixed = found.covariance.diagonal(), found.covariance[0, 1]
    expected = (found.line[1] * 0.03) ** 2 + found.variance
    expected += shift + 2 * mixed * apart + tilt * apart**2
    error = found.standard_error(np.array([0.03]), np.array([truth]))
    assert error[0] ** 2 == pytest.approx(expected)


def test_false_changes_nothing_but_the_map():
    reports = noisy()
    apart, shared = (fit(reports, choice, gold=gold()) for choice in (False, 1.5))
    np.testing.assert_array_equal(apart.truths["truth"], shared.truths["truth"])
    np.testing.assert_array_equal(apart.state.beliefs, shared.state.beliefs)
    assert apart.shared_errors is None
    assert apart.history == shared.history
    unknown = apart.truths["standard_error"] > 0
    expected = np.sqrt(apart.truths["standard_error"] ** 2 + 1.5**2)[unknown]
    np.testing.assert_allclose(shared.truths["standard_error"][unknown], expected)
    assert (shared.truths["standard_error"][~unknown] == 0).all()
    assert "independently" in apart.notes[-1]
    assert "1.5" in shared.notes[-1]


def test_without_known_truths_the_truths_are_the_apparent_ones():
    reports = noisy()
    apart, shared = fit(reports, False), fit(reports)
    np.testing.assert_array_equal(apart.truths["truth"], shared.truths["truth"])
    assert (shared.truths["standard_error"] > apart.truths["standard_error"]).all()
    assert shared.shared_errors.known_truths == 0
    assert "known truths (gold) can" in shared.notes[-1]
    frame = shared.posterior
    middle = frame[frame["level"] == 0.5].set_index("task")["quantile"]
    np.testing.assert_allclose(middle, shared.truths.set_index("task")["truth"], atol=1e-9)


def test_known_truths_move_the_others():
    moved = fit(CROWD.answers, gold=gold(shift=1.0))
    still = fit(CROWD.answers, gold=gold())
    others = moved.truths["standard_error"] > 0
    differences = (moved.truths["truth"] - still.truths["truth"])[others]
    assert 0.3 < differences.mean() < 1.1
    assert moved.shared_errors.known_truths == 20
    assert "20 known truths" in moved.notes[-1]
    assert still.shared_errors.high < fit(CROWD.answers).shared_errors.high


@pytest.mark.parametrize("data", [noisy, lambda: CROWD.answers], ids=["noise", "plain"])
def test_neither_threads_nor_partitions_change_a_bit_of_the_map(data):
    method = qc.NoiseAware(max_iter=5)
    model, partition = method.prepare(Observations.read(data(), method), gold(shift=0.5))[:2]
    whole = run_loop(model, [partition], n_jobs=1)
    split = run_loop(model, partition.split(7), n_jobs=2)
    for name in ("shares", "means", "covariance"):
        one, other = (getattr(found.state.truth_map, name) for found in (whole, split))
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(whole.estimates.standard_error, split.estimates.standard_error)


def test_an_extension_keeps_what_earlier_known_truths_say():
    frame = CROWD.answers.to_frame()
    new = frame["task"].astype(int) >= 50
    method = qc.NoiseAware(max_iter=6)
    first = method.fit(frame[~new], gold=gold(shift=1.0), non_private=True)
    more = method.extend(first, frame[new], non_private=True)
    assert more.shared_errors.known_truths == 20
    np.testing.assert_allclose(more.state.truth_map.means, first.state.truth_map.means, atol=0.01)


def test_a_further_report_lowers_only_what_is_not_shared():
    estimate = fit(noisy(), 1.5)
    further = estimate.model.further_report(estimate.state, None)
    apparent = estimate.model.beliefs(estimate.partition, estimate.state)
    sizes = np.array([0, 1, 10**9])
    errors = further.errors(apparent, sizes)
    half = np.sqrt(np.pi / 2)
    np.testing.assert_allclose(errors[:, 0] * half, np.hypot(apparent, 1.5))
    np.testing.assert_allclose(errors[:, 2] * half, 1.5, rtol=1e-3)


def test_a_start_with_another_choice_ends_with_its_own_map():
    reports = noisy()
    again = fit(reports, False, init=fit(reports))
    assert again.state.truth_map.changes_nothing
    moved = evolve(fit(reports, 0.5).state.truth_map, means=np.array([0.1, -0.5]))
    assert moved.line == (0.1 + 0.25, 0.5)
