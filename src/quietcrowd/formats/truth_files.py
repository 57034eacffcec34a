"""Files of known truths: columns ``task`` and ``label``."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.tables import read_table

__all__ = ["read_truths"]


def read_truths(path: str | Path) -> pa.Table:
    """Read known truths from a file.

    Parameters
    ----------
    path : str or Path
        It has columns ``task`` and ``label``, or, as what ``infer`` writes, ``truth`` for the
        latter.

    Returns
    -------
    pyarrow.Table
        Columns ``task`` and ``label``.

    Raises
    ------
    FormatError
        Where the file is not what its suffix says, or a column is missing.
    OSError
        Where the file cannot be opened.
    """
    path = Path(path)
    names = ("task", "label")
    try:
        table = read_table(path, names)
    except FormatError as error:
        if "'label'" not in str(error):
            raise
        table = read_table(path, ("task", "truth"))  # JSON Lines name the key they lack
    if "label" not in table.column_names and "truth" in table.column_names:
        table = table.rename_columns(
            ["label" if name == "truth" else name for name in table.column_names]
        )
    for name in names:
        if name not in table.column_names:
            raise FormatError(f"{path}: column {name!r} is missing; known truths need it")
    return table.select(names)
