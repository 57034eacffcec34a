"""Files of paired comparisons."""

import json

import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, FormatError
from quietcrowd.formats.answers import holds_comparisons, read_comparisons, read_label_sets
from quietcrowd.formats.registry import write_table

ROWS = {"worker": ["ann"], "left": ["tea"], "right": ["milk"], "label": ["milk"]}


@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz", ".parquet", ".jsonl", ".xlsx"])
def test_every_table_can_hold_comparisons(tmp_path, suffix):
    path = tmp_path / f"comparisons{suffix}"
    write_table(pd.DataFrame(ROWS), path)
    assert holds_comparisons(path)
    found = read_comparisons(path).to_frame().to_numpy().tolist()
    assert found == [["tea | milk", "ann", "right"]]


def test_answers_and_reports_are_no_comparisons(tmp_path):
    answers = qc.Answers.from_comparisons(pd.DataFrame(ROWS))
    qc.write_answers(answers, tmp_path / "answers.csv")
    assert not holds_comparisons(tmp_path / "answers.csv")
    device = qc.RandomizedResponse(domain=answers.domain, epsilon=1.0)
    qc.write_reports(device.randomize(answers), tmp_path / "reports.parquet")
    with pytest.raises(FormatError, match="on the command line: quietcrowd lab rank"):
        read_comparisons(tmp_path / "reports.parquet")


def test_a_missing_column_is_named_with_the_file(tmp_path):
    path = tmp_path / "comparisons.csv"
    write_table(pd.DataFrame(ROWS).drop(columns="right"), path)
    with pytest.raises(AnswerError, match=r"comparisons.csv: column 'right' is missing"):
        read_comparisons(path)


def test_sets_of_labels_are_read_from_tables_and_platforms(tmp_path):
    table, platform = tmp_path / "sets.csv", tmp_path / "export.json"
    table.write_text("task,worker,label\n1,ann,cat|dog\n2,ann,cat\n")
    answers = read_label_sets(table, ["cat", "dog"], separator="|")
    found = answers.to_frame().set_index("task")["label"].to_dict()
    assert found == {"1: cat": "yes", "1: dog": "yes", "2: cat": "yes", "2: dog": "no"}
    result = {"from_name": "pets", "to_name": "x", "type": "choices", "value": {"choices": ["cat"]}}
    annotation = {"completed_by": 5, "result": [result]}
    tasks = [{"id": 7, "annotations": [annotation], "data": {"x": "text"}}]
    platform.write_text(json.dumps(tasks))
    answers = read_label_sets(platform, ["cat", "dog"])
    found = answers.to_frame().set_index("task")["label"].to_dict()
    assert found == {"7: cat": "yes", "7: dog": "no"}
    with pytest.raises(AnswerError, match=r"sets.csv.*'dog'"):
        read_label_sets(table, ["cat"], separator="|")
