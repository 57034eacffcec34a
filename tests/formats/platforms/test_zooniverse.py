"""Classifications of Zooniverse, in the columns of its export; all rows are invented."""

import csv
import io
import json

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.registry import read_table

HEADER = (
    *("classification_id", "user_name", "user_id", "user_ip", "workflow_id", "workflow_name"),
    *("workflow_version", "created_at", "gold_standard", "expert", "metadata", "annotations"),
    *("subject_data", "subject_ids"),
)
COLUMNS = ("task", "worker", "label")
ROUND = "Is the shape round?"


def said(task, label, value):
    return {"task": task, "task_label": label, "value": value}


def row(subject, user, *annotations, **cells):
    """Return a row; a user with a number is logged in."""
    number = user if user.isdigit() else ""
    defaults = {
        "classification_id": "901",
        "user_name": f"login{user}" if number else f"not-logged-in-{user}",
        "user_id": number,
        "user_ip": "5f1c",
        "workflow_id": "7",
        "workflow_name": "Shapes",
        "workflow_version": "3.14",
        "created_at": "2024-05-01 10:00:00 UTC",
        "gold_standard": "",
        "expert": "",
        "metadata": '{"session":"b1","viewport":{"width":800}}',
        "annotations": json.dumps(annotations),
        "subject_data": json.dumps({subject: {"Filename": "a, b.png", "retired": None}}),
        "subject_ids": subject,
    }
    return defaults | cells


@pytest.fixture
def export(tmp_path):
    def write(*rows):
        text = io.StringIO()
        writer = csv.DictWriter(text, HEADER)
        writer.writeheader()
        writer.writerows(rows)
        path = tmp_path / "shapes-classifications.csv"
        path.write_text(text.getvalue(), encoding="utf-8")
        return path

    return write


def read(path, question=None):
    table = read_table(path, COLUMNS, choice=Choice(field=question), sets=True)
    return list(map(tuple, map(dict.values, table.to_pylist())))


def test_a_subject_is_a_task_and_a_volunteer_is_a_worker(export):
    path = export(
        row("11", "42", said("T0", ROUND, "Yes")),
        row("11", "4e8a", said("T0", ROUND, "No")),
        row("12", "42", said("T0", ROUND, None)),
        row("12;13", "42", said("T0", ROUND, "Yes, & more")),
    )
    assert read(path) == [
        ("11", "42", "Yes"),
        ("11", "not-logged-in-4e8a", "No"),
        ("12", "42", None),
        ("12;13", "42", "Yes, & more"),
    ]


def test_python_reads_the_same_answers(export):
    path = export(row("11", "42", said("T0", ROUND, "Yes")))
    answers = qc.read_answers(path, qc.Categorical(["No", "Yes"]))
    assert answers.to_frame().to_numpy().tolist() == [["11", "42", "Yes"]]


SEVERAL = (
    row("11", "42", said("T0", ROUND, "Yes"), said("T1", "Colors?", ["red", "blue"])),
    row("11", "43", said("T0", ROUND, "No"), said("T1", "Colors?", [])),
    row("12", "42", said("T0", ROUND, "No")),
    row("12", "42", said("T0", "Any text?", "None"), workflow_id="8", workflow_name="Letters"),
)


@pytest.mark.parametrize("question", ["Shapes / T1", "7 / T1", "T1", "Colors?"])
def test_a_multiple_question_gives_lists(export, question):
    assert read(export(*SEVERAL), question) == [
        ("11", "42", ["red", "blue"]),
        ("11", "43", []),
        ("12", "42", None),
    ]


def test_a_question_of_another_workflow_is_chosen(export):
    assert read(export(*SEVERAL), "Letters / T0") == [("12", "42", "None")]


def test_several_questions_are_listed_with_their_counts(export):
    message = (
        r"several questions, 'Shapes / T0' \('Is the shape round\?', answers: 3\), "
        r"'Shapes / T1' \('Colors\?', answers: 2\), 'Letters / T0' \('Any text\?', answers: 1\)\. "
        r"Choose one with field= \(on the command line: --question\)"
    )
    with pytest.raises(FormatError, match=message):
        read(export(*SEVERAL))
    with pytest.raises(FormatError, match=r"'Shapes / T0' \(.*\), 'Letters / T0' \(.*\)\. Choose"):
        read(export(*SEVERAL), "T0")
    with pytest.raises(FormatError, match=r"'Shapes / T2' does not exist; .*did you mean"):
        read(export(*SEVERAL), "Shapes / T2")


def test_a_key_selects_all_texts_that_the_question_had(export):
    path = export(
        row("11", "42", said("T0", "Round?", "Yes")), row("11", "43", said("T0", ROUND, "No"))
    )
    message = r"'Shapes / T0' \('Round\?', answers: 1\), 'Shapes / T0' \('Is"
    with pytest.raises(FormatError, match=message):
        read(path)
    assert read(path, "Shapes / T0") == [("11", "42", "Yes"), ("11", "43", "No")]
    assert read(path, ROUND) == [("11", "42", None), ("11", "43", "No")]


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ([{"select_label": "Color", "option": True, "value": "c6e0", "label": "red"}], "red"),
        ({"select_label": "Color", "option": True, "value": 1, "label": "red"}, "red"),
        ({"select_label": "Color", "option": False, "value": "pink"}, "pink"),
        ([{"select_label": "Color"}], None),
        ("0.5", "0.5"),
        (3.5, "3.5"),
    ],
)
def test_dropdowns_are_read_by_label_and_numbers_as_text(export, value, label):
    path = export(row("11", "42", {"task": "T3", "value": value}))
    assert read(path) == [("11", "42", label)]


def test_the_parts_of_a_combination_are_questions(export):
    color = [{"select_label": "Color", "option": True, "value": "c6e0", "label": "red"}]
    parts = [said("T1", ROUND, "Yes"), {"task": "T2", "value": color}]
    path = export(row("11", "42", said("T0", None, parts)))
    assert read(path, "T1") == [("11", "42", "Yes")]
    assert read(path, "T2") == [("11", "42", "red")]


@pytest.mark.parametrize(
    "value",
    [
        [{"tool": 0, "frame": 0, "details": [], "x": 12.5, "y": 3, "tool_label": "Tip"}],
        [{"choice": "FOX", "answers": {"HOWMANY": "1"}, "filters": {}}],
        [{"select_label": "A", "label": "x"}, {"select_label": "B", "label": "y"}],
        {"text": "nested"},
        [["a"]],
        [None],
    ],
    ids=["drawing", "survey", "two dropdowns", "object", "list", "null"],
)
def test_a_structure_is_never_a_label(export, value):
    path = export(
        row("11", "42", said("T0", ROUND, "Yes"), said("T1", "Mark it", value)),
    )
    message = r"row 0, 'T1': .* is not a label\. An answer must be an answer to a question, a text"
    with pytest.raises(FormatError, match=message):
        read(path, "T1")
    assert read(path, "T0") == [("11", "42", "Yes")]


def test_a_task_with_two_answers_in_one_classification_is_an_error(export):
    twice = (said("T0", ROUND, "Yes"), said("T0", ROUND, "No"))
    with pytest.raises(FormatError, match=r"row 0, 'T0': \[\"Yes\", \"No\"\] is not"):
        read(export(row("11", "42", *twice)))


def test_answers_that_the_export_does_not_name_are_told_and_dropped(export):
    path = export(
        row("11", "42", said("T0", ROUND, "Yes")),
        row("11", "43", said("T0", ROUND, "unknown answer label")),
        row("11", "44", said("T0", ROUND, "unknown answer label"), said("T1", "More?", "No")),
        row("11", "45", said("T1", "More?", ["unknown answer label", "No"])),
        row("11", "46", {"task": "T0", "value": 0}),
    )
    with pytest.warns(DroppedRowsWarning, match="that the export does not name: 2"):
        assert read(path, ROUND) == [("11", "42", "Yes"), ("11", "45", None), ("11", "46", None)]
    with pytest.warns(DroppedRowsWarning, match="that the export does not name: 3"):
        assert read(path, "T0") == [("11", "42", "Yes"), ("11", "45", None)]


def test_the_gold_standard_gives_truths(export):
    path = export(
        row("11", "42", said("T0", ROUND, "Yes")),
        row("11", "40", said("T0", ROUND, "No"), gold_standard="true"),
        row("11", "41", said("T0", ROUND, "No"), gold_standard="true"),
        row("12", "40", said("T0", ROUND, None), gold_standard="true"),
    )
    assert qc.read_truths(path).to_pylist() == [{"task": "11", "label": "No"}]
    with pytest.raises(FormatError, match="no row has 'gold_standard' set to true"):
        qc.read_truths(export(row("11", "42", said("T0", ROUND, "Yes"))))


def test_the_last_of_repeated_answers_is_the_latest(export):
    path = export(
        row("11", "42", said("T0", ROUND, "Yes"), created_at="2024-05-02 09:00:00 UTC"),
        row("11", "42", said("T0", ROUND, "No"), created_at="2024-05-01 10:00:00 UTC"),
    )
    assert read(path) == [("11", "42", "No"), ("11", "42", "Yes")]


def test_damage_outside_the_question_is_let_be(export):
    damaged = {"metadata": "{", "subject_data": "[", "expert": "?"}
    path = export(
        row(
            "11", "42", said("T0", ROUND, "Yes"), {"task": 5}, said("T1", {}, {"x": []}), **damaged
        ),
        row("12", "42", annotations='[{"task', workflow_id="8"),
    )
    assert read(path, "7 / T0") == [("11", "42", "Yes")]
    with pytest.raises(FormatError, match=r"row 1, column 'annotations': expected a JSON list"):
        read(path)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"annotations": '{"task": "T0"}'}, "row 0, column 'annotations': expected a JSON list"),
        ({"annotations": '["T0"]'}, "row 0, column 'annotations': expected a JSON list"),
        ({"annotations": "5"}, "row 0, column 'annotations': expected a JSON list"),
        ({"annotations": ""}, "there is no answer in this file"),
        ({"subject_ids": ""}, "row 0: 'subject_ids' must be a text or a whole number"),
        ({"user_id": "", "user_name": ""}, "row 0: 'user_name' must be a text"),
    ],
)
def test_damage_names_the_row(export, cells, message):
    with pytest.raises(FormatError, match=message):
        read(export(row("11", "42", said("T0", ROUND, "Yes"), **cells)))


def test_a_column_that_is_missing_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("classification_id,annotations,subject_ids\n1,[],2\n")
    with pytest.raises(FormatError, match="column 'workflow_id' is missing"):
        read_table(path, COLUMNS, file_format="zooniverse")


def test_a_table_that_mentions_the_columns_stays_a_table(tmp_path):
    path = tmp_path / "a.csv"
    names = "task,worker,label,classification_id,workflow_id,annotations,subject_ids"
    path.write_text(f"{names}\nworkflow_id,annotations,yes,1,2,[],4\n")
    assert read(path) == [("workflow_id", "annotations", "yes")]
