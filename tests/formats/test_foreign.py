"""Files of other programs."""

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import FormatError


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a.xls", "this workbook cannot be read. Save it as .xlsx or CSV."),
        ("a.sav", "a file of SPSS cannot be read. Save it as CSV in SPSS."),
        ("a.DTA", "a file of Stata cannot be read."),
        ("a.sas7bdat", "a file of SAS cannot be read."),
        ("a.rds", "Write it with: write.csv(answers, 'answers.csv', row.names = FALSE, na = '')."),
        ("a.mat", "a file of MATLAB cannot be read."),
        ("a.docx", "a document cannot be read. Copy its table into a spreadsheet"),
        ("a.pdf", "a document cannot be read."),
        ("a.html", "markup cannot be read."),
        ("a.pkl", "a stored dataframe cannot be read. Write the dataframe with to_parquet."),
        ("a.sqlite", "a database cannot be read. Export its table as CSV."),
        ("a.csv.bz2", "an archive cannot be read. Unpack it, and name a file in it."),
    ],
)
def test_a_file_of_another_program_has_a_way(tmp_path, name, told):
    path = tmp_path / name
    path.write_bytes(b"x")
    with pytest.raises(FormatError) as error:
        qc.read_answers(path, qc.Categorical(["no", "yes"]))
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (b"PK\x03\x04\n", "the content is a workbook or an archive, not the text that its name"),
        (b"\xd0\xcf\x11\xe0", "an old workbook, .* Save it as .xlsx or CSV."),
        (b"PAR1\n", "a Parquet file, .* Name it .parquet."),
        (b"\x1f\x8b", "compressed, .* Let its name end in .gz."),
        (b"%PDF\n", "a document"),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_name_may_be_wrong(tmp_path, start, told, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(start + b"\xff\xfe\n")
    with pytest.raises(FormatError, match=told):
        qc.read_answers(path, qc.Categorical(["no", "yes"]))
