import math
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.domains import Categorical, Domain, Ordinal
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.report_domains import (
    MOST_SETS,
    LabelSets,
    Lattice,
    Numbers,
    OneOf,
    OrNull,
    Reals,
    ranks_of,
    sets_of,
    sets_with,
)


def column(values, kind=None):
    return pa.chunked_array([pa.array(values, kind)])


DOMAINS = [
    OrNull(domain=Categorical(["no", "yes"])),
    OrNull(domain=Ordinal(range(300))),
    LabelSets(domain=Categorical(["no", "yes", "maybe"]), members=2),
    Lattice(origin=-1.5, step=2**-7),
    Lattice(origin=0.1, step=0.25, bits=64),
    Reals(),
    OneOf(parts=(Categorical(["no", "yes"]), Lattice(origin=0.1, step=0.25, bits=64))),
]


@pytest.mark.parametrize("domain", DOMAINS)
def test_json_gives_back_the_domain(domain):
    assert Domain.from_dict(domain.to_dict()) == domain
    assert domain.describe() in domain.example() or domain.describe()


def test_null_is_the_code_after_the_labels():
    domain = OrNull(domain=Ordinal([1, 2, 3]))
    codes, inside = domain.encode(column([3, None, 1, 7]))
    assert inside.tolist() == [True, True, True, False]
    assert codes[:3].tolist() == [2, 3, 0]
    assert codes.dtype == np.uint8
    assert domain.decode(codes[:3]).to_pylist() == [3, None, 1]
    assert domain.holds(codes[:3])
    assert not domain.holds(np.array([4], np.uint8))


def test_a_set_is_written_as_its_number():
    domain = LabelSets(domain=Ordinal(range(20)), members=5)
    assert domain.size == 15_504
    codes, inside = domain.encode(column([0, 15_503, 15_504, -1, 2.5, None]))
    assert inside.tolist() == [True, True, False, False, False, False]
    assert codes.dtype == domain.dtype == np.int64
    assert domain.decode(codes[:2]).to_pylist() == [0, 15_503]
    assert domain.members_of(codes[:2]) == [(0, 1, 2, 3, 4), (15, 16, 17, 18, 19)]
    assert domain.holds(codes)
    assert not domain.holds(np.array([15_504]))
    assert not domain.holds(np.array([-1]))


def test_a_column_of_nothing_but_null():
    domain = OrNull(domain=Categorical(["no", "yes"]))
    codes, inside = domain.encode(column([None, None]))
    assert codes.tolist() == [2, 2]
    assert inside.all()
    assert domain.decode(codes).to_pylist() == [None, None]


def test_the_smallest_dtype_holds_null_as_well():
    assert OrNull(domain=Ordinal(range(255))).dtype == np.uint8
    assert OrNull(domain=Ordinal(range(256))).dtype == np.uint16


@given(st.floats(-1e6, 1e6), st.integers(-20, 10), st.lists(st.integers(-(2**31) + 1, 2**31 - 1)))
def test_lattice_numbers_come_back_exactly(origin, power, places):
    domain = Lattice(origin=origin, step=2.0**power)
    values = np.array(places, np.int32)
    back, inside = domain.encode(column(domain.decode(values), pa.float64()))
    assert inside.all()
    assert np.array_equal(domain.numbers(back), domain.numbers(values))


def test_numbers_off_the_lattice_are_outside():
    domain = Lattice(origin=0.0, step=0.25)
    _, inside = domain.encode(column(["0.25", "0.3", "x", None, "inf", "1e300"]))
    assert inside.tolist() == [True, False, False, False, False, False]


def test_reals_hold_finite_numbers():
    _, inside = Reals().encode(column([1.5, float("nan"), float("inf"), None]))
    assert inside.tolist() == [True, False, False, False]
    assert not Reals().holds(np.array([np.inf]))


PARTS = (Ordinal([1, 2, 3]), Lattice(origin=0, step=1), Numbers(origin=0, step=1, count=5))


@pytest.mark.parametrize(
    ("part", "codes"),
    [
        (0, np.array([0, 2], np.uint8)),
        (1, np.array([-(2**31) + 1, 0, 2**31 - 1], np.int32)),
        (2, np.array([0, 4], np.uint8)),
    ],
)
def test_reports_of_several_domains_are_one_integer(part, codes):
    domain = OneOf(parts=PARTS)
    values = domain.values_of(part, codes)
    assert (domain.part_codes(values) == part).all()
    back = domain.codes_of(part, values)
    assert back.dtype == codes.dtype
    assert np.array_equal(back, codes)
    assert domain.holds(values)
    again, inside = domain.encode(column(domain.decode(values)))
    assert inside.all()
    assert np.array_equal(again, values)
    assert not domain.holds(np.array([domain.size]))


def test_noise_beyond_2_to_the_53_is_cut_off():
    domain = OneOf(parts=(Lattice(origin=0.0, step=1.0, bits=64),))
    values = domain.values_of(0, np.array([-(2**60), 2**60]))
    assert domain.codes_of(0, values).tolist() == [-(2**53) + 1, 2**53 - 1]
    with pytest.raises(ParameterError, match="integers can be joined"):
        OneOf(parts=(Reals(),))


@pytest.mark.parametrize("step", [0.0, -1.0, float("nan"), float("inf")])
def test_a_step_is_above_0(step):
    with pytest.raises(ParameterError, match="step must be"):
        Lattice(origin=0.0, step=step)


def test_null_goes_with_labels():
    with pytest.raises(ParameterError, match="Categorical or Ordinal"):
        OrNull(domain=Reals())
    with pytest.raises(FormatError, match="domain kind 'heap' must be one of"):
        Domain.from_dict({"kind": "heap"})


@pytest.mark.parametrize(("labels", "members"), [(2, 1), (5, 2), (5, 4), (9, 3)])
def test_all_sets_are_counted_from_0_each_once(labels, members):
    listed = np.array(sorted(combinations(range(labels), members), key=lambda one: one[::-1]))
    ranks = ranks_of(listed, labels)
    assert ranks.tolist() == list(range(math.comb(labels, members)))
    assert np.array_equal(sets_of(ranks, labels, members), listed)


@given(st.data())
def test_large_numbers_come_back_exactly(data):
    labels, members = data.draw(st.sampled_from([(64, 17), (300, 8), (4096, 4), (54, 26)]))
    count = math.comb(labels, members)
    assert count <= MOST_SETS
    ranks = np.array([0, data.draw(st.integers(0, count - 1)), count - 1])
    sets = sets_of(ranks, labels, members)
    assert (np.diff(sets, axis=1) > 0).all()
    assert sets.min() >= 0
    assert sets.max() < labels
    assert np.array_equal(ranks_of(sets, labels), ranks)


def test_which_labels_a_set_holds():
    held = sets_with(np.array([0, 5]), 4, 2)
    assert held.tolist() == [[True, True, False, False], [False, False, True, True]]
