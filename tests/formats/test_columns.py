from pathlib import Path

import pyarrow as pa
import pytest

from quietcrowd.exceptions import FormatError, QuietcrowdWarning
from quietcrowd.formats.columns import in_time_order, label_column, label_text, resolve

FILE = Path("a.csv")
ANSWERS = ("task", "worker", "label")


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["label", "task", "worker"], ["task", "worker", "label"]),
        (["task", "performer", "label"], ["task", "performer", "label"]),
        (["workerId", "taskId", "answer"], ["taskId", "workerId", "answer"]),
        (["task", "worker", "performer", "answer", "label"], ["task", "worker", "label"]),
    ],
)
def test_names_of_other_programs_are_known(names, found):
    assert list(resolve(FILE, names, ANSWERS).values()) == found


def test_a_truth_is_no_answer():
    assert "label" not in resolve(FILE, ["task", "worker", "truth"], ANSWERS)
    for name in ("truth", "true_label", "agg_label"):
        assert resolve(FILE, ["task", name], ("task", "label")) == {"task": "task", "label": name}


def test_names_that_the_caller_gives_have_no_others():
    assert resolve(FILE, ["task", "worker", "answer"], ("task", "worker", "said")) == {
        "task": "task",
        "worker": "worker",
    }


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["task", "performer", "workerId", "label"], "'performer' and 'workerId' could each be"),
        (["task", "task", "worker", "label"], "2 columns have the name 'task'"),
        (["task", "performer", "performer", "label"], "2 columns have the name 'performer'"),
    ],
)
def test_what_is_not_clear_is_an_error(names, told):
    with pytest.raises(FormatError, match=told):
        resolve(FILE, names, ANSWERS)


@pytest.mark.parametrize(
    ("answers", "several", "labels"),
    [
        ([["a"], [], None], False, ["a", None, None]),
        ([["a"], [], None], True, [["a"], [], None]),
        ([["a", "b"], "c", None], False, [["a", "b"], ["c"], None]),
        ([1, None, 0.5], True, [1, None, 0.5]),
    ],
)
def test_labels_are_lists_if_an_answer_has_several(answers, several, labels):
    assert label_column(answers, several=several).to_pylist() == labels


def test_missing_labels_are_texts():
    assert label_column([None, []]).type == pa.string()


def test_no_rows_are_in_order():
    empty = pa.table({name: pa.array([], pa.string()) for name in ("task", "worker", "time")})
    assert in_time_order(empty).column_names == ["task", "worker"]


def test_times_that_cannot_be_compared_leave_the_order_of_rows():
    table = pa.table({"task": ["p", "p"], "worker": ["a", "a"], "time": ["1/2/2024", "1/1/2024"]})
    with pytest.warns(QuietcrowdWarning, match="such as '1/2/2024', cannot be compared"):
        assert in_time_order(table).column_names == ["task", "worker"]


@pytest.mark.parametrize(
    ("value", "text"), [("None", "None"), ("", ""), (3, "3"), (0.5, "0.5"), (True, "true")]
)
def test_one_value_is_a_label(value, text):
    assert label_text(FILE, "row 0", "Tone", value, "a text") == text


@pytest.mark.parametrize("value", [None, [], ["a"], {"x": 1}])
def test_a_structure_is_not_a_label(value):
    message = r"a\.csv: row 0, 'Tone': .* is not a label\. An answer must be a text$"
    with pytest.raises(FormatError, match=message):
        label_text(FILE, "row 0", "Tone", value, "a text")
