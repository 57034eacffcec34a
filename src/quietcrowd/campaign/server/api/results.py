"""Results: the latest inference of a campaign, and files for the requester."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict

from quietcrowd.campaign.protocol.fields import Id
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.result_documents import Requested, Results
from quietcrowd.campaign.results.exports import ReportExport, TruthExport
from quietcrowd.campaign.results.shown_results import ShownResults
from quietcrowd.campaign.server.api.result_pages import etag_of, results_for
from quietcrowd.campaign.server.etags import known_already, not_modified
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import ReaderOf, Requester, ServiceOf
from quietcrowd.campaign.store.releases import waits_for_others
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.store.result_pages import KINDS
from quietcrowd.campaign.terms.mechanisms import parse_mechanism
from quietcrowd.campaign.terms.settings import PREFIX
from quietcrowd.formats.parquet import MEDIA_TYPE

__all__ = [
    "ReportQuery",
    "TruthQuery",
    "export_reports",
    "export_truths",
    "exports",
    "read_results",
    "request_inference",
    "router",
]

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}", tags=["results"])

exports = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}", tags=["exports"])

_TEXT = {"schema": {"type": "string"}}


@router.get(
    "/results",
    response_model=None,
    responses={
        200: {"model": Results},
        304: {"description": "Nothing has changed"},
        **documented("credential", "not-found", "no-results"),
    },
)
def read_results(
    campaign: Id,
    reader: ReaderOf,
    service: ServiceOf,
    if_none_match: Annotated[str | None, Header(max_length=1_000)] = None,
) -> Response:
    """Return the results of the latest inference, which may not include the latest changes.

    The document is sent page by page, all from one inference. If new results replace it meanwhile,
    the connection ends before the document does. A token shows neither workers nor their
    pseudonyms.
    """
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        found = results_for(reader, service, connection, row)
        if known_already(found.tag, if_none_match):
            return not_modified(found.tag)
        found = results_for(reader, service, connection, row, KINDS)
    return StreamingResponse(
        found.document(), headers=etag_of(found), media_type="application/json"
    )


@router.post(
    "/inferences",
    status_code=202,
    responses=documented("credential", "not-found", "bad-state"),
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

    format: Literal["jsonl", "csv", "label-studio"] = "jsonl"


@exports.get(
    "/reports",
    response_class=Response,
    responses={
        200: {
            "description": "The reports; the first of the JSON Lines says what made them, and the "
            "metadata of the Arrow stream's schema. Beside NAME.csv that belongs into "
            "NAME.csv.mechanism.json: take it with format=mechanism.",
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
    campaign: Id,
    requester: Requester,
    service: ServiceOf,
    wanted: Annotated[ReportQuery, Query()],
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
            "Close the campaign first: between two releases a file of reports would show who has "
            "withdrawn. Results, truths and counts are shown already.",
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
        **documented("credential", "not-found", "no-results"),
    },
)
def export_truths(
    campaign: Id,
    reader: ReaderOf,
    service: ServiceOf,
    wanted: Annotated[TruthQuery, Query()],
) -> Response:
    """Return the truths of the latest inference as a file."""
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        found = ShownResults.read(service.database, connection, row, ("truths",))
    export = TruthExport(campaign=row, found=found)
    streams = {
        "jsonl": (export.json_lines, "application/x-ndjson"),
        "csv": (export.csv, "text/csv"),
        "label-studio": (export.label_studio, "application/json"),
    }
    stream, kind = streams[wanted.format]
    return StreamingResponse(stream(), media_type=f"{kind}; charset=utf-8")
