"""Tables as programs write them: a named delimiter, encodings, blank rows."""

import contextlib
import gzip
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, FormatError, QuietcrowdWarning
from quietcrowd.formats import csv
from quietcrowd.formats.dialects import Dialect, dialect_of, sniff_header, usual_delimiter

DOMAIN = qc.Categorical(["no", "yes"])
ROWS = [["a", "u", "yes"], ["b", "ö", "no"]]
TEXT = "task,worker,label\r\na,u,yes\r\nb,ö,no\r\n"


@pytest.fixture
def rows(tmp_path):
    """Return a function that reads bytes as a file of answers and returns the rows."""

    def read(content, name="a.csv", **options):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        frame = qc.read_answers(path, DOMAIN, **options).to_frame()
        return frame.to_numpy().tolist()

    return read


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "a.tab", "a.txt", "a.txt.gz"])
def test_the_header_shows_the_delimiter(rows, delimiter, name):
    assert rows(TEXT.replace(",", delimiter).encode(), name) == ROWS


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;", "sep=;;;"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_excel_may_be_given_the_delimiter(rows, first, encoding):
    text = first + "\r\n" + TEXT.replace(",", ";")
    assert rows(text.encode(encoding)) == ROWS


def test_a_named_delimiter_has_precedence(tmp_path):
    (tmp_path / "a.csv").write_text("sep=|\na,b,c|d\n")
    assert dialect_of(tmp_path / "a.csv") == Dialect("|", ["a,b,c", "d"], "utf-8", skipped=1)


def test_a_column_may_be_called_like_that(tmp_path):
    (tmp_path / "a.csv").write_text("sep=;,task\n1,2\n")
    assert dialect_of(tmp_path / "a.csv").header == ["sep=;", "task"]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_another_encoding_is_an_error_with_its_line(rows, name):
    with pytest.raises(FormatError, match=r"line 3: byte 0xf6 is not UTF-8"):
        rows(TEXT.encode("latin-1"), name)
    with pytest.raises(FormatError, match=r"line 1: byte 0xfc is not UTF-8"):
        rows("Schlüssel,worker,label\na,u,yes\n".encode("cp1252"), name, task="Schlüssel")


def test_other_columns_may_have_any_encoding(rows):
    assert rows(b"task,worker,label,gr\xfcn\na,u,yes,\xfc\n") == [["a", "u", "yes"]]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_an_error(rows, encoding):
    with pytest.raises(FormatError, match="UTF-16 without a byte order mark"):
        rows(TEXT.encode(encoding))


def test_half_a_character_of_utf_16_is_an_error(rows):
    with pytest.raises(FormatError, match="cannot be read as CSV"):
        rows(TEXT.encode("utf-16")[:-1])


@pytest.mark.parametrize("blank", ["", "   ", ",,", ",,,,,", '""', '"",,', " , ,"])
def test_blank_rows_are_ignored(rows, blank):
    lines = TEXT.splitlines()
    text = "\n".join([lines[0], blank, lines[1], blank, blank, lines[2], blank])
    if blank == " , ,":
        with pytest.raises(AnswerError, match=r"row 0 is line 2"):
            rows(text.encode())
    else:
        assert rows(text.encode()) == ROWS


def test_a_row_with_other_cells_is_not_blank(rows):
    with pytest.raises(AnswerError, match="row 1, column 'task': the id is missing"):
        rows(b"task,worker,label,note\na,u,yes,\n,,,x\n")


def test_empty_columns_at_the_end_have_no_name(rows, tmp_path):
    assert rows(b"task,worker,label,,\na,u,yes,,\n,,,,\n") == [["a", "u", "yes"]]
    from quietcrowd.formats.registry import read_names

    assert read_names(tmp_path / "a.csv") == ["task", "worker", "label"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("task,worker,label\n\na,u,yes\n,,\nb,v,maybe\n", 5),
        ("sep=,\ntask,worker,label\n\na,u,yes\nb,v,maybe\n", 5),
        ('\n"ta\nsk",worker,label\n"a\n\nb",u,yes\n\nb,v,maybe\n', 8),
    ],
)
def test_an_error_names_the_line_of_the_file(rows, text, line):
    task = "ta\nsk" if "ta\n" in text else "task"
    with pytest.raises(AnswerError, match=rf"row 1, .*: row 1 is line {line} of the file\.$"):
        rows(text.encode(), task=task)


def test_a_suffix_means_a_delimiter(tmp_path):
    names = ["a.csv", "a.tsv", "a.TXT.gz", "a.tab", "a.txt.csv.gz"]
    assert [usual_delimiter(tmp_path / name) for name in names] == [",", "\t", "\t", "\t", ","]
    assert sniff_header("a", "\t") == ("\t", ["a"])


@pytest.mark.parametrize("name", ["a.txt", "a.tab.gz"])
def test_what_is_written_with_tabs_is_read(tmp_path, name):
    crowd = qc.make_crowd(tasks=4, workers=3, answers_per_task=2, random_state=1)
    qc.write_answers(crowd.answers, tmp_path / name)
    back = qc.read_answers(tmp_path / name, crowd.answers.domain)
    assert back.values.tolist() == crowd.answers.values.tolist()
    assert dialect_of(tmp_path / name).delimiter == "\t"


HEADERS = ["sep=;\ntask;worker;label\n", "task|worker|label\n", "\ufefftask,worker,label\n"]
CELLS = st.text('\t\n\r",;|=ab3 ', max_size=40)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=CELLS, damage=st.binary(max_size=4), columns=st.sampled_from([(1, 2, 3), None]))
def test_no_text_raises_anything_else(tmp_path, header, encoding, cells, damage, columns):
    path = tmp_path / "a.csv"
    path.write_bytes((header + cells).encode(encoding) + damage)
    with contextlib.suppress(FormatError, AnswerError), warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        qc.read_answers(path, DOMAIN, *(columns or ()))


@given(rows=st.lists(st.lists(st.sampled_from(["", "a", "b\n", '"']), min_size=3, max_size=3)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_are_where_they_are_said_to_be(tmp_path, rows):
    """The cells of each row that is read begin in its line."""
    path = tmp_path / "a.csv"
    lines, text = [], "task,worker,label\n"
    for row in rows:
        if any(row):
            lines.append(text.count("\n") + 1)
        text += ",".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row) + "\n"
    path.write_text(text)
    assert len(csv.read(path, ("task", "worker", "label"))) == len(lines)
    places = [csv.place_of_row(path, row + 1) for row in range(len(lines))]
    assert places == [f"line {line} of the file" for line in lines]
