"""What a worker agrees to, computed on the worker's device: a server is not believed.

A campaign's configuration says which mechanism randomises, and what follows from it: the table of
integers or the noise, which reports there can be, what a worker loses. All that follows is computed
here once more from the mechanism, and a configuration in which anything differs is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

from attrs import field, frozen

from quietcrowd.campaign.terms.allotment import Allotment
from quietcrowd.campaign.terms.canonical import canonical_hash, canonical_json
from quietcrowd.campaign.terms.configuration import (
    ALLOTTING_VERSION,
    FIRST_VERSION,
    VERSION,
    agreed_sentences,
    campaign_guarantee,
    check_as_of,
    describe_campaign,
    hash_tasks,
    loss_of_tasks,
)
from quietcrowd.campaign.terms.mechanisms import usable_mechanism
from quietcrowd.campaign.terms.near_copies import largest_group
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.promises import Promises
from quietcrowd.campaign.terms.settings import MAX_REPORTS, MAX_TASKS
from quietcrowd.exceptions import CampaignError, ParameterError, QuietcrowdError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.privacy.guarantee import PrivacyGuarantee, show_loss

__all__ = ["CampaignTask", "Terms", "read_allotment", "read_tasks"]

_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MEMBERS = {
    "campaign": str,
    "title": str,
    "description": str,
    "mechanism": dict,
    "answers_per_participant": int,
    "linked": int,
    "tasks": int,
    "tasks_hash": str,
}
_WAY_OUT = "Nothing was sent; take no part, and ask who invited you."


@frozen(kw_only=True)
class Terms:
    """What a worker agrees to.

    Attributes
    ----------
    campaign : str
        Id, 16 bytes in hex.
    title, description : str
        What it is about, as the requester wrote it.
    mechanism : Mechanism
        What this device does to answers.
    answers : int
        Most answers of a worker; with an allotment, how many tasks each is asked.
    linked : int
        Most of these that share one fact, as those to copies of a question do.
    tasks : int
        How many there are.
    tasks_hash : str
        SHA-256 of all tasks, in hex.
    config_hash : str
        SHA-256 of the configuration, in hex: what is pinned.
    state : {"open", "closed"}
        When it was read.
    needs_invite : bool
        Whether an invite lets in.
    worker_epsilon : float or None
        Loss about all answers, where it depends on which tasks there are: as the campaign says,
        and checked when these are read.
    promises : Promises or None
        Who asks and what for, how long things are kept, and of how many workers at a time whoever
        asks is shown reports; None in campaigns of an older version, which do not say.
    allotment : Allotment or None
        How each worker is given some of the tasks; None where any may be answered.
    requester_id : str or None
        Public id of the requester at the server, 16 bytes in hex; None in campaigns of an older
        version, whose reports are never sent again.
    as_of : str or None
        The day that all questions are about, as 2026-12-01.
    closes_on : str or None
        The last day on which anything is taken in, in UTC, as 2026-12-31, when it was read; it is
        not promised. None: until the campaign is closed.
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
    worker_epsilon: float | None = None
    promises: Promises | None = None
    allotment: Allotment | None = None
    requester_id: str | None = None
    as_of: str | None = None
    closes_on: str | None = None

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What a worker who gives all answers loses at most."""
        return campaign_guarantee(
            self.mechanism, self.answers, self.linked, self.tasks, self.worker_epsilon
        )

    @property
    def spared(self) -> float:
        """By how much all answers to these tasks lose less than to any of their number."""
        if self.worker_epsilon is None:
            return 0.0
        unnamed = self.mechanism.guarantee(answers=self.answers, tasks=self.tasks).worker_epsilon
        return max(0.0, math.nextafter(unnamed - self.worker_epsilon, 0.0))

    @property
    def consent(self) -> tuple[str, ...]:
        """The guarantee, and what is promised besides, in sentences."""
        return agreed_sentences(self.guarantee, self.promises, self.allotment, self.as_of)

    @classmethod
    def read(cls, document: Mapping[str, Any], campaign: str) -> Terms:
        """Return the terms of a public campaign.

        Parameters
        ----------
        document : mapping
            What the server answered.
        campaign : str
            Which one was asked for.

        Raises
        ------
        CampaignError
            Where the hash is not that of the configuration, or what is said of the mechanism is
            not what follows from it.
        """
        config, config_hash = document.get("config"), document.get("config_hash")
        if not isinstance(config, dict) or _hash(config) != config_hash:
            raise CampaignError(
                f"the server's configuration has not the hash that it says. {_WAY_OUT}"
            )
        _check_members(config, campaign)
        requester_id, as_of = _identity(config)
        promises = _promises(config)
        try:
            mechanism = usable_mechanism(config["mechanism"])
            allotment = _allotment(config, mechanism)
            expected = _expected(config, mechanism, promises, allotment)
        except CampaignError:
            raise
        except (QuietcrowdError, ArithmeticError) as error:
            raise CampaignError(
                f"the campaign's mechanism cannot be had: {one_line(str(error))} {_WAY_OUT}"
            ) from None
        _compare(config, expected)
        return cls(
            campaign=campaign,
            title=config["title"],
            description=config["description"],
            mechanism=mechanism,
            answers=config["answers_per_participant"],
            linked=config["linked"],
            tasks=config["tasks"],
            tasks_hash=config["tasks_hash"],
            config_hash=str(config_hash),
            state="open" if document.get("state") == "open" else "closed",
            needs_invite=document.get("join_mode") != "open",
            worker_epsilon=_said_loss(config, mechanism),
            promises=promises,
            allotment=allotment,
            requester_id=requester_id,
            as_of=as_of,
            closes_on=_day(document.get("closes_on")),
        )


def _day(said: Any) -> str | None:
    """Return a day as it is spelled; None for anything else."""
    return said if isinstance(said, str) and _DAY.fullmatch(said) else None


def _hash(value: Any) -> str | None:
    """Return the hash of a JSON value; None where it cannot have one."""
    try:
        return canonical_hash(value).hex()
    except (QuietcrowdError, RecursionError):
        return None


def _check_members(config: Mapping[str, Any], campaign: str) -> None:
    wrong = [name for name, kind in _MEMBERS.items() if type(config.get(name)) is not kind]
    if wrong:
        raise CampaignError(f"the campaign does not say, or not clearly: {', '.join(wrong)}")
    requester_id, as_of = _identity(config)
    if config.get("version") == VERSION and not _is_id(requester_id):
        raise CampaignError("the campaign does not say, or not clearly: requester_id")
    try:
        if as_of is not None:
            check_as_of(as_of)
    except ParameterError:
        raise CampaignError("the campaign does not say, or not clearly: as_of") from None
    if config["campaign"] != campaign:
        raise CampaignError(f"the server shows another campaign than {campaign}. {_WAY_OUT}")
    answers, tasks = config["answers_per_participant"], config["tasks"]
    if not 1 <= answers <= min(tasks, MAX_REPORTS) or tasks > MAX_TASKS:
        raise CampaignError(
            f"the campaign asks for {answers:,} answers to {tasks:,} tasks: there must be 1 to "
            f"{MAX_REPORTS:,} answers, not more than tasks, and at most {MAX_TASKS:,} tasks"
        )
    if not 1 <= config["linked"] <= answers:
        raise CampaignError(
            f"the campaign says that {config['linked']:,} of {answers:,} answers share one fact: "
            "there must be 1, or more up to all of them"
        )


def _identity(config: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the requester's id and the day of the questions; older versions have neither."""
    if config.get("version") != VERSION:
        return None, None
    return config.get("requester_id"), config.get("as_of")


def _promises(config: Mapping[str, Any]) -> Promises | None:
    """Return what a configuration promises; None in one of the first version."""
    if config.get("version") == FIRST_VERSION:
        return None
    try:
        return Promises.of(config)
    except ParameterError as error:
        raise CampaignError(
            f"the campaign does not say, or not clearly: {one_line(str(error))}. {_WAY_OUT}"
        ) from None


def _allotment(config: Mapping[str, Any], mechanism: Mechanism) -> Allotment | None:
    """Return how a configuration hands out its tasks; None if it does not."""
    version = config.get("version")
    if version != ALLOTTING_VERSION and not (version == VERSION and "allotment" in config):
        return None
    answers, tasks = config["answers_per_participant"], config["tasks"]
    kind = config.get("allotment") or ""
    try:
        return Allotment.of(kind, mechanism=mechanism, answers=answers, tasks=tasks)
    except ParameterError as error:
        raise CampaignError(
            f"the campaign does not say, or not clearly: {one_line(str(error))}. {_WAY_OUT}"
        ) from None


def _expected(
    config: Mapping[str, Any],
    mechanism: Mechanism,
    promises: Promises | None,
    allotment: Allotment | None,
) -> dict[str, Any]:
    """Return the configuration as it follows from the mechanism and the tasks."""
    requester_id, as_of = _identity(config)
    return describe_campaign(
        campaign=config["campaign"],
        title=config["title"],
        description=config["description"],
        mechanism=mechanism,
        answers=config["answers_per_participant"],
        linked=config["linked"],
        tasks=config["tasks"],
        tasks_hash=config["tasks_hash"],
        worker_epsilon=_said_loss(config, mechanism),
        promises=promises,
        allotment=allotment,
        requester_id=requester_id,
        as_of=as_of,
    )


def _said_loss(config: Mapping[str, Any], mechanism: Mechanism) -> float | None:
    """Return what a campaign says of all answers where it depends on tasks yet to be read."""
    said = config.get("guarantee")
    loss = said.get("worker_epsilon") if isinstance(said, dict) else None
    if not mechanism.loss_depends_on_tasks or not isinstance(loss, int | float):
        return None
    return max(0.0, float(loss))


def _compare(config: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Raise CampaignError where a configuration is not what follows from its mechanism."""
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
        loss = f"; a worker loses up to epsilon = {'infinite' if here is None else show_loss(here)}"
    raise CampaignError(
        f"what the campaign says is not what follows from its mechanism: "
        f"{one_line(', '.join(differing))}{loss}. {_WAY_OUT}"
    )


@frozen(kw_only=True)
class CampaignTask:
    """A task that a worker may answer.

    Attributes
    ----------
    id : str
        16 bytes in hex.
    name : str
        What the requester calls it; unique.
    data : mapping
        What is asked, as the requester wrote it.
    """

    id: str
    name: str
    data: Mapping[str, Any] = field(repr=False, hash=False)


def read_tasks(document: Mapping[str, Any], terms: Terms) -> tuple[CampaignTask, ...]:
    """Return all tasks of a campaign, in the order of their ids.

    Parameters
    ----------
    document : mapping
        What the server answered.
    terms : Terms
        What was agreed to.

    Raises
    ------
    CampaignError
        Where these are not the tasks that were agreed to, or more of them than the campaign says
        ask for one fact.
    """
    listed = document.get("tasks")
    if not isinstance(listed, list) or not all(map(_is_task, listed)):
        raise CampaignError("the server shows no list of tasks")
    tasks = [CampaignTask(id=one["task_id"], name=one["task"], data=one["data"]) for one in listed]
    if document.get("config_hash") != terms.config_hash:
        raise CampaignError(f"the tasks belong to another configuration. {_WAY_OUT}")
    try:
        hashed = hash_tasks([(task.id, task.name, task.data) for task in tasks])
    except (QuietcrowdError, RecursionError):
        hashed = ""
    in_order = all(one.id < next_.id for one, next_ in pairwise(tasks))
    names = {task.name for task in tasks}
    if hashed != terms.tasks_hash or not len(names) == len(tasks) == terms.tasks or not in_order:
        raise CampaignError(f"the tasks are not those that you agreed to. {_WAY_OUT}")
    _check_linked(tasks, terms)
    _check_loss(tasks, terms)
    return tuple(tasks)


def read_allotment(
    document: Mapping[str, Any], terms: Terms, tasks: Sequence[CampaignTask]
) -> tuple[CampaignTask, ...]:
    """Return the tasks that this worker is asked, in the order of their ids.

    Parameters
    ----------
    document : mapping
        What the server answered; its member ``allotted`` has their ids, in order. Without an
        allotment they are all tasks, whatever it has.
    terms : Terms
        What was agreed to.
    tasks : sequence of CampaignTask
        All of the campaign.

    Raises
    ------
    CampaignError
        Where these are not as many different tasks as was agreed to.
    """
    if terms.allotment is None:
        return tuple(tasks)
    ids = document.get("allotted")
    asked = {id_ for id_ in ids if isinstance(id_, str)} if isinstance(ids, list) else set()
    found = tuple(task for task in tasks if task.id in asked)
    if ids != [task.id for task in found] or len(found) != terms.answers:
        raise CampaignError(
            f"the server does not give you {terms.answers:,} of the campaign's tasks, as you "
            "agreed to. None of your answers was sent: try later, or withdraw and ask who invited "
            "you."
        )
    return found


def _check_loss(tasks: Sequence[CampaignTask], terms: Terms) -> None:
    """Raise CampaignError where all answers to these tasks lose more than was agreed to."""
    loss = loss_of_tasks(terms.mechanism, terms.answers, [task.name for task in tasks])
    agreed = terms.guarantee.worker_epsilon
    if loss is not None and loss > agreed:
        raise CampaignError(
            f"all answers to these tasks lose up to epsilon = {show_loss(loss)}, and the campaign "
            f"says {show_loss(agreed)}: what you agreed to is less than what you would lose. "
            f"{_WAY_OUT}"
        )


def _check_linked(tasks: Sequence[CampaignTask], terms: Terms) -> None:
    """Raise CampaignError where more copies of one question are there than was agreed to."""
    found = largest_group([(task.name, task.data) for task in tasks], terms.mechanism)
    if min(found, terms.answers) > terms.linked:
        raise CampaignError(
            f"{found:,} of the tasks are copies or near-copies of one question, and the campaign "
            f"says that {terms.linked:,} answers at most share a fact: what you agreed to is less "
            f"than what you would lose. {_WAY_OUT}"
        )


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
