"""Missing marks, Unicode, damaged ids and lists in cells, in frames and in files."""

import unicodedata
import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, ChangedValuesWarning, ParameterError
from quietcrowd.intake import MISSING, Intake, decoded

DOMAIN = qc.Categorical(["no", "yes"])


def frame_of(*rows):
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


def cleaned(values, **options):
    intake = Intake(**options)
    column = decoded(intake.encoded(pa.chunked_array([pa.array(values)]), "label"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        intake.warn()
    return column.to_pylist(), [str(one.message) for one in told]


@pytest.mark.parametrize("mark", ["", "  ", *MISSING])
def test_marks_are_missing_answers(mark):
    frame = frame_of(("p", "a", mark), ("p", "b", "yes"), ("q", "a", mark), ("q", "b", "no"))
    with pytest.raises(AnswerError, match=r"row 0, column 'label': the answer is missing.* 2 in"):
        qc.MajorityVote().fit(frame, non_private=True)
    with pytest.raises(AnswerError, match=r"row 0, column 'label': the answer is missing.* 2 in"):
        qc.Answers.from_frame(frame, DOMAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChangedValuesWarning)
        answers = qc.Answers.from_frame(frame, DOMAIN, out_of_domain="skip")
    assert answers.dropped.out_of_domain == 2
    assert answers.to_frame().to_numpy().tolist() == [["p", "b", "yes"], ["q", "b", "no"]]


def test_a_mark_that_is_an_answer_or_an_id_stays():
    frame = frame_of(("NA", "a", "None"), ("NA", "b", "some"), ("p", "a", "some"))
    domain = qc.Categorical(["None", "some"])
    with pytest.raises(AnswerError, match=r"column 'task': the id is missing \('NA' marks"):
        qc.Answers.from_frame(frame, domain)
    for options in ({"tasks": ["NA", "p"]}, {"missing": ()}):
        answers = qc.Answers.from_frame(frame, domain, **options)
        assert answers.to_frame()["label"].tolist() == ["None", "some", "some"]
    answers = qc.Answers.from_frame(
        frame.assign(task="p", worker=["a", "b", "c"]), domain, missing=["some"]
    )
    assert answers.dropped.out_of_domain == 0, "the domain has it"
    for mark in ("-99", "{}"):
        with pytest.raises(AnswerError, match=f"'{mark}' marks a missing value"):
            qc.Answers.from_frame(frame_of(("p", "a", mark)), DOMAIN, missing=[mark])


@pytest.mark.parametrize("missing", ["NA", [None], 5])
def test_marks_are_a_list_of_texts(missing):
    with pytest.raises((ParameterError, TypeError)):
        Intake(missing)


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        ("yes ", "yes"),
        ("\u00a0yes", "yes"),
        ("\u200byes\ufeff", "yes"),
        ("new\u00a0york", "new york"),
        ("cafe\u0301", "caf\u00e9"),
        ("\u200dyes\u200c", "yes"),
        ("\u202eyes\u202c", "yes"),
    ],
)
def test_spellings_that_look_alike_are_one_value(value, clean):
    told = f"is read as {clean!r}, without"
    found, notes = cleaned([clean, value])
    assert found == [clean, clean]
    assert len(notes) == 1
    assert told in notes[0]
    assert "Changed rows: 1, beginning with row 1." in notes[0]
    for native in (pd.DataFrame, pl.DataFrame, pa.table):
        frame = native({"task": ["p", "p"], "worker": [clean, value], "label": ["no", "no"]})
        with pytest.raises(AnswerError, match="answered task 'p' in row 0 already"):
            qc.Answers.from_frame(frame, DOMAIN)


@pytest.mark.parametrize(
    "text",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\U0001f468\u200d\U0001f469",
        "a  b",
        "[unclear]",
        "[2 words]",
        "[1] Agree",
        "[18,25)",
        "[ ] no",
        "(1, 2)",
        "(don't know)",
        "{cat}",
        '"quoted"',
    ],
)
def test_joiners_between_letters_and_brackets_have_a_meaning(text):
    assert cleaned([text]) == ([text], [])


@pytest.mark.parametrize(
    "cell",
    ["[0, 5, 'PER']", '{"choices":["a","b"]}', '{"ImportId":"QID1"}', "['cat']", "[]", "{}",
     '[{"task": "T0"}]', "[ 1 ]", "[[0, 1]]", "[1 0]",
     "[0. nan]", "[None]", "Counter({'a': 1})", "tensor([1])"],
)  # fmt: skip
@pytest.mark.parametrize("column", ["task", "worker", "label"])
def test_lists_and_objects_are_no_values(cell, column):
    frame = frame_of(("p", "a", "yes"), ("q", "b", "no")).assign(**{column: ["x", cell]})
    with pytest.raises(AnswerError, match=rf"row 1, column '{column}': .* is a list or an object"):
        qc.MajorityVote().fit(frame, non_private=True)


def test_a_label_of_the_domain_may_have_another_form():
    frame = frame_of(("p", "a", "\u00e9"), ("q", "b", "e\u0301"), ("r", "b", "x"))
    domain = qc.Categorical(["e\u0301", "x"])
    with pytest.warns(ChangedValuesWarning, match="is read as"):
        assert qc.Answers.from_frame(frame, domain).values.tolist() == [0, 0, 1]


@pytest.mark.parametrize("labels", [["false", "true"], ["False", "True"]])
def test_labels_of_the_domain_may_be_the_texts_of_booleans(labels):
    frame = pa.table({"task": ["p", "q"], "worker": ["a", "a"], "label": [True, False]})
    assert qc.Answers.from_frame(frame, qc.Categorical(labels)).values.tolist() == [1, 0]


def test_a_label_of_the_domain_may_be_a_list():
    frame = frame_of(("p", "a", "[1]"), ("q", "b", "[2]"))
    answers = qc.Answers.from_frame(frame, qc.Categorical(["[1]", "[2]"]))
    assert answers.values.tolist() == [0, 1]


@pytest.mark.parametrize(
    "ids",
    [
        ["1.23457E+18", "1234567890123456789"],
        ["1234567890123456800", "1234567890123457300", "987654321098765400"],
        ["1.23456789012346E+18", "1.23456789012347E+18"],
        ["1,23E+18", "7"],
        ["12345678901234568.0", "7.0"],
        ["1234567890123450000", "1234567890123460000", "7"],
        [1234567890123450000, 1234567890123460000],
        [2.0**53, 1.0],
    ],
)
def test_rounded_ids_are_an_error(ids):
    frame = pd.DataFrame({"task": ids, "worker": "a", "label": "no"})
    with pytest.raises(AnswerError, match=r"row 0, column 'task': .* has lost its last digits"):
        qc.Answers.from_frame(frame, DOMAIN)


@pytest.mark.parametrize(
    "ids",
    [
        ["1234567890123456789", "1234567890123450000"],
        [1234567890123456789, 1234567890123450000],
        ["1000000000000000", "7"],
        ["12e45", "5E05"],
    ],
)
def test_complete_ids_stay(ids):
    frame = pd.DataFrame({"task": ids, "worker": "a", "label": "no"})
    assert qc.Answers.from_frame(frame, DOMAIN).tasks.to_pylist() == ids


def test_ids_that_pandas_made_floats_match_whole_numbers():
    frame = frame_of(("0.0", "a", "no"), ("1.0", "a", "yes"))
    with pytest.warns(ChangedValuesWarning, match=r"such as '0\.0' as '0'"):
        assert qc.Answers.from_frame(frame, DOMAIN).tasks.to_pylist() == ["0", "1"]
    with pytest.warns(ChangedValuesWarning):
        estimate = qc.MajorityVote().fit(frame, gold={0: "no", 1: "yes"}, non_private=True)
    assert estimate.truths["truth"].tolist() == ["no", "yes"]
    versions = frame_of(("1.0", "a", "no"), ("1.5", "a", "yes"))
    assert qc.Answers.from_frame(versions, DOMAIN).tasks.to_pylist() == ["1.0", "1.5"]


@pytest.mark.parametrize("column", ["task", "worker"])
def test_each_kind_of_change_is_told_once(column):
    names = ["a ", "b ", " c", "d"]
    other = "worker" if column == "task" else "task"
    frame = pd.DataFrame({column: names, other: "x", "label": "no"})
    with pytest.warns(ChangedValuesWarning) as told:
        answers = qc.Answers.from_frame(frame, DOMAIN)
    assert len(told) == 1
    assert f"column {column!r}: 'a ' is read as 'a', without" in str(told[0].message)
    assert getattr(answers, f"{column}s").to_pylist() == ["a", "b", "c", "d"]


def test_reports_keep_their_ids_and_labels(tmp_path):
    """A mechanism wrote them: a task may be named NA, and a worker by a space at the end."""
    mechanism = qc.RandomizedResponse(domain=qc.Categorical(["NA", "yes "]), epsilon=9.0)
    frame = frame_of(("NA", "a ", "NA"), ("p", "b", "yes "))
    answers = qc.Answers.from_frame(frame, mechanism.domain, missing=(), workers=["a ", "b"])
    reports = mechanism.randomize(answers)
    path = tmp_path / "reports.csv"
    qc.write_reports(reports, path)
    assert qc.read_reports(path).table.to_frame().equals(reports.table.to_frame())
    assert reports.table.tasks.to_pylist() == ["NA", "p"]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_a_clean_column_stays_and_equal_looks_are_equal(values):
    try:
        once, _ = cleaned(values)
    except AnswerError:
        return
    assert cleaned(once) == (once, [])
    assert [one is None for one in once] == [
        unicodedata.normalize("NFC", value) in MISSING or one is None
        for value, one in zip(values, once, strict=True)
    ]
    for value in once:
        assert value is None or value == unicodedata.normalize("NFC", value).strip()
    again = [None if one is None else f" {unicodedata.normalize('NFD', one)}\u200b" for one in once]
    assert cleaned(again)[0] == once


@pytest.mark.parametrize("labels", [[["a"], ["b"]], [("a", "b"), ("c",)], [{"a": 1}, {"b": 2}]])
def test_columns_of_lists_are_an_error_of_any_reader(labels):
    frame = pd.DataFrame({"task": [1, 2], "worker": ["u", "v"], "label": labels})
    for read, options in (
        (qc.fit, {"non_private": True}),
        (qc.Mean().fit, {"non_private": True}),
        (qc.Answers.from_frame, {"domain": DOMAIN}),
    ):
        with pytest.raises(AnswerError, match=r"column 'label' has .* For sets of labels use"):
            read(frame, **options)


def test_spellings_of_one_whole_number_are_one_value():
    frame = frame_of(("1", "a", "0"), ("1.0", "b", "0.0"), ("2", "a", "1"))
    with pytest.warns(ChangedValuesWarning) as told:
        estimate = qc.MajorityVote().fit(frame, non_private=True)
    assert estimate.truths[["task", "truth"]].to_numpy().tolist() == [["1", "0"], ["2", "1"]]
    assert {str(one.message).split(":")[0] for one in told} == {"column 'label'", "column 'task'"}
    floats = pd.DataFrame({"task": [7.0, 8.0], "worker": "a", "label": "no"})
    assert qc.Answers.from_frame(floats, DOMAIN).tasks.to_pylist() == [7, 8]


def test_listed_spellings_of_whole_numbers_stay():
    frame = frame_of(("1.0", "a", "1.0"), ("2.0", "a", "1"))
    answers = qc.Answers.from_frame(
        frame, qc.Categorical(["1", "1.0"]), tasks=["1.0", "2.0"], workers=["a"]
    )
    assert answers.to_frame().to_numpy().tolist() == [["1.0", "a", "1.0"], ["2.0", "a", "1"]]


def test_whole_truths_stay_whole_beside_tasks_without_answers():
    frame = frame_of(("p", "a", 1), ("p", "b", 2))
    answers = qc.Answers.from_frame(frame, qc.Categorical([1, 2]), tasks=["p", "q"])
    truths = qc.MajorityVote(random_state=0).fit(answers).truths["truth"].tolist()
    assert type(truths[0]) is int
    assert truths[1] is None


def test_a_name_in_spaces_is_the_name():
    frame = pd.DataFrame({"task ": [1], " worker": ["a"], "label": ["no"]})
    assert len(qc.Answers.from_frame(frame, DOMAIN)) == 1
