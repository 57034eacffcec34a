"""Identity of questions and channels: whether two tasks, or two reports, are interchangeable.

A question is what a worker is shown, the set of possible answers in any order, and the day, if any.
If noise is independent for each answer, one report per question suffices. The report depends on the
first answer only, so sending it again reveals nothing new.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

from attrs import frozen

from quietcrowd.campaign.device.checked_terms import CampaignTask
from quietcrowd.campaign.terms.canonical import canonical_hash
from quietcrowd.campaign.terms.channels import decoded
from quietcrowd.campaign.terms.near_copies import letters_hashes, sent_again
from quietcrowd.campaign.terms.options import COLUMN, among_options, in_any_order, spell_label
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.channels import OptionsChannel
from quietcrowd.mechanisms.report_meanings import Likelihoods, ListedMeanings, SetMeanings

CodedReport: TypeAlias = tuple[int, int | None]
"""Report in its wire format: its value, and its participation bit or None."""


def question_hash(
    task: CampaignTask,
    domain: Domain,
    as_of: str | None = None,
    channel: Any = None,
    occasion: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """Return the SHA-256, in hex, of a question: content (else name), possible answers and day.

    If tasks list their options, these are in the content, and the question includes their table.
    The `occasion` is the campaign and its round, if it has rounds: each gets fresh noise.
    """
    asked = {"data": task.data} if task.data else {"task": task.name}
    day = {} if as_of is None else {"as_of": as_of}
    answers = {"answers": _answers(domain)}
    if isinstance(channel, OptionsChannel):
        answers = {"table": channel.table_for(len(task.data[COLUMN])).weights.tolist()}
    return canonical_hash({**asked, **answers, **day, **occasion}).hex()


def channel_hash(mechanism: Mechanism) -> str | None:
    """Return the hash of a channel's identity; None if no other campaign can reuse its reports."""
    if not sent_again(mechanism):
        return None
    return canonical_hash(mechanism.channel_identity).hex()


def _answers(domain: Domain) -> Any:
    """Return the possible answers in a canonical order, or the parameters of a numeric domain."""
    if isinstance(domain, FiniteDomain):
        return sorted(map(spell_label, domain.labels))
    return {name: value for name, value in domain.to_dict().items() if name != "kind"}


def spell_report(mechanism: Mechanism, report: CodedReport) -> list[Any]:
    """Return a report's meaning, which another campaign may code differently, and its bit."""
    value, bit = report
    return [mechanism.report_meanings.meaning(value), bit]


def read_report(mechanism: Mechanism, kept: Sequence[Any]) -> CodedReport:
    """Return the wire format of a report from `spell_report`, or raise ValueError."""
    meaning, bit = kept
    if type(bit) not in (int, type(None)):
        raise ValueError("no report has this bit")
    return mechanism.report_meanings.code(meaning), bit


def readable_values(mechanism: Mechanism, codes: Sequence[int]) -> list[Any]:
    """Decode reports for people: a label, a number or a text; None is NULL."""
    meanings = mechanism.report_meanings
    if isinstance(meanings, Likelihoods):
        return [points_to(map(spell_label, meanings.favoured(code))) for code in codes]
    if isinstance(meanings, ListedMeanings):
        return list(map(meanings.meaning, codes))
    if isinstance(meanings, SetMeanings):
        return [", ".join(map(spell_label, meanings.meaning(code))) for code in codes]
    return decoded(mechanism.report_domain, codes).to_pylist()  # type: ignore[no-any-return]


def points_to(labels: Iterable[str]) -> str:
    """Describe a report without a name by the labels that it points to.

    Examples
    --------
    >>> points_to(["b", "c"]), points_to([])
    ('points to: b, c', 'no information')
    """
    named = ", ".join(labels)
    return f"points to: {named}" if named else "no information"


@frozen(kw_only=True, slots=False)
class TaskQuestions:
    """Tasks in the order of their ids, grouped by question."""

    tasks: Sequence[CampaignTask]
    mechanism: Mechanism
    as_of: str | None = None
    occasion: Mapping[str, Any] = MappingProxyType({})

    @cached_property
    def hashes(self) -> Mapping[str, str]:
        """Question hash of each task, by task name."""
        public = (self.mechanism.domain, self.as_of, self.mechanism.channel, self.occasion)
        return {task.name: question_hash(task, *public) for task in self.tasks}

    @cached_property
    def letters(self) -> Mapping[str, tuple[str, ...]]:
        """Hashes of the keys that similar questions share, by task name; see `letters_hashes`."""
        return {
            task.name: letters_hashes(task.name, in_any_order(self.mechanism, task.data))
            for task in self.tasks
        }

    @cached_property
    def randomizer(self) -> Mechanism:
        """Mechanism that randomizes answers to these tasks, among their options if they have."""
        return among_options(self.mechanism, [(task.name, task.data) for task in self.tasks])

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the tasks of each question hash, ordered by task id."""
        groups: dict[str, list[str]] = {}
        for task in self.tasks:
            groups.setdefault(self.hashes[task.name], []).append(task.name)
        return {question: tuple(names) for question, names in groups.items()}

    @property
    def copies(self) -> tuple[tuple[str, ...], ...]:
        """Groups of at least two tasks that are one question."""
        return tuple(names for names in self.groups.values() if len(names) > 1)

    def among(self, questions: Collection[str]) -> tuple[str, ...]:
        """Return the names of the tasks with one of these question hashes."""
        return tuple(name for name, question in self.hashes.items() if question in questions)

    def first_of(self, name: str) -> str:
        """Return the name of the first task with the same question."""
        return self.groups[self.hashes[name]][0]

    def once(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Return one answer per answered question, the first one by task order."""
        given: dict[str, Any] = {}
        for task in self.tasks:
            if answers.get(task.name) is not None:
                given.setdefault(self.first_of(task.name), answers[task.name])
        return given
