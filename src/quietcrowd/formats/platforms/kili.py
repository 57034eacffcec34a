"""Exports of Kili: JSON or NDJSON with a list of assets, each with the ``labels`` of its authors.

A label's ``jsonResponse`` maps the name of a job to its ``categories``, its ``text``, or its
``annotations``, which are objects. A category may have further jobs as ``children``.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import frozen

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import Choice, answers_table, id_text, label_text, warn_left_out
from quietcrowd.formats.jsonl import dicts, object_in, objects_in, parse_part, read_objects
from quietcrowd.formats.questions import Question, choose_question, count_questions

NAME = "Kili export"

_READABLE = "categories or a text"
_ANNOTATED = "DEFAULT"
"""The type of labels by annotators."""


@frozen
class _Label:
    path: Path
    place: str
    task: str
    content: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.content.get("labelType", _ANNOTATED))

    @property
    def worker(self) -> str:
        author = object_in(self.path, self.place, self.content, "author")
        name = "id" if author.get("email") is None else "email"
        return id_text(self.path, self.place, f"author.{name}", author.get(name))

    @property
    def latest(self) -> Any:
        """Whether this is the annotator's latest label of the asset; None if unknown.

        A review by the annotator is later than the label, but does not replace it.
        """
        any_type = self.content.get("isLatestLabelForUser")
        return self.content.get("isLatestDefaultLabelForUser", any_type)

    def jobs(self) -> list[tuple[str, dict[str, Any]]]:
        name = "jsonResponse"
        response = self.content.get(name)
        if isinstance(response, str):
            response = parse_part(self.path, f"{self.place}, {name!r}", response)
        return list(_jobs(object_in(self.path, self.place, {name: response}, name)))


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the answers to one job; an asset is a task, and a label has one worker.

    Reviews, predictions, drafts, and labels that their annotator replaced are dropped with a
    warning.
    """
    labels = _current(path, list(_labels(path)))
    jobs = [label.jobs() for label in labels]
    counts = count_questions(
        (Question(name) for name, job in found if {"categories", "text"} & set(job))
        for found in jobs
    )
    shapes = dict.fromkeys(name for found in jobs for name, job in found if "annotations" in job)
    (question,) = choose_question(path, counts, choice.field, shapes)
    rows = []
    for label, found in zip(labels, jobs, strict=True):
        mine = [job for name, job in found if name == question.key]
        answer = _answer(path, label.place, question.key, mine)
        rows.append((label.task, label.worker, answer, label.content.get("createdAt")))
    return answers_table(rows, several=choice.sets)


def _labels(path: Path) -> Iterator[_Label]:
    ids: dict[str, Any] = {}
    for place, asset in read_objects(path):
        name = "id" if asset.get("externalId") is None else "externalId"
        task = id_text(path, place, name, asset.get(name))
        if ids.setdefault(task, asset.get("id")) != asset.get("id"):
            raise FormatError("formats.task-id-twice", path=path, twice=task)
        if "latestLabel" in asset and "labels" not in asset:
            raise FormatError("formats.labels-incomplete", path=path)
        for number, label in enumerate(objects_in(path, place, asset, "labels")):
            yield _Label(path, f"{place}, label {number}", task, label)


def _current(path: Path, labels: list[_Label]) -> list[_Label]:
    """Return the labels of annotators that they did not replace."""
    kinds = Counter(label.kind for label in labels)
    others = {f"labels of type {kind}": kinds[kind] for kind in kinds if kind != _ANNOTATED}
    mine = [label for label in labels if label.kind == _ANNOTATED]
    last = {(label.task, label.worker) for label in mine if label.latest is True}
    kept = [
        label
        for label in mine
        if label.latest is not False or (label.task, label.worker) not in last
    ]
    warn_left_out(path, {**others, "labels that their annotator replaced": len(mine) - len(kept)})
    return kept


def _jobs(response: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the jobs, also those inside categories."""
    for name, job in response.items() if isinstance(response, dict) else ():
        if isinstance(job, dict):
            yield name, job
            for category in dicts(job.get("categories")):
                yield from _jobs(category.get("children"))


def _answer(path: Path, place: str, key: str, jobs: list[dict[str, Any]]) -> Any:
    """Return a list of categories, or a text, or None if the annotator did not answer."""
    if not jobs:
        return None
    if len(jobs) > 1 or "annotations" in jobs[0]:
        label_text(path, place, key, jobs, _READABLE)
    if jobs[0].get("text") is not None:
        return label_text(path, place, key, jobs[0]["text"], _READABLE)
    if jobs[0].get("categories") is None:
        return None
    categories = objects_in(path, place, jobs[0], "categories")
    return [label_text(path, place, key, one.get("name"), _READABLE) for one in categories]
