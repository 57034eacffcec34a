"""LimeSurvey responses as CSV: a row per respondent, a column per question.

A worker is the token or the response's number, and a task is a question. Subquestions
``G1Q2[SQ001]`` form the field ``G1Q2``. In an array each is a task. In a multiple-choice question
the labels are the ticked subquestions, and the field is the task. The text of a tick depends on the
language and the options of the export. Other questions form the field ``questions``. Headings may
be codes, texts or both: ``G1Q2[SQ001]``, ``Which pets? [Cat]`` or
``G1Q2[SQ001]. Which pets? [Cat]``.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.exceptions import QuietcrowdWarning
from quietcrowd.formats import csv
from quietcrowd.formats.columns import Choice, answers_table, choose_field, warn_left_out

NAME = "LimeSurvey responses"

SINGLE = "questions"
"""The field of all questions without subquestions."""

_ID, _SUBMITTED = ("id", "Response ID"), ("submitdate", "Date submitted")
_PAGE, _LANGUAGE = ("lastpage", "Last page"), ("startlanguage", "Start language")
_TOKEN = ("token", "Access code", "Token")
_OTHERS = frozenset(
    (
        *_ID,
        *_SUBMITTED,
        *_PAGE,
        *_LANGUAGE,
        *_TOKEN,
        *("seed", "Seed", "startdate", "Date started", "datestamp", "Date last action"),
        *("ipaddr", "IP address", "refurl", "Referrer URL", "completed", "firstname", "lastname"),
        *("email", "interviewtime", "Total time"),
    )
)
"""Columns that are not questions; columns of times are excluded separately."""

_TIMES = ("Question time", "Group time")

_TICKED, _UNTICKED, _NOT_ASKED = ("Y", "Yes"), ("N", "No"), ("", "N/A")

Columns: TypeAlias = dict[str, str]
"""The file's columns, by heading, question or subquestion."""

Cells: TypeAlias = Mapping[str, pa.Array]
"""Cells by question or subquestion."""


def read(path: Path, choice: Choice) -> pa.Table:
    """Return one answer per response and question of the field, or a set of labels per response.

    Responses that were not submitted, and texts of respondents next to options, are dropped with a
    warning. Empty answers are dropped.
    """
    names = csv.names(path)
    both = any(name.startswith(f"{_SUBMITTED[0]}. ") for name in names)  # a code before the text
    headings = {name.partition(". ")[0] if both else name: name for name in names}
    fields = _fields(headings)
    field = choose_field(path, list(fields), choice.field)
    who, date = (
        next(headings[name] for name in known if name in headings)
        for known in ((*_TOKEN, *_ID), _SUBMITTED)
    )
    table = csv.read(path, (who, date, *fields[field].values()))
    responses = table.filter(_filled(table[date]))
    cells = {name: responses[column].combine_chunks() for name, column in fields[field].items()}
    options = {name: cells[name] for name in cells if not _is_text(field, name, ticks=True)}
    ticked = _ticked(options, sets=choice.sets) if field != SINGLE and options else ()
    ticks = bool(ticked)
    answers = {name: cells[name] for name in cells if not _is_text(field, name, ticks=ticks)}
    counts = {
        f"texts in {fields[field][name]!r}": pc.sum(_filled(cells[name])).as_py() or 0
        for name in cells
        if name not in answers
    }
    warn_left_out(path, {"responses not submitted": len(table) - len(responses), **counts})
    if ticks:
        answers = {field: _sets(path, field, answers, ticked)}
    workers, times = responses[who].to_pylist(), responses[date].to_pylist()
    rows = [
        (task, worker, label, time)
        for task, labels in answers.items()
        for worker, label, time in zip(workers, labels.to_pylist(), times, strict=True)
    ]
    answered = [row for row in rows if ticks or row[2]]
    return answers_table(answered, several=ticks, unanswered=len(rows) - len(answered))


def _filled(column: Any) -> Any:
    return pc.fill_null(pc.not_equal(column, ""), False)


def _fields(headings: Columns) -> dict[str, Columns]:
    """Return the columns of each field, by question or subquestion."""
    fields: dict[str, Columns] = {}
    for heading, column in headings.items():
        if heading in _OTHERS or heading.endswith("Time") or heading.startswith(_TIMES):
            continue
        field, name = _parts(heading)
        if not name or (field in headings and name.lower() in ("other", "comment")):
            field, name = SINGLE, heading
        fields.setdefault(field, {})[name] = column
    return {
        field: columns
        for field, columns in fields.items()
        if not all(_is_text(field, name, ticks=False) for name in columns)
    }


def _parts(heading: str) -> tuple[str, str]:
    """Divide ``Q1[SQ001]`` or ``Which pets? [Cat]`` into question and subquestion."""
    if not heading.endswith("]"):
        return heading, ""
    code, bracket, rest = heading.partition("[")
    if not re.fullmatch(r"\w+", code):
        code, bracket, rest = heading.rpartition(" [")
    return (code.strip(), rest.removesuffix("]")) if bracket else (heading, "")


def _is_text(field: str, name: str, *, ticks: bool) -> bool:
    """Return whether the cells of a question or subquestion are texts next to options.

    If headings are texts, a subquestion "Other" of an array may be one of its tasks.
    """
    if field == SINGLE:
        return name.lower().endswith(("[other]", "[comment]"))
    if name == "other" or re.fullmatch(r"\w+comment", name):
        return True
    return ticks and (name == "Other" or name.endswith("[Comment"))


def _ticked(cells: Cells, *, sets: bool) -> tuple[str, ...]:
    """Return the texts of ticks, without missing answers to single options, or none in an array.

    Any text is a tick if it is the only one and a response has it for some of the options. If
    `sets`, some cells must be empty, but not in the same response.
    """
    found = {cell for column in cells.values() for cell in pc.unique(column).to_pylist()}
    found -= {None, *_NOT_ASKED}
    blank = _matches(cells, _NOT_ASKED)
    partly = bool((blank.all(axis=1) != blank.any(axis=1)).any())
    if not found:
        return ()
    if len(found) == 1 and not found <= {*_UNTICKED}:
        certain = partly or (sets and bool(blank.any())) or found <= {*_TICKED}
        return tuple(found) if certain else ()
    pairs = zip(_TICKED, _UNTICKED, strict=True)
    return _TICKED if not partly and any(found <= set(pair) for pair in pairs) else ()


def _sets(path: Path, field: str, cells: Cells, texts: Sequence[str]) -> pa.Array:
    """Return the ticked options of each response, or None if the question was not asked."""
    ticked = _matches(cells, texts)
    blank = [bool(row.all()) for row in _matches(cells, _NOT_ASKED)]
    marked = _matches(cells, (*_UNTICKED, "N/A")).any()  # otherwise empty means not ticked, too
    if any(blank) and not marked:
        warnings.warn(
            QuietcrowdWarning("formats.nothing-ticked", path=path, field=field, count=sum(blank)),
            stacklevel=3,
        )
    names = np.array(list(cells), object)
    rows = zip(ticked, blank, strict=True)
    sets = [None if marked and skipped else names[row].tolist() for row, skipped in rows]
    return pa.array(sets, pa.list_(pa.string()))


def _matches(cells: Cells, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return a matrix of rows and columns, true if the cell is one of the texts."""
    columns = [pc.is_in(pc.fill_null(column, ""), pa.array(texts)) for column in cells.values()]
    return np.column_stack([column.to_numpy(zero_copy_only=False) for column in columns])
