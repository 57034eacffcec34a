"""Configurations: what workers agree to, fixed and hashed when a campaign opens."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

from attrs import evolve, frozen

from quietcrowd.accounting.consent import consent_sentences, short_consent
from quietcrowd.campaign.terms.canonical import canonical_hash, canonical_json
from quietcrowd.campaign.terms.channels import earlier_document, report_rule
from quietcrowd.campaign.terms.menu import CHOICE, CHOICE_IN_BRIEF, Menu, with_menu
from quietcrowd.campaign.terms.near_copies import largest_group
from quietcrowd.campaign.terms.options import among_options
from quietcrowd.campaign.terms.promises import Allotment, Promises
from quietcrowd.campaign.terms.rounds import Rounds
from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.privacy.guarantee import PrivacyGuarantee, finite_loss

FIRST_VERSION, PROMISING_VERSION, ALLOTTING_VERSION, NAMING_VERSION, VERSION = 1, 2, 3, 4, 5
ROUNDS_VERSION = 6
"""Versions 1 to 6; only the last two are written. Version 1 has no promises, and versions 1 and 2
assign no tasks. Version 4 adds the requester's id, version 5 `drafts` and a summary of the
sentences. Version 6 has a menu, rounds or both."""

_DAY = re.compile(r"[1-9]\d{3}-\d{2}-\d{2}", re.ASCII)


@frozen(kw_only=True)
class Configuration:
    """The fixed terms of an open campaign: canonical JSON, and its SHA-256."""

    text: bytes
    hash: bytes


def build_configuration(
    *,
    campaign: str,
    title: str,
    description: str,
    mechanism: Mechanism | Menu,
    answers: int | None,
    linked: int | None,
    tasks: Sequence[tuple[str, str, Any]],
    promises: Promises | None = None,
    allotment: str | None = None,
    requester_id: str | None = None,
    as_of: str | None = None,
    drafts: bool | None = None,
    rounds: Rounds | None = None,
) -> Configuration:
    """Build the configuration of a campaign, or raise `ParameterError` or `FormatError`.

    `tasks` are ordered by id. `answers` limits a worker's answers (None for all tasks), or is the
    number of tasks assigned to a worker. `linked` limits the answers that share one fact; the
    default is the result of `largest_group`. `as_of` is the day that all questions refer to.
    `drafts` states whether devices may keep unsent answers; None writes an older version. Entries
    of a menu are ordered by the loss of a person; `chosen` returns the configuration of one.
    """
    if not tasks:
        raise ParameterError("campaign.no-task")
    most = min(answers or len(tasks), len(tasks), MAX_REPORTS)
    menu = mechanism if isinstance(mechanism, Menu) else None
    mechanisms = (mechanism,) if isinstance(mechanism, Mechanism) else mechanism.mechanisms
    for one in mechanisms:
        among_options(one, [(name, data) for _, name, data in tasks])  # raises if they are wrong
        if one.every_task and len(tasks) > MAX_REPORTS:
            raise ParameterError(
                "campaign.too-many-tasks", max_reports=MAX_REPORTS, count=len(tasks)
            )
    found = max(_linked(linked, most, tasks, one) for one in mechanisms)
    hashed, names = hash_tasks(tasks), [name for _, name, _ in tasks]
    described = [
        describe_campaign(
            campaign=campaign,
            title=title,
            description=description,
            mechanism=one,
            answers=most,
            linked=found,
            tasks=len(tasks),
            tasks_hash=hashed,
            total_epsilon=loss_of_tasks(one, most, names),
            promises=promises,
            allotment=Allotment.of(allotment, mechanism=one, answers=answers, tasks=len(tasks)),
            requester_id=requester_id,
            as_of=as_of,
            drafts=drafts,
            rounds=rounds,
            in_menu=menu is not None,
        )
        for one in mechanisms
    ]
    text = canonical_json(described[0] if menu is None else with_menu(described, menu))
    return Configuration(text=text, hash=hashlib.sha256(text).digest())


def check_as_of(day: Any) -> None:
    """Raise `ParameterError` unless a day is a valid date from the year 1000 on."""
    try:
        found = isinstance(day, str) and _DAY.fullmatch(day) and date.fromisoformat(day)
    except ValueError:
        found = None
    if not found:
        raise ParameterError("campaign.as-of-not-a-day", day=day)


def loss_of_tasks(mechanism: Mechanism, answers: int, names: Sequence[str]) -> float | None:
    """Return the epsilon of all answers to these tasks; None if it depends only on their number."""
    if not mechanism.loss_depends_on_tasks:
        return None
    return mechanism.guarantee(answers=answers, tasks=names).total_epsilon


def campaign_guarantee(
    mechanism: Mechanism, answers: int, linked: int, tasks: int, total_epsilon: float | None
) -> PrivacyGuarantee:
    """Return the guarantee of all answers, whose epsilon is at least that of one answer."""
    guarantee = mechanism.guarantee(answers=answers, tasks=tasks, linked=linked)
    if total_epsilon is None:
        return guarantee
    most = max(guarantee.epsilon, total_epsilon)
    return evolve(
        guarantee,
        total_epsilon=min(guarantee.total_epsilon, most),
        linked_epsilon=min(guarantee.linked_epsilon, most),
    )


def _linked(
    declared: int | None, most: int, tasks: Sequence[tuple[str, str, Any]], mechanism: Mechanism
) -> int:
    found = min(largest_group([(name, data) for _, name, data in tasks], mechanism), most)
    if declared is not None and declared < found:
        raise ParameterError("campaign.copies-undeclared", found=found, declared=declared)
    return min(declared or found, most)


def hash_tasks(tasks: Sequence[tuple[str, str, Any]]) -> str:
    """Return the SHA-256 of all tasks, ordered by id, in hexadecimal; may raise `FormatError`."""
    listed = [{"task_id": id_, "task": name, "data": data} for id_, name, data in tasks]
    return canonical_hash(listed).hex()


def describe_campaign(
    *,
    campaign: str,
    title: str,
    description: str,
    mechanism: Mechanism,
    answers: int,
    linked: int,
    tasks: int,
    tasks_hash: str,
    total_epsilon: float | None,
    promises: Promises | None,
    allotment: Allotment | None,
    requester_id: str | None,
    as_of: str | None,
    drafts: bool | None,
    rounds: Rounds | None = None,
    in_menu: bool = False,
) -> dict[str, Any]:
    """Return the content of a configuration, `chosen` if it is `in_menu`.

    For parameters see `build_configuration`.
    """
    if as_of is not None:
        check_as_of(as_of)
    guarantee = campaign_guarantee(mechanism, answers, linked, tasks, total_epsilon)
    is_latest = rounds is not None or in_menu
    if is_latest and None in (promises, requester_id, drafts):
        raise ParameterError("campaign.rounds-need-promises")
    if rounds is not None:
        _check_for_rounds(mechanism, guarantee, as_of)
    return {
        "version": ROUNDS_VERSION
        if is_latest
        else _version(promises, allotment, requester_id, drafts),
        "campaign": campaign,
        "title": title,
        "description": description,
        "mechanism": mechanism.to_dict(),
        "channel": mechanism.channel.describe(),
        "report": report_rule(mechanism, tasks).to_dict(),
        "answers_per_participant": answers,
        "linked": linked,
        "tasks": tasks,
        "tasks_hash": tasks_hash,
        **({} if promises is None else promises.to_dict()),
        **({} if allotment is None else {"allotment": allotment.kind}),
        **({} if requester_id is None else {"requester_id": requester_id}),
        **({} if as_of is None else {"as_of": as_of}),
        **({} if drafts is None else {"drafts": drafts}),
        **_privacy(guarantee),
        "consent": agreed_sentences(guarantee, promises, allotment, as_of, rounds, in_menu),
        **(
            {}
            if drafts is None
            else {
                "summary": agreed_summary(
                    mechanism, guarantee, promises, allotment, rounds, in_menu
                )
            }
        ),
        **({} if rounds is None else _in_rounds(guarantee, rounds)),
    }


def _check_for_rounds(mechanism: Mechanism, guarantee: PrivacyGuarantee, as_of: str | None) -> None:
    finite = math.isfinite(guarantee.total_epsilon) and not guarantee.delta
    if mechanism.every_task or not finite:
        raise ParameterError("campaign.mechanism-not-in-rounds", name=mechanism.name)
    if as_of is not None:
        raise ParameterError("campaign.rounds-without-day")


def _in_rounds(guarantee: PrivacyGuarantee, rounds: Rounds) -> Mapping[str, Any]:
    losses = rounds.losses(guarantee.total_epsilon)
    return {"rounds": rounds.to_dict(), "losses": losses.to_dict()}


def _version(
    promises: Promises | None,
    allotment: Allotment | None,
    requester_id: str | None,
    drafts: bool | None,
) -> int:
    if drafts is not None:
        return VERSION
    if requester_id is not None:
        return NAMING_VERSION
    if allotment is not None:
        return ALLOTTING_VERSION
    return FIRST_VERSION if promises is None else PROMISING_VERSION


def _privacy(guarantee: PrivacyGuarantee) -> Mapping[str, Any]:
    """Return the guarantee in numbers; null is an infinite epsilon."""
    return {
        "guarantee": {
            "answer_epsilon": finite_loss(guarantee.epsilon),
            "linked_epsilon": finite_loss(guarantee.linked_epsilon),
            "worker_epsilon": finite_loss(guarantee.total_epsilon),
            "delta": guarantee.delta,
            "participation_protected": guarantee.participation_protected,
            "assumptions": guarantee.assumptions,
        }
    }


def earlier_members(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return members as older campaigns contain them, which devices can still answer."""
    guarantee = config["guarantee"]
    return {
        "channel": earlier_document(config["channel"]),
        "guarantee": {**guarantee, "assumptions": _in_earlier_words(guarantee["assumptions"])},
        "consent": _in_earlier_words(config["consent"]),
    }


def _in_earlier_words(sentences: Iterable[str]) -> tuple[str, ...]:
    for now, earlier in _earlier_words().items():
        sentences = [sentence.replace(now, earlier) for sentence in sentences]
    return tuple(sentences)


@cache
def _earlier_words() -> Mapping[str, str]:
    """Return parts of sentences and their earlier wording, in the order of replacement."""
    file = files("quietcrowd.campaign.terms") / "earlier_sentences.json"
    words: dict[str, str] = json.loads(file.read_text("utf-8"))
    return words


def agreed_sentences(
    guarantee: PrivacyGuarantee,
    promises: Promises | None,
    allotment: Allotment | None = None,
    as_of: str | None = None,
    rounds: Rounds | None = None,
    in_menu: bool = False,
) -> tuple[str, ...]:
    """Return all sentences that a worker agrees to; for the parameters see `describe_campaign`."""
    day = () if as_of is None else (f"All questions are about the day {as_of}.",)
    asked = () if allotment is None else (allotment.sentence,)
    more = () if promises is None else promises.sentences
    if rounds is not None and promises is not None:
        more = rounds.sentences(guarantee.total_epsilon, promises)
    choice = (CHOICE,) if in_menu else ()
    return (*consent_sentences(guarantee, priors=(0.5,)), *day, *asked, *more, *choice)


def agreed_summary(
    mechanism: Mechanism,
    guarantee: PrivacyGuarantee,
    promises: Promises | None,
    allotment: Allotment | None,
    rounds: Rounds | None = None,
    in_menu: bool = False,
) -> tuple[str, ...]:
    """Return the lines that a worker sees first; `agreed_sentences` states everything."""
    given = () if allotment is None else (allotment.summary,)
    more = () if promises is None else promises.summary
    figures: list[tuple[float, str]] = []
    if rounds is not None and promises is not None:
        more = rounds.summary(promises.at_least)
        figures = rounds.figures(guarantee.total_epsilon)
    choice = (CHOICE_IN_BRIEF,) if in_menu else ()
    together = mechanism.channel.kind == "sketch"
    lines = short_consent(guarantee, together=together, more=figures)
    return (*lines, *given, *more, *choice, "Answers elsewhere add up.")
