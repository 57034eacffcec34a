"""Paired comparisons as answers of left and right, and what is refused of them."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.comparisons import BETWEEN, SIDES, SIDES_AND_TIE, item_ids, pairs_of
from quietcrowd.exceptions import AnswerError, ChangedValuesWarning, ParameterError

COLUMNS = ["worker", "left", "right", "label"]


def frame_of(*rows):
    return pd.DataFrame(list(rows), columns=COLUMNS)


GOOD = ("ann", "tea", "coffee", "tea")


def test_a_pair_is_a_task_and_the_item_chosen_is_a_side():
    answers = qc.Answers.from_comparisons(frame_of(GOOD, ("bob", "coffee", "tea", "tea")))
    assert answers.domain == SIDES
    assert answers.to_frame().to_dict("list") == {
        "task": ["tea | coffee", "coffee | tea"],
        "worker": ["ann", "bob"],
        "label": ["left", "right"],
    }


def test_no_name_of_the_item_chosen_is_in_the_answers():
    """Whoever chose what, tasks are the same: only values differ."""
    one, other = (
        qc.Answers.from_comparisons(frame_of(("ann", "tea", "coffee", chosen)))
        for chosen in ("tea", "coffee")
    )
    assert one.tasks.equals(other.tasks)
    assert one.values.tolist() != other.values.tolist()


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, pl.LazyFrame])
def test_frames_of_all_libraries_with_names_of_their_own(kind):
    columns = {"who": ["ann"], "a": [1], "b": [2], "won": [2]}
    answers = qc.Answers.from_comparisons(
        kind(columns), worker="who", left="a", right="b", label="won"
    )
    assert answers.to_frame().to_numpy().tolist() == [["1 | 2", "ann", "right"]]


def test_crowd_kit_may_call_workers_performers():
    answers = qc.Answers.from_comparisons(frame_of(GOOD).rename(columns={"worker": "performer"}))
    assert answers.workers.to_pylist() == ["ann"]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (("ann", "tea", "tea", "tea"), "row 1, columns 'left' and 'right': item 'tea' is compared"),
        (("ann", "tea", "milk", "cola"), "row 1, column 'label': 'cola' is neither 'tea' nor"),
        (("ann", "tea", "milk", "Left"), "row 1, column 'label': 'Left' is neither"),
        (("ann", "right", "tea", "right"), "row 1, column 'label': 'right' names one item and"),
        (("ann", "tea", "milk", "tie"), "row 1, column 'label': 'tie' is neither side"),
        (("ann", "tea", "milk", None), "row 1, column 'label': no item was chosen. The label of a"),
        (("ann", None, "milk", "milk"), "row 1, column 'left': the cell is empty"),
        (("ann", "tea", None, "tea"), "row 1, column 'right': the cell is empty"),
        ((None, "tea", "milk", "tea"), "row 1, column 'worker': the cell is empty"),
        (("ann", "tea", "", "tea"), "row 1, column 'right': the cell is empty"),
        (("ann", "a | b", "milk", "milk"), "row 1, column 'left': the item name 'a |"),
        (("ann", "| b", "milk", "milk"), "row 1, column 'left': the item name '| b'"),
        (GOOD, "row 1, columns 'left | right' and 'worker': worker 'ann' answered task 'tea | co"),
    ],
)
def test_a_row_that_is_no_comparison_is_named(row, told):
    with pytest.raises(AnswerError) as error:
        qc.Answers.from_comparisons(frame_of(GOOD, row))
    assert told in str(error.value)


def test_a_missing_column_and_no_row_are_errors():
    with pytest.raises(AnswerError, match=r"column 'right' is missing.*right= and label="):
        qc.Answers.from_comparisons(frame_of(GOOD).drop(columns="right"))
    with pytest.raises(AnswerError, match="the frame has no row"):
        qc.Answers.from_comparisons(frame_of())


def test_a_second_comparison_can_be_left_out():
    frame = frame_of(GOOD, ("ann", "tea", "coffee", "coffee"))
    answers = qc.Answers.from_comparisons(frame, duplicates="last")
    assert answers.to_frame()["label"].tolist() == ["right"]
    assert answers.dropped.duplicates == 1


NAMES = st.text(st.sampled_from("ab |é"), max_size=4).map(str.strip)


@given(NAMES, NAMES)
def test_a_task_is_named_by_its_pair_alone_or_refused(left, right):
    frame = frame_of(("ann", left, right, left))
    if left == right or any(not one or BETWEEN in f" {one} " for one in (left, right)):
        with pytest.raises(AnswerError, match="row 0"):
            qc.Answers.from_comparisons(frame)
        return
    answers = qc.Answers.from_comparisons(frame)
    pairs = pairs_of(answers.tasks)
    assert pairs.items.to_pylist() == [left, right]
    assert (pairs.left.tolist(), pairs.right.tolist()) == ([0], [1])


@pytest.mark.parametrize("name", ["tea", "tea | ", " | tea", "a | b | c", "a | a", "a | | b"])
def test_other_tasks_are_named(name):
    with pytest.raises(AnswerError, match="does not name a pair of items"):
        pairs_of(pa.array(["x | y", name]))


def test_ids_of_items_keep_their_type_where_both_columns_agree():
    assert item_ids(pd.DataFrame({"left": [3, 1], "right": [1, 2]})).to_pylist() == [3, 1, 2]
    assert item_ids(pd.DataFrame({"left": [3], "right": ["x"]})).to_pylist() == ["3", "x"]


ARENA = pd.DataFrame(
    {
        "question_id": [1, 2, 3, 4],
        "model_a": ["lark", "wren", "lark", "wren"],
        "model_b": ["wren", "finch", "finch", "lark"],
        "winner": ["model_a", "model_b", "tie", "tie (bothbad)"],
        "judge": ["ann", "ann", "bob", "bob"],
    }
)


def test_results_of_an_arena_are_comparisons():
    answers = qc.Answers.from_comparisons(ARENA, ties="keep")
    assert answers.domain == SIDES_AND_TIE
    assert answers.to_frame().to_numpy().tolist() == [
        ["lark | wren", "ann", "left"],
        ["wren | finch", "ann", "right"],
        ["lark | finch", "bob", "tie"],
        ["wren | lark", "bob", "tie"],
    ]


@pytest.mark.parametrize(
    ("chosen", "side"),
    [("tea", "left"), ("left", "left"), ("right", "right"), ("Draw", "tie"), ("both_bad", "tie")],
)
def test_a_label_is_an_item_or_a_side_or_a_tie(chosen, side):
    answers = qc.Answers.from_comparisons(frame_of(("ann", "tea", "milk", chosen)), ties="keep")
    assert answers.to_frame()["label"].tolist() == [side]


def test_an_item_may_be_called_tie():
    answers = qc.Answers.from_comparisons(frame_of(("ann", "scarf", "tie", "tie")), ties="keep")
    assert answers.to_frame()["label"].tolist() == ["right"]


def test_a_column_may_name_the_side_that_it_shows():
    frame = pd.DataFrame({"who": ["ann"], "a": ["x"], "b": ["y"], "won": ["b"]})
    answers = qc.Answers.from_comparisons(frame, worker="who", left="a", right="b", label="won")
    assert answers.to_frame()["label"].tolist() == ["right"]


def test_what_to_do_with_ties_has_two_names():
    with pytest.raises(ParameterError, match="ties must be one of"):
        qc.Answers.from_comparisons(frame_of(GOOD), ties="half")


def test_items_are_clean_and_marks_are_missing():
    frame = frame_of(
        ("ann", "tea ", "caf\u00e9", "tea"), ("bob", "tea", "cafe\u0301", "cafe\u0301")
    )
    with pytest.warns(ChangedValuesWarning) as caught:
        answers = qc.Answers.from_comparisons(frame)
    assert answers.to_frame()["task"].tolist() == ["tea | caf\u00e9"] * 2
    assert answers.to_frame()["label"].tolist() == ["left", "right"]
    assert {one.message.fields["name"] for one in caught} == {"left", "right", "label"}
    assert item_ids(frame).to_pylist() == ["tea", "caf\u00e9"]
    with (
        pytest.warns(ChangedValuesWarning, match="'NA' marks a missing value"),
        pytest.raises(AnswerError, match="row 0, column 'label': no item was chosen"),
    ):
        qc.Answers.from_comparisons(frame_of(("ann", "tea", "milk", "NA")))
