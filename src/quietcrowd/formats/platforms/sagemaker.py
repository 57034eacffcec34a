"""Labeling jobs of Amazon SageMaker Ground Truth.

Answers are in the JSON files of worker responses, ``worker-response/iteration-1/TASK/TIME.json``,
one per task, in a folder or a zip archive. An output manifest has one consolidated label per task,
in JSON Lines.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.archives import is_archive, members
from quietcrowd.formats.columns import (
    Choice,
    choose_field,
    id_text,
    text_column,
    warn_left_out,
)
from quietcrowd.formats.forms import answer_table, fields_of
from quietcrowd.formats.jsonl import first_keys, parse_objects, read_objects

NAME = "SageMaker Ground Truth output"

_METADATA = "-metadata"
_RESPONSES = "worker-response"
_SOURCES = ("source-ref", "source")

_ITERATION = re.compile(r"iteration-\d+")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T_ ].*")
"""Matches names of files that are times, so that the folder names the task."""


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the answers of worker responses."""
    if holds_truths(path):
        raise FormatError("formats.labels-consolidated", path=path, responses=_RESPONSES)
    found = list(_answers(path))
    fields = fields_of([form for *_, form in found], choice.field)
    field = choose_field(path, list(fields), choice.field)
    return answer_table(path, field, (row for *row, _ in found), fields[field], choice)


def holds_truths(path: Path) -> bool:
    """Return whether a file is an output manifest."""
    return not is_archive(path) and any(
        key.endswith(f"{_METADATA}:dict") for key in first_keys(path)
    )


def read_truths(path: Path, choice: Choice) -> pa.Table:
    """Return the labels of an output manifest."""
    if not holds_truths(path):
        name = f"{NAME} with worker responses"
        raise FormatError("formats.no-known-truths", path=path, name=name)
    records = read_objects(path)
    names = dict.fromkeys(
        name.removesuffix(_METADATA)
        for _, record in records
        for name, value in record.items()
        if name.endswith(_METADATA) and isinstance(value, dict)
    )
    field = choose_field(path, list(names), choice.field)
    labeled = [(place, one) for place, one in records if one.get(field) is not None]
    warn_left_out(path, {f"objects without {field!r}": len(records) - len(labeled)})
    labels = [_label(path, place, record, field) for place, record in labeled]
    table = {
        "task": text_column(_source(path, place, one) for place, one in labeled),
        "label": pa.array(labels),
    }
    scores = [_metadata(record, field).get("confidence") for _, record in labeled]
    known = [float(one) if isinstance(one, int | float) else None for one in scores]
    if any(score is not None for score in known):
        table["confidence"] = pa.array(known, pa.float64())
    return pa.table(table)


def _answers(path: Path) -> Iterator[tuple[str, str, str, Any, Any]]:
    """Yield the place, the task, the worker, the time and the form of each answer."""
    for task, inside, record in _documents(path):
        answers = record.get("answers")
        if not isinstance(answers, list) or not all(isinstance(one, dict) for one in answers):
            raise FormatError("formats.responses-not-listed", path=path, place=inside)
        for number, one in enumerate(answers):
            place, form = f"{inside}, answer {number}", one.get("answerContent")
            if not isinstance(form, dict):
                raise FormatError(
                    "formats.answer-content-missing", path=path, place=place, content=form
                )
            worker = id_text(path, place, "workerId", one.get("workerId"))
            yield place, task, worker, one.get("submissionTime"), form


def _documents(path: Path) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    if not is_archive(path):
        task = _task(PurePosixPath(path.absolute().as_posix().removesuffix(".gz")))
        yield from ((task.name, place, record) for place, record in read_objects(path))
        return
    files = list(members(path))
    responses = [(name, text) for name, text in files if _RESPONSES in name.parts] or files
    if not responses:
        raise FormatError("formats.responses-missing", path=path)
    known: dict[str, PurePosixPath] = {}
    for name, text in responses:
        task = _task(name if len(name.parts) > 1 else PurePosixPath(path.stem, name))
        one = known.setdefault(task.name, task)
        if one != task:
            raise FormatError(
                "formats.tasks-of-several-jobs", path=path, name=task.name, one=one, other=task
            )
        for place, record in parse_objects(path, text, f"{name}: "):
            yield task.name, place, record


def _task(name: PurePosixPath) -> PurePosixPath:
    """Return the id of the task: the directory if the file is named after a time."""
    task = name.parent if _TIME.fullmatch(name.stem) else name.with_suffix("")
    return PurePosixPath(*(part for part in task.parts if not _ITERATION.fullmatch(part)))


def _source(path: Path, place: str, record: Mapping[str, Any]) -> str:
    name = next((name for name in _SOURCES if name in record), _SOURCES[0])
    return id_text(path, place, name, record.get(name))


def _metadata(record: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    metadata = record.get(f"{field}{_METADATA}")
    return metadata if isinstance(metadata, dict) else {}


def _label(path: Path, place: str, record: Mapping[str, Any], field: str) -> str | list[str]:
    """Return the name of a class, or the names of several; otherwise the label itself."""
    metadata = _metadata(record, field)
    classes = metadata.get("class-map")
    label = record[field]
    if isinstance(classes, dict) and isinstance(label, list):
        label = [classes.get(str(code)) for code in label]
        if all(isinstance(one, str) for one in label):
            return label
    label = metadata.get("class-name", label)
    if isinstance(label, str | int | float):
        return label if isinstance(label, str) else json.dumps(label)
    kind = metadata.get("type", "unknown")
    raise FormatError("formats.label-of-other-job", path=path, place=place, field=field, kind=kind)
