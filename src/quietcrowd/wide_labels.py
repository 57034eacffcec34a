"""Labels in the columns of a wide table: one type for all, and sets of options with columns."""

import re
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.answer_errors import plain_type
from quietcrowd.exceptions import AnswerError
from quietcrowd.wide_columns import Options, Questions

_TICKED, _UNTICKED = ("1", "1.0", "true", "True", "TRUE"), ("0", "0.0", "false", "False", "FALSE")

_NAME_END = re.compile(r"([-_./: \[]+[^-_./: \[]*|\d+)$")

Columns: TypeAlias = dict[str, pa.ChunkedArray]
"""Labels of each question or worker, by row."""


def labels_of(table: pa.Table, name: str, options: Options | None) -> pa.ChunkedArray:
    """Return a column, or the ticked options of each row, None if all cells are empty.

    A ticked option has a 1, or its label.
    """
    if options is None:
        return table[name]
    cells = [
        [(text or "").strip() for text in table[column].cast(pa.string()).to_pylist()]
        for column in options.values()
    ]
    texts = {text for column in cells for text in column} - {""}
    marks = texts <= {*_TICKED, *_UNTICKED}
    ticks = set(_TICKED) if marks else texts
    if not marks and any(len({*column} - {""}) > 1 for column in cells):
        raise AnswerError("wide.options-with-several-texts", name=name)
    sets = [
        [one if marks else text for one, text in zip(options, row, strict=True) if text in ticks]
        if any(row)
        else None
        for row in zip(*cells, strict=True)
    ]
    return pa.chunked_array([pa.array(sets, pa.list_(pa.string()))])


def of_one_type(columns: Columns) -> Columns:
    """Convert columns to one type: whole numbers, numbers, or texts."""
    kinds = {plain_type(column.type) for column in columns.values()} - {pa.null()}
    whole = {name: _as_whole(column) for name, column in columns.items()}
    if len(kinds) <= 1:
        target = kinds.pop() if kinds else pa.string()
    elif not all(pa.types.is_integer(one) or pa.types.is_floating(one) for one in kinds):
        columns, target = whole, pa.string()
    elif any(pa.types.is_floating(column.type) for column in whole.values()):
        target = pa.float64()
    else:
        columns, target = whole, pa.int64()
    try:
        return {name: column.cast(target) for name, column in columns.items()}
    except pa.ArrowException:
        types = ", ".join(sorted(map(str, kinds)))
        raise AnswerError("wide.cells-of-several-types", types=types) from None


def _as_whole(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert floats to whole numbers, such as 3.0 in a column with missing answers, if exact."""
    if not pa.types.is_floating(column.type):
        return column
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


def possible_options(
    labels: Columns, filled: npt.NDArray[np.bool_], questions: Questions
) -> tuple[str, ...]:
    """Return questions that may be options, because each has one answer or empty cells.

    This must be true of all questions with names that differ only at the end. If their answers
    differ, each must have an empty cell.
    """
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(labels):
        if questions[name] is None:
            groups.setdefault(_NAME_END.sub("", name), []).append(place)
    names, columns = list(labels), list(labels.values())
    return tuple(
        names[place]
        for group in groups.values()
        if _are_ticks([columns[place] for place in group], filled[group])
        for place in group
    )


def _are_ticks(columns: list[pa.ChunkedArray], filled: npt.NDArray[np.bool_]) -> bool:
    full = filled.all(axis=1)
    if full.all() or filled.sum(axis=1).max() < 2:
        return False
    kinds = [
        pc.unique(column.filter(pa.array(rows))).to_pylist()
        for column, rows in zip(columns, filled, strict=True)
    ]
    alike = len({one for kind in kinds for one in kind}) == 1
    return max(map(len, kinds)) == 1 and (alike or not full.any())
