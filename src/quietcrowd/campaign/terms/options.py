"""Options per task: the possible answers that each task of a campaign lists in its data.

In a file they are a column or member ``options``: a list, its JSON, or texts between ``|``, else
``;``, else commas. In a task they are a list of labels, in the order in which workers see them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from attrs import evolve

from quietcrowd.campaign.terms.canonical import canonical_json, json_in_order
from quietcrowd.campaign.terms.tasks import TaskRow
from quietcrowd.domains import Categorical, Domain, FiniteDomain, Label
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.channels.reading import MAX_LABELS
from quietcrowd.task_options import TaskOptions
from quietcrowd.validation import parse_json

COLUMN = "options"


def have_options(rows: Iterable[TaskRow]) -> bool:
    """Return whether a file of tasks lists options."""
    return any(json.loads(row.data).get(COLUMN) not in (None, "", []) for row in rows)


def domain_of_options(rows: Iterable[TaskRow]) -> Categorical:
    """Return all options of a file of tasks as labels, in the order of their first occurrence."""
    listed = [label for row in rows for label in _listed(row)]
    return Categorical({canonical_json(label): label for label in listed}.values())


def with_options(rows: Sequence[TaskRow], domain: Domain) -> list[TaskRow]:
    """Return tasks with lists of labels as options; `FormatError` names a row, but no option."""
    return [_with_options(row, domain) for row in rows]


def counts_in(rows: Iterable[TaskRow]) -> list[int]:
    """Return the different numbers of options of tasks that `with_options` returned."""
    return sorted({len(json.loads(row.data)[COLUMN]) for row in rows})


def _with_options(row: TaskRow, domain: Domain) -> TaskRow:
    if not isinstance(domain, FiniteDomain):
        raise FormatError("campaign.options-need-labels", number=row.row)
    codes = [domain.code(label) for label in _listed(row)]
    if None in codes:
        raise FormatError("campaign.option-outside-labels", number=row.row)
    labels = [domain.labels[code] for code in codes if code is not None]
    if row.known_truth is not None and domain.code(row.known_truth) not in codes:
        raise FormatError("campaign.gold-not-possible", row=row.row)
    if not _are_options(labels, domain):
        raise FormatError("campaign.options-unreadable", number=row.row, most=MAX_LABELS)
    return evolve(row, data=json_in_order({**json.loads(row.data), COLUMN: labels}))


def _listed(row: TaskRow) -> list[Label]:
    cell = json.loads(row.data).get(COLUMN)
    if isinstance(cell, str):
        cell = _split(cell.strip())
    if not isinstance(cell, list) or not all(isinstance(one, str | int | float) for one in cell):
        raise FormatError("campaign.options-unreadable", number=row.row, most=MAX_LABELS)
    labels = [one.strip() if isinstance(one, str) else one for one in cell]
    if "" in labels:
        raise FormatError("campaign.options-unreadable", number=row.row, most=MAX_LABELS)
    return labels


def _split(text: str) -> Any:
    if text.startswith("["):
        try:
            return parse_json(text)
        except (ValueError, RecursionError):
            return None
    separator = next((mark for mark in "|;" if mark in text), ",")
    return text.split(separator)


def _are_options(listed: Any, domain: Domain) -> bool:
    """Return whether a list is at least two different labels, of the domain and of its types."""
    if not isinstance(listed, list) or not 2 <= len(listed) <= MAX_LABELS:
        return False
    spelled = {canonical_json(one) for one in listed}
    return len(spelled) == len(listed) and spelled <= _labels_of(domain)


@lru_cache(maxsize=16)
def _labels_of(domain: Domain) -> frozenset[bytes]:
    """Return the labels of a domain as JSON, which distinguishes their types."""
    return frozenset(map(canonical_json, domain.labels))  # type: ignore[attr-defined]


def among_options(
    mechanism: Mechanism, tasks: Iterable[tuple[str, Mapping[str, Any]]]
) -> Mechanism:
    """Return the mechanism of tasks, given by name and data, with their options.

    A mechanism without options per task is returned as it is. ParameterError if the options of a
    task are missing, repeated, outside of the domain, or not in the mechanism's numbers.
    """
    if not mechanism.option_counts:
        return mechanism
    names, listed = [], []
    for name, data in tasks:
        if not _are_options(data.get(COLUMN), mechanism.domain):
            raise ParameterError("campaign.task-options-invalid", task=name)
        if len(data[COLUMN]) not in mechanism.option_counts:
            raise ParameterError("campaign.task-options-invalid", task=name)
        names.append(name)
        listed.append(data[COLUMN])
    domain: Any = mechanism.domain
    try:
        options = TaskOptions.from_dict({"tasks": names, "options": listed}, domain)
    except AnswerError:
        raise ParameterError("campaign.task-options-invalid", task=", ".join(names[:1])) from None
    return mechanism.for_options(options)


def labels_of_task(mechanism: Mechanism, data: Mapping[str, Any]) -> Sequence[Label] | None:
    """Return the options of a task in order; None if the tasks of a campaign have none."""
    return data[COLUMN] if mechanism.option_counts else None


def in_any_order(mechanism: Mechanism, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the shown columns of a task with options sorted: their order does not matter."""
    listed = labels_of_task(mechanism, data)
    return data if listed is None else {**data, COLUMN: sorted(listed, key=spell_label)}


def spell_label(label: Label) -> str:
    """Format a label: a string as it is, anything else as JSON."""
    return label if isinstance(label, str) else canonical_json(label).decode()
