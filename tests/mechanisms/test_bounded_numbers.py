"""Piecewise, Duchi's and the hybrid mechanism: what a device does with their distribution."""

import json

import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.answers import Answers
from quietcrowd.exceptions import AnswerError, FormatError, NoiseIgnoredWarning, ParameterError
from quietcrowd.inference import MOON
from quietcrowd.mechanisms import DuchiMechanism, HybridMechanism, Mechanism
from quietcrowd.mechanisms.randomness import Secret

KINDS = {kind.name: kind for kind in (qc.PiecewiseMechanism, DuchiMechanism, HybridMechanism)}
DEGREES = qc.Interval(low=-12.3, high=41.7)

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def one_task(domain, labels):
    frame = pd.DataFrame({"task": "t", "worker": range(len(labels)), "label": labels})
    return Answers.from_frame(frame, domain)


@every_kind
def test_each_answer_takes_one_word_and_gives_its_report(kind):
    mechanism = kind(domain=DEGREES, epsilon=1.0)
    answers = one_task(DEGREES, np.linspace(-12.3, 41.7, 500))
    asked = []

    def words(count):
        asked.append(count)
        return np.random.default_rng(7).integers(0, 2**32, count, dtype=np.uint32)

    reports = mechanism.reports_of_words(answers, words)
    assert asked == [500], "how many words are drawn tells nothing of the answers"
    places = mechanism.grid.places(answers.canonical.values)
    expected = mechanism.channel.distribution.drawn(places, words(500))
    np.testing.assert_array_equal(reports.table.values, expected)


@every_kind
def test_reports_are_the_answer_in_the_mean(kind):
    """Within six standard errors: by chance that fails once in 10^8 runs."""
    mechanism = kind(domain=DEGREES, epsilon=3.0)
    for answer in (-12.3, 3.0, 41.7):
        reports = mechanism.randomize(one_task(DEGREES, np.full(20_000, answer)))
        sent = mechanism.report_domain.numbers(reports.table.values)
        place = mechanism.grid.place(answer)
        number, spread = (
            mechanism.grid.number(place),
            mechanism.channel.distribution.variance(place) ** 0.5,
        )
        assert abs(sent.mean() - number) < 6 * spread / 20_000**0.5
        assert mechanism.report_domain.origin <= sent.min() <= sent.max()


@every_kind
def test_what_is_stated_is_what_integers_give(kind):
    mechanism = kind(domain=qc.Ordinal(range(10)), epsilon=1.5)
    one, many = mechanism.guarantee(), mechanism.guarantee(answers=40)
    assert one.epsilon == mechanism.channel.epsilon <= 1.5 == one.claimed_epsilon
    assert many.total_epsilon == pytest.approx(40 * one.epsilon)
    assert many.total_epsilon >= 40 * one.epsilon
    assert not many.participation_protected
    assert not many.delta


def test_many_answers_lose_less_at_a_delta_than_coins_of_the_same_loss():
    """Reports of the piecewise mechanism outside of both windows tell nothing of two answers."""
    numbers = qc.Ordinal(range(10))
    window = qc.PiecewiseMechanism(domain=numbers, epsilon=1.0).tail(1e-6, answers=50)
    coins = DuchiMechanism(domain=numbers, epsilon=1.0).tail(1e-6, answers=50)
    assert window.total_epsilon < 0.93 * coins.total_epsilon
    assert coins.total_epsilon < 0.97 * 50


@every_kind
def test_a_memo_gives_a_report_of_task_and_answer_alone(kind):
    mechanism = kind(domain=DEGREES, epsilon=1.0)
    secret = Secret(key=bytes(32), context="here")
    frame = pd.DataFrame({"task": ["a", "b", "c"], "worker": "w", "label": [1.0, 2.0, 3.0]})
    answers = Answers.from_frame(frame, DEGREES)
    once, again = (mechanism.fixed_reports(answers, secret).table.values for _ in range(2))
    np.testing.assert_array_equal(once, again)
    changed = Answers.from_frame(frame.assign(label=[1.0, 9.0, 3.0]), DEGREES)
    other = mechanism.fixed_reports(changed, secret).table.values
    assert once[[0, 2]].tolist() == other[[0, 2]].tolist()


@every_kind
@pytest.mark.parametrize("epsilon", [0.0, -1.0, 16.5, float("nan"), float("inf")])
def test_an_epsilon_out_of_range_is_refused(kind, epsilon):
    with pytest.raises(ParameterError, match="epsilon must be above 0 and at most 16"):
        kind(domain=DEGREES, epsilon=epsilon)


@every_kind
def test_what_makes_no_distribution_is_refused(kind):
    with pytest.raises(ParameterError, match="needs numbers"):
        kind(domain=qc.Categorical(["no", "yes"]), epsilon=1.0)
    with pytest.raises(ParameterError, match="too small for"):
        kind(domain=DEGREES, epsilon=1e-9)
    with pytest.raises(ParameterError, match="Use a larger step"):
        kind(domain=DEGREES, epsilon=1.0, step=2.0**-12)
    with pytest.raises(ParameterError, match="power of two"):
        kind(domain=DEGREES, epsilon=1.0, step=0.3)


@every_kind
def test_a_description_with_other_integers_is_refused(kind):
    described = kind(domain=DEGREES, epsilon=1.0).to_dict()
    assert Mechanism.from_dict(json.loads(json.dumps(described))).to_dict() == described
    with pytest.raises(FormatError, match="least should be"):
        Mechanism.from_dict({**described, "least": described["least"] + 1})


def test_the_hybrid_mechanism_is_duchis_while_a_coin_does_not_help():
    below = HybridMechanism(domain=DEGREES, epsilon=0.6)
    assert (
        below.channel.distribution
        == DuchiMechanism(domain=DEGREES, epsilon=0.6).channel.distribution
    )
    for epsilon in (0.62, 1.0, 3.0, 6.0):
        found = [kind(domain=DEGREES, epsilon=epsilon).channel.variance for kind in KINDS.values()]
        assert found[2] < min(found[:2])


def test_a_deviation_is_told_of_a_domain_whose_squares_no_float_holds():
    tiny = qc.PiecewiseMechanism(
        domain=qc.Interval(low=0, high=2e-200), epsilon=1.0
    ).channel.distribution
    usual = qc.PiecewiseMechanism(
        domain=qc.Interval(low=0, high=2), epsilon=1.0
    ).channel.distribution
    assert tiny.most_deviation == pytest.approx(1e-200 * usual.most_deviation, rel=1e-3)
    assert usual.most_deviation**2 == pytest.approx(usual.most_variance)


def test_the_likelihood_is_that_of_the_weights():
    channel = qc.PiecewiseMechanism(domain=qc.Ordinal(range(3)), epsilon=2.0).channel
    distribution = channel.distribution
    logs = channel.log_likelihood(np.arange(distribution.reports), np.array(5))
    np.testing.assert_allclose(
        np.exp(logs) * 2.0**32, distribution.weights(np.arange(distribution.reports), 5)
    )
    assert channel.log_likelihood(np.array([distribution.reports]), np.array([0]))[0] == -np.inf


@every_kind
def test_methods_take_the_reports_or_say_which_one_does(kind):
    crowd = qc.make_crowd(
        kind="sparse", tasks=40, workers=25, sparsity=0.5, truths="uniform", random_state=1
    )
    mechanism = kind(domain=crowd.answers.domain, epsilon=4.0)
    reports = mechanism.randomize(crowd.answers)
    aware = qc.NoiseAware().fit(reports)
    assert qc.mean_absolute_error(aware, crowd.truths) < 1.8
    with pytest.warns(NoiseIgnoredWarning, match="ignores the noise"):
        assert qc.mean_absolute_error(qc.Mean().fit(reports), crowd.truths) < 2.2
    with pytest.raises(AnswerError, match="Use NoiseAware"):
        MOON().fit(reports)


@pytest.mark.parametrize(
    "domain", [qc.Interval(low=-1, high=1), qc.Ordinal([1, 2, 100]), qc.Interval(low=0, high=1.99)]
)
def test_the_coin_of_the_hybrid_mechanism_pays_up_to_8(domain):
    for epsilon in (0.1, 0.609, 0.61, 0.7, 1.0, 1.29, 2.0, 3.5, 5.0, 6.5, 8.0):
        hybrid, *others = (
            kind(domain=domain, epsilon=epsilon).channel.variance
            for kind in (HybridMechanism, qc.PiecewiseMechanism, DuchiMechanism)
        )
        assert hybrid <= min(others) * (1 + 1e-6), epsilon
