"""What a method infers from, read from whatever holds it: reports, answers or a frame."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve, frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import (
    ALIASES,
    Backend,
    as_frame,
    backend_of,
    collected,
    mark_of,
    unmarked,
    with_usual_names,
)
from quietcrowd.inference.method import TruthInference
from quietcrowd.inference.partition import Summary
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.mechanism import Reports
from quietcrowd.report_domains import OrNull

__all__ = ["Observations"]


@frozen(kw_only=True, eq=False)
class Observations:
    """What a method infers from.

    Attributes
    ----------
    answers : Answers
        Answers, or reports that are read as answers; NULL reports are left out and counted.
    domain : Domain
        What a truth can be: as the answers are, unless the method knows how reports that are no
        answers come from them.
    mechanism : Mechanism or None
        What made the reports.
    simulated : bool
        Whether the noise of the reports, or of those of a frame, is simulated.
    marked : bool
        Whether a frame says that it holds reports: they are read as answers nevertheless.
    participation : ndarray or None
        See `Reports`.
    backend : {"pandas", "polars", "pyarrow"}
        Library of the frames that come back.
    """

    answers: Answers
    domain: Domain
    mechanism: Any = None
    simulated: bool = False
    marked: bool = False
    participation: npt.NDArray[np.float64] | None = None
    backend: Backend = "pandas"

    @classmethod
    def read(
        cls, data: Any, method: TruthInference[Any, Any], domain: Domain | None = None
    ) -> Observations:
        """Read what a method was given; `data` and errors are as of `FittingMethod.fit`.

        `domain` is that of the labels of a frame, as of an earlier estimate; by default the one
        that the method finds in it.
        """
        if isinstance(data, Reports):
            method.refuse(data.mechanism)
            observed = cls._of_reports(data, method.truth_domain(data.mechanism))
        elif isinstance(data, Answers):
            observed = cls(answers=data, domain=data.domain)
        else:
            data = collected(data, [*ALIASES, *chain(*ALIASES.values())])
            frame, mark = unmarked(data), mark_of(data)
            if domain is None:
                found = method.domain_of(with_usual_names(as_frame(frame)))
                answers = Answers.from_frame(frame, found, advice="frame")
            else:  # no other one would do
                answers = Answers.from_frame(frame, domain, advice="reports")
            observed = cls(
                answers=answers,
                domain=answers.domain,
                simulated=mark is not None and bool(mark.get("simulated")),
                marked=mark is not None,
                backend=backend_of(data),
            )
        if not len(observed.answers):
            raise AnswerError("there is no answer")
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
        """Return the same in a longer list of workers, sorted anew.

        Parameters
        ----------
        workers : pyarrow.Array
            Ids of all.
        codes : ndarray of intp
            Where each worker of these answers stands among them.
        """
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

    @property
    def channel(self) -> Channel | None:
        """What was done to each report, as far as that is known."""
        return None if self.mechanism is None else self.mechanism.worker_channel

    @property
    def summary(self) -> Summary:
        """What is known of all answers, as every method is given it."""
        law = None if self.mechanism is None else self.mechanism.report_law
        read = Summary.of(self.answers, self.channel, self.participation is not None, law)
        return read.of_truths(self.domain)
