import attrs
import pytest

import quietcrowd as qc
from quietcrowd.accounting.consent import consent_sentences
from quietcrowd.accounting.shuffled import fewest_honest, shuffled_assumption
from quietcrowd.privacy.shuffling import shuffled_loss

YES_NO = qc.Categorical(["no", "yes"])


def response(**parameters):
    return qc.RandomizedResponse(domain=YES_NO, **parameters)


def test_the_local_guarantee_stands_first_and_the_assumption_beside_the_second_number():
    found = qc.shuffled_guarantee(response(epsilon=1.0), honest=500, delta=1e-6)
    assert found.local == response(epsilon=1.0).guarantee(answers=1, tasks=1)
    assert 0.1 < found.epsilon < 0.2
    assert found.epsilon < found.tail < 1
    assert found.delta == 1e-6
    first, _, second = str(found).partition("\nOnly if ")
    assert first == str(found.local)
    assert " ".join(second.split()).startswith(shuffled_assumption(500))
    assert "at least 500 of the reports" in found.assumption
    assert "honest" in found.assumption


def test_honest_counts_ones_own():
    found = qc.shuffled_guarantee(response(epsilon=1.0), honest=1, delta=1e-6)
    assert found.epsilon == found.tail == found.local.epsilon
    assert "not shown" in found.source
    pair = qc.shuffled_guarantee(response(epsilon=1.0), honest=41, delta=0.01)
    keep = response(epsilon=1.0).channel.keep_and_other[0]
    from quietcrowd.privacy.shuffling import exact_delta

    assert exact_delta(keep, 40, pair.epsilon) <= 0.01 < exact_delta(keep, 40, 0.99 * pair.epsilon)


def test_labels_with_other_names_lose_the_same():
    usual = qc.shuffled_guarantee(response(flip_probability=0.25), honest=100, delta=1e-4)
    turned = qc.shuffled_guarantee(response(flip_probability=0.75), honest=100, delta=1e-4)
    assert turned.epsilon == pytest.approx(usual.epsilon, rel=1e-3)
    assert "exact" not in turned.source


@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(
            qc.LaplacePerturbation(domain=qc.Interval(low=0, high=1), epsilon=1.0), id="laplace"
        ),
        pytest.param(
            qc.TwoLayerRandomizedResponse.from_claimed_epsilon(domain=YES_NO, epsilon=1.0),
            id="two-layer",
        ),
    ],
)
def test_other_mechanisms_count_by_their_loss_alone(mechanism):
    found = qc.shuffled_guarantee(mechanism, honest=2000, delta=1e-6)
    local = mechanism.guarantee(answers=1, tasks=1).worker_epsilon
    assert found.epsilon == shuffled_loss(local, 1999, 1e-6).epsilon
    assert found.epsilon < local


def test_sets_count_by_their_loss_and_of_one_label_as_randomised_response():
    domain = qc.Ordinal(range(6))
    sets = qc.SubsetSelection(domain=domain, epsilon=1.0)
    found = qc.shuffled_guarantee(sets, honest=2000, delta=1e-6)
    assert sets.channel.law.members > 1
    assert found.epsilon == shuffled_loss(found.local.worker_epsilon, 1999, 1e-6).epsilon
    single = qc.SubsetSelection(domain=domain, epsilon=1.0, set_size=1)
    labels = qc.RandomizedResponse(domain=domain, epsilon=1.0)
    blanket, same = (
        qc.shuffled_guarantee(one, honest=2000, delta=1e-6) for one in (single, labels)
    )
    assert "Balle" in blanket.source
    assert blanket.epsilon == pytest.approx(same.epsilon, rel=1e-3)
    assert blanket.epsilon < found.epsilon


@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(response(epsilon=1.0), id="two-labels"),
        pytest.param(qc.RandomizedResponse(domain=qc.Ordinal(range(9)), epsilon=4.0), id="labels"),
        pytest.param(qc.SubsetSelection(domain=qc.Ordinal(range(9)), epsilon=2.0), id="sets"),
        pytest.param(
            qc.SubsetSelection(domain=qc.Ordinal(range(9)), epsilon=9.0, set_size=3), id="large"
        ),
    ],
)
def test_from_so_many_honest_reports_on_shuffling_adds(mechanism):
    number = fewest_honest(mechanism, delta=1e-6)
    losses = [
        qc.shuffled_guarantee(mechanism, honest=honest, delta=1e-6)
        for honest in (number // 2, number, 10 * number)
    ]
    assert losses[0].epsilon == losses[0].local.worker_epsilon
    assert losses[2].epsilon < losses[1].epsilon < losses[1].local.worker_epsilon


def test_where_no_number_is_large_enough_none_is_said():
    mechanism = qc.SubsetSelection(domain=qc.Ordinal(range(9)), epsilon=16.0, set_size=3)
    assert fewest_honest(mechanism, delta=1e-6) is None
    assert fewest_honest(response(epsilon=0.0), delta=1e-6) is None


def test_null_is_a_label():
    found = qc.shuffled_guarantee(response(epsilon=1.0, null="category"), honest=300, delta=1e-4)
    assert "Balle" in found.source
    assert found.local.participation_protected


class Leaky(qc.RandomizedResponse):
    """Its guarantee says that it may fail, with a small probability."""

    def guarantee(self, answers=1, tasks=None, *, linked=1):
        pure = super().guarantee(answers, tasks, linked=linked)
        return attrs.evolve(pure, delta=0.01, tail=None)


def test_what_has_a_delta_is_refused():
    mechanism = Leaky(domain=YES_NO, epsilon=1.0)
    with pytest.raises(qc.ParameterError, match="bounded and has no delta"):
        qc.shuffled_guarantee(mechanism, honest=100, delta=1e-6)


@pytest.mark.parametrize(
    ("honest", "delta", "name"),
    [(0, 0.1, "honest"), (2.5, 0.1, "honest"), (5, 0.0, "delta"), (5, 1.0, "delta")],
    ids=["nobody", "broken", "no-delta", "all-delta"],
)
def test_numbers_out_of_range_are_refused(honest, delta, name):
    with pytest.raises(qc.ParameterError, match=name):
        qc.shuffled_guarantee(response(epsilon=1.0), honest=honest, delta=delta)


def test_consent_says_the_assumption_last():
    told = qc.shuffled_guarantee(response(epsilon=1.0), honest=500, delta=1e-6)
    *local, last = consent_sentences(told.local, shuffled=told)
    assert tuple(local) == consent_sentences(told.local)
    assert told.assumption in last
    assert last.startswith("Beyond this, and only if ")
    assert "one of 1,000,000 draws" in last
    assert "count on the figures before alone" in last
    sure = float(last.partition("at most ")[2].partition(" %")[0]) if "at most " in last else 0
    assert 50 < sure < 60


def test_consent_wants_the_same_guarantee():
    told = qc.shuffled_guarantee(response(epsilon=1.0), honest=500, delta=1e-6)
    other = attrs.evolve(told, local=response(epsilon=2.0).guarantee(answers=1, tasks=1))
    with pytest.raises(qc.ParameterError, match="another guarantee"):
        consent_sentences(told.local, shuffled=other)
