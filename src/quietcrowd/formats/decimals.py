"""Numbers with a decimal comma."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.exceptions import FormatError
from quietcrowd.validation import check_choice

_COMMA = r"^\s*[+-]?(\d+,\d*|,\d+)\s*$"
_NUMBER = r"^\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*$"

NEARLY_ALL = 0.9
"""Above this fraction of numbers, answers with a comma are not labels."""


def with_decimal_points(
    path: Path, column: pa.ChunkedArray, name: str, decimal: str | None
) -> pa.ChunkedArray:
    """Replace decimal commas in a column of texts, if `decimal` is a comma.

    If `decimal` is None, they are an error in a column of numbers. A point leaves texts as they
    are.
    """
    check_choice("decimal", decimal, (None, ".", ","))
    if decimal == "." or not _is_text(column.type) or not _has_comma(column):
        return column
    commas = pc.fill_null(pc.match_substring_regex(column, _COMMA), False)
    if decimal == ",":
        return pc.if_else(commas, pc.replace_substring(column, ",", "."), column)
    count = pc.sum(commas).as_py()
    numbers = pc.sum(pc.match_substring_regex(column, _NUMBER)).as_py()
    if count and numbers > NEARLY_ALL * (len(column) - column.null_count):
        row = pc.index(commas, pa.scalar(True)).as_py()
        raise FormatError(
            "formats.decimal-comma", path=path, row=row, name=name, value=column[row].as_py()
        )
    return column


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _has_comma(column: pa.ChunkedArray) -> bool:
    """Search the bytes, because a text with a comma is rare."""
    buffers = (chunk.buffers()[2] for chunk in column.chunks)
    return any(buffer is not None and b"," in buffer.to_pybytes() for buffer in buffers)
