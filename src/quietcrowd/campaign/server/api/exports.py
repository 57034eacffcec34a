"""Exports: all reports, with what made them, and the truths, as streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict

from quietcrowd.campaign.protocol.schemas import Id
from quietcrowd.campaign.results.exporting import ReportExport, TruthExport
from quietcrowd.campaign.server.api.results import latest_inference
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Requester, ServiceOf
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.terms.settings import PREFIX

__all__ = ["ReportQuery", "TruthQuery", "export_reports", "export_truths", "router"]

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}", tags=["exports"])

_TEXT = {"schema": {"type": "string"}}


class ReportQuery(BaseModel):
    """Which file of reports is wanted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["jsonl", "csv", "mechanism"] = "jsonl"


class TruthQuery(BaseModel):
    """Which file of truths is wanted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["jsonl", "csv", "label-studio"] = "jsonl"


@router.get(
    "/reports",
    response_class=Response,
    responses={
        200: {
            "description": "The reports; the first of the JSON Lines says what made them. Beside "
            "NAME.csv that belongs into NAME.csv.mechanism.json: take it with format=mechanism.",
            "content": {
                "application/x-ndjson": _TEXT,
                "text/csv": _TEXT,
                "application/json": {"schema": {"type": "object"}},
            },
        },
        **documented("credential", "not-found"),
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
    export = ReportExport(database=service.database, campaign=row)
    if wanted.format == "mechanism":
        return JSONResponse(export.note())
    stream: Iterator[str] = export.csv() if wanted.format == "csv" else export.json_lines()
    kind = "text/csv" if wanted.format == "csv" else "application/x-ndjson"
    return StreamingResponse(stream, media_type=f"{kind}; charset=utf-8")


@router.get(
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
    requester: Requester,
    service: ServiceOf,
    wanted: Annotated[TruthQuery, Query()],
) -> Response:
    """Return the truths of the latest inference as a file."""
    with service.database.read() as connection:
        row = owned_campaign(connection, requester, campaign)
        found = json.loads(latest_inference(connection, row).snapshot)
    export = TruthExport(database=service.database, campaign=row, found=found)
    streams = {
        "jsonl": (export.json_lines, "application/x-ndjson"),
        "csv": (export.csv, "text/csv"),
        "label-studio": (export.label_studio, "application/json"),
    }
    stream, kind = streams[wanted.format]
    return StreamingResponse(stream(), media_type=f"{kind}; charset=utf-8")
