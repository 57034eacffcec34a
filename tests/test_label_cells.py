"""Sets of labels in cells of text."""

import itertools

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError

pytestmark = pytest.mark.filterwarnings("ignore:column 'label'. empty cells")

OPTIONS = ["Cheap, but slow", "Nice", "Cheap"]


def sets_of(cells, labels, separator=None):
    """Return the labels of each cell, as `Answers.from_label_sets` reads them."""
    frame = pd.DataFrame({"task": range(len(cells)), "worker": "a", "label": cells})
    bits = qc.Answers.from_label_sets(frame, labels, separator=separator).to_frame()
    ticked = {(task, label) for task, _, label in bits.itertuples(index=False)}
    return [
        [one for one in labels if (f"{task}: {one}", "yes") in ticked] for task in range(len(cells))
    ]


@pytest.mark.parametrize("separator", [",", ", "])
def test_labels_may_contain_the_separator(separator):
    cells = ["Cheap, but slow, Nice", "Nice, Cheap", "Cheap, Cheap, but slow", "", "Nice"]
    assert sets_of(cells, OPTIONS, separator) == [
        ["Cheap, but slow", "Nice"],
        ["Nice", "Cheap"],
        ["Cheap, but slow", "Cheap"],
        [],
        ["Nice"],
    ]


def test_a_reading_may_need_a_shorter_label_than_the_longest():
    assert sets_of(["a,b,c"], ["a,b", "a", "b,c"], ",") == [["a", "b,c"]]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (
            "a, b",
            "row 1, column 'label': 'a, b' has two readings, 'a, b' or 'a' and 'b'. Use another "
            "separator, or rename one of the labels 'a, b', 'a', 'b'.",
        ),
        (
            "a; b",
            "row 1, column 'label': 'a; b' cannot be divided into the labels 'a, b', 'a', 'b'. "
            "Add the missing label to labels= (on the command line: --multi-label), or "
            "correct the cell.",
        ),
    ],
)
def test_a_cell_with_two_readings_or_none_is_an_error(cell, message):
    with pytest.raises(AnswerError) as caught:
        sets_of(["a", cell], ["a, b", "a", "b"], ",")
    assert str(caught.value) == message


@pytest.mark.parametrize("separator", [None, ",", ";"])
@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ('["a", "x, y"]', ["a", "x, y"]),
        ("['a', 'x, y']", ["a", "x, y"]),
        ("['a' 'x, y']", ["a", "x, y"]),
        ("[]", []),
        ("[7]", ["7"]),
        ('["\\u00e9"]', ["é"]),
    ],
)
def test_lists_in_json_python_and_numpy_are_sets(cell, labels, separator):
    assert sets_of([cell, ""], ["a", "x, y", "7", "é"], separator) == [labels, []]


@pytest.mark.parametrize("cell", ['["a", null]', "[true]", '[["a"]]', "[a]", "['a'", '{"a": 1}'])
def test_other_structures_are_no_sets(cell):
    with pytest.raises(AnswerError, match=r"row 1, column 'label': .* is not one of the labels"):
        sets_of(["a", cell], ["a", "b"], ";")
    with pytest.raises(AnswerError, match=r"row 1, column 'label': .* is a string, not a list"):
        sets_of(["['a']", cell], ["a", "b"])


def test_a_label_in_brackets_is_a_label():
    assert sets_of(["[7]", "[8]"], ["[7]", "8"], ",") == [["[7]"], ["8"]]


SYLLABLES = ["a", "b", "a, b", "b, a", "c"]


@given(
    st.lists(st.lists(st.sampled_from(SYLLABLES), unique=True, max_size=3), min_size=1, max_size=5)
)
def test_a_set_is_read_as_it_was_written_or_refused(sets):
    cells = [", ".join(one) for one in sets]
    if any(_ambiguous(one) for one in cells):
        with pytest.raises(AnswerError, match="has two readings"):
            sets_of(cells, SYLLABLES, ", ")
    else:
        found = sets_of(cells, SYLLABLES, ", ")
        assert found == [sorted(one, key=SYLLABLES.index) for one in sets]


def _ambiguous(cell):
    """Return whether two lists of labels make the same cell, by trying all of them."""
    lengths = range(cell.count(",") + 2)
    lists = itertools.chain(*(itertools.product(SYLLABLES, repeat=length) for length in lengths))
    return sum(", ".join(one) == cell for one in lists if one) > 1
