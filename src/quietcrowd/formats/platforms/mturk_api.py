"""Assignments from the API of Amazon Mechanical Turk, in JSON.

A file contains responses of ``ListAssignmentsForHIT`` or ``GetAssignment``, or their assignments,
as a list or in lines. The answers of an assignment are an XML document.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import Choice, id_text
from quietcrowd.formats.jsonl import object_in, objects_in, read_objects
from quietcrowd.formats.platforms.mturk import ANSWER, read_assignments
from quietcrowd.formats.safe_xml import parse_xml

NAME = "assignments of the MTurk API"

_IDS = ("HITId", "WorkerId")
_QUESTION = "QuestionIdentifier"
_TEXT, _SELECTION = "FreeText", ("SelectionIdentifier", "OtherSelectionText")


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the answers to one question; a HIT is a task.

    Rejected assignments are dropped with a warning, unless `choice` includes them.
    """
    found = dict(_assignments(path))
    rows = [
        {
            **{name: id_text(path, place, name, one.get(name)) for name in _IDS},
            **{name: one.get(name) for name in ("AssignmentStatus", "SubmitTime")},
            **_answers(path, place, one.get("Answer")),
        }
        for place, one in found.items()
    ]
    names = dict.fromkeys(name for row in rows for name in row)
    if not any(name.startswith(ANSWER) for name in names):
        raise FormatError("formats.no-answer", path=path)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return read_assignments(path, columns, choice, list(found))


def _assignments(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for place, record in read_objects(path):
        if "Assignments" in record:
            for number, one in enumerate(objects_in(path, place, record, "Assignments")):
                yield f"{place}, assignment {number}", one
        elif "Assignment" in record:
            yield place, object_in(path, place, record, "Assignment")
        else:
            yield place, record


def _answers(path: Path, place: str, document: Any) -> dict[str, Any]:
    """Return the answers by column, as in a batch; a tuple contains selected options."""
    if document is None or document == "":
        return {}
    try:
        root = parse_xml(document)
    except (ValueError, TypeError) as error:
        raise FormatError(
            "formats.assignment-invalid", path=path, place=place, error=error
        ) from None
    answers: dict[str, list[Any]] = {}
    for answer in (tag for tag in root if _name(tag.tag) == "Answer"):
        parts = [(_name(part.tag), part.text or "") for part in answer]
        question = next((text for name, text in parts if name == _QUESTION), "")
        value = _value([part for part in parts if part[0] != _QUESTION])
        answers.setdefault(f"{ANSWER}{question}", []).append(value)
    return {name: one[0] if len(one) == 1 else tuple(one) for name, one in answers.items()}


def _name(tag: str) -> str:
    """Return a tag without its namespace."""
    return tag.rpartition("}")[2]


def _value(parts: list[tuple[str, str]]) -> Any:
    selected = tuple(text for name, text in parts if name in _SELECTION and text)
    texts = [text for name, text in parts if name == _TEXT]
    if selected or not parts:
        return selected or None
    return texts[0] if len(texts) == len(parts) == 1 else dict(parts)
