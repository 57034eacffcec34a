"""Numbers with a decimal comma."""

import pandas as pd
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats.answers import read_scored_truths
from quietcrowd.formats.decimals import with_decimal_points

TEXT = "task;worker;label\na;u;3,5\na;v;4\nb;u;-,5\nb;v;+1,\n"
NUMBERS = qc.Interval(low=-5, high=5)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(TEXT)
    return path


def test_a_decimal_comma_is_read_if_asked_for(file):
    answers = qc.read_answers(file, NUMBERS, decimal=",")
    assert answers.values.tolist() == [3.5, 4.0, -0.5, 1.0]


def test_a_decimal_comma_is_an_error_otherwise(file):
    with pytest.raises(FormatError, match=r"a\.csv: row 0 .*, column 'label': '3,5' .*--decimal ,"):
        qc.read_answers(file, NUMBERS)
    with pytest.raises(ParameterError, match="decimal must be one of"):
        qc.read_answers(file, NUMBERS, decimal=";")


def test_labels_may_have_commas(file):
    domain = qc.Categorical(["3,5", "4", "-,5", "+1,"])
    assert len(qc.read_answers(file, domain)) == 4
    file.write_text('task,worker,label\na,u,"3,5"\na,v,"cat, dog"\n')
    assert qc.formats.read_table(file, ("label",), decimal=None)["label"].to_pylist() == [
        *("3,5", "cat, dog")
    ]


def test_known_truths_are_read_alike(tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text("task;truth\na;3,5\n")
    assert qc.read_truths(path, decimal=",").to_pylist() == [{"task": "a", "label": "3.5"}]
    with pytest.raises(FormatError, match=r"row 0 .*, column 'label': '3,5'"):
        qc.read_truths(path)


@pytest.mark.parametrize(
    ("texts", "decimal", "expected"),
    [
        (["1,5", None, "NA"], ",", ["1.5", None, "NA"]),
        (["1.2345", "-1.5", "v1.234"], ",", ["1.2345", "-1.5", "v1.234"]),
        (["1.234,5"], ".", ["1.234,5"]),
        (["1.234", "2.345"], None, ["1.234", "2.345"]),
        (["1,5"], ".", ["1,5"]),
        (["1,5", "a"], None, ["1,5", "a"]),
        (["a, b", None], None, ["a, b", None]),
        ([], None, []),
    ],
)
def test_only_numbers_change(tmp_path, texts, decimal, expected):
    column = pa.chunked_array([pa.array(texts, pa.string())])
    assert with_decimal_points(tmp_path, column, "x", decimal).to_pylist() == expected


@pytest.mark.parametrize(
    ("texts", "decimal", "value"),
    [
        *((["2", value], ",", value) for value in ("1.234", "-1.234,5", "1.234.567", "1 234")),
        *((["2", value], ",", value) for value in ("1'234,5", "1\u202f234,5")),
        *((["1,5", value], None, value) for value in ("1.000,5", "1,234.5", "1,234,567")),
    ],
)
def test_separators_of_thousands_are_not_read(tmp_path, texts, decimal, value):
    column = pa.chunked_array([pa.array(texts)])
    with pytest.raises(FormatError) as caught:
        with_decimal_points(tmp_path, column, "x", decimal)
    assert f"row 1 (counted from 0), column 'x': {value!r} seems to have a sep" in str(caught.value)


def test_a_comma_may_separate_thousands(tmp_path):
    with pytest.raises(FormatError, match=r"'1,234' may be .* Remove separators of thousands"):
        with_decimal_points(tmp_path, pa.chunked_array([["1,234", "2"]]), "x", None)


def test_a_few_other_cells_do_not_hide_numbers(tmp_path):
    column = pa.chunked_array([pa.array(["NA", *["1,5"] * 10])])
    with pytest.raises(FormatError, match=r"row 1 .*, column 'x': '1,5'"):
        with_decimal_points(tmp_path, column, "x", None)


def test_numbers_have_no_comma(tmp_path):
    column = pa.chunked_array([pd.Series([1.5])])
    assert with_decimal_points(tmp_path, column, "x", None) is column


def test_scores_of_truths_are_read_alike(tmp_path):
    path = tmp_path / "truths.csv"
    path.write_text("task;truth;confidence\na;yes;0,5\n")
    row = {"task": "a", "label": "yes", "confidence": 0.5}
    assert read_scored_truths(path, decimal=",").to_pylist() == [row]
    with pytest.raises(FormatError, match="'0,5' may be a number with a decimal comma"):
        read_scored_truths(path)
    path.write_text("task;truth;confidence\na;yes;high\n")
    with pytest.raises(FormatError, match=r"truths\.csv: 'confidence'"):
        read_scored_truths(path)
