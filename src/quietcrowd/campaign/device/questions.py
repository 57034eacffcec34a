"""When two tasks are one question, and when two reports on it have one law.

A question is all that a worker is shown of it and the set of answers to choose from, in any order.
Noise that is drawn for each answer by itself need be drawn once for each question: the report on
it is then a function of a first answer, and sent again it tells nothing new.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen

from quietcrowd.campaign.device.checked_terms import CampaignTask
from quietcrowd.campaign.terms.canonical import canonical_hash, canonical_json
from quietcrowd.campaign.terms.channel_config import describe_channel
from quietcrowd.campaign.terms.near_copies import letters_hash, sent_again
from quietcrowd.domains import Domain, FiniteDomain, Label
from quietcrowd.mechanisms import Mechanism
from quietcrowd.report_domains import LabelSets, OrNull
from quietcrowd.set_ranks import ranks_of

__all__ = [
    "CodedReport",
    "TaskQuestions",
    "channel_hash",
    "question_hash",
    "read_report",
    "spell_label",
    "spell_report",
]

CodedReport: TypeAlias = tuple[int, int | None]
"""A report as it is sent: its value, and the participation bit beside it or None."""


def question_hash(task: CampaignTask, domain: Domain) -> str:
    """Return the SHA-256, in hex, of what is asked and which answers there are.

    A task without data is its name.
    """
    asked = {"data": task.data} if task.data else {"task": task.name}
    return canonical_hash({**asked, "answers": _answers(domain)}).hex()


def channel_hash(mechanism: Mechanism) -> str | None:
    """Return the SHA-256, in hex, of the law of a report; None where its noise is not its own.

    The order of labels makes no other law. Where several answers of a worker share what is drawn,
    one report of another campaign is no report of this one.
    """
    if not sent_again(mechanism):
        return None
    law = {"answers": _answers(mechanism.domain), "channel": describe_channel(mechanism)}
    return canonical_hash({**law, "every_task": mechanism.every_task}).hex()


def _answers(domain: Domain) -> Any:
    """Return what can be answered, in one order; numbers as they are written."""
    if isinstance(domain, FiniteDomain):
        return sorted(map(spell_label, domain.labels))
    return {name: value for name, value in domain.to_dict().items() if name != "kind"}


def spell_label(label: Label) -> str:
    """Return a label as it is written: a number as JSON has it, true or false in small letters."""
    return label if isinstance(label, str) else canonical_json(label).decode()


def spell_report(mechanism: Mechanism, report: CodedReport) -> list[Any]:
    """Return a report as it is kept: by its label or labels, or its steps of the public grid.

    Codes of labels are places in a list that another campaign may have in another order.
    """
    value, bit = report
    domain = mechanism.report_domain
    if isinstance(domain, LabelSets):
        return [_spell_set(domain, value), bit]
    labels = _labels(domain)
    return [value if labels is None else labels[value], bit]


def read_report(mechanism: Mechanism, kept: Sequence[Any]) -> CodedReport:
    """Return a report that `spell_report` gave, as it is sent under the same channel.

    Raises
    ------
    ValueError
        Where it is none.
    """
    value, bit = kept
    domain = mechanism.report_domain
    labels = _labels(domain)
    if isinstance(domain, LabelSets):
        value = _read_set(domain, value)
    code = value if labels is None else labels.index(value)
    if type(code) is not int or type(bit) not in (int, type(None)):
        raise ValueError("no report")
    return code, bit


def _spell_set(domain: LabelSets, value: int) -> list[str]:
    """Return the labels of a set, as they are written."""
    [members] = domain.members_of(np.array([value]))
    return [*map(spell_label, members)]


def _read_set(domain: LabelSets, listed: Sequence[Any]) -> int:
    """Return the number of a set of labels; ValueError where it is none."""
    names = [*map(spell_label, domain.domain.labels)]
    codes = sorted({names.index(name) for name in listed})
    if not len(codes) == len(listed) == domain.members:
        raise ValueError("no set of labels")
    return int(ranks_of(np.array([codes]), domain.domain.size)[0])


def _labels(domain: Domain) -> list[str | None] | None:
    """Return what each code stands for, None being NULL; None where reports are numbers."""
    if isinstance(domain, OrNull):
        return [*map(spell_label, domain.domain.labels), None]
    return [*map(spell_label, domain.labels)] if isinstance(domain, FiniteDomain) else None


@frozen(kw_only=True, slots=False)
class TaskQuestions:
    """The tasks of a campaign, and which of them are one question.

    Attributes
    ----------
    tasks : sequence of CampaignTask
        All of them, in the order of their ids.
    mechanism : Mechanism
        What randomises.
    """

    tasks: Sequence[CampaignTask]
    mechanism: Mechanism

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """The question of each task, by the task's name."""
        domain = self.mechanism.domain
        return {task.name: question_hash(task, domain) for task in self.tasks}

    @cached_property
    def letters(self) -> Mapping[str, str]:
        """What near-copies of each task have in common, by the task's name; a hash."""
        return {task.name: letters_hash(task.name, task.data) for task in self.tasks}

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the tasks of each question, in the order of their ids."""
        groups: dict[str, list[str]] = {}
        for task in self.tasks:
            groups.setdefault(self.hashes[task.name], []).append(task.name)
        return {question: tuple(names) for question, names in groups.items()}

    @property
    def copies(self) -> tuple[tuple[str, ...], ...]:
        """Names of tasks that are one question, where there are several."""
        return tuple(names for names in self.groups.values() if len(names) > 1)

    def among(self, questions: Collection[str]) -> tuple[str, ...]:
        """Return the names of the tasks whose question is one of these."""
        return tuple(name for name, question in self.hashes.items() if question in questions)

    def first_of(self, name: str) -> str:
        """Return the first task of a task's question."""
        return self.groups[self.hashes[name]][0]

    def once(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Return one answer for each question that is answered, by its first task.

        Where copies of a question have different answers, that of the first copy that has one
        counts: a public rule.
        """
        given: dict[str, Any] = {}
        for task in self.tasks:
            if answers.get(task.name) is not None:
                given.setdefault(self.first_of(task.name), answers[task.name])
        return given
