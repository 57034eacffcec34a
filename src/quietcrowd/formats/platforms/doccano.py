"""Exports of doccano: JSON Lines of labeled texts, in one file per annotator.

doccano packs the files ``NAME.jsonl`` of all annotators into one archive. Older versions write one
file, whose rows have a ``username``, or ``annotations`` with a ``user`` each.
"""

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import Choice, reject_truths
from quietcrowd.formats.files import open_text
from quietcrowd.validation import parse_json

NAME = "doccano export"

_LABELS = ("label", "labels", "category", "categories")
_EVERYBODY = frozenset({"all", "unknown"})
"""Names of files that do not identify the annotator."""


def read(path: Path, wanted: tuple[str, ...], choice: Choice) -> pa.Table:
    """Return one answer per text and annotator; the id of a text is the task."""
    reject_truths(path, wanted, NAME)
    if choice.field is not None:
        raise FormatError("formats.platform-without-fields", path=path, name=NAME)
    rows: list[tuple[str, str, str | None]] = []
    for file, worker, lines in _files(path):
        for number, line in enumerate(lines, start=1):
            if line.strip():
                rows += _answers(f"{file}: line {number}", worker, line)
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    texts = (pa.array(column, pa.string()) for column in columns)
    return pa.table(dict(zip(("task", "worker", "label"), texts, strict=True)))


def _files(path: Path) -> Iterator[tuple[str, str, Iterator[str]]]:
    if path.suffix.lower() != ".zip":
        with open_text(path, "utf-8-sig") as file:
            yield str(path), path.name.partition(".")[0], file
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".jsonl"):
                    with archive.open(name) as packed:
                        text = io.TextIOWrapper(packed, "utf-8-sig")
                        yield f"{path}: {name}", PurePosixPath(name).stem, text
    except zipfile.BadZipFile as error:
        raise FormatError("formats.document-invalid", path=path, name=NAME, error=error) from None


def _answers(place: str, file_of: str, line: str) -> list[tuple[str, str, str | None]]:
    try:
        record = parse_json(line)
    except ValueError as error:
        raise FormatError("formats.place-not-json", place=place, error=error) from None
    if not isinstance(record, dict):
        raise FormatError("formats.place-not-an-object", place=place)
    task = record.get("id", record.get("doc_id"))
    if task is None:
        raise FormatError("formats.place-without-id", place=place)
    if isinstance(record.get("annotations"), list):
        return [
            (str(task), _worker(place, one.get("user"), file_of), _text(one.get("label")))
            for one in record["annotations"]
        ]
    found: Any = next((record[name] for name in _LABELS if name in record), [])
    labels = found if isinstance(found, list) else [found]
    if len(labels) > 1:
        raise FormatError("formats.place-with-several-labels", place=place, count=len(labels))
    if not labels:
        return []
    worker = _worker(place, record.get("username"), file_of)
    return [(str(task), worker, _text(labels[0]))]


def _worker(place: str, named: Any, file_of: str) -> str:
    worker = file_of if named is None else str(named)
    if named is None and worker in _EVERYBODY:
        raise FormatError("formats.annotator-missing", place=place)
    return worker


def _text(label: Any) -> str | None:
    return None if label is None else str(label)
