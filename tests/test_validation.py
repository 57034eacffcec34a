import math
from fractions import Fraction

import numpy as np
import pytest

from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import (
    check_between,
    check_delta,
    check_names,
    check_positive,
    check_proportion,
    check_real,
    check_text,
    check_whole,
    did_you_mean,
    parse_json,
)


def test_good_values_pass():
    check_whole("n", 3, 1)
    check_whole("n", 3, 1, 3)
    check_whole("n", np.int64(3), 1)
    check_real("x", np.float32(0.5), 0)
    check_real("x", 0, 0)
    check_real("x", 2.5, 0)


def test_names():
    check_names("crh", [], [])
    check_names("crh", ["a"], ["a", "b"])
    with pytest.raises(ParameterError, match=r"crh has no parameter 'c'; it has a, b$"):
        check_names("crh", {"a": 1, "c": 2}, iter(["a", "b"]))


def test_misspelt_names():
    known = ["variant", "solver", "dawid-skene"]
    assert did_you_mean("varient", known) == "; did you mean 'variant'?"
    assert did_you_mean("DawidSkene", known) == "; did you mean 'dawid-skene'?"
    assert did_you_mean("epsilon", known) == ""
    with pytest.raises(ParameterError, match=r"; it has variant, .*; did you mean 'variant'\?$"):
        check_names("moon", ["varient"], known)


@pytest.mark.parametrize("value", [0, 1.0, True, "3", None, 11])
def test_whole_numbers(value):
    with pytest.raises(ParameterError, match="n must be a whole number, at least 1 and at most 10"):
        check_whole("n", value, 1, 10)


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, True, "3", None])
def test_real_numbers(value):
    with pytest.raises(ParameterError, match="x must be a finite number, at least 0"):
        check_real("x", value, 0)


@pytest.mark.parametrize("value", [10**400, -(10**400), Fraction(10**400), 1j])
def test_numbers_that_no_float_holds(value):
    with pytest.raises(ParameterError, match="x must be a finite number, at least 0"):
        check_real("x", value, 0)


def test_texts():
    check_text("a name", "")
    check_text("a name", "Zoë \U0001f600")
    check_text("a name", np.str_("ann"))
    with pytest.raises(ParameterError, match="a name must be a string; got 5"):
        check_text("a name", 5)
    for half in ("\ud800", "ann\udfff"):
        with pytest.raises(ParameterError, match=r"valid UTF-8; got '.*\\ud.*surrogate"):
            check_text("a name", half)


def test_a_proportion_is_above_0_and_below_1():
    check_proportion("p", 1e-300)
    check_proportion("p", Fraction(1, 3))
    for value in (0, 1, 1.5, -0.5, math.nan, math.inf, True, "half", 10**400):
        with pytest.raises(ParameterError, match=r"p must be above 0 and below 1; got "):
            check_proportion("p", value)


def test_a_delta_may_be_0():
    check_delta("delta", 0)
    for value in (1, -0.5, math.nan, True, "half"):
        with pytest.raises(ParameterError, match="delta must be at least 0 and below 1; got "):
            check_delta("delta", value)


def test_positive_numbers():
    check_positive("x", 1e-300)
    for value in (0, -1, math.nan, math.inf, True, "3", 10**400):
        with pytest.raises(ParameterError, match="x must be a finite number above 0; got "):
            check_positive("x", value)


def test_numbers_between_bounds():
    check_between("x", 0, 0, 1)
    check_between("x", np.float32(1), 0, 1)
    for value in (-0.1, 1.5, math.nan, math.inf, True, "3", 10**400):
        with pytest.raises(ParameterError, match=r"x must be a number from 0 to 1; got "):
            check_between("x", value, 0, 1)


def test_what_stands_once_is_read_as_ever():
    assert parse_json('{"a": [{"b": 1}, {"b": 2}], "b": null}') == {
        "a": [{"b": 1}, {"b": 2}],
        "b": None,
    }
