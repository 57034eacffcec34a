"""Tables without a header, by the numbers of their columns."""

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats.headers import check_header

DOMAIN = qc.Categorical(["no", "yes"])
NUMBERS = {"task": 3, "worker": 1, "label": 2}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("ann,yes,t1,x\n\nann,no,t2,\nbob,yes,t1,\n")
    return path


def test_columns_by_number(file):
    answers = qc.read_answers(file, DOMAIN, **NUMBERS)
    assert answers.to_frame().to_numpy().tolist() == [
        ["t1", "ann", "yes"],
        ["t1", "bob", "yes"],
        ["t2", "ann", "no"],
    ]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"task": 0}, "column numbers must be 1 to 4; got 0"),
        ({"task": 5}, "column numbers must be 1 to 4; got 5"),
        ({"task": True}, "column numbers must be 1 to 4; got True"),
        ({"task": 1}, "columns must be different; got 1, 1, 2"),
        ({"task": "t1"}, "columns must be names, or numbers if the file has no header"),
    ],
)
def test_what_is_no_number_of_a_column(file, changed, told):
    with pytest.raises(ParameterError, match=told):
        qc.read_answers(file, DOMAIN, **{**NUMBERS, **changed})


def test_an_error_names_column_and_line(file):
    with pytest.raises(qc.exceptions.AnswerError) as error:
        qc.read_answers(file, qc.Categorical(["yes"]), **NUMBERS)
    assert "row 1, column '2': 'no' is outside" in str(error.value)
    assert str(error.value).endswith("Rows count from 0: row 1 is line 3 of the file.")


def test_a_header_is_not_read_as_an_answer(tmp_path):
    (tmp_path / "a.csv").write_text("Task,worker,label\na,u,yes\n")
    with pytest.raises(FormatError, match="the first row contains 'Task' and 'worker' and 'label'"):
        qc.read_answers(tmp_path / "a.csv", DOMAIN, 1, 2, 3)
    (tmp_path / "a.csv").write_text("item,rater,val\na,u,yes\n")
    with pytest.raises(FormatError, match="the first row contains 'item' and 'rater'"):
        qc.read_answers(tmp_path / "a.csv", DOMAIN, 1, 2, 3)


@pytest.mark.parametrize("columns", [(1, 2, 3), ("task", "worker", "label")])
@pytest.mark.parametrize("row", ["q1 ann yes", "q1::ann::yes"])
def test_columns_separated_by_spaces_are_named(tmp_path, columns, row):
    (tmp_path / "a.txt").write_text(f"{row}\n" * 2)
    with pytest.raises(FormatError, match=r"separated by commas, .* but the first row is 'q1"):
        qc.read_answers(tmp_path / "a.txt", DOMAIN, *columns)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_other_tables_name_their_columns(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    crowd = qc.make_crowd(tasks=3, workers=3, answers_per_task=2)
    qc.write_answers(crowd.answers, path)
    with pytest.raises(ParameterError, match="column numbers are for tables without a header"):
        qc.read_answers(path, DOMAIN, 1, 2, 3)


@pytest.mark.parametrize("text", ["t1,ann,yes\nt1,bob,no\n", "1,2,3.5\n1,3,4\n", "1,,3\n"])
def test_a_first_row_of_data_is_an_error(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(FormatError, match=r"an answer, not names of columns.*--columns 1,2,3"):
        qc.read_answers(tmp_path / "a.csv", DOMAIN)


@pytest.mark.parametrize("header", [["item", "1", "2"], ["q", "a", "b"], [""], []])
def test_other_headers_are_no_data(tmp_path, header):
    check_header(tmp_path, header, [["x", "1", "2"][: len(header)], ["1"], []], 3)


@pytest.mark.parametrize(
    "above", ["My title\n", "My title\n\n", "My title,,\n", "# by us\n", "# a, b\n"]
)
def test_a_title_is_not_a_header(tmp_path, above):
    (tmp_path / "a.csv").write_text(f"{above}task,worker,label\nt1,ann,yes\n")
    with pytest.raises(FormatError, match=r"names of the columns, but it contains '(My|#) "):
        qc.read_answers(tmp_path / "a.csv", DOMAIN)


def test_columns_without_a_name_are_not_named(tmp_path):
    (tmp_path / "a.txt").write_text("| item | rater | said |\n|---|---|---|\n| t | a | yes |\n")
    with pytest.raises(qc.exceptions.AnswerError, match="there are ' item ', ' rater ', ' said '"):
        qc.read_answers(tmp_path / "a.txt", DOMAIN)
    (tmp_path / "a.csv").write_text("item,item,said\nt,a,yes\n")
    with pytest.raises(qc.exceptions.AnswerError, match="there are 'item', 'said'"):
        qc.read_answers(tmp_path / "a.csv", DOMAIN)


def test_rows_of_respondents_need_another_reader(tmp_path):
    rows = [["Is it a cat?", "Status"], ['{"ImportId":"QID1"}', '{"ImportId":"status"}']]
    with pytest.raises(FormatError, match=r"row per respondent.*convert --wide"):
        check_header(tmp_path, ["Q1", "Status"], rows, 3)
