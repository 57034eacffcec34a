"""Answers to infer from, read from reports, answers or a dataframe."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

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
    mark_of,
    unmarked,
    with_usual_names,
)
from quietcrowd.inference.method import TruthInference
from quietcrowd.inference.partition import Summary
from quietcrowd.intake import MISSING, Intake, distinct
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.joining import join_reports
from quietcrowd.mechanisms.mechanism import Reports
from quietcrowd.report_domains import OrNull


def domain_in(frame: Any, method: TruthInference, missing: Iterable[str] = MISSING) -> Domain:
    """Return the domain of a frame's labels, as a method reads them."""
    labels = column_of(with_usual_names(as_frame(frame)), "label", ADVICE["frame"].column)
    return method.domain_of(distinct(Intake(missing).labels(labels, "label")))


@frozen(kw_only=True, eq=False)
class Observations:
    """Answers, or reports read as answers; NULL reports are dropped and counted.

    `domain` is that of the truths, and `simulated` that of the reports or of a frame. A frame that
    is `marked` as reports is read as answers nevertheless.
    """

    answers: Answers
    domain: Domain
    mechanism: Any = None
    simulated: bool = False
    marked: bool = False
    participation: npt.NDArray[np.float64] | None = None
    backend: Backend = "pandas"

    @classmethod
    def read(cls, data: Any, method: TruthInference, domain: Domain | None = None) -> Observations:
        """Read data for a method; `domain` is that of a frame's labels, by default found."""
        if isinstance(data, list | tuple) and any(isinstance(one, Reports) for one in data):
            data = join_reports(*data)
        if isinstance(data, Reports):
            if len(data.mechanisms) > 1 and not method.reads_mixed:
                raise AnswerError("inference.mixture-unsupported", type_name=type(method).__name__)
            if data.table.options is None:
                method.check_mechanism(data.mechanism)
                truths = method.truth_domain(data.mechanism)
            else:  # the channel depends on the task; the method checks it when it is bound
                truths = data.table.domain
            observed = cls._of_reports(data, truths)
        elif isinstance(data, Answers):
            observed = cls(answers=data, domain=data.domain)
        else:
            data = collected(data, [*ALIASES, *chain(*ALIASES.values())])
            frame, mark = unmarked(data), mark_of(data)
            if domain is None:
                answers = Answers.from_frame(frame, domain_in(frame, method), advice="frame")
            else:
                answers = Answers.from_frame(frame, domain, advice="reports")
            observed = cls(
                answers=answers,
                domain=answers.domain,
                simulated=mark is not None and bool(mark.get("simulated")),
                marked=mark is not None,
                backend=backend_of(data),
            )
        if not observed.answers.values.size:
            raise AnswerError("inference.no-answer")
        return observed

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
