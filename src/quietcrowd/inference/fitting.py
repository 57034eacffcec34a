"""A fit: answers are read, swept until the objective converges, and put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.gold import UNKNOWN
from quietcrowd.inference.estimate import LabelEstimate, NumericEstimate, TruthEstimate
from quietcrowd.inference.extending import (
    extend_loop,
    join_workers,
    joined_summary,
    refuse_swept_tasks,
)
from quietcrowd.inference.loop import LoopResult, run_loop
from quietcrowd.inference.method import StateT, TallyT, TruthInference
from quietcrowd.inference.notices import (
    noise_warnings,
    rest_warnings,
    signal_warnings,
    warn_of,
)
from quietcrowd.inference.parameters import Parameters
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.passes import Scatter
from quietcrowd.inference.reading import Observations
from quietcrowd.inference.waiting import Waiting

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from quietcrowd.answers import Answers
    from quietcrowd.mechanisms.mechanism import Reports

__all__ = ["FittingMethod", "is_known"]


@frozen(kw_only=True, slots=False)
class FittingMethod(TruthInference[StateT, TallyT], Parameters):
    """A truth-inference method that takes reports, answers and frames."""

    @overload
    def fit(
        self,
        data: pd.DataFrame | Answers | Reports,
        start: TruthEstimate[Any] | None = None,
        *,
        gold: Any = None,
        threads: int | None = None,
    ) -> TruthEstimate[pd.DataFrame]: ...
    @overload
    def fit(
        self,
        data: pl.DataFrame | pl.LazyFrame,
        start: TruthEstimate[Any] | None = None,
        *,
        gold: Any = None,
        threads: int | None = None,
    ) -> TruthEstimate[pl.DataFrame]: ...
    @overload
    def fit(
        self,
        data: pa.Table,
        start: TruthEstimate[Any] | None = None,
        *,
        gold: Any = None,
        threads: int | None = None,
    ) -> TruthEstimate[pa.Table]: ...

    def fit(
        self,
        data: Any,
        start: TruthEstimate[Any] | None = None,
        *,
        gold: Any = None,
        threads: int | None = None,
    ) -> TruthEstimate[Any]:
        """Find the truths and the workers' quality.

        Parameters
        ----------
        data : Reports, Answers or dataframe
            A frame has columns ``task``, ``worker``, ``label``, or the names that crowd-kit has
            for them, as ``performer``; its domain is what occurs: the labels, or all numbers. Of a
            lazy frame of Polars these columns are collected, by its streaming engine. Reports that
            say NULL are left out; ``estimate.answers.dropped.null_reports`` counts them. What a
            frame of reports holds is read as plain answers: its columns may have been changed
            since it was made.
        start : TruthEstimate, optional
            An earlier estimate of the same method: its workers' state is the first one here.
            Workers are matched by what their ids print as; a new one starts as the median.
        gold : mapping, pandas Series, dataframe or TruthEstimate, optional
            Known truths: labels by task, or indexed by task, or columns ``task`` and ``label``, or
            what an estimate found; tasks match by what their ids print as. These truths stay as
            they are, and tell of the workers as inferred ones do.
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
            of `Answers.from_frame`, or a known truth is given twice, or none that the method can
            use, or all are of no task of the answers.
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
        NotConvergedWarning
            Where the loop stopped before it converged, at the usual limit of iterations or a
            higher one: who sets a lower one has asked for it.
        LeftOutWarning
            Where some known truths are of no task of the answers.
        """
        return self._fit(data, start, gold, threads)

    @overload
    def fit_predict(
        self, data: pd.DataFrame | Answers | Reports, *, gold: Any = None
    ) -> pd.Series[Any]: ...
    @overload
    def fit_predict(
        self, data: pl.DataFrame | pl.LazyFrame, *, gold: Any = None
    ) -> pl.DataFrame: ...
    @overload
    def fit_predict(self, data: pa.Table, *, gold: Any = None) -> pa.Table: ...

    def fit_predict(self, data: Any, *, gold: Any = None) -> Any:
        """Return the truths as crowd-kit does.

        Parameters
        ----------
        data, gold
            As of `fit`.

        Returns
        -------
        pandas Series, or dataframe
            A Series ``agg_label``, indexed by task; for a frame of Polars or PyArrow one of the
            same library, with columns ``task`` and ``agg_label``.
        """
        return self._fit(data, None, gold, None).predictions()

    @overload
    def fit_predict_proba(
        self, data: pd.DataFrame | Answers | Reports, *, gold: Any = None
    ) -> pd.DataFrame: ...
    @overload
    def fit_predict_proba(
        self, data: pl.DataFrame | pl.LazyFrame, *, gold: Any = None
    ) -> pl.DataFrame: ...
    @overload
    def fit_predict_proba(self, data: pa.Table, *, gold: Any = None) -> pa.Table: ...

    def fit_predict_proba(self, data: Any, *, gold: Any = None) -> Any:
        """Return the probability of every label, as crowd-kit does.

        Parameters
        ----------
        data, gold
            As of `fit`.

        Returns
        -------
        dataframe
            Of pandas: indexed by task, a column for each label. Of Polars or PyArrow: a column
            ``task``, and one for each label, named by what it prints as. Rows sum to 1; where
            nobody answered a task they are missing.

        Raises
        ------
        ParameterError
            Where the method gives no probabilities of labels.

        Examples
        --------
        >>> import pandas as pd
        >>> import quietcrowd as qc
        >>> votes = pd.DataFrame({"task": ["a"] * 4, "worker": [*"uvwx"], "label": [*"xyyy"]})
        >>> qc.MajorityVote().fit_predict_proba(votes).loc["a"].to_dict()
        {'x': 0.25, 'y': 0.75}
        """
        estimate = self._fit(data, None, gold, None)
        if not isinstance(estimate, LabelEstimate):
            raise ParameterError(
                f"{type(self).__name__} found numbers: they have no probabilities of labels. Take "
                "fit(data).truths, with its standard_error"
            )
        return estimate.probabilities()

    def _fit(
        self, data: Any, start: TruthEstimate[Any] | None, gold: Any, threads: int | None
    ) -> TruthEstimate[Any]:
        observed = Observations.read(data, self)
        if start is not None:
            self._check_start(start, observed.domain)
        partition, summary, known = self.prepare(observed, gold)
        first: Any = None
        if start is not None:
            earlier: Any = start.state_of(observed.answers.workers)
            first = self.start_from(earlier, start.method, summary)
        warn_of(noise_warnings(self, observed), 3)  # after all errors of what came in
        with Waiting(type(self).__name__) as waiting:
            result = run_loop(self, [partition], summary, first, threads, waiting.keep)
        scatter = Scatter.of(result.estimates)
        told = signal_warnings(
            self, observed.mechanism, summary, result.tally, result.state, scatter
        )
        warn_of([*told, *rest_warnings(self, converged=result.converged)], 3)
        return self._estimate(observed, known, summary, result, partition.draws, partition)

    @overload
    def extend(
        self,
        start: TruthEstimate[Any],
        data: pd.DataFrame | Answers | Reports,
        *,
        gold: Any = None,
    ) -> TruthEstimate[pd.DataFrame]: ...
    @overload
    def extend(
        self,
        start: TruthEstimate[Any],
        data: pl.DataFrame | pl.LazyFrame,
        *,
        gold: Any = None,
    ) -> TruthEstimate[pl.DataFrame]: ...
    @overload
    def extend(
        self,
        start: TruthEstimate[Any],
        data: pa.Table,
        *,
        gold: Any = None,
    ) -> TruthEstimate[pa.Table]: ...

    def extend(
        self, start: TruthEstimate[Any], data: Any, *, gold: Any = None
    ) -> TruthEstimate[Any]:
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
        observed = Observations.read(data, self, start.answers.domain)
        self._check_start(start, observed.domain)
        refuse_swept_tasks(start, observed.answers)
        observed, earlier = join_workers(start, observed)
        joined = joined_summary(start.summary, observed.summary, earlier)
        partition, summary, known = self.prepare(observed, gold, joined)
        warn_of(noise_warnings(self, observed), 2)
        result = extend_loop(self, start, earlier, partition, summary)
        scatter = Scatter.of(result.estimates)
        told = signal_warnings(
            self, observed.mechanism, summary, result.tally, result.state, scatter
        )
        warn_of([*told, *rest_warnings(self, converged=result.converged)], 2)
        swept = np.concatenate([start.swept, partition.draws])
        return self._estimate(observed, known, summary, result, swept, partition)

    def prepare(
        self, observed: Observations, truths: Any = None, summary: Summary | None = None
    ) -> tuple[Partition, Summary, npt.NDArray[Any]]:
        """Make what was read ready for a sweep.

        Parameters
        ----------
        observed : Observations
            What was read.
        truths : dataframe or pandas Series, optional
            Known truths, as `gold` of `fit`.
        summary : Summary, optional
            Of these answers and earlier ones; by default of these.

        Returns
        -------
        partition : Partition
            All answers, scaled.
        summary : Summary
            As the method needs it.
        known : ndarray, shape (tasks,)
            Known truths, not scaled.

        Raises
        ------
        AnswerError
            As `known` and `summarize` do.
        """
        known = self.known(observed.answers.tasks, observed.domain, truths)
        summary = self.summarize(summary or observed.summary, known)
        partition = Partition.of(observed.answers, known, observed.participation)
        return self.scale(partition, summary), summary, known

    def _estimate(
        self,
        observed: Observations,
        known: npt.NDArray[Any],
        summary: Summary,
        result: LoopResult[StateT, TallyT],
        swept: npt.NDArray[np.uint64],
        partition: Partition,
    ) -> TruthEstimate[Any]:
        """Return what the loop ended with, in the terms of what came in."""
        kind: Any = LabelEstimate if self.infers_labels(summary.domain) else NumericEstimate
        estimate: TruthEstimate[Any] = kind(
            summary=summary,
            method=self,
            estimates=self.finish(result.estimates, known, summary),
            **self.qualities(summary, result.tally, result.state),
            answers=observed.answers,
            known=is_known(known),
            swept=swept,
            tally=result.tally,
            state=result.state,
            iterations=result.iterations,
            converged=result.converged,
            history=result.history,
            backend=observed.backend,
            notes=self.notes(summary, result.state, result.tally),
            partition=partition if self.has_posterior else None,
        )
        return estimate

    def _check_start(self, start: Any, domain: Domain | None = None) -> None:
        """Raise unless `start` is an estimate of such a method, on the domain of the answers."""
        if not isinstance(start, TruthEstimate):
            raise ParameterError(
                f"start must be a TruthEstimate; got {type(start).__name__}. Known truths are gold="
            )
        self.check_alike(start.method, start.domain, domain)

    def check_alike(
        self, method: TruthInference[Any, Any], earlier: Domain, domain: Domain | None = None
    ) -> None:
        """Raise ParameterError where an earlier estimate is none to start from.

        Parameters
        ----------
        method : TruthInference
            Of that estimate.
        earlier : Domain
            What a truth can be there.
        domain : Domain, optional
            And here.
        """
        if type(method) is not type(self):
            raise ParameterError(
                f"start must be an estimate of {type(self).__name__}; "
                f"got one of {type(method).__name__}"
            )
        if domain is not None and earlier != domain:
            raise ParameterError(
                f"start must be an estimate on {domain.example()}; got one on {earlier.example()}"
            )


def is_known(truths: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which truths of tasks are known; `truths` are as in `Partition`."""
    labels = truths.dtype.kind == "i"
    known: npt.NDArray[np.bool_] = truths != UNKNOWN if labels else ~np.isnan(truths)
    return known
