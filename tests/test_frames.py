"""The mark of a frame stays with it, and rows are sorted."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import MARK, mark_in, mark_of, sort_rows, to_native, unmarked

COLUMNS = {"task": pa.array([1, 2, 2]), "label": pa.array(["a", "b", "a"])}
TEXT = json.dumps({"mechanism": {"mechanism": "one-layer"}, "simulated": True})


@pytest.fixture(params=["pandas", "pyarrow"])
def marked(request):
    return to_native(COLUMNS, request.param, TEXT)


def test_a_mark_is_read_again(marked):
    assert mark_of(marked) == json.loads(TEXT)


def test_polars_has_no_place_for_it():
    pytest.importorskip("polars")
    frame = to_native(COLUMNS, "polars", TEXT)
    assert mark_of(frame) is None
    assert frame.columns == ["task", "label"]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_no_mark_is_none(backend):
    pytest.importorskip(backend)
    frame = to_native(COLUMNS, backend)
    assert mark_of(frame) is None
    assert unmarked(frame) is frame


def test_a_mark_is_taken_off_and_the_given_frame_keeps_it(marked):
    bare = unmarked(marked)
    assert type(bare) is type(marked)
    assert mark_of(bare) is None
    assert mark_of(marked) is not None
    assert bare.equals(marked)


def test_it_goes_from_pandas_into_arrow_and_parquet(tmp_path):
    frame = to_native(COLUMNS, "pandas", TEXT)
    assert mark_of(pa.Table.from_pandas(frame)) == json.loads(TEXT)
    frame.to_parquet(tmp_path / "a.parquet")
    assert mark_of(pd.read_parquet(tmp_path / "a.parquet")) == json.loads(TEXT)
    assert mark_in(pa.parquet.read_schema(tmp_path / "a.parquet")) == json.loads(TEXT)


def test_pandas_does_with_it_what_it_does_without():
    frame = to_native(COLUMNS, "pandas", TEXT)
    plain = to_native(COLUMNS, "pandas")
    assert json.loads(json.dumps(frame.attrs)) == frame.attrs
    for same in (frame[frame["task"] > 1], frame.rename(columns={"label": "answer"}), frame.copy()):
        assert mark_of(same) is not None
    for other in (pickle.loads(pickle.dumps(frame)), copy.deepcopy(frame), pd.concat([frame] * 2)):
        assert mark_of(other) is not None
    both = pd.concat([frame, plain])
    assert mark_of(both) is None
    assert len(both) == 6
    assert len(frame.merge(plain, on="task")) == 5
    assert frame.groupby("task")["label"].count().tolist() == [1, 2]
    assert frame.to_csv() == plain.to_csv()
    pd.testing.assert_frame_equal(frame, plain)


@pytest.mark.parametrize(
    "other", ["mine", "{", "[]", "{}", "3", 3, None, {"mechanism": 1}, "[" * 100_000]
)
def test_what_others_put_in_its_place_is_no_mark(other):
    frame = to_native(COLUMNS, "pandas")
    frame.attrs[MARK] = other
    assert mark_of(frame) is None
    if isinstance(other, str):
        table = to_native(COLUMNS, "pyarrow", other)
        assert mark_of(table) is None
        assert mark_in(table.schema) is None


def test_broken_metadata_of_pandas_are_no_mark():
    table = pa.table(COLUMNS)
    for text in ("{", "[]", "{}", '{"attributes": []}', '{"attributes": null}'):
        assert mark_of(table.replace_schema_metadata({"pandas": text})) is None


def test_what_is_no_frame_has_no_mark():
    with pytest.raises(AnswerError, match="expected a pandas, Polars or PyArrow dataframe"):
        mark_of([1])


ROWS = {"task": [1, 1, 2], "worker": [*"uvu"], "label": [*"aab"]}


def test_a_lazy_frame_is_collected_by_streaming_and_no_more_of_it_than_is_needed(monkeypatch):
    asked = []
    collect = pl.LazyFrame.collect

    def watched(frame, **options):
        asked.append((options.get("engine"), frame.collect_schema().names()))
        return collect(frame, **options)

    monkeypatch.setattr(pl.LazyFrame, "collect", watched)
    lazy = pl.DataFrame({**ROWS, "note": [*"xyz"]}).lazy()
    estimate = qc.MajorityVote().fit(lazy, non_private=True)
    assert asked == [("streaming", ["task", "worker", "label"])]
    assert isinstance(estimate.truths, pl.DataFrame)
    assert estimate.truths["truth"].to_list() == ["a", "b"]
    found = qc.MajorityVote().fit_predict(lazy, non_private=True)
    assert found.columns == ["task", "agg_label"]
    qc.Answers.from_frame(lazy, qc.Categorical([*"ab"]))
    assert asked[-1] == ("streaming", ["task", "worker", "label"])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_may_have_the_names_that_crowd_kit_has(kind):
    frame = kind({"taskId": ROWS["task"], "performer": ROWS["worker"], "answer": ROWS["label"]})
    assert len(qc.Answers.from_frame(frame, qc.Categorical([*"ab"]))) == 3
    assert len(qc.MajorityVote().fit(frame, non_private=True).truths) == 2


def test_another_name_is_none_where_the_usual_one_is_there_or_two_could_be_meant():
    both = pd.DataFrame({**ROWS, "performer": "z"})
    assert qc.MajorityVote().fit(both, non_private=True).workers["worker"].tolist() == ["u", "v"]
    two = pd.DataFrame(ROWS).rename(columns={"worker": "performer"}).assign(workerId="z")
    with pytest.raises(AnswerError, match="column 'worker' is missing"):
        qc.MajorityVote().fit(two, non_private=True)


def test_names_that_differ_by_capital_letters_are_named():
    frame = pd.DataFrame(ROWS).rename(columns=str.title)
    with pytest.raises(AnswerError, match="task='Task', worker='Worker', label='Label'"):
        qc.MajorityVote().fit(frame, non_private=True)
    with pytest.raises(AnswerError, match="task='Task', worker='Worker', label='Label'"):
        qc.Answers.from_frame(frame, qc.Categorical([*"ab"]))


@pytest.mark.parametrize("sizes", [(40, 60), (2**31, 2**31), (1, 1), (2**20, 3)])
def test_rows_are_sorted_whether_or_not_they_fit_into_64_bits(sizes):
    tasks, workers = sizes
    rng = np.random.default_rng(0)
    task_codes = rng.integers(max(0, tasks - 50), tasks, 2_000).astype(np.int32)
    worker_codes = rng.integers(max(0, workers - 50), workers, 2_000).astype(np.int32)
    order, sorted_tasks, sorted_workers = sort_rows(task_codes, worker_codes, tasks, workers)
    assert order.tolist() == np.lexsort((worker_codes, task_codes)).tolist()
    assert sorted_tasks.tolist() == task_codes[order].tolist()
    assert sorted_workers.tolist() == worker_codes[order].tolist()
    assert sorted_tasks.dtype == sorted_workers.dtype == np.int32
