"""Results in parts: a head, and pages of truths and workers, all with one ETag."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from quietcrowd.campaign.protocol.fields import Id
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.result_documents import ResultHead, ResultRows
from quietcrowd.campaign.results.shown_results import ShownResults
from quietcrowd.campaign.server.etags import known_already, not_modified
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import (
    ReaderOf,
    Requester,
    Service,
    ServiceOf,
    read_cursor,
    write_cursor,
)
from quietcrowd.campaign.store.dashboards import Reader
from quietcrowd.campaign.terms.settings import PREFIX

__all__ = [
    "ResultQuery",
    "etag_of",
    "read_head",
    "read_truths",
    "read_workers",
    "results_for",
    "router",
]

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}/results", tags=["results"])

_ETAG, _NUMBER = 16, 4
"""Bytes of a cursor: the ETag of the results, and the number of the page."""

_KNOWN = Annotated[str | None, Header(max_length=1_000)]
_SAID: dict[int | str, dict[str, Any]] = {304: {"description": "Nothing has changed"}}


def results_for(
    reader: Reader,
    service: Service,
    connection: Connection,
    campaign: Any,
    kinds: Collection[str] = (),
) -> ShownResults:
    """Return the latest results of a campaign that the reader may see."""
    wanted = [kind for kind in kinds if kind != "workers" or reader.sees_workers]
    found = ShownResults.read(service.database, connection, campaign, wanted)
    return found if reader.sees_workers else found.without_workers()


def etag_of(found: ShownResults) -> dict[str, str]:
    """Return the ETag header of results."""
    return {"ETag": found.tag}


class ResultQuery(BaseModel):
    """The requested page."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cursor: Annotated[
        str | None,
        Field(max_length=100, description="What the page before gave; none for the first page."),
    ] = None


@router.get(
    "/head",
    response_model=None,
    responses={
        200: {"model": ResultHead},
        **_SAID,
        **documented("credential", "not-found", "no-results"),
    },
)
def read_head(
    campaign: Id, reader: ReaderOf, service: ServiceOf, if_none_match: _KNOWN = None
) -> Response:
    """Return the latest results without their rows, and the numbers of rows.

    A token shows neither workers nor their pseudonyms.
    """
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        found = results_for(reader, service, connection, row)
    if known_already(found.tag, if_none_match):
        return not_modified(found.tag)
    counted = {**json.loads(found.head), **found.counts}
    return Response(json.dumps(counted), headers=etag_of(found), media_type="application/json")


_PAGE: dict[int | str, dict[str, Any]] = {
    200: {"model": ResultRows},
    **_SAID,
    **documented("credential", "not-found", "no-results", "results-changed"),
}


@router.get("/truths", response_model=None, responses=_PAGE)
def read_truths(
    campaign: Id,
    reader: ReaderOf,
    service: ServiceOf,
    page: Annotated[ResultQuery, Query()],
    if_none_match: _KNOWN = None,
) -> Response:
    """Return a page of truths. It is rejected if the results have changed since the first page."""
    return _page("truths", campaign, reader, service, page.cursor, if_none_match)


@router.get("/workers", response_model=None, responses=_PAGE)
def read_workers(
    campaign: Id,
    requester: Requester,
    service: ServiceOf,
    page: Annotated[ResultQuery, Query()],
    if_none_match: _KNOWN = None,
) -> Response:
    """Return a page of workers. It is rejected if the results have changed since the first page."""
    return _page(
        "workers", campaign, Reader(requester=requester), service, page.cursor, if_none_match
    )


def _page(
    kind: str,
    campaign: str,
    reader: Reader,
    service: Service,
    cursor: str | None,
    if_none_match: str | None,
) -> Response:
    place = read_cursor(cursor, _ETAG + _NUMBER)
    number = int.from_bytes(place[_ETAG:])
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        found = results_for(reader, service, connection, row)
        if place and place[:_ETAG].hex() != found.etag:
            raise ProblemError(
                "results-changed", "The results have changed: start with the first page again."
            )
        if known_already(found.tag, if_none_match):
            return not_modified(found.tag)
        content, more = found.page(connection, kind, number)
    place = bytes.fromhex(found.etag) + (number + more).to_bytes(_NUMBER)
    further = write_cursor(place) if more else None
    return Response(
        f'{{"items":{content},"next_cursor":{json.dumps(further)}}}',
        headers=etag_of(found),
        media_type="application/json",
    )
