"""OpenDocument spreadsheets, where python-calamine is installed."""

import contextlib
import zipfile
from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, FormatError, MissingExtraError, ParameterError
from quietcrowd.formats import check_target, ods, read_table

DOMAIN = qc.Categorical(["no", "yes"])
COLUMNS = ("task", "worker", "label")
NAMES = "urn:oasis:names:tc:opendocument:xmlns"


@pytest.fixture
def calamine():
    return pytest.importorskip(
        "python_calamine", reason="python-calamine is not installed: pip install '.[excel]'"
    )


def spreadsheet(path, *sheets):
    """Write sheets of rows in the way of LibreOffice, with repeated empty rows at the end."""
    tables = "".join(
        f'<table:table table:name="Sheet{number}">{"".join(map(_row, rows))}{_EMPTY}</table:table>'
        for number, rows in enumerate(sheets, start=1)
    )
    content = (
        f'<office:document-content xmlns:office="{NAMES}:office:1.0" '
        f'xmlns:table="{NAMES}:table:1.0" xmlns:text="{NAMES}:text:1.0">'
        f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
        "</office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("content.xml", content)
        file.writestr("META-INF/manifest.xml", _MANIFEST)
    return path


_MANIFEST = (
    f'<manifest:manifest xmlns:manifest="{NAMES}:manifest:1.0"><manifest:file-entry '
    'manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/>'
    "</manifest:manifest>"
)
_EMPTY = (
    '<table:table-row table:number-rows-repeated="1000"><table:table-cell '
    'table:number-columns-repeated="1000"/></table:table-row>'
)


def _row(cells):
    return f"<table:table-row>{''.join(map(_cell, cells))}</table:table-row>"


def _cell(value):
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, float | int):
        return f'<table:table-cell office:value-type="float" office:value="{value!r}"/>'
    text = f"<text:p>{escape(value)}</text:p>"
    return f'<table:table-cell office:value-type="string">{text}</table:table-cell>'


ROWS = [
    [None],
    ["task", "note", "worker", "label"],
    [7, "x", "ann", "yes"],
    [],
    ["07", 1, 2.5, "no"],
]


@pytest.mark.usefixtures("calamine")
def test_cells_are_texts(tmp_path):
    path = spreadsheet(tmp_path / "a.ods", ROWS)
    assert read_table(path, COLUMNS).to_pylist() == [
        {"task": "7", "worker": "ann", "label": "yes"},
        {"task": "07", "worker": "2.5", "label": "no"},
    ]
    with pytest.raises(AnswerError, match="row 1 is row 5 of the sheet"):
        qc.read_answers(path, qc.Categorical(["yes"]))


@pytest.mark.usefixtures("calamine")
def test_columns_by_number(tmp_path):
    path = spreadsheet(tmp_path / "a.ods", [["t1", "ann", "yes"], ["t1", "bob", "no"]])
    assert len(qc.read_answers(path, DOMAIN, 1, 2, 3)) == 2
    with pytest.raises(FormatError, match="--columns 1,2,3"):
        qc.read_answers(path, DOMAIN)


@pytest.mark.usefixtures("calamine")
def test_digits_that_are_lost_are_an_error(tmp_path):
    path = spreadsheet(tmp_path / "a.ods", [[*COLUMNS], [1234567890123456.0, "ann", "yes"]])
    with pytest.raises(
        FormatError, match="row 2 of the sheet, column 'task': 1234567890123456 may"
    ):
        qc.read_answers(path, DOMAIN)


@pytest.mark.usefixtures("calamine")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 2000), size=st.integers(0, 40), content=st.binary(max_size=20))
def test_no_damage_raises_anything_else(tmp_path, place, size, content):
    whole = spreadsheet(tmp_path / "whole.ods", ROWS).read_bytes()
    path = tmp_path / "a.ods"
    path.write_bytes(whole[:place] + content + whole[place + size :])
    with contextlib.suppress(FormatError, AnswerError):
        qc.read_answers(path, DOMAIN)


@pytest.mark.usefixtures("calamine")
def test_a_spreadsheet_is_not_written(tmp_path):
    with pytest.raises(ParameterError, match="can be read, but not written"):
        check_target(tmp_path / "a.ods")


def test_without_calamine_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(MissingExtraError, match=r"need python-calamine: .*\[excel\]"):
        ods.names(tmp_path / "a.ods")
