"""Answers to forms of Crowd HTML Elements, which MTurk and SageMaker Ground Truth export.

A form maps a field to a label, ``{"label": …}``, ``{"labels": […]}``, or ``{option: true}``. Radio
buttons and checkboxes both have options: they differ only if an answer has none or several.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from quietcrowd.exceptions import FormatError, QuietcrowdWarning
from quietcrowd.formats.columns import (
    TIME,
    Choice,
    label_column,
    text_column,
    time_column,
    transposed,
)

BLANK: tuple[str, ...] = ()
"""The value of a worker for whom no option is stored, where unselected options are not stored."""

Form: TypeAlias = Mapping[str, Any]
"""The answers of one worker to one task, by field."""

BUTTONS = "choice"
"""The field of buttons that have only names of their own."""


def fields_of(forms: Sequence[Form], wanted: str | None = None) -> dict[str, list[Any]]:
    """Return the values of each field, one per form; None if missing.

    Buttons that each have a separate name, ``{"cat": {"cat": true}, "dog": {"dog": false}}``, are
    joined to one field unless one of them is `wanted`.

    Examples
    --------
    >>> fields_of([{"cat": {"cat": True}, "dog": {"dog": False}}])
    {'choice': [{'cat': True, 'dog': False}]}
    """
    names = dict.fromkeys(name for form in forms for name in form)
    fields = {name: [form.get(name) for form in forms] for name in names}
    buttons = [name for name, values in fields.items() if _is_button(name, values)]
    if len(buttons) < 2 or wanted in buttons or BUTTONS in set(names).difference(buttons):
        return fields
    joined = [
        {name: form[name][name] for name in buttons if form.get(name) is not None} or None
        for form in forms
    ]
    others = {name: values for name, values in fields.items() if name not in buttons}
    return {BUTTONS: joined, **others}


def _is_button(name: str, values: Sequence[Any]) -> bool:
    held = [value for value in values if value is not None]
    return all(_are_options(value) and list(value) == [name] for value in held) and bool(held)


def split_texts(values: Sequence[Any], separator: str) -> list[Any]:
    """Split the texts of checkboxes, if one contains the separator; an empty one is `BLANK`.

    Examples
    --------
    >>> split_texts(["cat|dog", "", "cat"], "|")
    [['cat', 'dog'], (), ['cat']]
    >>> split_texts(["cat", ""], "|")
    ['cat', '']
    """
    texts = [value or "" for value in values if value is None or isinstance(value, str)]
    if len(texts) < len(values) or not any(separator in text for text in texts):
        return list(values)
    parts: list[Any] = [text.split(separator) if text else BLANK for text in texts]
    return parts if all(all(labels) for labels in parts) else list(values)


def answer_table(
    path: Path,
    field: str,
    rows: Iterable[Sequence[Any]],
    values: Sequence[Any],
    choice: Choice,
) -> pa.Table:
    """Return a table of answers, with texts, or lists if an answer is not one label, as labels.

    `rows` are places for errors, tasks, workers and times. `values` are those of `fields_of`, and
    tuples of selected options. If no worker selected several options, each is a label unless
    ``choice.sets``, and a warning counts answers without one.
    """
    places, tasks, workers, times = transposed(rows, 4)
    if not choice.sets:
        values = _of_lone_option(values)
    answers = [
        _answer(path, place, field, value) for place, value in zip(places, values, strict=True)
    ]
    several = choice.sets or any(map(_accepts_several, values))
    labels = label_column(answers, several=several)
    sets = pa.types.is_list(labels.type)
    if sets and choice.sets and (blank := values.count(BLANK)):
        warnings.warn(
            QuietcrowdWarning("formats.nothing-ticked", path=path, field=field, count=blank),
            stacklevel=2,
        )
    if not sets and (empty := answers.count([])):
        warnings.warn(
            QuietcrowdWarning("formats.nothing-selected", path=path, field=field, count=empty),
            stacklevel=2,
        )
    columns = {"task": text_column(tasks), "worker": text_column(workers)}
    label = labels if sets else labels.cast(pa.string())
    return pa.table({**columns, "label": label, TIME: time_column(times)})


def _accepts_several(value: Any) -> bool:
    """Return whether a value shows that its field accepts several labels."""
    listed = value["labels"] if isinstance(value, dict) and list(value) == ["labels"] else value
    return isinstance(listed, list)


def _are_options(value: Any) -> bool:
    """Return whether a value is an object of options with true or false, and perhaps nulls."""
    if not isinstance(value, dict):
        return False
    states = set(map(type, value.values()))
    return bool in states and states <= {bool, type(None)}


def _of_lone_option(values: Sequence[Any]) -> Sequence[Any]:
    """Convert a single checkbox to true and false."""
    held = [value for value in values if value is not None]
    options = {name for value in held if _are_options(value) for name in value}
    if len(options) != 1 or not all(map(_are_options, held)):
        return values
    (option,) = options
    return [None if value is None else value[option] for value in values]


def _answer(path: Path, place: str, field: str, value: Any) -> str | list[str] | None:
    if _are_options(value):
        return [option for option, on in value.items() if on]
    if isinstance(value, dict) and list(value) == ["label"]:
        return _label(path, place, field, value["label"])
    if isinstance(value, dict) and list(value) == ["labels"]:
        value = value["labels"]
    if isinstance(value, list | tuple):
        labels = [_label(path, place, field, one) for one in value]
        if None in labels:
            raise _structured(path, place, field, value)
        return [label for label in labels if label is not None]
    if isinstance(value, dict) and all(one is None for one in value.values()):
        return None
    return _label(path, place, field, value)


def _label(path: Path, place: str, field: str, value: Any) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    raise _structured(path, place, field, value)


def _structured(path: Path, place: str, field: str, value: Any) -> FormatError:
    return FormatError(
        "formats.form-answer-structured", path=path, place=place, field=field, value=value
    )
