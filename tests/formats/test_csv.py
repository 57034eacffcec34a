import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.exceptions import FormatError, QuietcrowdWarning
from quietcrowd.formats.csv import count_formulas, guard, guard_cell, read, unguard

CELLS = st.lists(
    st.none() | st.text(alphabet="'=+-@|\t\r\n1.e ax\uff1d\xa0\ufeff", max_size=6), max_size=8
)
SIGNS = "=+-@|\uff1d\uff0b\uff0d\uff20\uff5c\ufe66\ufe62\ufe63\ufe6b"
BLANKS = [
    "",
    " ",
    "\t",
    "\r",
    "\n",
    "\r\n",
    " ' ",
    "\0",
    "\x85",
    "\xa0",
    "\u200b",
    "\u3000",
    "\ufeff",
]


@pytest.mark.parametrize("sign", SIGNS)
def test_every_sign_of_a_formula_is_guarded_after_every_blank(sign):
    for blank in BLANKS:
        text = f"{blank}{sign}cmd|' /C calc'!A0"
        assert guard_cell(text) == f"'{text}"
        assert guard(pa.table({"a": [text, "b"]})).to_pydict() == {"a": [f"'{text}", "b"]}


@pytest.mark.parametrize(
    "text", ["- 1", "-", "+", "+a", "\tx", "\rx", "\nx", "'=a", "''-b", "'\tx"]
)
def test_what_a_spreadsheet_would_run_is_guarded(text):
    assert guard_cell(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["", "a=1", "'a", "''", "-1", "+1.5e-3", "-.5", "-inf", "'-1", "O'Hara", " a=1", "1-2"]
)
def test_other_texts_and_numbers_stay(text):
    assert guard_cell(text) == text


@given(CELLS, CELLS)
def test_reading_takes_away_what_writing_put_there(first, second):
    for kind in (pa.string(), pa.large_string()):
        table = pa.table({"a": pa.array(first, kind)})
        assert unguard(guard(table)).equals(table)
    size = min(len(first), len(second))
    table = pa.table(
        {"a": pa.array(first[:size], pa.string()), "b": pa.array(second[:size], pa.string())}
    )
    assert unguard(guard(table)).equals(table)


@given(CELLS)
def test_different_texts_stay_different_in_files_of_others_too(cells):
    table = pa.table({"a": pa.array(cells, pa.string())})
    for change in (guard, unguard):
        changed = change(table)["a"].to_pylist()
        assert len(set(changed)) == len(set(cells))


def test_a_file_with_a_bare_formula_was_not_written_here():
    table = pa.table({"task": ["=a", "'=a"], "worker": ["'=u", "v"]})
    assert unguard(table) is table
    other = pa.table({"task": ["a", "'=a"], "worker": ["'=u", "v"]})
    assert unguard(other).to_pydict() == {"task": ["a", "=a"], "worker": ["=u", "v"]}


def test_numbers_are_not_texts():
    table = pa.table({"a": [-1, 2], "b": ["-1", "=1"], "c": [-0.5, None]})
    assert guard(table).to_pydict() == {"a": [-1, 2], "b": ["-1", "'=1"], "c": [-0.5, None]}
    assert count_formulas(table) == 1


@pytest.mark.parametrize("numbered", [False, True])
def test_a_quotation_mark_that_is_not_closed_is_named(tmp_path, numbered):
    columns = (1, 2, 3) if numbered else ("task", "worker", "label")
    header = "" if numbered else "task,worker,label\n"
    path = tmp_path / "a.csv"
    path.write_text(f'{header}p,u,"cat\nq,u,dog\nr,u,cat\n')
    with pytest.raises(FormatError, match=r"row 0 .*: a quotation mark is never closed"):
        read(path, columns)
    path.write_text(f'{header}p,u,"cat\nq,u,dog\nr,u,5"\ns,u,cat\n')
    with pytest.warns(QuietcrowdWarning, match="row 0 .* the cell contains lines that look like"):
        assert len(read(path, columns)) == 2
    path.write_text(f'{header}"p, q,\nr",u,cat\n')
    assert len(read(path, columns)) == 1
