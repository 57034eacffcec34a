"""What separates the columns of a table in text."""

from __future__ import annotations

import csv
import io

__all__ = ["LONGEST_HEADER", "sniff_header"]

LONGEST_HEADER = 2**16
"""Characters in which a header ends."""


def sniff_header(text: str, usual: str) -> tuple[str, list[str]]:
    """Return what separates the columns, and their names: whatever gives the most names.

    Parameters
    ----------
    text : str
        A table, or its beginning.
    usual : str
        What separates the columns where nothing gives more names: a comma or a tab.

    Raises
    ------
    csv.Error
        Where the header breaks the rules of CSV.

    Examples
    --------
    >>> sniff_header("task;question, in short;gold", ",")
    (';', ['task', 'question, in short', 'gold'])
    """
    found = {}
    for delimiter in dict.fromkeys((usual, ",", ";", "\t")):
        rows = csv.reader(io.StringIO(text[:LONGEST_HEADER], newline=""), delimiter=delimiter)
        found[delimiter] = next((row for row in rows if row), [])
    best = max(found, key=lambda delimiter: len(found[delimiter]))
    return best, found[best]
