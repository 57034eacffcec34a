"""Suggestions of the columns of tasks, workers and labels in tables with other names."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.answer_errors import plain_type

_ID = r"(_?(id|no|nr|number|name|key|index|code|uuid|hash)s?)?"
_ROLES = {
    "worker": r"(crowd)?(worker|annotator|user|rater|coder|judge|labell?er|participant|respondent"
    r"|contributor|reviewer|person|assessor|evaluator|performer|subject|turker|volunteer|expert"
    r"|prolific_p|e_?mail|who)" + _ID,
    "label": r"(given_|worker_|user_)?(label|answer|rating|response|category|class|choice"
    r"|judge?ment|annotation|vote|score|value|decision|verdict|tag|sentiment|says|said)s?",
    "task": r"(task|item|question|unit|example|sample|document|doc|text|sentence|image|img|photo"
    r"|picture|video|file|url|record|object|stimulus|stim|case|instance|tweet|post|comment|query"
    r"|product|page|article|claim|pair|row|idx)" + _ID + "|id",
}
"""Patterns of names in lower case with underscores."""

_ORDER = ("task", "worker", "label")

_PEOPLE = rf"({_ROLES['worker']}|[a-z]*(annotator|rater|coder|judge|worker)s?)_?([0-9]+|[a-z])"
"""Pattern of the columns of workers, such as "rater_2" or "coder_a"."""

_SUMMARY = (
    r"(gold|true|truth|majority|consensus|final)(_(label|vote|answer)s?)?|(label|answer)_truth"
    r"|agreement|kappa|([a-z0-9]+_)*(counts?|time|duration|seconds)"
)
"""Pattern of the columns of truths, counts and times, which are not answers."""

Columns: TypeAlias = tuple[str, str, str]
"""Columns of task, worker and label."""


class Wide(NamedTuple):
    """A reading of a wide table: the column of tasks or workers, and columns without answers."""

    by_task: bool
    ids: str
    ignored: list[str]


_TIME = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}[ T,]+\d{1,2}:\d{2}")

_SEPARATORS = ("|", ";", ",")


def columns_by_name(table: pa.Table) -> Columns | None:
    """Return the columns that may be task, worker and label by their names, or None.

    Examples
    --------
    >>> columns_by_name(pa.table({"Rating": [4], "annotator_id": ["a"], "sentence": ["x"]}))
    ('sentence', 'annotator_id', 'Rating')
    """
    task, worker, label = (_first(table.column_names, role) for role in _ORDER)
    if task is None or worker is None or label is None:
        return None
    return task, worker, label


def columns_by_values(table: pa.Table) -> Columns | None:
    """Return the three columns of a table in the most likely order, or None.

    Names have precedence. The label has the fewest values, and the task has the most.

    Examples
    --------
    >>> columns_by_values(pa.table({"a": ["u", "v"], "b": ["yes", "yes"], "rater": ["x", "x"]}))
    ('a', 'rater', 'b')
    """
    names = [name for name in table.column_names if not _are_times(table[name])]
    if len(names) != len(_ROLES):
        return None
    found = {role: _first(names, role) for role in _ORDER}
    rest = [name for name in names if name not in found.values()]
    lacking = [role for role in ("label", "worker", "task") if found[role] is None]
    if len(rest) != len(lacking):
        return None
    last_first = rest[::-1]
    last_first.sort(key=lambda name: _distinct(table[name]))
    found |= dict(zip(lacking, last_first, strict=True))
    task, worker, label = (str(found[role]) for role in _ORDER)
    return task, worker, label


def likely_wide(table: pa.Table) -> list[Wide]:
    """Return one reading of a wide table if names show it, or two possible ones, or none.

    Ids differ in each row, and at least two other columns share values. Columns that share none
    are ignored.
    """
    names = [name for name in table.column_names if name.strip()]
    no_answers = [name for name in names if _are_times(table[name])] + summaries(names)
    names = [name for name in names if name not in no_answers]
    ids = _first(names, "worker") or _first(names, "task") or (names[0] if names else "")
    others = [name for name in names if name != ids]
    shared = [name for name in others if _is_person(name) or _shares_values(table, name, others)]
    if len(shared) < 2 or _distinct(table[ids]) < len(table):
        return []
    ignored = [*no_answers, *(name for name in others if name not in shared)]
    people = all(map(_is_person, shared))
    by_worker = is_like(ids, "worker") and not people
    if by_worker or people or is_like(ids, "task"):
        return [Wide(by_task=not by_worker, ids=ids, ignored=ignored)]
    return [Wide(by_task=by_task, ids=ids, ignored=ignored) for by_task in (False, True)]


def summaries(names: Sequence[str]) -> list[str]:
    """Return the columns that have truths, counts or times by their names."""
    return [name for name in names if re.fullmatch(_SUMMARY, _snake(name))]


def is_usual_name(name: str) -> bool:
    """Return whether a text is a usual name of a column of tasks, workers or labels."""
    return any(is_like(name.strip(), role) for role in _ORDER)


def _first(names: Sequence[str], role: str) -> str | None:
    return next((name for name in names if is_like(name, role)), None)


def _is_person(name: str) -> bool:
    return re.fullmatch(_PEOPLE, _snake(name)) is not None


def is_like(name: str, role: str) -> bool:
    """Return whether a name is usual for a column of this role: task, worker or label."""
    return re.fullmatch(_ROLES[role], _snake(name)) is not None


def _snake(name: str) -> str:
    """Return a name like "workerId" or "Worker ID" as "worker_id"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


def _are_times(column: pa.ChunkedArray) -> bool:
    """Return whether all values are dates with times of a day."""
    values = _values(column)
    return bool(values) and all(map(_TIME.match, values))


def _distinct(column: pa.ChunkedArray) -> int:
    return len(_values(column))


def _values(column: pa.ChunkedArray) -> set[str]:
    if pa.types.is_nested(column.type):
        return set()
    text = column if pa.types.is_string(plain_type(column.type)) else column.cast(pa.string())
    return {value for value in pc.unique(text).to_pylist() if value not in (None, "")}


def _shares_values(table: pa.Table, name: str, others: Sequence[str]) -> bool:
    values = _values(table[name])
    return any(values & _values(table[other]) for other in others if other != name)


def separator_of(labels: Sequence[str]) -> str | None:
    """Return the text that separates several labels of one answer, or None.

    Each part of a label with several parts is also a part of another label.

    Examples
    --------
    >>> separator_of(["cat|dog", "dog", "cat"]), separator_of(["yes", "no, never"])
    ('|', None)
    """
    for separator in _SEPARATORS:
        parts = [[part.strip() for part in label.split(separator)] for label in labels]
        counts = Counter(part for one in parts for part in dict.fromkeys(one))
        several = [part for one in parts if len(one) > 1 for part in one]
        if separator == "," and all(map(str.isdecimal, several)):
            continue  # numbers with a decimal comma
        if several and all(part and counts[part] > 1 for part in several):
            return separator
    return None


def labels_in(texts: Sequence[str], separator: str) -> list[str]:
    """Return the separate labels in texts, sorted.

    A text is one label if its parts only occur together.

    Examples
    --------
    >>> labels_in(["cat", "dog, big", "cat,dog, big"], ",")
    ['cat', 'dog, big']
    """
    rows = [[part.strip() for part in text.split(separator)] for text in texts]
    found = set()
    for text, parts in zip(texts, rows, strict=True):
        others = [row for row in rows if not {*parts}.isdisjoint(row)]
        together = all(
            any(row[start : start + len(parts)] == parts for start in range(len(row)))
            for row in others
        )
        found.update([text.strip()] if together else parts)
    whole = {part for text in found if separator in text for part in text.split(separator)}
    return sorted(found - {part.strip() for part in whole})
