"""Files with a row per worker, or a column per worker."""

from pathlib import Path
from typing import Any

from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.formats.columns import warn_left_out
from quietcrowd.formats.registry import read_columns
from quietcrowd.wide import LongRows, long_rows, warn_uncertain


def read_wide(path: Path, *, file_format: str | None = None, **choice: Any) -> LongRows:
    """Return the answers in a file; `choice` has the options of `long_rows`."""
    return rows_of(path, read_columns(path, file_format=file_format), **choice)


def rows_of(path: Path, table: Any, **choice: Any) -> LongRows:
    """Return the answers in the table of a file, and warn of columns that were not read.

    Raises FormatError if ids or questions are uncertain or not in the file.
    """
    try:
        found = long_rows(table, **choice)
    except (AnswerError, ParameterError) as error:
        raise FormatError("formats.in-file", path=path, error=error) from None
    includes = "convert --include-rejected includes them"
    warn_left_out(path, {f"{what} ({includes})": found.dropped[what] for what in found.dropped})
    warn_uncertain(found)
    return found
