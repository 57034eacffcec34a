"""Reports: stored, and shown to their worker."""

from __future__ import annotations

import asyncio

import numpy as np
from fastapi import APIRouter
from sqlalchemy import select

from quietcrowd.campaign.protocol.problems import broken_rule
from quietcrowd.campaign.protocol.worker_documents import (
    OwnReport,
    OwnReports,
    OwnSketch,
    Receipt,
    Upload,
)
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Credential, ServiceOf
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.intake import WorkerUpload
from quietcrowd.campaign.store.participants import find_participant
from quietcrowd.campaign.terms.channels import stored_rule
from quietcrowd.campaign.terms.settings import PREFIX

router = APIRouter(prefix=f"{PREFIX}/me/reports", tags=["reports"])


@router.post("", responses=documented("credential", "config-mismatch", "campaign-closed"))
async def send_reports(upload: Upload, credential: Credential, service: ServiceOf) -> Receipt:
    """Store reports; once this responds, they are stored permanently.

    Repeating an upload succeeds. If every worker reports every task, all reports must be in one
    upload, and are accepted or rejected together.
    """
    if not upload.reports and upload.sketch is None:
        raise broken_rule("", "empty", "An upload holds reports, or a sketch.")
    done = service.writer.submit(WorkerUpload(credential=credential, upload=upload))
    return await asyncio.wrap_future(done)


@router.get("", responses=documented("credential"))
def read_own_reports(credential: Credential, service: ServiceOf) -> OwnReports:
    """Return all stored reports of the worker."""
    with service.database.read() as connection:
        person = find_participant(connection, credential)
        rows, sketches = (
            connection.execute(
                select(table).where(
                    table.c.campaign_id == person.campaign_id,
                    table.c.participant_id == person.id,
                )
            ).all()
            for table in (tables.report, tables.sketch)
        )
        mechanism = connection.scalar(
            select(tables.campaign.c.mechanism).where(tables.campaign.c.id == person.campaign_id)
        )
    rule = stored_rule(str(mechanism))
    return OwnReports(
        reports=[
            OwnReport(
                report_id=row.report_id.hex(),
                task_id=row.task_id.hex(),
                value=row.value,
                bit=row.bit,
                again=bool(row.again),
            )
            for row in rows
        ],
        sketch=OwnSketch(
            report_id=sketches[0].report_id.hex(),
            numbers=np.frombuffer(sketches[0].numbers, rule.dtype).tolist(),
        )
        if sketches
        else None,
    )
