import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.campaign.terms.canonical import canonical_hash, canonical_json
from quietcrowd.exceptions import FormatError

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("number", "spelled"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.25e22, "1.25e+22"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (123456.789, "123456.789"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (333333333.33333329, "333333333.3333333"),
        (9007199254740991, "9007199254740991"),
        (2.0**60, "1152921504606847000"),
        (1152921504606847000, "1152921504606847000"),
    ],
)
def test_numbers_are_spelled_as_in_ecmascript(number, spelled):
    assert canonical_json(number).decode() == spelled


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_number_is_changed(number):
    assert float(canonical_json(number)) == number


def test_keys_are_sorted_by_utf_16_code_units():
    # RFC 8785, section 3.2.3: a letter beyond 16 bits sorts by its surrogates.
    value = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\xf6": 7}
    spelled = canonical_json(value).decode()
    assert [spelled.index(f":{one}") for one in (2, 4, 6, 7, 1, 5, 3)] == sorted(
        spelled.index(f":{one}") for one in range(1, 8)
    )


def test_texts_are_escaped_as_little_as_possible():
    assert canonical_json("\u20ac$\x0f\nA'B\"\\").decode() == '"€$\\u000f\\nA\'B\\"\\\\"'


@given(JSON)
def test_one_spelling_and_back(value):
    spelled = canonical_json(value)
    assert canonical_json(json.loads(spelled)) == spelled


def test_equal_values_have_equal_hashes():
    assert canonical_hash({"a": 1.0, "b": (1,)}) == canonical_hash({"b": [1], "a": 1})
    assert canonical_hash({"a": 1}) != canonical_hash({"a": 2})


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 2**53 + 1, 2**60, 10**400, {1: 2}, {"a": {3}}, "\ud800", b"bytes"],
)
def test_what_json_cannot_hold_everywhere_is_refused(value):
    with pytest.raises(FormatError):
        canonical_json(value)
