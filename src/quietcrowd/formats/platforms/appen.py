"""Reports of Appen, once Figure Eight and CrowdFlower: the full CSV report and the JSON report.

A row of the full report is a judgment: a unit, a contributor, and an answer per question. The known
answer to a question is in the column ``QUESTION_gold``. A line of the JSON report is a unit with
its judgments. Answers with several labels, and several accepted answers, are on separate lines.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import frozen

from quietcrowd.exceptions import FormatError
from quietcrowd.formats import csv
from quietcrowd.formats.columns import TIME, Choice, choose_field, id_text, warn_left_out
from quietcrowd.formats.forms import answer_table, split_texts
from quietcrowd.formats.jsonl import read_objects
from quietcrowd.formats.times import time_column

NAME = "Appen report"

_UNIT, _WORKER, _TAINTED, _GOLDEN = "_unit_id", "_worker_id", "_tainted", "_golden"
_CREATED, _GOLD, _OLD = "_created_at", "_gold", "orig_"
_QUESTIONS_END = "orig__golden"
"""The first column after the questions, if a job has test questions."""

_TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")


def read(path: Path, wanted: tuple[str, ...], choice: Choice) -> pa.Table:
    """Return the answers to one question or, without workers, those of test questions.

    A unit is a task. Tainted judgments are dropped with a warning, unless `choice` includes
    rejected answers.
    """
    table = path.name.lower().endswith(_TABLES)
    if "worker" not in wanted:
        gold = _gold_of_table if table else _gold_of_units
        return _truths(path, gold(path, choice))
    judgments = _of_table(path, choice) if table else _of_units(path, choice)
    kept = [choice.rejected or not tainted for tainted in judgments.tainted]
    warn_left_out(
        path,
        {"tainted judgments (convert --include-rejected includes them)": kept.count(False)},
    )
    columns = {"task": judgments.units, "worker": judgments.workers}
    ids = {name: pa.array(compress(ids, kept), pa.string()) for name, ids in columns.items()}
    ids[TIME] = time_column(list(compress(judgments.times, kept)))
    values = split_texts(list(compress(judgments.values, kept)), "\n")
    places = list(compress(judgments.places, kept))
    return answer_table(path, ids, judgments.field, values, choice, places)


@frozen(kw_only=True)
class _Judgments:
    """Answers to one question, by column."""

    field: str
    places: Sequence[str]
    units: Sequence[str | None]
    workers: Sequence[str | None]
    values: Sequence[Any]
    tainted: Sequence[bool]
    times: Sequence[Any]


def _of_table(path: Path, choice: Choice) -> _Judgments:
    names = csv.names(path)
    if _WORKER not in names:
        raise FormatError("formats.report-aggregated", path=path, worker=_WORKER)
    _check_units(path, names)
    questions = _questions(names)
    if choice.field in names:
        questions.append(choice.field)
    field = choose_field(path, list(dict.fromkeys(questions)), choice.field)
    others = tuple(name for name in (_TAINTED, _CREATED) if name in names)
    table = csv.read(path, (_UNIT, _WORKER, field, *others))
    cells = {name: table[name].to_pylist() for name in table.column_names}
    missing = [None] * len(table)
    return _Judgments(
        field=field,
        places=[f"row {row}" for row in range(len(table))],
        units=cells[_UNIT],
        workers=cells[_WORKER],
        values=[cell and cell.replace("\r\n", "\n") for cell in cells[field]],
        tainted=[_is_true(cell) for cell in cells.get(_TAINTED, missing)],
        times=cells.get(_CREATED, missing),
    )


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


def _is_true(cell: Any) -> bool:
    return cell is True or (isinstance(cell, str) and cell.lower() in ("true", "1"))


def _of_units(path: Path, choice: Choice) -> _Judgments:
    found = [
        (f"{place}, judgment {number}", unit, judgment)
        for place, unit in read_objects(path)
        for number, judgment in enumerate(_judgments(path, place, unit))
    ]
    data = [_object(path, place, judgment, "data") for place, _, judgment in found]
    questions = dict.fromkeys(name for one in data for name in one)
    field = choose_field(path, list(questions), choice.field)
    return _Judgments(
        field=field,
        places=[place for place, _, _ in found],
        units=[id_text(path, place, "id", unit.get("id")) for place, unit, _ in found],
        workers=[
            id_text(path, place, "worker_id", judgment.get("worker_id"))
            for place, _, judgment in found
        ],
        values=[one.get(field) for one in data],
        tainted=[_is_true(judgment.get("tainted")) for _, _, judgment in found],
        times=[judgment.get("created_at") for _, _, judgment in found],
    )


def _judgments(path: Path, place: str, unit: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    judgments = _object(path, place, unit, "results").get("judgments")
    if judgments is None:
        return []
    if not isinstance(judgments, list) or not all(isinstance(one, dict) for one in judgments):
        raise FormatError("formats.judgments-not-listed", path=path, place=place)
    return judgments


def _object(path: Path, place: str, holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = holder.get(name)
    if found is not None and not isinstance(found, dict):
        raise FormatError("formats.key-not-an-object", path=path, place=place, name=name)
    return found or {}


def _gold_of_table(path: Path, choice: Choice) -> Iterator[tuple[str, Any, Any, bool]]:
    """Yield the place, the unit, the known answer and whether the unit is a test question."""
    names = csv.names(path)
    _check_units(path, names)
    field = _gold_field(path, names, choice)
    columns = (_UNIT, f"{field}{_GOLD}", *((_GOLDEN,) if _GOLDEN in names else ()))
    table = csv.read(path, columns)
    units, gold = table[_UNIT].to_pylist(), table[f"{field}{_GOLD}"].to_pylist()
    golden = table[_GOLDEN].to_pylist() if _GOLDEN in names else ["true"] * len(table)
    for row, (unit, answer, test) in enumerate(zip(units, gold, golden, strict=True)):
        yield f"row {row}", unit, answer, _is_true(test)


def _gold_of_units(path: Path, choice: Choice) -> Iterator[tuple[str, Any, Any, bool]]:
    units = read_objects(path)
    data = [_object(path, place, unit, "data") for place, unit in units]
    names = list(dict.fromkeys(name for one in data for name in one))
    field = _gold_field(path, names, choice)
    for (place, unit), known in zip(units, data, strict=True):
        test = unit.get("state") == "golden" or _is_true(known.get(_GOLDEN))
        yield place, id_text(path, place, "id", unit.get("id")), known.get(f"{field}{_GOLD}"), test


def _gold_field(path: Path, names: Sequence[str], choice: Choice) -> str:
    fields = [name.removesuffix(_GOLD) for name in names if name.endswith(_GOLD)]
    fields = [name for name in fields if name and not name.startswith(("_", _OLD))]
    return choose_field(path, fields, choice.field)


def _truths(path: Path, rows: Iterator[tuple[str, Any, Any, bool]]) -> pa.Table:
    known: dict[tuple[Any, str], None] = {}
    ordinary = 0
    for place, unit, gold, test in rows:
        answers = _accepted(gold)
        if not answers:
            continue
        if not test:
            ordinary += 1
            continue
        if len(answers) > 1:
            raise FormatError(
                "formats.gold-with-several-labels", path=path, place=place, gold=answers
            )
        known[unit, answers[0]] = None
    warn_left_out(path, {"known answers to units that are not test questions": ordinary})
    return pa.table(
        {
            "task": pa.array([unit for unit, _ in known], pa.string()),
            "label": pa.array([label for _, label in known], pa.string()),
        }
    )


def _accepted(gold: Any) -> list[str]:
    """Return the accepted answers without blank ones."""
    texts = gold if isinstance(gold, list) else [gold]
    lines = [line for text in texts if text is not None for line in str(text).split("\n")]
    return [line.strip() for line in lines if line.strip()]
