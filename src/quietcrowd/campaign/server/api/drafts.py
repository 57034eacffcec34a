"""Campaigns, created as drafts and changed by their requester."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from attrs import evolve
from fastapi import APIRouter, Header, Response
from sqlalchemy import Connection, bindparam, insert, select, update

from quietcrowd.campaign.protocol.campaign_documents import (
    CampaignChange,
    CampaignDocument,
    CampaignDraft,
)
from quietcrowd.campaign.protocol.fields import Id
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.api.campaigns import read_document
from quietcrowd.campaign.server.api.draft_checks import (
    CHOICE,
    Drafted,
    Sizes,
    check_allotment,
    check_as_of_day,
    check_day,
    check_fit,
    drafted_mechanism,
    invalid,
    read_menu,
    read_method,
    read_rounds,
)
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Requester, ServiceOf
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import fixed_allotment
from quietcrowd.campaign.store.campaigns import read_tasks, update_campaign
from quietcrowd.campaign.store.menus import MenuDraft, rounds_of
from quietcrowd.campaign.store.releases import update_released, waits_for_others
from quietcrowd.campaign.store.requesters import owned_campaign
from quietcrowd.campaign.terms.channels import parse_mechanism
from quietcrowd.campaign.terms.chosen_mechanism import ChosenMechanism
from quietcrowd.campaign.terms.options import among_options
from quietcrowd.campaign.terms.promises import PROMISED
from quietcrowd.campaign.terms.rounds import Rounds
from quietcrowd.campaign.terms.settings import PREFIX
from quietcrowd.campaign.terms.tasks import as_answer
from quietcrowd.campaign.terms.tokens import new_id
from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism

if TYPE_CHECKING:
    from quietcrowd.inference.fitting import FittingMethod

router = APIRouter(prefix=f"{PREFIX}/campaigns", tags=["campaigns"])

_FIXED = frozenset(
    {
        *("title", "description", "answers_per_participant", "allotment", "linked", "join_mode"),
        *("completion_code", "as_of", "drafts"),
        *("menu", "expected", "rounds"),
        *CHOICE,
        *PROMISED,
    }
)
"""Fixed once a campaign is open: its configuration, and the completion code."""

_DERIVED = frozenset({*CHOICE, "answers_per_participant", "menu", "expected", "rounds"})
"""Members on which a derived mechanism depends, besides the number of tasks."""

_NEVER_NULL = ("title", "description", "goal", "domain", "join_mode", "drafts", *PROMISED)


@router.post("", status_code=201, responses=documented("credential"))
def create_campaign(
    draft: CampaignDraft, requester: Requester, service: ServiceOf, response: Response
) -> CampaignDocument:
    """Create a draft.

    Its mechanism follows from the total privacy loss of a worker and the number of their answers,
    and again whenever one of these or the number of tasks changes. A described mechanism stays.
    """
    rounds = read_rounds(draft.rounds)
    drafted = drafted_mechanism(draft, rounds)
    mechanism = drafted.mechanism
    method, method_text = read_method(draft.method)
    if method is not None:
        check_fit(method, mechanism)
    check_allotment(draft.allotment, mechanism, method_text, in_rounds=rounds is not None)
    check_day(draft.closes_on, service.clock())
    check_as_of_day(draft.as_of)
    campaign = new_id()
    keeps = draft.join_mode == "invite" if draft.drafts is None else draft.drafts
    row = {
        **draft.model_dump(exclude={"requester", "expected", *CHOICE}),
        **drafted.columns,
        "rounds": _stored_rounds(rounds),
        "drafts": int(keeps),
        "id": campaign,
        "requester_id": requester,
        "requester_name": draft.requester,
        "state": "draft",
        "version": 1,
        "method": method_text,
        "erasures": 0,
        "invites_used": 0,
    }
    with service.database.write() as connection:
        connection.execute(insert(tables.campaign), row)
        response.headers["Location"] = f"/api/v1/campaigns/{campaign.hex()}"
        return read_document(connection, campaign, response)


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
    """Change members: of a draft all, else only goal, method, max_participants and closes_on.

    In a draft with a described mechanism, a domain or a total replaces it.
    If workers are released in batches, results of a new method appear with the next release.
    """
    if if_match is None:
        raise ProblemError("version-missing", "Send the ETag of the campaign as If-Match.")
    values, method = _changed_values(change)
    check_day(change.closes_on, service.clock())
    check_as_of_day(change.as_of)
    with service.database.write() as connection:
        row = owned_campaign(connection, requester, campaign, lock=True)
        if if_match != f'"{row.version}"':
            raise ProblemError("version-mismatch", "Read the campaign again.")
        if row.state != "draft" and change.model_fields_set & _FIXED:
            raise ProblemError("campaign-open", "Workers agreed to it.")
        if row.state == "closed" and "closes_on" in values:
            raise ProblemError("campaign-closed", "No more workers can join.")
        mechanism = parse_mechanism(row.mechanism)
        if change.model_fields_set & _DERIVED:
            mechanism = _derive_again(connection, row, change, values)
            method = method or read_method(_described(values.get("method", row.method)))[0]
        if method is not None:
            check_fit(method, mechanism)
        kind = values.get("allotment", fixed_allotment(row))
        in_rounds = values.get("rounds", row.rounds) is not None
        check_allotment(kind, mechanism, values.get("method", row.method), in_rounds=in_rounds)
        update_campaign(connection, row, **values)
        if row.state == "closed" and waits_for_others(row):
            update_released(connection, row.id)
        document = read_document(connection, row.id, response)
    if "method" in values and document.reports:
        service.infer(row.id)
    return document


def _changed_values(change: CampaignChange) -> tuple[dict[str, Any], FittingMethod | None]:
    """Return the changes in stored form, and the new method, if any."""
    given = change.model_fields_set - {*CHOICE, "menu", "expected"}
    values: dict[str, Any] = {name: getattr(change, name) for name in given}
    for name in _NEVER_NULL:
        if name in change.model_fields_set and getattr(change, name) is None:
            raise invalid(name, "It must not be null.")
    if "join_mode" in values:
        values.setdefault("drafts", values["join_mode"] == "invite")
    if "drafts" in values:
        values["drafts"] = int(values["drafts"])
    if "rounds" in values:
        values["rounds"] = _stored_rounds(read_rounds(change.rounds))
    if "requester" in values:
        values["requester_name"] = values.pop("requester")
    method, text = read_method(change.method)
    if "method" in values:
        values["method"] = text
    return values, method


def _stored_rounds(rounds: Rounds | None) -> str | None:
    return None if rounds is None else json.dumps(rounds.to_dict())


def _described(method: str | None) -> dict[str, Any] | None:
    found: dict[str, Any] | None = None if method is None else json.loads(method)
    return found


def _derive_again(
    connection: Connection, row: Any, change: CampaignChange, values: dict[str, Any]
) -> Mechanism:
    """Return the mechanism of a changed draft, and add the columns to store to `values`."""
    old, given = json.loads(row.mechanism)["domain"], change.model_fields_set
    sizes = Sizes(
        domain=change.domain or old,
        answers=values.get("answers_per_participant", row.answers_per_participant),
        tasks=row.tasks,
        rounds=rounds_of(values.get("rounds", row.rounds)),
    )
    menu = _changed_menu(row, change, sizes)
    before = ChosenMechanism.read(row.chosen)
    if menu is not None:
        drafted = Drafted.of(menu, sizes)
    elif before is None and row.menu is None and not given & set(CHOICE):
        return parse_mechanism(row.mechanism)
    else:
        chosen = before or ChosenMechanism()
        for name in CHOICE[1:]:
            if name in given:
                chosen = evolve(chosen, **{name: getattr(change, name)})
        drafted = Drafted(mechanism=sizes.derive(chosen), chosen=chosen)
    values.update(drafted.columns)
    mechanism = drafted.mechanism
    is_other = mechanism.domain.to_dict() != old
    if is_other:
        _read_truths_again(connection, row.id, mechanism.domain)
    counts = parse_mechanism(row.mechanism).option_counts
    if mechanism.option_counts != counts or (counts and is_other):
        _check_options(connection, row.id, mechanism)
    return mechanism


def _changed_menu(row: Any, change: CampaignChange, sizes: Sizes) -> MenuDraft | None:
    given, menu = change.model_fields_set, MenuDraft.read(row.menu)
    if "menu" in given:
        expected = change.expected
        menu = None if change.menu is None else read_menu(change.menu, expected, sizes)
    elif menu is not None and "expected" in given:
        said = change.expected
        menu = evolve(menu, expected=None if said is None else said.model_dump())
    refused = CHOICE[1:] if menu is not None else ("expected",)
    for name in refused:
        if getattr(change, name) is not None:
            raise invalid(name, "Use it with a menu, or without one: see the description.")
    return menu


def _check_options(connection: Connection, campaign: bytes, mechanism: Mechanism) -> None:
    """Reject a mechanism with other options than the tasks of a draft list."""
    tasks = read_tasks(connection, campaign)
    if not tasks:
        return
    if not mechanism.option_counts:
        raise invalid("option_counts", "The tasks list their options: remove the tasks first.")
    try:
        among_options(mechanism, [(one.name, json.loads(one.data)) for one in tasks])
    except ParameterError:
        raise invalid(
            "option_counts",
            "The tasks of the campaign list other options, or none: remove them first, or send all "
            "tasks in one file.",
        ) from None


def _read_truths_again(connection: Connection, campaign: bytes, domain: Domain) -> None:
    """Read the known truths of a draft as answers of another domain, or raise ProblemError."""
    task = tables.task
    wanted = (
        select(task.c.id, task.c.position, task.c.gold)
        .where(task.c.campaign_id == campaign, task.c.gold.is_not(None))
        .order_by(task.c.position)
    )
    changed = []
    for row in connection.execute(wanted):
        truth = as_answer(domain, json.loads(row.gold))
        if truth is None:
            raise invalid(
                "domain",
                f"The known truth of task {row.position:,} of the campaign is not one of these "
                "answers. Add it to them, or remove the tasks first.",
            )
        changed.append({"task": row.id, "truth": json.dumps(truth)})
    if changed:
        statement = update(task).where(task.c.id == bindparam("task"))
        connection.execute(statement.values(gold=bindparam("truth")), changed)
