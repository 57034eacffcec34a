"""Tasks, imported from files while a campaign is a draft, and their images."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from sqlalchemy import Connection, delete, func, insert, select

from quietcrowd.campaign.protocol.campaign_documents import TaskCount, TaskDocument, TaskPage
from quietcrowd.campaign.protocol.fields import Hash, Id, PageQuery
from quietcrowd.campaign.protocol.problems import ProblemError, broken_rule
from quietcrowd.campaign.server.api.draft_checks import mechanism_for_tasks
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import (
    Credential,
    ReaderOf,
    Requester,
    ServiceOf,
    read_cursor,
    require_state,
    write_cursor,
)
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.campaigns import update_campaign
from quietcrowd.campaign.store.images import checked_image, read_image, store_image
from quietcrowd.campaign.store.participants import find_participant
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.terms.channels import parse_mechanism
from quietcrowd.campaign.terms.images import SUFFIXES
from quietcrowd.campaign.terms.settings import MAX_TASK_TEXT, MAX_TASKS, PREFIX
from quietcrowd.campaign.terms.task_checks import check_no_answers
from quietcrowd.campaign.terms.tasks import READERS, TaskRow, encode_known_truths
from quietcrowd.campaign.terms.tokens import new_id
from quietcrowd.exceptions import FormatError

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}/tasks", tags=["tasks"])

_POSITION = 8
_BODY = {
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


async def _file(request: Request) -> tuple[str, bytes]:
    """Return the media type and content of the body."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind, await request.body()


def _rows(kind: str, content: bytes) -> list[TaskRow]:
    if kind not in READERS:
        raise ProblemError("media-type", f"Send one of {', '.join(READERS)}.")
    try:
        rows = list(READERS[kind](content))
    except FormatError as error:  # these name rows, and rules
        raise _invalid(str(error)) from None
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
    file: Annotated[tuple[str, bytes], Depends(_file)],
) -> TaskCount:
    """Add the tasks of a file: all of them, or none."""
    with service.database.read() as connection:
        owned_campaign(connection, requester, campaign)
    rows = _rows(*file)
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        require_state(row.state, "draft")
        counted = _add(connection, row, rows)
        count = counted.tasks
        update_campaign(connection, row, tasks=count, **mechanism_for_tasks(row, count))
        return counted


def _add(connection: Connection, campaign: Any, rows: Sequence[TaskRow]) -> TaskCount:
    table = tables.task
    mine = table.c.campaign_id == campaign.id
    before = connection.scalar(select(func.max(table.c.position)).where(mine)) or 0
    names = [row.name or str(before + place) for place, row in enumerate(rows, start=1)]
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
    mechanism = parse_mechanism(campaign.mechanism)
    try:
        truths = encode_known_truths(mechanism.domain, rows)
        check_no_answers(mechanism.domain, rows)
    except FormatError as error:
        raise _invalid(str(error)) from None
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


images = APIRouter(prefix=PREFIX, tags=["images"])

_BYTES = {"schema": {"type": "string", "format": "binary"}}
_IMAGE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A PNG, JPEG or WebP without metadata, whatever its media type.",
        "content": {"application/octet-stream": _BYTES},
    }
}
_ALONE = {"Content-Security-Policy": "default-src 'none'; sandbox"}
"""Browsers run nothing in an image, even if they take it for a page."""


async def _body(request: Request) -> bytes:
    return await request.body()


@images.put(
    "/campaigns/{campaign}/images/{sha256}",
    status_code=204,
    openapi_extra=_IMAGE_BODY,
    responses=documented("credential", "not-found", "bad-state", "media-type"),
)
def put_image(
    campaign: Id,
    sha256: Hash,
    requester: Requester,
    service: ServiceOf,
    content: Annotated[bytes, Depends(_body)],
) -> None:
    """Store an image that tasks of a draft refer to by its hash; repeating this has no effect.

    Images that no task refers to are deleted when the campaign opens.
    """
    with service.database.read() as connection:
        owned_campaign(connection, requester, campaign)
    image = checked_image(sha256, content)
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        require_state(row.state, "draft")
        store_image(connection, row.id, image)


@images.get(
    "/me/images/{sha256}",
    response_class=Response,
    responses={
        200: {"description": "The image", "content": dict.fromkeys(SUFFIXES, _BYTES)},
        **documented("credential", "not-found"),
    },
)
def read_own_image(sha256: Hash, credential: Credential, service: ServiceOf) -> Response:
    """Return an image. Devices fetch all images of the tasks when a worker joins."""
    with service.database.read() as connection:
        person = find_participant(connection, credential)
        found = read_image(connection, person.campaign_id, sha256)
    headers = {"ETag": f'"{sha256}"', **_ALONE}
    return Response(found.content, media_type=found.media_type, headers=headers)
