"""Tasks, imported from files while a campaign is a draft."""

import json
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from attrs import frozen
from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy import Connection, delete, func, insert, select

from quietcrowd.campaign.protocol.campaign_documents import (
    FileReading,
    TaskCount,
    TaskDocument,
    TaskPage,
)
from quietcrowd.campaign.protocol.fields import ColumnName, Id, PageQuery
from quietcrowd.campaign.protocol.problems import ProblemError, broken_rule
from quietcrowd.campaign.server.api.draft_checks import mechanism_for_tasks
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import (
    ReaderOf,
    Requester,
    ServiceOf,
    read_cursor,
    require_state,
    write_cursor,
)
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.campaigns import update_campaign
from quietcrowd.campaign.store.images import images_by_name
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.task_files import TaskUpload
from quietcrowd.campaign.task_reading import describe
from quietcrowd.campaign.terms.advice import to_requester
from quietcrowd.campaign.terms.channels import parse_mechanism
from quietcrowd.campaign.terms.options import among_options, with_options
from quietcrowd.campaign.terms.settings import MAX_TASK_TEXT, MAX_TASKS, PREFIX
from quietcrowd.campaign.terms.task_checks import check_no_answers
from quietcrowd.campaign.terms.task_columns import TaskColumns
from quietcrowd.campaign.terms.task_images import with_image_hash
from quietcrowd.campaign.terms.tasks import READERS, TaskRow, encode_known_truths
from quietcrowd.campaign.terms.tokens import new_id
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}/tasks", tags=["tasks"])

_POSITION = 8
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "text/csv": {
                "schema": {"type": "string"},
                "example": "task,question,gold\nt1,Is it a bird?,yes\nt2,Is it a plane?,\n",
            },
            "text/tab-separated-values": {"schema": {"type": "string"}},
            "application/json": {
                "schema": {"type": "array", "items": {"type": "object"}},
                "example": [{"id": 1, "data": {"question": "Is it a bird?"}, "gold": "yes"}],
            },
            "application/x-ndjson": {
                "schema": {"type": "string"},
                "example": '{"task": "t1", "data": {"question": "Is it a bird?"}}\n',
            },
        },
    }
}
_ANY_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A file of tasks in any format, whatever its media type.",
        "content": {
            **_BODY["requestBody"]["content"],
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


FileName: TypeAlias = Annotated[
    str | None,
    Query(
        max_length=200,
        description="Name of the file: its format follows from its content, whatever the media "
        "type says. It may be a workbook (.xlsx, .ods) or Parquet, too, and the column `image` may "
        "name files that were sent to `images`.",
    ),
]
Shown: TypeAlias = Annotated[
    list[ColumnName] | None,
    Query(
        max_length=200,
        description="Columns that workers see, once each; none: all except the name and `gold`.",
    ),
]
NamedBy: TypeAlias = Annotated[
    ColumnName | None,
    Query(description="Column that names a task; none: `task`, `external_id` or `id`."),
]


@frozen(kw_only=True)
class SentFile:
    """A file of tasks in the body of a request; only one with a name may have any format."""

    kind: str
    content: bytes
    name: str | None
    columns: TaskColumns

    def upload(self) -> TaskUpload:
        """Return the rows, or raise ProblemError."""
        try:
            return TaskUpload.read(self.content, self.name or "")
        except FormatError as error:
            raise _invalid(to_requester(error)) from None

    def rows(self) -> list[TaskRow]:
        """Return the tasks, or raise ProblemError."""
        if self.name is None:
            return _rows(self.kind, self.content)
        upload = self.upload()
        try:
            return upload.rows(self.columns)
        except FormatError as error:
            raise _invalid(to_requester(error)) from None


async def _file(
    request: Request, file: FileName = None, shown: Shown = None, task: NamedBy = None
) -> SentFile:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return SentFile(
        kind=kind,
        content=await request.body(),
        name=file,
        columns=TaskColumns(name=task, shown=None if shown is None else tuple(shown)),
    )


def _rows(kind: str, content: bytes) -> list[TaskRow]:
    if kind not in READERS:
        raise ProblemError("media-type", f"Send one of {', '.join(READERS)}.")
    try:
        rows = list(READERS[kind](content))
    except FormatError as error:  # these name rows, and rules
        raise _invalid(to_requester(error)) from None
    if not rows:
        raise _invalid("the file has no tasks")
    return rows


def _invalid(message: str) -> ProblemError:
    return broken_rule("", "file", message)


@router.post(
    "",
    openapi_extra=_BODY,
    responses=documented("credential", "not-found", "bad-state", "task-repeated", "media-type"),
)
def import_tasks(
    campaign: Id,
    requester: Requester,
    service: ServiceOf,
    sent: Annotated[SentFile, Depends(_file)],
) -> TaskCount:
    """Add the tasks of a file: all of them, or none."""
    with service.database.read() as connection:
        owned_campaign(connection, requester, campaign)
    rows = sent.rows()
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        require_state(row.state, "draft")
        if sent.name is not None:
            rows = _with_images(connection, row.id, rows)
        counted = _add(connection, row, rows)
        count = counted.tasks
        update_campaign(connection, row, tasks=count, **mechanism_for_tasks(row, count))
        return counted


def _with_images(connection: Connection, campaign: bytes, rows: Sequence[TaskRow]) -> list[TaskRow]:
    """Return tasks with the hashes of images that they name by their files."""
    stored = images_by_name(connection, campaign)

    def hash_of(name: str) -> str:
        if name not in stored:
            raise ValueError("no image with this file name was sent: send it to images first")
        return stored[name]

    found = []
    for row in rows:
        try:
            found.append(with_image_hash(row, hash_of))
        except ValueError as error:
            raise _invalid(f"row {row.row}, column image: {error}") from None
    return found


@router.post(
    "/reading",
    openapi_extra=_ANY_BODY,
    responses=documented("credential", "not-found", "bad-state"),
)
def read_file(
    campaign: Id,
    requester: Requester,
    service: ServiceOf,
    sent: Annotated[SentFile, Depends(_file)],
) -> FileReading:
    """Describe a file of tasks, without adding them.

    Unless `shown` selects columns, those that look like answers of workers are left out.
    """
    with service.database.read() as connection:
        row = owned_campaign(connection, requester, campaign)
    require_state(row.state, "draft")
    domain = parse_mechanism(row.mechanism).domain
    return FileReading.model_validate(describe(sent.upload(), sent.columns, domain))


def _add(connection: Connection, campaign: Any, rows: Sequence[TaskRow]) -> TaskCount:
    table = tables.task
    mine = table.c.campaign_id == campaign.id
    before = connection.scalar(select(func.max(table.c.position)).where(mine)) or 0
    names = [row.name or str(before + place) for place, row in enumerate(rows, start=1)]
    mechanism = parse_mechanism(campaign.mechanism)
    if mechanism.option_counts:
        rows = _with_options(mechanism, names, rows)
    held = set(connection.scalars(select(table.c.name).where(mine)))
    if len(set(names)) < len(names) or held & set(names):
        raise ProblemError("task-repeated", "Give every task a unique name.")
    if len(held) + len(names) > MAX_TASKS:
        raise _invalid(f"a campaign has at most {MAX_TASKS:,} tasks")
    text = select(func.sum(func.length(table.c.name) + func.length(table.c.data))).where(mine)
    added = sum(map(len, names)) + sum(len(row.data) for row in rows)
    if (connection.scalar(text) or 0) + added > MAX_TASK_TEXT:
        raise _invalid(
            f"all tasks of a campaign together have at most {MAX_TASK_TEXT:,} characters"
        )
    try:
        truths = encode_known_truths(mechanism.domain, rows)
        check_no_answers(mechanism.domain, rows)
    except FormatError as error:
        raise _invalid(to_requester(error)) from None
    connection.execute(
        insert(table),
        [
            {
                "id": new_id(),
                "campaign_id": campaign.id,
                "position": before + place,
                "name": name,
                "data": row.data,
                "gold": truth,
            }
            for place, (name, row, truth) in enumerate(
                zip(names, rows, truths, strict=True), start=1
            )
        ],
    )
    return TaskCount(imported=len(rows), tasks=len(held) + len(names))


def _with_options(
    mechanism: Mechanism, names: Sequence[str], rows: Sequence[TaskRow]
) -> list[TaskRow]:
    try:
        listed = with_options(rows, mechanism.domain)
        among_options(mechanism, zip(names, (json.loads(row.data) for row in listed), strict=True))
    except (FormatError, ParameterError) as error:
        raise _invalid(to_requester(error)) from None
    return listed


@router.get("", responses=documented("credential", "not-found"))
def list_tasks(
    campaign: Id, reader: ReaderOf, service: ServiceOf, page: Annotated[PageQuery, Query()]
) -> TaskPage:
    """Return a page of the tasks, in the order of their files."""
    after = min(int.from_bytes(read_cursor(page.cursor, _POSITION)), 2**63 - 1)
    table = tables.task
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        found = connection.execute(
            select(table)
            .where(table.c.campaign_id == row.id, table.c.position > after)
            .order_by(table.c.position)
            .limit(page.limit)
        ).all()
    items = [
        TaskDocument(
            task_id=one.id.hex(),
            task=one.name,
            data=json.loads(one.data),
            gold=None if one.gold is None else json.loads(one.gold),
        )
        for one in found
    ]
    more = len(found) == page.limit
    last = write_cursor(found[-1].position.to_bytes(_POSITION)) if more else None
    return TaskPage(items=items, next_cursor=last)


@router.delete("", status_code=204, responses=documented("credential", "not-found", "bad-state"))
def delete_tasks(campaign: Id, requester: Requester, service: ServiceOf) -> None:
    """Remove all tasks of a draft, and their images."""
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        require_state(row.state, "draft")
        update_campaign(connection, row, tasks=0, **mechanism_for_tasks(row, 0))
        for table in (tables.task, tables.image):
            connection.execute(delete(table).where(table.c.campaign_id == row.id))
