"""Exports of doccano; all rows are invented."""

import json
import zipfile

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError, QuietcrowdWarning
from quietcrowd.formats.registry import read_table

DOMAIN = qc.Categorical(["good", "bad"])
ANN = [{"id": 1, "text": "x", "label": ["good"]}, {"id": 2, "text": "y", "label": []}]
BOB = [{"id": 1, "text": "x", "label": ["bad"]}]


def named():
    return pytest.warns(QuietcrowdWarning, match="worker of all texts has the name of the file")


def lines(rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def rows_of(path, **options):
    return qc.read_answers(path, DOMAIN, **options).to_frame().to_numpy().tolist()


def sets_of(path, file_format=None):
    table = read_table(path, ("task", "worker", "label"), file_format=file_format, sets=True)
    return [tuple(row.values()) for row in table.to_pylist()]


def packed(path, **files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_", "."), text)
    return path


def test_an_archive_has_a_file_for_each_annotator(tmp_path):
    files = {"ann_jsonl": lines(ANN), "bob_jsonl": lines(BOB), "readme_txt": "no rows"}
    path = packed(tmp_path / "export.zip", **files)
    with pytest.warns(DroppedRowsWarning) as told:
        assert rows_of(path) == [["1", "ann", "good"], ["1", "bob", "bad"]]
    assert [str(one.message).partition("rows: ")[2] for one in told] == [
        "files that do not end in .jsonl, .json, .csv: 1",
        "texts without a label: 1",
    ]


def test_an_archive_may_have_lists_or_tables(tmp_path):
    table = 'id,text,label,Comments\n1,"x, ""y""",bad,\n2,y,,\n3,z,bad#good,\n'
    files = {"ann_json": json.dumps(ANN[:1]), "bob@example_org_csv": table}
    path = packed(tmp_path / "export.zip", **files)
    with pytest.warns(DroppedRowsWarning, match="texts without a label: 1"):
        assert sets_of(path) == [
            ("1", "ann", ["good"]),
            ("1", "bob@example.org", ["bad"]),
            ("3", "bob@example.org", ["bad", "good"]),
        ]


def test_hidden_members_of_archives_are_no_files(tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("files/", "")
        archive.writestr("files/bob.jsonl", lines(BOB))
        archive.writestr("__MACOSX/files/._bob.jsonl", b"\0\5")
    assert rows_of(path) == [["1", "bob", "bad"]]


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_a_file_is_named_after_its_annotator(tmp_path, suffix):
    path = tmp_path / f"ann{suffix}"
    path.write_text(lines(ANN) if suffix == ".jsonl" else json.dumps(ANN))
    with pytest.warns(DroppedRowsWarning, match="texts without a label: 1"), named():
        assert rows_of(path) == [["1", "ann", "good"]]


@pytest.mark.parametrize(
    "row",
    [
        {"id": 1, "text": "x", "cats": ["good"], "entities": [[0, 1, "PER"]]},
        {"id": 1, "filename": "x.png", "label": ["good"]},
        {"id": 1, "data": "x", "label": ["good"]},
    ],
)
def test_intents_and_images_have_labels(tmp_path, row):
    path = tmp_path / "ann.jsonl"
    path.write_text(lines([row]))
    with named():
        assert rows_of(path) == [["1", "ann", "good"]]


def test_several_labels_are_sets(tmp_path):
    path = tmp_path / "ann.jsonl"
    path.write_text(lines([{"id": 2, "text": "x", "label": ["bad", "good"]}, *ANN[:1]]))
    with named():
        assert sets_of(path) == [("2", "ann", ["bad", "good"]), ("1", "ann", ["good"])]


def test_old_annotations_of_a_user_are_a_set(tmp_path):
    given = [(7, 1), (8, 2), (9, 1)]
    annotations = [{"label": label, "user": user} for label, user in given]
    path = tmp_path / "all.jsonl"
    path.write_text(lines([{"id": 1, "text": "x", "annotations": annotations, "meta": {}}]))
    assert sets_of(path) == [("1", "1", ["7", "9"]), ("1", "2", ["8"])]


SPAN = {"label": 7, "start_offset": 0, "end_offset": 2, "user": 1}


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"label": [[0, 5, "PER"]]}, "is a span, or a list of spans"),
        ({"label": [0, 5, "PER"]}, "is a span, or a list of spans"),
        ({"labels": ["[0, 5, 'PER']"]}, "is no label, and no list of labels"),
        ({"label": [{"x": 1}]}, "is no label, and no list of labels"),
        ({"label": [True]}, "is no label, and no list of labels"),
        ({"annotations": [SPAN]}, "is a span"),
        ({"annotations": [{"text": "y", "user": 1}]}, "is an annotation without a label"),
        ({"entities": [{"start_offset": 0}], "relations": []}, "is a value of 'entities'"),
        ({"bbox": []}, "is a value of 'bbox'"),
    ],
)
def test_parts_of_texts_are_refused(tmp_path, given, what):
    path = tmp_path / "ann.jsonl"
    path.write_text(lines([{"id": 1, "text": "x", **given}]))
    with pytest.raises(FormatError, match=rf"ann\.jsonl: line 1: .* {what}\. An answer must be"):
        sets_of(path)


def test_spans_in_a_table_are_refused(tmp_path):
    path = packed(tmp_path / "a.zip", ann_csv="id,text,label\n1,x,\"[(0, 5, 'PER')]\"\n")
    with pytest.raises(FormatError, match=r"ann\.csv: row 0: .* no label"):
        sets_of(path)


@pytest.mark.parametrize(
    ("row", "worker", "label"),
    [
        ({"doc_id": 7, "text": "x", "labels": ["good"], "username": "eve"}, "eve", "good"),
        (
            {"id": 7, "text": "x", "annotations": [{"label": 3, "user": 1}], "meta": {}},
            "1",
            3,
        ),
    ],
)
def test_older_exports_name_the_annotator_in_the_row(tmp_path, row, worker, label):
    path = tmp_path / "all.jsonl"
    path.write_text(lines([row]))
    found = qc.read_answers(path, qc.Categorical(["good", "3"]))
    assert found.to_frame().to_numpy().tolist() == [["7", worker, str(label)]]


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("all.jsonl", ANN[0], r"all\.jsonl: line 1: the annotator is unknown"),
        ("ann.jsonl", {"text": "x", "label": ["a"]}, "line 1: 'id' must be a text or a whole"),
        ("ann.jsonl", {"id": None, "text": "x", "label": ["a"]}, "line 1: 'id' must be"),
        ("ann.jsonl", {**ANN[0], "username": ""}, "line 1: 'username' must be"),
        ("ann.json", [3], r"ann\.json: record 0: expected a JSON object"),
        (
            "ann.jsonl",
            {"id": 1, "text": "x", "annotations": [{"annotator_id": "a", "label": "x"}]},
            "line 1: 'user' must be a text or a whole number that is not empty; got None",
        ),
    ],
)
def test_what_cannot_be_read_names_the_line(tmp_path, name, row, message):
    (tmp_path / name).write_text(lines([row]))
    with pytest.raises(FormatError, match=message):
        rows_of(tmp_path / name, file_format="doccano")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"ann_txt": "__label__good x"}, r"has no file that ends in \.jsonl, \.json, \.csv"),
        ({"ann_jsonl": '{"id": 1}'}, r"ann\.jsonl: line 1 has none of the keys 'label'"),
        ({"ann_jsonl": "{"}, r"ann\.jsonl: line 1 is not JSON"),
        ({"ann_json": "[{]"}, r"ann\.json is not JSON"),
        ({"answers_csv": "task,worker,label\n"}, r"answers\.csv is not an export of doccano"),
        ({"ann_csv": "id,label\n1\n"}, "cannot be read as doccano export: .* Expected 2 columns"),
        ({"ann_csv": "id,label,label\n1,a,b\n"}, "2 columns have the name 'label'"),
        ({"ann_jsonl": b"\xff"}, "cannot be read as doccano export: 'utf-8' codec"),
    ],
)
def test_damaged_archives_name_the_place(tmp_path, files, message):
    path = packed(tmp_path / "a.zip", **files)
    with pytest.raises(FormatError, match=rf"a\.zip: .*{message}"):
        sets_of(path)


def test_an_encrypted_archive_is_refused(tmp_path):
    path = packed(tmp_path / "a.zip", ann_jsonl=lines(BOB))
    content = bytearray(path.read_bytes())
    for head, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(head) + flags] |= 1
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"a\.zip: .* is encrypted"):
        sets_of(path)


def test_other_archives_and_fields_are_refused(tmp_path):
    (tmp_path / "a.zip").write_text("no archive")
    with pytest.raises(FormatError, match=r"a\.zip: this cannot be read as doccano export"):
        rows_of(tmp_path / "a.zip")
    (tmp_path / "ann.jsonl").write_text(lines(ANN))
    with pytest.raises(FormatError, match="supports no field="):
        rows_of(tmp_path / "ann.jsonl", field="label")


def test_a_table_of_json_lines_stays_a_table(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(lines([{"task": 1, "worker": "u", "label": "good", "text": "x"}]))
    assert rows_of(path) == [[1, "u", "good"]]


def test_a_table_of_lists_stays_a_table(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(lines([{"task": 1, "worker": "u", "label": ["good", "bad"], "text": "x"}]))
    assert sets_of(path) == [(1, "u", ["good", "bad"])]
