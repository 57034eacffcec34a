"""Several labels at once, from a CSV file of sets to a file of sets."""

import itertools

import pandas as pd
import pytest

import quietcrowd as qc

LABELS = ["cat", "dog", "tree"]
TRUE_SETS = [list(held) for size in range(4) for held in itertools.combinations(LABELS, size)]
"""Of eight tasks: every set that there is."""


@pytest.fixture
def tags(tmp_path, monkeypatch):
    """Write the sets that 40 workers give, each wrong in one label of one task."""
    monkeypatch.chdir(tmp_path)
    rows = []
    for worker in range(40):
        for task, held in enumerate(TRUE_SETS):
            other = {LABELS[worker % 3]} if worker % 8 == task else set()
            rows.append((f"00{task}", f"w{worker}", sorted(set(held) ^ other)))
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    frame.assign(label=frame["label"].map("; ".join)).to_csv("tags.csv", index=False)
    return frame


def converted(run, target, *words):
    status, _, errors = run("convert", "tags.csv", target, "--several", ",".join(LABELS), *words)
    return status, errors


@pytest.mark.slow
@pytest.mark.usefixtures("tags")
def test_sets_go_through_noise_and_come_back_as_sets(run):
    status, errors = converted(run, "questions.parquet", "--separator", ";")
    assert status == 0
    assert "3 labels: a task becomes 3 questions. What a worker loses about it is 3 times" in errors
    assert "960 answers written to questions.parquet." in errors
    words = ("--labels", "no,yes", "-e", 4, "-o", "reports.parquet")
    status, _, errors = run("randomize", "questions.parquet", *words)
    assert status == 0
    assert "loses at most epsilon = 4 about one of them" in " ".join(errors.split())
    status, _, _ = run("infer", "reports.parquet", "--sets", "sets.csv", "-o", "truths.csv")
    assert status == 0
    found = pd.read_csv("sets.csv", dtype={"task": str}, keep_default_na=False)
    # 16 of 40 reports would have to be turned, with a probability of .018 each: below 10^-15
    assert found["labels"].tolist() == [",".join(held) for held in TRUE_SETS]
    assert found["task"].tolist() == [f"00{task}" for task in range(8)]
    again = qc.label_sets(qc.fit(qc.read_reports("reports.parquet")))
    assert found["p(dog)"].tolist() == again["p(dog)"].tolist()


def test_the_questions_are_those_of_python(run, tags):
    assert converted(run, "questions.csv", "--separator", ";")[0] == 0
    read = qc.read_answers("questions.csv", qc.Categorical(["no", "yes"])).to_frame()
    pd.testing.assert_frame_equal(read, qc.binary_answers(tags, LABELS).to_frame())


@pytest.mark.parametrize("name", ["sets.jsonl", "sets.parquet"])
def test_lists_go_in_and_out_where_a_file_holds_them(run, tags, name):
    qc.write_table(tags, "lists.jsonl")
    status, _, _ = run("convert", "lists.jsonl", "questions.csv", "--several", ",".join(LABELS))
    assert status == 0
    words = ("--plain", "--method", "majority", "--sets", name, "-o", "truths.csv")
    assert run("infer", "questions.csv", *words)[0] == 0
    read = pd.read_json(name, lines=True) if name.endswith("l") else pd.read_parquet(name)
    assert [list(held) for held in read["labels"]] == TRUE_SETS


@pytest.mark.usefixtures("tags")
def test_what_cannot_be_read_is_told(run):
    status, errors = converted(run, "questions.csv")
    assert status == 2
    assert errors.endswith(
        "'cat; dog' is none of the labels 'cat', 'dog', 'tree'. Name it in labels= (on the command "
        "line: --several), or drop it. Labels are taken to stand between ','; --separator names "
        "another.\n"
    )
    status, _, errors = run("convert", "tags.csv", "a.csv", "--separator", ";")
    assert (status, errors) == (2, "quietcrowd: error: --separator goes with --several\n")
    qc.write_table(pd.DataFrame({"task": ["a"], "worker": ["u"], "label": [None]}), "no.jsonl")
    status, _, errors = run("convert", "no.jsonl", "a.csv", "--several", "cat,dog")
    assert status == 2


def test_sets_are_of_questions_alone(run, folder, tmp_path):
    words = ("--plain", "--method", "majority", "--sets", tmp_path / "sets.csv")
    assert run("infer", folder, *words)[0] == 2
    frame = pd.DataFrame({"task": ["a"], "worker": ["u"], "label": [["a, b"]]})
    qc.write_answers(qc.binary_answers(frame, ["a, b"]), tmp_path / "comma.csv")
    status, _, errors = run("infer", tmp_path / "comma.csv", *words, "--labels", "no,yes")
    assert status == 2
    assert "label 'a, b' holds a comma" in errors
    assert not (tmp_path / "sets.csv").exists()
    status, output, _ = run("infer", tmp_path / "comma.csv", *words[:-1], "-")
    assert (status, output) == (2, "")
