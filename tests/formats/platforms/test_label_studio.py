"""Label Studio's JSON; the golden file is invented."""

import json
import warnings

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.exceptions import (
    AnswerError,
    DroppedRowsWarning,
    FormatError,
    ParameterError,
    QuietcrowdWarning,
)
from quietcrowd.formats.kinds import FORMATS
from quietcrowd.formats.registry import holds_truths, read_table, write_table

DOMAIN = qc.Categorical(["cat", "dog"])


def result(name, kind, value):
    return {"id": "x", "from_name": name, "to_name": "img", "type": kind, "value": {kind: value}}


def annotation(worker, *results, **more):
    return {"id": 9, "completed_by": worker, "result": list(results), **more}


def project(path, *tasks):
    path.write_text(json.dumps(list(tasks)), encoding="utf-8")
    return path


CAT, DOG = result("animal", "choices", ["cat"]), result("animal", "choices", ["dog"])
TWO = result("animal", "choices", ["cat", "dog"])
NONE = result("animal", "choices", [])
BOX = {"id": "b", "from_name": "box", "to_name": "img", "type": "rectanglelabels", "value": {}}


def test_annotations_are_answers(tmp_path):
    path = project(
        tmp_path / "a.json",
        {
            "id": 7,
            "data": {"image": "a.png"},
            "created_at": "2020",
            "annotations": [
                annotation({"id": 3, "email": "a@b"}, CAT, BOX, lead_time=3.5),
                annotation(4, DOG),
                annotation(5, was_cancelled=True),
            ],
        },
        {"id": 8, "data": {"image": "b.png"}, "annotations": [annotation(4, DOG)]},
    )
    with pytest.warns(DroppedRowsWarning, match="cancelled annotations: 1"):
        answers = qc.read_answers(path, DOMAIN)
    rows = answers.to_frame().to_numpy().tolist()
    assert rows == [["7", "3", "cat"], ["7", "4", "dog"], ["8", "4", "dog"]]


@pytest.mark.parametrize("kind", ["rating", "number"])
def test_ratings_and_numbers(tmp_path, kind):
    tasks = [{"id": one, "annotations": [annotation(1, result("n", kind, one))]} for one in (1, 3)]
    answers = qc.read_answers(project(tmp_path / "a.json", *tasks), qc.Ordinal(range(5)))
    assert answers.values.tolist() == [1, 3]


def rows(path, wanted=("task", "worker", "label"), *, sets=False):
    table = read_table(path, wanted, sets=sets)
    return [tuple(row.values()) for row in table.to_pylist()]


def test_several_choices_are_sets(tmp_path):
    annotations = [annotation(1, TWO), annotation(2, CAT), annotation(3, NONE), annotation(4)]
    path = project(tmp_path / "a.json", {"id": 1, "annotations": annotations})
    with pytest.warns(QuietcrowdWarning, match="annotations without a choice for 'animal': 1"):
        assert rows(path, sets=True) == [
            ("1", "1", ["cat", "dog"]),
            ("1", "2", ["cat"]),
            ("1", "3", []),
            ("1", "4", []),
        ]
    with pytest.raises(FormatError, match="convert --multi-label"):
        qc.read_answers(path, DOMAIN)


def test_one_choice_is_a_label_or_a_set(tmp_path):
    path = project(tmp_path / "a.json", {"id": 1, "annotations": [annotation(1, CAT)]})
    assert rows(path) == [("1", "1", "cat")]
    assert rows(path, sets=True) == [("1", "1", ["cat"])]


def test_no_choice_is_a_missing_label(tmp_path):
    task = {"id": 1, "annotations": [annotation(1, CAT), annotation(2, NONE)]}
    assert rows(project(tmp_path / "a.json", task)) == [("1", "1", "cat"), ("1", "2", None)]


def test_levels_of_a_taxonomy_are_joined(tmp_path):
    one = result("kind", "taxonomy", [["animal", "cat"]])
    two = result("kind", "taxonomy", [["animal"], ["animal", "dog"]])
    path = project(tmp_path / "a.json", {"id": 1, "annotations": [annotation(1, one)]})
    assert rows(path) == [("1", "1", "animal / cat")]
    both = {"id": 1, "annotations": [annotation(1, one), annotation(2, two)]}
    assert rows(project(tmp_path / "a.json", both), sets=True) == [
        ("1", "1", ["animal / cat"]),
        ("1", "2", ["animal", "animal / dog"]),
    ]


def test_completions_are_the_annotations_of_old_versions(tmp_path):
    path = project(
        tmp_path / "a.json",
        {
            "id": 0,
            "data": {"text": "x"},
            "completions": [
                annotation(1, CAT, created_at=1600000000),
                annotation(2, skipped=True),
                annotation(2, DOG, honeypot=True),
                {"id": 4, "created_username": "eve", "result": [DOG]},
            ],
            "predictions": [],
        },
    )
    with pytest.warns(DroppedRowsWarning, match="cancelled annotations: 1"):
        assert rows(path) == [("0", "1", "cat"), ("0", "2", "dog"), ("0", "eve", "dog")]
    assert not holds_truths(path, ("task", "worker", "label"))
    assert rows(path, ("task", "label")) == [("0", "dog")]


def test_completions_without_annotators_are_refused(tmp_path):
    task = {"id": 0, "completions": [{"id": 1001, "result": [CAT]}]}
    path = project(tmp_path / "a.json", task)
    message = "task 0, annotation 1001: 'completed_by' must be an id; got None. Exports before ver"
    with pytest.raises(FormatError, match=message):
        rows(path)


@pytest.mark.parametrize("key", ["updated_at", "created_at"])
def test_the_latest_annotation_is_last(tmp_path, key):
    times = ["2024-05-01T10:00:00.5Z", "2024-05-01T12:00:00+02:00"]
    given = [annotation(1, CAT, **{key: times[0]}), annotation(1, DOG, **{key: times[1]})]
    path = project(tmp_path / "a.json", {"id": 1, "annotations": given})
    answers = qc.read_answers(path, DOMAIN, duplicates="last")
    assert answers.to_frame().to_numpy().tolist() == [["1", "1", "cat"]]


def test_only_the_chosen_question_is_read(tmp_path):
    task = {"id": 1, "annotations": [annotation(1, CAT, result("n", "number", "damaged"))]}
    path = project(tmp_path / "a.json", task)
    assert qc.read_answers(path, DOMAIN, field="animal").values.tolist() == [0]


REGION = {**CAT, "value": {"start": 0, "end": 5, "text": "a cat", "choices": ["cat"]}}


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([REGION], r"task 1, 'animal': expected one answer about the whole task; got \[{'start'"),
        ([{**CAT, "value": {"choices": "cat"}}], "expected one answer"),
        ([{**CAT, "value": ["cat"]}], "expected one answer"),
        ([result("kind", "taxonomy", [[]])], "expected one answer"),
        ([result("kind", "taxonomy", ["cat"])], "expected one answer"),
        ([BOX], r"not labels of tasks: box \(rectanglelabels\)\. quietcrowd reads choices"),
        ([{**CAT, "from_name": None}], "task 1: 'from_name' must be a text"),
    ],
)
def test_other_results_are_refused(tmp_path, results, message):
    path = project(tmp_path / "a.json", {"id": 1, "annotations": [annotation(1, *results)]})
    with pytest.raises(FormatError, match=message):
        rows(path)


def test_a_question_about_boxes_is_refused_by_name(tmp_path):
    path = project(tmp_path / "a.json", {"id": 1, "annotations": [annotation(1, CAT, BOX)]})
    with pytest.raises(FormatError, match=r"not labels of tasks: box \(rectanglelabels\)"):
        qc.read_answers(path, DOMAIN, field="box")


def test_sets_are_written(tmp_path):
    table = pa.table(
        {"task": ["t"] * 3, "worker": ["1", "2", "3"], "label": [["é", "b"], [], None]}
    )
    write_table(table, tmp_path / "a.json", file_format="label-studio")
    with pytest.warns(QuietcrowdWarning, match="without a choice for 'label': 1"):
        found = rows(tmp_path / "a.json", sets=True)
    assert found == [("t", "1", ["é", "b"]), ("t", "2", []), ("t", "3", [])]


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
SETS = st.none() | st.lists(TEXTS | st.sampled_from(['{"choices": []}', "[{}]", "=1"]), max_size=3)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("name", ["label-studio", "label-studio-min", "label-studio-csv"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sets=st.lists(SETS, max_size=4).map(lambda more: [["cat"], *more]))
def test_sets_that_are_written_are_read(tmp_path, name, sets):
    workers = [str(one) for one in range(1, len(sets) + 1)]
    table = pa.table(
        {
            "task": ["t"] * len(sets),
            "worker": workers,
            "label": pa.array(sets, pa.list_(pa.string())),
        }
    )
    path = tmp_path / f"a{FORMATS[name].suffixes[0]}"
    write_table(table, path, file_format=name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        found = rows(path, sets=True)
    expected = [one or [] for one in sets]
    assert found == [("t", *row) for row in zip(workers, expected, strict=True)]


def test_several_questions(tmp_path):
    task = {"id": 1, "annotations": [annotation(1, CAT, result("sure", "rating", 4))]}
    path = project(tmp_path / "a.json", task)
    with pytest.raises(FormatError, match="several questions, 'animal', 'sure'"):
        qc.read_answers(path, DOMAIN)
    assert qc.read_answers(path, DOMAIN, field="animal").values.tolist() == [0]
    assert qc.read_answers(path, qc.Ordinal(range(6)), field="sure").values.tolist() == [4]


def test_names_in_the_data_are_tasks_where_each_is_another(tmp_path):
    def tasks(*names):
        return [
            {"id": place, "data": {"task": name}, "annotations": [annotation(1, CAT)]}
            for place, name in enumerate(names, start=1)
        ]

    def read(*names):
        path = project(tmp_path / "a.json", *tasks(*names))
        return qc.read_answers(path, DOMAIN).tasks.to_pylist()

    assert read("t1", "t2") == ["t1", "t2"]
    assert read("same", "same") == ["1", "2"]
    assert read("t1", None) == ["1", "2"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "this cannot be read as Label Studio JSON"),
        ("[", "line 1 column 2"),
        ("{}", "expected a list of tasks"),
        ("[]", "there is no answer"),
        ("[3]", "task 0: expected a JSON object; got 3"),
        ('[{"data": {}}]', "task 0: the id is missing or invalid; got None"),
        ('[{"id": 1, "annotations": []}, {"id": 1}]', "two tasks have the id 1"),
        ('[{"id": 1, "annotations": 3}]', "task 1: 'annotations' must be a list"),
        ('[{"id": 1, "annotations": [{"id": 9}]}]', "annotation 9: 'completed_by' must be an id"),
        (
            '[{"id": 1, "annotations": [{"id": 9, "completed_by": ""}]}]',
            "annotation 9: 'completed_by' must be an id; got ''",
        ),
        (
            json.dumps([{"id": 1, "annotations": [annotation(1, CAT, CAT)]}]),
            "task 1, 'animal': expected one answer about the whole task",
        ),
        (
            json.dumps([{"id": 1, "annotations": [annotation(1, result("n", "number", 10**30))]}]),
            "cannot be read as Label Studio JSON",
        ),
    ],
)  # fmt: skip
def test_bad_files_name_the_place(tmp_path, content, told):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(FormatError, match=told) as caught:
        qc.read_answers(tmp_path / "a.json", DOMAIN)
    assert "a.json" in str(caught.value)


def test_an_annotation_without_an_answer_is_a_missing_one(tmp_path):
    task = {"id": 1, "annotations": [annotation(1, CAT), annotation(2)]}
    path = project(tmp_path / "a.json", task)
    with pytest.raises(AnswerError, match="the answer is missing"):
        qc.read_answers(path, DOMAIN)
    assert len(qc.read_answers(path, DOMAIN, out_of_domain="skip")) == 1


def test_what_is_written(tmp_path):
    table = pa.table({"task": ["t"], "worker": ["ann@example.org"], "label": ["é"]})
    write_table(table, tmp_path / "a.json", file_format="label-studio")
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert json.loads(text) == [
        {
            "id": 1,
            "data": {"task": "t"},
            "project": 1,
            "annotations": [
                {
                    "id": 1,
                    "result": [
                        {
                            "id": "1",
                            "from_name": "label",
                            "to_name": "task",
                            "type": "choices",
                            "value": {"choices": ["é"]},
                        }
                    ],
                    "was_cancelled": False,
                    "ground_truth": False,
                    "result_count": 1,
                    "task": 1,
                    "completed_by": 1,
                }
            ],
            "predictions": [],
        }
    ]
    assert "example.org" not in text


def test_truths_are_predictions(tmp_path):
    table = pa.table({"task": ["t", "u"], "label": ["cat", None], "confidence": [0.75, None]})
    write_table(table, tmp_path / "a.json", file_format="label-studio")
    first, second = json.loads((tmp_path / "a.json").read_text())
    assert first["predictions"][0]["model_version"] == "quietcrowd"
    assert first["predictions"][0]["score"] == 0.75
    assert second["predictions"] == []
    assert qc.read_truths(tmp_path / "a.json").to_pylist() == [{"task": "t", "label": "cat"}]


def test_ground_truth_is_known(tmp_path):
    path = project(
        tmp_path / "a.json",
        {
            "id": 1,
            "annotations": [annotation(1, CAT), annotation(2, DOG, ground_truth=True)],
            "predictions": [{"result": [CAT], "score": 0.9}],
        },
        {"id": 2, "annotations": [], "predictions": [{"result": [CAT]}]},
    )
    assert [row["label"] for row in qc.read_truths(path).to_pylist()] == ["dog", "cat"]


def test_other_tables_do_not_fit(tmp_path):
    for columns in ({"task": ["t"]}, {"worker": ["u"], "coordinate": [0], "number": [1]}):
        with pytest.raises(ParameterError, match="stores"):
            write_table(pa.table(columns), tmp_path / "a.json", file_format="label-studio")
    assert list(tmp_path.iterdir()) == []
