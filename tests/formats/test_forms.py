"""Forms: labels, sets and what is neither; the formats' tests read them from files."""

from pathlib import Path

import pytest

from quietcrowd.exceptions import FormatError, QuietcrowdWarning
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.forms import answer_table, fields_of, split_texts

PATH = Path("form.json")


def labels(values, *, sets=False):
    rows = [(f"row {row}", "t", "w", None) for row in range(len(values))]
    return answer_table(PATH, "q", rows, values, Choice(sets=sets))["label"].to_pylist()


@pytest.mark.parametrize(
    ("values", "plain", "sets"),
    [
        (["cat", None, ""], ["cat", None, None], ["cat", None, None]),
        ([3, 0.5, True], ["3", "0.5", "true"], ["3", "0.5", "true"]),
        ([{"label": "cat"}, {"label": None}], ["cat", None], ["cat", None]),
        ([{"label": True, "x": False}], ["label"], [["label"]]),
        ([("cat",), None], ["cat", None], [["cat"], None]),
        ([{"a": True, "b": False}, "c"], ["a", "c"], [["a"], ["c"]]),
        ([{"on": True}, {"on": False}], ["true", "false"], [["on"], []]),
        ([{"labels": ["cat"]}, {"labels": None}], [["cat"], None], [["cat"], None]),
        ([["cat", 2], [], "dog"], [["cat", "2"], [], ["dog"]], [["cat", "2"], [], ["dog"]]),
        ([("a", "b"), ("a",)], [["a", "b"], ["a"]], [["a", "b"], ["a"]]),
    ],
)
def test_values_are_labels_or_sets(values, plain, sets):
    assert labels(values) == plain
    assert labels(values, sets=True) == sets


def test_answers_without_a_selected_option_are_missing_and_told():
    values = [{"a": False, "b": False}, {"a": True, "b": False}, None]
    with pytest.warns(QuietcrowdWarning, match=r"without a selected option: 1\. .*--multi-label"):
        assert labels(values) == [None, "a", None]


@pytest.mark.parametrize(
    "value",
    [
        *({"a": 1}, {"a": True, "b": 0}, {"label": ["a"]}, {"label": {}}, {"labels": {"a": 1}}),
        *([["a"]], [None], [""], ["a", {}], ("a", None), [{"label": "a"}]),
    ],
    ids=repr,
)
def test_other_values_are_errors(value):
    with pytest.raises(FormatError, match=r"^form\.json: row 1, field 'q': an answer must be a"):
        labels(["a", value])


def test_buttons_are_joined_over_all_forms():
    forms = [{"cat": {"cat": True}}, {"dog": {"dog": False}}, {"note": "x"}]
    joined = [{"cat": True}, {"dog": False}, None]
    assert fields_of(forms) == {"choice": joined, "note": [None, None, "x"]}
    assert fields_of(forms, "dog")["dog"] == [None, {"dog": False}, None]
    assert set(fields_of([*forms, {"choice": "y"}])) == {"cat", "dog", "note", "choice"}
    assert set(fields_of([*forms, {"dog": "y"}])) == {"cat", "dog", "note"}


def test_texts_are_split_if_all_parts_are_labels():
    assert split_texts(["a|b", None, "a"], "|") == [["a", "b"], (), ["a"]]
    for values in (["a|", "b"], ["a", None], [], ["a|b", ("a",)]):
        assert split_texts(values, "|") == values
