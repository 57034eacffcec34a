"""Batch results as MTurk writes them, forms, and radio buttons; all rows are invented."""

import csv
import json

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError, ParameterError
from quietcrowd.formats import read_table
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
    with pytest.raises(ParameterError, match="not with --columns"):
        qc.read_answers(path, DOMAIN, "HITId", "WorkerId", "Answer.animal")
    table = ("HITId", "WorkerId", "Answer.animal")
    assert len(qc.read_answers(path, DOMAIN, *table, file_format="csv")) == 1


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


def labels(path, field=None):
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
        (
            ["taskAnswers"],
            [json.dumps([{"animal": {"cat": True, "dog": True}}])],
            "row 0, field 'animal': an answer must be one label, but 'cat' and 'dog' are selected",
        ),
        (
            ["a.x", "a.y"],
            ["true", "true"],
            "row 0, field 'a': an answer must be one label, but 'x' and 'y' are selected",
        ),
    ],
)
def test_what_is_no_single_answer_is_an_error(tmp_path, fields, row, message):
    with pytest.raises(FormatError, match=message):
        labels(answered(tmp_path / "b.csv", fields, row))
