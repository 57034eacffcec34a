import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.domains import Categorical, Domain, Interval, Ordinal, check_finite
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.testing import finite_domains


def column(values):
    return pa.chunked_array([values])


@given(finite_domains(min_size=1, max_size=300), st.data())
def test_encode_and_decode_are_inverse(domain, data):
    labels = data.draw(st.lists(st.sampled_from(domain.labels), min_size=1))
    values, inside = domain.encode(column(labels))
    assert inside.all()
    assert domain.decode(values).to_pylist() == labels


@given(finite_domains())
def test_dictionary_round_trip(domain):
    assert Domain.from_dict(domain.to_dict()) == domain


def test_dictionary_round_trip_of_all_kinds():
    for domain in (Ordinal([1, 2, 5]), Interval(low=-1, high=2.5), Categorical([True, False])):
        assert Domain.from_dict(domain.to_dict()) == domain


@pytest.mark.parametrize(
    ("labels", "dtype"), [(2, np.uint8), (255, np.uint8), (256, np.uint16), (65_535, np.uint16)]
)
def test_codes_take_the_smallest_dtype(labels, dtype):
    domain = Ordinal(range(labels))
    assert domain.encode(column([0, labels - 1]))[0].dtype == dtype


def test_texts_stand_for_the_labels_that_they_spell():
    values, inside = Categorical([0, 1, 2]).encode(column(["1", "2.0", "x", None]))
    assert values[:2].tolist() == [1, 2]
    assert inside.tolist() == [True, True, False, False]
    assert Categorical([False, True]).encode(column(["true", "False"]))[0].tolist() == [1, 0]
    assert Categorical(["0", "1"]).encode(column([0, 1]))[1].tolist() == [False, False]


def test_texts_that_only_python_reads_as_numbers_stand_for_nothing():
    inside = Categorical([1, 10]).encode(column(["1_0", " 10 ", "\u0661", "1e1", "+1", "10.0"]))[1]
    assert inside.tolist() == [False, False, False, True, True, True]


def test_whole_numbers_stand_for_equal_ones():
    values, inside = Ordinal([1, 2]).encode(column([1.0, 2.0, 1.5, math.nan]))
    assert values[:2].tolist() == [0, 1]
    assert inside.tolist() == [True, True, False, False]


def test_both_ends_of_an_interval_are_inside():
    _, inside = Interval(low=0, high=10).encode(column([0.0, 10.0, -0.1, 10.1]))
    assert inside.tolist() == [True, True, False, False]


def test_the_dtype_of_numbers_does_not_depend_on_them():
    domain = Interval(low=0, high=100)
    assert domain.encode(column([1, 99]))[0].dtype == np.float64
    assert domain.encode(column([0.1]))[0].dtype == np.float64
    values, inside = domain.encode(column(["3.5", "many", None, "101", "-1", "nan"]))
    assert values[0] == 3.5
    assert inside.tolist() == [True, False, False, False, False, False]


@pytest.mark.parametrize(
    "build",
    [
        lambda: Categorical([]),
        lambda: Categorical("yes"),
        lambda: Categorical(5),
        lambda: Categorical([2**70]),
        lambda: Categorical([math.inf]),
        lambda: Categorical(["a", "a"]),
        lambda: Categorical([1, 1.0]),
        lambda: Categorical([1, "a"]),
        lambda: Categorical([True, 2]),
        lambda: Categorical([math.nan]),
        lambda: Categorical([None, "a"]),
        lambda: Categorical(range(70_000)),
        lambda: Ordinal([2, 1]),
        lambda: Ordinal([1, 1]),
        lambda: Ordinal(["a", "b"]),
        lambda: Interval(low=1, high=1),
        lambda: Interval(low=0, high=math.inf),
        lambda: Interval(low=math.nan, high=1),
        lambda: Interval(low="x", high=1),
    ],
)
def test_bad_domains_are_parameter_errors(build):
    with pytest.raises(ParameterError):
        build()


@pytest.mark.parametrize(
    "data",
    [{}, [], None, {"kind": "tree"}, {"kind": "ordinal"}, {"kind": "ordinal", "levels": [2, 1]}],
)
def test_bad_descriptions_are_format_errors(data):
    with pytest.raises(FormatError):
        Domain.from_dict(data)


def test_check_finite_names_who_asked():
    with pytest.raises(AnswerError, match=r"voting needs .* got Interval\(low=0\.0, high=1\.0\)"):
        check_finite(Interval(low=0, high=1), "voting")


def test_labels_are_texts_that_files_can_hold():
    with pytest.raises(ParameterError, match="a label must be valid UTF-8"):
        Categorical(["\ud800", "b"])


@pytest.mark.parametrize("bound", [10**400, "many", None])
def test_bounds_are_numbers_that_floats_hold(bound):
    with pytest.raises(ParameterError, match="a bound must be a number"):
        Interval(low=0, high=bound)
