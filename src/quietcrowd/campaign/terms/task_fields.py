"""What of a task workers are shown, where a file has the columns of another service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quietcrowd.exceptions import FormatError

__all__ = ["sort_fields"]

_SHOWN = ("input:", "input.")
_KNOWN = "golden:"
_TASK_IDS = ("assignment:task_id", "hitid")
"""What names a task of Toloka or MTurk."""

_OF_OTHERS = ("output:", "hint:", "assignment:", "answer.")
_OF_MTURK = frozenset({"hitid", "workerid", "assignmentid"})
_WORKERS = frozenset({"worker", "worker_id", "workerid", "performer", "annotator"})
_LABELS = frozenset({"label", "answer"})
_ANNOTATIONS = frozenset({"annotations", "annotation_id", "completed_by", "drafts", "predictions"})
"""What Label Studio calls answers, in its JSON, JSON_MIN and CSV."""


def sort_fields(
    number: int, name: Any, fields: Mapping[str, Any], gold: Any
) -> tuple[Any, Mapping[str, Any], Any]:
    """Return the name of a task, what workers are shown of it, and its known truth.

    Of a task with columns of Toloka or MTurk workers are shown those that begin with ``INPUT:`` or
    ``Input.`` alone, and ``GOLDEN:`` is the known truth. All fields of any other task are shown.

    Parameters
    ----------
    number : int
        Of the row, for messages.
    name, gold : any
        As far as the file says them in columns of ours; None where it does not.
    fields : mapping
        All that the file says beside these.

    Raises
    ------
    FormatError
        Where the task comes with answers of workers, or says something that is not to be shown.
    """
    spelled = {field.strip().lower(): field for field in fields}
    told = {low for low, field in spelled.items() if fields[field] not in (None, "", [])}
    labelled = "label" in told and isinstance(fields[spelled["label"]], list)  # by doccano
    if told & _ANNOTATIONS or labelled or (told & _WORKERS and told & _LABELS):
        raise _refused(number)
    if not any(_is_of_a_service(low) for low in spelled):
        return name, fields, gold
    if len(spelled) < len(fields):
        raise FormatError(f"row {number}: columns must differ in more than upper and lower case")
    shown = {low for low in spelled if low.startswith(_SHOWN)}
    named = [low for low in _TASK_IDS if low in told]
    known = [low for low in told if low.startswith(_KNOWN)]
    if told - shown - {*named, *known}:
        raise _refused(number)
    if not shown or len(known) + (gold is not None) > 1:
        raise FormatError(f"row {number}: it must have INPUT: or Input. columns, and one gold")
    if name is None and named:
        name = fields[spelled[named[0]]]
    return (
        name,
        {spelled[low].strip()[len("input:") :]: fields[spelled[low]] for low in shown},
        fields[spelled[known[0]]] if known else gold,
    )


def _is_of_a_service(field: str) -> bool:
    return field in _OF_MTURK or field.startswith((*_SHOWN, _KNOWN, *_OF_OTHERS))


def _refused(number: int) -> FormatError:
    return FormatError(
        f"row {number}: workers would see hints, or answers and ids of other workers: take out "
        "such columns, or rename them (of Toloka leave INPUT: and GOLDEN:, of MTurk HITId and "
        "Input.)"
    )
