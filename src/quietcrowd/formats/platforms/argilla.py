"""Records of Argilla in JSON.

In version 2, ``responses`` maps a question to a list of objects with ``value``, ``user_id`` and
``status``. In version 1 it is a list over users, each with ``values`` by question; on the Hub, a
question is a column next to ``QUESTION-suggestion``. Flattened rows have columns
``QUESTION.responses``, ``QUESTION.responses.users`` and ``QUESTION.responses.status``.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import frozen

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import (
    Choice,
    choose_field,
    id_text,
    label_column,
    reject_truths,
    warn_left_out,
)
from quietcrowd.formats.jsonl import read_objects
from quietcrowd.formats.times import with_times

NAME = "Argilla records"

_RESPONSES = "responses"
_FLAT = f".{_RESPONSES}"
_SUGGESTION = "-suggestion"
_IDS = ("id", "external_id")
_READ = "a label, a list of labels, a rating or a text"


@frozen
class _Response:
    place: str
    task: str
    worker: str
    value: Any
    status: str
    time: Any


def read(path: Path, wanted: tuple[str, ...], choice: Choice) -> pa.Table:
    """Return the answers to one question; each record is a task.

    Drafts and discarded responses are dropped with a warning.
    """
    reject_truths(path, wanted, NAME)
    records = read_objects(path)
    fields = list(dict.fromkeys(name for _, record in records for name in _questions(record)))
    field = choose_field(path, fields, choice.field)
    tasks = _tasks(path, records)
    rows = [
        response
        for task, (place, record) in zip(tasks, records, strict=True)
        for response in _responses(path, f"{place}, question {field!r}", task, record, field)
    ]
    submitted = [one for one in rows if one.status == "submitted"]
    warn_left_out(path, {"responses that were not submitted": len(rows) - len(submitted)})
    answers = [_answer(path, one) for one in submitted]
    if _are_rankings(answers):
        raise _unsupported(path, submitted[0], "a ranking, because all answers have these labels")
    columns = {
        "task": pa.array([one.task for one in submitted], pa.string()),
        "worker": pa.array([one.worker for one in submitted], pa.string()),
        "label": label_column(answers, several=choice.sets),
    }
    return with_times(columns, [one.time for one in submitted])


def _tasks(path: Path, records: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Return the ids of the records, or their numbers if none has an id."""
    for key in _IDS:
        if any(record.get(key) is not None for _, record in records):
            return [id_text(path, place, key, record.get(key)) for place, record in records]
    return [str(number) for number in range(len(records))]


def _questions(record: Mapping[str, Any]) -> Iterator[str]:
    responses = record.get(_RESPONSES)
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
    path: Path, place: str, task: str, record: Mapping[str, Any], field: str
) -> Iterator[_Response]:
    try:
        given = list(_in_any_form(record, field))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormatError(
            "formats.responses-invalid", path=path, place=place, error=error
        ) from None
    for user, value, status, time in given:
        worker = id_text(path, place, "user_id", user)
        yield _Response(place, task, worker, value, status or "submitted", time)


def _in_any_form(record: Mapping[str, Any], field: str) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield user, value, status and time of each answer to a question."""
    responses = record.get(_RESPONSES)
    if isinstance(responses, list):
        for one in responses:
            if field in (one.get("values") or {}):
                yield _user(one), one["values"][field].get("value"), one.get("status"), _time(one)
        return
    listed = responses.get(field) if responses else None
    on_the_hub = record[field] if field + _SUGGESTION in record else None
    for one in (*(listed or ()), *(on_the_hub or ())):
        yield _user(one), one.get("value"), one.get("status"), _time(one)
    flat = f"{field}{_FLAT}"
    if record.get(flat) is not None:
        users = record[f"{flat}.users"]
        states = record.get(f"{flat}.status") or [None] * len(users)
        for value, user, status in zip(record[flat], users, states, strict=True):
            yield user, value, status, None


def _user(one: Mapping[str, Any]) -> Any:
    return one.get("user_id")


def _time(one: Mapping[str, Any]) -> Any:
    return one.get("updated_at") or one.get("inserted_at")


def _answer(path: Path, response: _Response) -> Any:
    value = response.value
    if isinstance(value, list) and not all(isinstance(one, str) for one in value):
        keys = {key for one in value if isinstance(one, dict) for key in one}
        what = "a list of spans" if {"start", "end"} <= keys else "a ranking"
        raise _unsupported(path, response, what if keys else "no list of labels")
    if isinstance(value, dict):
        raise _unsupported(path, response, "a ranking" if "rank" in value else "an object")
    return value if value is None or isinstance(value, list) else str(value)


def _are_rankings(answers: Sequence[Any]) -> bool:
    """Return whether all answers are the same labels, in different orders."""
    orders = {tuple(one) for one in answers if isinstance(one, list)}
    return len(orders) > 1 and len({tuple(sorted(one)) for one in orders}) == 1


def _unsupported(path: Path, response: _Response, what: str) -> FormatError:
    return FormatError(
        "formats.answer-unsupported",
        path=path,
        place=f"{response.place}, user {response.worker!r}",
        value=f"{response.value!r:.60}",
        what=what,
        readable=_READ,
    )
