"""Selection of a file's columns, and of a platform's answers."""

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import pyarrow as pa
from attrs import frozen

from quietcrowd.exceptions import DroppedRowsWarning, FormatError, ParameterError
from quietcrowd.frames import ALIASES, TRUTH_ALIASES
from quietcrowd.times import named_times, seconds, times_to_compare
from quietcrowd.validation import did_you_mean


def resolve(path: Path, names: Sequence[str], wanted: Sequence[str]) -> dict[str, str]:
    """Return the file's column for each wanted one, without those that are missing.

    ``task``, ``worker`` and ``label`` may have another name, if it is unambiguous. Without a
    worker, a label may be called ``truth``.
    """
    found = {}
    for name in wanted:
        others = ALIASES.get(name, ())
        if name == "label" and "worker" not in wanted:
            others = TRUTH_ALIASES
        meant = [
            one
            for one in dict.fromkeys(names)
            if one in others or one.strip("\ufeff\u200b ") == name
        ]
        if name in names:
            meant = [name]
        if len(meant) > 1:
            raise FormatError(
                "formats.column-ambiguous",
                path=path,
                meant=" and ".join(map(repr, meant)),
                name=name,
            )
        if meant:
            found[name] = meant[0]
    check_once(path, names, list(found.values()))
    return found


def has_byte(column: pa.ChunkedArray, byte: str) -> bool:
    """Return whether the memory of a column of texts has a byte; it is fast if none has it."""
    buffers = (chunk.buffers()[2] for chunk in column.chunks)
    held = (np.frombuffer(buffer, np.uint8) for buffer in buffers if buffer is not None)
    return any((one == ord(byte)).any() for one in held)


def check_once(path: Path, names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise FormatError if a wanted column is repeated."""
    for name in wanted:
        if names.count(name) > 1:
            raise FormatError(
                "formats.column-repeated", path=path, count=names.count(name), name=name
            )


class QuestionError(FormatError):
    """None or several of a file's questions are meant.

    `counts` are numbers of answers by the question's name, None if unknown.
    """

    counts: Mapping[str, int | None] = MappingProxyType({})

    def about(self, counts: Mapping[str, int | None]) -> Self:
        """Set the counts."""
        self.counts = dict(counts)
        return self


@frozen(kw_only=True)
class Choice:
    """Selection of answers in a platform's file: one question, with or without rejected answers.

    If `sets`, options that a worker selected are read as a list, even if there is always one.
    """

    field: str | None = None
    rejected: bool = False
    sets: bool = False


def choose_field(path: Path, fields: Sequence[str], wanted: str | None, prefix: str = "") -> str:
    """Return the wanted field, or the only field if `wanted` is None.

    `fields` are unique names without `prefix`, which columns of the header have; `wanted` may
    include it.
    """
    known, counts = ", ".join(map(repr, fields)), dict.fromkeys(fields)
    if not fields:
        if not prefix:
            raise FormatError("formats.no-answer", path=path)
        raise FormatError("formats.no-answer-column", path=path, prefix=prefix)
    if wanted is None:
        if len(fields) > 1:
            raise QuestionError("formats.field-ambiguous", path=path, known=known).about(counts)
        return fields[0]
    field = wanted if wanted in fields else wanted.removeprefix(prefix)
    if field not in fields:
        raise QuestionError(
            "formats.field-unknown",
            path=path,
            wanted=wanted,
            known=known,
            suggestion=did_you_mean(wanted, fields),
        ).about(counts)
    return field


def warn_left_out(path: Path, counts: Mapping[str, int]) -> None:
    """Warn of dropped rows, by number per reason."""
    reasons = [f"{what}: {count:,}" for what, count in counts.items() if count]
    if reasons:
        warnings.warn(
            DroppedRowsWarning("formats.rows-left-out", path=path, reasons="; ".join(reasons)),
            stacklevel=2,
        )


def check_plain_columns(path: Path, table: pa.Table, name: str) -> None:
    """Raise ParameterError unless a table has exactly the columns task, worker and label."""
    if set(table.column_names) != {"task", "worker", "label"}:
        raise ParameterError(
            "formats.columns-not-written",
            path=path,
            name=name,
            column_names=", ".join(table.column_names),
        )


def id_text(path: Path, place: str, name: str, value: Any) -> str:
    """Return an id as text; raise FormatError unless it is a text or a whole number."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise FormatError("formats.id-invalid", path=path, place=place, name=name, value=value)
    return str(value)


def label_column(answers: Sequence[Any], *, several: bool = False) -> pa.Array:
    """Return a column of labels, or of lists if an answer has several labels.

    An answer is None, a label, or a list of labels. If `several`, lists of one label stay lists.
    In a column of labels, an empty list is a missing answer.

    Examples
    --------
    >>> label_column([["cat"], [], None]).to_pylist()
    ['cat', None, None]
    >>> label_column([["cat", "dog"], [], None]).to_pylist()
    [['cat', 'dog'], [], None]
    """
    if any(isinstance(one, list) and (several or len(one) > 1) for one in answers):
        lists = [[one] if isinstance(one, str) else one for one in answers]
        return pa.array(lists, pa.list_(pa.string()))
    labels = [next(iter(one), None) if isinstance(one, list) else one for one in answers]
    texts = all(label is None or isinstance(label, str) for label in labels)
    return pa.array(labels, pa.string() if texts else None)


def label_text(path: Path, place: str, name: str, value: Any, readable: str) -> str:
    """Return an answer as text; FormatError, with `readable`, unless it is a text or a number."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return json.dumps(value)
    shown = json.dumps(value, ensure_ascii=False, default=str)[:80]
    raise unsupported(path, f"{place}, {name!r}", shown, "not a label", readable)


def unsupported(path: Path, place: str, shown: str, what: str, readable: str) -> FormatError:
    """Return the error for an answer: `what` describes it, `readable` the accepted answers."""
    return FormatError(
        "formats.answer-unsupported",
        path=path,
        place=place,
        value=shown,
        what=what,
        readable=readable,
    )


TIME = "time"
"""Optional column of a platform's answers: numbers, or texts that cannot be compared."""


def time_column(values: Sequence[Any]) -> pa.Array:
    """Return the column `TIME`: numbers, or texts if `seconds` cannot compare the times."""
    times = seconds(values)
    if times is not None:
        return times
    return pa.array([None if value in (None, "") else str(value) for value in values], pa.string())


def text_column(texts: Iterable[str | None]) -> pa.Array:
    """Return a column of texts."""
    return pa.array(texts, pa.string())


def transposed(rows: Iterable[Sequence[Any]], width: int) -> list[list[Any]]:
    """Return the columns of rows."""
    listed = list(rows)
    return [[row[place] for row in listed] for place in range(width)]


def answers_table(
    rows: Iterable[Sequence[Any]], *, several: bool = False, unanswered: int = 0
) -> pa.Table:
    """Return rows of task, worker, answer as in `label_column`, and time, as a table."""
    tasks, workers, answers, times = transposed(rows, 4)
    table = pa.table(
        {
            "task": text_column(tasks),
            "worker": text_column(workers),
            "label": label_column(answers, several=several),
            TIME: time_column(times),
        }
    )
    return with_unanswered(table, unanswered)


_UNANSWERED = b"quietcrowd.unanswered"


def with_unanswered(table: pa.Table, count: int) -> pa.Table:
    """Note how many answers a table lacks because workers skipped or rejected the tasks."""
    return table.replace_schema_metadata({_UNANSWERED: str(count)})


def unanswered_in(table: pa.Table) -> int:
    """Return the count of `with_unanswered`; a report that is missing because of it shows it."""
    return int((table.schema.metadata or {}).get(_UNANSWERED, 0))


def in_named_order(table: pa.Table, task: str, worker: str) -> pa.Table:
    """Order repeated answers of a worker to a task by the only column of `TIME_NAMES`."""
    if not {task, worker} <= set(table.column_names):
        return table
    name = named_times(table.column_names)
    return table if name is None else _in_order(table, task, worker, name, name)


def in_time_order(table: pa.Table) -> pa.Table:
    """Order repeated answers of a worker to a task by `TIME`, which is dropped if it exists.

    Other rows stay in their places. A missing time comes first. A warning names times that cannot
    be compared.

    Examples
    --------
    >>> rows = {"task": ["p", "q", "p"], "worker": ["a", "a", "a"], "label": ["new", "", "old"]}
    >>> in_time_order(pa.table({**rows, "time": [2.0, None, 1.0]}))["label"].to_pylist()
    ['old', '', 'new']
    """
    if TIME not in table.column_names:
        return table
    return _in_order(table, "task", "worker", TIME).drop_columns([TIME])


def _in_order(
    table: pa.Table, task: str, worker: str, time: str, column: str | None = None
) -> pa.Table:
    pairs: dict[tuple[Any, Any], list[int]] = {}
    ids = (table[name].to_pylist() for name in (task, worker))
    for place, pair in enumerate(zip(*ids, strict=True)):
        pairs.setdefault(pair, []).append(place)
    groups = [rows for rows in pairs.values() if len(rows) > 1]
    repeated = [row for rows in groups for row in rows]
    times = times_to_compare(table[time].take(pa.array(repeated, pa.int64())).to_pylist(), column)
    if times is None:
        return table
    sent, order = dict(zip(repeated, times, strict=True)), np.arange(len(table))
    for rows in groups:
        order[rows] = sorted(rows, key=sent.__getitem__)
    return table.take(pa.array(order))
