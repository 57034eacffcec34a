"""Campaign terms and tasks, verified on the worker's device.

The device does not trust the server. It recomputes everything that follows from the mechanism, such
as the channel and the privacy losses, and rejects a configuration that differs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from attrs import evolve, field, frozen

from quietcrowd.campaign.terms.canonical import canonical_hash, canonical_json
from quietcrowd.campaign.terms.channels import usable_mechanism
from quietcrowd.campaign.terms.configuration import (
    ALLOTTING_VERSION,
    FIRST_VERSION,
    NAMING_VERSION,
    ROUNDS_VERSION,
    VERSION,
    agreed_sentences,
    agreed_summary,
    campaign_guarantee,
    check_as_of,
    describe_campaign,
    earlier_members,
    hash_tasks,
    loss_of_tasks,
)
from quietcrowd.campaign.terms.menu import Menu, chosen, count_choices, with_menu
from quietcrowd.campaign.terms.near_copies import largest_group
from quietcrowd.campaign.terms.options import among_options
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.promises import Allotment, Promises
from quietcrowd.campaign.terms.rounds import RoundLosses, Rounds
from quietcrowd.campaign.terms.settings import MAX_REPORTS, MAX_TASKS
from quietcrowd.exceptions import CampaignError, ParameterError, QuietcrowdError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.privacy.guarantee import PrivacyGuarantee, show_loss

_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_SHARED = ("campaign", "title", "description", "linked", "tasks", "tasks_hash")
_MEMBERS = {
    **dict.fromkeys(("campaign", "title", "description"), str),
    "mechanism": dict,
    **dict.fromkeys(("answers_per_participant", "linked", "tasks"), int),
    "tasks_hash": str,
}


@frozen(kw_only=True)
class Terms:
    """Verified terms of a campaign, which a worker agrees to.

    Ids are 16 bytes and hashes SHA-256, both in hex. `answers` is the maximum per worker; with an
    `allotment`, each worker is assigned exactly that many tasks. At most `linked` of them share one
    fact, such as answers to copies of a question. `total_epsilon` is the claimed loss of all
    answers if it depends on the tasks; `read_tasks` verifies it. `as_of` is the day that all
    questions are about, such as 2026-12-01. `drafts` states whether devices may keep unsent
    answers. `closes_on` is the last day (UTC) on which the server accepts reports, which it does
    not promise. Older campaign versions have no `promises`, `requester_id` or `drafts`. With
    `rounds`, everything else is about one round. `choice` is the place of these terms in the
    campaign's menu, if it has one. The requester assumes that a fraction `share` chooses it, and
    `expected` errors: ``error`` at these shares, and ``guess`` without reports.
    """

    campaign: str
    title: str
    description: str = field(repr=False)
    mechanism: Mechanism
    answers: int
    linked: int
    tasks: int
    tasks_hash: str = field(repr=False)
    config_hash: str
    state: Literal["open", "closed"]
    needs_invite: bool
    total_epsilon: float | None = None
    promises: Promises | None = None
    allotment: Allotment | None = None
    requester_id: str | None = None
    as_of: str | None = None
    drafts: bool | None = None
    closes_on: str | None = None
    rounds: Rounds | None = None
    choice: int | None = None
    share: float | None = None
    expected: Mapping[str, float] | None = field(default=None, hash=False)

    @property
    def losses(self) -> RoundLosses | None:
        """Losses of a round, of any window of rounds and of all; None without rounds."""
        return None if self.rounds is None else self.rounds.losses(self.guarantee.total_epsilon)

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Guarantee for a worker with all answers, in rounds to one of them."""
        return campaign_guarantee(
            self.mechanism, self.answers, self.linked, self.tasks, self.total_epsilon
        )

    @property
    def spared(self) -> float:
        """Privacy loss that all answers have less than in the worst case for this many tasks."""
        if self.total_epsilon is None:
            return 0.0
        unnamed = self.mechanism.guarantee(answers=self.answers, tasks=self.tasks).total_epsilon
        return max(0.0, math.nextafter(unnamed - self.total_epsilon, 0.0))

    @property
    def consent(self) -> tuple[str, ...]:
        """Sentences that the worker agrees to: guarantee, promises, allotment and day."""
        more = (self.rounds, self.choice is not None)
        return agreed_sentences(self.guarantee, self.promises, self.allotment, self.as_of, *more)

    @property
    def summary(self) -> tuple[str, ...]:
        """The same in brief, as a worker sees it first."""
        more = (self.rounds, self.choice is not None)
        return agreed_summary(self.mechanism, self.guarantee, self.promises, self.allotment, *more)

    @classmethod
    def read(cls, document: Mapping[str, Any], campaign: str) -> Terms:
        """Return the first of `read_menu`."""
        return read_menu(document, campaign)[0]

    @classmethod
    def _of(
        cls, document: Mapping[str, Any], config: Mapping[str, Any], choice: int | None
    ) -> Terms:
        """Return the terms of a `chosen` configuration, or raise CampaignError."""
        _check_members(config)
        requester_id, as_of, drafts = _identity(config)
        stated: dict[str, Any] = {
            **{name: config[name] for name in _SHARED},
            "answers": config["answers_per_participant"],
            "promises": _promises(config),
            "requester_id": requester_id,
            "as_of": as_of,
            "drafts": drafts,
            "rounds": _rounds(config),
        }
        try:
            mechanism = usable_mechanism(config["mechanism"])
            stated["mechanism"] = mechanism
            stated["total_epsilon"] = _said_loss(config, mechanism)
            stated["allotment"] = _allotment(config, mechanism)
            expected = describe_campaign(**stated, in_menu=choice is not None)
            earlier = earlier_members(expected)
        except CampaignError:
            raise
        except (QuietcrowdError, ArithmeticError) as error:
            raise CampaignError(
                "campaign.mechanism-unusable", reason=one_line(str(error))
            ) from None
        for name, member in earlier.items():
            if _hash(config.get(name)) == _hash(member):
                expected[name] = member
        _compare(config, expected)
        closes_on = document.get("closes_on")
        is_day = isinstance(closes_on, str) and _DAY.fullmatch(closes_on)
        return cls(
            **stated,
            choice=choice,
            config_hash=document["config_hash"],
            state="open" if document.get("state") == "open" else "closed",
            needs_invite=document.get("join_mode") != "open",
            closes_on=closes_on if is_day else None,
        )


def read_menu(document: Mapping[str, Any], campaign: str) -> tuple[Terms, ...]:
    """Return the terms of each choice in a public campaign document; without a menu, of one.

    Raises CampaignError if they are not those of this campaign, or contradict each other.
    """
    config, config_hash = document.get("config"), document.get("config_hash")
    if not isinstance(config, dict) or _hash(config) != config_hash:
        raise CampaignError("campaign.configuration-hash-differs")
    if config.get("campaign") != campaign:
        raise CampaignError("campaign.another-campaign", campaign=campaign)
    if config.get("version") != ROUNDS_VERSION or "menu" not in config:
        return (Terms._of(document, config, None),)
    try:
        flats = [chosen(config, choice) for choice in range(count_choices(config) or 0)]
    except (KeyError, TypeError, ValueError):
        raise CampaignError("campaign.statement-invalid", members="menu") from None
    read = [Terms._of(document, flat, choice) for choice, flat in enumerate(flats)]
    try:
        menu = Menu(
            mechanisms=tuple(one.mechanism for one in read),
            shares=tuple(config["menu"]["shares"]),
            expected=config["menu"]["expected"],
        )
        _compare(config, with_menu(flats, menu))
    except (QuietcrowdError, KeyError, TypeError, AttributeError):
        raise CampaignError("campaign.statement-invalid", members="menu") from None
    return tuple(
        evolve(one, share=share, expected=menu.expected)
        for one, share in zip(read, menu.shares, strict=True)
    )


def _hash(value: Any) -> str | None:
    try:
        return canonical_hash(value).hex()
    except (QuietcrowdError, RecursionError):
        return None


def _check_members(config: Mapping[str, Any]) -> None:
    wrong = [name for name, kind in _MEMBERS.items() if type(config.get(name)) is not kind]
    if wrong:
        raise CampaignError("campaign.statement-invalid", members=", ".join(wrong))
    requester_id, as_of, drafts = _identity(config)
    if _names_requester(config) and not _is_id(requester_id):
        raise CampaignError("campaign.requester-id-missing")
    if config.get("version") in (VERSION, ROUNDS_VERSION) and not isinstance(drafts, bool):
        raise CampaignError("campaign.statement-invalid", members="drafts")
    try:
        if as_of is not None:
            check_as_of(as_of)
    except ParameterError:
        raise CampaignError("campaign.as-of-missing") from None
    answers, tasks = config["answers_per_participant"], config["tasks"]
    if not 1 <= answers <= min(tasks, MAX_REPORTS) or tasks > MAX_TASKS:
        raise CampaignError(
            "campaign.answers-out-of-range",
            answers=answers,
            tasks=tasks,
            max_reports=MAX_REPORTS,
            max_tasks=MAX_TASKS,
        )
    if not 1 <= config["linked"] <= answers:
        raise CampaignError(
            "campaign.linked-out-of-range", linked=config["linked"], answers=answers
        )


def _names_requester(config: Mapping[str, Any]) -> bool:
    return config.get("version") in (NAMING_VERSION, VERSION, ROUNDS_VERSION)


def _identity(config: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return the requester's id, the day and `drafts`, which older versions lack."""
    if not _names_requester(config):
        return None, None, None
    drafts = config.get("drafts") if config.get("version") != NAMING_VERSION else None
    return config.get("requester_id"), config.get("as_of"), drafts


def _promises(config: Mapping[str, Any]) -> Promises | None:
    if config.get("version") == FIRST_VERSION:
        return None
    try:
        return Promises.of(config)
    except ParameterError as error:
        raise CampaignError("campaign.statement-unclear", reason=one_line(str(error))) from None


def _rounds(config: Mapping[str, Any]) -> Rounds | None:
    if config.get("version") != ROUNDS_VERSION or "rounds" not in config:
        return None
    try:
        return Rounds.read(config["rounds"])
    except ParameterError as error:
        raise CampaignError("campaign.statement-unclear", reason=one_line(str(error))) from None


def _allotment(config: Mapping[str, Any], mechanism: Mechanism) -> Allotment | None:
    version = config.get("version")
    if version != ALLOTTING_VERSION and not (_names_requester(config) and "allotment" in config):
        return None
    answers, tasks = config["answers_per_participant"], config["tasks"]
    kind = config.get("allotment") or ""
    try:
        return Allotment.of(kind, mechanism=mechanism, answers=answers, tasks=tasks)
    except ParameterError as error:
        raise CampaignError("campaign.statement-unclear", reason=one_line(str(error))) from None


def _said_loss(config: Mapping[str, Any], mechanism: Mechanism) -> float | None:
    said = config.get("guarantee")
    loss = said.get("worker_epsilon") if isinstance(said, dict) else None
    if not mechanism.loss_depends_on_tasks or not isinstance(loss, int | float):
        return None
    return max(0.0, float(loss))


def _compare(config: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    if canonical_json(config) == canonical_json(expected):
        return
    differing = sorted(
        name
        for name in {*config, *expected}
        if name not in config
        or name not in expected
        or _hash(config[name]) != _hash(expected[name])
    )
    loss = ""
    if "guarantee" in differing:
        here = expected["guarantee"]["worker_epsilon"]
        shown = "infinite" if here is None else show_loss(here)
        loss = f"; its privacy loss is up to epsilon = {shown}"
    raise CampaignError(
        "campaign.statement-contradicts-mechanism",
        members=one_line(", ".join(differing)),
        loss=loss,
    )


@frozen(kw_only=True)
class CampaignTask:
    """Task that a worker may answer.

    The id is 16 bytes in hex, and the name is unique. `data` is shown to the worker.
    """

    id: str
    name: str
    data: Mapping[str, Any] = field(repr=False, hash=False)


def read_tasks(document: Mapping[str, Any], terms: Terms) -> tuple[CampaignTask, ...]:
    """Return all tasks of a campaign, ordered by id; raise CampaignError if not as agreed."""
    listed = document.get("tasks")
    if not isinstance(listed, list) or not all(map(_is_task, listed)):
        raise CampaignError("campaign.tasks-missing")
    tasks = [CampaignTask(id=one["task_id"], name=one["task"], data=one["data"]) for one in listed]
    if document.get("config_hash") != terms.config_hash:
        raise CampaignError("campaign.tasks-of-another-configuration")
    try:
        hashed = hash_tasks([(task.id, task.name, task.data) for task in tasks])
    except (QuietcrowdError, RecursionError):
        hashed = ""
    in_order = all(one.id < next_.id for one, next_ in pairwise(tasks))
    names = {task.name for task in tasks}
    if hashed != terms.tasks_hash or not len(names) == len(tasks) == terms.tasks or not in_order:
        raise CampaignError("campaign.tasks-changed")
    shown = [(task.name, task.data) for task in tasks]
    try:
        among_options(terms.mechanism, shown)
    except ParameterError as error:
        raise CampaignError("campaign.statement-unclear", reason=one_line(str(error))) from None
    found = largest_group(shown, terms.mechanism)
    if min(found, terms.answers) > terms.linked:
        raise CampaignError("campaign.copies-understated", found=found, linked=terms.linked)
    loss = loss_of_tasks(terms.mechanism, terms.answers, [task.name for task in tasks])
    agreed = terms.guarantee.total_epsilon
    if loss is not None and loss > agreed:
        raise CampaignError(
            "campaign.loss-understated", loss=show_loss(loss), stated=show_loss(agreed)
        )
    return tuple(tasks)


def read_allotment(
    document: Mapping[str, Any], terms: Terms, tasks: Sequence[CampaignTask]
) -> tuple[CampaignTask, ...]:
    """Return the tasks that a server's document assigns to this worker, or raise CampaignError."""
    if terms.allotment is None:
        return tuple(tasks)
    ids = document.get("allotted")
    asked = {id_ for id_ in ids if isinstance(id_, str)} if isinstance(ids, list) else set()
    found = tuple(task for task in tasks if task.id in asked)
    if ids != [task.id for task in found] or len(found) != terms.answers:
        raise CampaignError("campaign.too-few-tasks-given", answers=terms.answers)
    return found


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _is_task(one: Any) -> bool:
    return (
        isinstance(one, dict)
        and one.keys() == {"task_id", "task", "data"}
        and _is_id(one["task_id"])
        and isinstance(one["task"], str)
        and one["task"] != ""
        and isinstance(one["data"], dict)
    )
