"""Exports of Labelbox, in the shape of its second version; all rows are invented."""

import json

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.registry import read_table

COLUMNS = ("task", "worker", "label")


def radio(name, option, *inside):
    answer = {"name": option, "value": option.lower(), "classifications": list(inside)}
    return {"feature_id": "f1", "name": name, "value": name.lower(), "radio_answer": answer}


def checklist(name, *options):
    answers = [{"name": one, "value": one.lower(), "classifications": []} for one in options]
    return {"feature_id": "f2", "name": name, "value": name, "checklist_answers": answers}


def text(name, content):
    return {"feature_id": "f3", "name": name, "value": name, "text_answer": {"content": content}}


def label(who, *classifications, when="2024-04-08T16:21:26.000+00:00", objects=(), **parts):
    annotations = {"objects": list(objects), "classifications": list(classifications)}
    return {
        "label_kind": "Default",
        "version": "1.0.0",
        "id": "l1",
        "label_details": {"created_at": when, "updated_at": when, "created_by": who, "reviews": []},
        "performance_details": {"seconds_to_create": 9, "seconds_to_review": 0, "skipped": False},
        "annotations": {**annotations, "relationships": []},
    } | parts


def data_row(one, *labels, project="p1", title="Tones", **ids):
    held = {"name": title, "labels": list(labels), "project_details": {"batch_name": "b"}}
    ids = {"id": one, "global_key": f"{one}.txt", "row_data": "https://example.org/x"} | ids
    return {"data_row": ids, "media_attributes": {}, "projects": {project: held}}


ROWS = [
    data_row(
        "d1",
        label("ann@example.org", radio("Tone", "Warm"), checklist("Topics", "Food", "Rain, snow")),
        label("bob@example.org", radio("Tone", "Cold"), text("Why", "None")),
    ),
    data_row("d2", label("ann@example.org", radio("Tone", "Warm"), checklist("Topics"))),
]


@pytest.fixture
def export(tmp_path):
    def write(*rows, name="export.ndjson"):
        path = tmp_path / name
        whole = name.endswith(".json")
        text = json.dumps(rows) if whole else "\n".join(map(json.dumps, rows))
        path.write_text(text, encoding="utf-8")
        return path

    return write


def read(path, question=None, **options):
    table = read_table(path, COLUMNS, choice=Choice(field=question), sets=True, **options)
    return list(map(tuple, map(dict.values, table.to_pylist())))


@pytest.mark.parametrize("name", ["export.ndjson", "export.jsonl", "export.json"])
def test_a_radio_button_gives_texts(export, name):
    assert read(export(*ROWS, name=name), "Tone") == [
        ("d1", "ann@example.org", "Warm"),
        ("d1", "bob@example.org", "Cold"),
        ("d2", "ann@example.org", "Warm"),
    ]


def test_python_reads_the_same_answers(export):
    answers = qc.read_answers(export(ROWS[1]), qc.Categorical(["Cold", "Warm"]), field="Tone")
    assert answers.to_frame().to_numpy().tolist() == [["d2", "ann@example.org", "Warm"]]


def test_a_checklist_gives_lists_and_a_text_gives_texts(export):
    path = export(*ROWS)
    assert read(path, "Topics") == [
        ("d1", "ann@example.org", ["Food", "Rain, snow"]),
        ("d1", "bob@example.org", None),
        ("d2", "ann@example.org", []),
    ]
    assert read(path, "Why") == [
        ("d1", "ann@example.org", None),
        ("d1", "bob@example.org", "None"),
        ("d2", "ann@example.org", None),
    ]


def test_several_questions_are_listed_with_their_counts(export):
    message = (
        r"'Tones / Tone' \(answers: 3\), 'Tones / Topics' \(answers: 2\), "
        r"'Tones / Why' \(answers: 1\)\. Choose"
    )
    with pytest.raises(FormatError, match=message):
        read(export(*ROWS))


def test_one_of_several_projects_is_chosen(export):
    other = label("eve@example.org", radio("Tone", "Warm"))
    path = export(data_row("d1", other, project="p2", title="Second"), *ROWS)
    message = r"'Second / Tone' \(answers: 1\), 'Tones / Tone' \(answers: 3\)\. Choose"
    with pytest.raises(FormatError, match=message):
        read(path, "Tone")
    for question in ("Second / Tone", "p2 / Tone"):
        assert read(path, question) == [("d1", "eve@example.org", "Warm")]


def test_classifications_inside_answers_are_questions(export):
    path = export(data_row("d1", label("ann", radio("Tone", "Warm", radio("Sure", "Yes")))))
    assert read(path, "Sure") == [("d1", "ann", "Yes")]


BOX = {"name": "Face", "annotation_kind": "ImageBoundingBox", "bounding_box": {"top": 1.0}}


def test_objects_are_never_labels(export):
    path = export(data_row("d1", label("ann", radio("Tone", "Warm"), objects=[BOX])))
    assert read(path) == [("d1", "ann", "Warm")]
    boxes = export(data_row("d1", label("ann", objects=[BOX])), name="boxes.ndjson")
    for source, question in ((path, "Face"), (boxes, None)):
        with pytest.raises(FormatError, match="'Face' are shapes or spans"):
            read(source, question)


def test_skipped_labels_are_told_and_dropped(export):
    skipped = label("bob", performance_details={"skipped": True})
    path = export(data_row("d1", label("ann", radio("Tone", "Warm")), skipped))
    with pytest.warns(DroppedRowsWarning, match="skipped labels: 1"):
        assert read(path) == [("d1", "ann", "Warm")]


def test_repeated_labels_are_in_order_of_time(export):
    later = label("ann", radio("Tone", "Cold"), when="2024-04-09T08:00:00.000+00:00")
    path = export(data_row("d1", later, label("ann", radio("Tone", "Warm"))))
    assert read(path) == [("d1", "ann", "Warm"), ("d1", "ann", "Cold")]


@pytest.mark.parametrize(
    ("ids", "task"),
    [({"id": None}, "d1.txt"), ({"id": None, "global_key": None, "external_id": "e"}, "e")],
)
def test_other_ids_of_a_data_row(export, ids, task):
    path = export(data_row("d1", label("ann", radio("Tone", "Warm")), **ids))
    assert read(path) == [(task, "ann", "Warm")]


def test_damage_outside_the_question_is_let_be(export):
    damaged = {"name": "Topics", "checklist_answers": "?"}
    other = {"label_details": 5, "annotations": [], "performance_details": "?"}
    path = export(
        data_row("d1", label("ann", radio("Tone", "Warm"), damaged, objects="?")),
        data_row("d1", label("ann", **other), project="p2"),
    )
    assert read(path, "Tone") == [("d1", "ann", "Warm")]
    with pytest.raises(FormatError, match="'checklist_answers' must be a list of objects"):
        read(path, "Topics")


GOOD = radio("Tone", "Warm")
NAMELESS = {"value": "tone", "radio_answer": {"value": "warm"}}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (data_row("d1", label(None, GOOD)), "label 0 of project p1: 'label_details.created_by'"),
        (data_row("d1", label(True, GOOD)), "'label_details.created_by' must be a text"),
        (data_row("d1", label("ann", GOOD, label_details="?")), "'label_details' must be an obj"),
        (data_row("d1", label("ann", GOOD, label_details={})), "'label_details.created_by' must"),
        (data_row("", label("ann", GOOD)), "line 1, label 0 of .*: 'data_row.id' must be a text"),
        (data_row("d1", label("ann", GOOD, GOOD)), r"'Tone': \[\{.* is not a label"),
        (data_row("d1", label("ann", radio("Tone", "x") | {"radio_answer": 3})), "'radio_answer'"),
        (
            data_row("d1", label("ann", NAMELESS | {"radio_answer": {"id": 1}})),
            "'tone': null is not a label",
        ),
        (data_row("d1", label("ann", text("Why", ["a"]))), "'Why': .* is not a label"),
        (data_row("d1", label("ann", text("Why", {"a": 1}))), "'Why': .* is not a label"),
        (data_row("d1", label("ann", annotations={"objects": []})), "there is no answer"),
        ({"data_row": {}, "projects": {"p": []}}, "line 1: 'p' must be an object"),
        ({"data_row": {}, "projects": {"p": {"labels": {}}}}, "'labels' must be a list of obj"),
    ],
)
def test_damage_names_the_label(export, row, message):
    with pytest.raises(FormatError, match=message):
        read(export(row), file_format="labelbox")


def test_names_that_are_missing_are_replaced_by_values(export):
    path = export(
        data_row("d1", label("ann", NAMELESS), label("bob", NAMELESS | {"radio_answer": None}))
    )
    assert read(path) == [("d1", "ann", "warm"), ("d1", "bob", None)]


def test_known_truths_are_not_in_this_export(export):
    with pytest.raises(FormatError, match="Labelbox export cannot contain known truths"):
        qc.read_truths(export(*ROWS))


@pytest.mark.parametrize("worker", ["worker", "workerId", "performer"])
def test_a_table_that_mentions_the_keys_stays_a_table(tmp_path, worker):
    path = tmp_path / "a.jsonl"
    row = {"task": "projects", worker: "data_row", "label": "yes", "data_row": {}, "projects": {}}
    path.write_text(json.dumps(row))
    assert read(path) == [("projects", "data_row", "yes")]
