"""From whatever holds answers to a fit: what all methods share, whatever an answer is."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from attrs import evolve, frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import (
    Backend,
    as_frame,
    backend_of,
    mark_of,
    positions_by_text,
    unmarked,
)
from quietcrowd.inference.estimate import LabelEstimate, NumericEstimate, TruthEstimate
from quietcrowd.inference.extending import (
    WorkerUnion,
    extend_loop,
    joined_overview,
    refuse_swept_tasks,
)
from quietcrowd.inference.method import Estimates, StateT, TallyT, TruthInference
from quietcrowd.inference.noise_warning import (
    warn_no_signal,
    warn_noise_ignored,
    warn_reports_in_frame,
    warn_simulated,
)
from quietcrowd.inference.partition import Overview, Partition, Summary, partition_of
from quietcrowd.inference.scatter import Scatter
from quietcrowd.inference.sweep import LoopResult, run_loop
from quietcrowd.known_truths import UNKNOWN
from quietcrowd.mechanisms.channel import Channel
from quietcrowd.mechanisms.mechanism import Reports
from quietcrowd.report_domains import OrNull

__all__ = ["FittingMethod", "Given", "Prepared", "is_known"]


@frozen(kw_only=True, eq=False)
class Given:
    """What a method was given to infer from.

    Attributes
    ----------
    answers : Answers
        Answers, or reports that are read as answers; NULL reports are left out and counted.
    channel : Channel or None
        What was done to each report, as far as that is known.
    participation : ndarray or None
        See `Reports`.
    backend : {"pandas", "polars", "pyarrow"}
        Library of the frames that come back.
    """

    answers: Answers
    channel: Channel | None = None
    participation: npt.NDArray[np.float64] | None = None
    backend: Backend = "pandas"

    @property
    def overview(self) -> Overview:
        """What every method asks of it before it begins."""
        return Overview.of(self.answers, self.channel, self.participation is not None)


@frozen(kw_only=True, eq=False)
class Prepared:
    """Answers that are ready for a sweep.

    Attributes
    ----------
    partition : Partition
        All of them.
    summary : Summary
        What is known of them.
    known : ndarray, shape (tasks,)
        Known truths, not scaled.
    """

    partition: Partition
    summary: Summary
    known: npt.NDArray[Any]


@frozen(kw_only=True, slots=False)
class FittingMethod(TruthInference[StateT, TallyT]):
    """A truth-inference method that takes reports, answers and frames."""

    reads_answers: ClassVar[bool] = True
    corrects_quality: ClassVar[bool] = False

    def reads_reports(self, channel: Channel) -> bool:  # noqa: ARG002
        """Return whether reports of such a channel are enough for the method."""
        return True

    def models_noise(self, channel: Channel | None) -> bool:  # noqa: ARG002
        """Return whether the method knows what such a channel did to a report."""
        return False

    def fit(
        self,
        data: Any,
        start: TruthEstimate | None = None,
        *,
        gold: Any = None,
        threads: int | None = None,
    ) -> TruthEstimate:
        """Find the truths and the workers' quality.

        Parameters
        ----------
        data : Reports, Answers or dataframe
            A frame has columns ``task``, ``worker``, ``label``; its domain is what occurs: the
            labels, or all numbers. Reports that say NULL are left out;
            ``estimate.answers.dropped.null_reports`` counts them. What a frame of reports holds is
            read as plain answers: its columns may have been changed since it was made.
        start : TruthEstimate, optional
            An earlier estimate of the same method: its workers' state is the first one here.
            Workers are matched by what their ids print as; a new one starts as the median.
        gold : dataframe or pandas Series, optional
            Known truths, columns ``task`` and ``label``; tasks match by what their ids print as.
            These truths stay as they are, and tell of the workers as inferred ones do.
        threads : int, optional
            Default: as many as the process may use and the answers are worth.

        Returns
        -------
        TruthEstimate
            Its frames are of the library that came in; pandas for reports and answers.

        Raises
        ------
        AnswerError
            Where the method cannot use the domain, there is no answer, the frame breaks a rule
            of `Answers.from_frame`, or a known truth is of no task of the answers, given twice,
            or none that the method can use.
        ParameterError
            Where `start` comes from another kind of method or another domain.

        Warns
        -----
        NoiseIgnoredWarning
            Where the method has no model of the noise in the reports that it was given, or was
            given a frame of `Reports.to_frame`.
        SimulatedNoiseWarning
            Where the reports, or those of the frame, are simulated.
        NoSignalWarning
            Where the reports tell nothing of the answers, or so little that the method finds that
            the noise hides how the truths differ.
        """
        return self._fit(data, start, gold, threads)

    def fit_predict(self, data: Any) -> pd.Series[Any]:
        """Return the truths as crowd-kit does: a pandas Series ``agg_label``, indexed by task."""
        truths = self._fit(data, None, None, None).truths_as("pandas")
        series: pd.Series[Any] = truths.set_index("task")["truth"].rename("agg_label")
        return series

    def _fit(
        self, data: Any, start: TruthEstimate | None, gold: Any, threads: int | None
    ) -> TruthEstimate:
        given = self.read(data)
        self._check_given(given, start)
        ready = self.prepare(given, gold)
        first = None if start is None else self._align(start, given.answers.workers)
        self._warn_of(data, 4)  # after all errors of what came in
        result = run_loop(self, [ready.partition], ready.summary, start=first, threads=threads)
        self.warn_of_signal(ready.summary, result.state, Scatter.of(result.estimates), 4)
        return self._conclude(given, ready, result, ready.partition.draws)

    def extend(self, start: TruthEstimate, data: Any, *, gold: Any = None) -> TruthEstimate:
        """Find the truths of new tasks, with what an earlier estimate knows of the workers.

        The new answers alone are swept; what the earlier ones told of the workers stays as it was
        at the last pass over them, and the new ones add to it. That takes as long as the new
        answers are many, besides one look at the ids of earlier tasks and workers. `fit` with
        ``start=`` looks at all answers anew: do so now and then.

        Parameters
        ----------
        start : TruthEstimate
            An estimate of this method, with equal parameters but for the limit of iterations; one
            that `extend` gave is one, too. What a run on a store found is none.
        data : Reports, Answers or dataframe
            Answers on tasks that `start` has none of, otherwise as of `fit`. A frame has labels of
            the domain of `start`. Workers are matched by what their ids print as.
        gold : dataframe or pandas Series, optional
            Known truths of new tasks, as of `fit`.

        Returns
        -------
        TruthEstimate
            Truths of the new tasks. Its workers are those of both, judged by all answers.

        Raises
        ------
        AnswerError
            As `fit` does, and where a task is one of `start`.
        ParameterError
            Where `start` is of another method or another domain, or its reports were made in
            another way.

        Warns
        -----
        NoiseIgnoredWarning, SimulatedNoiseWarning, NoSignalWarning
            As `fit` does.

        Examples
        --------
        >>> import quietcrowd as qc
        >>> crowd = qc.synthetic_crowd(tasks=200, workers=20, seed=1)
        >>> frame = crowd.answers.to_frame()
        >>> new = frame["task"].isin(frame["task"].unique()[:20])
        >>> estimate = qc.WeightedVote().fit(frame[~new])
        >>> more = qc.WeightedVote().extend(estimate, frame[new])
        >>> len(more.truths), int(more.workers["answers"].sum()) == len(frame)
        (20, True)
        """
        self._check_start(start)
        if evolve(start.method, max_iterations=self.max_iterations) != self:
            raise ParameterError(
                f"start must be an estimate of {self!r}; got one of {start.method!r}"
            )
        given = self.read(data, start.answers.domain)
        self._check_given(given, start)
        refuse_swept_tasks(start, given.answers)
        union = WorkerUnion.of(start, given)
        ready = self._lay_out(union.given, gold, joined_overview(start.summary, union))
        self._warn_of(data, 3)
        result = extend_loop(self, start, union, ready.partition, ready.summary)
        self.warn_of_signal(ready.summary, result.state, Scatter.of(result.estimates), 3)
        swept = np.concatenate([start.swept, ready.partition.draws])
        return self._conclude(union.given, ready, result, swept)

    def _conclude(
        self,
        given: Given,
        ready: Prepared,
        result: LoopResult[StateT, TallyT],
        swept: npt.NDArray[np.uint64],
    ) -> TruthEstimate:
        summary = ready.summary
        kind: Any = LabelEstimate if self.infers_labels else NumericEstimate
        estimate: TruthEstimate = kind(
            summary=summary,
            method=self,
            estimates=self.finish(result.estimates, ready.known, summary),
            **self.qualities(summary, result.tally, result.state),
            answers=given.answers,
            known=is_known(ready.known),
            swept=swept,
            tally=result.tally,
            state=result.state,
            iterations=result.iterations,
            converged=result.converged,
            history=result.history,
            backend=given.backend,
        )
        return estimate

    @abstractmethod
    def finish(self, estimates: Any, gold: npt.NDArray[Any], summary: Summary) -> Estimates:
        """Return the estimates of some tasks as answers are, from what a pass says of them.

        Parameters
        ----------
        estimates : Estimates
            Of all tasks, or of a partition.
        gold : ndarray, shape (tasks,)
            Known truths, not scaled.
        summary : Summary
            Of all answers.
        """

    @abstractmethod
    def qualities(
        self, summary: Summary, tally: TallyT, state: StateT | None
    ) -> dict[str, npt.NDArray[np.float64]]:
        """Return what is found of the workers, each of shape (workers,), NaN where nothing tells.

        Names are those of the columns of `TruthEstimate.workers`.

        Parameters
        ----------
        summary : Summary
            Of all answers.
        tally : Tally
            Of the whole pass that gave the estimates.
        state : State or None
            What that pass believed of the workers.
        """

    @property
    @abstractmethod
    def infers_labels(self) -> bool:
        """Whether truths are labels; otherwise they are numbers."""

    @abstractmethod
    def _domain_of(self, frame: nw.DataFrame[Any]) -> Domain:
        """Return the domain of the answers in a frame."""

    @abstractmethod
    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[Any]:
        """Return the known truth of each task, shape (tasks,), as `Partition.gold` holds it.

        Parameters
        ----------
        tasks : pyarrow.Array
            Ids.
        domain : Domain
            What an answer can be.
        truths : dataframe or None
            As `gold` of `FittingMethod.fit`.

        Raises
        ------
        AnswerError
            As of `FittingMethod.fit`.
        """

    @abstractmethod
    def summarize(self, overview: Overview, known: npt.NDArray[Any]) -> Summary:
        """Return what sweeps and updates know of all answers.

        Parameters
        ----------
        overview : Overview
            Of all answers.
        known : ndarray
            All known truths, in any order, among others that are unknown.

        Raises
        ------
        AnswerError
            Where the method cannot use the domain, or needs more than it was given.
        """

    @abstractmethod
    def scale(self, partition: Partition, summary: Summary) -> Partition:
        """Return a partition as the sweep takes it, from values and truths as they are stored."""

    def prepare(self, given: Given, gold: Any = None) -> Prepared:
        """Return all answers as one partition, ready for a sweep, and their summary.

        `gold` is as of `fit`.

        Raises
        ------
        AnswerError
            As `known` and `summarize` do.
        """
        return self._lay_out(given, gold, given.overview)

    def _lay_out(self, given: Given, gold: Any, overview: Overview) -> Prepared:
        known = self.known(given.answers.tasks, overview.domain, gold)
        summary = self.summarize(overview, known)
        partition = partition_of(given.answers, known, given.participation)
        return Prepared(partition=self.scale(partition, summary), summary=summary, known=known)

    def read(self, data: Any, domain: Domain | None = None) -> Given:
        """Return what there is to infer from; see `fit`.

        `domain` is that of the labels of a frame; by default what occurs.
        """
        if isinstance(data, Reports):
            mechanism = data.mechanism
            self.refuse(mechanism)
            given = Given(
                answers=data.table,
                channel=mechanism.worker_channel,
                participation=data.participation,
            )
            domain = data.table.domain
            if isinstance(domain, OrNull):
                null = data.table.values == domain.null_code
                return evolve(given, answers=data.table.without_null(null, domain.domain))
            return given
        if isinstance(data, Answers):
            return Given(answers=data)
        frame = unmarked(data)  # what the mark says is told by `fit` and `extend`, after errors
        if domain is None:
            answers = Answers.from_frame(frame, self._domain_of(as_frame(frame)), advice="frame")
        else:  # of an earlier estimate: no other one would do
            answers = Answers.from_frame(frame, domain, advice="reports")
        return Given(answers=answers, backend=backend_of(data))

    def refuse(self, mechanism: Any) -> None:
        """Raise AnswerError where the reports of a mechanism are not enough for the method."""

    def warn_of_signal(
        self, summary: Summary, state: StateT | None, scatter: Scatter, stacklevel: int
    ) -> None:
        """Warn where the noise hides what was to be found."""

    def _warn_of(self, data: Any, stacklevel: int) -> None:
        """Warn of what the reports that the method was given are, or those of a frame."""
        if isinstance(data, Reports):
            self.warn_of_reports(data.mechanism, stacklevel + 1, simulated=data.simulated)
        elif not isinstance(data, Answers) and (mark := mark_of(data)) is not None:
            if mark.get("simulated"):
                warn_simulated(stacklevel)
            warn_reports_in_frame(type(self).__name__, stacklevel)

    def warn_of_reports(self, mechanism: Any, stacklevel: int, *, simulated: bool) -> None:
        """Warn of what reports are, and of what the method does not know of them.

        Parameters
        ----------
        mechanism : Mechanism
            What made them.
        stacklevel : int
            As of `warnings.warn`, called from here.
        simulated : bool
            Whether the noise is simulated.
        """
        if simulated:
            warn_simulated(stacklevel)
        if mechanism.tells_nothing:
            warn_no_signal(type(mechanism).__name__, stacklevel)
        self.warn_of_noise(mechanism, stacklevel + 1)

    def warn_of_noise(self, mechanism: Any, stacklevel: int) -> None:
        """Warn of what the method does not know of the reports of a mechanism."""
        if not self.models_noise(mechanism.worker_channel):
            warn_noise_ignored(
                type(self).__name__,
                type(mechanism).__name__,
                stacklevel,
                every_task=mechanism.every_task,
                corrects=self.corrects_quality,
            )

    def _check_given(self, given: Given, start: TruthEstimate | None) -> None:
        """Raise where there is nothing to infer from, or `start` does not go with it."""
        if not len(given.answers):
            raise AnswerError("there is no answer")
        if start is None:
            return
        self._check_start(start)
        if start.answers.domain != given.answers.domain:
            raise ParameterError(
                f"start must be an estimate on {given.answers.domain.example()}; "
                f"got one on {start.answers.domain.example()}"
            )

    def _check_start(self, start: Any) -> None:
        if not isinstance(start, TruthEstimate):
            raise ParameterError(f"start must be a TruthEstimate; got {type(start).__name__}")
        if type(start.method) is not type(self):
            raise ParameterError(
                f"start must be an estimate of {type(self).__name__}; "
                f"got one of {type(start.method).__name__}"
            )

    def _align(self, start: TruthEstimate, workers: pa.Array) -> StateT | None:
        """Return the state of an earlier estimate, for these workers."""
        if start.state is None:
            return None
        places = positions_by_text(workers, start.answers.workers)
        state: StateT = start.state.take(places)  # type: ignore[assignment]
        return state


def is_known(gold: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which truths of tasks are known; `gold` is as in `Partition`."""
    known: npt.NDArray[np.bool_] = gold != UNKNOWN if gold.dtype.kind == "i" else ~np.isnan(gold)
    return known
