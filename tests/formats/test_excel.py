"""Workbooks, where openpyxl is installed."""

import pandas as pd
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import FormatError, MissingExtraError
from quietcrowd.formats import check_target, excel, read_table, write_table

DOMAIN = qc.Categorical(["no", "yes"])


@pytest.fixture
def openpyxl():
    return pytest.importorskip(
        "openpyxl", reason="openpyxl is not installed: pip install '.[excel]'"
    )


def workbook(openpyxl, path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_cells_are_the_texts_that_they_print_as(openpyxl, tmp_path):
    rows = [
        ["task", "note", "worker", "label"],
        [7, "x", "ann", 1.0],
        [None] * 4,
        ["07", 1, 2.5, 0],
    ]
    path = workbook(openpyxl, tmp_path / "a.xlsx", rows)
    table = read_table(path, ("task", "worker", "label"))
    assert table.to_pylist() == [
        {"task": "7", "worker": "ann", "label": "1"},
        {"task": "07", "worker": "2.5", "label": "0"},
    ]
    assert len(qc.read_answers(path, qc.Categorical([0, 1]))) == 2


def test_a_text_that_begins_as_a_formula_stays_a_text(openpyxl, tmp_path):
    frame = pd.DataFrame({"task": ["=1+1", "'=x"], "worker": "u", "label": ["no", "yes"]})
    path = tmp_path / "a.xlsx"
    qc.write_answers(qc.Answers.from_frame(frame, DOMAIN), path)
    assert openpyxl.load_workbook(path).active["A2"].data_type == "s"
    assert qc.read_answers(path, DOMAIN).tasks.to_pylist() == ["=1+1", "'=x"]


def test_known_truths_with_another_name(openpyxl, tmp_path):
    path = workbook(openpyxl, tmp_path / "gold.xlsx", [["task", "truth"], ["a", "yes"]])
    assert qc.read_truths(path).to_pylist() == [{"task": "a", "label": "yes"}]


@pytest.mark.usefixtures("openpyxl")
def test_what_is_written_is_read_and_written_alike(tmp_path):
    crowd = qc.make_crowd(tasks=9, workers=5, answers_per_task=2, random_state=1)
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    reports = mechanism.randomize(crowd.answers)
    first, again = tmp_path / "a.xlsx", tmp_path / "b.xlsx"
    qc.write_reports(reports, first)
    found = qc.read_reports(first)
    assert found.mechanism == mechanism
    assert found.to_frame().astype(str).equals(reports.to_frame().astype(str))
    qc.write_reports(found, again)
    assert first.read_bytes() == again.read_bytes()


@pytest.mark.usefixtures("openpyxl")
def test_two_long_ids_do_not_become_one(tmp_path):
    ids = ["x" * excel.MOST_CHARACTERS + end for end in ("", "A")]
    table = pa.table({"task": ids, "worker": ["u", "u"], "label": ["no", "yes"]})
    with pytest.raises(FormatError, match=r"row 1: a cell cannot contain 'x+…'; write \.csv"):
        write_table(table, tmp_path / "a.xlsx")
    assert list(tmp_path.iterdir()) == []
    write_table(table[:1], tmp_path / "a.xlsx")
    assert read_table(tmp_path / "a.xlsx", ("task",))["task"].to_pylist() == ids[:1]


@pytest.mark.usefixtures("openpyxl")
def test_more_rows_than_a_sheet_has_are_an_error(tmp_path):
    table = pa.table({"task": pa.nulls(excel.MOST_ROWS, pa.string())})
    with pytest.raises(FormatError, match="a sheet has at most 1,048,576 rows"):
        write_table(table, tmp_path / "a.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_a_name_of_a_column_is_no_formula(openpyxl, tmp_path):
    write_table(pa.table({"=1+1": ["a"]}), tmp_path / "a.xlsx")
    assert openpyxl.load_workbook(tmp_path / "a.xlsx").active["A1"].data_type == "s"


@pytest.mark.usefixtures("openpyxl")
def test_a_text_that_no_cell_holds_is_an_error(tmp_path):
    table = pa.table({"task": ["a", "b\r"], "worker": ["u", "u"], "label": ["no", "yes"]})
    with pytest.raises(FormatError, match=r"row 1: a cell cannot contain"):
        write_table(table, tmp_path / "a.xlsx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("openpyxl")
def test_what_is_no_workbook_is_one_line(tmp_path):
    path = tmp_path / "a.xlsx"
    path.write_text("task,worker,label\n")
    with pytest.raises(FormatError, match=r"a\.xlsx: this cannot be read as an Excel workbook"):
        qc.read_answers(path, DOMAIN)


def test_without_openpyxl_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"need openpyxl: .*\[excel\]"):
        excel.names(tmp_path / "a.xlsx")
    with pytest.raises(MissingExtraError, match=r"need openpyxl: .*\[excel\]"):
        check_target(tmp_path / "a.xlsx")
