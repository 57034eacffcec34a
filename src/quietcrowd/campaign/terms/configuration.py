"""The configuration that a worker agrees to: fixed when a campaign opens, and hashed.

The server writes it; a worker's device computes it once more, from the mechanism alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from attrs import evolve, frozen

from quietcrowd.accounting.consent import consent_sentences
from quietcrowd.campaign.terms.allotment import Allotment
from quietcrowd.campaign.terms.canonical import canonical_hash, canonical_json
from quietcrowd.campaign.terms.channel_config import describe_channel, report_rule
from quietcrowd.campaign.terms.near_copies import largest_group
from quietcrowd.campaign.terms.promises import Promises
from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.privacy.guarantee import PrivacyGuarantee, finite_loss

__all__ = [
    "ALLOTTING_VERSION",
    "FIRST_VERSION",
    "VERSION",
    "Configuration",
    "agreed_sentences",
    "build_configuration",
    "campaign_guarantee",
    "check_as_of",
    "describe_campaign",
    "hash_tasks",
    "loss_of_tasks",
]

FIRST_VERSION, PROMISING_VERSION, ALLOTTING_VERSION, VERSION = 1, 2, 3, 4
"""Versions of configurations, the last of which is written. The first one has no promises, the
first two assign no tasks, and only the last one has the id of a requester."""

_DAY = re.compile(r"[1-9]\d{3}-\d{2}-\d{2}", re.ASCII)


@frozen(kw_only=True)
class Configuration:
    """What is fixed once a campaign is open.

    Attributes
    ----------
    text : bytes
        Canonical JSON.
    hash : bytes
        Its SHA-256.
    """

    text: bytes
    hash: bytes


def build_configuration(
    *,
    campaign: str,
    title: str,
    description: str,
    mechanism: Mechanism,
    answers: int | None,
    linked: int | None,
    tasks: Sequence[tuple[str, str, Any]],
    promises: Promises | None = None,
    allotment: str | None = None,
    requester_id: str | None = None,
    as_of: str | None = None,
) -> Configuration:
    """Return the configuration of a campaign.

    Parameters
    ----------
    campaign : str
        Its id.
    title, description : str
        What it is about.
    mechanism : Mechanism
        What devices do to answers.
    answers : int or None
        Most answers of a worker; None: to every task. With an allotment, how many tasks each
        worker is asked.
    linked : int or None
        Most answers of a worker that share one fact; None: as many as `largest_group` finds.
    tasks : sequence of (id, name, data)
        All of them, in the order of their ids.
    promises : Promises or None
        What workers are told besides; None: nothing, as in the first version.
    allotment : {"random", "suggested"}, optional
        How each worker is given some of the tasks; None: any worker may answer any.
    requester_id : str, optional
        Public id of the requester, 16 bytes in hex; None: an older version.
    as_of : str, optional
        The day that all questions are about, as 2026-12-01; with a `requester_id`.

    Raises
    ------
    ParameterError
        Where `as_of` is invalid, there is no task, there are more than the mechanism or one upload
        allow, or more copies and near-copies of one question than are declared to be linked; or
        tasks cannot be handed out: see `Allotment.of`.
    FormatError
        Where JSON cannot hold it.
    """
    if not tasks:
        raise ParameterError("a campaign needs at least one task")
    if mechanism.every_task and len(tasks) > MAX_REPORTS:
        raise ParameterError(
            f"every worker reports every task, in one upload: at most {MAX_REPORTS:,} tasks are "
            f"possible; there are {len(tasks):,}"
        )
    handed_out = Allotment.of(allotment, mechanism=mechanism, answers=answers, tasks=len(tasks))
    most = min(answers or len(tasks), len(tasks), MAX_REPORTS)
    text = canonical_json(
        describe_campaign(
            campaign=campaign,
            title=title,
            description=description,
            mechanism=mechanism,
            answers=most,
            linked=_linked(linked, most, tasks, mechanism),
            tasks=len(tasks),
            tasks_hash=hash_tasks(tasks),
            worker_epsilon=loss_of_tasks(mechanism, most, [name for _, name, _ in tasks]),
            promises=promises,
            allotment=handed_out,
            requester_id=requester_id,
            as_of=as_of,
        )
    )
    return Configuration(text=text, hash=hashlib.sha256(text).digest())


def check_as_of(day: Any) -> None:
    """Raise ParameterError unless a day is of the calendar, from the year 1000 on."""
    try:
        found = isinstance(day, str) and _DAY.fullmatch(day) and date.fromisoformat(day)
    except ValueError:
        found = None
    if not found:
        raise ParameterError(f"as_of must be a day like 2026-12-01; got {day!r}")


def loss_of_tasks(mechanism: Mechanism, answers: int, names: Sequence[str]) -> float | None:
    """Return what all answers to these tasks lose; None where their number alone says it."""
    if not mechanism.loss_depends_on_tasks:
        return None
    return mechanism.guarantee(answers=answers, tasks=names).worker_epsilon


def campaign_guarantee(
    mechanism: Mechanism, answers: int, linked: int, tasks: int, worker_epsilon: float | None
) -> PrivacyGuarantee:
    """Return what a worker who gives all answers loses at most; see `describe_campaign`.

    All answers together lose no less than one of them, whatever `worker_epsilon` says.
    """
    guarantee = mechanism.guarantee(answers=answers, tasks=tasks, linked=linked)
    if worker_epsilon is None:
        return guarantee
    most = max(guarantee.epsilon, worker_epsilon)
    return evolve(
        guarantee,
        worker_epsilon=min(guarantee.worker_epsilon, most),
        linked_epsilon=min(guarantee.linked_epsilon, most),
    )


def _linked(
    declared: int | None, most: int, tasks: Sequence[tuple[str, str, Any]], mechanism: Mechanism
) -> int:
    """Return how many answers of a worker share one fact, at most all that a worker gives."""
    found = min(largest_group([(name, data) for _, name, data in tasks], mechanism), most)
    if declared is not None and declared < found:
        raise ParameterError(
            f"the tasks hold up to {found:,} copies and near-copies of one question: declare so "
            f"many answers to be linked, or take some out; got {declared:,}"
        )
    return min(declared or found, most)


def hash_tasks(tasks: Sequence[tuple[str, str, Any]]) -> str:
    """Return what stands for all tasks in a configuration: a SHA-256 in hex.

    Parameters
    ----------
    tasks : sequence of (id, name, data)
        All of them, in the order of their ids.

    Raises
    ------
    FormatError
        Where JSON cannot hold them.
    """
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
    worker_epsilon: float | None,
    promises: Promises | None,
    allotment: Allotment | None,
    requester_id: str | None,
    as_of: str | None,
) -> dict[str, Any]:
    """Return all that a worker agrees to, JSON-ready: public facts, and what follows from them.

    Parameters
    ----------
    campaign, title, description, mechanism
        As those of `build_configuration`.
    answers : int
        Most answers of a worker.
    linked : int
        Most of these that share one fact.
    tasks : int
        How many there are.
    tasks_hash : str
        Of all tasks; see `hash_tasks`.
    worker_epsilon : float or None
        Loss about all answers where it depends on which tasks these are; see `loss_of_tasks`.
    promises : Promises or None
        As those of `build_configuration`; there are some where tasks are handed out.
    allotment : Allotment or None
        How each worker is given some of the tasks, if so.
    requester_id, as_of
        As those of `build_configuration`.

    Raises
    ------
    ParameterError
        Where `as_of` is invalid.
    """
    if as_of is not None:
        check_as_of(as_of)
    guarantee = campaign_guarantee(mechanism, answers, linked, tasks, worker_epsilon)
    return {
        "version": _version(promises, allotment, requester_id),
        "campaign": campaign,
        "title": title,
        "description": description,
        "mechanism": mechanism.to_dict(),
        "channel": describe_channel(mechanism),
        "report": report_rule(mechanism, tasks).to_dict(),
        "answers_per_participant": answers,
        "linked": linked,
        "tasks": tasks,
        "tasks_hash": tasks_hash,
        **({} if promises is None else promises.to_dict()),
        **({} if allotment is None else {"allotment": allotment.kind}),
        **({} if requester_id is None else {"requester_id": requester_id}),
        **({} if as_of is None else {"as_of": as_of}),
        **_privacy(guarantee, promises, allotment, as_of),
    }


def _version(
    promises: Promises | None, allotment: Allotment | None, requester_id: str | None
) -> int:
    if requester_id is not None:
        return VERSION
    if allotment is not None:
        return ALLOTTING_VERSION
    return FIRST_VERSION if promises is None else PROMISING_VERSION


def _privacy(
    guarantee: PrivacyGuarantee,
    promises: Promises | None,
    allotment: Allotment | None,
    as_of: str | None,
) -> Mapping[str, Any]:
    """Return what a worker loses at most, in numbers and in sentences.

    An infinite loss, as of who answered what, has no number in JSON: it is null.
    """
    return {
        "guarantee": {
            "answer_epsilon": finite_loss(guarantee.epsilon),
            "linked_epsilon": finite_loss(guarantee.linked_epsilon),
            "worker_epsilon": finite_loss(guarantee.worker_epsilon),
            "delta": guarantee.delta,
            "participation_protected": guarantee.participation_protected,
            "assumptions": guarantee.assumptions,
        },
        "consent": agreed_sentences(guarantee, promises, allotment, as_of),
    }


def agreed_sentences(
    guarantee: PrivacyGuarantee,
    promises: Promises | None,
    allotment: Allotment | None = None,
    as_of: str | None = None,
) -> tuple[str, ...]:
    """Return all sentences that a worker agrees to; parameters as those of `describe_campaign`."""
    day = () if as_of is None else (f"All questions are about the day {as_of}.",)
    asked = () if allotment is None else (allotment.sentence,)
    more = () if promises is None else promises.sentences
    return (*consent_sentences(guarantee, priors=(0.5,)), *day, *asked, *more)
