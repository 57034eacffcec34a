"""Exports of doccano; all rows are invented."""

import json
import zipfile

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import FormatError

DOMAIN = qc.Categorical(["good", "bad"])
ANN = [{"id": 1, "text": "x", "label": ["good"]}, {"id": 2, "text": "y", "label": []}]
BOB = [{"id": 1, "text": "x", "label": ["bad"]}]


def lines(rows):
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def rows_of(path, **options):
    return qc.read_answers(path, DOMAIN, **options).to_frame().to_numpy().tolist()


def test_an_archive_has_a_file_for_each_annotator(tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ann.jsonl", lines(ANN))
        archive.writestr("bob.jsonl", lines(BOB))
        archive.writestr("readme.txt", "no rows")
    assert rows_of(path) == [["1", "ann", "good"], ["1", "bob", "bad"]]


def test_a_file_is_named_after_its_annotator(tmp_path):
    path = tmp_path / "ann.jsonl"
    path.write_text(lines(ANN))
    assert rows_of(path) == [["1", "ann", "good"]]


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
        (
            "ann.jsonl",
            {"id": 1, "text": "x", "label": ["a", "b"]},
            "line 1: an answer must be one label; got 2",
        ),
        ("ann.jsonl", {"text": "x", "label": ["a"]}, "line 1 lacks the key 'id'"),
    ],
)
def test_what_cannot_be_read_names_the_line(tmp_path, name, row, message):
    (tmp_path / name).write_text(lines([row]))
    with pytest.raises(FormatError, match=message):
        rows_of(tmp_path / name)


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
