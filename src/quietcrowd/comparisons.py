"""Paired comparisons as answers "left" or "right" to tasks that are named by a pair of items.

The name of a task joins both items by `BETWEEN`. Files and campaigns need no other data, and a
mechanism randomizes one of two public labels.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from quietcrowd.domains import Categorical
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import (
    ALIASES,
    Duplicates,
    as_frame,
    check_answers,
    collected,
    column_of,
    positions_by_text,
)
from quietcrowd.intake import Intake, decoded

BETWEEN = " | "
"""Separates the items in a task's name; items cannot contain it."""

SIDES = Categorical(["left", "right"])
"""Domain of the answers."""

SIDES_AND_TIE = Categorical([*SIDES.labels, "tie"])
"""Domain of non-private answers with ties."""

Ties: TypeAlias = Literal["error", "keep"]
Repeated: TypeAlias = Duplicates | Literal["all"]

_TIES = ("tie", "tie (bothbad)", "both_bad", "draw")
"""Labels of a tie, in small letters; the second and third are those of chatbot arenas."""

COLUMNS = ("worker", "left", "right", "label")
"""Default names of columns."""

_ALIASES = ((*ALIASES["worker"], "judge"), ("model_a",), ("model_b",), ("winner",))


def comparison_columns(names: Sequence[str]) -> tuple[str, str, str, str]:
    """Return the columns of comparisons; chatbot arenas call them judge, model_a, model_b, winner.

    A column without an unambiguous other name has its default name.
    """
    found = []
    for name, others in zip(COLUMNS, _ALIASES, strict=True):
        meant = [other for other in others if other in names]
        found.append(meant[0] if name not in names and len(meant) == 1 else name)
    return found[0], found[1], found[2], found[3]


def comparison_rows(frame: Any, names: tuple[str, str, str, str], ties: Ties) -> pa.Table:
    """Return a row per comparison: the pair, the worker and the preferred side."""
    frame = collected(frame, [*names, *chain.from_iterable(_ALIASES)])
    if names == COLUMNS:
        names = comparison_columns(as_frame(frame).columns)
    check_answers(frame)
    worker, left, right, label = names
    columns = _columns_of(frame, names)
    items = item_ids(pa.table(columns), left, right)
    texts = items.cast(pa.string())
    _check_names(texts, items, columns, names)
    first, second, chosen = (positions_by_text(columns[name], texts) for name in names[1:])
    _check_pairs(columns, names, first, second)
    by_item = np.where(chosen == first, 0, np.where(chosen == second, 1, -1))
    sides = _sides(columns, names, by_item)
    if ties == "error" and (sides == _TIE).any():
        row = int(np.argmax(sides == _TIE))
        raise AnswerError(
            "comparisons.tie-without-side", row=row, label=label, given=columns[label][row].as_py()
        )
    pair = f"{left}{BETWEEN}{right}"
    table = {
        pair: _pair_names(texts, first, second),
        worker: columns[worker],
        label: SIDES_AND_TIE.decode(sides.astype(SIDES_AND_TIE.dtype)),
    }
    return pa.table(table)


@frozen(kw_only=True, eq=False)
class Pairs:
    """The items of tasks: unique names, and each task's left and right position, shape (tasks,)."""

    items: pa.Array
    left: npt.NDArray[np.intp]
    right: npt.NDArray[np.intp]


def pairs_of(tasks: pa.Array) -> Pairs:
    """Parse names of tasks of comparisons; raise AnswerError if one is not a valid pair."""
    places: dict[str, int] = {}
    found = np.empty((len(tasks), 2), np.intp)
    for row, name in enumerate(tasks.cast(pa.string()).to_pylist()):
        left, between, right = name.partition(BETWEEN)
        if not between or BETWEEN in f" {right} " or not left or not right or left == right:
            raise AnswerError("comparisons.task-not-a-pair", name=name, value=f"tea{BETWEEN}coffee")
        found[row] = places.setdefault(left, len(places)), places.setdefault(right, len(places))
    items = pa.array(list(places), pa.string())
    return Pairs(items=items, left=found[:, 0].copy(), right=found[:, 1].copy())


def item_ids(frame: Any, left: str = "left", right: str = "right") -> pa.Array:
    """Return the unique ids of all items, as text unless both columns have one type."""
    native, intake = as_frame(frame), Intake()
    columns = [decoded(intake.encoded(column_of(native, name), name)) for name in (left, right)]
    sides = [column.combine_chunks().drop_null() for column in columns]
    if sides[0].type != sides[1].type:
        sides = [side.cast(pa.string()) for side in sides]
    return pa.concat_arrays(sides).unique()


def _columns_of(frame: Any, names: tuple[str, ...]) -> dict[str, pa.Array]:
    native = as_frame(frame)
    way_out = (
        "Name the columns with worker=, left=, right= and label= (on the command line: --columns "
        "WORKER,LEFT,RIGHT,LABEL)."
    )
    intake = Intake()
    columns = {
        name: decoded(intake.encoded(column_of(native, name, way_out), name)).combine_chunks()
        for name in names
    }
    intake.warn()
    for name, column in columns.items():
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise AnswerError(
                "comparisons.item-missing", row=row, name=name, missing=_missing(name == names[3])
            )
    return columns


def _missing(label: bool) -> str:
    if not label:
        return "the cell is empty. Fill it in, or drop the row."
    return (
        "no item was chosen. The label of a tie in non-private comparisons is 'tie'. Before "
        "randomization, let the worker choose one of the two, or a coin; a dropped row reveals a "
        "tie."
    )


def _check_names(
    texts: pa.Array, items: pa.Array, columns: dict[str, pa.Array], names: tuple[str, ...]
) -> None:
    for place, text in enumerate(texts.to_pylist()):
        if not text or BETWEEN in f" {text} ":
            for name in names[1:3]:
                rows = np.flatnonzero(positions_by_text(columns[name], texts) == place)
                if len(rows):
                    raise AnswerError(
                        "comparisons.item-name-invalid",
                        row=rows[0],
                        name=name,
                        value=items[place].as_py(),
                        between=BETWEEN,
                    )


def _check_pairs(
    columns: dict[str, pa.Array],
    names: tuple[str, ...],
    first: npt.NDArray[np.intp],
    second: npt.NDArray[np.intp],
) -> None:
    _, left, right, _ = names
    same = first == second
    if same.any():
        row = int(np.argmax(same))
        raise AnswerError(
            "comparisons.item-against-itself",
            row=row,
            left=left,
            right=right,
            value=columns[left][row].as_py(),
        )


_TIE = 2
"""Position of a tie in `SIDES_AND_TIE`."""


def _sides(
    columns: dict[str, pa.Array], names: tuple[str, ...], by_item: npt.NDArray[np.intp]
) -> npt.NDArray[np.intp]:
    """Return positions in `SIDES_AND_TIE` from labels: an item, a side, its column, or a tie.

    `by_item` is the side of the item that a label names, or -1. It has precedence over a tie.
    """
    import pyarrow.compute as pc

    _, left, right, label = names
    labels = columns[label].cast(pa.string())
    meanings = (("left", left), ("right", right), _TIES)
    named = np.full(len(labels), -1)
    for place, texts in enumerate(meanings):
        given = pc.utf8_lower(labels) if place == _TIE else labels
        named[pc.is_in(given, pa.array(texts)).to_numpy(zero_copy_only=False)] = place
    unclear = (by_item >= 0) & (named == 1 - by_item)
    sides = np.where(by_item >= 0, by_item, named)
    wrong = unclear if unclear.any() else sides < 0
    if not wrong.any():
        return sides
    row = int(np.argmax(wrong))
    shown, other, given = (columns[name][row].as_py() for name in (left, right, label))
    if unclear.any():
        raise AnswerError(
            "comparisons.choice-ambiguous",
            row=row,
            label=label,
            given=given,
            shown=shown,
            other=other,
        )
    raise AnswerError(
        "comparisons.choice-not-an-item",
        row=row,
        label=label,
        given=given,
        shown=shown,
        other=other,
    )


def _pair_names(
    texts: pa.Array, first: npt.NDArray[np.intp], second: npt.NDArray[np.intp]
) -> pa.Array:
    import pyarrow.compute as pc

    left, right = (texts.take(pa.array(side)) for side in (first, second))
    return pc.binary_join_element_wise(left, right, BETWEEN)
