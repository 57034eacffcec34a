"""Label Studio JSON: tasks with the annotations of workers and predicted truths."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from quietcrowd.exceptions import FormatError, ParameterError, QuietcrowdWarning
from quietcrowd.formats.columns import (
    Choice,
    answers_table,
    check_plain_columns,
    choose_field,
    id_text,
    label_column,
    transposed,
    warn_left_out,
    with_unanswered,
)
from quietcrowd.formats.files import replacing_bytes, sidecar, write_sidecar
from quietcrowd.formats.jsonl import objects_in, read_records
from quietcrowd.formats.platforms.label_studio_results import KINDS, answer_of, is_id, make_result

NAME = "Label Studio JSON"

_OLD = "completions"
"""Key of the annotations before version 1.0."""


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the annotations as answers to one question.

    The task is ``data.task`` if that is a unique text or integer in every task, and ``id``
    otherwise. Cancelled annotations are dropped with a warning.
    """
    given, cancelled = [], 0
    for key, task in _tasks(path).items():
        for one in _annotations(path, key, task):
            if one.get("was_cancelled") or one.get("skipped"):
                cancelled += 1
                continue
            time = one.get("updated_at") or one.get("created_at")
            given.append((key, _worker(path, key, one), _listed(path, key, one, "result"), time))
    warn_left_out(path, {"cancelled annotations": cancelled})
    field = _choose(path, [(key, results) for key, _, results, _ in given], choice.field)
    rows = [
        (key, who, _value(path, key, results, field), time) for key, who, results, time in given
    ]
    table = answers_of(path, field, rows, sets=choice.sets)
    return with_unanswered(table, cancelled)


def answers_of(path: Path, field: str, rows: list[Any], *, sets: bool) -> pa.Table:
    """Return the table of answers; a set of an annotation without a choice is empty."""
    table = answers_table(rows, several=sets)
    missing = table["label"].null_count
    if not (sets and pa.types.is_list(table["label"].type) and missing):
        return table
    warnings.warn(
        QuietcrowdWarning("formats.nothing-chosen", path=path, field=field, count=missing),
        stacklevel=2,
    )
    filled = [(task, who, [] if one is None else one, time) for task, who, one, time in rows]
    return answers_table(filled, several=True)


def read_truths(path: Path, choice: Choice) -> pa.Table:
    """Return annotations marked as ground truth or, in tasks without these, predictions."""
    held = []
    for key, task in _tasks(path).items():
        given = _annotations(path, key, task)
        known = [one for one in given if one.get("ground_truth") or one.get("honeypot")]
        held += [
            (key, _listed(path, key, one, "result"), one.get("score"))
            for one in known or _listed(path, key, task, "predictions")
        ]
    field = _choose(path, [(key, results) for key, results, _ in held], choice.field)
    rows = [(key, _value(path, key, found, field), score) for key, found, score in held]
    keys, labels, scores = transposed((row for row in rows if row[1] not in (None, [])), 3)
    columns = {"task": pa.array(keys, pa.string()), "label": label_column(labels)}
    scores = [float(score) if isinstance(score, int | float) else None for score in scores]
    if any(score is not None for score in scores):
        columns["confidence"] = pa.array(scores, pa.float64())
    return pa.table(columns)


def holds_truths(path: Path) -> bool:
    """Return whether no task has an annotation."""
    return not any(task.get("annotations") or task.get(_OLD) for task in read_records(path, "task"))


def _tasks(path: Path) -> dict[str, dict[str, Any]]:
    tasks = read_records(path, "task")
    return dict(zip(_keys(path, tasks), tasks, strict=True))


def _keys(path: Path, tasks: list[dict[str, Any]]) -> list[str]:
    names = [
        task["data"].get("task") if isinstance(task.get("data"), dict) else None for task in tasks
    ]
    if all(map(is_id, names)) and len(set(map(str, names))) == len(names):
        return [str(name) for name in names]
    for place, task in enumerate(tasks):
        if not is_id(task.get("id")):
            value = task.get("id")
            raise FormatError("formats.task-without-id", path=path, place=place, value=value)
    keys = [str(task["id"]) for task in tasks]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise FormatError("formats.task-id-twice", path=path, twice=twice)
    return keys


def _listed(path: Path, key: str, task: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    return objects_in(path, f"task {key}", task, name)


def _annotations(path: Path, key: str, task: Mapping[str, Any]) -> list[dict[str, Any]]:
    return _listed(path, key, task, "annotations") or _listed(path, key, task, _OLD)


def _worker(path: Path, key: str, annotation: Mapping[str, Any]) -> str:
    """Return the annotator: ``completed_by`` is an id, or an object with an id."""
    who = annotation.get("completed_by", annotation.get("created_username"))
    worker = who.get("id") if isinstance(who, dict) else who
    if not is_id(worker):
        value = annotation.get("id")
        raise FormatError(
            "formats.annotator-invalid", path=path, key=key, value=value, annotator=who
        )
    return str(worker)


def _is_answer(result: Mapping[str, Any]) -> bool:
    return isinstance(result.get("type"), str) and result["type"] in KINDS


def _choose(
    path: Path, answered: Sequence[tuple[str, list[dict[str, Any]]]], wanted: str | None
) -> str:
    """Return the question; raise FormatError if its results are not answers, such as boxes."""
    fields: dict[str, None] = {}
    others: dict[str, str] = {}
    for key, results in answered:
        for one in results:
            name = one.get("from_name")
            if _is_answer(one):
                fields[id_text(path, f"task {key}", "from_name", name)] = None
            else:
                others[str(name)] = f"{name} ({one.get('type')})"
    if (others and not fields) or (wanted in others and wanted not in fields):
        listed, known = ", ".join(others.values()), ", ".join(KINDS)
        raise FormatError("formats.results-unsupported", path=path, results=listed, known=known)
    return choose_field(path, list(fields), wanted)


def _value(path: Path, key: str, results: list[dict[str, Any]], field: str) -> Any:
    """Return a list of labels, a number, a side, or None without an answer."""
    mine = [one for one in results if _is_answer(one) and str(one["from_name"]) == field]
    if not mine:
        return None
    answer = answer_of(mine[0].get("value"), KINDS[mine[0]["type"]])
    if answer is None or len(mine) > 1:
        shown = [one.get("value") for one in mine]
        raise FormatError(
            "formats.answer-shape-unsupported", path=path, key=key, field=field, shown=shown
        )
    return answer


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write answers as annotations, or truths as predictions.

    Workers become numbers in the order of their first row, also in the note, and times are omitted.
    The sidecar contains the note.
    """
    truths = "worker" not in table.column_names
    if truths and not {"task", "label"} <= set(table.column_names):
        raise ParameterError("formats.label-studio-file-expected", path=path, name=NAME)
    if not truths:
        check_plain_columns(path, table, NAME)
    workers = Pseudonyms()
    documents = _predicted(table) if truths else _annotated(table, workers)
    write_records(path, documents, note, workers)


def write_records(
    path: Path,
    records: Iterable[Mapping[str, Any]],
    note: Mapping[str, Any] | None,
    workers: Pseudonyms,
) -> None:
    """Write a list of objects, and then the note with the numbers of `workers` to the sidecar."""
    sidecar(path).unlink(missing_ok=True)
    with replacing_bytes(path) as file:
        separator = "[\n"
        for record in records:
            file.write(f"{separator}{json.dumps(record, ensure_ascii=False)}".encode())
            separator = ",\n"
        file.write(b"\n]\n" if separator == ",\n" else b"[]\n")
    if note is not None:
        write_sidecar(path, workers.in_note(note))


def _annotated(table: pa.Table, workers: Pseudonyms) -> Iterator[dict[str, Any]]:
    answers: dict[Any, list[tuple[int, Any]]] = {}
    cells = (table[name].to_pylist() for name in ("task", "worker", "label"))
    for task, worker, label in zip(*cells, strict=True):
        answers.setdefault(task, []).append((worker, label))
    numbers = count(1)
    for number, (task, given) in enumerate(answers.items(), start=1):
        annotations = [
            _annotation(next(numbers), number, workers.number(worker), label)
            for worker, label in given
        ]
        yield task_document(number, {"task": str(task)}, annotations=annotations)


def _annotation(number: int, task: int, worker: int, label: Any) -> dict[str, Any]:
    result = make_result(str(number), label)
    return {
        "id": number,
        "result": result,
        "was_cancelled": False,
        "ground_truth": False,
        "result_count": len(result),
        "task": task,
        "completed_by": worker,
    }


def _predicted(table: pa.Table) -> Iterator[dict[str, Any]]:
    names = [name for name in ("task", "label", "confidence") if name in table.column_names]
    cells = zip(*(table[name].to_pylist() for name in names), strict=True)
    for number, (task, label, *score) in enumerate(cells, start=1):
        truth = label, score[0] if score else None
        yield task_document(number, {"task": str(task)}, truth=truth)


def task_document(
    number: int,
    data: Mapping[str, Any],
    *,
    annotations: list[dict[str, Any]] | None = None,
    truth: tuple[Any, float | None] | None = None,
    method: str | None = None,
) -> dict[str, Any]:
    """Return a task in JSON-ready form."""
    predictions = []
    if truth is not None and truth[0] is not None:
        version = "quietcrowd" if method is None else f"quietcrowd-{method}"
        score = {} if truth[1] is None else {"score": truth[1]}
        result = make_result(f"t{number}", truth[0])
        predictions.append({"model_version": version, **score, "result": result})
    return {
        "id": number,
        "data": dict(data),
        "project": 1,
        "annotations": annotations or [],
        "predictions": predictions,
    }


class Pseudonyms:
    """Numbers of workers, starting at 1, in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def number(self, worker: Any) -> int:
        """Return the number of a worker; a new worker gets the next number."""
        return self._numbers.setdefault(worker, len(self._numbers) + 1)

    def in_note(self, note: Mapping[str, Any]) -> dict[str, Any]:
        """Return a note in which workers without a row are the next numbers."""
        silent = len(note.get("workers", ()))
        first = len(self._numbers) + 1
        workers = {"workers": [str(first + place) for place in range(silent)]} if silent else {}
        return {**note, **workers}
