"""Channels are the same exactly if they map labels to the same distributions over meanings."""

import json
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from tests.campaign.mechanisms import LEVELS, MECHANISMS, RANGE, relabelled

import quietcrowd as qc
from quietcrowd.mechanisms import OptimalMechanism, TwoLayerRandomizedResponse
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.table import TableChannel
from quietcrowd.mechanisms.report_meanings import Likelihoods, ListedMeanings, meanings_in
from quietcrowd.report_domains import LabelSets

INDEPENDENT = [one for one in MECHANISMS.values() if one.independent_reports]


def identity(mechanism):
    return json.loads(json.dumps(mechanism.channel_identity))


@pytest.mark.parametrize("mechanism", INDEPENDENT, ids=lambda one: one.name)
@given(seed=st.integers(0, 2**32))
def test_labels_in_another_order_make_no_other_channel(mechanism, seed):
    assert identity(relabelled(mechanism, seed)) == identity(mechanism)


def distributions(mechanism):
    """Return the map from labels to distributions over meanings, found from the likelihoods."""
    labels = [*mechanism.domain.labels, None][: len(mechanism.channel.weights)]
    found = {}
    for label, row in zip(labels, mechanism.channel.weights.tolist(), strict=True):
        distribution = found.setdefault(label, {})
        for code, weight in enumerate(row):
            meaning = mechanism.report_meanings.meaning(code)
            if isinstance(mechanism.report_meanings, Likelihoods):
                whole = sum(number for _, number in meaning)
                meaning = frozenset((name, Fraction(number, whole)) for name, number in meaning)
            distribution[meaning] = distribution.get(meaning, 0) + weight
    return found


@st.composite
def tables(draw):
    """Return a table of two or three labels, often the same as another one."""
    labels = draw(st.permutations(["a", "b", "c"][: draw(st.integers(2, 3))]))
    parts = draw(st.sampled_from([(1, 1, 2), (2, 1, 1), (1, 2, 1), (2, 2, 0)]))
    rows = [draw(st.permutations(parts)) for _ in labels]
    columns = [column for column in zip(*rows, strict=True) if any(column)]
    if not all(all(column) for column in columns):  # an infinite loss
        columns = [(1,) * len(labels), (3,) * len(labels)]
    weights = np.array(columns).T * 2**30
    return OptimalMechanism(domain=qc.Categorical(labels), epsilon=1.0, weights=weights)


@given(tables(), tables())
def test_channels_are_the_same_exactly_if_their_distributions_are(one, other):
    assert (identity(one) == identity(other)) == (distributions(one) == distributions(other))


def test_one_table_for_labels_in_another_order_is_another_channel():
    """Before, both had one hash: a report of the first was sent again for the second."""
    one, other = (qc.Categorical(list(labels)) for labels in ("abcd", "dcba"))
    first = OptimalMechanism(domain=one, epsilon=2.0, prior={"a": 0.7})
    second = evolve(first, domain=other, prior={"d": 0.7})
    assert second.weights == first.weights
    assert identity(second) != identity(first)
    same = OptimalMechanism(domain=other, epsilon=2.0, prior={"a": 0.7})
    assert same.weights != first.weights
    assert identity(same) == identity(first)


def test_another_distribution_is_another_channel():
    uniform = qc.LaplaceMechanism(domain=LEVELS, epsilon=1.0)
    listed = [
        *INDEPENDENT,
        uniform,
        qc.LaplaceMechanism(domain=LEVELS, epsilon=1.0, fill=1.0),
        qc.LaplaceMechanism(domain=LEVELS, epsilon=1.0, fill=None),
        qc.LaplaceMechanism(domain=RANGE, epsilon=1.5, fill=None),
        qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, fill=None, step=0.5),
        qc.LaplaceMechanism(domain=qc.Interval(low=1, high=11), epsilon=1.0, fill=None),
        qc.SubsetSelection(domain=qc.Categorical(list("abcd")), epsilon=1.0, set_size=1),
        qc.SubsetSelection(domain=qc.Categorical(list("abcd")), epsilon=1.0, set_size=2),
        qc.SubsetSelection(domain=qc.Categorical(list("abce")), epsilon=1.0, set_size=2),
        qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.1),
        qc.RandomizedResponse(domain=qc.Categorical(["no", "nay"]), epsilon=1.0),
    ]
    different = {repr(one): json.dumps(one.channel_identity) for one in listed}
    assert len(set(different.values())) == len(different)


def test_a_table_for_parts_of_a_range_is_another_channel_for_another_range():
    """Before, the bounds were left out: both ranges had one identity."""
    table = TableChannel.randomized_response(3, 2**30)
    reports = meanings_in(qc.Ordinal(range(3)))
    one, other = (qc.Interval(low=0, high=high).to_dict() for high in (10, 1000))
    assert table.identity(one, reports) == table.identity(dict(one), reports)
    assert table.identity(one, reports) != table.identity(other, reports)


def test_a_table_may_be_of_sets():
    weights = 2**29 * np.array([[4, 3, 1], [4, 1, 3], [2, 4, 2]])

    def found(labels, weights):
        sets = LabelSets(domain=qc.Categorical(labels), members=2)
        return TableChannel(weights=weights).identity(labels, meanings_in(sets))

    assert found([*"cba"], weights[::-1, ::-1]) == found([*"abc"], weights)
    assert found([*"cba"], weights) != found([*"abc"], weights)


def test_a_channel_without_a_table_names_its_reports():
    """Before, reports that mean the opposite had one identity."""

    class Described(Channel):
        epsilon = 1.0

        def describe(self):
            return {"keep": 3 * 2**30}

    one, other = (meanings_in(qc.Categorical(labels)) for labels in (["a", "b"], ["b", "a"]))
    assert Described().identity(["a", "b"], one) != Described().identity(["a", "b"], other)


def test_the_same_number_that_stands_for_no_answer_is_the_same_channel():
    middle = qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, fill="midpoint")
    as_number = qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, fill=5.0)
    assert identity(middle) == identity(as_number)


def test_shared_noise_makes_another_channel_of_the_same_distribution_of_one_report():
    two_layer = TwoLayerRandomizedResponse(domain=qc.Categorical(list("ab")), low=0.25, high=0.25)
    coin = qc.RandomizedResponse(domain=qc.Categorical(list("ab")), flip_probability=0.25)
    assert two_layer.channel == coin.channel
    assert identity(two_layer)["law"] == identity(coin)["law"]
    assert identity(two_layer) != identity(coin)


def test_the_order_of_labels_decides_no_solution():
    """The solver's choice among equally good tables depends on the order of its unknowns."""
    found = {
        json.dumps(OptimalMechanism(domain=qc.Categorical(labels), epsilon=0.3).channel_identity)
        for labels in permutations("abcd")
    }
    assert len(found) == 1


def test_reports_without_a_name_point_to_labels():
    """The columns speak for a, for b and c, and for none; the last two mean the same."""
    weights = [[5, 1, 2, 4, 0], [1, 5, 2, 4, 0], [1, 4, 2, 4, 1]]
    meanings = Likelihoods.of(np.array(weights, np.uint64), ["a", "b", "c"])
    assert [meanings.favoured(code) for code in range(5)] == [
        *(("a",), ("b", "c"), (), (), ("c",)),
    ]
    assert meanings.meaning(2) == meanings.meaning(3) == (("a", 1), ("b", 1), ("c", 1))
    assert [meanings.code(meanings.meaning(code)) for code in range(5)] == [0, 1, 2, 2, 4]
    assert meanings.code([["a", 5], ["b", 1], ["c", 1]]) == 0


@pytest.mark.parametrize("name", ["one-layer with NULL", "sets of labels", "optimal"])
def test_a_code_that_no_report_has_means_nothing(name):
    mechanism = MECHANISMS[name]
    for code in (-1, mechanism.report_domain.size):
        with pytest.raises(IndexError, match="there are"):
            mechanism.report_meanings.meaning(code)


def test_true_is_not_1():
    meanings = ListedMeanings(listed=(0, 1))
    assert meanings.code(1.0) == 1
    with pytest.raises(ValueError, match="no report has this meaning"):
        meanings.code(True)
