"""Annotations of Prodigy in JSON Lines, as ``prodigy db-out`` writes them.

A binary annotation accepts or rejects its ``label``. A choice lists in ``accept`` the ids of the
chosen ``options``.
"""

from collections.abc import Mapping
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
from quietcrowd.formats.jsonl import dicts, read_objects

NAME = "Prodigy annotations"

_CHOICE, _BINARY = "choice", "answer"
"""Fields of choices, and of binary annotations without a label."""

_BINARY_VIEWS = (None, "text", "html", "image", "audio", "classification")
_STRUCTURES = ("spans", "tokens", "relations", "arcs", "audio_spans", "field_id")
_IDS = ("_annotator_id", "_session_id")
_ANSWERS = ("accept", "reject", "ignore")
_READABLE = "the answer to a binary annotation or a choice"

_Record: TypeAlias = Mapping[str, Any]


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the answers to one question: the choice, or whether one label is accepted.

    An input is a task. Ignored annotations and rejected choices are dropped with a warning.
    """
    found = [(place, record, *_question(record)) for place, record in read_objects(path)]
    field = choose_field(path, list(dict.fromkeys(field for *_, field, _ in found)), choice.field)
    dropped = dict.fromkeys(("ignore", "reject") if field == _CHOICE else ("ignore",), 0)
    multiple, rows = False, []
    options: dict[str, frozenset[str]] = {}
    for place, record, one, readable in found:
        if one != field:
            continue
        config = record.get("config")
        multiple |= isinstance(config, dict) and config.get("choice_style") == "multiple"
        answer = _given(path, place, record, None if readable else field)
        if answer in dropped:
            dropped[answer] += 1
            continue
        task = id_text(path, place, "_input_hash", record.get("_input_hash"))
        name = next((name for name in _IDS if record.get(name) is not None), None)
        if name is None:
            raise FormatError("formats.sessions-missing", path=path, place=place)
        worker = id_text(path, place, name, record[name])
        if field == _CHOICE:
            ids = frozenset(str(option.get("id")) for option in dicts(record.get("options")))
            if options.setdefault(task, ids) != ids:  # so it has several questions
                raise FormatError("formats.options-differ", path=path, place=place, task=task)
        label = _chosen(path, place, record) if field == _CHOICE else answer
        rows.append((task, worker, label, record.get("_timestamp")))
    warn_left_out(path, {f"annotations with the answer {one!r}": dropped[one] for one in dropped})
    count = sum(dropped.values())
    return answers_table(rows, several=choice.sets or multiple, unanswered=count)


def _question(record: _Record) -> tuple[str, bool]:
    """Return the question, and whether it is readable: it may mark parts of the input."""
    view, label = record.get("_view_id"), record.get("label")
    if isinstance(record.get("options"), list) or isinstance(record.get("accept"), list):
        return _CHOICE, True
    structures = [name for name in _STRUCTURES if name in record]
    if view in _BINARY_VIEWS and isinstance(label, str):  # whose spans only highlight
        return label, True
    if view in _BINARY_VIEWS and not structures:
        return _BINARY, True
    return str(view or structures[0]), False


def _given(path: Path, place: str, record: _Record, unreadable: str | None) -> str:
    answer = record.get("answer")
    if unreadable is not None:
        shown = next((record[name] for name in _STRUCTURES if name in record), answer)
        what = f"an annotation of the kind {unreadable!r}"
        raise unsupported(path, place, f"{shown!r:.60}", what, _READABLE)
    if answer not in _ANSWERS:
        what = "not one of " + ", ".join(map(repr, _ANSWERS))
        raise unsupported(path, place, f"{answer!r:.60}", what, _READABLE)
    return str(answer)


def _chosen(path: Path, place: str, record: _Record) -> list[str]:
    accepted = record.get("accept", [])
    if not isinstance(accepted, list) or any(type(one) not in (str, int) for one in accepted):
        raise unsupported(path, place, f"{accepted!r:.60}", "no list of options", _READABLE)
    return list(map(str, accepted))
