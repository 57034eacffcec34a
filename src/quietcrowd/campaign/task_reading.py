"""Contents of a file of tasks, shown to the requester before the tasks are added."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

from attrs import evolve

from quietcrowd.campaign.task_files import TaskUpload
from quietcrowd.campaign.terms.advice import to_requester
from quietcrowd.campaign.terms.options import (
    counts_in,
    domain_of_options,
    have_options,
    with_options,
)
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.task_checks import answer_columns, check_no_answers
from quietcrowd.campaign.terms.task_columns import GOLD, TaskColumns, is_known_truth
from quietcrowd.campaign.terms.tasks import TaskRow
from quietcrowd.domains import Categorical, Domain, Interval, Ordinal
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.formats.likely_columns import is_like

Kind: TypeAlias = Literal["shown", "task", "gold", "image", "left out"]

_EXAMPLES, _LONGEST = 3, 100
_MOST_LABELS, _MOST_LEVELS = 20, 11


class Column(TypedDict):
    """A column, its use, and its first values."""

    name: str
    kind: Kind
    looks_like_answers: bool
    examples: list[str]


class Reading(TypedDict):
    """A file of tasks, as it would be added; `first` are its first tasks."""

    format: str
    columns: list[Column]
    tasks: int
    first: list[dict[str, Any]]
    domain: dict[str, Any] | None
    option_counts: list[int] | None
    notes: list[str]


def describe(upload: TaskUpload, columns: TaskColumns, domain: Domain) -> Reading:
    """Describe a file for a campaign with these possible answers.

    Unless `columns` selects what workers see, columns that look like answers are left out. Errors
    that another selection may avoid become notes.
    """
    proposed = propose_domain(upload)
    flagged = answer_columns(proposed or domain, upload.columns)
    notes = list(upload.notes)
    if flagged and columns.shown is None:
        columns = evolve(columns, shown=tuple(_without(upload, flagged)))
        notes.append(
            f"These columns look like answers or ids of workers, and are left out: "
            f"{_listed(flagged)}. Select a column to show it to workers."
        )
    rows: list[TaskRow] = []
    counts: list[int] | None = None
    try:
        rows = upload.rows(columns)
        if have_options(rows):
            proposed = domain_of_options(rows)
            rows = with_options(rows, proposed)
            counts = counts_in(rows)
        check_no_answers(proposed or domain, rows)
        notes += _about_names(rows)
    except (FormatError, ParameterError) as error:
        rows = []
        sentence = to_requester(error)
        notes.append(f"{sentence[:1].upper()}{sentence[1:].rstrip('.')}.")
    shown = {name for row in rows for name in json.loads(row.data)}
    return {
        "format": upload.title,
        "columns": [
            {
                "name": name,
                "kind": _kind(name, rows, shown),
                "looks_like_answers": name in flagged,
                "examples": _examples(values),
            }
            for name, values in upload.columns.items()
        ],
        "tasks": len(upload.records),
        "first": [
            {"task": row.name or str(place), "data": json.loads(row.data), "gold": row.known_truth}
            for place, row in enumerate(rows[:_EXAMPLES], start=1)
        ],
        "domain": None if proposed is None else proposed.to_dict(),
        "option_counts": counts,
        "notes": notes,
    }


def _without(upload: TaskUpload, flagged: set[str]) -> list[str]:
    return [name for name in upload.columns if name not in flagged and name != GOLD]


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(one_line(name)[:_LONGEST] for name in names))


def _about_names(rows: Sequence[TaskRow]) -> list[str]:
    names = [row.name for row in rows if row.name is not None]
    found = []
    if len(names) < len(rows):
        found.append(f"{len(rows) - len(names):,} without a name are numbered.")
    if len(set(names)) < len(names):
        found.append("Several tasks have the same name. Give each its own, or remove the others.")
    return found


def _kind(name: str, rows: Sequence[TaskRow], shown: set[str]) -> Kind:
    if any(row.named_by == name for row in rows[:1]):
        return "task"
    if name == GOLD or is_known_truth(name):
        return "gold"
    if name not in shown and name.partition(":")[2] not in shown:
        return "left out"
    return "image" if name == "image" else "shown"


def _examples(values: Sequence[Any]) -> list[str]:
    filled = (one for one in values if one is not None)
    texts = dict.fromkeys(one if isinstance(one, str) else json.dumps(one) for one in filled)
    return [text[:_LONGEST] for text in list(texts)[:_EXAMPLES]]


def propose_domain(upload: TaskUpload) -> Domain | None:
    """Return the possible answers that known truths, or a column of answers, suggest."""
    known = [values for name, values in upload.columns.items() if name == GOLD]
    known += [values for name, values in upload.columns.items() if is_known_truth(name)]
    by_name = [values for name, values in upload.columns.items() if is_like(name, "label")]
    for values in (*known, *by_name):
        filled = [one for one in values if isinstance(one, str | int | float)]
        found = _domain_of(list(dict.fromkeys(filled)))
        if found is not None:
            return found
    return None


def _domain_of(values: Sequence[Hashable]) -> Domain | None:
    texts = [str(one).strip() for one in values if not isinstance(one, bool)]
    if {text.lower() for text in texts} <= {"yes", "no"} and texts:
        return Categorical(["no", "yes"])
    try:
        numbers = sorted(map(float, texts))
    except ValueError:
        numbers = []
    try:
        if len(numbers) > 1 and len(numbers) == len(values):
            low, high = numbers[0], numbers[-1]
            whole = all(number.is_integer() for number in numbers)
            if whole and high - low < _MOST_LEVELS:
                return Ordinal(range(int(low), int(high) + 1))
            return Interval(low=low, high=high)
        labels = sorted(set(texts))
        return Categorical(labels) if 1 < len(labels) <= _MOST_LABELS else None
    except (AnswerError, ParameterError, OverflowError):
        return None
