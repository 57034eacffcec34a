"""Records of Argilla in JSON.

In version 2, ``responses`` maps a question to a list of objects with ``value``, ``user_id`` and
``status``. In version 1 it is a list over users, each with ``values`` by question; on the Hub, a
question is a column next to ``QUESTION-suggestion``. Flattened rows have columns
``QUESTION.responses``, ``QUESTION.responses.users`` and ``QUESTION.responses.status``.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import (
    Choice,
    answers_table,
    choose_field,
    id_text,
    unsupported,
    warn_left_out,
)
from quietcrowd.formats.jsonl import read_objects

NAME = "Argilla records"

_FLAT, _SUGGESTION = ".responses", "-suggestion"
_IDS = ("id", "external_id")
_READ = "a label, a list of labels, a rating or a text"

_Response: TypeAlias = tuple[Any, Any, Any, Any]
"""User, value, status and time."""


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the answers to one question; each record is a task, numbered if none has an id.

    Drafts and discarded responses are dropped with a warning.
    """
    records = read_objects(path)
    fields = list(dict.fromkeys(name for _, record in records for name in _questions(record)))
    field = choose_field(path, fields, choice.field)
    held = [key for key in _IDS if any(record.get(key) is not None for _, record in records)]
    rows, places, dropped = [], [], 0
    for number, (place, record) in enumerate(records):
        task = id_text(path, place, held[0], record.get(held[0])) if held else str(number)
        inside = f"{place}, question {field!r}"
        for user, value, status, time in _responses(path, inside, record, field):
            worker = id_text(path, inside, "user_id", user)
            if (status or "submitted") != "submitted":
                dropped += 1
                continue
            places.append(f"{inside}, user {worker!r}")
            rows.append((task, worker, _answer(path, places[-1], value), time))
    warn_left_out(path, {"responses that were not submitted": dropped})
    orders = {tuple(answer) for _, _, answer, _ in rows if isinstance(answer, list)}
    if len(orders) > 1 and len({tuple(sorted(one)) for one in orders}) == 1:
        what = "a ranking, because all answers have these labels"
        raise unsupported(path, places[0], f"{rows[0][2]!r:.60}", what, _READ)
    return answers_table(rows, several=choice.sets, unanswered=dropped)


def _questions(record: Mapping[str, Any]) -> Iterator[str]:
    responses = record.get("responses")
    if isinstance(responses, dict):
        yield from responses
    for one in responses if isinstance(responses, list) else ():
        if isinstance(one, dict) and isinstance(one.get("values"), dict):
            yield from one["values"]
    for name in record:
        if name.endswith(_FLAT):
            yield name.removesuffix(_FLAT)
        elif name + _SUGGESTION in record:
            yield name


def _responses(
    path: Path, place: str, record: Mapping[str, Any], field: str
) -> Sequence[_Response]:
    try:
        return list(_in_any_form(record, field))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormatError(
            "formats.responses-invalid", path=path, place=place, error=error
        ) from None


def _in_any_form(record: Mapping[str, Any], field: str) -> Iterator[_Response]:
    responses = record.get("responses")
    if isinstance(responses, list):
        for one in responses:
            if field in (one.get("values") or {}):
                yield _response(one, one["values"][field].get("value"))
        return
    listed = responses.get(field) if responses else None
    on_the_hub = record[field] if field + _SUGGESTION in record else None
    for one in (*(listed or ()), *(on_the_hub or ())):
        yield _response(one, one.get("value"))
    flat = f"{field}{_FLAT}"
    if record.get(flat) is not None:
        users = record[f"{flat}.users"]
        states = record.get(f"{flat}.status") or [None] * len(users)
        for value, user, status in zip(record[flat], users, states, strict=True):
            yield user, value, status, None


def _response(one: Mapping[str, Any], value: Any) -> _Response:
    time = one.get("updated_at") or one.get("inserted_at")
    return one.get("user_id"), value, one.get("status"), time


def _answer(path: Path, place: str, value: Any) -> Any:
    what = None
    if isinstance(value, list) and not all(isinstance(one, str) for one in value):
        keys = {key for one in value if isinstance(one, dict) for key in one}
        what = "a list of spans" if {"start", "end"} <= keys else "a ranking"
        what = what if keys else "no list of labels"
    elif isinstance(value, dict):
        what = "a ranking" if "rank" in value else "an object"
    if what is not None:
        raise unsupported(path, place, f"{value!r:.60}", what, _READ)
    return value if value is None or isinstance(value, list) else str(value)
