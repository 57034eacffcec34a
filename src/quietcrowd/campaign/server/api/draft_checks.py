"""Rules for the members of a draft; a broken one is a ProblemError that names the member."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from quietcrowd.campaign.protocol.campaign_documents import CampaignDraft
from quietcrowd.campaign.protocol.problems import ProblemError, broken_rule
from quietcrowd.campaign.store.campaigns import day_of
from quietcrowd.campaign.terms.advice import to_requester
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.channels import UNREADABLE, usable_mechanism, why_not_in_page
from quietcrowd.campaign.terms.chosen_mechanism import LABELS, NUMBERS, ChosenMechanism
from quietcrowd.campaign.terms.configuration import check_as_of
from quietcrowd.campaign.terms.settings import MAX_ITERATIONS
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism

if TYPE_CHECKING:
    from quietcrowd.inference.fitting import FittingMethod

CHOICE = ("domain", "total_epsilon", "mechanism_name", "option_counts")
"""Members from which a mechanism is derived."""


def invalid(member: str, message: str) -> ProblemError:
    """Return the problem of a broken rule for a member."""
    return broken_rule(f"/{member}", member, message)


def drafted_mechanism(draft: CampaignDraft) -> tuple[Mechanism, ChosenMechanism | None]:
    """Return the mechanism of a draft: the described one, or one that follows from a total."""
    if draft.mechanism is not None:
        for member in CHOICE:
            if getattr(draft, member) is not None:
                raise invalid(member, "Use mechanism, or domain and total_epsilon, not both.")
        return read_mechanism(draft.mechanism), None
    if draft.domain is None:
        raise invalid("domain", "Use domain and total_epsilon, or mechanism.")
    chosen = ChosenMechanism(
        total_epsilon=draft.total_epsilon,
        mechanism_name=draft.mechanism_name,
        option_counts=draft.option_counts,
    )
    return derived_mechanism(chosen, draft.domain, draft.answers_per_participant, 0), chosen


def derived_mechanism(
    chosen: ChosenMechanism, domain: Mapping[str, Any], answers: int | None, tasks: int
) -> Mechanism:
    """Return the mechanism that follows from a choice, or raise ProblemError."""
    try:
        known = LABELS if isinstance(Domain.from_dict(domain), FiniteDomain) else NUMBERS
    except UNREADABLE:
        raise invalid("domain", "It must be in the format of domain.to_dict.") from None
    name = chosen.mechanism_name
    if name is not None and name not in known:
        raise invalid("mechanism_name", f"For these answers, use one of {', '.join(known)}.")
    try:
        made = chosen.mechanism(domain, answers, tasks)
    except ParameterError as error:
        member = "total_epsilon" if name is None else "mechanism_name"
        member = member if chosen.option_counts is None else "option_counts"
        raise invalid(member, to_requester(error)) from None
    except UNREADABLE:
        raise invalid("domain", "It must be in the format of domain.to_dict.") from None
    return read_mechanism(made.to_dict())


def mechanism_for_tasks(row: Any, tasks: int) -> dict[str, str]:
    """Return the changed columns of a draft that gets another number of tasks."""
    chosen = ChosenMechanism.read(row.chosen)
    if chosen is None:
        return {}
    domain, answers = json.loads(row.mechanism)["domain"], row.answers_per_participant
    return {"mechanism": stored(derived_mechanism(chosen, domain, answers, tasks))}


def stored(mechanism: Mechanism) -> str:
    """Return a mechanism in its stored form."""
    return canonical_json(mechanism.to_dict()).decode()


def read_mechanism(described: dict[str, Any]) -> Mechanism:
    """Return the described mechanism, if the worker page supports it."""
    try:
        mechanism = usable_mechanism(described)
    except FormatError as error:
        raise invalid("mechanism", to_requester(error)) from None
    reason = why_not_in_page(mechanism)
    if reason is not None:
        raise invalid("mechanism", reason)
    return mechanism


def read_method(described: dict[str, Any] | None) -> tuple[FittingMethod | None, str | None]:
    """Return the described method, and its stored form; None for the default."""
    if described is None:
        return None, None
    from quietcrowd.inference.registry import method_from_dict

    try:
        method = method_from_dict(described)
        text = canonical_json(method.to_dict()).decode()
    except UNREADABLE:
        raise invalid("method", "It must be in the format of method.to_dict.") from None
    if method.max_iter > MAX_ITERATIONS:
        raise invalid("method", f"It may have at most {MAX_ITERATIONS:,} iterations.")
    return method, text


def check_fit(method: FittingMethod, mechanism: Mechanism) -> None:
    """Reject a method that cannot use the reports of a mechanism."""
    try:
        method.known(pa.array([], pa.string()), mechanism.domain, None)
        method.check_mechanism(mechanism)
    except AnswerError:
        raise invalid(
            "method", "It does not support the mechanism's reports (labels or numbers)."
        ) from None
    if mechanism.option_counts and not method.reads_options:
        raise invalid("method", f"{method.name} does not read options per task.")


def check_allotment(kind: str | None, mechanism: Mechanism, method: str | None) -> None:
    """Reject an allotment that does not fit the mechanism or method; opening checks its numbers.

    A suggested allotment requires a method that estimates the value of further reports.
    """
    if kind is not None and mechanism.every_task:
        raise invalid("allotment", "With this mechanism every worker reports every task.")
    if kind != "suggested":
        return
    if mechanism.option_counts:
        raise invalid("allotment", "Assign tasks with their own options at random.")
    from quietcrowd.inference.registry import METHODS, usual_method

    chosen, _ = read_method(None if method is None else json.loads(method))
    if chosen is None:
        chosen = METHODS[usual_method(mechanism.report_domain, mechanism)]()
    if not chosen.suggests_tasks:
        raise invalid(
            "allotment",
            f"{chosen.name} does not estimate the value of further reports, as noise-aware does: "
            "assign its tasks at random.",
        )


def check_day(day: str | None, now: float) -> None:
    """Reject an invalid closing day, or one that is over."""
    if day is None:
        return
    try:
        date.fromisoformat(day)
    except ValueError:
        raise invalid("closes_on", "It must be a date such as 2026-12-31.") from None
    if day < day_of(now):
        raise invalid("closes_on", "This day is over in UTC. Close the campaign instead.")


def check_as_of_day(day: str | None) -> None:
    """Reject an invalid day of the questions."""
    try:
        if day is not None:
            check_as_of(day)
    except ParameterError:
        raise invalid("as_of", "It must be a date such as 2026-12-01.") from None
