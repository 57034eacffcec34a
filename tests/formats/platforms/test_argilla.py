"""Records of Argilla, of both versions, and flattened; all rows are invented."""

import json

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.registry import read_table

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
HUB = [
    {
        "external_id": "r1",
        "text": "x",
        "tone": [
            {"user_id": "ann", "value": "good", "status": "submitted"},
            {"user_id": "bob", "value": "bad", "status": "submitted"},
        ],
        "tone-suggestion": None,
        "tone-suggestion-metadata": {"type": None, "score": None, "agent": None},
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


def rows(path, *, sets=False, **choice):
    table = read_table(path, ("task", "worker", "label"), choice=Choice(**choice), sets=sets)
    return [tuple(row.values()) for row in table.to_pylist()]


def record(*values, question="tone", one="r1"):
    """Return a record with an answer of ann, bob, … to a question."""
    users = ("ann", "bob", "eve")
    given = [{"value": value, "user_id": user} for value, user in zip(values, users, strict=False)]
    return {"id": one, "responses": {question: given}}


def written(path, *records):
    path.write_text(json.dumps(list(records)))
    return path


@pytest.mark.parametrize(
    "records", [SECOND, FIRST, HUB, FLAT], ids=["second", "first", "hub", "flat"]
)
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


def test_several_labels_are_sets(tmp_path):
    path = written(tmp_path / "a.json", record(["good"], ["bad", "good"]), record([], one="r2"))
    assert rows(path, sets=True) == [
        ("r1", "ann", ["good"]),
        ("r1", "bob", ["bad", "good"]),
        ("r2", "ann", []),
    ]
    with pytest.raises(FormatError, match="convert --multi-label"):
        read(path)


def test_one_label_per_answer_is_a_label(tmp_path):
    path = written(tmp_path / "a.json", record(["good"], ["bad"], []))
    assert rows(path) == [("r1", "ann", "good"), ("r1", "bob", "bad"), ("r1", "eve", None)]
    assert [row[2] for row in rows(path, sets=True)] == [["good"], ["bad"], []]


@pytest.mark.parametrize(("value", "label"), [(3, "3"), ("so so", "so so"), (None, None)])
def test_ratings_and_texts(tmp_path, value, label):
    path = written(tmp_path / "a.json", record(value))
    assert rows(path) == [("r1", "ann", label)]


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([[{"start": 0, "end": 5, "label": "PER"}]], "is a list of spans"),
        ([[{"value": "b", "rank": 1}, {"value": "a", "rank": 2}]], "is a ranking"),
        ([{"rank": 1, "value": "a"}], "is a ranking"),
        ([["a", "b", "c"], ["c", "a", "b"]], "is a ranking, because all answers have these labels"),
        ([["a", 3]], "is no list of labels"),
        ([{"x": 1}], "is an object"),
    ],
)
def test_other_questions_are_refused(tmp_path, values, what):
    path = written(tmp_path / "a.json", record(*values))
    message = f"record 0, question 'tone', user 'ann': .* {what}. An answer must be a label"
    with pytest.raises(FormatError, match=message):
        rows(path)


def test_only_the_chosen_question_is_read(tmp_path):
    both = record("good")
    both["responses"]["damaged"] = [3]
    path = written(tmp_path / "a.json", both)
    assert rows(path, field="tone") == [("r1", "ann", "good")]
    with pytest.raises(FormatError, match="record 0, question 'damaged': the responses are unread"):
        rows(path, field="damaged")


def test_the_latest_answer_is_last(tmp_path):
    def answer(value, time):
        return {
            "user_id": "ann",
            "status": "submitted",
            "values": {"tone": {"value": value}},
            "updated_at": time,
        }

    old, new = "2024-05-01T10:00:00.000001", "2024-05-01T10:00:01"
    responses = [answer("bad", new), answer("good", old)]
    path = written(tmp_path / "a.json", {"id": "r1", "responses": responses})
    assert read(path, duplicates="last") == [["r1", "ann", "bad"]]


def test_records_without_ids_are_numbered(tmp_path):
    records = [{"responses": record("good")["responses"]} for _ in range(2)]
    path = written(tmp_path / "a.json", *records)
    assert rows(path) == [("0", "ann", "good"), ("1", "ann", "good")]


def test_line_separators_in_texts_end_no_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({**record("a\u2028b"), "t": "\x85"}, ensure_ascii=False), "utf-8")
    assert rows(path) == [("r1", "ann", "a\u2028b")]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"id": 1, "responses": {}}], "there is no answer in this file"),
        (
            [{"id": 1, "responses": {"tone": [{"value": "good", "user_id": None}]}}],
            "record 0, question 'tone': 'user_id' must be a text or a whole number .* got None",
        ),
        (
            [{"id": 1, "responses": {"tone": [{"value": "good"}]}}],
            "record 0, question 'tone': 'user_id' must be",
        ),
        ([{"id": 1, "responses": {"tone": 3}}], "record 0, .* the responses are unreadable"),
        ([record("good"), record("bad", one=None)], "record 1: 'id' must be"),
        ([{"id": 1, "q.responses": ["a"], "q.responses.users": []}], "record 0, .* unreadable"),
        ([{"id": 1, "q.responses": ["a"]}], "record 0, .* unreadable: 'q.responses.users'"),
        ([record("good"), 3], "record 1: expected a JSON object"),
    ],
)
def test_what_cannot_be_read(tmp_path, records, message):
    path = written(tmp_path / "a.json", *records)
    with pytest.raises(FormatError, match=message):
        read(path)


def test_damaged_lines_are_named(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record("good")) + '\n{"id": ')
    with pytest.raises(FormatError, match=r"a\.jsonl: line 2 is not JSON"):
        read(path)
