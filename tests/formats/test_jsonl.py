"""Objects of JSON: missing keys, NaN, lists of rows, and values of several types."""

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import FormatError
from quietcrowd.formats import read_table
from quietcrowd.formats.registry import format_of, place_of_row, read_names

ANSWERS = ("task", "worker", "label")
DOMAIN = qc.Categorical(["cat", "dog"])


@pytest.fixture
def file(tmp_path):
    def write(text, name="a.jsonl"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_key_that_some_rows_lack_is_missing_there(file):
    path = file('{"task": 1, "worker": "a"}\n\n{"task": 1, "worker": "b", "label": "cat"}\n')
    assert read_names(path) == ["task", "worker", "label"]
    assert read_table(path, ANSWERS)["label"].to_pylist() == [None, "cat"]
    answers = qc.read_answers(path, DOMAIN, out_of_domain="skip")
    assert (len(answers), answers.dropped.out_of_domain) == (1, 1)
    with pytest.raises(qc.exceptions.AnswerError, match="row 0 is line 1 of the file"):
        qc.read_answers(path, DOMAIN)


def test_nan_is_a_missing_answer(file):
    rows = (
        '{"task": 1, "worker": "a", "label": NaN}',
        '{"task": 1, "worker": "b", "label": "cat"}',
    )
    assert read_table(file("\n".join(rows)), ANSWERS)["label"].to_pylist() == [None, "cat"]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.ndjson"])
@pytest.mark.parametrize("between", [",", ",\n "])
def test_a_list_of_rows_is_a_table(file, name, between):
    rows = ['{"taskId": 1, "worker": "a", "label": "cat"}', '{"taskId": 2, "worker": "a"}']
    path = file(f"[{between.join(rows)}]", name)
    assert format_of(path).typed
    expected = [
        {"task": 1, "worker": "a", "label": "cat"},
        {"task": 2, "worker": "a", "label": None},
    ]
    assert read_table(path, ANSWERS).to_pylist() == expected
    assert read_table(path, ANSWERS, file_format="jsonl").to_pylist() == expected
    assert place_of_row(path, 1, ANSWERS) == "record 1 of the file"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("1", "'1'"), ("True", "'true'"), ("True", "1"), ("'cat'", "['cat']")),
        *(("1", "[]"), ("'cat'", "{'a': 1}")),
    ],
)
def test_values_of_several_types_are_named(file, one, other):
    values = [text.replace("'", '"').replace("True", "true") for text in (one, "null", other)]
    path = file("\n".join(f'{{"task": 1, "worker": 2, "label": {value}}}' for value in values))
    with pytest.raises(FormatError) as caught:
        read_table(path, ANSWERS)
    expected = f"values of more than one type: {one} in line 1, and {other} in line 3. Write them"
    assert expected in str(caught.value)


def test_whole_and_other_numbers_are_one_type(file):
    text = '{"task": 1, "worker": 2, "label": %s}\n'
    assert read_table(file(text % 1 + text % 1.5), ANSWERS)["label"].to_pylist() == [1, 1.5]
    with pytest.raises(FormatError, match="values of key 'label' are unreadable"):
        read_table(file(text % 2**70), ANSWERS)


def test_a_key_of_no_row_is_an_error(file):
    path = file('{"id": 1, "annotator": 2, "label": 3}\n')
    with pytest.raises(FormatError, match=r"no row has the key 'task'; .*'id', .* --columns\)"):
        read_table(path, ANSWERS)
    columns = ("id", "annotator", "label")
    assert read_table(path, columns).to_pylist() == [dict(zip(columns, (1, 2, 3), strict=True))]


@pytest.mark.parametrize("task", ['["a"]', '{"a": 1}'])
def test_an_id_is_no_list(file, task):
    path = file(f'{{"task": {task}, "worker": 2, "label": "cat"}}\n')
    with pytest.raises(FormatError, match=r"'task' has (list|struct)<.* number or boolean$"):
        read_table(path, ANSWERS)
