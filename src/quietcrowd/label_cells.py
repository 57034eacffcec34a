"""Sets of labels in cells of text: labels with a separator, or a list of JSON, Python or numpy."""

import ast
import io
import token
import tokenize
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.validation import parse_json

Parts: TypeAlias = tuple[str, ...]
"""Text between separators, without spaces around it."""

Known: TypeAlias = Mapping[Parts, str]
"""The possible labels by their parts."""


def check_parts(labels: Sequence[str], separator: str) -> None:
    """Raise ParameterError if two labels are equal except for spaces around the separator."""
    known: dict[Parts, str] = {}
    for one in labels:
        other = known.setdefault(_parts(one, separator), one)
        if other != one:
            raise ParameterError(
                "several-labels.labels-alike", one=one, other=other, separator=separator
            )


def as_lists(
    column: pa.Array,
    labels: Sequence[str],
    separator: str | None,
    name: str,
    numbers: npt.NDArray[np.intp],
) -> pa.Array:
    """Return lists of labels for texts; `numbers` are their rows in messages.

    A label may contain the separator. A cell with several readings, or none, is an error.
    """
    known = {_parts(one, separator): one for one in labels}
    cells = column.cast(pa.large_string()).dictionary_encode()
    lists: list[Sequence[str]] = []
    for place, cell in enumerate(cells.dictionary.to_pylist()):
        found = listed_labels(cell, labels)
        readings = _readings(cell, known, separator) if found is None else [found]
        if readings is None or len(readings) != 1:
            row = int(numbers[cells.indices.index(place).as_py()])
            raise _unreadable(cell, (row, name), labels, readings)
        lists += readings
    return pa.array(lists, pa.list_(pa.large_string())).take(cells.indices)


def _parts(text: str, separator: str | None) -> Parts:
    return (text,) if separator is None else tuple(one.strip() for one in text.split(separator))


def listed_labels(cell: str, labels: Sequence[str] = ()) -> Sequence[str] | None:
    """Return the labels of an empty cell or a list, otherwise None."""
    if not cell.strip():
        return []
    if not (cell.startswith("[") and cell.endswith("]")) or cell in labels:
        return None
    found = parse_list(cell)
    if found is None or any(type(one) not in (str, int) for one in found):
        return None
    return list(map(str, found))


def parse_list(text: str) -> list[Any] | None:
    """Return a list that JSON, Python or numpy has written, otherwise None.

    Examples
    --------
    >>> parse_list('["cat", null]'), parse_list("['cat', None]"), parse_list("['cat' 'dog']")
    (['cat', None], ['cat', None], ['cat', 'dog'])
    """
    for parse in (parse_json, _parse_python):
        try:
            found = parse(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        if isinstance(found, list):
            return found
    return None


def _parse_python(text: str) -> Any:
    """Parse Python, with a comma between texts that numpy writes next to each other."""
    try:
        found = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except tokenize.TokenError:
        raise ValueError from None
    parts = [one for one in found if one.type != token.NL]
    texts = [one.type == token.STRING for one in parts]
    commas = [
        "," * (text and after) for text, after in zip(texts, [*texts[1:], False], strict=True)
    ]
    return ast.literal_eval(
        " ".join(f"{one.string}{comma}" for one, comma in zip(parts, commas, strict=True))
    )


def _readings(cell: str, known: Known, separator: str | None) -> list[Sequence[str]] | None:
    """Return up to two ways to divide a cell into labels, the one with the longest labels first.

    If no label contains the separator, the parts are the only reading: they may be unknown labels.
    """
    if separator is None:
        return None
    parts, longest = _parts(cell, separator), max(map(len, known))
    if longest == 1:
        return [parts]
    ways: list[list[Sequence[str]]] = [*([] for _ in parts), [()]]
    for start in reversed(range(len(parts))):
        for end in range(min(start + longest, len(parts)), start, -1):
            label = known.get(parts[start:end])
            if label is not None:
                ways[start] += [(label, *rest) for rest in ways[end]]
        del ways[start][2:]
    return ways[0]


def _unreadable(
    cell: str,
    place: tuple[int, str],
    labels: Sequence[str],
    readings: Sequence[Sequence[str]] | None,
) -> AnswerError:
    (row, name), known = place, ", ".join(map(repr, labels))
    if readings is None:
        return AnswerError("several-labels.text-without-separator", row=row, name=name, value=cell)
    if not readings:
        return AnswerError(
            "several-labels.cell-without-reading", row=row, name=name, value=cell, known=known
        )
    first, second = (" and ".join(map(repr, one)) for one in readings)
    return AnswerError(
        "several-labels.cell-ambiguous",
        row=row,
        name=name,
        value=cell,
        first=first,
        second=second,
        known=known,
    )
