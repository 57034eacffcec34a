"""Annotations of Prodigy in JSON Lines, as ``prodigy db-out`` writes them.

A binary annotation accepts or rejects its ``label``. A choice lists in ``accept`` the ids of the
chosen ``options``.
"""

from collections.abc import Mapping, Sequence
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

NAME = "Prodigy annotations"

_CHOICE, _BINARY = "choice", "answer"
"""Fields of choices, and of binary annotations without a label."""

_BINARY_VIEWS = (None, "text", "html", "image", "audio", "classification")
_STRUCTURES = ("spans", "tokens", "relations", "arcs", "audio_spans", "field_id")
_IDS = ("_annotator_id", "_session_id")
_ANSWERS = ("accept", "reject", "ignore")


@frozen
class _Annotation:
    place: str
    record: Mapping[str, Any]
    field: str
    readable: bool


def read(path: Path, wanted: tuple[str, ...], choice: Choice) -> pa.Table:
    """Return the answers to one question: the choice, or whether one label is accepted.

    An input is a task. Ignored annotations and rejected choices are dropped with a warning.
    """
    reject_truths(path, wanted, NAME)
    found = [_annotation(place, record) for place, record in read_objects(path)]
    field = choose_field(path, list(dict.fromkeys(one.field for one in found)), choice.field)
    mine = [one for one in found if one.field == field]
    given = [_given(path, one) for one in mine]
    dropped = ("ignore", "reject") if field == _CHOICE else ("ignore",)
    told = {f"annotations with the answer {one!r}": given.count(one) for one in dropped}
    warn_left_out(path, told)
    kept = [(one, how) for one, how in zip(mine, given, strict=True) if how not in dropped]
    rows = [one for one, _ in kept]
    tasks = [id_text(path, one.place, "_input_hash", one.record.get("_input_hash")) for one in rows]
    if field == _CHOICE:
        _check_options(path, tasks, rows)
    answers = [_chosen(path, one) if field == _CHOICE else how for one, how in kept]
    columns = {
        "task": pa.array(tasks, pa.string()),
        "worker": pa.array([_worker(path, one) for one in rows], pa.string()),
        "label": label_column(answers, several=choice.sets or any(map(_is_multiple, mine))),
    }
    return with_times(columns, [one.record.get("_timestamp") for one in rows])


def _annotation(place: str, record: Mapping[str, Any]) -> _Annotation:
    """Find the question of an annotation, which is not readable if it marks parts of the input."""
    view, label = record.get("_view_id"), record.get("label")
    if isinstance(record.get("options"), list) or isinstance(record.get("accept"), list):
        return _Annotation(place, record, _CHOICE, readable=True)
    structures = [name for name in _STRUCTURES if name in record]
    if view in _BINARY_VIEWS and isinstance(label, str):  # whose spans only highlight
        return _Annotation(place, record, label, readable=True)
    if view in _BINARY_VIEWS and not structures:
        return _Annotation(place, record, _BINARY, readable=True)
    return _Annotation(place, record, str(view or structures[0]), readable=False)


def _given(path: Path, one: _Annotation) -> str:
    answer = one.record.get("answer")
    if not one.readable:
        what = f"an annotation of the kind {one.field!r}"
        raise _unsupported(path, one, _shown(one.record), what)
    if answer not in _ANSWERS:
        raise _unsupported(path, one, answer, "not one of " + ", ".join(map(repr, _ANSWERS)))
    return str(answer)


def _shown(record: Mapping[str, Any]) -> Any:
    return next((record[name] for name in _STRUCTURES if name in record), record.get("answer"))


def _unsupported(path: Path, one: _Annotation, value: Any, what: str) -> FormatError:
    return FormatError(
        "formats.answer-unsupported",
        path=path,
        place=one.place,
        value=f"{value!r:.60}",
        what=what,
        readable="the answer to a binary annotation or a choice",
    )


def _worker(path: Path, one: _Annotation) -> str:
    name = next((name for name in _IDS if one.record.get(name) is not None), _IDS[0])
    return id_text(path, one.place, name, one.record.get(name))


def _chosen(path: Path, one: _Annotation) -> list[str]:
    accepted = one.record.get("accept", [])
    if not isinstance(accepted, list) or not all(map(_is_label, accepted)):
        raise _unsupported(path, one, accepted, "no list of options")
    return [str(label) for label in accepted]


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_multiple(one: _Annotation) -> bool:
    config = one.record.get("config")
    return isinstance(config, dict) and config.get("choice_style") == "multiple"


def _check_options(path: Path, tasks: Sequence[str], rows: Sequence[_Annotation]) -> None:
    """Raise FormatError if an input comes with several lists of options, so several questions."""
    known: dict[str, frozenset[str]] = {}
    for task, one in zip(tasks, rows, strict=True):
        options = one.record.get("options")
        listed = options if isinstance(options, list) else []
        ids = frozenset(str(option.get("id")) for option in listed if isinstance(option, dict))
        if known.setdefault(task, ids) != ids:
            raise FormatError("formats.options-differ", path=path, place=one.place, task=task)
