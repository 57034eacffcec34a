"""File of tasks that a requester uploads, its images, and a summary of how it was read.

The column ``image`` contains file names, in the directory of the task file or below it, and
``image_alt`` a description. Uploaded tasks name images by their hashes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from time import sleep
from typing import TYPE_CHECKING

from attrs import Factory, define, evolve, field, frozen

from quietcrowd.campaign.task_files import TaskUpload
from quietcrowd.campaign.terms.images import plain_image
from quietcrowd.campaign.terms.near_copies import notes_on_copies
from quietcrowd.campaign.terms.options import domain_of_options, have_options, with_options
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.settings import MAX_IMAGE, MAX_IMAGE_BYTES, MAX_IMAGES
from quietcrowd.campaign.terms.task_checks import check_no_answers
from quietcrowd.campaign.terms.task_columns import GOLD, TaskColumns
from quietcrowd.campaign.terms.task_images import COLUMN, with_image_hash
from quietcrowd.campaign.terms.tasks import READERS, TaskRow, encode_known_truths
from quietcrowd.commands.campaign.client import checked
from quietcrowd.commands.printing import counted, note
from quietcrowd.domains import Domain
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.validation import parse_json

if TYPE_CHECKING:
    import httpx

PART = 900_000
"""Bytes of tasks per request."""

_TABLES = {".csv": "text/csv", ".tsv": "text/tab-separated-values"}
_LINES = "application/x-ndjson"
_UNPACKED = (".xlsx", ".ods", ".parquet")

_EXAMPLES = 2
"""Maximum number of task names in a summary."""


@frozen(kw_only=True)
class TaskFile:
    """Content of a file of tasks in the upload format.

    The media type is a table, or JSON Lines. `path` is for messages.
    """

    path: Path
    media_type: str
    content: bytes = field(repr=False)

    @classmethod
    def read(cls, path: Path) -> TaskFile:
        """Read a file of tasks."""
        suffix = path.suffix.lower()
        if suffix in _TABLES:
            return cls(path=path, media_type=_TABLES[suffix], content=path.read_bytes())
        if suffix == ".jsonl":
            return cls(path=path, media_type=_LINES, content=path.read_bytes())
        if suffix in _UNPACKED:
            return cls._unpacked(path)
        if suffix != ".json":
            raise ParameterError("commands.task-file-name", path=path)
        try:
            found = parse_json(path.read_text(encoding="utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise FormatError("commands.not-json", path=path, error=error) from None
        rows = found if isinstance(found, list) else [found]
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        return cls(path=path, media_type=_LINES, content=lines.encode())

    @classmethod
    def _unpacked(cls, path: Path) -> TaskFile:
        """Read a workbook or a Parquet file, whose rows become JSON Lines."""
        try:
            upload = TaskUpload.read(path.read_bytes(), path.name)
        except FormatError as error:
            raise FormatError("commands.in-file", path=path, error=error) from None
        for text in upload.notes:
            note(text)
        lines = (
            {**{name: cell for name, cell in fields.items() if cell != "" or name != GOLD}, **more}
            for _, fields, data in upload.records
            for more in [{} if data is None else {"data": data}]
        )
        content = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        return cls(path=path, media_type=_LINES, content=content)

    @classmethod
    def of(cls, path: Path, rows: Sequence[TaskRow]) -> TaskFile:
        """Return tasks as JSON Lines."""
        lines = (
            {
                **({} if row.name is None else {"task": row.name}),
                **({} if row.known_truth is None else {"gold": row.known_truth}),
                "data": json.loads(row.data),
            }
            for row in rows
        )
        content = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        return cls(path=path, media_type=_LINES, content=content)

    def options(self, columns: TaskColumns) -> Domain | None:
        """Return all options of the tasks as labels; None if the file has no options."""
        try:
            rows = list(READERS[self.media_type](self.content, columns))
            return domain_of_options(rows) if have_options(rows) else None
        except FormatError as error:
            raise FormatError("commands.in-file", path=self.path, error=error) from None

    def rows(self, domain: Domain, columns: TaskColumns = TaskColumns()) -> list[TaskRow]:  # noqa: B008
        """Return the tasks as the server will read them.

        If `columns` names the columns that workers see, none of them is taken for an answer.
        """
        try:
            rows = list(READERS[self.media_type](self.content, columns))
            if have_options(rows):
                rows = with_options(rows, domain)
            encode_known_truths(domain, rows)
            if columns.shown is not None:
                rows = [evolve(row, set_apart=True) for row in rows]
            check_no_answers(domain, rows, quoting=True)
        except FormatError as error:
            raise FormatError("commands.in-file", path=self.path, error=error) from None
        self._check_shown(rows, columns)
        return rows

    def _check_shown(self, rows: Sequence[TaskRow], columns: TaskColumns) -> None:
        found = {name for row in rows for name in json.loads(row.data)}
        for name in columns.shown or ():
            if name not in found and name.strip()[len("input:") :] not in found:
                raise ParameterError("commands.shown-column-missing", path=self.path, name=name)

    def parts(self) -> Iterator[bytes]:
        """Split the content into requests; quoted cells with line breaks stay whole."""
        header = self.media_type in _TABLES.values()
        lines = self.content.splitlines(keepends=True)
        first = lines[0] if header and lines else b""
        part, quotes = first, 0
        for line in lines[1 if header else 0 :]:
            if len(part) + len(line) > PART and quotes % 2 == 0 and part != first:
                yield part
                part, quotes = first, 0
            part += line
            quotes += line.count(b'"') if header else 0
        yield part


def summarize_tasks(rows: Sequence[TaskRow]) -> str:
    r"""Describe the number and names of tasks, and what workers see of them.

    Examples
    --------
    >>> rows = list(READERS["text/csv"](b"id,question,gold\nb1,Is it a robin?,yes\n"))
    >>> summarize_tasks(rows)
    '1 task, named by id: b1; 1 with known truth; workers see: question'
    """
    known = sum(row.known_truth is not None for row in rows)
    shown = dict.fromkeys(field for row in rows for field in json.loads(row.data))
    return (
        f"{len(rows):,} task{'s' * (len(rows) != 1)}, {_naming(rows)}; {known:,} with known "
        f"truth{'s' * (known != 1)}; workers see: {one_line(', '.join(shown)) or 'only names'}"
    )


def _naming(rows: Sequence[TaskRow]) -> str:
    named = [row.name for row in rows if row.name is not None]
    if not named:
        return "numbered, as the file has no column task, external_id or id (see --task-column)"
    examples = one_line(", ".join(named[:_EXAMPLES])) + ", ..." * (len(named) > _EXAMPLES)
    columns = one_line(" or ".join({row.named_by: None for row in rows if row.named_by}))
    if len(named) < len(rows):
        return f"{len(named):,} of them named by {columns}, the others numbered: {examples}"
    return f"named by {columns}: {examples}"


def print_alike_tasks(
    rows: Sequence[TaskRow], mechanism: Mechanism, answers: int | None, *, linked: int | None
) -> None:
    """Print how many answers share one question, and which tasks have look-alike letters."""
    shown = [(row.name or str(place), json.loads(row.data)) for place, row in enumerate(rows, 1)]
    for sentence in notes_on_copies(shown, mechanism, answers, linked):
        note(sentence)


_LONGEST_FILE = 64 * MAX_IMAGE
"""Maximum bytes of a file that is read; no metadata is that long."""

_LATER = frozenset({429, 503})
_TRIES = 60


@define(kw_only=True)
class TaskImages:
    """Images of a file of tasks, by hash and without metadata."""

    tasks: Path
    contents: dict[str, bytes] = field(factory=dict, repr=False)
    _hashes: dict[str, str] = Factory(dict)

    @classmethod
    def read(cls, tasks: Path, rows: Sequence[TaskRow]) -> tuple[TaskImages, list[TaskRow]]:
        """Return the images of the tasks, and the tasks with hashes in place of file names."""
        images = cls(tasks=tasks)
        return images, [images._named(row) for row in rows]

    @property
    def size(self) -> int:
        """Total bytes of the images."""
        return sum(map(len, self.contents.values()))

    @property
    def summary(self) -> str:
        """Description of the images and of the removed metadata."""
        size = f"{self.size / 2**20:,.1f} MiB"
        return (
            f"{counted(len(self.contents), 'image')}, {size}, without the places, times and names "
            "that cameras and programs add. Every worker's device downloads all images."
        )

    def _named(self, row: TaskRow) -> TaskRow:
        try:
            return with_image_hash(row, partial(self._hash, row))
        except ValueError as error:
            if isinstance(error, FormatError):
                raise
            raise self._invalid_row(row, str(error)) from None

    def _hash(self, row: TaskRow, name: str) -> str:
        if name not in self._hashes:
            content = self._content(row, name)
            self._hashes[name] = hashlib.sha256(content).hexdigest()
            self.contents[self._hashes[name]] = content
            if len(self.contents) > MAX_IMAGES or self.size > MAX_IMAGE_BYTES:
                raise self._invalid_row(
                    row,
                    f"the rows so far have {len(self.contents):,} images of {self.size:,} bytes; "
                    f"the limit is {MAX_IMAGES:,} images and {MAX_IMAGE_BYTES:,} bytes in total",
                )
        return self._hashes[name]

    def _content(self, row: TaskRow, name: str) -> bytes:
        place = PurePosixPath(PureWindowsPath(name).as_posix())
        spelled = one_line(name)
        if PureWindowsPath(name).anchor or ".." in place.parts:
            raise self._invalid_row(
                row,
                f"{spelled!r} is outside the directory of the file of tasks. Put the image there, "
                "and write its name",
            )
        content = _read(self.tasks.parent / place)
        if content is None:
            raise self._invalid_row(
                row,
                f"the directory of the file of tasks has no readable file {spelled!r}. To show a "
                "column as text, rename it",
            )
        if len(content) > _LONGEST_FILE:
            raise self._invalid_row(row, f"{spelled!r} is larger than {_LONGEST_FILE:,} bytes")
        return self._plain(row, spelled, content)

    def _plain(self, row: TaskRow, name: str, content: bytes) -> bytes:
        try:
            cleaned = plain_image(content)
        except ValueError as error:
            raise self._invalid_row(row, f"{name!r}: {error}") from None
        if len(cleaned) > MAX_IMAGE:
            raise self._invalid_row(
                row,
                f"{name!r} has {len(cleaned):,} bytes, and the limit is {MAX_IMAGE:,}. Make it "
                "smaller",
            )
        return cleaned

    def _invalid_row(self, row: TaskRow, why: str) -> FormatError:
        return FormatError(
            "commands.task-row-invalid", tasks=self.tasks, row=row.row, column=COLUMN, reason=why
        )


def _read(file: Path) -> bytes | None:
    try:
        if not file.is_file():
            return None
        with file.open("rb") as opened:
            return opened.read(_LONGEST_FILE + 1)
    except (OSError, ValueError):
        return None


def upload_images(client: httpx.Client, campaign: str, images: Mapping[str, bytes]) -> None:
    """Upload images, by hash, to a draft one after the other; wait if the server is busy."""
    headers = {"Content-Type": "application/octet-stream"}
    for sha256, content in images.items():
        url = f"/campaigns/{campaign}/images/{sha256}"
        for _ in range(_TRIES):
            answer = client.put(url, content=content, headers=headers)
            if answer.status_code not in _LATER:
                break
            sleep(1)
        checked(answer)
