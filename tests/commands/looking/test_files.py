"""Any file: what it contains, or why no command reads it."""

import json

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.formats.test_registry import EXPORTS, JSON, with_part

from quietcrowd.commands.looking.files import inspect
from quietcrowd.commands.looking.findings import Source

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx", ".zip", ".manifest", ".what")
FIXED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
CELLS = st.text('\t\n\r",;=ab1[]{}|', max_size=40)


def look(path):
    found = inspect(Source(path=path, name=path.name), {})
    assert found.steps.commands or found.steps.faults or found.advice
    return found


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
@FIXED
@given(content=st.binary(max_size=60) | CELLS.map(str.encode))
def test_any_bytes(tmp_path, suffix, content):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    look(path)


@pytest.mark.slow
@pytest.mark.parametrize("header", ["task,worker,label", "id,q1,q2", "left,right,label", "x"])
@FIXED
@given(rows=CELLS)
def test_any_table(tmp_path, header, rows):
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n{rows}\n")
    look(path)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTS)
@FIXED
@given(place=st.integers(0, 45), part=JSON)
def test_any_damage_of_an_export(tmp_path, name, place, part):
    export = with_part(EXPORTS[name], place, part)
    path = tmp_path / f"a.{'csv' if name == 'zooniverse' else 'json'}"
    if name == "zooniverse":
        cells = {"classification_id": 1, "user_id": 7, "workflow_id": 1, "subject_ids": 5}
        pd.DataFrame([{**cells, "annotations": json.dumps(export)}]).to_csv(path, index=False)
    else:
        path.write_text(json.dumps([export]))
    look(path)


RECORDS = st.lists(
    st.dictionaries(st.sampled_from(["task", "worker", "label", "answer"]), JSON), max_size=3
)


@pytest.mark.slow
@FIXED
@given(records=RECORDS)
def test_any_records(tmp_path, records):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    look(path)
