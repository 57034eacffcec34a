"""The columns of a task by their meaning: name, shown data, and known truth."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen

from quietcrowd.exceptions import FormatError

_NAMES = ("task", "external_id", "id")
"""Columns that may name a task: the first one present does, the others are data."""

GOLD = "gold"
_OURS = frozenset({*_NAMES, GOLD})
_SHOWN = ("input:", "input.")
_KNOWN = "golden:"
_TASK_IDS = ("assignment:task_id", "hitid")  # task ids of Toloka and MTurk
_OF_OTHERS = ("output:", "hint:", "assignment:", "answer.")
_OF_MTURK = frozenset({"hitid", "workerid", "assignmentid"})
_WORKERS = frozenset({"worker", "worker_id", "workerid", "performer", "annotator"})
_LABELS = frozenset({"label", "answer"})
_ANNOTATIONS = frozenset({"annotations", "annotation_id", "completed_by", "drafts", "predictions"})
"""Names of answers in Label Studio's JSON, JSON_MIN and CSV."""


@frozen(kw_only=True)
class SortedColumns:
    """The columns of one task by their meaning; all except `shown` may be None."""

    name: Any
    named_by: str | None
    shown: Mapping[str, Any]
    known_truth: Any


@frozen(kw_only=True)
class TaskColumns:
    """The requester's choice of the column that names a task, and of those that workers see.

    By default, the first of ``task``, ``external_id`` and ``id`` names it, and all columns are
    shown except that one and ``gold``.
    """

    name: str | None = None
    shown: tuple[str, ...] | None = field(default=None)

    def check_spelling(self, number: int, fields: Iterable[str]) -> None:
        """Raise `FormatError` if a field differs from a reserved name only in case or spaces."""
        exact = set(fields)
        alike = {name.strip().lower() for name in exact if name not in (*_OURS, self.name)}
        unnamed = self.name is None and exact.isdisjoint(_NAMES)
        if GOLD in alike or (unnamed and not alike.isdisjoint(_NAMES)):
            raise FormatError("campaign.column-almost-reserved", number=number)

    def sort(
        self, number: int, fields: Mapping[str, Any], data: Mapping[str, Any] | None = None
    ) -> SortedColumns:
        """Split the columns of a task into name, shown data and known truth.

        Of Toloka and MTurk, only columns that begin with ``INPUT:`` or ``Input.`` are shown, and
        ``GOLDEN:`` is the known truth. Workers' answers and hints raise `FormatError`.
        """
        outer = dict(fields)
        inner = outer if data is None else dict(data)
        named_by, name = self._take_name(number, outer, inner)
        truth = outer.pop(GOLD, None)
        if self.shown is not None:
            inner = {one: inner[one] for one in inner if _is_kept(one, self.shown)}
        return _sort_service(number, named_by, name, inner, truth)

    def _take_name(
        self, number: int, outer: dict[str, Any], inner: dict[str, Any]
    ) -> tuple[str | None, Any]:
        if self.name is None:
            found = next((name for name in _NAMES if name in outer), None)
            return (None, None) if found is None else (found, outer.pop(found))
        for fields in (outer, inner):
            if self.name in fields:
                return self.name, fields.pop(self.name)
        raise FormatError("campaign.task-column-missing", number=number, name=self.name)


def _is_kept(name: str, shown: tuple[str, ...]) -> bool:
    """Return whether a column is shown, or is a service's task id or known truth."""
    low = name.strip().lower()
    asked = low.startswith(_SHOWN) and name.strip()[len(_SHOWN[0]) :] in shown
    return name in shown or asked or low.startswith(_KNOWN) or low in _TASK_IDS


def _sort_service(
    number: int, named_by: str | None, name: Any, fields: Mapping[str, Any], truth: Any
) -> SortedColumns:
    spelled = {name.strip().lower(): name for name in fields}
    filled = {low for low, name in spelled.items() if fields[name] not in (None, "", [])}
    labelled = "label" in filled and isinstance(fields[spelled["label"]], list)  # labels of doccano
    if filled & _ANNOTATIONS or labelled or (filled & _WORKERS and filled & _LABELS):
        raise _rejection(number)
    if not is_of_a_service(fields):
        return SortedColumns(name=name, named_by=named_by, shown=fields, known_truth=truth)
    if len(spelled) < len(fields):
        raise FormatError("campaign.columns-differ-by-case", number=number)
    shown = [low for low in spelled if low.startswith(_SHOWN)]
    named = [low for low in _TASK_IDS if low in filled]
    known = [low for low in filled if low.startswith(_KNOWN)]
    if filled - {*shown, *named, *known}:
        raise _rejection(number)
    if not shown or len(known) + (truth is not None) > 1:
        raise FormatError("campaign.template-columns-invalid", number=number)
    if name is None and named:
        named_by = spelled[named[0]]
        name = fields[named_by]
    return SortedColumns(
        name=name,
        named_by=named_by,
        shown={spelled[low].strip()[len(_SHOWN[0]) :]: fields[spelled[low]] for low in shown},
        known_truth=fields[spelled[known[0]]] if known else truth,
    )


def is_of_a_service(fields: Iterable[str]) -> bool:
    """Return whether a column is one of Toloka or MTurk, whose names define what is shown."""
    return any(
        low in _OF_MTURK or low.startswith((*_SHOWN, _KNOWN, *_OF_OTHERS))
        for low in (name.strip().lower() for name in fields)
    )


def _rejection(number: int) -> FormatError:
    return FormatError("campaign.columns-reveal-workers", number=number)


def is_known_truth(name: str) -> bool:
    """Return whether a column of Toloka holds known truths."""
    return name.strip().lower().startswith(_KNOWN)


def reveals_workers(names: Iterable[str]) -> set[str]:
    """Return the columns with answers, hints, or ids of workers by their names."""
    by_spelling = {name.strip().lower(): name for name in names}
    marked = {low for low in by_spelling if low.startswith(_OF_OTHERS) or low in _ANNOTATIONS}
    marked -= {*_TASK_IDS}
    if by_spelling.keys() & _WORKERS:
        marked |= by_spelling.keys() & (_WORKERS | _LABELS)
    return {by_spelling[low] for low in marked}
