"""Assignments as the API of MTurk returns them; all are invented."""

import json

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError
from quietcrowd.formats import read_table
from quietcrowd.formats.columns import Choice

DOMAIN = qc.Categorical(["cat", "dog"])
COLUMNS = ("task", "worker", "label")
SPACE = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/"
    "QuestionFormAnswers.xsd"
)


def document(answers, *, head='<?xml version="1.0" encoding="UTF-8"?>'):
    """Return the XML of answers, a list of elements per question."""
    parts = [
        f"<Answer><QuestionIdentifier>{question}</QuestionIdentifier>{elements}</Answer>"
        for question, elements in answers.items()
    ]
    space = f'<QuestionFormAnswers xmlns="{SPACE}">'
    return f"{head}\n{space}{''.join(parts)}</QuestionFormAnswers>\n"


def text(content):
    return f"<FreeText>{content}</FreeText>"


def selected(*options):
    return "".join(f"<SelectionIdentifier>{one}</SelectionIdentifier>" for one in options)


def assignment(hit, worker, answers, **others):
    return {
        "AssignmentId": f"{hit}{worker}",
        "WorkerId": worker,
        "HITId": hit,
        "AssignmentStatus": "Approved",
        "SubmitTime": "2024-01-02 15:04:05-08:00",
        "Answer": document(answers),
        **others,
    }


ASSIGNMENTS = [
    assignment("H1", "A1", {"animal": text("cat"), "note": text("&lt;b&gt; cat|dog")}),
    assignment("H1", "A2", {"animal": text("dog")}, AssignmentStatus="Rejected"),
    assignment("H2", "A1", {"animal": text("dog"), "note": text("")}),
    assignment("H2", "A3", {"note": text("no idea")}),
]


def saved(path, content, *, lines=False):
    path.write_text("\n".join(map(json.dumps, content)) if lines else json.dumps(content, indent=2))
    return path


def rows(path, field=None, *, sets=False):
    table = read_table(path, COLUMNS, choice=Choice(field=field), sets=sets)
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("a.json", {"NextToken": "x", "NumResults": 4, "Assignments": ASSIGNMENTS}, False),
        ("a.json", [{"Assignments": ASSIGNMENTS[:1]}, {"Assignments": ASSIGNMENTS[1:]}], False),
        ("a.json", ASSIGNMENTS, False),
        ("a.jsonl", ASSIGNMENTS, True),
        ("a.jsonl", [{"Assignment": one, "HIT": {"HITId": "H"}} for one in ASSIGNMENTS], True),
    ],
    ids=["response", "pages", "list", "lines", "GetAssignment"],
)
def test_an_assignment_is_an_answer(tmp_path, name, content, lines):
    path = saved(tmp_path / name, content, lines=lines)
    with pytest.warns(DroppedRowsWarning, match=r"dropped rows: rejected assignments .*: 1$"):
        found = rows(path, "animal")
    assert found == [("H1", "A1", "cat"), ("H2", "A1", "dog"), ("H2", "A3", None)]
    table = read_table(path, COLUMNS, choice=Choice(field="animal", rejected=True))
    assert len(table) == 4
    with pytest.raises(FormatError, match="several questions, 'animal', 'note'"):
        rows(path)


def test_selections_are_labels_or_sets(tmp_path):
    one = [
        assignment("H1", "A1", {"animal": selected("cat")}),
        assignment("H1", "A2", {"animal": ""}),
    ]
    path = saved(tmp_path / "a.json", one)
    assert rows(path) == [("H1", "A1", "cat"), ("H1", "A2", None)]
    assert rows(path, sets=True) == [("H1", "A1", ["cat"]), ("H1", "A2", None)]
    several = assignment("H2", "A1", {"animal": selected("cat", "dog")})
    path = saved(tmp_path / "a.json", [*one, several])
    assert rows(path, sets=True)[2] == ("H2", "A1", ["cat", "dog"])
    with pytest.raises(FormatError, match="--multi-label"):
        rows(path)


def test_an_other_text_is_a_selection(tmp_path):
    other = "<OtherSelectionText>fox</OtherSelectionText>"
    path = saved(tmp_path / "a.json", [assignment("H", "A", {"animal": selected("cat") + other})])
    assert rows(path, sets=True) == [("H", "A", ["cat", "fox"])]


@pytest.mark.parametrize(
    ("answers", "field", "expected"),
    [
        ({"taskAnswers": text('[{"tags":{"cat":true,"dog":true}}]')}, None, ["cat", "dog"]),
        ({"tags.cat": text("true"), "tags.dog": text("false")}, "tags", ["cat"]),
        ({"tags": text("cat|dog")}, None, ["cat", "dog"]),
    ],
    ids=["form", "columns", "texts"],
)
def test_html_forms_are_those_of_a_batch(tmp_path, answers, field, expected):
    path = saved(tmp_path / "a.json", [assignment("H", "A", answers)])
    assert rows(path, field, sets=True) == [("H", "A", expected)]


def test_only_the_named_question_is_parsed(tmp_path):
    answers = {
        "animal": text("cat"),
        "photo": "<UploadedFileKey>abc</UploadedFileKey><UploadedFileSizeInBytes>9"
        "</UploadedFileSizeInBytes>",
        "taskAnswers": text("{"),
    }
    path = saved(tmp_path / "a.json", [assignment("H", "A", answers)])
    assert rows(path, "animal") == [("H", "A", "cat")]
    assert rows(path, "Answer.animal") == [("H", "A", "cat")]


def test_the_last_of_repeated_answers_is_the_latest(tmp_path):
    times = [1704236646.5, "2024-01-02T23:04:05Z"]
    content = [
        assignment("H", "A", {"animal": text(label)}, SubmitTime=time)
        for label, time in zip(("cat", "dog"), times, strict=True)
    ]
    answers = qc.read_answers(saved(tmp_path / "a.json", content), DOMAIN, duplicates="last")
    assert answers.to_frame()["label"].tolist() == ["cat"]


BOMB = '<!DOCTYPE a [<!ENTITY a "cat"><!ENTITY b "&a;&a;">]>'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"HITId": None}, "record 0: 'HITId' must be a text or a whole number .*; got None"),
        ({"WorkerId": ["w"]}, "record 0: 'WorkerId' must be"),
        ({"WorkerId": ""}, "record 0: 'WorkerId' must be"),
        ({"Answer": "<QuestionFormAnswers>"}, "record 0: the answer cannot be read as Question"),
        ({"Answer": document({"a": "&b;"}, head=BOMB)}, "remove the <!DOCTYPE>"),
        ({"Answer": {"a": "cat"}}, "record 0: the answer cannot be read as QuestionFormAnswers"),
        ({"Answer": None}, "there is no answer in this file$"),
        ({"Assignments": {}}, "record 0: 'Assignments' must be a list of objects"),
        ({"Assignments": [3]}, "record 0: 'Assignments' must be a list of objects"),
    ],
)
def test_bad_assignments_name_the_place(tmp_path, change, message):
    path = saved(tmp_path / "a.json", [assignment("H", "A", {"animal": text("cat")}) | change])
    with pytest.raises(FormatError, match=message):
        qc.read_answers(path, DOMAIN, file_format="mturk-api")


def test_a_file_is_no_answer(tmp_path):
    answers = {"photo": "<UploadedFileKey>abc</UploadedFileKey>"}
    path = saved(tmp_path / "a.json", {"Assignments": [assignment("H", "A", answers)]})
    message = r"record 0, assignment 0, field 'photo': an answer must be a label.*UploadedFileKey"
    with pytest.raises(FormatError, match=message):
        rows(path)


def test_there_are_no_truths_in_it(tmp_path):
    with pytest.raises(FormatError, match="cannot contain known truths"):
        qc.read_truths(saved(tmp_path / "a.json", ASSIGNMENTS))
