"""Sets of labels as answers to one question with yes or no per task and label.

The name of a question joins task and label by `BETWEEN`. Files and campaigns need no other data.
"""

import warnings
from collections.abc import Iterable
from typing import Any, TypeAlias
from unicodedata import normalize

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from quietcrowd.answer_errors import plain_type
from quietcrowd.domains import Categorical
from quietcrowd.exceptions import (
    AnswerError,
    DroppedRowsWarning,
    ParameterError,
    QuietcrowdWarning,
)
from quietcrowd.frames import ALIASES, as_frame, check_answers, column_of, with_usual_names
from quietcrowd.intake import Intake
from quietcrowd.label_cells import as_lists, check_parts
from quietcrowd.validation import check_proportion

BETWEEN = ": "
"""Separates task and label in a question's name; labels cannot contain it."""

YES_OR_NO = Categorical(["no", "yes"])
"""Domain of the answers: whether the label is in the task's set."""

Held: TypeAlias = "tuple[npt.NDArray[np.intp], pa.Array]"
"""The row of each given label, and the labels as text."""


def label_set_rows(
    frame: Any,
    labels: Iterable[str],
    names: tuple[str, str, str],
    separator: str | None,
    missing: Iterable[str],
) -> tuple[pa.Table, tuple[str, ...], npt.NDArray[np.bool_]]:
    """Return a table with row numbers as labels, all labels, and a mask of each row's labels.

    The row number of a missing set is missing. Warns of missing and empty sets.
    """
    known = _check_labels(labels, separator)
    native = as_frame(frame)
    check_answers(native)
    if names == tuple(ALIASES):
        native = with_usual_names(native)
    way_out = "Name the columns with task=, worker= and label=."
    columns = {name: column_of(native, name, way_out) for name in names}
    label = names[2]
    intake, cells = Intake(missing), columns[label]
    if len(cells) and pa.types.is_string(plain_type(cells.type)):
        cells = intake.sets(cells, label, known)
    cells = cells.combine_chunks()
    lost = cells.is_null().to_numpy(zero_copy_only=False)
    if lost.any() and lost.all():
        raise AnswerError("several-labels.sets-missing", name=label)
    holds = np.zeros((len(cells), len(known)), bool)
    holds[~lost] = _which_labels(
        cells.drop_null(), known, separator, label, np.flatnonzero(~lost), intake
    )
    intake.warn()
    _warn_of_cells(cells, label)
    rows = pa.array(np.arange(len(cells)), mask=lost)
    return pa.table({**columns, label: rows}), known, holds


def task_and_label(name: str) -> tuple[str, str]:
    """Split a question's name by `Answers.from_label_sets`, such as "drug A: a study: safe"."""
    task, between, label = name.rpartition(BETWEEN)
    if not between:
        raise ParameterError(
            "several-labels.task-not-of-a-label", name=name, value="7" + BETWEEN + "cat"
        )
    return task, label


def _check_labels(labels: Any, separator: Any) -> tuple[str, ...]:
    if isinstance(labels, str):
        raise ParameterError("several-labels.labels-are-text", labels=labels)
    if separator is not None and (not isinstance(separator, str) or not separator):
        raise ParameterError("several-labels.separator-empty", separator=separator)
    known = tuple(normalize("NFC", one) if isinstance(one, str) else one for one in labels)
    if not known:
        raise ParameterError("several-labels.no-label-given")
    for place, one in enumerate(known):
        if not isinstance(one, str) or not one or one != one.strip():
            raise ParameterError("several-labels.label-not-text", one=one)
        if BETWEEN in one:
            raise ParameterError("several-labels.label-with-separator", part=BETWEEN, one=one)
        if one in known[:place]:
            raise ParameterError("several-labels.label-twice", one=one)
    if separator is not None:
        check_parts(known, separator)
    return known


def _warn_of_cells(cells: pa.Array, name: str) -> None:
    """Warn of missing sets and of empty texts."""
    if cells.null_count:
        warnings.warn(
            DroppedRowsWarning("several-labels.sets-dropped", name=name, count=cells.null_count),
            stacklevel=4,
        )
    empty = pc.sum(pc.equal(cells, "")).as_py() if pa.types.is_string(cells.type) else 0
    if empty:
        warnings.warn(
            QuietcrowdWarning("several-labels.cells-empty", name=name, count=empty), stacklevel=4
        )


def _which_labels(
    cells: pa.Array,
    known: tuple[str, ...],
    separator: str | None,
    name: str,
    numbers: npt.NDArray[np.intp],
    intake: Intake,
) -> npt.NDArray[np.bool_]:
    """Return a mask of the labels of each cell; `numbers` are the rows in messages."""
    rows, given = _given_labels(cells, known, separator, name, numbers)
    given = intake.sets(pa.chunked_array([given]), name, known, numbers[rows].tolist())
    places = pc.index_in(given, pa.array(known, pa.string()))
    places = places.fill_null(-1).to_numpy().astype(np.intp)
    if (places < 0).any():
        stranger = int(np.argmin(places))
        row, value, labels = numbers[rows[stranger]], given[stranger].as_py(), map(repr, known)
        raise AnswerError(
            "several-labels.label-unknown", row=row, name=name, value=value, known=", ".join(labels)
        )
    counts = np.bincount(rows * len(known) + places, minlength=len(cells) * len(known))
    if counts.max(initial=0) > 1:
        place, label = divmod(int(np.argmax(counts > 1)), len(known))
        row, twice, most = numbers[place], known[label], counts.max()
        raise AnswerError(
            "several-labels.label-given-twice", row=row, name=name, known=twice, count=most
        )
    return (counts > 0).reshape(len(cells), len(known))


def _given_labels(
    column: pa.Array,
    known: tuple[str, ...],
    separator: str | None,
    name: str,
    numbers: npt.NDArray[np.intp],
) -> Held:
    types, kind = pa.types, column.type
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        if separator is not None:
            raise ParameterError("several-labels.separator-with-lists", name=name)
    elif types.is_string(kind):
        column = as_lists(column, known, separator, name, numbers)
    elif len(column):
        raise AnswerError(
            "several-labels.not-labels", row=numbers[0], name=name, value=column[0].as_py()
        )
    else:
        column = pa.array([], pa.list_(pa.string()))
    rows = pc.list_parent_indices(column).to_numpy().astype(np.intp)
    try:
        return rows, pc.list_flatten(column).cast(pa.string())
    except pa.ArrowException:
        held = column.type.value_type
        raise AnswerError("several-labels.lists-of-wrong-type", name=name, type=held) from None


def one_task_per_label(rows: Any, known: tuple[str, ...], holds: npt.NDArray[np.bool_]) -> Any:
    """Return the answers about each label of each task; the values of `rows` are row numbers."""
    each = np.repeat(rows.answers_per_task, len(known))
    ends = np.concatenate([[0], np.cumsum(each)])
    starts = np.repeat(rows.offsets[:-1], len(known))
    places = np.arange(ends[-1]) - np.repeat(ends[:-1] - starts, each)
    labels = np.repeat(np.tile(np.arange(len(known)), len(rows.tasks)), each)
    tasks = rows.tasks.cast(pa.large_string()).to_pylist()
    names = [f"{task}{BETWEEN}{one}" for task in tasks for one in known]
    return evolve(
        rows,
        domain=YES_OR_NO,
        tasks=pa.array(names, pa.string()),
        offsets=ends,
        worker_codes=rows.worker_codes[places],
        values=holds[rows.values[places].astype(np.intp), labels].astype(YES_OR_NO.dtype),
    )


def label_sets(estimate: Any, threshold: float) -> dict[str, pa.Array]:
    """Return the columns of `TruthEstimate.label_sets`."""
    check_proportion("threshold", threshold)
    answers = getattr(estimate.domain, "labels", ())
    if set(answers) != set(YES_OR_NO.labels):
        raise ParameterError(
            "inference.label-sets-needed", domain=YES_OR_NO.describe(), estimate=estimate
        )
    chances = estimate.posterior_as("pyarrow")["probability"]
    yes = chances.to_numpy(zero_copy_only=False).astype(float)[answers.index("yes") :: 2]
    names = estimate.answers.tasks.cast(pa.large_string()).to_pylist()
    questions = [task_and_label(name) for name in names]
    tasks = {task: row for row, task in enumerate(dict.fromkeys(task for task, _ in questions))}
    labels = {one: place for place, one in enumerate(dict.fromkeys(one for _, one in questions))}
    posterior = np.full((len(tasks), len(labels)), np.nan)
    rows = [tasks[task] for task, _ in questions]
    posterior[rows, [labels[one] for _, one in questions]] = yes
    answered = ~np.isnan(posterior).all(axis=1)
    sets = [
        [one for one, place in labels.items() if chance[place] >= threshold] if known else None
        for chance, known in zip(posterior, answered, strict=True)
    ]
    return {
        "task": pa.array(list(tasks), pa.string()),
        "labels": pa.array(sets, pa.list_(pa.string())),
        **{
            f"p({one})": pa.array(posterior[:, place], from_pandas=True)
            for one, place in labels.items()
        },
    }
