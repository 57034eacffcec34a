import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import MatrixFactorization, TwoLayerRandomizedResponse
from quietcrowd.mechanisms.channels.base import TOTAL, Channel, laplace_shift, other_weight_for
from quietcrowd.mechanisms.channels.table import TableChannel, keep_or_replace
from quietcrowd.mechanisms.randomness import system_words, word_source

FALSE_ALARM = 1e-6


@st.composite
def channels(draw):
    answers, reports = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    rows = []
    for _ in range(answers):
        shares = np.array(draw(st.lists(st.integers(1, 1000), min_size=reports, max_size=reports)))
        row = TOTAL // shares.sum() * shares
        row[0] += TOTAL - row.sum()
        rows.append(row)
    return TableChannel(weights=np.array(rows))


@given(channels())
def test_epsilon_is_the_largest_log_ratio_rounded_up(channel):
    with localcontext(prec=50):
        weights = [[int(weight) for weight in row] for row in channel.weights]
        worst = max(
            Fraction(one[report], other[report])
            for one in weights
            for other in weights
            for report in range(channel.reports)
        )
        exact = (Decimal(worst.numerator) / Decimal(worst.denominator)).ln()
        assert Decimal(channel.epsilon) >= exact
        assert channel.epsilon <= math.nextafter(float(exact), math.inf) + 1e-300


@given(channels(), st.data())
def test_a_word_gives_the_report_whose_range_it_lies_in(channel, data):
    answer = data.draw(st.integers(0, channel.answers - 1))
    sums = np.concatenate([[0], np.cumsum(channel.weights[answer])]).astype(object)
    report = data.draw(st.integers(0, channel.reports - 1))
    for word in (int(sums[report]), int(sums[report + 1]) - 1):
        drawn = channel.sample(np.array([answer]), lambda _, word=word: np.array([word], np.uint32))
        assert drawn.tolist() == [report]


def test_impossible_reports_never_occur():
    weights = np.array([[TOTAL // 2, TOTAL // 2, 0], [TOTAL // 4, TOTAL // 4 * 3, 0]])
    channel = TableChannel(weights=weights)
    for word in (0, TOTAL - 1):
        drawn = channel.sample(np.array([0, 1]), lambda n, word=word: np.full(n, word, np.uint32))
        assert (drawn < 2).all()


@pytest.mark.parametrize("labels", [2, 3, 8])
def test_empirical_channel_matches_the_table(labels):
    weights = np.random.default_rng(labels).dirichlet(np.ones(labels), labels)
    table = np.floor(weights * TOTAL).astype(np.int64)
    table[:, 0] += TOTAL - table.sum(axis=1)
    channel = TableChannel(weights=table)
    draws = 400_000
    answers = np.arange(draws) % labels
    reports = channel.sample(answers, word_source(np.random.default_rng(7)))
    for answer in range(labels):
        counts = np.bincount(reports[answers == answer], minlength=labels)
        expected = channel.probabilities[answer] * counts.sum()
        assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


def test_reports_take_the_smallest_dtype():
    for size, dtype in ((255, np.uint8), (256, np.uint16)):
        channel = TableChannel.uninformative(size)
        assert channel.sample(np.zeros(3, int), system_words).dtype == dtype


@given(
    size=st.integers(2, 9),
    share=st.floats(0, 1),
    words=st.lists(st.integers(0, TOTAL - 1), min_size=1, max_size=20),
    data=st.data(),
)
def test_keep_or_replace_is_the_table_without_the_table(size, share, words, data):
    other = max(int(share * (TOTAL // size)), 500)  # below, the table loses more than 16
    answers = np.array([data.draw(st.integers(0, size - 1)) for _ in words])
    drawn = np.array(words, np.uint32)
    channel = TableChannel.randomized_response(size, other)
    expected = channel.sample(answers, lambda _: drawn)
    weights = np.full(len(words), other, np.uint64)
    assert keep_or_replace(answers, size, weights, drawn).tolist() == expected.tolist()


def test_keep_or_replace_at_the_ends():
    words = np.array([0, 1, TOTAL // 2, TOTAL - 1], np.uint32)
    answers = np.array([0, 1, 1, 0])
    never = keep_or_replace(answers, 2, np.zeros(4, np.uint64), words)
    always = keep_or_replace(answers, 2, np.full(4, TOTAL, np.uint64), words)
    assert never.tolist() == [0, 1, 1, 0]
    assert always.tolist() == [1, 0, 0, 1]


def test_randomized_response_is_recognised():
    keep, other = TableChannel.randomized_response(3, TOTAL // 8).keep_and_other
    assert (keep, other) == (0.75, 0.125)
    assert TableChannel.randomized_response(2, TOTAL // 4).keep_and_other == (0.75, 0.25)
    assert TableChannel.uninformative(4).keep_and_other == (0.25, 0.25)
    assert TableChannel.uninformative(3).keep_and_other == (1 / 3, 1 / 3)
    with_null = [[TOTAL // 2, TOTAL // 4, TOTAL // 4], [TOTAL // 4, TOTAL // 2, TOTAL // 4]]
    assert TableChannel(weights=with_null).keep_and_other is None
    assert (
        TableChannel(weights=[[TOTAL // 2] * 2, [TOTAL // 4, TOTAL * 3 // 4]]).keep_and_other
        is None
    )
    assert TableChannel(weights=[[TOTAL // 2] * 2]).keep_and_other is None


def test_uninformative_loses_nothing_at_any_size():
    for size in range(1, 40):
        assert TableChannel.uninformative(size).epsilon == 0.0


@pytest.mark.parametrize(
    "weights",
    [
        [[TOTAL]] * 5000,
        [],
        [TOTAL],
        [[1, 2]],
        [[-1, TOTAL + 1]],
        [[0.5, 0.5]],
        [["a"]],
        [[TOTAL, 0], [0, TOTAL]],
        [[TOTAL - 1, 1], [1, TOTAL - 1]],
        [[2 * TOTAL, -TOTAL]],
        [[2**63, 2**63 + TOTAL]],
    ],
)
def test_bad_tables_are_parameter_errors(weights):
    with pytest.raises(ParameterError):
        TableChannel(weights=weights)


@pytest.mark.parametrize("wrong", [[2**63, 2**63 + TOTAL], [1, 2], [TOTAL // 2, TOTAL // 2 + 1]])
def test_the_row_that_is_wrong_is_named(wrong):
    right = [TOTAL // 2] * 2
    with pytest.raises(ParameterError, match="row 2 must sum to 2\\^32"):
        TableChannel(weights=np.array([right, right, wrong, right], np.uint64))


def test_a_table_has_up_to_4096_columns():
    assert TableChannel(weights=np.full((1, 4096), TOTAL // 4096)).reports == 4096
    weights = [[TOTAL // 4096] * 4095 + [TOTAL // 8192] * 2]
    with pytest.raises(ParameterError, match=r"4096 columns; got shape \(1, 4097\)"):
        TableChannel(weights=weights)


def test_nobody_can_write_to_weights():
    given = np.array([[TOTAL // 2] * 2, [TOTAL // 4, TOTAL // 4 * 3]], np.uint64)
    channels = (
        TableChannel(weights=given),
        TableChannel(weights=given.tolist()),
        TableChannel.randomized_response(3, TOTAL // 8),
        TableChannel.uninformative(3),
    )
    hashes = [hash(channel) for channel in channels]
    given[:] = 0  # a channel holds weights of its own
    for channel in channels:
        with pytest.raises(ValueError, match="read-only"):
            channel.weights[0, 0] = 0
    assert [hash(channel) for channel in channels] == hashes


def test_equal_tables_are_equal():
    one, other = TableChannel.uninformative(3), TableChannel.uninformative(3)
    assert one == other
    assert hash(one) == hash(other)
    assert one != TableChannel.uninformative(4)


@given(st.integers(2, 64), st.floats(0.0, 16.0))
def test_other_weight_errs_towards_more_noise(size, epsilon):
    other = other_weight_for(size, epsilon)
    with localcontext(prec=60):
        ideal = Decimal(TOTAL) / (size - 1 + Decimal(epsilon).exp())
        assert ideal <= other < ideal + 1 + Decimal(10) ** -20


LABELS, NUMBERS = qc.Ordinal(range(4)), qc.Interval(low=0, high=10)
TABLES = {
    "one-layer": qc.RandomizedResponse(domain=LABELS, epsilon=1.0),
    "null": qc.RandomizedResponse(domain=LABELS, epsilon=3.0, missing="category"),
    "never kept": qc.RandomizedResponse(domain=qc.Ordinal(range(2)), flip_probability=0.9),
    "two-layer": TwoLayerRandomizedResponse(domain=LABELS, low=0.1, high=0.6),
}
SHIFTS = {
    "laplace": qc.LaplaceMechanism(domain=NUMBERS, epsilon=2.0, step=1.0),
    "released": qc.LaplaceMechanism(domain=NUMBERS, epsilon=2.0, participation="released"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_gives_the_logarithms_of_its_weights(name):
    distribution = TABLES[name].channel
    answers, reports = np.indices(distribution.weights.shape).reshape(2, -1)
    found = distribution.log_likelihood(reports, answers)
    expected = [math.log(Fraction(int(w), TOTAL)) for w in distribution.weights.reshape(-1)]
    assert found == pytest.approx(expected, rel=1e-15)
    assert np.array_equal(distribution.table[answers, reports], found)
    assert np.exp(distribution.table).sum(axis=1) == pytest.approx(1.0)
    loss = float((distribution.table[:, np.newaxis] - distribution.table).max())
    assert loss == pytest.approx(distribution.epsilon, abs=1e-13)
    assert distribution.shift is None


def test_what_cannot_be_has_no_likelihood():
    half, quarter = TOTAL // 2, TOTAL // 4
    distribution = TableChannel(weights=[[half, half, 0], [quarter, TOTAL - quarter, 0]])
    found = distribution.log_likelihood(np.array([2, 0]), np.array([0, 1]))
    assert found.tolist() == [-np.inf, math.log(0.25)]


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIFTS)
def test_noise_gives_the_distribution_of_what_is_added(name):
    distribution = SHIFTS[name].channel
    assert distribution.probabilities is distribution.table is distribution.keep_and_other is None
    noise, grid = distribution.shift.noise, distribution.shift.grid
    steps = np.arange(-noise.reach, noise.reach + 1)
    masses = np.exp(noise.log_mass(steps))
    assert masses.sum() == pytest.approx(1.0, abs=1e-9)
    assert np.array_equal(masses, masses[::-1])
    assert np.cumsum(masses)[:-1] == pytest.approx(noise.below(steps[1:]), abs=1e-8)
    assert (masses * steps**2).sum() == pytest.approx(noise.variance)
    assert distribution.shift.variance == pytest.approx(noise.variance * grid.step**2)
    half = noise.within(0.5)
    assert masses[abs(steps) <= half].sum() >= 0.5 > masses[abs(steps) < half].sum()
    found = distribution.log_likelihood(steps + grid.middle, np.full(len(steps), grid.middle))
    assert np.array_equal(found, noise.log_mass(steps))
    if distribution.participation is None:
        apart = distribution.log_likelihood(steps, 0) - distribution.log_likelihood(
            steps, grid.steps
        )
        assert abs(apart).max() == pytest.approx(distribution.epsilon, rel=0.1)


def test_sums_of_a_sketch_have_a_distribution_and_predictions_have_none():
    distribution = MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=3).channel
    exact = np.array([[0, 5, -7], [1, 1, 1]])
    sent = exact + np.array([[0, 0, 0], [3, -4, 0]])
    gains = distribution.log_likelihood(sent, exact)
    assert gains[0] - gains[1] == pytest.approx(7 / distribution.noise.scale)
    assert distribution.table is distribution.shift is None


def test_a_channel_that_says_nothing_is_told_of():
    class Silent(Channel):
        epsilon = 1.0

    with pytest.raises(ParameterError, match="Silent defines no distribution of reports"):
        Silent().log_likelihood(np.zeros(1, int), np.zeros(1, int))
    with pytest.raises(ParameterError, match="Silent has no method describe"):
        Silent().describe()
    assert laplace_shift(Silent()) is laplace_shift(None) is None


@pytest.mark.parametrize("table", [[0.5, 0.5], [[0.5, 0.6]], [[1.5, -0.5]]])
def test_what_is_no_table_of_probabilities_is_refused(table):
    with pytest.raises(ParameterError, match="probabilities must be a table of numbers"):
        TableChannel.rounded(table)
