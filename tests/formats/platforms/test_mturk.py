"""Batch results as MTurk writes them, forms, and radio buttons; all rows are invented."""

import csv
import json

import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import (
    DroppedRowsWarning,
    FormatError,
    ParameterError,
    QuietcrowdWarning,
)
from quietcrowd.formats import read_table, write_table
from quietcrowd.formats.columns import Choice

DOMAIN = qc.Categorical(["cat", "dog"])

HEADER = (
    "HITId,HITTypeId,Title,Description,Keywords,Reward,CreationTime,MaxAssignments,"
    "RequesterAnnotation,AssignmentDurationInSeconds,AutoApprovalDelayInSeconds,Expiration,"
    "NumberOfSimilarHITs,LifetimeInSeconds,AssignmentId,WorkerId,AssignmentStatus,AcceptTime,"
    "SubmitTime,AutoApprovalTime,ApprovalTime,RejectionTime,RequesterFeedback,WorkTimeInSeconds,"
    "LifetimeApprovalRate,Last30DaysApprovalRate,Last7DaysApprovalRate,"
)


def batch(path, *rows, fields=("animal",), ends="\r\n", mark=""):
    """Write results; a row is HIT, worker, status, and an answer per field."""
    names = HEADER + "Input.url," + ",".join(f"Answer.{field}" for field in fields)
    lines = [",".join(f'"{name}"' for name in f"{names},Approve,Reject".split(","))]
    for hit, worker, status, *answers in rows:
        cells = {"HITId": hit, "WorkerId": worker, "AssignmentStatus": status, "Title": 'a "b", c'}
        cells |= {f"Answer.{field}": cell for field, cell in zip(fields, answers, strict=True)}
        row = [cells.get(name, "") for name in f"{names},Approve,Reject".split(",")]
        lines.append(",".join('"{}"'.format(cell.replace('"', '""')) for cell in row))
    path.write_text(mark + ends.join([*lines, ""]), encoding="utf-8", newline="")
    return path


ROWS = (
    ("H1", "A1", "Approved", "cat"),
    ("H1", "A2", "Rejected", "dog"),
    ("H2", "A1", "Submitted", "dog"),
)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_hit_is_a_task_and_rejected_answers_are_told(tmp_path, ends, mark):
    path = batch(tmp_path / "b.csv", *ROWS, ends=ends, mark=mark)
    with pytest.warns(DroppedRowsWarning, match=r"b\.csv: dropped rows: rejected .*: 1$"):
        answers = qc.read_answers(path, DOMAIN)
    assert answers.to_frame().to_numpy().tolist() == [["H1", "A1", "cat"], ["H2", "A1", "dog"]]
    assert len(qc.read_answers(path, DOMAIN, rejected=True)) == 3


def test_one_of_several_fields_is_named(tmp_path):
    rows = (("H1", "A1", "Approved", "cat", "3"),)
    path = batch(tmp_path / "b.csv", *rows, fields=("animal", "sure"))
    with pytest.raises(FormatError, match=r"several questions, 'animal', 'sure'.*--question"):
        qc.read_answers(path, DOMAIN)
    for name in ("animal", "Answer.animal"):
        assert len(qc.read_answers(path, DOMAIN, field=name)) == 1
    with pytest.raises(FormatError, match=r"field 'animl' does not exist.*did you mean 'animal'"):
        qc.read_answers(path, DOMAIN, field="animl")
    with pytest.raises(ParameterError, match="name columns that it has"):
        qc.read_answers(path, DOMAIN, "HITId", "WorkerId", "animal")
    table = ("HITId", "WorkerId", "Answer.animal")
    assert len(qc.read_answers(path, DOMAIN, *table, file_format="csv")) == 1
    with pytest.warns(QuietcrowdWarning, match=r"read as a table .*, not as MTurk batch results"):
        assert len(qc.read_answers(path, DOMAIN, *table)) == 1


def test_cells_of_several_lines(tmp_path):
    path = batch(tmp_path / "b.csv", ("H\n1", "A,1", "", 'a "q"\r\nb'))
    answers = qc.read_answers(path, qc.Categorical(['a "q"\r\nb']))
    assert answers.tasks.to_pylist() == ["H\n1"]
    assert answers.workers.to_pylist() == ["A,1"]


def test_the_header_is_whole(tmp_path):
    answers = qc.read_answers(batch(tmp_path / "b.csv", *ROWS), DOMAIN, rejected=True)
    qc.write_answers(answers, tmp_path / "out.csv", file_format="mturk")
    first = (tmp_path / "out.csv").read_text().splitlines()
    assert first[0].replace('"', "") == f"{HEADER}Answer.label,Approve,Reject"
    assert first[1].startswith('"H1",,,')
    assert first[1].endswith('"cat",,')
    assert first[1].count(",") == first[0].count(",")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("HITId,WorkerId\nh,w\n", r"no column Answer\.…"),
        ("HITId,WorkerId,Answer.a,Answer.a\nh,w,cat,dog\n", r"2 columns have the name 'Answer\.a'"),
        ("HITId,HITId,WorkerId,Answer.a\nh,h,w,cat\n", "2 columns have the name 'HITId'"),
        ("HITId,WorkerId,Answer.a\nh,w\n", r"Row #2: Expected 3 columns, got 2: h,w"),
        ("HITId,WorkerId,Answer.a\nh,w,bird\n", "row 0, column 'label': 'bird'"),
        ("HITId,WorkerId,Answer.a\nh,,cat\n", "row 0, column 'worker': the id is missing"),
        ("HITId,WorkerId,Answer.a\n", "there is no answer"),
    ],
)
def test_bad_files_name_the_place(tmp_path, text, told):
    (tmp_path / "b.csv").write_text(text)
    with pytest.raises(qc.QuietcrowdError, match=told) as caught:
        qc.read_answers(tmp_path / "b.csv", DOMAIN)
    assert "b.csv" in str(caught.value)


def test_there_are_no_truths_in_it(tmp_path):
    with pytest.raises(FormatError, match="cannot contain known truths"):
        qc.read_truths(batch(tmp_path / "b.csv", *ROWS))


COLUMNS = ("task", "worker", "label")


def answered(path, fields, *rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["HITId", "WorkerId", *(f"Answer.{field}" for field in fields)])
        writer.writerows([f"H{place}", "A1", *cells] for place, cells in enumerate(rows))
    return path


def forms(path, *values):
    return answered(path, ["taskAnswers"], *([json.dumps([value])] for value in values))


def labels(path, field=None, *, sets=False):
    table = read_table(path, COLUMNS, choice=Choice(field=field), sets=sets)
    return table["label"].to_pylist()


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
        ([{"sure": {"sure": True}}, {"sure": {"sure": False}}], ["true", "false"]),
        ([{"animal": None}, {"animal": {"label": None}}, {"animal": "cat"}], [None, None, "cat"]),
        ([{}, {"animal": ""}, {"animal": {}}, {"animal": "cat"}], [None, None, None, "cat"]),
        (
            [{"animal": {"cat": None, "dog": None}}, {"animal": {"cat": True, "dog": None}}],
            [None, "cat"],
        ),
    ],
    ids=[
        *("texts", "options", "buttons", "classifier", "numbers", "one checkbox"),
        *("null", "missing", "null options"),
    ],
)
def test_the_answer_of_a_form_is_the_label_and_not_its_json(tmp_path, values, expected):
    assert labels(forms(tmp_path / "b.csv", *values)) == expected


def test_one_of_several_fields_of_a_form_is_named(tmp_path):
    path = forms(tmp_path / "b.csv", {"animal": "cat", "sure": {"yes": True, "no": False}})
    with pytest.raises(FormatError, match=r"several questions, 'animal', 'sure'.*--question"):
        labels(path)
    assert labels(path, "sure") == ["yes"]


def test_a_column_per_radio_button_is_one_answer(tmp_path):
    fields = ["animal.cat", "animal.dog", "note"]
    path = answered(tmp_path / "b.csv", fields, ["true", "false", "x"], ["FALSE", "TRUE", ""])
    assert labels(path, "animal") == ["cat", "dog"]
    assert labels(path, "Answer.note") == ["x", None]
    answers = qc.read_answers(path, qc.Categorical(["cat", "dog"]), field="animal")
    assert answers.to_frame()["label"].tolist() == ["cat", "dog"]


def test_columns_that_hold_other_texts_are_fields_of_their_own(tmp_path):
    path = answered(tmp_path / "b.csv", ["animal.cat", "animal.dog"], ["true", "perhaps"])
    with pytest.raises(FormatError, match=r"several questions, 'animal\.cat', 'animal\.dog'"):
        labels(path)


@pytest.mark.parametrize(
    ("fields", "row", "message"),
    [
        (["taskAnswers"], ["cat"], r"row 0, column 'Answer\.taskAnswers': expected a form in JSON"),
        (["taskAnswers"], ["[1, 2]"], "expected a form in JSON"),
        (["taskAnswers"], ['[{"a": 1}, {"a": 2}]'], "expected a form in JSON"),
        (
            ["taskAnswers"],
            [json.dumps([{"box": {"boundingBoxes": []}}])],
            r"row 0, field 'box': an answer must be a label, .*; got \{'boundingBoxes': \[\]\}",
        ),
        (
            ["taskAnswers"],
            [json.dumps([{"animal": {"cat": True, "dog": 1}}])],
            "row 0, field 'animal': an answer must be a label",
        ),
        (["a.x", "a.y"], ["true", "true"], r"b\.csv: column 'label' has list.*--multi-label"),
        (["tags"], ["cat|dog"], r"b\.csv: column 'label' has list.*--multi-label"),
    ],
)
def test_what_is_no_single_answer_is_an_error(tmp_path, fields, row, message):
    with pytest.raises(FormatError, match=message):
        labels(answered(tmp_path / "b.csv", fields, row))


def test_of_several_fields_only_the_named_one_is_parsed(tmp_path):
    """Radio buttons, checkboxes and a box that cannot be a label in one form."""
    box = {"boundingBoxes": [{"top": 1}]}
    path = forms(
        tmp_path / "b.csv",
        {"q1": {"1": True, "2": False}, "tags": {"cat": True, "dog": True}, "box": box},
        {"q1": {"1": False, "2": True}, "tags": {"cat": False, "dog": False}, "box": box},
    )
    assert labels(path, "q1") == ["1", "2"]
    assert labels(path, "tags", sets=True) == [["cat", "dog"], []]
    with pytest.raises(FormatError, match="row 0, field 'box'"):
        labels(path, "box")


def test_a_damaged_form_does_not_concern_other_columns(tmp_path):
    path = answered(tmp_path / "b.csv", ["animal", "taskAnswers"], ["cat", "{"], ["dog", "["])
    assert labels(path, "animal") == ["cat", "dog"]
    with pytest.raises(FormatError, match="row 0, column"):
        labels(path)


CHECKBOXES = [("true", "false"), ("true", "true"), ("false", "false"), ("", "")]


def test_checkboxes_are_sets(tmp_path):
    """A row without cells has no answer, a row of unticked boxes an empty set."""
    path = answered(tmp_path / "b.csv", ["tags.cat", "tags.dog"], *CHECKBOXES)
    expected = [["cat"], ["cat", "dog"], [], None]
    assert labels(path, sets=True) == expected
    values = [{"tags": {"cat": True, "dog": False}}, {"tags": {"cat": True, "dog": True}}]
    path = forms(tmp_path / "b.csv", *values, {"tags": {"cat": False, "dog": False}}, {})
    assert labels(path, sets=True) == expected
    assert labels(path, "tags", sets=True) == expected


@pytest.mark.parametrize(
    ("fields", "rows"),
    [
        (["tags.cat", "tags.dog"], [("true", "true"), ("true", ""), ("", "")]),
        (["tags"], [("cat|dog",), ("cat",), ("",)]),
    ],
    ids=["columns", "texts"],
)
def test_where_only_ticks_are_stored_an_empty_row_has_none(tmp_path, fields, rows):
    path = answered(tmp_path / "b.csv", fields, *rows)
    with pytest.warns(QuietcrowdWarning, match="only empty cells for 'tags': 1"):
        assert labels(path, "tags", sets=True) == [["cat", "dog"], ["cat"], []]


def test_one_option_each_is_a_label_or_a_set_of_one(tmp_path):
    path = answered(tmp_path / "b.csv", ["a.cat", "a.dog"], ["true", "false"], ["false", "true"])
    assert labels(path) == ["cat", "dog"]
    assert labels(path, sets=True) == [["cat"], ["dog"]]


def test_at_most_one_option_is_a_label_and_none_is_told(tmp_path):
    path = answered(tmp_path / "b.csv", ["a.cat", "a.dog"], ["true", "false"], ["false", "false"])
    with pytest.warns(
        QuietcrowdWarning, match=r"'a' without a selected option: 1\. .*--multi-label"
    ):
        assert labels(path) == ["cat", None]
    assert labels(path, sets=True) == [["cat"], []]


def test_one_checkbox_of_several_is_a_question(tmp_path):
    path = answered(tmp_path / "b.csv", ["a.cat", "a.dog"], ["true", "false"], ["false", "false"])
    assert labels(path, "a.cat") == ["true", "false"]
    path = forms(tmp_path / "b.csv", {"cat": {"cat": True}, "dog": {"dog": True}})
    assert labels(path, "dog") == ["true"]
    assert labels(path, "choice", sets=True) == [["cat", "dog"]]


def test_checkboxes_without_values_have_the_names_of_labels(tmp_path):
    rows = (["true", "false", "x"], ["true", "true", "y"], ["false", "false", "z"])
    path = answered(tmp_path / "a.csv", ("cat.on", "dog.on", "text"), *rows)
    assert labels(path, "choice", sets=True) == [["cat"], ["cat", "dog"], []]
    assert labels(path, "dog.on") == ["false", "true", "false"]
    other = answered(tmp_path / "b.csv", ("cat.on", "cat.off", "dog.on"), *rows[:0])
    with pytest.raises(FormatError, match=r"several questions, 'cat', 'dog\.on'"):
        labels(other)


def test_empty_separators_are_text(tmp_path):
    path = answered(tmp_path / "b.csv", ["note"], ["a||b"], ["|"])
    assert labels(path) == ["a||b", "|"]
    assert labels(answered(path, ["note"], ["cat"], [""]), sets=True) == ["cat", None]


def test_a_label_with_the_separator_is_not_written(tmp_path):
    table = pa.table({"task": ["t"], "worker": ["w"], "label": ["a|b"]})
    with pytest.raises(ParameterError, match=r"separates labels by '\|', so 'a\|b' would be"):
        write_table(table, tmp_path / "b.csv", file_format="mturk")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (("Tue Jan 02 15:04:05 PST 2024", "Wed Jan 03 10:04:05 PST 2024"), "dog"),
        (("Wed Jan 03 10:04:05 PST 2024", "Tue Jan 02 15:04:05 PST 2024"), "cat"),
    ],
    ids=["in order", "latest first"],
)
def test_the_last_of_repeated_answers_is_the_latest(tmp_path, times, expected):
    rows = [f"h,w,{label},{time}\n" for label, time in zip(("cat", "dog"), times, strict=True)]
    (tmp_path / "b.csv").write_text("".join(["HITId,WorkerId,Answer.a,SubmitTime\n", *rows]))
    answers = qc.read_answers(tmp_path / "b.csv", DOMAIN, duplicates="last")
    assert answers.to_frame()["label"].tolist() == [expected]


def test_a_time_in_an_unknown_zone_is_reported_and_rows_are_in_order(tmp_path):
    rows = [
        f"h,w,{label},Wed Jan 0{day} 10:04:05 IST 2024\n" for label, day in (("cat", 3), ("dog", 2))
    ]
    (tmp_path / "b.csv").write_text("".join(["HITId,WorkerId,Answer.a,SubmitTime\n", *rows]))
    with pytest.warns(
        QuietcrowdWarning, match="'Wed Jan 03 10:04:05 IST 2024', cannot be compared"
    ):
        answers = qc.read_answers(tmp_path / "b.csv", DOMAIN, duplicates="last")
    assert answers.to_frame()["label"].tolist() == ["dog"]


def test_errors_name_rows_of_the_file_and_not_of_those_kept(tmp_path):
    rows = [("H1", "A1", "Rejected", '[{"a": "x"}]'), ("H1", "A2", "Approved", "oops")]
    path = batch(tmp_path / "b.csv", *rows, fields=("taskAnswers",))
    with pytest.raises(FormatError, match="row 1, column"):
        labels(path)


def test_a_column_of_ids_is_needed(tmp_path):
    (tmp_path / "b.csv").write_text("HITId,Answer.a\nh,cat\n")
    with pytest.raises(FormatError, match="column 'WorkerId' is missing"):
        qc.read_answers(tmp_path / "b.csv", DOMAIN, file_format="mturk")


def test_checkboxes_of_old_forms_only_have_the_text_on(tmp_path):
    rows = [("t1", "ann", "Approved", "on", ""), ("t2", "ann", "Approved", "on", "on")]
    path = batch(tmp_path / "a.csv", *rows, fields=("cat", "dog"))
    table = read_table(path, ("task", "worker", "label"), sets=True)
    assert table["label"].to_pylist() == [["cat"], ["cat", "dog"]]
