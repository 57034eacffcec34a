"""Rules for the members of a draft; a broken one is a ProblemError that names the member."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from attrs import frozen

from quietcrowd.campaign.protocol.campaign_documents import (
    CampaignDraft,
    Expected,
    MenuEntry,
    RoundsDraft,
)
from quietcrowd.campaign.protocol.problems import ProblemError, broken_rule
from quietcrowd.campaign.store.campaigns import day_of
from quietcrowd.campaign.store.menus import Entry, MenuDraft, of_round, rounds_of
from quietcrowd.campaign.terms.advice import to_requester
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.channels import UNREADABLE, usable_mechanism, why_not_in_page
from quietcrowd.campaign.terms.chosen_mechanism import (
    LABELS,
    NUMBERS,
    ChosenMechanism,
    answers_of_person,
)
from quietcrowd.campaign.terms.configuration import check_as_of
from quietcrowd.campaign.terms.rounds import Rounds
from quietcrowd.campaign.terms.settings import MAX_ITERATIONS
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.mixture import Mixture

if TYPE_CHECKING:
    from quietcrowd.inference.fitting import FittingMethod

CHOICE = ("domain", "total_epsilon", "mechanism_name", "option_counts")
"""Members from which a mechanism is derived."""


def invalid(member: str, message: str) -> ProblemError:
    """Return the problem of a broken rule for a member."""
    return broken_rule(f"/{member}", member, message)


@frozen(kw_only=True)
class Sizes:
    """What a mechanism depends on, next to losses: answers of a person, tasks and rounds."""

    domain: Mapping[str, Any]
    answers: int | None
    tasks: int
    rounds: Rounds | None = None

    @property
    def most(self) -> int:
        """Most answers of a person."""
        return answers_of_person(self.answers, self.tasks)

    def derive(self, chosen: ChosenMechanism) -> Mechanism:
        """Return the mechanism that follows from a choice, or raise ProblemError."""
        once = of_round(chosen, self.rounds, self.most)
        return derived_mechanism(once, self.domain, self.answers, self.tasks)


@frozen(kw_only=True)
class Drafted:
    """The mechanism of a draft, and the choice or the menu that it follows from."""

    mechanism: Mechanism
    chosen: ChosenMechanism | None = None
    menu: MenuDraft | None = None

    @classmethod
    def of(cls, menu: MenuDraft, sizes: Sizes) -> Drafted:
        """Derive the mechanisms of a menu anew, or raise ProblemError."""
        try:
            menu = menu.derived(sizes.derive, sizes.most, max(sizes.tasks, sizes.most))
            drafted = cls(mechanism=menu.mixture, menu=menu)
            menu.agreed()  # may raise
        except ProblemError as problem:
            raise invalid("menu", problem.errors[0].message) from None
        except ParameterError as error:
            raise invalid("menu", to_requester(error)) from None
        return drafted

    @property
    def columns(self) -> dict[str, str | None]:
        """Columns of the campaign."""
        return {
            "mechanism": stored(self.mechanism),
            "chosen": None if self.chosen is None else self.chosen.text,
            "menu": None if self.menu is None else self.menu.text,
        }


def read_rounds(drafted: RoundsDraft | None) -> Rounds | None:
    """Return rounds with defaults, or raise ProblemError."""
    if drafted is None:
        return None
    from quietcrowd.inference.rounds.history import KEPT_ROUNDS

    if drafted.keep > KEPT_ROUNDS:
        raise invalid("rounds", f"keep must be at most {KEPT_ROUNDS}.")
    members = drafted.model_dump()
    members["cap"] = drafted.cap or drafted.count
    members["step"] = drafted.step or drafted.window
    if drafted.grace is None:
        members["grace"] = max(_LEAST_GRACE, drafted.length // 4)
    try:
        return Rounds(**members)
    except ParameterError as error:
        raise invalid("rounds", to_requester(error)) from None


_LEAST_GRACE = 60


def read_menu(entries: Sequence[MenuEntry], expected: Expected | None, sizes: Sizes) -> MenuDraft:
    """Return a menu, or raise ProblemError."""
    read = []
    for one in entries:
        if (one.mechanism is None) == (one.total_epsilon is None):
            raise invalid("menu", "Use total_epsilon or mechanism in each entry.")
        share, chosen = float(one.share), None
        if one.mechanism is not None:
            made = read_mechanism(one.mechanism)
        else:
            chosen = ChosenMechanism(
                total_epsilon=one.total_epsilon, mechanism_name=one.mechanism_name
            )
            made = sizes.derive(chosen)
        read.append(Entry(mechanism=made, share=share, chosen=chosen))
    said = None if expected is None else expected.model_dump()
    return MenuDraft(entries=tuple(read), expected=said)


def drafted_mechanism(draft: CampaignDraft, rounds: Rounds | None) -> Drafted:
    """Return the mechanism of a draft: described, from a total, or from a menu."""
    sizes = Sizes(
        domain=draft.domain or {}, answers=draft.answers_per_participant, tasks=0, rounds=rounds
    )
    if draft.menu is not None:
        for member in (*CHOICE[1:], "mechanism"):
            if getattr(draft, member) is not None:
                raise invalid(member, "Use menu, or a mechanism for all, not both.")
        return Drafted.of(read_menu(draft.menu, draft.expected, sizes), sizes)
    if draft.expected is not None:
        raise invalid("expected", "It requires a menu.")
    if draft.mechanism is not None:
        for member in CHOICE:
            if getattr(draft, member) is not None:
                raise invalid(member, "Use mechanism, or domain and total_epsilon, not both.")
        return Drafted(mechanism=read_mechanism(draft.mechanism))
    if draft.domain is None:
        raise invalid("domain", "Use domain and total_epsilon, or mechanism.")
    chosen = ChosenMechanism(
        total_epsilon=draft.total_epsilon,
        mechanism_name=draft.mechanism_name,
        option_counts=draft.option_counts,
    )
    return Drafted(mechanism=sizes.derive(chosen), chosen=chosen)


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


def mechanism_for_tasks(row: Any, tasks: int) -> dict[str, Any]:
    """Return the changed columns of a draft that gets another number of tasks."""
    sizes = Sizes(
        domain=json.loads(row.mechanism)["domain"],
        answers=row.answers_per_participant,
        tasks=tasks,
        rounds=rounds_of(row.rounds),
    )
    chosen, menu = ChosenMechanism.read(row.chosen), MenuDraft.read(row.menu)
    if menu is not None:
        return Drafted.of(menu, sizes).columns
    return {} if chosen is None else {"mechanism": stored(sizes.derive(chosen))}


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


def check_allotment(
    kind: str | None, mechanism: Mechanism, method: str | None, *, in_rounds: bool = False
) -> None:
    """Reject an allotment that does not fit the mechanism or method; opening checks its numbers.

    A suggested allotment requires a method that estimates the value of further reports.
    """
    if kind is not None and mechanism.every_task:
        raise invalid("allotment", "With this mechanism every worker reports every task.")
    if kind != "suggested":
        return
    if mechanism.option_counts:
        raise invalid("allotment", "Assign tasks with their own options at random.")
    if in_rounds or isinstance(mechanism, Mixture):
        raise invalid("allotment", "Assign tasks at random in rounds, or with a menu.")
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
