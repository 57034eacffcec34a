"""Values of Label Studio's results."""

import pytest

from quietcrowd.formats.platforms.label_studio_results import answer_of, is_id, make_result


@pytest.mark.parametrize(
    ("value", "key", "answer"),
    [
        ({"choices": ["a", "b"]}, "choices", ["a", "b"]),
        ({"choices": []}, "choices", []),
        ({"choices": [1]}, "choices", None),
        ({"choices": "a"}, "choices", None),
        ({"taxonomy": [["a", "b"], ["c"]]}, "taxonomy", ["a / b", "c"]),
        ({"taxonomy": []}, "taxonomy", []),
        ({"taxonomy": [[]]}, "taxonomy", None),
        ({"taxonomy": ["a"]}, "taxonomy", None),
        ({"rating": 4}, "rating", 4),
        ({"rating": True}, "rating", None),
        ({"number": 0.5}, "number", 0.5),
        ({"selected": "left"}, "selected", "left"),
        ({"selected": 1}, "selected", None),
        ({"rating": 4, "x": 1, "y": 2}, "rating", None),
        ({"rating": 4}, "number", None),
        (None, "number", None),
    ],
)
def test_answers_are_about_whole_tasks(value, key, answer):
    assert answer_of(value, key) == answer


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("a", {"choices": ["a"]}),
        (True, {"choices": ["True"]}),
        (["a", "b"], {"choices": ["a", "b"]}),
        ([], {"choices": []}),
        (0.5, {"number": 0.5}),
    ],
)
def test_labels_become_results(label, value):
    (result,) = make_result("r", label)
    assert result["value"] == value
    assert result["type"] in value


def test_a_missing_label_has_no_result():
    assert make_result("r", None) == make_result("r", float("nan")) == []


def test_ids_are_integers_and_texts():
    assert [one for one in ("a", 0, "", None, True, 1.0, []) if is_id(one)] == ["a", 0]
