"""Estimated shares of answers, and means: pages of the latest inference."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from quietcrowd.campaign.protocol.fields import Id
from quietcrowd.campaign.protocol.result_documents import EstimatePage
from quietcrowd.campaign.results.estimates import CONFIDENCE
from quietcrowd.campaign.server.api.results import (
    UNCHANGED,
    Known,
    ResultQuery,
    next_cursor,
    page_number,
    require_estimates,
)
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import ReaderOf, ServiceOf, known_already, not_modified
from quietcrowd.campaign.store.result_pages import ESTIMATES, has_page, read_page
from quietcrowd.campaign.terms.settings import PREFIX

router = APIRouter(prefix=f"{PREFIX}/campaigns/{{campaign}}", tags=["results"])

_CAUTIONS = ("open-to-all", "few-reports", "sent-again")
"""Codes of warnings that concern estimates, and do not depend on inferred truths."""


@router.get(
    "/estimates",
    response_model=None,
    responses={
        200: {"model": EstimatePage},
        **UNCHANGED,
        **documented("credential", "not-found", "no-results", "results-changed"),
    },
)
def read_estimates(
    campaign: Id,
    reader: ReaderOf,
    service: ServiceOf,
    page: Annotated[ResultQuery, Query()],
    if_none_match: Known = None,
) -> Response:
    """Return a page of the estimated share of each answer, or of means.

    They are computed from the reports that are shown, and lose no further privacy. A page is
    rejected if the results have changed since the first page.
    """
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        found = require_estimates(service, connection, row, of_round=page.of_round)
        number = page_number(page.cursor, found)
        tag = f'"{found.etag}-{row.goal}"'
        if known_already(tag, if_none_match):
            return not_modified(tag)
        content = read_page(connection, row.id, ESTIMATES, number, page.of_round)
        more = has_page(connection, row.id, ESTIMATES, number + 1, page.of_round)
    head: dict[str, Any] = json.loads(found.head)
    about = {
        "goal": row.goal,
        "confidence": CONFIDENCE,
        "shown": head["participants"],
        "reports": head["reports"],
        "why_none": head["no_estimates"],
        "warnings": [one for one in head["warnings"] if one["code"] in _CAUTIONS],
        "next_cursor": next_cursor(found, number) if more else None,
    }
    document = f'{json.dumps(about)[:-1]},"items":{content}}}'
    return Response(document, headers={"ETag": tag}, media_type="application/json")
