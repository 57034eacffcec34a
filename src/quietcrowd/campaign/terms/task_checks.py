"""Detection of a file of answers given as a file of tasks, which would show answers to workers.

Columns of answers may have any names. Each of these signs is enough:

* a column has a name for workers,
* two rows have the same id, as two answers to one task have,
* a column contains only possible answers,
* two columns with few values each identify every row together, as task and worker do, and a third
  column depends on neither of them.

For a file of tasks with such columns, the requester must name the fields that workers see.
"""

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from quietcrowd.campaign.terms.options import COLUMN
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.task_columns import GOLD, is_known_truth, reveals_workers
from quietcrowd.campaign.terms.tasks import TaskRow
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import FormatError
from quietcrowd.frames import ALIASES

_WORKER = re.compile(
    r"(crowd)?(worker|annotator|rater|performer|labell?er|turker|coder|respondent|participant"
    r"|assessor)s?(id|name|number|nr|no)?|completedby|"
    + "|".join(name.lower() for name in ALIASES["worker"])
)
"""Names of a column of workers, reduced to letters."""

_COLUMNS = 10  # most columns with repeated values to compare in pairs
_LEAST_ROWS = 4  # two tasks and two workers

_Columns = Mapping[str, Sequence[Hashable]]
"""Values of all rows by column name; None for a missing value."""


def check_no_answers(domain: Domain, rows: Sequence[TaskRow], *, quoting: bool = False) -> None:
    """Raise `FormatError`, naming a row and a column, if a file of tasks looks like one of answers.

    Unless `quoting`, a column is given by its position; quote only on the requester's machine.
    """
    plain = [row for row in rows if not row.set_apart]
    shown = [_without_options(json.loads(row.data)) for row in plain]
    _check_names(plain, shown)
    _check_ids(rows)
    columns = _columns(shown)
    first = plain[0].row if plain else 0
    for place, name in enumerate(columns, start=1):
        if _holds_answers(domain, name, columns):
            which = repr(one_line(name)) if quoting else f"{place} of those that workers see"
            raise _like_answers(f"row {first}: column {which} contains only possible answers")
    if len(plain) >= _LEAST_ROWS and _has_crossed_columns(columns):
        raise _like_answers(
            f"row {first}: no column is unique in every row, but two columns together are, like "
            "those of task and worker"
        )


def answer_columns(domain: Domain, columns: Mapping[str, Sequence[Any]]) -> set[str]:
    """Return the columns of a file that look like answers, or like names of workers."""
    plain = {name: list(map(_hashable, values)) for name, values in columns.items()}
    kept = {name: values for name, values in plain.items() if not _is_reserved(name)}
    return {
        *reveals_workers(columns),
        *(name for name in kept if _WORKER.fullmatch(_letters(name))),
        *(name for name in kept if _holds_answers(domain, name, kept)),
    }


def _is_reserved(name: str) -> bool:
    return name == GOLD or is_known_truth(name)


def _letters(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())


def _without_options(data: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in data.items() if (name, type(value)) != (COLUMN, list)}


def _like_answers(sign: str) -> FormatError:
    return FormatError("campaign.columns-like-answers", sign=sign)


def _check_names(rows: Sequence[TaskRow], shown: Sequence[Mapping[str, Any]]) -> None:
    for row, fields in zip(rows, shown, strict=True):
        for name, value in fields.items():
            letters = _letters(name)
            if value not in (None, "", []) and _WORKER.fullmatch(letters):
                raise _like_answers(f"row {row.row}: its column {letters} identifies workers")


def _check_ids(rows: Sequence[TaskRow]) -> None:
    seen: dict[str, TaskRow] = {}
    for row in rows:
        if row.name is None:
            continue
        other = seen.setdefault(row.name, row)
        if other is row:
            continue
        place = f"rows {other.row} and {row.row} have the same id"
        if other.data == row.data or row.set_apart:
            raise FormatError("campaign.task-ids-needed", place=place)
        raise _like_answers(f"{place}, but other values differ")


def _columns(shown: Sequence[Mapping[str, Any]]) -> dict[str, list[Hashable]]:
    names = dict.fromkeys(name for fields in shown for name in fields)
    return {name: [_hashable(fields.get(name)) for fields in shown] for name in names}


def _hashable(value: Any) -> Hashable:
    if value in ("", []):
        return None
    return value if isinstance(value, str | int | float | None) else json.dumps(value)


def _holds_answers(domain: Domain, name: str, columns: _Columns) -> bool:
    """Return whether a column has only answers; numbers, only if they differ in a group."""
    filled = [value for value in columns[name] if value is not None]
    if len(filled) < 2 or not _are_answers(domain, set(filled)):
        return False
    if isinstance(domain, FiniteDomain) and isinstance(domain.labels[0], str):
        return True
    return any(
        other != name and not _follows(columns[other], columns[name])
        for other in _repeating(columns)
    )


def _are_answers(domain: Domain, values: Iterable[Hashable]) -> bool:
    if isinstance(domain, FiniteDomain):
        spelled = {str(label).casefold() for label in domain.labels}
        return all(
            domain.code(value) is not None or str(value).strip().casefold() in spelled
            for value in values
        )
    try:
        numbers = [float(value) for value in values]  # type: ignore[arg-type]
    except (OverflowError, TypeError, ValueError):
        return False
    return all(domain.low <= number <= domain.high for number in numbers)  # type: ignore[attr-defined]


def _repeating(columns: _Columns) -> list[str]:
    """Return the first columns in which a value occurs at least twice on average."""
    found = [name for name, values in columns.items() if 1 < len(set(values)) <= len(values) / 2]
    return found[:_COLUMNS]


def _follows(known: Sequence[Hashable], values: Sequence[Hashable]) -> bool:
    return len(set(zip(known, values, strict=True))) == len(set(known))


def _has_crossed_columns(columns: _Columns) -> bool:
    """Detect the fourth sign; see the module's docstring."""
    count = len(next(iter(columns.values()), ()))
    if any(len(set(values)) == count for values in columns.values()):
        return False
    return any(
        len(set(zip(columns[one], columns[two], strict=True))) == count
        and any(_free_of(columns, one, two))
        for one, two in combinations(_repeating(columns), 2)
    )


def _free_of(columns: _Columns, one: str, two: str) -> Iterator[bool]:
    for name in _repeating(columns):
        if name not in (one, two):
            values = columns[name]
            yield not (_follows(columns[one], values) or _follows(columns[two], values))
