"""When two tasks are one question, and when two reports on it have one law.

A question is all that a worker is shown of it, the set of answers to choose from, in any order, and
the day that it is about, if the campaign says one.
Noise that is drawn for each answer by itself need be drawn once for each question: the report on
it is then a function of a first answer, and sent again it tells nothing new.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from attrs import frozen

from quietcrowd.campaign.device.checked_terms import CampaignTask
from quietcrowd.campaign.terms.canonical import canonical_hash, canonical_json
from quietcrowd.campaign.terms.mechanisms import decoded
from quietcrowd.campaign.terms.near_copies import letters_hashes, sent_again
from quietcrowd.domains import Domain, FiniteDomain, Label
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.report_meanings import Likelihoods, ListedMeanings, SetMeanings

__all__ = [
    "CodedReport",
    "TaskQuestions",
    "channel_hash",
    "points_to",
    "question_hash",
    "read_report",
    "readable_values",
    "spell_label",
    "spell_report",
]

CodedReport: TypeAlias = tuple[int, int | None]
"""A report as it is sent: its value, and the participation bit beside it or None."""


def question_hash(task: CampaignTask, domain: Domain, as_of: str | None = None) -> str:
    """Return the SHA-256, in hex, of what is asked, which answers there are, and about which day.

    A task without data is its name.
    """
    asked = {"data": task.data} if task.data else {"task": task.name}
    day = {} if as_of is None else {"as_of": as_of}
    return canonical_hash({**asked, "answers": _answers(domain), **day}).hex()


def channel_hash(mechanism: Mechanism) -> str | None:
    """Return the SHA-256, in hex, of `Mechanism.channel_identity`.

    None if several answers of a worker share noise: then no report serves another campaign.
    """
    if not sent_again(mechanism):
        return None
    return canonical_hash(mechanism.channel_identity).hex()


def _answers(domain: Domain) -> Any:
    """Return what can be answered, in one order; numbers as they are written."""
    if isinstance(domain, FiniteDomain):
        return sorted(map(spell_label, domain.labels))
    return {name: value for name, value in domain.to_dict().items() if name != "kind"}


def spell_label(label: Label) -> str:
    """Return a label as it is written: a number as JSON has it, true or false in small letters."""
    return label if isinstance(label, str) else canonical_json(label).decode()


def spell_report(mechanism: Mechanism, report: CodedReport) -> list[Any]:
    """Return a report as a device stores it: what it means, and its bit.

    Another campaign may code the same meaning differently.
    """
    value, bit = report
    return [mechanism.report_meanings.meaning(value), bit]


def read_report(mechanism: Mechanism, kept: Sequence[Any]) -> CodedReport:
    """Return a report that `spell_report` gave, as it is sent under the same channel.

    Raises
    ------
    ValueError
        If it is not a report of the mechanism.
    """
    meaning, bit = kept
    if type(bit) not in (int, type(None)):
        raise ValueError("no report has this bit")
    return mechanism.report_meanings.code(meaning), bit


def readable_values(mechanism: Mechanism, codes: Sequence[int]) -> list[Any]:
    """Return what reports mean, as people read it: a label, a number or a text; None is NULL.

    The labels of a set are one text. So are the labels that a report without a name points to.
    """
    meanings = mechanism.report_meanings
    if isinstance(meanings, Likelihoods):
        return [points_to(map(spell_label, meanings.favoured(code))) for code in codes]
    if isinstance(meanings, ListedMeanings):
        return list(map(meanings.meaning, codes))
    if isinstance(meanings, SetMeanings):
        return [", ".join(map(spell_label, meanings.meaning(code))) for code in codes]
    return decoded(mechanism.report_domain, codes).to_pylist()  # type: ignore[no-any-return]


def points_to(labels: Iterable[str]) -> str:
    """Return what a report without a name says to people: the labels that it points to.

    Examples
    --------
    >>> points_to(["b", "c"]), points_to([])
    ('points to: b, c', 'says nothing')
    """
    named = ", ".join(labels)
    return f"points to: {named}" if named else "says nothing"


@frozen(kw_only=True, slots=False)
class TaskQuestions:
    """The tasks of a campaign, and which of them are one question.

    Attributes
    ----------
    tasks : sequence of CampaignTask
        All of them, in the order of their ids.
    mechanism : Mechanism
        What randomises.
    as_of : str or None
        The day that all are about, as 2026-12-01.
    """

    tasks: Sequence[CampaignTask]
    mechanism: Mechanism
    as_of: str | None = None

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """The question of each task, by the task's name."""
        domain = self.mechanism.domain
        return {task.name: question_hash(task, domain, self.as_of) for task in self.tasks}

    @cached_property
    def letters(self) -> Mapping[str, tuple[str, ...]]:
        """What near-copies of each task have in common, by the task's name; hashes."""
        return {task.name: letters_hashes(task.name, task.data) for task in self.tasks}

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
