"""Numbers with a decimal comma."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.answer_errors import plain_type
from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import has_byte
from quietcrowd.validation import check_choice

_COMMA = r"^\s*[+-]?(\d+,\d*|,\d+)\s*$"
_NUMBER = r"^\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*$"
_THOUSANDS = r"^\s*[+-]?\d{1,3}([.'\x{2019}\s\p{Zs}]\d{3})+(,\d*)?\s*$"
"""Matches 1.234 and 1.234,5, which have a separator of thousands if the decimal mark is a comma."""
_TWO_MARKS = r"^\s*[+-]?\d{1,3}(([.'\x{2019}\s\p{Zs}]\d{3})+,\d*|(,\d{3})+\.\d*|(,\d{3}){2,})\s*$"
"""Matches numbers whose comma or other mark must be a separator of thousands."""

NEARLY_ALL = 0.9
"""Above this fraction of numbers, answers with a comma are not labels."""


def with_decimal_points(
    path: Path, column: pa.ChunkedArray, name: str, decimal: str | None
) -> pa.ChunkedArray:
    """Replace decimal commas in a column of texts, if `decimal` is a comma.

    If `decimal` is None, they are an error in a column of numbers. Separators of thousands are an
    error. A point leaves texts as they are.
    """
    check_choice("decimal", decimal, (None, ".", ","))
    if decimal == "." or not pa.types.is_string(plain_type(column.type)):
        return column
    if decimal == ",":
        _check_no_thousands(path, column, name, _THOUSANDS)
    if not has_byte(column, ","):
        return column
    if decimal == ",":
        commas = pc.match_substring_regex(column, _COMMA)
        return pc.if_else(commas, pc.replace_substring(column, ",", "."), column)
    numbers = pc.sum(pc.match_substring_regex(column, f"{_NUMBER}|{_TWO_MARKS}")).as_py()
    if numbers > NEARLY_ALL * (len(column) - column.null_count):
        _check_no_thousands(path, column, name, _TWO_MARKS)
        row = _first_match(column, _COMMA)
        if row >= 0:
            value = column[row].as_py()
            raise FormatError("formats.decimal-comma", path=path, row=row, name=name, value=value)
    return column


def _check_no_thousands(path: Path, column: pa.ChunkedArray, name: str, pattern: str) -> None:
    row = _first_match(column, pattern)
    if row >= 0:
        value = column[row].as_py()
        raise FormatError("formats.thousands-separated", path=path, row=row, name=name, value=value)


def _first_match(column: pa.ChunkedArray, pattern: str) -> int:
    """Return the first row that matches a pattern, or -1."""
    found = pc.match_substring_regex(column, pattern)
    return pc.index(found, pa.scalar(True)).as_py()  # type: ignore[no-any-return]
