"""Annotations of Prodigy; all rows are invented."""

import json

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, DroppedRowsWarning, FormatError
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.registry import read_table

DOMAIN = qc.Categorical(["accept", "reject"])
OPTIONS = [{"id": "cat", "text": "Cat"}, {"id": "dog", "text": "Dog"}]


def annotation(one, worker, answer="accept", **more):
    return {
        "text": f"text {one}",
        "_input_hash": one,
        "_task_hash": 10 * one,
        **more,
        "answer": answer,
        "_timestamp": 1700000000,
        "_annotator_id": worker,
        "_session_id": f"session-{worker}",
    }


def binary(one, worker, answer, label="SPORT", **more):
    return annotation(one, worker, answer, label=label, _view_id="classification", **more)


def choice(one, worker, *accepted, **more):
    given = {"options": OPTIONS, "accept": list(accepted), "_view_id": "choice"}
    return annotation(one, worker, **{**given, **more})


def export(path, *annotations):
    path.write_text("".join(f"{json.dumps(one)}\n" for one in annotations), encoding="utf-8")
    return path


def rows(path, *, sets=False, **options):
    table = read_table(path, ("task", "worker", "label"), choice=Choice(**options), sets=sets)
    return [tuple(row.values()) for row in table.to_pylist()]


def test_a_label_is_accepted_or_rejected(tmp_path):
    given = [(-7, "ann", "accept"), (-7, "bob", "reject"), (8, "ann", "ignore")]
    path = export(tmp_path / "a.jsonl", *[binary(*one) for one in given])
    with pytest.warns(DroppedRowsWarning, match="annotations with the answer 'ignore': 1"):
        assert rows(path) == [("-7", "ann", "accept"), ("-7", "bob", "reject")]


def test_an_ignored_annotation_shows_in_the_reports(tmp_path):
    path = export(
        tmp_path / "a.jsonl", *[binary(7, *one) for one in (("a", "accept"), ("b", "ignore"))]
    )
    with pytest.warns(DroppedRowsWarning):
        answers = qc.read_answers(path, DOMAIN)
    assert answers.dropped.out_of_domain == 1
    with pytest.raises(AnswerError, match="missing report reveals this"):
        qc.RandomizedResponse(domain=DOMAIN, epsilon=1).randomize(answers)


def test_a_list_in_json_is_read_too(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps([binary(7, "ann", "accept")]))
    assert rows(path) == [("7", "ann", "accept")]


def test_labels_are_questions(tmp_path):
    given = [binary(7, "ann", "accept"), binary(7, "ann", "reject", "NEWS")]
    path = export(tmp_path / "a.jsonl", *given)
    with pytest.raises(FormatError, match=r"several questions, 'SPORT', 'NEWS'\. Choose one with"):
        rows(path)
    assert rows(path, field="SPORT") == [("7", "ann", "accept")]
    assert rows(path, field="NEWS") == [("7", "ann", "reject")]


def test_a_question_may_have_no_label(tmp_path):
    path = export(tmp_path / "a.jsonl", annotation(7, "ann", "reject", _view_id="html"))
    assert rows(path) == [("7", "ann", "reject")]


def test_spans_only_highlight_if_there_is_a_label(tmp_path):
    spans = [{"start": 0, "end": 4, "pattern": 3}]
    path = export(tmp_path / "a.jsonl", binary(7, "ann", "accept", spans=spans))
    assert rows(path) == [("7", "ann", "accept")]


def test_one_option_is_a_label(tmp_path):
    given = [choice(7, "ann", "cat"), choice(7, "bob"), choice(7, "eve", answer="reject")]
    path = export(tmp_path / "a.jsonl", *given)
    with pytest.warns(DroppedRowsWarning, match="annotations with the answer 'reject': 1"):
        assert rows(path) == [("7", "ann", "cat"), ("7", "bob", None)]


@pytest.mark.parametrize(
    "given",
    [
        [choice(7, "ann", "cat", "dog"), choice(7, "bob")],
        [
            choice(7, "ann", "cat", config={"choice_style": "multiple"}),
            choice(7, "bob", config={"choice_style": "multiple"}),
        ],
    ],
    ids=["several", "multiple"],
)
def test_several_options_are_sets(tmp_path, given):
    path = export(tmp_path / "a.jsonl", *given)
    assert rows(path, sets=True) == [("7", "ann", given[0]["accept"]), ("7", "bob", [])]
    with pytest.raises(FormatError, match="convert --multi-label"):
        qc.read_answers(path, DOMAIN)


def test_choices_and_labels_are_several_questions(tmp_path):
    path = export(tmp_path / "a.jsonl", choice(7, "ann", "cat"), binary(7, "ann", "accept"))
    with pytest.raises(FormatError, match="several questions, 'choice', 'SPORT'"):
        rows(path)
    assert rows(path, field="choice") == [("7", "ann", "cat")]


def test_other_options_of_an_input_are_another_question(tmp_path):
    others = [{"id": 1, "text": "good"}, {"id": 2, "text": "bad"}]
    given = [choice(7, "ann", "cat"), choice(7, "bob", 1, options=others)]
    path = export(tmp_path / "a.jsonl", *given)
    with pytest.raises(FormatError, match="line 2: input 7 has other options than before"):
        rows(path)
    path = export(path, choice(7, "ann", "cat"), choice(8, "bob", 1, options=others))
    assert rows(path) == [("7", "ann", "cat"), ("8", "bob", "1")]


def test_a_session_is_a_worker_without_an_annotator(tmp_path):
    given = {**binary(7, None, "accept"), "_session_id": "news-ann"}
    assert rows(export(tmp_path / "a.jsonl", given)) == [("7", "news-ann", "accept")]


def test_the_latest_answer_is_last(tmp_path):
    given = [binary(7, "ann", "accept"), binary(7, "ann", "reject")]
    given[1]["_timestamp"] -= 0.5
    path = export(tmp_path / "a.jsonl", *given)
    answers = qc.read_answers(path, DOMAIN, duplicates="last")
    assert answers.to_frame().to_numpy().tolist() == [["7", "ann", "accept"]]


SPANS = [{"start": 0, "end": 4, "label": "PER"}]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"spans": SPANS, "tokens": []}, r"\[{'start': 0, .* an annotation of the kind 'spans'"),
        ({"spans": SPANS, "_view_id": "ner_manual"}, "an annotation of the kind 'ner_manual'"),
        ({"label": "A", "_view_id": "image_manual"}, "an annotation of the kind 'image_manual'"),
        ({"tokens": [{"text": "x"}]}, "an annotation of the kind 'tokens'"),
        ({"user_input": "x", "field_id": "user_input"}, "an annotation of the kind 'field_id'"),
        ({"accept": {"text": "x"}, "_view_id": "compare"}, "an annotation of the kind 'compare'"),
        ({"accept": [None], "options": OPTIONS}, r"\[None\] is no list of options"),
        ({"accept": "cat", "options": OPTIONS}, "'cat' is no list of options"),
        ({"answer": "maybe", "label": "A"}, "'maybe' is not one of 'accept', 'reject', 'ignore'"),
    ],
)
def test_other_annotations_are_refused(tmp_path, more, what):
    path = export(tmp_path / "a.jsonl", {**annotation(7, "ann"), **more})
    with pytest.raises(FormatError, match=rf"line 1: .*{what}\. An answer must be the answer to a"):
        rows(path)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"_annotator_id": None, "_session_id": None}, "line 1: the annotator is unknown"),
        ({"_annotator_id": ""}, "line 1: '_annotator_id' must be a text"),
        ({"_input_hash": 1.5}, "line 1: '_input_hash' must be a text"),
    ],
)
def test_damaged_ids_name_the_line(tmp_path, more, message):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({**binary(7, "ann", "accept"), **more}))
    with pytest.raises(FormatError, match=message):
        read_table(path, ("task", "worker", "label"), file_format="prodigy")


def test_known_truths_are_not_in_it(tmp_path):
    with pytest.raises(FormatError, match="Prodigy annotations cannot contain known truths"):
        qc.read_truths(export(tmp_path / "a.jsonl", binary(7, "ann", "accept")))
