import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.accounting.equal_loss import (
    exact_loss,
    mechanism_within,
    usual_makers,
    usual_total,
)
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import TwoLayerRandomizedResponse

LABELS = qc.Categorical(["no", "yes"])
NUMBERS = qc.Interval(low=0, high=10)
SIZE = {"tasks": 40, "answers": 5}


@pytest.mark.parametrize("per", ["answer", "worker"])
@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        (qc.RandomizedResponse, LABELS),
        (TwoLayerRandomizedResponse, LABELS),
        (qc.LaplaceMechanism, NUMBERS),
    ],
    ids=["one-layer", "two-layer", "laplace"],
)
def test_a_mechanism_loses_what_is_asked_for(kind, domain, per):
    mechanism = mechanism_within(kind.from_claimed_epsilon, domain, 3.0, per, **SIZE)
    assert 0.998 * 3 <= exact_loss(mechanism, per, **SIZE) <= 3 + 1e-6 * (per == "answer")


def test_small_claims_may_have_no_mechanism():
    four = qc.Categorical(["a", "b", "c", "d"])
    maker = TwoLayerRandomizedResponse.from_claimed_epsilon
    assert exact_loss(mechanism_within(maker, four, 5.0, **SIZE), "answer", **SIZE) > 4.99
    with pytest.raises(ParameterError, match="two-layer has no parameters"):
        mechanism_within(maker, LABELS, 1.5, **SIZE)


def test_a_delta_or_no_parameters_are_refused():
    class WithDelta(qc.RandomizedResponse):
        def guarantee(self, *counts, **more):
            return evolve(super().guarantee(*counts, **more), delta=0.05)

    with pytest.raises(ParameterError, match="without delta"):
        mechanism_within(WithDelta, LABELS, 1.0, **SIZE)
    with pytest.raises(ParameterError, match="epsilon must be a finite number above 0"):
        mechanism_within(qc.RandomizedResponse.from_claimed_epsilon, LABELS, 0.0, **SIZE)


@given(
    total=st.floats(1e-3, 100),
    answers=st.integers(1, 300),
    more=st.integers(0, 50),
    domain=st.sampled_from([LABELS, qc.Categorical(list("abcde")), qc.Ordinal([1, 2, 4]), NUMBERS]),
)
def test_all_answers_of_a_person_never_lose_more_than_the_total(total, answers, more, domain):
    [maker] = usual_makers(domain).values()
    counts = {"answers": answers, "tasks": answers + more}
    mechanism = mechanism_within(maker, domain, total, "worker", **counts)
    loss = mechanism.guarantee(**counts).total_epsilon
    assert loss <= total
    assert loss >= 0.998 * min(total, 16 * answers)


@pytest.mark.parametrize(
    ("kind", "domain"),
    [(TwoLayerRandomizedResponse, LABELS), (qc.LaplaceMechanism, NUMBERS)],
    ids=["one draw for all answers", "every question is reported"],
)
def test_a_total_is_not_merely_divided_by_the_number_of_answers(kind, domain):
    counts = {"answers": 5, "tasks": 40}
    mechanism = mechanism_within(kind.from_claimed_epsilon, domain, 3.0, "worker", **counts)
    assert 2.99 < mechanism.guarantee(**counts).total_epsilon <= 3
    assert abs(mechanism.guarantee(**counts).epsilon - 3 / 5) > 0.1


def test_one_or_two_answers_have_a_smaller_default():
    assert [usual_total(answers) for answers in (1, 2, 3, 200)] == [2.2, 4.4, 5.0, 5.0]
