import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve

import quietcrowd as qc
from quietcrowd.domains import Categorical
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    RandomizedResponse,
    TwoLayerRandomizedResponse,
)
from quietcrowd.privacy import PrivacyGuarantee
from quietcrowd.privacy.guarantee import are_named, show_loss, task_names
from quietcrowd.synthesis import PrisCrowd

BINARY = Categorical([0, 1])


def test_it_reads_as_one_paragraph_of_80_columns():
    text = str(RandomizedResponse(domain=BINARY, epsilon=1.0).guarantee())
    flowing = " ".join(text.split())
    assert flowing.startswith(
        "A worker who gives 1 answer has a privacy loss of at most epsilon = 1 about it. "
        "Whether a task was answered is not protected. The paper's claim of 1 holds. "
    )
    assert max(map(len, text.splitlines())) <= 80


def test_a_claim_that_does_not_hold_is_said_not_to():
    two_layer = TwoLayerRandomizedResponse.from_claimed_epsilon(domain=BINARY, epsilon=1.0)
    text = " ".join(str(two_layer.guarantee(answers=277)).split())
    assert (
        "epsilon = 5.625 about one of them, given the others, and 189.2 about all together" in text
    )
    assert "The paper's claim of 1 does not hold." in text


def test_delta_and_participation_are_told():
    guarantee = PrivacyGuarantee(
        answers=2,
        epsilon=1.0,
        total_epsilon=2.0,
        delta=1e-6,
        participation_protected=True,
        claimed_epsilon=1.0,
        assumptions=("none",),
        source="nowhere",
    )
    text = " ".join(str(guarantee).split())
    assert "Each with probability at least 1 - 2e-06 over the device's draw, the loss of a" in text
    assert "is at most 1.694 about one of them, given the others, and 2.694 about all" in text
    assert "against another answer, or list of answers, that is fixed beforehand." in text
    assert "the pairs of differential privacy at delta = 1e-06: epsilon = 1 about one" in text
    assert "Whether a task was answered is protected alike." in text


@pytest.mark.parametrize(("delta", "holds"), [(0.0, True), (0.1, True), (0.1011, False)])
def test_a_claim_may_be_a_pair(delta, holds):
    guarantee = PrivacyGuarantee(
        answers=2,
        epsilon=1.0,
        total_epsilon=2.0,
        delta=delta,
        participation_protected=False,
        claimed_epsilon=1.0,
        claimed_delta=0.1,
        assumptions=(),
        source="",
    )
    assert guarantee.claim_holds == holds
    verdict = "holds" if holds else "is not shown to hold"
    said = f"The paper's claim of 1 with delta = 0.1 {verdict}."
    assert said in " ".join(str(guarantee).split())


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.9999999, "1"),
        (5.6240175, "5.625"),
        (189.1, "189.1"),
        (189.10001, "189.2"),
        (1e-9, "1e-09"),
        (0.1, "0.1"),
        (12 * 0.1, "1.2"),
        (1.0000001e-9, "1.001e-09"),
        (float("inf"), "inf"),
        (12345.6, "1.235e+04"),
    ],
)
def test_losses_are_shown_rounded_up(epsilon, shown):
    assert show_loss(epsilon) == shown
    assert float(shown) >= epsilon * (1 - 1e-12)


@pytest.mark.parametrize(("beyond", "holds"), [(0.0, True), (1e-7, True), (1e-5, False)])
def test_a_claim_holds_up_to_the_rounding_of_weights(beyond, holds):
    guarantee = PrivacyGuarantee(
        answers=1,
        epsilon=1.0 + beyond,
        total_epsilon=1.0 + beyond,
        participation_protected=False,
        claimed_epsilon=1.0,
        assumptions=(),
        source="",
    )
    assert guarantee.claim_holds == holds


def test_a_tiny_claimed_delta_is_not_covered_by_a_larger_one():
    crowd = PrisCrowd(epsilon0=1.0, bandwidth=0.4, claims=1, k=100, gamma=4.0)
    guarantee = crowd.guarantee(users=1000)
    assert guarantee.epsilon <= guarantee.claimed_epsilon
    assert guarantee.claimed_delta < 1e-40 < guarantee.delta
    assert not guarantee.claim_holds
    assert "is not shown to hold" in " ".join(str(guarantee).split())


MECHANISM = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0, missing="category")


@pytest.mark.parametrize(
    "tasks", [[3, 4], (3, 4), range(3, 5), np.array([3, 4]), pa.array([3, 4]), pa.array(["3", "4"])]
)
def test_ids_of_any_kind_are_texts(tasks):
    assert are_named(tasks)
    assert task_names(tasks) == ("3", "4")
    assert MECHANISM.guarantee(tasks=tasks) == MECHANISM.guarantee(tasks=2)


@pytest.mark.parametrize("tasks", [2, np.int64(2), "ab", b"ab", None, 2.0, {3, 4}])
def test_numbers_are_no_ids(tasks):
    assert not are_named(tasks)


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        (["a", "b", "a"], "id 2 is 'a' once more"),
        ([7, None], "id 1 is missing"),
        (["a", 1], "a number of tasks, or a list of ids"),
        ([["a"]], "a number of tasks, or a list of ids"),
        ([object()], "a number of tasks, or a list of ids"),
        ([], "tasks must be a whole number, at least 1"),
        ("ab", "tasks must be a whole number, at least 1"),
    ],
)
def test_messages(tasks, message):
    with pytest.raises(ParameterError, match=message):
        MECHANISM.guarantee(tasks=tasks)


def test_more_answers_than_named_tasks():
    with pytest.raises(ParameterError, match="tasks must be a whole number, at least 3"):
        MECHANISM.guarantee(answers=3, tasks=["a", "b"])


def test_a_paper_is_named_only_where_one_claims():
    domain = qc.Interval(low=0, high=10)
    bounded = [
        kind(domain=domain, epsilon=1.0)
        for kind in (qc.PiecewiseMechanism, DuchiMechanism, HybridMechanism)
    ]
    sets = qc.SubsetSelection(domain=qc.Categorical(["a", "b", "c"]), epsilon=1.0)
    for mechanism in (*bounded, sets):
        assert "claim" not in str(mechanism.guarantee(answers=3))
    laplace = qc.LaplaceMechanism(domain=domain, epsilon=1.0)
    assert "The paper's claim of 1 holds." in str(laplace.guarantee(tasks=3))


def test_what_is_not_kept_is_said_whoever_claims_it():
    guarantee = evolve(
        DuchiMechanism(domain=qc.Interval(low=0, high=1), epsilon=1.0).guarantee(),
        claimed_epsilon=0.5,
    )
    assert "The claim of 0.5 does not hold." in " ".join(str(guarantee).split())
