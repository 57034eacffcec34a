"""Reports of Appen, once Figure Eight and CrowdFlower: the full CSV report and the JSON report.

A row of the full report is a judgment: a unit, a contributor, and an answer per question. The known
answer to a question is in the column ``QUESTION_gold``. A line of the JSON report is a unit with
its judgments. Answers with several labels, and several accepted answers, are on separate lines.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from quietcrowd.exceptions import FormatError
from quietcrowd.formats import csv
from quietcrowd.formats.columns import (
    Choice,
    choose_field,
    id_text,
    text_column,
    transposed,
    warn_left_out,
)
from quietcrowd.formats.forms import answer_table, split_texts
from quietcrowd.formats.jsonl import object_in, objects_in, read_objects

NAME = "Appen report"

_UNIT, _WORKER, _TAINTED, _GOLDEN = "_unit_id", "_worker_id", "_tainted", "_golden"
_CREATED, _GOLD, _OLD = "_created_at", "_gold", "orig_"
_QUESTIONS_END = "orig__golden"
"""The first column after the questions, if a job has test questions."""

_TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")

_Judgment: TypeAlias = tuple[str, str | None, str | None, Any, Any, Any]
"""Place, unit, worker, time, answer and whether it is tainted."""

_Known: TypeAlias = tuple[str, Any, Any, bool]
"""Place, unit, known answer, and whether the unit is a test question."""


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the answers to one question; a unit is a task.

    Tainted judgments are dropped with a warning, unless `choice` includes rejected answers.
    """
    field, judgments = (_of_table if _is_table(path) else _of_units)(path, choice)
    kept = [one for one in judgments if choice.rejected or not _is_true(one[5])]
    tainted = len(judgments) - len(kept)
    warn_left_out(path, {"tainted judgments (convert --include-rejected includes them)": tainted})
    values = split_texts([one[4] for one in kept], "\n")
    return answer_table(path, field, (one[:4] for one in kept), values, choice)


def read_truths(path: Path, choice: Choice) -> pa.Table:
    """Return the known answers to one question in test questions."""
    known: dict[tuple[Any, str], None] = {}
    ordinary = 0
    gold = _gold_of_table if _is_table(path) else _gold_of_units
    for place, unit, answer, test in gold(path, choice):
        accepted = _accepted(answer)
        ordinary += bool(accepted) and not test
        if not accepted or not test:
            continue
        if len(accepted) > 1:
            raise FormatError(
                "formats.gold-with-several-labels", path=path, place=place, gold=accepted
            )
        known[unit, accepted[0]] = None
    warn_left_out(path, {"known answers to units that are not test questions": ordinary})
    units, labels = transposed(known, 2)
    return pa.table({"task": text_column(units), "label": text_column(labels)})


def _is_table(path: Path) -> bool:
    return path.name.lower().endswith(_TABLES)


def _is_true(cell: Any) -> bool:
    return cell is True or (isinstance(cell, str) and cell.lower() in ("true", "1"))


def _of_table(path: Path, choice: Choice) -> tuple[str, Sequence[_Judgment]]:
    names = csv.names(path)
    if _WORKER not in names:
        raise FormatError("formats.report-aggregated", path=path, worker=_WORKER)
    _check_units(path, names)
    questions = _questions(names)
    if choice.field in names:
        questions.append(choice.field)
    field = choose_field(path, list(dict.fromkeys(questions)), choice.field)
    others = tuple(name for name in (_TAINTED, _CREATED) if name in names)
    rows = csv.read(path, (_UNIT, _WORKER, field, *others)).to_pylist()
    return field, [
        (f"row {number}", row[_UNIT], row[_WORKER], row.get(_CREATED), answer, row.get(_TAINTED))
        for number, row in enumerate(rows)
        for answer in [row[field] and row[field].replace("\r\n", "\n")]
    ]


def _check_units(path: Path, names: Sequence[str]) -> None:
    if _UNIT not in names:
        raise FormatError("formats.column-missing", path=path, missing=_UNIT)


def _questions(names: Sequence[str]) -> list[str]:
    """Return the columns of questions, or of all data if questions have no known answers."""
    data = [name for name in names if not name.startswith(("_", _OLD))]
    if _QUESTIONS_END in names:
        before = names[: names.index(_QUESTIONS_END)]
        return [name for name in data if name in before]
    with_gold = [name for name in data if f"{name}{_GOLD}" in names]
    return with_gold or data


def _of_units(path: Path, choice: Choice) -> tuple[str, Sequence[_Judgment]]:
    found = [
        (f"{place}, judgment {number}", unit, judgment)
        for place, unit in read_objects(path)
        for results in [object_in(path, place, unit, "results")]
        for number, judgment in enumerate(objects_in(path, place, results, "judgments"))
    ]
    data = [object_in(path, place, judgment, "data") for place, _, judgment in found]
    names = list(dict.fromkeys(name for one in data for name in one))
    field = choose_field(path, names, choice.field)
    return field, [
        (
            place,
            id_text(path, place, "id", unit.get("id")),
            id_text(path, place, "worker_id", judgment.get("worker_id")),
            judgment.get("created_at"),
            answers.get(field),
            judgment.get("tainted"),
        )
        for (place, unit, judgment), answers in zip(found, data, strict=True)
    ]


def _gold_of_table(path: Path, choice: Choice) -> Iterator[_Known]:
    names = csv.names(path)
    _check_units(path, names)
    gold = f"{_gold_field(path, names, choice)}{_GOLD}"
    rows = csv.read(path, (_UNIT, gold, *((_GOLDEN,) if _GOLDEN in names else ()))).to_pylist()
    for number, row in enumerate(rows):
        yield f"row {number}", row[_UNIT], row[gold], _is_true(row.get(_GOLDEN, True))


def _gold_of_units(path: Path, choice: Choice) -> Iterator[_Known]:
    units = read_objects(path)
    data = [object_in(path, place, unit, "data") for place, unit in units]
    names = list(dict.fromkeys(name for one in data for name in one))
    gold = f"{_gold_field(path, names, choice)}{_GOLD}"
    for (place, unit), known in zip(units, data, strict=True):
        test = unit.get("state") == "golden" or _is_true(known.get(_GOLDEN))
        yield place, id_text(path, place, "id", unit.get("id")), known.get(gold), test


def _gold_field(path: Path, names: Sequence[str], choice: Choice) -> str:
    fields = [name.removesuffix(_GOLD) for name in names if name.endswith(_GOLD)]
    fields = [name for name in fields if name and not name.startswith(("_", _OLD))]
    return choose_field(path, fields, choice.field)


def _accepted(gold: Any) -> list[str]:
    """Return the accepted answers without blank ones."""
    texts = gold if isinstance(gold, list) else [gold]
    lines = [line for text in texts if text is not None for line in str(text).split("\n")]
    return [line.strip() for line in lines if line.strip()]
