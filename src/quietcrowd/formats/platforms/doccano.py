"""Exports of doccano: labeled texts or images, in one file per annotator.

doccano packs the files of all annotators, such as ``NAME.jsonl``, into one archive. Older versions
write one file, whose rows have a ``username``, or ``annotations`` with a ``user`` each.
"""

import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.csv as pa_csv

from quietcrowd.exceptions import FormatError, QuietcrowdWarning
from quietcrowd.formats.archives import count_files, is_archive, members
from quietcrowd.formats.columns import (
    Choice,
    answers_table,
    check_once,
    id_text,
    unsupported,
    warn_left_out,
)
from quietcrowd.formats.files import open_text
from quietcrowd.formats.jsonl import parse_objects

NAME = "doccano export"

_SUFFIXES = (".jsonl", ".json", ".csv")
_SEVERAL = ", ".join(_SUFFIXES)
_IDS = ("id", "doc_id")
_LABELS = ("label", "labels", "category", "categories", "cats")
_PARTS = ("entities", "relations", "bbox", "segmentation")
"""Keys of projects that mark parts of a text or an image."""

_CELLS = (*_IDS, *_LABELS, "username")
_AS_TEXT = pa_csv.ConvertOptions(column_types=dict.fromkeys(_CELLS, pa.string()))

_JOINED_BY = "#"
"""Separator of the labels in a cell of CSV."""

_STRUCTURE = re.compile(r"""[\[({]+ *\d+, *\d+, *['"].*|[\[{]['"].*[\]}]|\[\]""", re.DOTALL)
"""Matches a span, a list or a dictionary that was converted to text."""

_EVERYBODY = frozenset({"all", "unknown"})
"""Names of files that do not identify the annotator."""

_Record: TypeAlias = tuple[str, str, Mapping[str, Any]]
"""The name of the file without its suffix, a place for messages, and a record."""


def read(path: Path, choice: Choice) -> pa.Table:
    """Return one answer per text and annotator; the id of a text is the task.

    Texts without a label are dropped with a warning: the export does not show whether the annotator
    has seen the text.
    """
    if choice.field is not None:
        raise FormatError("formats.platform-without-fields", path=path, name=NAME)
    rows, empty, unnamed = [], 0, False
    for stem, place, record in _records(path):
        key = next((key for key in _IDS if key in record), _IDS[0])
        task = id_text(path, place, key, record.get(key))
        given = _answers(path, place, stem, record)
        empty += not given
        unnamed |= stem in given and not is_archive(path) and record.get("username") is None
        rows += [(task, worker, labels, None) for worker, labels in given.items()]
    warn_left_out(path, {"texts without a label": empty})
    if unnamed:
        warnings.warn(QuietcrowdWarning("formats.worker-of-file", path=path), stacklevel=2)
    return answers_table(rows, several=choice.sets, unanswered=empty)


def _records(path: Path) -> Iterator[_Record]:
    if not is_archive(path):
        name = PurePosixPath(path.name.removesuffix(".gz"))
        with open_text(path, "utf-8-sig") as file:
            yield from _records_of(path, "", name, file.read())
        return
    count = others = count_files(path)
    for name, text in members(path, _SUFFIXES):
        yield from _records_of(path, f"{name}: ", name, text)
        others -= 1
    if others == count:
        raise FormatError("formats.archive-without-exports", path=path, suffixes=_SEVERAL)
    warn_left_out(path, {f"files that do not end in {_SEVERAL}": others})


def _records_of(path: Path, inside: str, name: PurePosixPath, text: str) -> Iterator[_Record]:
    stem = name.stem
    if name.suffix.lower() != ".csv":
        yield from ((stem, place, record) for place, record in parse_objects(path, text, inside))
        return
    try:
        table = pa_csv.read_csv(pa.BufferReader(text.encode()), convert_options=_AS_TEXT)
    except pa.ArrowInvalid as error:
        raise FormatError("formats.document-invalid", path=path, name=NAME, error=error) from None
    names = [column for column in table.column_names if column in _CELLS]
    check_once(path, table.column_names, names)
    if {*_IDS}.isdisjoint(names) or {*_LABELS}.isdisjoint(names):
        raise FormatError("formats.table-of-other-program", path=path, member=name.name)
    for number, row in enumerate(table.select(names).to_pylist()):
        labels = {key: row[key].split(_JOINED_BY) for key in _LABELS if row.get(key)}
        yield stem, f"{inside}row {number}", {**row, **labels}


def _answers(path: Path, place: str, stem: str, record: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the labels of each annotator."""
    if isinstance(record.get("annotations"), list):
        given: dict[str, list[str]] = {}
        for one in record["annotations"]:
            if not isinstance(one, dict) or "label" not in one:
                raise _unsupported(path, place, one, "an annotation without a label")
            if "start_offset" in one:
                raise _unsupported(path, place, one, "a span")
            labels = _labels(path, place, one["label"])
            worker = id_text(path, place, "user", one.get("user"))
            given.setdefault(worker, []).extend(labels)
        return given
    key = next((key for key in (*_LABELS, *_PARTS) if key in record), None)
    if key is None:
        keys = ", ".join(map(repr, _LABELS))
        raise FormatError("formats.labels-missing", path=path, place=place, keys=keys)
    if key in _PARTS:
        raise _unsupported(path, place, record[key], f"a value of {key!r}")
    labels = _labels(path, place, record[key])
    if not labels:
        return {}
    named = record.get("username")
    if named is None and stem in _EVERYBODY:
        raise FormatError("formats.annotator-missing", path=path, place=place)
    return {id_text(path, place, "username", stem if named is None else named): labels}


def _labels(path: Path, place: str, value: Any) -> list[str]:
    """Return texts, or the numbers of old exports, as labels."""
    labels = value if isinstance(value, list) else [] if value in (None, "") else [value]
    if any(isinstance(one, list) for one in labels) or {int, str} <= set(map(type, labels)):
        raise _unsupported(path, place, value, "a span, or a list of spans")
    for one in labels:
        if type(one) not in (str, int) or one == "" or _STRUCTURE.fullmatch(str(one)):
            raise _unsupported(path, place, value, "no label, and no list of labels")
    return [str(one) for one in labels]


def _unsupported(path: Path, place: str, value: Any, what: str) -> FormatError:
    readable = "one or more labels of a whole text or image"
    return unsupported(path, place, f"{value!r:.60}", what, readable)
