"""What spreadsheet programs do to tables; the cells are those that openpyxl gives."""

import warnings
from contextlib import nullcontext
from datetime import date, datetime, time

import pytest

from quietcrowd.exceptions import DroppedRowsWarning, FormatError, QuietcrowdWarning
from quietcrowd.formats.sheets import Sheet, Workbook

COLUMNS = ("task", "worker", "label")


def workbook(*sheets):
    named = [Sheet(f"S{place}", lambda rows=rows: rows) for place, rows in enumerate(sheets)]
    return Workbook(lambda _: nullcontext(named))


def read(*rows, wanted=COLUMNS, others=()):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = workbook(rows, *others).read("a.xlsx", wanted)
    return table.to_pylist(), [str(one.message) for one in caught]


GOOD = ("t", "ann", "yes")
ROW = {"task": "t", "worker": "ann", "label": "yes"}


def test_blank_rows_and_columns_are_ignored_and_count():
    rows = [(), (None, " "), COLUMNS, (None,) * 3, (*GOOD, None, ""), ("",), GOOD, (None,)]
    assert read(*rows) == ([ROW, ROW], [])
    assert [workbook(rows).place_of_row("a.xlsx", row) for row in (1, 2)] == [
        *("row 5 of the sheet", "row 7 of the sheet")
    ]
    assert workbook([(None, "task", None)]).names("a.xlsx") == ["task"]


@pytest.mark.parametrize("value", [10**15, -(10**15), 1.2345678901234568e18, 2**53])
@pytest.mark.parametrize("place", range(3))
def test_numbers_that_may_have_lost_digits_are_an_error(value, place):
    row = [*GOOD]
    row[place] = value
    told = rf"row 3 of the sheet, column '{COLUMNS[place]}': {int(value)} may have lost digits"
    with pytest.raises(FormatError, match=told):
        read(COLUMNS, GOOD, row)


def test_other_numbers_are_read():
    rows = [(10**15 - 1, 2.5, True), ("1234567890123456789", 0.0, -1)]
    assert read(COLUMNS, *rows)[0] == [
        {"task": "999999999999999", "worker": "2.5", "label": "True"},
        {"task": "1234567890123456789", "worker": "0", "label": "-1"},
    ]
    assert read((*COLUMNS, "note"), (*GOOD, 10**18)) == ([ROW], [])


def test_dates_are_named():
    labels = [datetime(2024, 2, 1), date(2024, 3, 1), datetime(2024, 2, 1, 12, 30), time(8), "3-4"]
    found, told = read(COLUMNS, *(("t", "ann", label) for label in labels))
    assert [row["label"] for row in found] == [
        *("2024-02-01", "2024-03-01", "2024-02-01 12:30:00", "08:00:00", "3-4")
    ]
    assert len(told) == 1
    assert (
        "column 'label': cells that are dates: 4, such as 2024-02-01 in row 2 of the sheet"
        in told[0]
    )


@pytest.mark.parametrize("value", ["#REF!", "#DIV/0!"])
def test_formulas_that_failed_are_an_error(value):
    with pytest.raises(FormatError, match="row 2 of the sheet, column 'worker': a formula failed"):
        read(COLUMNS, ("t", value, "yes"))


def test_other_sheets_with_data_are_named():
    found, told = read(COLUMNS, GOOD, others=[[(None,)], [], [("x",)]])
    assert (found, len(told)) == ([ROW], 1)
    assert "only the first sheet, 'S0', is read. Other sheets with data: 'S3'" in told[0]
    with pytest.warns(DroppedRowsWarning):
        workbook([COLUMNS], [GOOD]).read("a.xlsx", COLUMNS)
    assert issubclass(DroppedRowsWarning, QuietcrowdWarning)


def test_a_sheet_behind_with_the_columns_is_named():
    with pytest.raises(FormatError, match="the first sheet, 'S0', lacks columns that 'S1' has"):
        read(("read me",), others=[[COLUMNS, GOOD]])


def test_columns_by_number():
    assert read(GOOD, wanted=(1, 2, 3))[0] == [{"1": "t", "2": "ann", "3": "yes"}]
    with pytest.raises(FormatError, match="--columns 1,2,3"):
        read(GOOD, GOOD)
    with pytest.raises(FormatError, match="the first row contains 'task' and 'worker' and 'label'"):
        read(COLUMNS, GOOD, wanted=(1, 2, 3))
