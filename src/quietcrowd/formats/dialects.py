"""Encoding, delimiter and header of tables in text files."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.files import encoding_of, open_text

LONGEST_HEADER = 2**16
"""Characters that must include the header."""

_DELIMITERS = (",", ";", "\t", "|")
_TABBED = frozenset((".tsv", ".tab", ".txt"))

SEP = re.compile(r'"?sep=(.)"?[;,\t|]*\r?\n', re.IGNORECASE)
"""A first line for Excel, which names the delimiter."""


@frozen
class Dialect:
    """Dialect of a table; `skipped` is the number of lines above the header."""

    delimiter: str
    header: list[str]
    encoding: str
    skipped: int = 0


def usual_delimiter(path: Path) -> str:
    """Return the delimiter that the suffix means: a tab for .tsv, .tab and .txt, else a comma."""
    tabbed = not _TABBED.isdisjoint(suffix.lower() for suffix in path.suffixes[-2:])
    return "\t" if tabbed else ","


def dialect_of(path: Path) -> Dialect:
    """Find the dialect by the first characters; raise csv.Error if they are not a table."""
    with open_text(path, newline="", errors="replace") as file:
        text = file.read(LONGEST_HEADER)
    if any(half and not half.strip("\0") for half in (text[:8:2], text[1:8:2])):
        raise FormatError("formats.utf16-unmarked", path=path)
    encoding, named = encoding_of(path), SEP.match(text)
    if named is None:
        delimiter, header = sniff_header(text, usual_delimiter(path))
        return Dialect(delimiter, header, encoding)
    return Dialect(named[1], _first_row(text[named.end() :], named[1]), encoding, skipped=1)


def sniff_header(text: str, usual: str) -> tuple[str, list[str]]:
    """Return the delimiter that gives the most columns, and their names.

    `usual`, a comma or a tab, is the delimiter unless another gives more columns.

    Examples
    --------
    >>> sniff_header("task;question, in short;gold", ",")
    (';', ['task', 'question, in short', 'gold'])
    """
    found = {
        delimiter: _first_row(text[:LONGEST_HEADER], delimiter)
        for delimiter in dict.fromkeys((usual, *_DELIMITERS))
    }
    best = max(found, key=lambda delimiter: len(found[delimiter]))
    return best, found[best]


def _first_row(text: str, delimiter: str) -> list[str]:
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return next((row for row in rows if any(row)), [])


def numbered_rows(path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the cells of each row that is not blank, including the header.

    A line of spaces with too few or too many cells is blank, too.
    """
    with open_text(path, newline="", errors="replace") as file:
        for _ in range(dialect.skipped):
            file.readline()
        rows = csv.reader(file, delimiter=dialect.delimiter)
        line = dialect.skipped + 1
        for row in rows:
            regular = len(row) == len(dialect.header)
            if any(row) and (regular or "".join(row).strip()):
                yield line, row
            line = dialect.skipped + rows.line_num + 1
