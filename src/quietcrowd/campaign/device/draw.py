"""From answers to what is committed: the only place where a device randomises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.campaign.device.checked_terms import CampaignTask, Terms
from quietcrowd.campaign.device.questions import (
    Coded,
    TaskQuestions,
    channel_hash,
    spell_coded,
)
from quietcrowd.campaign.device.upload import Upload, coded_reports
from quietcrowd.mechanisms import Memo
from quietcrowd.mechanisms.memo.worker_table import worker_table

__all__ = ["Draw"]


@frozen(kw_only=True)
class Draw:
    """What a worker's answers are to become: nothing is drawn before `commit`.

    Attributes
    ----------
    terms : Terms
        What was agreed to.
    questions : TaskQuestions
        The tasks.
    known : mapping of str to (value, bit)
        By the hash of the question, what this server was sent before through the same channel.
    answers : Answers
        Of the worker, checked.
    """

    terms: Terms
    questions: TaskQuestions
    known: Mapping[str, Coded]
    answers: Answers

    @classmethod
    def of(
        cls,
        answers: Mapping[str, Any],
        *,
        worker: str,
        terms: Terms,
        questions: TaskQuestions,
        known: Mapping[str, Coded],
    ) -> Draw:
        """Return what checked answers are to become.

        Raises
        ------
        AnswerError
            Where a task is unknown or an answer outside the domain. No message repeats an answer.
        """
        table = worker_table(
            answers,
            domain=terms.mechanism.domain,
            tasks=sorted(task.name for task in questions.tasks),
            worker=worker,
            campaign=terms.campaign,
        )
        return cls(terms=terms, questions=questions, known=known, answers=table)

    @property
    def reported(self) -> tuple[CampaignTask, ...]:
        """The tasks that get a report: those that were answered, or all."""
        if self.terms.mechanism.every_task:
            return tuple(self.questions.tasks)
        names = self.answers.tasks
        answered = {names[code].as_py() for code in self.answers.task_codes.tolist()}
        return tuple(task for task in self.questions.tasks if task.name in answered)

    @property
    def count(self) -> int:
        """How many reports are drawn: one for each question that was not reported on before.

        One for each task, where one report cannot serve all copies of a question.
        """
        if channel_hash(self.terms.mechanism) is None:
            return len(self.reported)
        return len({self._question(task) for task in self.reported} - self.known.keys())

    def commit(
        self, given: Mapping[str, Any], memo: Memo | None
    ) -> tuple[Upload, Mapping[str, Any]]:
        """Draw; return the request, and what is kept of it under each question.

        Parameters
        ----------
        given : mapping of str to answer
            The answers, by the names of tasks.
        memo : Memo or None
            What fixed the noise; None where it is drawn now.
        """
        if channel_hash(self.terms.mechanism) is None:
            return self._afresh(given, memo)
        assert memo is not None
        return self._once(given, memo)

    def _afresh(
        self, given: Mapping[str, Any], memo: Memo | None
    ) -> tuple[Upload, Mapping[str, Any]]:
        """Draw for every answer; no report can serve another question or campaign."""
        kept = {self._question(task): None for task in self.reported}
        if memo is None:
            reports = self.terms.mechanism.randomize(self.answers)
        else:
            reports = memo.report(given)
        if reports.sketches is not None:
            return Upload.of_sketch(reports, self.terms), kept
        return self._upload(coded_reports(reports, self.terms)), kept

    def _once(self, given: Mapping[str, Any], memo: Memo) -> tuple[Upload, Mapping[str, Any]]:
        """Draw once for every question, and take what was sent before where there is such."""
        answers = self.questions.once({str(name): answer for name, answer in given.items()})
        drawn = coded_reports(memo.report(answers), self.terms)
        sent, kept = {}, {}
        for task in self.reported:
            question, first = self._question(task), self.questions.first_of(task.name)
            report = self.known[question] if question in self.known else drawn[first]
            sent[task.name] = report
            kept[question] = spell_coded(self.terms.mechanism, report)
        return self._upload(sent), kept

    def _upload(self, sent: Mapping[str, Coded]) -> Upload:
        return Upload.of({task.id: sent[task.name] for task in self.reported}, self.terms)

    def _question(self, task: CampaignTask) -> str:
        return self.questions.hashes[task.name]
