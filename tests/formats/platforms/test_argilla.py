"""Records of Argilla, of both versions, and flattened; all rows are invented."""

import json

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError

DOMAIN = qc.Categorical(["good", "bad"])
SECOND = [
    {
        "id": "r1",
        "fields": {"text": "x"},
        "responses": {
            "tone": [{"value": "good", "user_id": "ann"}, {"value": "bad", "user_id": "bob"}],
        },
    },
    {"id": "r2", "fields": {"text": "y"}, "responses": {}},
]
FIRST = [
    {
        "id": "r1",
        "fields": {"text": "x"},
        "responses": [
            {"user_id": "ann", "status": "submitted", "values": {"tone": {"value": "good"}}},
            {"user_id": "bob", "status": "submitted", "values": {"tone": {"value": "bad"}}},
        ],
    }
]
FLAT = [
    {
        "id": "r1",
        "text": "x",
        "tone.responses": ["good", "bad"],
        "tone.responses.users": ["ann", "bob"],
        "tone.responses.status": ["submitted", "submitted"],
    },
    {"id": "r2", "text": "y", "tone.responses": None, "tone.responses.users": None},
]


def read(path, **options):
    return qc.read_answers(path, DOMAIN, **options).to_frame().to_numpy().tolist()


@pytest.mark.parametrize("records", [SECOND, FIRST, FLAT], ids=["second", "first", "flat"])
@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_a_record_is_a_task(tmp_path, records, suffix):
    path = tmp_path / f"records{suffix}"
    text = json.dumps(records) if suffix == ".json" else "\n".join(map(json.dumps, records))
    path.write_text(text)
    assert read(path) == [["r1", "ann", "good"], ["r1", "bob", "bad"]]


def test_one_of_several_questions_is_named(tmp_path):
    path = tmp_path / "records.json"
    more = {"sure": [{"value": "good", "user_id": "ann"}]}
    path.write_text(json.dumps([{**SECOND[0], "responses": SECOND[0]["responses"] | more}]))
    with pytest.raises(FormatError, match="several questions, 'tone', 'sure'"):
        read(path)
    assert read(path, field="sure") == [["r1", "ann", "good"]]


def test_drafts_are_told_and_left_out(tmp_path):
    path = tmp_path / "records.json"
    drafts = [{**one, "status": "draft"} for one in FIRST[0]["responses"][:1]]
    path.write_text(json.dumps([{**FIRST[0], "responses": drafts + FIRST[0]["responses"][1:]}]))
    with pytest.warns(DroppedRowsWarning, match="responses that were not submitted: 1"):
        assert read(path) == [["r1", "bob", "bad"]]


@pytest.mark.parametrize(
    ("responses", "message"),
    [
        ({"tone": [{"value": ["good", "bad"], "user_id": "ann"}]}, "is not one label"),
        ({"tone": [{"value": "good"}]}, "record 0: its responses are unreadable"),
        ({}, "there is no answer in this file"),
    ],
)
def test_what_cannot_be_read(tmp_path, responses, message):
    path = tmp_path / "records.json"
    path.write_text(json.dumps([{"id": 1, "responses": responses}]))
    with pytest.raises(FormatError, match=message):
        read(path)
