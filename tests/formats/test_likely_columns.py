"""Suggestions of columns."""

import pyarrow as pa
import pytest

from quietcrowd.formats.likely_columns import (
    Wide,
    columns_by_name,
    columns_by_values,
    likely_wide,
    separator_of,
)


@pytest.mark.parametrize(
    "names",
    [
        ("item", "annotator", "label"),
        ("Question ID", "workerId", "Response"),
        ("text_id", "Rater", "rating"),
        ("image", "participant_id", "category"),
        ("id", "user", "vote"),
        ("docID", "coder_name", "sentiment"),
    ],
)
def test_names(names):
    others = {"when": ["now"], "difficulty": [1]}
    table = pa.table({**others, **{name: ["x"] for name in reversed(names)}})
    assert columns_by_name(table) == names
    assert columns_by_name(table.drop_columns([names[1]])) is None


def test_values():
    rows = {"a": ["x", "x", "y", "y"], "b": ["p", "q", "r", "s"], "c": ["u", "v", "w", "u"]}
    assert columns_by_values(pa.table(rows)) == ("b", "c", "a")
    assert columns_by_values(pa.table({**rows, "d": [1, 2, 3, 4]})) is None
    named = pa.table({"worker": rows["b"], "b": rows["c"], "c": rows["a"]})
    assert columns_by_values(named) == ("b", "worker", "c")


SHARED = {"one": ["yes", "no"], "two": ["no", "no"]}


@pytest.mark.parametrize(
    ("ids", "others", "found"),
    [
        ("item", SHARED, [Wide(by_task=True, ids="item", ignored=[])]),
        ("participant", SHARED, [Wide(by_task=False, ids="participant", ignored=[])]),
        (
            "key",
            SHARED,
            [Wide(by_task=one, ids="key", ignored=[]) for one in (False, True)],
        ),
        (
            "user",
            {**SHARED, "remark": ["so", "what"]},
            [Wide(by_task=False, ids="user", ignored=["remark"])],
        ),
        (
            "key",
            {"rater_1": ["yes", "yes"], "rater_2": ["no", "no"]},
            [Wide(by_task=True, ids="key", ignored=[])],
        ),
        ("item", {"one": ["yes", "no"], "two": ["x", "y"]}, []),
    ],
)
def test_wide_tables(ids, others, found):
    assert likely_wide(pa.table({ids: ["p", "q"], **others})) == found
    assert likely_wide(pa.table({ids: ["p", "p"], **others})) == []


def test_lists_and_unnamed_columns_are_no_values():
    table = pa.table({"item": ["p", "q"], "one": [["a"], ["b"]], "two": [["a"], ["b"]], "": [1, 2]})
    assert likely_wide(table) == []


@pytest.mark.parametrize(
    ("labels", "separator"),
    [
        (["cat|dog", "dog|cat", "cat"], "|"),
        (["a; b", "b", "a;c", "c"], ";"),
        (["a,b", "b,a"], ","),
        (["yes", "no"], None),
        (["1,5", "5,2", "1,2"], None),
        (["yes, always", "no, never"], None),
        (["a||b", "a", "b"], None),
        ([], None),
    ],
)
def test_separators(labels, separator):
    assert separator_of(labels) == separator
