import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical, Interval
from quietcrowd.exceptions import AnswerError, ParameterError, QuietcrowdWarning
from quietcrowd.testing import crowds

DOMAIN = Categorical(["no", "yes"])
FRAME = pd.DataFrame(
    {
        "task": ["b", "a", "b", "a"],
        "worker": ["v", "u", "u", "v"],
        "label": ["yes", "no", "no", "yes"],
    }
)


def test_rows_are_sorted_by_task_then_worker():
    answers = Answers.from_frame(FRAME, DOMAIN)
    assert answers.tasks.to_pylist() == ["b", "a"]
    assert answers.workers.to_pylist() == ["v", "u"]
    assert answers.offsets.tolist() == [0, 2, 4]
    assert answers.worker_codes.tolist() == [0, 1, 0, 1]
    assert answers.values.tolist() == [1, 0, 1, 0]
    assert answers.worker_codes.dtype == np.int32
    assert answers.values.dtype == np.uint8


@pytest.mark.slow
@given(crowds(domain=DOMAIN), st.randoms(use_true_random=False))
def test_every_row_is_kept_whatever_the_order(frame, random):
    order = list(range(len(frame)))
    random.shuffle(order)
    answers = Answers.from_frame(frame.iloc[order], DOMAIN)
    columns = ["task", "worker", "label"]
    back = answers.to_frame()[columns].sort_values(columns[:2]).reset_index(drop=True)
    expected = frame.sort_values(columns[:2]).reset_index(drop=True)
    assert back.to_dict("list") == expected.to_dict("list")
    assert (np.diff(answers.task_codes) >= 0).all()


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: frame,
        pl.from_pandas,
        pa.Table.from_pandas,
        lambda frame: frame.astype({"task": "category", "worker": "category"}),
        lambda frame: frame.astype(object),
        lambda frame: pl.from_pandas(frame).with_columns(pl.col("task").cast(pl.Categorical)),
    ],
)
def test_every_dataframe_library(convert):
    answers = Answers.from_frame(convert(FRAME), DOMAIN)
    pd.testing.assert_frame_equal(
        answers.to_frame().sort_values(["task", "worker"]).reset_index(drop=True),
        FRAME.sort_values(["task", "worker"]).reset_index(drop=True),
        check_dtype=False,
    )
    assert isinstance(answers.to_frame("polars"), pl.DataFrame)
    assert isinstance(answers.to_frame("pyarrow"), pa.Table)


def test_full_lists_of_ids():
    answers = Answers.from_frame(FRAME, DOMAIN, tasks=["a", "b", "c"], workers=["w", "u", "v"])
    assert answers.answers_per_task.tolist() == [2, 2, 0]
    assert answers.answers_per_worker.tolist() == [0, 2, 2]
    with pytest.raises(
        AnswerError, match="row 0, column 'task': 'b' is not in the list of 2 tasks"
    ):
        Answers.from_frame(FRAME, DOMAIN, tasks=["a", "c"])
    with pytest.raises(AnswerError, match="each id once"):
        Answers.from_frame(FRAME, DOMAIN, workers=["u", "v", "v"])
    with pytest.raises(AnswerError, match=r"'[uv]' is not in the list of 2 workers"):
        Answers.from_frame(FRAME, DOMAIN, workers=[1, 2])


def test_other_column_names():
    renamed = FRAME.rename(columns={"task": "item", "worker": "who", "label": "answer"})
    assert len(Answers.from_frame(renamed, DOMAIN, "item", "who", "answer")) == 4


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            FRAME.drop(columns="worker"),
            r"column 'worker' is missing; there are 'task', 'label'",
        ),
        (
            FRAME.assign(label=["yes", "maybe", "no", "no"]),
            r"row 1, column 'label': 'maybe' is out",
        ),
        (FRAME.assign(label=["yes", None, "no", "no"]), r"row 1, .* the answer is missing"),
        (FRAME.assign(task=["a", "b", None, "b"]), r"row 2, column 'task': the id is missing"),
        (FRAME.assign(worker=[1.0, np.nan, 2.0, 3.0]), r"row 1, column 'worker': the id is miss"),
        (FRAME.assign(worker=["v", "u", "v", "v"]), r"row 2, .* 'v' answered task 'b' in row 0"),
        (FRAME.iloc[:0], r"no row"),
        (FRAME.assign(task=[(1,), (2,), (3,), (4,)]), r"column 'task' has list"),
        (
            FRAME.assign(task=["a", 1, "b", 2]),
            r"column 'task' is unreadable or has values of more than one type",
        ),
    ],
)
def test_bad_frames_name_the_place(frame, message):
    with pytest.raises(AnswerError, match=message):
        Answers.from_frame(frame, DOMAIN)


def test_not_a_number_is_no_answer():
    frame = FRAME.assign(label=[1.0, np.nan, 2.0, 3.0])
    with pytest.raises(AnswerError, match="row 1, column 'label': the answer is missing"):
        Answers.from_frame(frame, Interval(low=0, high=5))


def test_duplicates_are_kept_once_and_counted():
    frame = pd.concat([FRAME, FRAME.iloc[[0]].assign(label="no")])
    first = Answers.from_frame(frame, DOMAIN, duplicates="first")
    last = Answers.from_frame(frame, DOMAIN, duplicates="last")
    assert first.values.tolist() == [1, 0, 1, 0]
    assert last.values.tolist() == [0, 0, 1, 0]
    assert first.dropped.duplicates == last.dropped.duplicates == 1


def test_skipped_answers_are_counted():
    frame = FRAME.assign(label=["yes", "maybe", None, "no"])
    answers = Answers.from_frame(frame, DOMAIN, out_of_domain="skip")
    assert answers.dropped.out_of_domain == 2
    assert len(answers) == 2
    with pytest.raises(AnswerError, match="no answer lies in the domain"):
        Answers.from_frame(frame, Categorical([1, 2]), out_of_domain="skip")


def test_an_answer_that_was_withdrawn_later_is_reported():
    rows = {"task": [1, 1, 2], "worker": ["u", "u", "u"], "label": ["no", None, "yes"]}
    with pytest.warns(QuietcrowdWarning, match="a worker and a task with one: 1. The valid answer"):
        answers = Answers.from_frame(
            pd.DataFrame(rows), Categorical(["no", "yes"]), duplicates="last", out_of_domain="skip"
        )
    assert answers.values.tolist() == [0, 1]


def test_skipped_rows_do_not_shift_the_row_of_a_duplicate():
    frame = pd.concat([FRAME.assign(label=["maybe", "no", "no", "no"]), FRAME.iloc[[1]]])
    with pytest.raises(AnswerError, match=r"row 4, .* in row 1 already"):
        Answers.from_frame(frame, DOMAIN, out_of_domain="skip")


def test_unknown_options_are_parameter_errors():
    with pytest.raises(ParameterError, match="duplicates must be one of 'error', 'first', 'last'"):
        Answers.from_frame(FRAME, DOMAIN, duplicates="drop")
    with pytest.raises(ParameterError, match="backend must be one of"):
        Answers.from_frame(FRAME, DOMAIN).to_frame("excel")


def test_canonical_order_depends_on_ids_alone():
    one = Answers.from_frame(FRAME, DOMAIN, workers=["w", "v", "u"]).canonical
    other = Answers.from_frame(FRAME.iloc[::-1], DOMAIN, workers=["u", "v", "w"]).canonical
    assert one.tasks.to_pylist() == other.tasks.to_pylist() == ["a", "b"]
    assert one.workers.to_pylist() == other.workers.to_pylist() == ["u", "v", "w"]
    for name in ("offsets", "worker_codes", "values"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist()
    assert one.canonical is one
    columns = ["task", "worker", "label"]
    back = one.to_frame()[columns].sort_values(columns[:2]).to_dict("list")
    assert back == FRAME.sort_values(columns[:2]).to_dict("list")


@pytest.mark.parametrize("listed", [{"tasks": ["b", "a"]}, {"workers": ["w", "v", "u"]}])
def test_canonical_order_sorts_tasks_and_workers_each(listed):
    rows = FRAME.sort_values(["task", "worker"])
    canonical = Answers.from_frame(rows, DOMAIN, **listed).canonical
    for ids in (canonical.tasks.to_pylist(), canonical.workers.to_pylist()):
        assert ids == sorted(ids)


def test_categories_that_do_not_occur_are_no_ids():
    frame = FRAME.astype({"task": "category", "worker": "category"})
    answers = Answers.from_frame(frame[frame["task"] == "a"], DOMAIN)
    assert answers.tasks.to_pylist() == ["a"]
    enum = pl.from_pandas(FRAME).with_columns(pl.col("task").cast(pl.Enum(["z", "a", "b"])))
    assert sorted(Answers.from_frame(enum, DOMAIN).tasks.to_pylist()) == ["a", "b"]
    twice = pa.DictionaryArray.from_arrays([0, 1, 2], pa.array(["a", "a", None]))
    table = pa.table({"task": twice.slice(0, 2), "worker": ["u", "v"], "label": ["no", "yes"]})
    assert Answers.from_frame(table, DOMAIN).tasks.to_pylist() == ["a"]
    table = pa.table({"task": twice, "worker": ["u", "v", "w"], "label": ["no"] * 3})
    with pytest.raises(AnswerError, match="row 2, column 'task': the id is missing"):
        Answers.from_frame(table, DOMAIN)


@pytest.mark.parametrize(
    "column",
    [
        [1, 2**65, 3, 4],
        [b"a", b"b", b"c", b"d"],
        [1j, 2j, 3j, 4j],
        ["a", "b", "\ud800", "d"],
        [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}],
    ],
)
@pytest.mark.parametrize("name", ["task", "worker", "label"])
def test_strange_columns_are_answer_errors(column, name):
    frame = FRAME.assign(**{name: pd.Series(column, dtype=object)})
    with pytest.raises(AnswerError):
        Answers.from_frame(frame, DOMAIN)


def test_a_column_twice_is_an_answer_error():
    frame = pd.concat([FRAME, FRAME["label"]], axis=1)
    with pytest.raises(AnswerError, match="label"):
        Answers.from_frame(frame, DOMAIN)


def test_answers_cannot_be_changed_through_the_arrays_they_were_made_of():
    answers = Answers.from_frame(FRAME, DOMAIN)
    values = np.array([0, 1, 0, 1], np.uint8)
    changed = answers.with_values(DOMAIN, values)
    values[:] = 77
    assert changed.values.tolist() == [0, 1, 0, 1]


def test_answers_cannot_be_changed():
    answers = Answers.from_frame(FRAME, DOMAIN)
    with pytest.raises(ValueError, match="read-only"):
        answers.values[0] = 1
    with pytest.raises(AttributeError):
        answers.domain = DOMAIN
    with pytest.raises(ParameterError, match="values must have length 4"):
        answers.with_values(DOMAIN, np.zeros(3, np.uint8))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": [0, 2]}, "offsets must increase"),
        ({"offsets": [0, 3, 2]}, "offsets must increase"),
        ({"offsets": [0, 3, 5]}, "offsets must increase"),
        ({"offsets": [1, 2, 4]}, "offsets must increase"),
        ({"worker_codes": np.array([0, 1, 2, 3])}, "positions of the 2 workers"),
        ({"worker_codes": np.array([-1, 0, 0, 1])}, "positions of the 2 workers"),
        ({"values": np.array([0, 1, 2, 0], np.uint8)}, "values must lie in the domain"),
        ({"values": np.array([0, 1, 1, 0])}, "values must lie in the domain"),
        ({"tasks": pa.array(["a", "a"])}, "tasks must contain each id once"),
        ({"workers": pa.array(["u", None])}, "workers must contain each id once"),
    ],
)
def test_parts_that_do_not_fit_are_refused_before_a_kernel_reads_them(change, message):
    with pytest.raises(AnswerError, match=message):
        attrs.evolve(Answers.from_frame(FRAME, DOMAIN), **change)


@pytest.mark.slow
@given(
    crowds(domain=DOMAIN),
    st.lists(st.sampled_from(["maybe", None, "YES", "yes!", "", "no"]), min_size=64, max_size=64),
    st.booleans(),
    st.sampled_from(["error", "first", "last"]),
    st.booleans(),
)
def test_bad_rows_are_refused_or_counted_and_nothing_else(frame, odd, mix, duplicates, skip):
    """Every row is kept, or dropped and counted, or an error that says where."""
    if mix:
        frame = frame.assign(label=odd[: len(frame)])
    frame = pd.concat([frame, frame.iloc[: len(frame) // 2]])
    outside = int((~frame["label"].isin(DOMAIN.labels)).sum())
    try:
        answers = Answers.from_frame(
            frame, DOMAIN, duplicates=duplicates, out_of_domain="skip" if skip else "error"
        )
    except AnswerError as error:
        assert duplicates == "error" or (outside and not skip) or outside == len(frame)
        assert "row" in str(error) or "no answer" in str(error)  # noqa: PT017
    else:
        assert answers.dropped.out_of_domain == outside
        assert len(answers) + answers.dropped.duplicates + outside == len(frame)


@pytest.mark.parametrize("rows", [[], [(2, "u", 1)], [(1, "u", 0), (2, "u", 1)]])
@pytest.mark.parametrize("listed", [["1", "2"], [1, 2], [np.int8(1), np.int8(2)]])
def test_listed_ids_match_by_what_they_print_as(rows, listed):
    """With rows or without: whether a worker answered must not decide whether ids fit."""
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    answers = Answers.from_frame(frame, Categorical([0, 1]), tasks=listed, workers=["u", "v"])
    assert [str(task) for task in answers.tasks.to_pylist()] == ["1", "2"]
    assert type(answers.tasks[0].as_py()) is (str if listed[0] == "1" else int)
    assert answers.answers_per_task.sum() == len(rows)


@pytest.mark.parametrize("listed", [[[1]], [2**70], [1, "a"], [1, None], [1, 1]])
@pytest.mark.parametrize("rows", [[], [(1, "u", 0)]])
def test_lists_that_are_none(rows, listed):
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    with pytest.raises(AnswerError, match="tasks="):
        Answers.from_frame(frame, Categorical([0, 1]), tasks=listed, workers=["u"])
