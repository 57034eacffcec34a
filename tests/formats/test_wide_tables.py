"""Files with a row per worker or a column per worker; all rows are invented."""

import contextlib
import warnings

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quietcrowd.exceptions import DroppedRowsWarning, FormatError, ParameterError
from quietcrowd.formats import write_table
from quietcrowd.formats.wide_tables import read_wide

ROWS = [
    {"task": "s1", "worker": "007", "label": "yes"},
    {"task": "s1", "worker": "8", "label": "no"},
    {"task": "s2", "worker": "8", "label": "yes"},
]


@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz", ".parquet", ".jsonl"])
def test_every_table_may_be_wide(tmp_path, suffix):
    frame = pd.DataFrame({"who": ["007", "8"], "s1": ["yes", "no"], "s2": [None, "yes"]})
    write_table(frame, tmp_path / f"wide{suffix}")
    assert read_wide(tmp_path / f"wide{suffix}", worker="who").table.to_pylist() == ROWS


def test_quoted_empty_cells_are_no_answers(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text('"who","s1","s2"\n"007","yes",""\n"8","no","yes"\n')
    assert read_wide(path, worker="who").table.to_pylist() == ROWS


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("who,s1\n007,yes\n")
    with pytest.raises(FormatError, match=r"wide\.csv: the columns 'who', 's1' are not those of"):
        read_wide(path)
    with pytest.raises(FormatError, match=r"wide\.csv: no column is 'whom'.*did you mean 'who'"):
        read_wide(path, worker="whom")
    path.write_text("HITId,WorkerId,Answer.a\n1,2,3\n")
    with pytest.raises(ParameterError, match="MTurk batch results is read without --wide"):
        read_wide(path)
    path.write_text("who,s1,s1\n007,yes,no\n")
    with pytest.raises(FormatError, match="2 columns have the name 's1'"):
        read_wide(path, worker="who")


HEADERS = [
    b"Timestamp,Username,a,b\n",
    b"EndDate,Finished,ResponseId,a,b\n",
    b"_id,_submission_time,a,a/b,a/c\n",
]


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("header", HEADERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=60) | st.text('\t\n",;=01ab', max_size=60).map(str.encode))
def test_no_bytes_after_a_header_raise_anything_else(tmp_path, header, content):
    path = tmp_path / "wide.csv"
    path.write_bytes(header + content)
    with warnings.catch_warnings(), contextlib.suppress(FormatError):
        warnings.simplefilter("ignore", DroppedRowsWarning)
        assert read_wide(path).table.column_names == ["task", "worker", "label"]
