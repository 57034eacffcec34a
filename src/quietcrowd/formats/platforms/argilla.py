"""Records of Argilla in JSON.

In version 2, ``responses`` maps a question to a list of objects with ``value``, ``user_id`` and
``status``. In version 1 it is a list over users, each with ``values`` by question. Flattened rows
have columns ``QUESTION.responses``, ``QUESTION.responses.users`` and
``QUESTION.responses.status``.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import Choice, choose_field, reject_truths, warn_left_out
from quietcrowd.formats.files import open_text
from quietcrowd.validation import parse_json

NAME = "Argilla records"

_RESPONSES = "responses"
_FLAT = f".{_RESPONSES}"
Response: TypeAlias = tuple[str, str, Any, str]
"""Question, user, value, and status."""


def read(path: Path, wanted: tuple[str, ...], choice: Choice) -> pa.Table:
    """Return the answers to one question; each record is a task.

    Drafts and discarded responses are dropped with a warning.
    """
    reject_truths(path, wanted, NAME)
    found = [
        (str(record.get("id", place)), response)
        for place, record in enumerate(_records(path))
        for response in _responses(path, place, record)
    ]
    fields = list(dict.fromkeys(response[0] for _, response in found))
    field = choose_field(path, fields, choice.field)
    rows = [(task, one) for task, one in found if one[0] == field]
    submitted = [(task, one) for task, one in rows if one[3] == "submitted"]
    warn_left_out(path, {"responses that were not submitted": len(rows) - len(submitted)})
    return pa.table(
        {
            "task": pa.array([task for task, _ in submitted], pa.string()),
            "worker": pa.array([worker for _, (_, worker, _, _) in submitted], pa.string()),
            "label": pa.array([_label(path, one) for _, one in submitted], pa.string()),
        }
    )


def _records(path: Path) -> list[dict[str, Any]]:
    with open_text(path, "utf-8-sig") as file:
        text = file.read()
    lines = text.lstrip()[:1] == "{"
    found = [parse_json(line) for line in text.splitlines() if line.strip()] if lines else None
    records = parse_json(text) if found is None else found
    for place, record in enumerate(records):
        if not isinstance(record, dict):
            raise FormatError("formats.record-not-an-object", path=path, place=place)
    return records


def _responses(path: Path, place: int, record: Mapping[str, Any]) -> Iterator[Response]:
    try:
        yield from _in_any_form(record)
    except (AttributeError, KeyError, TypeError) as error:
        raise FormatError(
            "formats.responses-invalid", path=path, place=place, error=error
        ) from None


def _in_any_form(record: Mapping[str, Any]) -> Iterator[Response]:
    responses = record.get(_RESPONSES)
    if isinstance(responses, dict):
        for field, answers in responses.items():
            for one in answers:
                status = one.get("status") or "submitted"
                yield field, str(one["user_id"]), one.get("value"), status
        return
    for one in responses or []:
        for field, answer in (one.get("values") or {}).items():
            yield field, str(one["user_id"]), answer.get("value"), one.get("status", "submitted")
    for name in record:
        if name.endswith(_FLAT) and record[name] is not None:
            users = record[f"{name}.users"]
            states = record.get(f"{name}.status") or ["submitted"] * len(users)
            for value, user, status in zip(record[name], users, states, strict=True):
                yield name.removesuffix(_FLAT), str(user), value, status


def _label(path: Path, response: Response) -> str | None:
    field, worker, value, _ = response
    if isinstance(value, (list, dict)):
        raise FormatError(
            "formats.question-with-several-labels",
            path=path,
            field=field,
            worker=worker,
            value=value,
        )
    return None if value is None else str(value)
