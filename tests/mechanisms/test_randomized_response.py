import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quietcrowd.answers import Answers
from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Categorical, Interval, Ordinal
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism, RandomizedResponse

FALSE_ALARM = 1e-8
YES_NO = Categorical(["no", "yes"])


@given(st.integers(2, 64), st.floats(0.01, 10.0))
def test_exact_loss_is_at_most_what_was_asked_for_and_near_it(labels, epsilon):
    exact = RandomizedResponse(domain=Ordinal(range(labels)), epsilon=epsilon).guarantee().epsilon
    assert epsilon - 1e-4 <= exact <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "flip"),
    # p = 1 / (1 + exp(epsilon)) at two labels
    [(1.0, 0.26894), (0.9, 0.28905), (0.5, 0.37754), (0.1, 0.47502), (0.001, 0.49975), (0.0, 0.5)],
)
def test_flip_probabilities_of_theorem_6_2(epsilon, flip):
    mechanism = RandomizedResponse(domain=YES_NO, epsilon=epsilon)
    assert mechanism.channel.probabilities[0, 1] == pytest.approx(flip, abs=5e-6)
    back = RandomizedResponse(domain=YES_NO, flip_probability=flip)
    assert back.claimed_epsilon == pytest.approx(epsilon, abs=5e-5)
    assert back.guarantee().epsilon == pytest.approx(epsilon, abs=5e-5)


@given(st.integers(2, 64))
def test_epsilon_0_tells_nothing(labels):
    mechanism = RandomizedResponse(domain=Ordinal(range(labels)), epsilon=0.0)
    assert mechanism.guarantee(answers=50).total_epsilon == 0.0


def test_flipping_more_often_than_not_loses_too():
    mechanism = RandomizedResponse(domain=YES_NO, flip_probability=0.9)
    assert mechanism.claimed_epsilon == pytest.approx(-math.log(9))
    assert mechanism.guarantee().epsilon == pytest.approx(math.log(9), abs=1e-8)
    assert not mechanism.guarantee().claim_holds


@given(st.integers(2, 30), st.floats(0.001, 0.999))
def test_rounding_of_a_flip_probability_never_loses_more(labels, flip):
    exact = abs(math.log((1 - flip) * (labels - 1) / flip))
    mechanism = RandomizedResponse(domain=Ordinal(range(labels)), flip_probability=flip)
    assert mechanism.guarantee().epsilon <= exact + 1e-12


def test_a_worker_loses_the_sum_of_the_answers():
    guarantee = RandomizedResponse(domain=YES_NO, epsilon=0.5).guarantee(answers=20, tasks=100)
    assert guarantee.total_epsilon == pytest.approx(20 * guarantee.epsilon)
    assert guarantee.delta == 0
    assert not guarantee.participation_protected
    assert guarantee.claim_holds


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_empirical_channel(labels):
    crowd = make_crowd(
        tasks=20_000, workers=50, answers_per_task=10, labels=range(labels), random_state=labels
    )
    mechanism = RandomizedResponse(domain=crowd.answers.domain, epsilon=1.2)
    reports = mechanism.simulate(crowd.answers, random_state=labels)
    for answer in range(labels):
        counts = np.bincount(reports.table.values[crowd.answers.values == answer], minlength=labels)
        expected = mechanism.channel.probabilities[answer] * counts.sum()
        assert stats.chisquare(counts, expected).pvalue > FALSE_ALARM


def test_real_noise_differs_each_time_and_has_the_same_distribution():
    crowd = make_crowd(tasks=5_000, workers=50, random_state=3)
    mechanism = RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    one, other = (mechanism.randomize(crowd.answers).table.values for _ in range(2))
    assert not np.array_equal(one, other)
    kept = int((one == crowd.answers.values).sum())
    test = stats.binomtest(kept, len(one), mechanism.channel.probabilities[0, 0])
    assert test.pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"epsilon": 1.0, "flip_probability": 0.2},
        {"epsilon": -0.1},
        {"epsilon": 16.5},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": "1"},
        {"epsilon": True},
        {"flip_probability": 0.0},
        {"flip_probability": 1.0},
        {"flip_probability": 1.2},
        {"flip_probability": -0.1},
        {"flip_probability": 1e-9},
    ],
)
def test_bad_parameters(options):
    with pytest.raises(ParameterError):
        RandomizedResponse(domain=YES_NO, **options)


@pytest.mark.parametrize(
    "domain", [Categorical(["only"]), Interval(low=0, high=1), Ordinal(range(5000)), "yes"]
)
def test_bad_domains(domain):
    with pytest.raises(ParameterError):
        RandomizedResponse(domain=domain, epsilon=1.0)


def test_answers_in_another_domain_and_a_bad_generator():
    crowd = make_crowd(tasks=3, workers=10)
    mechanism = RandomizedResponse(domain=Categorical(["yes", "no"]), epsilon=1.0)
    with pytest.raises(AnswerError, match=r"the answers are in Categorical\(\['no', 'yes'\]\)"):
        mechanism.randomize(crowd.answers)
    fitting = RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    for wrong in (None, -1, 0.5, "7", np.random.RandomState(1)):
        with pytest.raises(ParameterError) as raised:
            fitting.simulate(crowd.answers, random_state=wrong)
        assert (raised.value.code, raised.value.fields["name"]) == (
            "parameters.not-whole",
            "random_state",
        )


def test_a_frame_is_randomized_and_a_seed_is_a_generator():
    crowd = make_crowd(tasks=3, workers=10)
    mechanism = RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    frame = crowd.answers.to_frame()
    assert len(mechanism.randomize(frame).table) == len(crowd.answers)
    one = mechanism.simulate(frame, random_state=7)
    other = mechanism.simulate(crowd.answers, random_state=7)
    assert one.simulated
    assert one.table.values.tolist() == other.table.values.tolist()


@pytest.mark.parametrize(("answers", "tasks"), [(0, None), (-1, None), (1.5, None), (3, 2)])
def test_bad_counts(answers, tasks):
    with pytest.raises(ParameterError):
        RandomizedResponse(domain=YES_NO, epsilon=1.0).guarantee(answers=answers, tasks=tasks)


def test_descriptions_round_trip_and_are_checked():
    for mechanism in (
        RandomizedResponse(domain=YES_NO, epsilon=0.1),
        RandomizedResponse(domain=Ordinal([1, 2, 3]), flip_probability=1 / 3),
    ):
        data = mechanism.to_dict()
        assert Mechanism.from_dict(data) == mechanism
        for change in (
            {"version": 2},
            {"mechanism": "three-layer"},
            {"other_weight": data["other_weight"] + 1},
            {"epsilon": "much"},
            {"domain": {"kind": "tree"}},
        ):
            with pytest.raises(FormatError):
                Mechanism.from_dict(data | change)
        for key in data:
            with pytest.raises(FormatError):
                Mechanism.from_dict({name: data[name] for name in data if name != key})


def test_memory_of_reports_is_that_of_labels():
    crowd = make_crowd(tasks=100, workers=20)
    reports = RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0).randomize(crowd.answers)
    assert reports.table.values.dtype == np.uint8
    assert isinstance(reports.table, Answers)
