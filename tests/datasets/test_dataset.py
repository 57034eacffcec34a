import json

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import FormatError


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "small"
    place.mkdir()
    (place / "answers.csv").write_text("task,worker,label\na,u,1\na,v,2\n")
    (place / "truth.csv").write_text("task,label\na,2\n")
    (place / "dataset.json").write_text(json.dumps({"kind": "ordinal", "domain": [1, 2]}))
    return place


def test_a_folder_is_a_dataset(folder):
    dataset = qc.load_dataset(folder)
    assert dataset.name == "small"
    assert dataset.answers.domain == qc.Ordinal([1, 2])
    assert dataset.truths.to_pydict() == {"task": ["a"], "label": ["2"]}


def test_a_name_is_looked_up_where_the_variable_says(folder, monkeypatch):
    monkeypatch.setenv("QUIETCROWD_DATA", str(folder.parent))
    assert len(qc.load_dataset("small").answers) == 2
    with pytest.raises(
        FormatError, match="this directory does not exist; QUIETCROWD_DATA contains small"
    ):
        qc.load_dataset("large")
    monkeypatch.setenv("QUIETCROWD_DATA", str(folder.parent / "nowhere"))
    with pytest.raises(FormatError, match="nowhere, which is not a directory"):
        qc.load_dataset("small")
    with pytest.raises(FormatError, match="give its directory"):
        qc.load_dataset(folder / "answers.csv")
    monkeypatch.delenv("QUIETCROWD_DATA")
    with pytest.raises(FormatError, match="QUIETCROWD_DATA is not set"):
        qc.load_dataset("small")


@pytest.mark.parametrize("name", ["answers.csv", "truth.csv", "dataset.json"])
def test_missing_files_are_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(FormatError, match=name.replace(".", r"\.")):
        qc.load_dataset(folder)


@pytest.mark.parametrize(
    "description",
    ["{]", "[]", "{}", '{"kind": "ordinal", "domain": [2, 1]}', '{"kind": "x", "domain": [1]}'],
)
def test_bad_descriptions(folder, description):
    (folder / "dataset.json").write_text(description)
    with pytest.raises(FormatError, match=r"dataset\.json"):
        qc.load_dataset(folder)


def test_other_suffixes(folder):
    answers = qc.load_dataset(folder).answers
    (folder / "answers.csv").unlink()
    qc.write_answers(answers, folder / "answers.parquet")
    assert len(qc.load_dataset(folder).answers) == 2


def test_the_real_sets(data_folder):
    sizes = {}
    for place in sorted(data_folder.iterdir()):
        dataset = qc.load_dataset(place.name)
        told = json.loads((place / "dataset.json").read_text())
        answers = dataset.answers
        assert (len(answers), len(answers.tasks), len(answers.workers)) == (
            told["answers"],
            told["tasks"],
            told["workers"],
        )
        assert len(dataset.truths) == told["truths"]
        sizes[dataset.name] = len(answers)
    assert sizes["duchenne"] == 17_729
