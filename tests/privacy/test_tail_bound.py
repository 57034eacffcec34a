import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.privacy.tail_bound import TailBound, tail_at, tail_of_curve

YES_NO = qc.Categorical(["no", "yes"])


@given(
    masses=st.lists(st.floats(1e-3, 1), min_size=2, max_size=5),
    losses=st.lists(st.floats(-3, 3), min_size=5, max_size=5),
    epsilon=st.floats(0, 3),
    probability=st.floats(1e-3, 0.999),
)
def test_a_pair_bounds_the_tail_of_every_law_that_has_it(masses, losses, epsilon, probability):
    total = sum(masses)
    law = [(mass / total, loss) for mass, loss in zip(masses, losses, strict=False)]
    delta = sum(mass * -math.expm1(min(0.0, epsilon - loss)) for mass, loss in law)
    bound = tail_at(epsilon, delta, probability)
    assert bound >= epsilon
    assert sum(mass for mass, loss in law if loss > bound) <= probability * (1 + 1e-9)


def test_a_law_reaches_the_bound_of_its_pair():
    epsilon, delta, probability = 1.0, 0.02, 0.1
    bound = tail_at(epsilon, delta, probability)
    assert probability * -math.expm1(epsilon - bound) == pytest.approx(delta)


def test_a_pair_says_nothing_of_what_is_as_rare_as_its_delta():
    assert tail_at(1.0, 0.1, 0.1) == math.inf
    assert tail_at(math.inf, 0.1, 0.5) == math.inf
    assert tail_at(2.0, 0.0, 0.0) == 2.0
    assert tail_of_curve([(1.0, 0.1), (2.0, 0.01)], 0.1) == tail_at(2.0, 0.01, 0.1)
    assert tail_of_curve([], 0.1) == math.inf


def test_a_guarantee_with_a_delta_has_a_tail():
    stated = qc.PrivacyGuarantee(
        answers=3,
        epsilon=1.0,
        worker_epsilon=3.0,
        delta=0.01,
        participation_protected=False,
        claimed_epsilon=1.0,
        assumptions=(),
        source="",
    )
    assert stated.tail == TailBound.of_pair(1.0, 1.0, 3.0, 0.01)
    assert stated.tail.probability == 0.02
    assert stated.tail.worker_epsilon == pytest.approx(3 + math.log(2))
    pure = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0).guarantee(answers=3)
    assert pure.tail is None


@pytest.mark.parametrize("mechanism", qc.Mechanism.registry())
def test_tails_are_no_more_than_pure_losses(mechanism):
    kind = qc.Mechanism.registry()[mechanism]
    more = {"delta": 0.1} if mechanism == "sampled-variance" else {}
    built = kind.from_claimed_epsilon(domain=qc.Ordinal(range(3)), epsilon=1.0, **more)
    stated = built.guarantee(answers=4, tasks=6, linked=2)
    last = math.inf
    for probability in (1e-9, 1e-3, 0.1, 0.6):
        tail = built.tail(probability, answers=4, tasks=6, linked=2)
        assert tail.probability == probability
        assert 0 <= tail.worker_epsilon <= last
        last = tail.worker_epsilon
        if not stated.delta:
            assert tail.epsilon <= stated.epsilon * (1 + 1e-9)
            assert tail.linked_epsilon <= stated.linked_epsilon * (1 + 1e-9)
            assert tail.worker_epsilon <= stated.worker_epsilon * (1 + 1e-9)


@pytest.mark.parametrize("probability", [0, 1, -0.1, 2, math.nan, "0.1", True, None])
def test_probabilities_are_checked(probability):
    with pytest.raises(qc.ParameterError, match="probability"):
        qc.RandomizedResponse(domain=YES_NO, epsilon=1.0).tail(probability)


@pytest.mark.parametrize("linked", [0, 5, -1, 1.5, "2"])
@pytest.mark.parametrize("mechanism", qc.Mechanism.registry())
def test_linked_answers_are_some_of_all(mechanism, linked):
    kind = qc.Mechanism.registry()[mechanism]
    more = {"delta": 0.1} if mechanism == "sampled-variance" else {}
    built = kind.from_claimed_epsilon(domain=qc.Ordinal(range(3)), epsilon=1.0, **more)
    with pytest.raises(qc.ParameterError, match="linked"):
        built.guarantee(answers=4, tasks=4, linked=linked)


@pytest.mark.parametrize("mechanism", qc.Mechanism.registry())
def test_a_fact_that_answers_share_is_between_one_and_all(mechanism):
    kind = qc.Mechanism.registry()[mechanism]
    more = {"delta": 0.1} if mechanism == "sampled-variance" else {}
    built = kind.from_claimed_epsilon(domain=qc.Ordinal(range(3)), epsilon=1.0, **more)
    losses = [built.guarantee(answers=6, tasks=6, linked=m).linked_epsilon for m in range(1, 7)]
    stated = built.guarantee(answers=6, tasks=6)
    assert losses[0] == stated.epsilon == stated.linked_epsilon
    assert losses == sorted(losses)
    assert losses[-1] <= stated.worker_epsilon * (1 + 1e-12)
    assert losses[2] > 1.5 * losses[0]


def test_a_tail_is_told_in_a_sentence_with_figures_rounded_up():
    bound = TailBound(
        probability=0.0123456789, epsilon=1.00001, linked_epsilon=2.0, worker_epsilon=math.inf
    )
    assert str(bound) == (
        "Each with probability at least 1 - 0.0123457, the loss is at most 1.001 about one answer, "
        "2 about a fact that linked answers share, and inf about all together."
    )
