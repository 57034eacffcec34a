import pytest
from attrs import evolve

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.planning import CrowdSize
from quietcrowd.planning.equal_loss import exact_loss, mechanism_within

LABELS = qc.Categorical(["no", "yes"])
NUMBERS = qc.Interval(low=0, high=10)
SIZE = CrowdSize(tasks=40, workers=20, answers=5)


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
    mechanism = mechanism_within(kind.from_claimed_epsilon, domain, 3.0, SIZE, per)
    assert 0.998 * 3 <= exact_loss(mechanism, SIZE, per) <= 3 + 1e-6


def test_small_claims_may_have_no_mechanism():
    four = qc.Categorical(["a", "b", "c", "d"])
    maker = TwoLayerRandomizedResponse.from_claimed_epsilon
    assert exact_loss(mechanism_within(maker, four, 5.0, SIZE), SIZE, "answer") > 4.99
    with pytest.raises(ParameterError, match="two-layer has no parameters"):
        mechanism_within(maker, LABELS, 1.5, SIZE)


def test_a_delta_or_no_parameters_are_refused():
    class WithDelta(qc.RandomizedResponse):
        def guarantee(self, *counts, **more):
            return evolve(super().guarantee(*counts, **more), delta=0.05)

    with pytest.raises(ParameterError, match="without delta"):
        mechanism_within(WithDelta, LABELS, 1.0, SIZE)
    with pytest.raises(ParameterError, match="epsilon must be a finite number above 0"):
        mechanism_within(qc.RandomizedResponse.from_claimed_epsilon, LABELS, 0.0, SIZE)
