"""Files of known truths: columns ``task`` and ``label``."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.choice import Choice
from quietcrowd.formats.tables import read_names, read_table

__all__ = ["read_scored_truths", "read_truths"]

_NAMES = ("task", "label")
_SCORE = "confidence"


def read_truths(
    path: str | Path, *, file_format: str | None = None, field: str | None = None
) -> pa.Table:
    """Read known truths from a file.

    Parameters
    ----------
    path : str or Path
        A table with columns ``task`` and ``label``, which may be called ``truth``, as ``infer``
        writes it, or ``true_label`` or ``agg_label``, as crowd-kit does. Or Toloka's file with
        control tasks, or one of Label Studio.
    file_format, field : str, optional
        See `read_answers`.

    Returns
    -------
    pyarrow.Table
        Columns ``task`` and ``label``.

    Raises
    ------
    FormatError
        Where the file is not what its suffix says, or a column is missing.
    ParameterError
        See `read_answers`.
    OSError
        Where the file cannot be opened.
    """
    path = Path(path)
    return _read(path, _NAMES, file_format, field).select(_NAMES)


def read_scored_truths(
    path: Path, *, file_format: str | None = None, field: str | None = None
) -> pa.Table:
    """Return truths with a column ``confidence`` of numbers, where the file has one.

    Parameters and errors are those of `read_truths`.
    """
    scored = _SCORE in (read_names(path, file_format) or [])
    wanted = (*_NAMES, _SCORE) if scored else _NAMES
    table = _read(path, wanted, file_format, field)
    if not scored:
        return table
    return table.set_column(2, _SCORE, pc.cast(table[_SCORE], pa.float64()))


def _read(
    path: Path, wanted: tuple[str, ...], file_format: str | None, field: str | None
) -> pa.Table:
    table = read_table(path, wanted, file_format=file_format, choice=Choice(field=field))
    for name in _NAMES:
        if name not in table.column_names:
            raise FormatError(f"{path}: column {name!r} is missing; known truths need it")
    return table
