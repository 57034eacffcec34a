"""Labels in the columns of a wide table."""

import pandas as pd
import pyarrow as pa
import pytest

from quietcrowd.exceptions import AnswerError
from quietcrowd.wide import long_rows
from quietcrowd.wide_labels import labels_of


@pytest.mark.parametrize(
    ("columns", "labels"),
    [
        ({"q1": [1, 2], "q2": [2.0, None]}, [1, 2, 2]),
        ({"q1": [1, 2], "q2": [2.5, None]}, [1.0, 2.0, 2.5]),
        ({"q1": ["1", "x"], "q2": [2.0, None]}, ["1", "x", "2"]),
        ({"q1": ["1", "x"], "q2": [2.5, None]}, ["1", "x", "2.5"]),
        ({"q1": [None, None], "q2": ["x", None]}, ["x"]),
        ({"q1": [True, None], "q2": [False, None]}, [True, False]),
        ({"q1": [[1], [2]], "q2": ["x", None]}, "have different types: list<.*int64>, string"),
    ],
)
def test_columns_of_several_types_become_one(columns, labels):
    frame = pd.DataFrame({"w": ["a", "b"], **columns})
    if isinstance(labels, str):
        with pytest.raises(AnswerError, match=labels):
            long_rows(frame, worker="w")
    else:
        found = long_rows(frame, worker="w").table["label"].to_pylist()
        assert (found, {*map(type, found)}) == (labels, {*map(type, labels)})


@pytest.mark.parametrize(
    ("cat", "dog", "sets"),
    [
        ([1, 0, None], [1, 0, None], [["cat", "dog"], [], None]),
        ([True, False, None], [False, True, None], [["cat"], ["dog"], None]),
        (["1", "", ""], ["", "1", " "], [["cat"], ["dog"], None]),
        (["a cat", "", ""], ["", "a dog", ""], [["a cat"], ["a dog"], None]),
        ([1.0, 0.0, None], ["TRUE", "0", None], [["cat", "dog"], [], None]),
    ],
)
def test_a_ticked_option_has_a_mark_or_its_label(cat, dog, sets):
    table = pa.table({"p/cat": cat, "p/dog": dog})
    found = labels_of(table, "p", {"cat": "p/cat", "dog": "p/dog"})
    assert found.to_pylist() == sets


def test_ranks_of_options_are_no_choices():
    table = pa.table({"p_1": ["1", "2"], "p_2": ["2", "1"]})
    with pytest.raises(AnswerError, match="columns of options of 'p' have several texts each"):
        labels_of(table, "p", {"1": "p_1", "2": "p_2"})
