"""Label Studio JSON: tasks with the annotations of workers and predicted truths."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from quietcrowd.exceptions import FormatError, ParameterError, QuietcrowdWarning
from quietcrowd.formats.columns import (
    Choice,
    check_plain_columns,
    choose_field,
    id_text,
    label_column,
    warn_left_out,
)
from quietcrowd.formats.files import replacing_bytes, sidecar, write_sidecar
from quietcrowd.formats.jsonl import read_records
from quietcrowd.formats.platforms.label_studio_results import KINDS, answer_of, is_id, make_result
from quietcrowd.formats.times import with_times

NAME = "Label Studio JSON"

_OLD = "completions"
"""Key of the annotations before version 1.0."""


def read(path: Path, wanted: tuple[str, ...], choice: Choice) -> pa.Table:
    """Return the annotations as answers to one question or, without workers, known truths.

    The task is ``data.task`` if that is a unique text or integer in every task, and ``id``
    otherwise. Cancelled annotations are dropped with a warning. Truths are annotations marked as
    ground truth or, in tasks without these, predictions.
    """
    tasks = read_records(path, "task")
    keys = _keys(path, tasks)
    if "label" in wanted and "worker" not in wanted:
        return _truths(path, dict(zip(keys, tasks, strict=True)), choice)
    given: list[tuple[str, str, list[Any], Any]] = []
    cancelled = 0
    for key, task in zip(keys, tasks, strict=True):
        for one in _annotations(path, key, task):
            if one.get("was_cancelled") or one.get("skipped"):
                cancelled += 1
                continue
            time = one.get("updated_at") or one.get("created_at")
            given.append((key, _worker(path, key, one), _listed(path, key, one, "result"), time))
    warn_left_out(path, {"cancelled annotations": cancelled})
    field = _choose(path, [(key, results) for key, _, results, _ in given], choice.field)
    labels = [_value(path, key, results, field) for key, _, results, _ in given]
    columns = {
        "task": pa.array([key for key, *_ in given], pa.string()),
        "worker": pa.array([worker for _, worker, *_ in given], pa.string()),
        "label": labels_of(path, field, labels, sets=choice.sets),
    }
    return with_times(columns, [time for *_, time in given])


def labels_of(path: Path, field: str, answers: Sequence[Any], *, sets: bool) -> pa.Array:
    """Return the column of labels; a set of an annotation without a choice is empty."""
    labels = label_column(answers, several=sets)
    if not (sets and pa.types.is_list(labels.type) and labels.null_count):
        return labels
    warnings.warn(
        QuietcrowdWarning(
            "formats.nothing-chosen", path=path, field=field, count=labels.null_count
        ),
        stacklevel=2,
    )
    return label_column([[] if one is None else one for one in answers], several=True)


def holds_truths(path: Path) -> bool:
    """Return whether no task has an annotation."""
    return not any(task.get("annotations") or task.get(_OLD) for task in read_records(path, "task"))


def _keys(path: Path, tasks: list[dict[str, Any]]) -> list[str]:
    names = [
        task["data"].get("task") if isinstance(task.get("data"), dict) else None for task in tasks
    ]
    if all(map(is_id, names)) and len(set(map(str, names))) == len(names):
        return [str(name) for name in names]
    for place, task in enumerate(tasks):
        if not is_id(task.get("id")):
            raise FormatError(
                "formats.task-without-id", path=path, place=place, value=task.get("id")
            )
    keys = [str(task["id"]) for task in tasks]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise FormatError("formats.task-id-twice", path=path, twice=twice)
    return keys


def _listed(path: Path, key: str, task: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = task.get(name) or []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise FormatError("formats.task-list-invalid", path=path, key=key, name=name)
    return found


def _annotations(path: Path, key: str, task: Mapping[str, Any]) -> list[dict[str, Any]]:
    return _listed(path, key, task, "annotations") or _listed(path, key, task, _OLD)


def _worker(path: Path, key: str, annotation: Mapping[str, Any]) -> str:
    """Return the annotator: ``completed_by`` is an id, or an object with an id."""
    who = annotation.get("completed_by", annotation.get("created_username"))
    worker = who.get("id") if isinstance(who, dict) else who
    if not is_id(worker):
        raise FormatError(
            "formats.annotator-invalid",
            path=path,
            key=key,
            value=annotation.get("id"),
            annotator=who,
        )
    return str(worker)


def _is_answer(result: Mapping[str, Any]) -> bool:
    return isinstance(result.get("type"), str) and result["type"] in KINDS


def _choose(
    path: Path, answered: Sequence[tuple[str, list[dict[str, Any]]]], wanted: str | None
) -> str:
    """Return the question; raise FormatError if its results are no answers, such as boxes."""
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
        raise FormatError(
            "formats.results-unsupported",
            path=path,
            results=", ".join(others.values()),
            known=", ".join(KINDS),
        )
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


def _truths(path: Path, tasks: Mapping[str, dict[str, Any]], choice: Choice) -> pa.Table:
    held: list[tuple[str, dict[str, Any]]] = []
    for key, task in tasks.items():
        given = _annotations(path, key, task)
        known = [one for one in given if one.get("ground_truth") or one.get("honeypot")]
        held += [(key, one) for one in known or _listed(path, key, task, "predictions")]
    results = [(key, _listed(path, key, one, "result"), one.get("score")) for key, one in held]
    field = _choose(path, [(key, found) for key, found, _ in results], choice.field)
    rows = [(key, _value(path, key, found, field), score) for key, found, score in results]
    kept = [row for row in rows if row[1] not in (None, [])]
    columns = {"task": pa.array([key for key, _, _ in kept], pa.string())}
    columns["label"] = label_column([label for _, label, _ in kept])
    scores = [float(score) if isinstance(score, int | float) else None for _, _, score in kept]
    if any(score is not None for score in scores):
        columns["confidence"] = pa.array(scores, pa.float64())
    return pa.table(columns)


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
    rows = list(zip(*cells, strict=True))
    for task, worker, label in rows:
        answers.setdefault(task, []).append((worker, label))
    annotation = 0
    for number, (task, given) in enumerate(answers.items(), start=1):
        annotations = []
        for worker, label in given:
            annotation += 1
            annotations.append(_annotation(annotation, number, workers.number(worker), label))
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
    scores = table["confidence"].to_pylist() if "confidence" in table.column_names else None
    cells = zip(table["task"].to_pylist(), table["label"].to_pylist(), strict=True)
    for number, (task, label) in enumerate(cells, start=1):
        score = None if scores is None else scores[number - 1]
        yield task_document(number, {"task": str(task)}, truth=(label, score))


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
        told = {"workers": [str(first + place) for place in range(silent)]} if silent else {}
        return {**note, **told}
