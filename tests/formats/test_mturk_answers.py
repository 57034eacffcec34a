"""Forms of Crowd HTML Elements, and a column per radio button; all rows are invented."""

import csv
import json

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import FormatError
from quietcrowd.formats import read_table

COLUMNS = ("task", "worker", "label")


def batch(path, fields, *rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["HITId", "WorkerId", *(f"Answer.{field}" for field in fields)])
        writer.writerows([f"H{place}", "A1", *cells] for place, cells in enumerate(rows))
    return path


def forms(path, *values):
    return batch(path, ["taskAnswers"], *([json.dumps([value])] for value in values))


def labels(path, field=None):
    from quietcrowd.formats.columns import Choice

    return read_table(path, COLUMNS, choice=Choice(field=field))["label"].to_pylist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([{"animal": "cat"}, {"animal": "dog"}], ["cat", "dog"]),
        (
            [{"animal": {"cat": True, "dog": False}}, {"animal": {"cat": False, "dog": True}}],
            ["cat", "dog"],
        ),
        (
            [
                {"cat": {"cat": True}, "dog": {"dog": False}},
                {"cat": {"cat": False}, "dog": {"dog": True}},
            ],
            ["cat", "dog"],
        ),
        ([{"animal": {"label": "cat"}}, {"animal": {"label": "dog"}}], ["cat", "dog"]),
        ([{"stars": 4}, {"stars": "5"}], ["4", "5"]),
        ([{"animal": {"cat": False, "dog": False}}, {"animal": "cat"}], [None, "cat"]),
    ],
    ids=["texts", "options", "buttons", "classifier", "numbers", "nothing is chosen"],
)
def test_the_answer_of_a_form_is_the_label_and_not_its_json(tmp_path, values, expected):
    assert labels(forms(tmp_path / "b.csv", *values)) == expected


def test_one_of_several_fields_of_a_form_is_named(tmp_path):
    path = forms(tmp_path / "b.csv", {"animal": "cat", "sure": {"yes": True, "no": False}})
    with pytest.raises(FormatError, match=r"several questions, 'animal', 'sure'.*--field"):
        labels(path)
    assert labels(path, "sure") == ["yes"]


def test_a_column_per_radio_button_is_one_answer(tmp_path):
    fields = ["animal.cat", "animal.dog", "note"]
    path = batch(tmp_path / "b.csv", fields, ["true", "false", "x"], ["FALSE", "TRUE", ""])
    assert labels(path, "animal") == ["cat", "dog"]
    assert labels(path, "Answer.note") == ["x", None]
    answers = qc.read_answers(path, qc.Categorical(["cat", "dog"]), field="animal")
    assert answers.to_frame()["label"].tolist() == ["cat", "dog"]


def test_columns_that_hold_other_texts_are_fields_of_their_own(tmp_path):
    path = batch(tmp_path / "b.csv", ["animal.cat", "animal.dog"], ["true", "perhaps"])
    with pytest.raises(FormatError, match=r"several questions, 'animal\.cat', 'animal\.dog'"):
        labels(path)


@pytest.mark.parametrize(
    ("fields", "row", "message"),
    [
        (["taskAnswers"], ["cat"], r"row 0, column 'Answer\.taskAnswers': expected the JSON"),
        (["taskAnswers"], ["[1, 2]"], "expected the JSON of a form"),
        (
            ["taskAnswers"],
            [json.dumps([{"animal": {"cat": True, "dog": True}}])],
            "row 0, field 'animal': 'cat' and 'dog' are chosen",
        ),
        (["a.x", "a.y"], ["true", "true"], "row 0, field 'a': 'x' and 'y' are chosen"),
    ],
)
def test_what_is_no_single_answer_is_an_error(tmp_path, fields, row, message):
    with pytest.raises(FormatError, match=message):
        labels(batch(tmp_path / "b.csv", fields, row))
