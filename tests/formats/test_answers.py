"""Files of paired comparisons."""

import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, FormatError
from quietcrowd.formats.answers import holds_comparisons, read_comparisons
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
