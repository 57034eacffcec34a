"""Wide tables: a row per worker and a column per question, or a row per task.

Empty cells are missing answers and leave no row.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from quietcrowd.answer_errors import mark_note, plain_type
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError, DroppedRowsWarning, QuietcrowdWarning
from quietcrowd.frames import as_frame, check_answers, column_of
from quietcrowd.header_rows import MOST_ROWS, header_rows
from quietcrowd.intake import Intake, check_ids, decoded
from quietcrowd.times import times_to_compare
from quietcrowd.wide_columns import QUALTRICS, Layout, Questions, find_layout, matches
from quietcrowd.wide_labels import Columns, labels_of, of_one_type, possible_options

_UNANSWERED = "-99"
"""Qualtrics may write this for a question that was seen and not answered."""

_EMAIL = r"^\s*[^@\s]+@[^@\s]+\.[^@\s]+\s*$"


@frozen(kw_only=True, eq=False)
class LongRows:
    """The answers of a wide table, one per row.

    Labels in the `table` are lists if options have columns. `rows` are those of the answers in the
    wide table, from 0 below the header. Questions are `unread` if only some have columns of
    options, and `lone` if they have empty cells and one answer, so that they may be options.
    `empty` counts cells without an answer, and `dropped` responses by reason.
    """

    table: pa.Table
    rows: npt.NDArray[np.intp]
    layout: Layout
    questions: Questions
    unread: Questions
    empty: int
    lone: tuple[str, ...]
    dropped: Mapping[str, int]

    def column_at(self, place: int) -> str:
        """Return the column of an answer in the wide table."""
        names = self.table["task" if self.layout.by_worker else "worker"]
        return names[place].as_py()  # type: ignore[no-any-return]


def long_rows(
    frame: Any,
    *,
    rejected: bool = False,
    sets: bool = False,
    intake: Intake | None = None,
    known: Iterable[Any] = (),
    **roles: Any,
) -> LongRows:
    """Return the answers in a wide table.

    `sets` prefers questions with columns of options, and leaves texts with several labels as they
    are. `intake` checks cells, except `known` labels. `roles` are those of `find_layout`, and
    exceptions those of `Answers.from_wide`.
    """
    if hasattr(frame, "set_axis"):  # the names of a pivot table of pandas may be numbers
        frame = frame.set_axis(map(str, frame.columns), axis=1)
    native = as_frame(frame)
    check_answers(native)
    skipped, import_ids = header_rows(native.columns, native.head(MOST_ROWS).rows())
    layout = find_layout(native.columns, import_ids=import_ids, **roles)
    certain = roles.get("questions") is not None
    chosen, unread = _of_one_kind(layout.questions, certain=certain, sets=sets)
    source = _Source(frame=native[skipped:], first=skipped, intake=intake, known=known)
    table, rows, dropped = _responses(source, layout, chosen, rejected=rejected, sets=sets)
    labels = of_one_type({name: labels_of(table, name, chosen[name]) for name in chosen})
    filled = np.stack([_is_filled(column) for column in labels.values()])
    answered = np.asarray(filled.any(axis=0))
    if not certain:
        _reject_emails(labels, filled)
    ids = _ids(source, table, layout, rows, answered).combine_chunks()
    names = pa.array(np.repeat(np.array(list(labels), object), len(rows)), pa.string())
    others = pa.concat_arrays([ids] * len(labels))
    long = pa.table(
        {
            "task": names if layout.by_worker else others,
            "worker": others if layout.by_worker else names,
            "label": pa.concat_arrays([column.combine_chunks() for column in labels.values()]),
        }
    )
    places = np.arange(filled.size).reshape(filled.shape)
    by_task = (places if layout.by_worker else places.T).ravel()
    order = by_task[filled.ravel()[by_task]]
    return LongRows(
        table=long.take(order),
        rows=np.tile(rows, len(labels))[order],
        layout=layout,
        questions=chosen,
        unread=unread,
        empty=int((~filled).sum()),
        lone=possible_options(labels, filled, chosen) if layout.by_worker and not sets else (),
        dropped=dropped,
    )


def answer_rows(
    frame: Any, domain: Domain, *, skip: bool, missing: Iterable[str], **choice: Any
) -> pa.Table:
    """Return the table of `long_rows`; labels are in the domain, or skipped later.

    Warns of changed values, and of responses and questions that were not read.
    """
    intake = Intake(missing)
    found = long_rows(frame, intake=intake, known=getattr(domain, "labels", ()), **choice)
    reject_sets(found)
    column = found.table["label"]
    inside = np.ones(len(column), bool) if skip else domain.encode(column)[1]
    if not inside.all():
        place = int(np.argmin(inside))
        row, name, value = found.rows[place], found.column_at(place), column[place].as_py()
        raise AnswerError(
            "wide.answer-outside-domain", row=row, name=name, value=value, domain=domain.describe()
        )
    intake.warn()
    reasons = "; ".join(f"{what}: {count:,}" for what, count in found.dropped.items() if count)
    if reasons:
        warnings.warn(DroppedRowsWarning("wide.rows-dropped", reasons=reasons), stacklevel=3)
    warn_uncertain(found)
    return found.table


def reject_sets(found: LongRows) -> None:
    """Raise AnswerError if labels are lists because options have columns."""
    for name, options in found.questions.items():
        if options is not None:
            listed = ",".join(f'"{one}"' if "," in one else one for one in options)
            raise AnswerError("wide.several-options", name=name, options=listed)


def warn_uncertain(found: LongRows) -> None:
    """Warn of questions that were not chosen by the caller and not read, and of likely options."""
    if found.unread:
        names = ", ".join(map(repr, found.unread))
        warnings.warn(DroppedRowsWarning("wide.questions-unread", names=names), stacklevel=4)
    if found.lone:
        names = ", ".join(map(repr, found.lone))
        warnings.warn(QuietcrowdWarning("wide.questions-of-one-answer", names=names), stacklevel=4)
    labels = found.table["label"]
    if not (found.layout.by_worker and pa.types.is_string(plain_type(labels.type))):
        return
    if names := _all_different(found.table):
        warnings.warn(QuietcrowdWarning("wide.answers-all-different", names=names), stacklevel=4)
    unseen = pc.sum(pc.equal(labels, _UNANSWERED)).as_py()
    if found.layout.survey is QUALTRICS and unseen:
        warnings.warn(
            QuietcrowdWarning("wide.unanswered-code", code=_UNANSWERED, count=unseen), stacklevel=4
        )


def _all_different(table: pa.Table) -> str:
    """Return questions with words as answers, none of them twice."""
    words = table.filter(pc.match_substring_regex(table["label"], r"\pL"))
    counted = words.group_by("task", use_threads=False).aggregate(
        [("label", "count"), ("label", "count_distinct")]
    )
    columns = (column.to_pylist() for column in counted.columns)
    return ", ".join(
        repr(task) for task, count, distinct in zip(*columns, strict=True) if count == distinct >= 4
    )


def _of_one_kind(questions: Questions, *, certain: bool, sets: bool) -> tuple[Questions, Questions]:
    """Return the questions to read, and others: either all have columns of options, or none."""
    single = {name: None for name, options in questions.items() if options is None}
    several = {name: options for name, options in questions.items() if options is not None}
    if not single or not several:
        return questions, {}
    if certain:
        names = (", ".join(map(repr, some)) for some in (several, single))
        raise AnswerError("wide.questions-of-two-kinds", several=next(names), single=next(names))
    return (several, single) if sets else (single, several)


@frozen(kw_only=True, eq=False)
class _Source:
    """The rows of a wide table below the header, the first row's number, and checks of cells."""

    frame: Any
    first: int
    intake: Intake | None
    known: Iterable[Any]

    def column(self, name: str) -> pa.ChunkedArray:
        return column_of(self.frame, name)

    def ids(self, name: str) -> pa.ChunkedArray:
        column = self.column(name)
        return column if self.intake is None else self.intake.names(column, name)

    def answers(self, name: str) -> pa.ChunkedArray:
        column = self.column(name)
        if self.intake is None:
            return column
        return decoded(self.intake.encoded(column, name, self.known, first=self.first))


def _responses(
    source: _Source, layout: Layout, questions: Questions, *, rejected: bool, sets: bool
) -> tuple[pa.Table, npt.NDArray[np.intp], Mapping[str, int]]:
    """Return the responses in order of time, their rows, and how many were dropped by reason."""
    survey, names = layout.survey, source.frame.columns
    rules = [
        (name, cells, reason)
        for pattern, cells, reason in (survey.rejected if survey and not rejected else ())
        for name in names
        if matches(pattern, name)
    ]
    times = [name for name in names if survey and survey.time and matches(survey.time, name)]
    columns = {name: source.column(name) for name in (*(rule[0] for rule in rules), *times[:1])}
    for name, options in questions.items():
        if options is not None:
            columns |= {column: source.column(column) for column in options.values()}
        else:
            columns[name] = source.column(name) if sets else source.answers(name)
    if layout.id is not None:
        columns[layout.id] = source.ids(layout.id)
    table, dropped = pa.table(columns), {}
    rows = np.arange(len(table)) + source.first
    for name, cells, reason in rules:
        found = pc.match_substring_regex(table[name].cast(pa.string()), f"^(?:{cells})$")
        good = pc.invert(pc.fill_null(found, False))
        dropped[reason] = len(table) - pc.sum(good).as_py() if len(table) else 0
        table, rows = table.filter(good), rows[good.to_numpy()]
    if layout.id is not None and times and len(table[layout.id].unique()) < len(table):
        sent = times_to_compare(table[times[0]].to_pylist())
        order = np.arange(len(table)) if sent is None else np.argsort(sent, kind="stable")
        table, rows = table.take(order), rows[order]
    return table, rows, dropped


def _ids(
    source: _Source,
    table: pa.Table,
    layout: Layout,
    rows: npt.NDArray[np.intp],
    answered: npt.NDArray[np.bool_],
) -> pa.ChunkedArray:
    """Return the ids of all rows; those with answers must have one."""
    if layout.id is None:
        return pa.chunked_array([pa.array(map(str, rows + 1), pa.string())])
    column = table[layout.id]
    lacking = answered & ~_is_filled(column)
    if lacking.any():
        row = int(rows[int(np.argmax(lacking))])
        mark = mark_note(source.column(layout.id), row - source.first)
        raise AnswerError("answers.id-missing", row=row, name=layout.id, mark=mark)
    held = column.filter(pa.array(answered))
    check_ids(held, layout.id)
    if source.intake is not None:
        source.intake.ids(held, layout.id, first=source.first)
    return column


def _reject_emails(labels: Columns, filled: npt.NDArray[np.bool_]) -> None:
    """Raise AnswerError if most cells of a column are addresses, which are not answers."""
    for (name, column), answered in zip(labels.items(), filled, strict=True):
        if pa.types.is_string(plain_type(column.type)):
            count = pc.sum(pc.match_substring_regex(column, _EMAIL)).as_py() or 0
            if 2 * count > answered.sum():
                raise AnswerError("wide.emails-as-answers", name=name)


def _is_filled(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    filled = column.is_valid()
    if pa.types.is_string(plain_type(column.type)):
        filled = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(column), ""), False)
    return np.asarray(filled)
