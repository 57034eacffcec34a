"""Exports of Labelbox: NDJSON or JSON with a data row per line.

``projects`` maps the id of a project to its ``labels``. A label is the work of one person
(``label_details.created_by``) on the data row. Its ``annotations.classifications`` have a
``radio_answer``, ``checklist_answers`` or a ``text_answer``, which may contain classifications.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import frozen

from quietcrowd.formats.columns import Choice, answers_table, id_text, label_text, warn_left_out
from quietcrowd.formats.jsonl import dicts, object_in, objects_in, read_objects
from quietcrowd.formats.questions import Question, choose_question, count_questions

NAME = "Labelbox export"

_TASK = ("id", "global_key", "external_id")
"""Names of the id of a data row; the first that has a value is the task."""

_READABLE = "a radio, checklist or text classification"


@frozen
class _Label:
    place: str
    data_row: dict[str, Any]
    project: str
    title: str
    content: dict[str, Any]

    @property
    def answers(self) -> list[tuple[Question, dict[str, Any]]]:
        """The questions and their answers; other parts of the label may be damaged."""
        return [
            (Question(_name(one), "", self.project, self.title), one)
            for one in _classifications(self.content.get("annotations"))
            if isinstance(_name(one), str)
        ]

    @property
    def shapes(self) -> list[str]:
        annotations = self.content.get("annotations")
        objects = annotations.get("objects") if isinstance(annotations, dict) else None
        return [str(one.get("name")) for one in dicts(objects)]

    @property
    def skipped(self) -> bool:
        details = self.content.get("performance_details")
        return isinstance(details, dict) and details.get("skipped") is True


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the answers to one classification of a project; a data row is a task.

    Skipped labels are dropped with a warning.
    """
    labels = list(_labels(path))
    counts = count_questions((question for question, _ in label.answers) for label in labels)
    shapes = dict.fromkeys(name for label in labels for name in label.shapes)
    (question,) = choose_question(path, counts, choice.field, shapes)
    mine = [label for label in labels if label.project == question.project]
    done = [label for label in mine if not label.skipped]
    warn_left_out(path, {"skipped labels": len(mine) - len(done)})
    rows = [_row(path, label, question) for label in done]
    several = any(isinstance(row[2], list) for row in rows)
    return answers_table(rows, several=several, unanswered=len(mine) - len(done))


def _labels(path: Path) -> Iterator[_Label]:
    for place, record in read_objects(path):
        data_row = object_in(path, place, record, "data_row")
        projects = object_in(path, place, record, "projects")
        for project in projects:
            held = object_in(path, place, projects, project)
            title = held.get("name")
            title = title if isinstance(title, str) else ""
            for number, label in enumerate(objects_in(path, place, held, "labels")):
                where = f"{place}, label {number} of project {project}"
                yield _Label(where, data_row, project, title, label)


def _classifications(holder: Any) -> Iterator[dict[str, Any]]:
    found = holder.get("classifications") if isinstance(holder, dict) else None
    for one in dicts(found):
        yield one
        for answer in (one.get("radio_answer"), *dicts(one.get("checklist_answers"))):
            yield from _classifications(answer)


def _row(path: Path, label: _Label, question: Question) -> tuple[str, str, Any, Any]:
    place, data_row = label.place, label.data_row
    name = next((name for name in _TASK if data_row.get(name) is not None), _TASK[0])
    task = id_text(path, place, f"data_row.{name}", data_row.get(name))
    details = object_in(path, place, label.content, "label_details")
    worker = id_text(path, place, "label_details.created_by", details.get("created_by"))
    return task, worker, _answer(path, label, question), details.get("created_at")


def _answer(path: Path, label: _Label, question: Question) -> Any:
    """Return a text, a list of texts of a checklist, or None if the person did not answer."""
    place, key = label.place, question.key
    annotations = object_in(path, place, label.content, "annotations")
    objects_in(path, place, annotations, "classifications")
    mine = [answer for one, answer in label.answers if one == question]
    if not mine:
        return None
    if len(mine) > 1:
        return label_text(path, place, key, mine, _READABLE)
    answer = mine[0]
    if "checklist_answers" in answer:
        options = objects_in(path, place, answer, "checklist_answers")
        return [label_text(path, place, key, _name(option), _READABLE) for option in options]
    option = object_in(path, place, answer, "radio_answer")
    if option:
        return label_text(path, place, key, _name(option), _READABLE)
    content = object_in(path, place, answer, "text_answer").get("content")
    return None if content is None else label_text(path, place, key, content, _READABLE)


def _name(holder: dict[str, Any]) -> Any:
    """Return the name of a classification or an option, or else its identifier."""
    return holder.get("name", holder.get("value"))
