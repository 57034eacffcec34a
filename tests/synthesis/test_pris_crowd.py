import math

import numpy as np
import pandas as pd
import pytest
from tests.synthesis.crowds import claims_of, normal_claims

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical, Interval, Ordinal
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.synthesis.pris_crowd import PrisCrowd


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon0": 0}, "epsilon0 must be a finite number above 0"),
        ({"bandwidth": 0}, "bandwidth must be a number above 0"),
        ({"bandwidth": math.nan}, "bandwidth must be a number above 0"),
        ({"bandwidth": "scott"}, "bandwidth must be a number above 0"),
        ({"bandwidth": "silverman"}, "estimated from the claims, which voids the guarantee"),
        ({"claims": 0}, "claims must be a whole number"),
        ({"gamma": 1}, "in a bucket, must be above 1"),
        ({"k": 0}, "k must be a whole number"),
        ({"weights": "good"}, "weights must be one of"),
        ({"weights": "local", "floor": 0}, "floor must be above 0 and below 1"),
        ({"weights": "local", "floor": 1.5}, "floor must be above 0 and below 1"),
        ({"drop": 0}, "drop must be above 0 and below 1"),
        ({"release": "some"}, "release must be one of"),
        ({"release": "paper", "drop": 0.5}, "neither drop nor floor"),
        ({"release": "paper", "floor": 0.5}, "neither drop nor floor"),
        ({"most_attempts": 0}, "most_attempts must be a whole number"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"tol": -1}, "tol must be a finite number"),
        ({"combination": "sum"}, "combination must be one of"),
        ({"kernel": "box"}, "kernel must be one of"),
    ],
)
def test_wrong_parameters_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        PrisCrowd(**{"epsilon0": 1.0, "bandwidth": 0.5, **given})


def test_a_public_bandwidth_is_required():
    with pytest.raises(TypeError, match="bandwidth"):
        PrisCrowd(epsilon0=1.0)


def test_defaults_are_the_repair_and_as_printed():
    repaired = PrisCrowd(epsilon0=1.0, bandwidth=0.5)
    assert (repaired.weights, repaired.drop, repaired.attempts) == ("uniform", 0.5, 60)
    assert PrisCrowd(epsilon0=1.0, bandwidth=0.5, weights="local").floor == 0.5
    printed = PrisCrowd(epsilon0=1.0, bandwidth="silverman", release="paper")
    assert (printed.weights, printed.drop, printed.floor) == ("combined", 0.0, 0.0)


def test_only_answers_of_numbers_are_claims():
    method = PrisCrowd(epsilon0=1.0, bandwidth=0.5)
    frame = pd.DataFrame({"task": [1], "worker": ["a"], "label": [1.0]})
    with pytest.raises(ParameterError, match="public range"):
        method.fit(frame)
    with pytest.raises(AnswerError, match="claims must be numbers"):
        method.fit(Answers.from_frame(frame.assign(label="x"), Categorical(["x", "y"])))
    with pytest.raises(AnswerError, match="row 0"):
        Answers.from_frame(frame.assign(label=math.nan), Interval(low=0, high=1))
    with pytest.raises(AnswerError, match="7"):
        Answers.from_frame(frame.assign(label=7.0), Interval(low=0, high=1))
    with pytest.raises(ParameterError, match="too small for claims"):
        PrisCrowd(epsilon0=1.0, bandwidth=1e-15).fit(normal_claims())


def test_claims_that_were_filtered_by_value_are_refused():
    frame = pd.DataFrame({"task": 1, "worker": range(9), "label": [5.0] * 8 + [99.0]})
    claims = Answers.from_frame(frame, Interval(low=0, high=10), out_of_domain="skip")
    with pytest.raises(AnswerError, match="1 claims were dropped because of their value"):
        PrisCrowd(epsilon0=1.0, bandwidth=0.5).fit(claims)


def test_wrong_types_are_told():
    with pytest.raises(ParameterError, match="k must be a whole number"):
        PrisCrowd(epsilon0=1.0, bandwidth=0.5, k="5")
    with pytest.raises(ParameterError, match="quantiles must be three ascending numbers"):
        PrisCrowd(epsilon0=1.0, bandwidth=0.5, quantiles=(1, 2))
    with pytest.raises(ParameterError, match="the limit is 100,000"):
        PrisCrowd(epsilon0=1.0, bandwidth=0.5, drop=1 - 1e-9)
    method = PrisCrowd(epsilon0=1.0, bandwidth=0.5)
    with pytest.raises(ParameterError, match="must be at least 0 and below 1"):
        method.guarantee(20, delta="x")
    with pytest.raises(ParameterError, match="random_state must be a whole number"):
        method.fit(normal_claims()).release(random_state="5")
    assert PrisCrowd(epsilon0=1.0, bandwidth=0.5, drop=0.9).attempts == 300


def test_ordinal_numbers_are_claims():
    frame = pd.DataFrame({"task": 1, "worker": range(10), "label": [1, 2, 2, 3, 3, 3, 4, 4, 5, 2]})
    density = PrisCrowd(epsilon0=2.0, bandwidth=1.0).fit(
        Answers.from_frame(frame, Ordinal(range(1, 6)))
    )
    released = density.release(random_state=0)
    assert len(released) > 10
    assert released.values.min() >= 1
    assert released.values.max() <= 5


@pytest.mark.parametrize("weights", ["uniform", "local", "global", "combined"])
@pytest.mark.parametrize("release", ["attempts", "paper"])
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_equal_and_single_claims_break_nothing(weights, release, kernel):
    method = PrisCrowd(
        epsilon0=1.0, bandwidth=0.5, weights=weights, release=release, kernel=kernel, k=1
    )
    claims = claims_of([[3.0] * 8, [1.0], [2.0, 2.0], [0.0, 50.0]])
    density = method.fit(claims)
    released = density.release(random_state=0)
    assert (released.passed > 0).all()
    assert np.isfinite(released.values).all()
    np.testing.assert_allclose(np.add.reduceat(density.claim_weights(), claims.offsets[:-1]), 1.0)


def test_nothing_is_released_of_too_few_users():
    density = PrisCrowd(epsilon0=1.0, bandwidth=0.5).fit(claims_of([[1.0] * 4, [2.0]]))
    released = density.release(random_state=0)
    assert len(released) == 0
    assert released.unreleased["reason"].tolist() == [
        "4 of at least 5 users",
        "1 of at least 5 users",
    ]
    assert math.isfinite(density.guarantee(0.5).epsilon)


def test_order_of_rows_does_not_show():
    claims = normal_claims(tasks=4)
    shuffled = claims.to_frame().sample(frac=1, random_state=0)
    again = Answers.from_frame(shuffled, claims.domain)
    method = PrisCrowd(epsilon0=1.0, bandwidth=0.5)
    one, two = (method.fit(table).release(random_state=0).claims for table in (claims, again))
    pd.testing.assert_frame_equal(one, two)
