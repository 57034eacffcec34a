"""LimeSurvey responses as CSV: a row per respondent, a column per question.

A worker is the token or the response's number. A task is the code of a question. Questions of an
array, ``G1Q2[SQ001]``, are the tasks of the field ``G1Q2``; other questions form the field
``questions``.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.formats import csv
from quietcrowd.formats.columns import Choice, choose_field, reject_truths, warn_left_out

NAME = "LimeSurvey responses"

SINGLE = "questions"
"""The field of all questions outside arrays."""

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


def read(path: Path, wanted: tuple[str, ...], choice: Choice) -> pa.Table:
    """Return one answer per response and question of the field.

    Responses that were not submitted are dropped with a warning; empty answers are dropped.
    """
    reject_truths(path, wanted, NAME)
    names = csv.names(path)
    groups = _questions(names)
    field = choose_field(path, list(groups), choice.field)
    questions = groups[field]
    who = next(name for either in (_TOKEN, _ID) for name in either if name in names)
    date = next(name for name in _SUBMITTED if name in names)
    table = csv.read(path, (who, date, *questions))
    submitted = _filled(table[date])
    warn_left_out(path, {"responses not submitted": len(table) - (pc.sum(submitted).as_py() or 0)})
    table = table.filter(submitted)
    columns = [table[question].combine_chunks() for question in questions]
    tasks = [_task(name) for name in questions for _ in range(len(table))]
    rows = pa.table(
        {
            "task": pa.array(tasks, pa.string()),
            "worker": pa.concat_arrays([table[who].combine_chunks()] * len(questions)),
            "label": pa.concat_arrays(columns),
        }
    )
    return rows.filter(_filled(rows["label"]))


def _filled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(pc.not_equal(column, ""), False)


def _questions(names: Sequence[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in names:
        if name in _OTHERS or name.endswith("Time") or name.endswith("[other]"):
            continue
        array, bracket, _ = name.partition("[")
        groups.setdefault(array if bracket else SINGLE, []).append(name)
    return groups


def _task(name: str) -> str:
    """Return the code of a question, for an array the part in brackets."""
    return name.partition("[")[2].removesuffix("]") if "[" in name else name
