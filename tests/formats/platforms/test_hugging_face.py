"""Data sets of Hugging Face with lists over annotators; all rows are invented."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.registry import read_table

COLUMNS = ("task", "worker", "label")
ROWS = [
    {"id": "t1", "text": "[sic] fine", "labels": [0, 1, 1], "annotator_ids": ["a", "b", "c"]},
    {"id": "t2", "text": "bad", "labels": [1, None], "annotator_ids": ["a", "c"]},
    {"id": "t3", "text": "", "labels": [], "annotator_ids": []},
]
ANSWERS = [("t1", "a", 0), ("t1", "b", 1), ("t1", "c", 1), ("t2", "a", 1), ("t2", "c", None)]


@pytest.fixture
def data_set(tmp_path):
    def write(rows, suffix=".jsonl"):
        path = tmp_path / f"train{suffix}"
        if suffix == ".parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
        else:
            whole = suffix == ".json"
            path.write_text(json.dumps(rows) if whole else "\n".join(map(json.dumps, rows)))
        return path

    return write


def read(path, question=None):
    choice = Choice(field=question)
    table = read_table(path, COLUMNS, file_format="hugging-face", choice=choice, sets=True)
    return list(map(tuple, map(dict.values, table.to_pylist())))


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".ndjson", ".parquet"])
def test_a_row_is_a_task(data_set, suffix):
    assert read(data_set(ROWS, suffix)) == ANSWERS


def test_python_reads_the_same_answers(data_set):
    path = data_set(ROWS[:1])
    answers = qc.read_answers(path, qc.Categorical([0, 1]), file_format="hugging-face")
    assert answers.to_frame().to_numpy().tolist() == [
        ["t1", "a", 0],
        ["t1", "b", 1],
        ["t1", "c", 1],
    ]


@pytest.mark.parametrize(
    ("labels", "workers"),
    [
        ("[0, 1]", '["a", "b"]'),
        ("[0, 1]", "['a', 'b']"),
        ("['x', \"y's\"]", '["a", "b"]'),
        ("['x' \"y's\"]", "['a'\n 'b']"),
    ],
)
def test_a_list_in_csv_is_json_or_python_or_numpy(tmp_path, labels, workers):
    path = tmp_path / "train.csv"
    cells = [f'"{cell.replace(chr(34), 2 * chr(34))}"' for cell in (labels, workers)]
    path.write_text(f"text,labels,annotators\n{'[x'},{','.join(cells)}\n")
    expected = [0, 1] if "0" in labels else ["x", "y's"]
    assert read(path) == [("0", "a", expected[0]), ("0", "b", expected[1])]


NESTED = {"annotators": {"label": [0, 2], "annotator_id": [7, 8], "target": [["x"], []]}}
AS_OBJECTS = {
    "annotators": [
        {"label": 0, "annotator_id": 7, "target": ["x"]},
        {"label": 2, "annotator_id": 8, "target": []},
    ]
}


@pytest.mark.parametrize("row", [NESTED, AS_OBJECTS], ids=["lists", "objects"])
@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_members_of_an_object_are_columns(data_set, row, suffix):
    path = data_set([{"id": 5, "post_tokens": ["u", "v"]} | row], suffix)
    with pytest.raises(
        FormatError, match=r"'post_tokens', 'annotators.label', 'annotators.target'"
    ):
        read(path)
    assert read(path, "annotators.label") == [("5", "7", 0), ("5", "8", 2)]
    assert read(path, "annotators.target") == [("5", "7", ["x"]), ("5", "8", [])]


def test_lists_that_are_not_parallel_are_no_labels(data_set):
    rows = [{"tokens": ["u", "v", "w"], "labels": ["no", "yes"], "worker_ids": [1, 2]}]
    assert read(data_set(rows)) == [("0", "1", "no"), ("0", "2", "yes")]


def test_a_list_may_be_filled_up(data_set):
    rows = [{"labels": [1, None], "annotator_ids": ["a", None]}]
    assert read(data_set(rows)) == [("0", "a", 1)]


@pytest.mark.parametrize(
    "rows",
    [
        [{"text": "x", "labels": [0, 1, 1]}],
        [{"text": "x", "label_counts": {"no": 1, "yes": 2}}],
        [{"text": "x", "no_count": 1, "yes_count": 2}],
        [{"text": "x", "rater_id": "a", "label": 1}],
    ],
    ids=["lists", "object of counts", "columns of counts", "row per annotator"],
)
def test_labels_without_annotators_are_refused(data_set, rows):
    message = (
        r"no column has a list with the ids of the annotators, such as 'annotator_ids'; "
        r"the columns are 'text', .*position in a list is not a person.*one row per annotator$"
    )
    with pytest.raises(FormatError, match=message):
        read(data_set(rows))


GOOD = ROWS[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": [0, 1]}, r"row 1: 'labels' has 2 values, but 'annotator_ids' has 3"),
        ({"labels": None}, r"row 1: 'labels' has 0 values, but 'annotator_ids' has 3"),
        ({"labels": "0 1"}, r"row 1, 'labels': expected a list; got '0 1'"),
        ({"labels": {"a": 1}}, r"row 1, 'labels': expected a list; got \"\{'a': 1\}\""),
        ({"labels": [0, 1, {"start": 3}]}, r"row 1, 'labels': .* is not a label"),
        ({"labels": [0, 1, [["a"]]]}, r"row 1, 'labels': .* is not a label"),
        ({"labels": [0, 1, "x"]}, r"cannot be read as Hugging Face data set"),
        ({"annotator_ids": ["a", "b", None]}, r"row 1: 'annotator_ids' must be a text or a whole"),
        ({"annotator_ids": ["a", "b", 0.5]}, r"row 1: 'annotator_ids' must be a text or a whole"),
        ({"annotator_ids": ["a", "b", ["c"]]}, r"row 1: 'annotator_ids' must be a text or a whole"),
        ({"id": None}, r"row 1: 'id' must be a text or a whole number"),
        ({"id": "t1"}, r"two tasks have the id t1"),
    ],
)
def test_damage_names_the_row(data_set, change, message):
    with pytest.raises(FormatError, match=message):
        read(data_set([GOOD, GOOD | {"id": "t2"} | change]))


def test_a_damaged_object_is_no_answer(data_set):
    row = {"annotators": [{"label": 0, "annotator_id": 7}, "broken"]}
    with pytest.raises(FormatError, match=r"'annotators.annotator_id' must be a text"):
        read(data_set([row]))


def test_damage_in_other_columns_is_let_be(data_set):
    rows = [GOOD | {"tokens": ["a"], "spans": [3, {"x": []}, None]}, ROWS[1] | {"spans": "?"}]
    assert read(data_set(rows), "labels") == ANSWERS


def test_two_columns_of_annotators_are_ambiguous(data_set):
    row = {"labels": [1], "annotator_ids": ["a"], "users": ["b"]}
    message = "'annotator_ids' and 'users' could each be the annotators of 'labels'"
    with pytest.raises(FormatError, match=message):
        read(data_set([row]))


def test_known_truths_are_not_in_lists(data_set):
    with pytest.raises(FormatError, match="Hugging Face data set cannot contain known truths"):
        qc.read_truths(data_set(ROWS), file_format="hugging-face")


def test_other_files_are_not_recognized(data_set):
    row = {"task": "t", "worker": "annotator_ids", "label": "labels", "labels": [], "users": []}
    for suffix in (".jsonl", ".parquet"):
        table = read_table(data_set([row], suffix), COLUMNS)
        assert table.to_pylist() == [{"task": "t", "worker": "annotator_ids", "label": "labels"}]


def test_rows_inside_a_column_are_no_lists_of_one_task(data_set):
    rows = [{"task": 1, "worker": "a", "label": "x"}, {"task": 2, "worker": "a", "label": "y"}]
    with pytest.raises(FormatError, match="the answers are rows inside 'data', and each names"):
        read(data_set([{"data": rows}]))
