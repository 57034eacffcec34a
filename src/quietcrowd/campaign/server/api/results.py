"""Results: the latest inference of a campaign, whole or in pages, and files for the requester.

The head and the pages of truths and workers have one ETag.
"""

import json
from collections.abc import Collection, Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from quietcrowd.campaign.protocol.fields import Id
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.result_documents import Requested, ResultHead, ResultRows, Results
from quietcrowd.campaign.results.exports import ReportExport, TruthExport, estimates_as_table
from quietcrowd.campaign.results.shown import ShownResults, why_none
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import (
    ReaderOf,
    Requester,
    Service,
    ServiceOf,
    known_already,
    not_modified,
    read_cursor,
    write_cursor,
)
from quietcrowd.campaign.store.dashboards import Reader
from quietcrowd.campaign.store.releases import waits_for_others
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.store.result_pages import ESTIMATES, KINDS
from quietcrowd.campaign.terms.channels import parse_mechanism
from quietcrowd.campaign.terms.rounds import MOST_ROUNDS
from quietcrowd.campaign.terms.settings import PREFIX
from quietcrowd.formats.parquet import MEDIA_TYPE

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}", tags=["results"])

exports = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}", tags=["exports"])

_ETAG, _NUMBER = 16, 4  # bytes of a cursor: the ETag of the results, and the number of the page
Known = Annotated[str | None, Header(max_length=1_000)]
UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "Nothing has changed"}}


def require_truths(campaign: Any) -> None:
    """Raise ProblemError if a campaign shows neither truths nor the quality of workers."""
    if campaign.goal == "shares":
        raise ProblemError(
            "goal-shares", "Read estimates, or change the goal of the campaign to truths."
        )


def results_for(
    reader: Reader,
    service: Service,
    connection: Connection,
    campaign: Any,
    kinds: Collection[str] = (),
    of_round: int | None = None,
) -> ShownResults:
    """Return the latest results of a campaign, or those of a round, that the reader may see."""
    require_truths(campaign)
    wanted = [kind for kind in kinds if kind != "workers" or reader.sees_workers]
    found = ShownResults.read(service.database, connection, campaign, wanted, of_round)
    return found if reader.sees_workers else found.without_workers()


def require_estimates(
    service: Service,
    connection: Connection,
    campaign: Any,
    kinds: Collection[str] = (),
    of_round: int | None = None,
) -> ShownResults:
    """Return the latest results or a round's; raise ProblemError if they have no estimates."""
    found = ShownResults.read(service.database, connection, campaign, kinds, of_round)
    if not found.has_estimates:
        raise ProblemError("no-results", why_none(campaign))
    return found


ROUND: Any = Query(
    alias="round", ge=0, le=MOST_ROUNDS, description="Number of a shown round; null: the last."
)
OfRound = Annotated[int | None, ROUND]


class ResultQuery(BaseModel):
    """The requested page."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    of_round: Annotated[int | None, Field(alias="round", ge=0, le=MOST_ROUNDS)] = None

    cursor: Annotated[
        str | None,
        Field(max_length=100, description="next_cursor of the page before; none for the first."),
    ] = None


def page_number(cursor: str | None, found: ShownResults) -> int:
    """Return the page that a cursor names, or raise ProblemError if it is of other results."""
    place = read_cursor(cursor, _ETAG + _NUMBER)
    if place and place[:_ETAG].hex() != found.etag:
        raise ProblemError(
            "results-changed", "The results have changed: start with the first page again."
        )
    return int.from_bytes(place[_ETAG:])


def next_cursor(found: ShownResults, number: int) -> str:
    """Return the cursor of the page after this one."""
    return write_cursor(bytes.fromhex(found.etag) + (number + 1).to_bytes(_NUMBER))


@router.get(
    "/results/head",
    response_model=None,
    responses={
        200: {"model": ResultHead},
        **UNCHANGED,
        **documented("credential", "not-found", "no-results", "goal-shares"),
    },
)
def read_head(
    campaign: Id,
    reader: ReaderOf,
    service: ServiceOf,
    if_none_match: Known = None,
    of_round: OfRound = None,
) -> Response:
    """Return the latest results without their rows, and the numbers of rows.

    A token shows neither workers nor their pseudonyms.
    """
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        found = results_for(reader, service, connection, row, of_round=of_round)
    if known_already(found.tag, if_none_match):
        return not_modified(found.tag)
    counted = {**json.loads(found.head), **found.counts}
    return Response(json.dumps(counted), headers={"ETag": found.tag}, media_type="application/json")


_PAGE: dict[int | str, dict[str, Any]] = {
    200: {"model": ResultRows},
    **UNCHANGED,
    **documented("credential", "not-found", "no-results", "results-changed", "goal-shares"),
}


@router.get("/results/truths", response_model=None, responses=_PAGE)
def read_truths(
    campaign: Id,
    reader: ReaderOf,
    service: ServiceOf,
    page: Annotated[ResultQuery, Query()],
    if_none_match: Known = None,
) -> Response:
    """Return a page of truths. It is rejected if the results have changed since the first page."""
    return _page("truths", campaign, reader, service, page, if_none_match)


@router.get("/results/workers", response_model=None, responses=_PAGE)
def read_workers(
    campaign: Id,
    requester: Requester,
    service: ServiceOf,
    page: Annotated[ResultQuery, Query()],
    if_none_match: Known = None,
) -> Response:
    """Return a page of workers. It is rejected if the results have changed since the first page."""
    return _page("workers", campaign, Reader(requester=requester), service, page, if_none_match)


def _page(
    kind: str,
    campaign: str,
    reader: Reader,
    service: Service,
    wanted: ResultQuery,
    if_none_match: str | None,
) -> Response:
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        found = results_for(reader, service, connection, row, of_round=wanted.of_round)
        number = page_number(wanted.cursor, found)
        if known_already(found.tag, if_none_match):
            return not_modified(found.tag)
        content, more = found.page(connection, kind, number)
    further = json.dumps(next_cursor(found, number) if more else None)
    return Response(
        f'{{"items":{content},"next_cursor":{further}}}',
        headers={"ETag": found.tag},
        media_type="application/json",
    )


_TEXT = {"schema": {"type": "string"}}


@router.get(
    "/results",
    response_model=None,
    responses={
        200: {"model": Results},
        **UNCHANGED,
        **documented("credential", "not-found", "no-results", "goal-shares"),
    },
)
def read_results(
    campaign: Id,
    reader: ReaderOf,
    service: ServiceOf,
    if_none_match: Known = None,
    of_round: OfRound = None,
) -> Response:
    """Return the results of the latest inference, which may not include the latest changes.

    The document is sent page by page, all from one inference. If new results replace it meanwhile,
    the connection ends before the document does. A token shows neither workers nor their
    pseudonyms.
    """
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        found = results_for(reader, service, connection, row, of_round=of_round)
        if known_already(found.tag, if_none_match):
            return not_modified(found.tag)
        found = results_for(reader, service, connection, row, KINDS, of_round)
    return StreamingResponse(
        found.document(), headers={"ETag": found.tag}, media_type="application/json"
    )


@router.post(
    "/inferences", status_code=202, responses=documented("credential", "not-found", "bad-state")
)
def request_inference(campaign: Id, requester: Requester, service: ServiceOf) -> Requested:
    """Request an inference. This is needed only if the reports have not changed.

    If workers are released in batches, each release has one inference, which is not repeated.
    """
    with service.database.read() as connection:
        row = owned_campaign(connection, requester, campaign)
    if row.state == "draft":
        raise ProblemError("bad-state", "A draft has no reports.")
    service.infer(row.id)
    return Requested(campaign=campaign)


class ReportQuery(BaseModel):
    """The requested format of reports."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["jsonl", "csv", "arrow", "mechanism"] = "jsonl"


class TruthQuery(BaseModel):
    """The requested format of truths."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    of_round: Annotated[int | None, Field(alias="round", ge=0, le=MOST_ROUNDS)] = None
    format: Literal["jsonl", "csv", "label-studio"] = "jsonl"
    questions: Annotated[
        bool, Field(description="Whether CSV has a column with the text of each question.")
    ] = False


@exports.get(
    "/reports",
    response_class=Response,
    responses={
        200: {
            "description": "The reports. The first of the JSON Lines, and the metadata of the "
            "Arrow schema, describe their mechanism. For NAME.csv, store the response of "
            "format=mechanism as NAME.csv.mechanism.json next to it.",
            "content": {
                "application/x-ndjson": _TEXT,
                "text/csv": _TEXT,
                MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}},
                "application/json": {"schema": {"type": "object"}},
            },
        },
        **documented("credential", "not-found", "held-back"),
    },
)
def export_reports(
    campaign: Id, requester: Requester, service: ServiceOf, wanted: Annotated[ReportQuery, Query()]
) -> Response:
    """Return all reports, as `quietcrowd.read_reports` reads them; workers have pseudonyms."""
    with service.database.read() as connection:
        row = owned_campaign(connection, requester, campaign)
    parse_mechanism(row.mechanism)  # raises now: after the first byte, errors cannot be reported
    export = ReportExport(database=service.database, campaign=row)
    if wanted.format == "mechanism":
        return JSONResponse(export.note())
    if waits_for_others(row) and row.state == "open":
        raise ProblemError(
            "held-back",
            "Close the campaign first. Between two releases, a file of reports would reveal "
            "withdrawn workers. Results, truths and counts are available now.",
        )
    if wanted.format == "arrow":
        return StreamingResponse(export.arrow(), media_type=MEDIA_TYPE)
    stream: Iterator[str] = export.csv() if wanted.format == "csv" else export.json_lines()
    kind = "text/csv" if wanted.format == "csv" else "application/x-ndjson"
    return StreamingResponse(stream, media_type=f"{kind}; charset=utf-8")


@exports.get(
    "/truths",
    response_class=Response,
    responses={
        200: {
            "description": "The truths of the latest inference; for Label Studio, all tasks with "
            "truths as predictions.",
            "content": {
                "application/x-ndjson": _TEXT,
                "text/csv": _TEXT,
                "application/json": {"schema": {"type": "array"}},
            },
        },
        **documented("credential", "not-found", "no-results", "goal-shares"),
    },
)
def export_truths(
    campaign: Id, reader: ReaderOf, service: ServiceOf, wanted: Annotated[TruthQuery, Query()]
) -> Response:
    """Return the truths of the latest inference as a file."""
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        require_truths(row)
        found = ShownResults.read(service.database, connection, row, ("truths",), wanted.of_round)
    export = TruthExport(campaign=row, found=found, with_questions=wanted.questions)
    streams = {
        "jsonl": (export.json_lines, "application/x-ndjson"),
        "csv": (export.csv, "text/csv"),
        "label-studio": (export.label_studio, "application/json"),
    }
    stream, kind = streams[wanted.format]
    return StreamingResponse(stream(), media_type=f"{kind}; charset=utf-8")


@exports.get(
    "/shares",
    response_class=Response,
    responses={
        200: {"description": "The estimates as CSV.", "content": {"text/csv": _TEXT}},
        **documented("credential", "not-found", "no-results"),
    },
)
def export_shares(
    campaign: Id, reader: ReaderOf, service: ServiceOf, of_round: OfRound = None
) -> Response:
    """Return the estimated shares and means as a table, with the questions."""
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        found = require_estimates(service, connection, row, (ESTIMATES,), of_round)
    return StreamingResponse(estimates_as_table(found), media_type="text/csv; charset=utf-8")
