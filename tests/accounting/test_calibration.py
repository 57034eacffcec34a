"""Parameters for a target reach it, and the next coarser ones do not."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.accounting.calibration import tasks_within, two_layer_bounds
from quietcrowd.accounting.ledger import PrivacyLedger
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.privacy.two_layer.flips import cell_epsilon

BINARY = qc.Categorical(["no", "yes"])


@pytest.mark.parametrize(
    ("epsilon", "lows"),
    [
        (1.0, [0.038, 0.079, 0.109, 0.149, 0.199, 0.241, 0.262]),
        (2.0, [0.0, 0.0, 0.0, 0.0, 0.032, 0.085, 0.110]),
    ],
)
def test_two_layer_bounds_are_those_of_the_table(epsilon, lows):
    found = [two_layer_bounds(epsilon, n, labels=2)[0] for n in (1, 2, 3, 5, 10, 26, 100)]
    assert found == pytest.approx(lows, abs=6e-4)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("labels", [3, 2, 10])
@pytest.mark.parametrize("answers", [7, 1, 277])
@pytest.mark.parametrize("epsilon", [1.0, 0.2, 4.0])
def test_two_layer_bounds_reach_the_target_and_no_smaller_low_does(labels, answers, epsilon):
    low, high = two_layer_bounds(epsilon, answers, labels=labels)
    mechanism = TwoLayerRandomizedResponse(domain=qc.Ordinal(range(labels)), low=low, high=high)
    first, last = mechanism.worker_distribution.bounds
    assert (first, last) == (round(low * 2**32 / (labels - 1)), round(high * 2**32 / (labels - 1)))
    assert mechanism.guarantee(answers=answers).epsilon <= epsilon
    if first > 1:
        assert cell_epsilon(answers, labels=labels, low=first - 2, high=last) > epsilon


@pytest.mark.nightly
@pytest.mark.slow
def test_bounds_of_a_beta_distribution_reach_the_target():
    shapes = {"alpha": 2, "beta": 3}
    low, high = two_layer_bounds(1.0, 26, labels=3, **shapes)
    domain = qc.Ordinal(range(3))
    made = TwoLayerRandomizedResponse(
        domain=domain, low=low, high=high, distribution="beta", **shapes
    )
    assert 0.9999 < made.guarantee(answers=26).epsilon <= 1.0
    rising = two_layer_bounds(1.0, 26, labels=3, alpha=9, beta=1)[0]  # few draw nearly `low`
    assert rising < two_layer_bounds(1.0, 26, labels=3)[0]
    with pytest.raises(ParameterError, match="alpha must be"):
        two_layer_bounds(1.0, 5, labels=2, alpha=0)


def test_a_high_of_ones_own():
    low, high = two_layer_bounds(1.0, 5, labels=2, high=0.4)
    assert high == pytest.approx(0.4)
    assert low > two_layer_bounds(1.0, 5, labels=2)[0]
    with pytest.raises(ParameterError, match=r"Use a high above 0\.268941"):
        two_layer_bounds(1.0, 5, labels=2, high=0.2)
    with pytest.raises(ParameterError, match=r"high must be at most .* = 0\.5 for 2 labels"):
        two_layer_bounds(1.0, 5, labels=2, high=0.6)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(
    "mechanism",
    [
        qc.RandomizedResponse(domain=qc.Ordinal(range(4)), epsilon=0.5),
        TwoLayerRandomizedResponse(domain=BINARY, low=0.1, high=0.5),
        qc.LaplaceMechanism(domain=qc.Ordinal(range(10)), epsilon=0.5),
    ],
    ids=lambda mechanism: getattr(mechanism, "name", None),
)
def test_tasks_within_a_budget_are_the_most(mechanism, delta):
    tasks = tasks_within(mechanism, 6.0, delta)
    ledger = PrivacyLedger()
    for count, exceeds in ((tasks, False), (tasks + 1, True)):
        spent = ledger.charge("ann", mechanism, answers=count, tasks=count).spent("ann", delta)
        assert (spent.total_epsilon > 6.0) is exceeds


def test_no_task_or_all_of_them():
    mechanism = qc.RandomizedResponse(domain=BINARY, epsilon=1.0)
    assert tasks_within(mechanism, 0.5) == 0
    assert tasks_within(qc.RandomizedResponse(domain=BINARY, epsilon=0.0), 0.5) == 100_000


def test_messages():
    with pytest.raises(ParameterError, match="delta must be at least 0 and below 1"):
        tasks_within(qc.RandomizedResponse(domain=BINARY, epsilon=1.0), 1.0, delta=1.0)
    with pytest.raises(ParameterError, match="labels must be a whole number, at least 2"):
        two_layer_bounds(1.0, 5, labels=1)


JUNK = (
    st.none()
    | st.booleans()
    | st.text()
    | st.lists(st.integers())
    | st.integers()
    | st.sampled_from([10**400, -(10**400), Fraction(1, 3), Fraction(1, 10**400)])
    | st.floats()
    | st.just(np.int8(100))
)


@pytest.mark.nightly
@pytest.mark.slow
@given(
    epsilon=JUNK | st.floats(0, 20),
    answers=JUNK | st.integers(1, 50),
    labels=JUNK | st.integers(2, 9),
    high=JUNK | st.floats(0, 0.5),
)
def test_junk_gives_bounds_or_a_parameter_error(epsilon, answers, labels, high):
    try:
        low, top = two_layer_bounds(epsilon, answers, labels=labels, high=high)
    except ParameterError:
        return
    assert 0 <= low <= top <= 1


@pytest.mark.parametrize("mechanism", [None, "one-layer", qc.RandomizedResponse])
def test_tasks_are_those_of_a_mechanism(mechanism):
    with pytest.raises(ParameterError, match="mechanism must be a Mechanism"):
        tasks_within(mechanism, 1.0)


@pytest.mark.parametrize("number", [math.inf, math.nan, 10**400, None, "1"])
def test_budgets_are_finite_numbers(number):
    mechanism = qc.RandomizedResponse(domain=BINARY, epsilon=1.0)
    for options in ({"budget": number}, {"budget": 1.0, "delta": number}):
        with pytest.raises(ParameterError, match="must be"):
            tasks_within(mechanism, **options)


def test_no_loss_is_too_large():
    with pytest.raises(ParameterError, match="Use a high above 0, or a larger"):
        two_layer_bounds(1000.0, 5, labels=2, high=0.0)
    with pytest.raises(ParameterError, match="epsilon must be a finite number above 0"):
        two_layer_bounds(0.0, 5, labels=2)


def test_three_tasks_of_a_tenth_fit_into_three_tenths():
    mechanism = qc.LaplaceMechanism(domain=qc.Ordinal(range(5)), epsilon=0.1, fill=None)
    assert tasks_within(mechanism, 0.3) == 3
    assert tasks_within(mechanism, math.nextafter(0.3, 0)) == 2
