"""Nothing that an object says is lost without a word, in any file of JSON that others write."""

import pytest

import quietcrowd as qc
from quietcrowd.formats import read_answers
from quietcrowd.json_text import parse_json

ANSWER = '{"task": "t", "worker": "a", "label": "no", "label": "yes"}'
LABEL_STUDIO = (
    '[{"id": 1, "data": {"q": "?"}, "annotations": [{"completed_by": 1, "completed_by": 2, '
    '"result": []}]}]'
)
ARGILLA = '[{"id": "1", "responses": [], "responses": []}]'


def test_what_stands_once_is_read_as_ever():
    assert parse_json('{"a": [{"b": 1}, {"b": 2}], "b": null}') == {
        "a": [{"b": 1}, {"b": 2}],
        "b": None,
    }


@pytest.mark.parametrize(
    ("name", "text", "written_by"),
    [
        ("answers.jsonl", ANSWER, "jsonl"),
        ("answers.json", LABEL_STUDIO, "label-studio"),
        ("answers.json", ARGILLA, "argilla"),
        ("answers.jsonl", '{"id": 1, "label": ["no"], "label": ["yes"]}', "doccano"),
    ],
)
def test_a_name_that_stands_twice_is_refused(tmp_path, name, text, written_by):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(qc.FormatError, match=rf"{name}.* is named twice in one object"):
        read_answers(path, qc.Categorical(["no", "yes"]), format=written_by)
