import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical, Interval
from quietcrowd.exceptions import AnswerError, ChangedValuesWarning, ParameterError
from quietcrowd.task_options import TaskOptions

PETS = {"q1": ["dog", "cat"], "q2": ["oak", "elm", "fir"]}
ROWS = pd.DataFrame(
    [("q2", "ann", "fir"), ("q1", "ann", "cat"), ("q1", "bob", "dog"), ("q2", "bob", "oak")],
    columns=["task", "worker", "label"],
)
TABLE = pd.DataFrame(
    [("q2", "oak"), ("q1", "dog"), ("q2", "elm"), ("q1", "cat"), ("q2", "fir")],
    columns=["task", "label"],
)


def listed(options):
    return options.to_dict()["tasks"], options.to_dict()["options"]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_has_a_row_per_option(library):
    options = TaskOptions.read(library(TABLE.to_dict("list")))
    assert listed(options) == (["q2", "q1"], [["oak", "elm", "fir"], ["dog", "cat"]])
    assert options.domain == Categorical(["oak", "dog", "elm", "cat", "fir"])
    assert listed(TaskOptions.read(options.to_frame())) == listed(options)


def test_a_mapping_has_a_list_per_task():
    options = TaskOptions.read({7: (1, 2), 8: {3, 1}}, Categorical([1, 2, 3]))
    assert listed(options) == (["7", "8"], [[1, 2], [1, 3]])
    assert options.sizes.tolist() == [2, 2]
    assert TaskOptions.read(options, Categorical([3, 2, 1])).codes.tolist() == [2, 1, 2, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"q1": "dog"}, "task 'q1' needs a list of labels; got 'dog'"),
        ({"q1": 3}, "task 'q1' needs a list of labels; got 3"),
        ({"q1": ["dog", "dog"]}, "task 'q1' has 'dog' twice"),
        ({"q1": ["dog", 3]}, "tasks must be of one type, and labels too"),
        ({}, "there is no option"),
        ({"q1": []}, "there is no option"),
        (
            {"q1": ["dog", "NA"]},
            "options: row 1, column 'label': the option is missing .'NA' marks",
        ),
        ({"": ["dog"]}, "options: row 0, column 'task': the id is missing"),
        (TABLE.rename(columns={"label": "option"}), "options: column 'label' is missing"),
        (TABLE.assign(task=None), "options: row 0, column 'task': the id is missing"),
    ],
)
def test_options_that_cannot_be_read(options, message):
    with pytest.raises(AnswerError, match=message):
        TaskOptions.read(options)


def test_options_are_labels_of_the_domain():
    with pytest.raises(AnswerError, match="'dog', of task 'q1', is outside the domain 'cat'"):
        TaskOptions.read(PETS, Categorical(["cat", "oak"]))
    with pytest.raises(AnswerError, match=r"options are labels, but the domain is 0.0 to 1.0"):
        TaskOptions.read(PETS, Interval(low=0, high=1))


@given(st.data())
def test_positions_lead_back_to_the_answers(data):
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=8))
    draw = st.permutations(range(9))
    lists = {task: data.draw(draw)[:size] for task, size in enumerate(sizes)}
    options = TaskOptions.read(lists, Categorical(range(9)))
    tasks = np.array(data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=20)), np.intp)
    values = np.array([data.draw(st.integers(0, 8)) for _ in tasks], np.uint8)
    positions = options.positions(tasks, values)
    for task, value, position in zip(tasks, values, positions, strict=True):
        assert position == (lists[task].index(value) if value in lists[task] else -1)
    found = positions >= 0
    assert options.at(tasks[found], positions[found]).tolist() == values[found].tolist()
    assert options.at(tasks, positions * 0).dtype == options.domain.dtype


def test_options_equal_those_of_their_description():
    options = TaskOptions.read(TABLE)
    again = TaskOptions.from_dict(options.to_dict(), options.domain)
    assert again == options
    assert hash(again) == hash(options)
    assert options.canonical == TaskOptions.read(PETS, options.domain)
    assert options != options.canonical
    swapped = {**PETS, "q2": ["elm", "oak", "fir"]}
    assert options.canonical != TaskOptions.read(swapped, options.domain)
    assert options.canonical != TaskOptions.read(PETS)


def test_answers_have_options_in_the_order_of_their_tasks():
    answers = Answers.from_frame(ROWS, options=PETS)
    assert answers.domain.labels == ("dog", "cat", "oak", "elm", "fir")
    assert listed(answers.options) == (["q2", "q1"], [["oak", "elm", "fir"], ["dog", "cat"]])
    assert listed(answers.canonical.options)[0] == ["q1", "q2"]
    assert answers.to_frame()["label"].tolist() == ["fir", "oak", "cat", "dog"]
    described = answers.describe()
    assert (described.options_per_task.least, described.options_per_task.most) == (2, 3)
    assert described.to_dict()["options_per_task"]["mean"] == 2.5
    plain = Answers.from_frame(ROWS, answers.domain).describe()
    assert "options_per_task" not in plain.to_dict()
    assert repr(answers).endswith("with options per task)")
    assert Answers.from_frame(ROWS, answers.domain).with_options(TABLE).options == answers.options


def test_an_answer_outside_the_options_names_row_task_and_options():
    other = ROWS.replace("fir", "dog")
    message = (
        "row 0, column 'label': 'dog' is not an option of task 'q2', whose options are 'oak', "
        "'elm', 'fir'. Add it to options=, or drop the row with out_of_domain=\"skip\"."
    )
    with pytest.raises(AnswerError) as raised:
        Answers.from_frame(other, options=PETS)
    assert str(raised.value) == message
    skipped = Answers.from_frame(other, options=PETS, out_of_domain="skip")
    assert (len(skipped), skipped.dropped.out_of_domain) == (3, 1)
    stranger = Answers.from_frame(ROWS.replace("fir", "yew"), options=PETS, out_of_domain="skip")
    assert stranger.dropped.out_of_domain == 1
    with pytest.raises(AnswerError, match="row 0, column 'label': 'dog' is not an option"):
        Answers.from_frame(other, Categorical(skipped.domain.labels)).with_options(PETS)


def test_a_missing_answer_stays_a_missing_answer():
    with pytest.raises(AnswerError, match="row 1, column 'label': the answer is missing"):
        Answers.from_frame(ROWS.replace("cat", ""), options=PETS)


def test_every_task_has_options():
    with pytest.raises(AnswerError, match="row 0: task 'q2' has no options"):
        Answers.from_frame(ROWS, options={"q1": ["dog", "cat"]})
    with pytest.raises(AnswerError, match=r"^task 'q3' has no options"):
        Answers.from_frame(ROWS, options=PETS, tasks=["q1", "q2", "q3"])
    more = Answers.from_frame(ROWS, options={**PETS, "q3": ["a", "b"]})
    assert len(more.options) == 2


def test_a_domain_or_options_are_needed():
    with pytest.raises(ParameterError, match="domain must be Categorical"):
        Answers.from_frame(ROWS)


def test_ids_and_labels_are_cleaned_as_those_of_answers():
    with pytest.warns(ChangedValuesWarning):
        options = TaskOptions.read({"q1 ": ["cafe\u0301", "tea"]})
    assert listed(options) == (["q1"], [["caf\u00e9", "tea"]])
    marks = TaskOptions.read({"q1": ["None", "NA"]}, missing=())
    assert listed(marks) == (["q1"], [["None", "NA"]])


def test_options_of_other_tasks_or_answers_are_rejected():
    answers = Answers.from_frame(ROWS, options=PETS)
    for options in (answers.canonical.options, TaskOptions.read(PETS)):
        with pytest.raises(AnswerError, match="options must be those of the tasks"):
            Answers(
                domain=answers.domain,
                tasks=answers.tasks,
                workers=answers.workers,
                offsets=answers.offsets,
                worker_codes=answers.worker_codes,
                values=answers.values,
                options=options,
            )


def test_values_of_another_domain_have_no_options():
    answers = Answers.from_frame(ROWS, options=PETS)
    assert answers.with_values(answers.domain, answers.values).options is answers.options
    other = answers.with_values(Interval(low=0, high=9), np.zeros(4))
    assert other.options is None


def test_wide_tables_have_options_too():
    frame = pd.DataFrame({"id": ["ann", "bob"], "q1": ["cat", "dog"], "q2": ["fir", "oak"]})
    domain = Categorical(["dog", "cat", "oak", "elm", "fir"])
    answers = Answers.from_wide(frame, domain, worker="id", options=PETS)
    assert listed(answers.options) == (["q1", "q2"], [["dog", "cat"], ["oak", "elm", "fir"]])
