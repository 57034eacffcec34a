"""Label Studio's JSON_MIN; the golden file is invented."""

import contextlib
import json

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.exceptions import FormatError, ParameterError, QuietcrowdWarning
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.registry import read_table, write_table

DOMAIN = qc.Categorical(["cat", "dog"])


def annotation(one, worker, **more):
    """Return what Label Studio says: data, the id, questions, the rest."""
    data = {"image": f"{one}.png", "id": one}
    rest = {"annotation_id": 100 + worker, "created_at": "2024-01-01", "updated_at": "2024-01-01"}
    return {**data, **more, "annotator": worker, **rest, "lead_time": 3.5}


def project(path, *annotations):
    path.write_text(json.dumps(list(annotations)), encoding="utf-8")
    return path


def test_annotations_are_answers(tmp_path):
    rows = (annotation(7, 3, animal="cat"), annotation(7, 4, animal="dog"))
    path = project(tmp_path / "a.json", *rows, annotation(8, 4, animal="dog"))
    answers = qc.read_answers(path, DOMAIN, field="animal")
    held = answers.to_frame().to_numpy().tolist()
    assert held == [["7", "3", "cat"], ["7", "4", "dog"], ["8", "4", "dog"]]
    with pytest.raises(FormatError, match=r"'image', 'animal'\. Choose one with field="):
        qc.read_answers(path, DOMAIN)


@pytest.mark.parametrize("kind", ["rating", "number"])
def test_ratings_and_numbers_stand_in_lists(tmp_path, kind):
    rows = [annotation(one, 1, n=[{kind: one}]) for one in (1, 3)]
    path = project(tmp_path / "a.json", *rows)
    answers = qc.read_answers(path, qc.Ordinal(range(5)), field="n")
    assert answers.values.tolist() == [1, 3]


def rows(path, field, *, sets=False):
    table = read_table(path, ("task", "worker", "label"), choice=Choice(field=field), sets=sets)
    return [tuple(row.values()) for row in table.to_pylist()]


def test_several_choices_are_sets(tmp_path):
    given = [{"q": {"choices": ["cat", "dog"]}}, {"q": "cat"}, {"q": {"choices": []}}, {}]
    path = project(tmp_path / "a.json", *[annotation(1, i, **one) for i, one in enumerate(given)])
    with pytest.warns(QuietcrowdWarning, match="annotations without a choice for 'q': 1"):
        assert rows(path, "q", sets=True) == [
            ("1", "0", ["cat", "dog"]),
            ("1", "1", ["cat"]),
            ("1", "2", []),
            ("1", "3", []),
        ]
    assert rows(project(path, annotation(1, 2, q={"choices": []})), "q") == [("1", "2", None)]


def test_levels_of_a_taxonomy_are_joined(tmp_path):
    kinds = [{"taxonomy": [["animal", "cat"]]}]
    path = project(tmp_path / "a.json", annotation(1, 3, q=kinds))
    assert rows(path, "q") == [("1", "3", "animal / cat")]
    kinds[0]["taxonomy"].append(["animal"])
    assert rows(project(path, annotation(1, 3, q=kinds)), "q", sets=True) == [
        ("1", "3", ["animal / cat", "animal"])
    ]


@pytest.mark.parametrize("key", ["updated_at", "created_at"])
def test_the_latest_annotation_is_last(tmp_path, key):
    times = {"updated_at": None, "created_at": None}
    given = [
        {**annotation(1, 3, q=label), **times, key: f"2024-05-0{day}T10:00:00Z"}
        for label, day in [("dog", 2), ("cat", 1)]
    ]
    path = project(tmp_path / "a.json", *given)
    answers = qc.read_answers(path, DOMAIN, field="q", duplicates="last")
    assert answers.to_frame().to_numpy().tolist() == [["1", "3", "dog"]]


def test_only_the_chosen_question_is_read(tmp_path):
    path = project(tmp_path / "a.json", annotation(1, 3, q="cat", sure=[{"rating": "damaged"}]))
    assert rows(path, "q") == [("1", "3", "cat")]


def test_a_preference_is_a_choice(tmp_path):
    row = annotation(1, 1, better=[{"selected": "left"}])
    path = project(tmp_path / "a.json", row)
    answers = qc.read_answers(path, qc.Categorical(["left", "right"]), field="better")
    assert answers.values.tolist() == [0]


def test_names_in_the_data_are_tasks_where_each_is_another(tmp_path):
    def read(*names):
        rows = [annotation(place, 1, task=name, q="cat") for place, name in enumerate(names)]
        path = project(tmp_path / "a.json", *rows)
        return qc.read_answers(path, DOMAIN, field="q").tasks.to_pylist()

    assert read("t1", "t2") == ["t1", "t2"]
    assert read("same", "same") == ["0", "1"]
    assert read("t1", None) == ["0", "1"]


def test_what_is_written(tmp_path):
    table = pa.table(
        {"task": ["t", "t"], "worker": ["ann@example.org", "bob"], "label": ["é", None]}
    )
    write_table(table, tmp_path / "a.json", file_format="label-studio-min")
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    empty = {"created_at": None, "updated_at": None, "lead_time": None}
    first, second = json.loads(text)
    assert first == {
        "task": "t", "id": 1, "label": "é", "annotator": 1, "annotation_id": 1, **empty
    }  # fmt: skip
    assert second == {"task": "t", "id": 1, "annotator": 2, "annotation_id": 2, **empty}
    assert list(first)[:5] == ["task", "id", "label", "annotator", "annotation_id"]
    assert "example.org" not in text
    labels = pa.table({"task": ["t"], "worker": ["u"], "label": [3]})
    write_table(labels, tmp_path / "a.json", file_format="label-studio-min")
    assert json.loads((tmp_path / "a.json").read_text())[0]["label"] == [{"number": 3}]


def test_a_first_annotation_that_is_long_is_one_too(tmp_path):
    path = project(tmp_path / "a.json", annotation(1, 2, text="é" * 100_000, q="cat"))
    assert len(qc.read_answers(path, DOMAIN, field="q")) == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{}", "expected a list of annotations"),
        ("[3]", "annotation 0: expected a JSON object; got 3"),
        ('[{"q": "cat"}]', "'annotator' is missing"),
        ('[{"q": "cat", "annotator": 1}]', "'id' is missing"),
        ('[{"q": "cat", "annotator": 1, "id": 2}, {"q": "dog"}]', "annotation 1: 'id' and"),
        (
            '[{"q": ["cat", "dog"], "annotator": 1, "id": 2}]',
            "annotation 0, 'q': expected one answer .choices, taxonomy, rating, number, pairwise",
        ),
        ('[{"q": [{"start": 0, "choices": ["a"]}], "annotator": 1, "id": 2}]', "one answer"),
        ('[{"q": 3, "annotator": 1, "id": 2}]', "expected one answer .*; got 3"),
        ('[{"q": "a", "annotator": "", "id": 2}]', "annotation 0: 'id' and 'annotator' must be"),
        ('[{"annotator": 1, "id": 2}]', "there is no answer in this file"),
    ],
)
def test_bad_files_name_the_place(tmp_path, content, told):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(FormatError, match=told) as caught:
        qc.read_answers(tmp_path / "a.json", DOMAIN, file_format="label-studio-min")
    assert "a.json" in str(caught.value)


def test_truths_are_not_annotations(tmp_path):
    table = pa.table({"task": ["t"], "label": ["cat"]})
    with pytest.raises(ParameterError, match="JSON_MIN stores task, worker and label"):
        write_table(table, tmp_path / "a.json", file_format="label-studio-min")
    path = project(tmp_path / "b.json", annotation(1, 2, q="cat"))
    with pytest.raises(FormatError, match="JSON_MIN cannot contain known truths"):
        qc.read_truths(path)


KEYS = ["id", "task", "annotator", "annotation_id", "label", "number", "choices", "selected"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([*KEYS, "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=8,
)
ROW = st.fixed_dictionaries(
    {"id": st.integers() | JSON, "annotator": st.integers() | JSON, "annotation_id": JSON},
    optional={"label": JSON, "task": JSON},
)


@pytest.mark.nightly
@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROW, max_size=3))
def test_no_json_raises_anything_else(tmp_path, rows):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows))
    with contextlib.suppress(FormatError):
        read_table(path, ("task", "worker", "label"))
