"""Answers to infer from, read from reports, answers or a dataframe."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve, frozen

from quietcrowd.answer_errors import ADVICE
from quietcrowd.answers import Answers
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import (
    ALIASES,
    Backend,
    as_frame,
    backend_of,
    collected,
    column_of,
    holds_reports,
    with_usual_names,
)
from quietcrowd.inference.method import TruthInference
from quietcrowd.inference.partition import Summary
from quietcrowd.intake import MISSING, Intake, distinct
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.joining import first_sent, join_reports
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.mechanisms.report_frames import reports_from_frame
from quietcrowd.mechanisms.sent_again import MARKS, Marks
from quietcrowd.report_domains import OneOf, OrNull


def domain_in(frame: Any, method: TruthInference, missing: Iterable[str] = MISSING) -> Domain:
    """Return the domain of a frame's labels, as a method reads them."""
    labels = column_of(with_usual_names(as_frame(frame)), "label", ADVICE["frame"].column)
    return method.domain_of(distinct(Intake(missing).labels(labels, "label")))


def check_mixed(method: TruthInference, reports: Domain) -> None:
    """Raise AnswerError for reports of several mechanisms, unless the method `reads_mixed`."""
    if isinstance(reports, OneOf) and not method.reads_mixed:
        raise AnswerError("inference.mixture-unsupported", type_name=type(method).__name__)


@frozen(kw_only=True, eq=False)
class Given:
    """Data of a fit: reports, answers, or a frame of non-private answers; `backend` of results."""

    data: Any
    backend: Backend = "pandas"

    @classmethod
    def of(cls, data: Any, mechanisms: Iterable[Mechanism] = (), *, non_private: bool) -> Self:
        """Read a frame with hashes of mechanisms as reports; see `FittingMethod.fit`."""
        if isinstance(data, (Reports, Answers)):
            return cls(data=data)
        if isinstance(data, list | tuple):
            return cls._joined([cls.of(one, mechanisms, non_private=non_private) for one in data])
        names = (*ALIASES, *chain(*ALIASES.values()), "participation", *MARKS)
        frame = collected(data, names)
        if holds_reports(frame):
            return cls(data=reports_from_frame(frame, mechanisms), backend=backend_of(frame))
        if not non_private:
            raise AnswerError("inference.answers-or-reports")
        return cls(data=frame, backend=backend_of(frame))

    def first_sent(self, stacklevel: int) -> Self:
        """Return the reports that were not sent again, and warn of the others."""
        reports = self.data
        if not isinstance(reports, Reports) or reports.again is None:
            return self
        Marks(again=reports.again, campaign=None).warn(stacklevel)
        return evolve(self, data=first_sent(reports))

    @classmethod
    def _joined(cls, parts: list[Self]) -> Self:
        known = [part.data for part in parts if isinstance(part.data, Reports | Answers)]
        if not known:
            raise AnswerError("inference.only-frames")
        first = known[0]
        domain = first.domain if isinstance(first, Answers) else first.mechanism.domain
        tables = [
            part.data
            if isinstance(part.data, Reports | Answers)
            else Answers.from_frame(part.data, domain)
            for part in parts
        ]
        return cls(data=join_reports(*tables), backend=parts[0].backend)


@frozen(kw_only=True, eq=False)
class Observations:
    """Answers, or reports read as answers; NULL reports are dropped and counted.

    `domain` is that of the truths.
    """

    answers: Answers
    domain: Domain
    mechanism: Any = None
    simulated: bool = False
    participation: npt.NDArray[np.float64] | None = None
    backend: Backend = "pandas"

    @classmethod
    def read(
        cls,
        data: Any,
        method: TruthInference,
        domain: Domain | None = None,
        backend: Backend = "pandas",
    ) -> Observations:
        """Read data for a method; `domain` is that of a frame's labels, by default found."""
        if isinstance(data, Reports):
            check_mixed(method, data.table.domain)
            if data.table.options is None:
                method.check_mechanism(data.mechanism)
                truths = method.truth_domain(data.mechanism)
            else:  # the channel depends on the task; the method checks it when it is bound
                truths = data.table.domain
            observed = cls._of_reports(data, truths)
        elif isinstance(data, Answers):
            observed = cls(answers=data, domain=data.domain)
        elif domain is None:
            answers = Answers.from_frame(data, domain_in(data, method), advice="frame")
            observed = cls(answers=answers, domain=answers.domain)
        else:
            answers = Answers.from_frame(data, domain, advice="reports")
            observed = cls(answers=answers, domain=domain)
        if not observed.answers.values.size:
            raise AnswerError("inference.no-answer")
        return evolve(observed, backend=backend)

    @classmethod
    def _of_reports(cls, reports: Reports, truths: Domain) -> Observations:
        answers, domain = reports.table, reports.table.domain
        if isinstance(domain, OrNull):
            answers = answers.without_null(answers.values == domain.null_code, domain.domain)
        return cls(
            answers=answers,
            domain=truths,
            mechanism=reports.mechanism,
            simulated=reports.simulated,
            participation=reports.participation,
        )

    def among(self, workers: pa.Array, codes: npt.NDArray[np.intp]) -> Observations:
        """Return the same answers with a longer list of workers; `codes` are places in it."""
        answers, bits = self.answers, self.participation
        new = codes[answers.worker_codes]
        order = np.argsort(answers.task_codes * np.int64(len(workers)) + new)
        return evolve(
            self,
            answers=evolve(
                answers,
                workers=workers,
                worker_codes=new[order].astype(np.int32),
                values=answers.values[order],
            ),
            participation=None if bits is None else bits[order],
        )

    def on_tasks(self, tasks: pa.Array, codes: npt.NDArray[np.intp]) -> Observations:
        """Return the same answers with a longer list of tasks; `codes` are places in it."""
        answers, bits = self.answers, self.participation
        new = codes[answers.task_codes]
        order = np.argsort(new, kind="stable")
        return evolve(
            self,
            answers=evolve(
                answers,
                tasks=tasks,
                offsets=np.concatenate([[0], np.cumsum(np.bincount(new, minlength=len(tasks)))]),
                worker_codes=answers.worker_codes[order],
                values=answers.values[order],
            ),
            participation=None if bits is None else bits[order],
        )

    @property
    def channel(self) -> Channel | None:
        """Channel of the reports, if it is known."""
        return None if self.mechanism is None else self.mechanism.worker_channel

    @property
    def summary(self) -> Summary:
        """Summary of all answers, before `TruthInference.bind`."""
        distribution = None if self.mechanism is None else self.mechanism.report_distribution
        read = Summary.of(self.answers, self.channel, self.participation is not None, distribution)
        return read.of_truths(self.domain)
