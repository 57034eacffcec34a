"""Files of other programs, each with a sentence on how to convert them."""

from pathlib import Path

from quietcrowd.exceptions import FormatError

_SHEET = "Copy its table into a spreadsheet, and save it as CSV or .xlsx"
_R = "Write it with: write.csv(answers, 'answers.csv', row.names = FALSE, na = '')"

_FOREIGN = (
    (".xls .xlsb .xlsm .numbers .gsheet .fods", "this workbook", "Save it as .xlsx or CSV"),
    (".sav .zsav .por", "a file of SPSS", "Save it as CSV in SPSS"),
    (".dta", "a file of Stata", "Write it as CSV with: export delimited answers.csv"),
    (".sas7bdat .xpt", "a file of SAS", "Write it as CSV with proc export"),
    (".rds .rda .rdata", "a file of R", _R),
    (".mat", "a file of MATLAB", "Write it with: writetable(answers, 'answers.csv')"),
    (".doc .docx .odt .rtf .pdf .pages", "a document", _SHEET),
    (".html .htm .xml", "markup", "Export the answers as CSV or JSON Lines"),
    (
        ".pkl .pickle .feather .arrow .orc .h5 .hdf5",
        "a stored dataframe",
        "Write the dataframe with to_parquet",
    ),
    (".db .sqlite .sqlite3 .mdb .accdb", "a database", "Export its table as CSV"),
    (".rar .7z .tar .tgz .bz2 .xz .zst", "an archive", "Unpack it, and name a file in it"),
)
"""Suffixes, what the file is, and how to write one that can be read."""

_CONTENTS = (
    (b"PK\x03\x04", "a workbook or an archive", "Name it .xlsx, .ods or .zip"),
    (b"\xd0\xcf\x11\xe0", "an old workbook", "Save it as .xlsx or CSV"),
    (b"PAR1", "a Parquet file", "Name it .parquet"),
    (b"\x1f\x8b", "compressed", "Let its name end in .gz"),
    (b"%PDF", "a document", _SHEET),
)
"""First bytes of files that may have the suffix of a text."""


def check_not_foreign(path: Path) -> None:
    """Raise FormatError if a file's suffix is that of another program."""
    name = path.name.lower().removesuffix(".gz")
    for suffixes, kind, remedy in _FOREIGN:
        if name.endswith(tuple(suffixes.split())):
            raise FormatError("formats.foreign", path=path, kind=kind, remedy=remedy)


def check_is_text(path: Path, start: bytes) -> None:
    """Raise FormatError if a file that starts with these bytes is not text, despite its suffix."""
    for first, kind, remedy in _CONTENTS:
        if start.startswith(first):
            raise FormatError("formats.misnamed", path=path, kind=kind, remedy=remedy)
