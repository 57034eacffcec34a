"""File of tasks that a requester uploads, and a summary of how it was read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import evolve, field, frozen

from quietcrowd.campaign.terms.near_copies import largest_group, look_alike_tasks
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.task_checks import check_no_answers
from quietcrowd.campaign.terms.tasks import READERS, TaskColumns, TaskRow, encode_known_truths
from quietcrowd.commands.printing import note
from quietcrowd.domains import Domain
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.validation import parse_json

_MOST_NOTES = 5

PART = 900_000
"""Bytes of tasks per request."""

_TABLES = {".csv": "text/csv", ".tsv": "text/tab-separated-values"}
_LINES = "application/x-ndjson"

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

    def rows(self, domain: Domain, columns: TaskColumns = TaskColumns()) -> list[TaskRow]:  # noqa: B008
        """Return the tasks as the server will read them.

        If `columns` names the columns that workers see, none of them is taken for an answer.
        """
        try:
            rows = list(READERS[self.media_type](self.content, columns))
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
        f"truth{'s' * (known != 1)}; workers see: {one_line(', '.join(shown)) or 'names alone'}"
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


def tell_alike_tasks(
    rows: Sequence[TaskRow], mechanism: Mechanism, answers: int | None, *, linked: int | None
) -> None:
    """Print how many answers share one question, and which tasks have look-alike letters."""
    shown = [(row.name or str(place), json.loads(row.data)) for place, row in enumerate(rows, 1)]
    found = min(largest_group(shown, mechanism), answers or len(rows))
    if linked is None and found > 1:
        note(
            f"Up to {found:,} answers of a worker count as answers to one question: their "
            "tasks show the same letters, and may differ in numbers or ids alone. Workers are "
            "told so. If these are different questions, write what differs in words."
        )
    for names in look_alike_tasks(shown)[:_MOST_NOTES]:
        more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
        note(
            f"Tasks {', '.join(map(one_line, names[:3]))}{more} look alike, but contain "
            "different characters, such as a Cyrillic and a Latin a. They count as one "
            "question. Write each letter in one script."
        )
