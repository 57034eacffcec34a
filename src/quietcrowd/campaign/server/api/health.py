"""Whether the server is there, and whether it can work."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel
from sqlalchemy import select, text

from quietcrowd.campaign.protocol.problems import ProblemError, documented
from quietcrowd.campaign.server.service import ServiceOf
from quietcrowd.campaign.terms.settings import PREFIX

__all__ = ["Health", "healthy", "ready", "router"]

router = APIRouter(prefix=PREFIX, tags=["health"])


class Health(BaseModel):
    """All is well."""

    status: Literal["ok"]


@router.get("/healthz", responses=documented())
async def healthy() -> Health:
    """Say that the server is there."""
    return Health(status="ok")


@router.get("/readyz", responses=documented("broken"))
def ready(service: ServiceOf) -> Health:
    """Say that the database is there, and that what writes and infers works."""
    if not service.alive():
        raise ProblemError("broken", "Restart the server: what was acknowledged is stored.")
    with service.database.read() as connection:
        connection.execute(select(text("1")))
    return Health(status="ok")
