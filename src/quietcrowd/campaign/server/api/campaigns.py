"""Campaigns: created as drafts, opened, closed and deleted by their requester."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa
from fastapi import APIRouter, Header, Query, Response
from sqlalchemy import Connection, insert, select

from quietcrowd.accounting.equal_loss import mechanism_within, usual_makers, usual_total
from quietcrowd.campaign.protocol.campaign_documents import (
    CampaignChange,
    CampaignDocument,
    CampaignDraft,
    CampaignPage,
)
from quietcrowd.campaign.protocol.fields import Id, PageQuery, State
from quietcrowd.campaign.protocol.problems import ProblemError, broken_rule
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import (
    ReaderOf,
    Requester,
    ServiceOf,
    read_cursor,
    require_step,
    write_cursor,
)
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import fixed_allotment
from quietcrowd.campaign.store.campaigns import (
    campaign_documents,
    close_campaign,
    day_of,
    delete_campaign,
    fixed_configuration,
    keep_ending,
    read_tasks,
    update_campaign,
)
from quietcrowd.campaign.store.database import UNAVAILABLE
from quietcrowd.campaign.store.images import keep_named_images
from quietcrowd.campaign.store.releases import update_released, waits_for_others
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.store.withdrawals.journal import trace_of
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.channels import (
    UNREADABLE,
    parse_mechanism,
    usable_mechanism,
    why_not_in_page,
)
from quietcrowd.campaign.terms.configuration import check_as_of
from quietcrowd.campaign.terms.images import named_images
from quietcrowd.campaign.terms.promises import PROMISED
from quietcrowd.campaign.terms.settings import MAX_ITERATIONS, PREFIX
from quietcrowd.campaign.terms.tokens import new_id
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism

if TYPE_CHECKING:
    from quietcrowd.inference.fitting import FittingMethod

router = APIRouter(prefix=f"{PREFIX}/campaigns", tags=["campaigns"])

_FIXED = frozenset(
    {
        *("title", "description", "answers_per_participant", "allotment", "linked"),
        *("completion_code", "as_of", "drafts"),
        *PROMISED,
    }
)
"""Fixed once a campaign is open: its configuration, and the completion code."""


def _invalid(member: str, message: str) -> ProblemError:
    return broken_rule(f"/{member}", member, message)


def _drafted_mechanism(draft: CampaignDraft) -> Mechanism:
    """Return the mechanism of a draft: the described one, or the default one within a total."""
    if draft.mechanism is not None:
        for member in ("domain", "total_epsilon"):
            if getattr(draft, member) is not None:
                raise _invalid(member, "Use mechanism, or domain and total_epsilon, not both.")
        return _read_mechanism(draft.mechanism)
    if draft.domain is None:
        raise _invalid("domain", "Use domain and total_epsilon, or mechanism.")
    answers = draft.answers_per_participant
    if answers is None:
        raise _invalid(
            "answers_per_participant",
            "It is required with domain, because a total is divided by the number of answers.",
        )
    total = usual_total(answers) if draft.total_epsilon is None else draft.total_epsilon
    try:
        domain = Domain.from_dict(draft.domain)
        [maker] = usual_makers(domain).values()
    except UNREADABLE:
        raise _invalid("domain", "It must be in the format of domain.to_dict.") from None
    try:
        made = mechanism_within(maker, domain, total, "worker", answers=answers, tasks=answers)
    except ParameterError as error:
        raise _invalid("total_epsilon", str(error)) from None
    return _read_mechanism(made.to_dict())


def _read_mechanism(described: dict[str, Any]) -> Mechanism:
    """Return the described mechanism, if the worker page supports it."""
    try:
        mechanism = usable_mechanism(described)
    except FormatError as error:
        raise _invalid("mechanism", str(error)) from None
    reason = why_not_in_page(mechanism)
    if reason is not None:
        raise _invalid("mechanism", reason)
    return mechanism


def _read_method(described: dict[str, Any] | None) -> tuple[FittingMethod | None, str | None]:
    """Return the described method, and its stored form; None for the default."""
    if described is None:
        return None, None
    from quietcrowd.inference.registry import method_from_dict

    try:
        method = method_from_dict(described)
        text = canonical_json(method.to_dict()).decode()
    except UNREADABLE:
        raise _invalid("method", "It must be in the format of method.to_dict.") from None
    if method.max_iter > MAX_ITERATIONS:
        raise _invalid("method", f"It may have at most {MAX_ITERATIONS:,} iterations.")
    return method, text


def _check_fit(method: FittingMethod, mechanism: Mechanism) -> None:
    """Reject a method that cannot use the reports of a mechanism."""
    try:
        method.known(pa.array([], pa.string()), mechanism.domain, None)
        method.check_mechanism(mechanism)
    except AnswerError:
        raise _invalid(
            "method", "It does not support the mechanism's reports (labels or numbers)."
        ) from None


def _check_allotment(kind: str | None, mechanism: Mechanism, method: str | None) -> None:
    """Reject an allotment that does not fit the mechanism or method; opening checks its numbers.

    A suggested allotment requires a method that estimates the value of further reports.
    """
    if kind is not None and mechanism.every_task:
        raise _invalid("allotment", "With this mechanism every worker reports every task.")
    if kind != "suggested":
        return
    from quietcrowd.inference.registry import METHODS, usual_method

    chosen, _ = _read_method(None if method is None else json.loads(method))
    if chosen is None:
        chosen = METHODS[usual_method(mechanism.report_domain, mechanism)]()
    if not chosen.suggests_tasks:
        raise _invalid(
            "allotment",
            f"{chosen.name} does not estimate the value of further reports, as noise-aware does: "
            "assign its tasks at random.",
        )


def _check_day(day: str | None, now: float) -> None:
    if day is None:
        return
    try:
        date.fromisoformat(day)
    except ValueError:
        raise _invalid("closes_on", "It must be a date such as 2026-12-31.") from None
    if day < day_of(now):
        raise _invalid("closes_on", "This day is over in UTC. Close the campaign instead.")


def _check_as_of(day: str | None) -> None:
    try:
        if day is not None:
            check_as_of(day)
    except ParameterError:
        raise _invalid("as_of", "It must be a date such as 2026-12-01.") from None


def _one(connection: Connection, campaign: bytes, response: Response) -> CampaignDocument:
    [document] = campaign_documents(
        connection, select(tables.campaign).where(tables.campaign.c.id == campaign)
    )
    response.headers["ETag"] = f'"{document.version}"'
    return document


@router.post("", status_code=201, responses=documented("credential"))
def create_campaign(
    draft: CampaignDraft, requester: Requester, service: ServiceOf, response: Response
) -> CampaignDocument:
    """Create a draft. Its mechanism cannot be changed.

    It follows from the total privacy loss of a worker and the number of their answers.
    """
    mechanism = _drafted_mechanism(draft)
    method, method_text = _read_method(draft.method)
    if method is not None:
        _check_fit(method, mechanism)
    _check_allotment(draft.allotment, mechanism, method_text)
    _check_day(draft.closes_on, service.clock())
    _check_as_of(draft.as_of)
    campaign = new_id()
    keeps = draft.join_mode == "invite" if draft.drafts is None else draft.drafts
    row = {
        **draft.model_dump(exclude={"requester", "domain", "total_epsilon"}),
        "drafts": int(keeps),
        "id": campaign,
        "requester_id": requester,
        "requester_name": draft.requester,
        "state": "draft",
        "version": 1,
        "mechanism": canonical_json(mechanism.to_dict()).decode(),
        "method": method_text,
        "erasures": 0,
        "invites_used": 0,
    }
    with service.database.write() as connection:
        connection.execute(insert(tables.campaign), row)
        response.headers["Location"] = f"/api/v1/campaigns/{campaign.hex()}"
        return _one(connection, campaign, response)


@router.get("", responses=documented("credential"))
def list_campaigns(
    requester: Requester, service: ServiceOf, page: Annotated[PageQuery, Query()]
) -> CampaignPage:
    """Return a page of the requester's campaigns."""
    after = read_cursor(page.cursor, 16)
    table = tables.campaign
    wanted = (
        select(table)
        .where(table.c.requester_id == requester, table.c.id > after)
        .order_by(table.c.id)
        .limit(page.limit)
    )
    with service.database.read() as connection:
        items = campaign_documents(connection, wanted)
    more = len(items) == page.limit
    last = write_cursor(bytes.fromhex(items[-1].id)) if more else None
    return CampaignPage(items=items, next_cursor=last)


@router.get("/{campaign}", responses=documented("credential", "not-found"))
def read_campaign(
    campaign: Id, reader: ReaderOf, service: ServiceOf, response: Response
) -> CampaignDocument:
    """Return a campaign; its ETag is its version. With a token, without the completion code."""
    with service.database.read() as connection:
        row = reader.campaign(connection, campaign)
        document = _one(connection, row.id, response)
    if reader.sees_workers:
        return document
    return document.model_copy(update={"completion_code": None})


@router.patch(
    "/{campaign}",
    responses=documented(
        "credential",
        "not-found",
        "campaign-closed",
        "campaign-open",
        "version-mismatch",
        "version-missing",
    ),
)
def change_campaign(
    campaign: Id,
    change: CampaignChange,
    requester: Requester,
    service: ServiceOf,
    response: Response,
    if_match: Annotated[str | None, Header(max_length=100)] = None,
) -> CampaignDocument:
    """Change members: of a draft all, else only method, max_participants and closes_on.

    If workers are released in batches, results of a new method appear with the next release.
    """
    if if_match is None:
        raise ProblemError("version-missing", "Send the ETag of the campaign as If-Match.")
    values, method = _changed_values(change)
    _check_day(change.closes_on, service.clock())
    _check_as_of(change.as_of)
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        if if_match != f'"{row.version}"':
            raise ProblemError("version-mismatch", "Read the campaign again.")
        if row.state != "draft" and change.model_fields_set & _FIXED:
            raise ProblemError("campaign-open", "Workers agreed to it.")
        if row.state == "closed" and "closes_on" in values:
            raise ProblemError("campaign-closed", "No more workers can join.")
        mechanism = parse_mechanism(row.mechanism)
        if method is not None:
            _check_fit(method, mechanism)
        kind = values.get("allotment", fixed_allotment(row))
        _check_allotment(kind, mechanism, values.get("method", row.method))
        update_campaign(connection, row, **values)
        if row.state == "closed" and waits_for_others(row):
            update_released(connection, row.id)
        document = _one(connection, row.id, response)
    if "method" in values and document.reports:
        service.infer(row.id)
    return document


def _changed_values(change: CampaignChange) -> tuple[dict[str, Any], FittingMethod | None]:
    """Return the changes in stored form, and the new method, if any."""
    values: dict[str, Any] = {name: getattr(change, name) for name in change.model_fields_set}
    for name in ("title", "description", "drafts", *PROMISED):
        if name in values and values[name] is None:
            raise _invalid(name, "It must not be null.")
    if "drafts" in values:
        values["drafts"] = int(values["drafts"])
    if "requester" in values:
        values["requester_name"] = values.pop("requester")
    method, text = _read_method(change.method)
    if "method" in values:
        values["method"] = text
    return values, method


@router.post(
    "/{campaign}/open",
    responses=documented("credential", "not-found", "bad-state", "not-ready", "version-mismatch"),
)
def open_for_reports(
    campaign: Id, requester: Requester, service: ServiceOf, response: Response
) -> CampaignDocument:
    """Open a draft: fix its configuration and hash, and let workers join.

    All images of its tasks must be stored.
    """
    opened: State = "open"
    with service.database.read() as connection:
        read = owned_campaign(connection, requester, campaign)
        require_step(read.state, opened)
        tasks = read_tasks(connection, read.id)
    if service.departures.ended(read.id):
        raise ProblemError(
            "bad-state",
            "The campaign was closed or deleted before the database was restored from a copy. "
            "Create a new campaign.",
        )
    if read.closes_on is not None and read.closes_on < day_of(service.clock()):
        raise ProblemError("not-ready", "Its closing day is over: change closes_on.")
    configuration = fixed_configuration(read, tasks)  # before the transaction: it takes time
    named = named_images(json.loads(task.data) for task in tasks)
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        require_step(row.state, opened)
        if row.version != read.version:
            raise ProblemError("version-mismatch", "The draft has changed: open it again.")
        keep_named_images(connection, row.id, named)
        update_campaign(
            connection,
            row,
            state=opened,
            config=configuration.text.decode(),
            config_hash=configuration.hash,
        )
        return _one(connection, row.id, response)


@router.post("/{campaign}/close", responses=documented("credential", "not-found", "bad-state"))
def close(
    campaign: Id, requester: Requester, service: ServiceOf, response: Response
) -> CampaignDocument:
    """Close a campaign: accept nothing more, and show the current reports of released workers.

    All data of workers is deleted `retention_days` from now.
    """
    closed: Literal["closed"] = "closed"
    now = service.read_clock().trusted  # the retention period begins
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        require_step(row.state, closed)
        changed = close_campaign(connection, service.departures, row, now)
        document = _one(connection, row.id, response)
    if changed and document.reports:
        service.infer(row.id)
    return document


@router.delete("/{campaign}", status_code=204, responses=documented("credential", "not-found"))
def purge_campaign(campaign: Id, requester: Requester, service: ServiceOf) -> None:
    """Delete a campaign and all its data permanently."""
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        keep_ending(connection, service.departures, row, "deleted")
        delete_campaign(connection, row.id)
    if row.state != "draft":
        service.infer(row.id)  # the inference process forgets it
    with suppress(*UNAVAILABLE):  # else the next start does it
        service.departures.forget([trace_of(row.id)])
