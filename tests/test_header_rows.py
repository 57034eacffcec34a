"""Rows that continue the header in exports of Qualtrics."""

import pyarrow as pa
import pytest

from quietcrowd.header_rows import header_rows, without_header_rows

TEXTS, IDS = ("Task", "Is it?"), ('{"ImportId":"QID1"}', '{"ImportId":"QID2","choiceId":"1"}')


@pytest.mark.parametrize(("rows", "count"), [([TEXTS, IDS, ("p", "yes")], 2), ([IDS], 1)])
def test_the_last_row_has_import_ids(rows, count):
    ids = {"a": {"ImportId": "QID1"}, "b": {"ImportId": "QID2", "choiceId": "1"}}
    assert header_rows(["a", "b"], rows) == (count, ids)


@pytest.mark.parametrize("cell", ["{}", '{"ImportId"', '{"ImportId":', None, 3, "ImportId", "[1]"])
def test_other_cells_are_no_import_ids(cell):
    assert header_rows(["a"], [(cell,), (cell,)]) == (0, {})


def test_import_ids_come_first_or_second():
    assert header_rows(["a"], [("x",), ("y",), (IDS[0],)]) == (0, {})


def test_a_table_loses_these_rows():
    table = pa.table({"task": [*TEXTS[:1], IDS[0], "p"], "n": [1, 2, 3]})
    found, count = without_header_rows(table)
    assert (found.to_pylist(), count) == ([{"task": "p", "n": 3}], 2)
    assert without_header_rows(found)[1] == 0
    assert without_header_rows(pa.table({"n": [1]}))[1] == 0
