"""Fits: read answers, run the loop, and put the result together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.gold import UNKNOWN
from quietcrowd.inference.estimate import LabelEstimate, NumericEstimate, TruthEstimate
from quietcrowd.inference.extending import (
    check_new_tasks,
    extend_loop,
    join_workers,
    joined_summary,
)
from quietcrowd.inference.loop import LoopResult, Progress, run_loop
from quietcrowd.inference.method import TruthInference
from quietcrowd.inference.model import HasPosterior, Model
from quietcrowd.inference.notices import warn_about_result, warn_about_source, warn_each
from quietcrowd.inference.partition import Partition, Summary, hash_ids
from quietcrowd.inference.reading import Given, Observations
from quietcrowd.inference.rounds.following import (
    begin_round,
    change_warnings,
    check_follows,
    end_round,
    first_history,
    join_tasks,
    round_of_extension,
    round_of_fit,
    with_predictions,
)
from quietcrowd.inference.task_estimates import LabelEstimates

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from quietcrowd.answers import Answers
    from quietcrowd.mechanisms.mechanism import Mechanism, Reports


@frozen(kw_only=True, slots=False)
class FittingMethod(TruthInference):
    """A truth-inference method that can be fitted to reports, answers and dataframes."""

    @overload
    def fit(
        self,
        data: pd.DataFrame | Answers | Reports | list[Any],
        init: TruthEstimate[Any] | None = None,
        *,
        gold: Any = None,
        n_jobs: int | None = None,
        round: int | None = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> TruthEstimate[pd.DataFrame]: ...
    @overload
    def fit(
        self,
        data: pl.DataFrame | pl.LazyFrame,
        init: TruthEstimate[Any] | None = None,
        *,
        gold: Any = None,
        n_jobs: int | None = None,
        round: int | None = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> TruthEstimate[pl.DataFrame]: ...
    @overload
    def fit(
        self,
        data: pa.Table,
        init: TruthEstimate[Any] | None = None,
        *,
        gold: Any = None,
        n_jobs: int | None = None,
        round: int | None = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> TruthEstimate[pa.Table]: ...

    def fit(
        self,
        data: Any,
        init: TruthEstimate[Any] | None = None,
        *,
        gold: Any = None,
        n_jobs: int | None = None,
        round: int | None = None,  # noqa: A002
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> TruthEstimate[Any]:
        """Infer the truths and the workers' quality.

        Parameters
        ----------
        data : Reports, Answers, dataframe, or list of these
            A frame has columns ``task``, ``worker``, ``label``, or crowd-kit's names for them,
            such as ``performer``. A frame of `Reports.to_frame` with its column ``mechanism`` is
            read as reports; see `reports_from_frame`. Another one needs `non_private`, and its
            domain is the labels that occur, or all numbers; in a list, which `join_reports` joins,
            that of the first reports or answers. NULL reports are dropped and counted in
            ``estimate.answers.dropped.null_reports``.
        init : TruthEstimate, optional
            An earlier estimate by the same method, whose state is the first one. Workers match if
            their ids print alike; a new worker starts as the median.
        gold : mapping, pandas Series, dataframe or TruthEstimate, optional
            Known truths: labels by task, or indexed by task, or columns ``task`` and ``label``, or
            those of an estimate. They are kept, and count for the workers like inferred truths.
        n_jobs : int, optional
            Threads; -1 for all that the process may use. By default at most as many as the
            number of answers justifies.
        round : int, optional
            Number of the round, for a method with ``over_time="follow"``; default: 1.
        mechanisms : iterable of Mechanism
            The mechanisms of a frame of reports that has lost their description, as in Polars.
        non_private : bool
            Whether no one randomized the labels of a frame without the column ``mechanism``, such
            as one for crowd-kit. Reports in it would silently count as answers.

        Returns
        -------
        TruthEstimate
            Its frames are of the library of `data`; of pandas for reports and answers.

        Raises
        ------
        AnswerError
            If the method cannot use the domain, there is no answer, the frame breaks a rule of
            `Answers.from_frame`, a known truth is given twice, or none belongs to a task; or if a
            frame lacks the column ``mechanism`` and `non_private` is False, or a mechanism of it is
            unknown.
        ParameterError
            If `init` is from another kind of method or another domain.

        Warns
        -----
        NoiseIgnoredWarning
            If the method has no model of the noise.
        SimulatedNoiseWarning
            If the reports are simulated.
        NoSignalWarning
            If the noise hides the truths.
        ConvergenceWarning
            If the loop stopped at the default limit of iterations or a higher one.
        DroppedRowsWarning
            If some known truths belong to no task of the answers.
        """
        given = Given.of(data, mechanisms, non_private=non_private)
        return self._fit(given, init, gold, n_jobs, round)

    @overload
    def fit_predict(
        self,
        data: pd.DataFrame | Answers | Reports | list[Any],
        *,
        gold: Any = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> pd.Series[Any]: ...
    @overload
    def fit_predict(
        self,
        data: pl.DataFrame | pl.LazyFrame,
        *,
        gold: Any = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> pl.DataFrame: ...
    @overload
    def fit_predict(
        self,
        data: pa.Table,
        *,
        gold: Any = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> pa.Table: ...

    def fit_predict(
        self,
        data: Any,
        *,
        gold: Any = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> Any:
        """Return the truths like crowd-kit; parameters as for `fit`.

        Returns
        -------
        pandas Series, or dataframe
            A Series ``agg_label``, indexed by task; for Polars and PyArrow a frame with columns
            ``task`` and ``agg_label``.
        """
        given = Given.of(data, mechanisms, non_private=non_private)
        return self._fit(given, None, gold, None).predictions()

    @overload
    def fit_predict_proba(
        self,
        data: pd.DataFrame | Answers | Reports | list[Any],
        *,
        gold: Any = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> pd.DataFrame: ...
    @overload
    def fit_predict_proba(
        self,
        data: pl.DataFrame | pl.LazyFrame,
        *,
        gold: Any = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> pl.DataFrame: ...
    @overload
    def fit_predict_proba(
        self,
        data: pa.Table,
        *,
        gold: Any = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> pa.Table: ...

    def fit_predict_proba(
        self,
        data: Any,
        *,
        gold: Any = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> Any:
        """Return the probability of every label like crowd-kit; parameters as for `fit`.

        Returns
        -------
        dataframe
            In pandas indexed by task, with a column for each label; in Polars and PyArrow a column
            ``task`` and one for each label. Rows sum to 1; they are missing for tasks without an
            answer.

        Raises
        ------
        ParameterError
            If the method gives no probabilities of labels.

        Examples
        --------
        >>> import pandas as pd
        >>> import quietcrowd as qc
        >>> votes = pd.DataFrame({"task": ["a"] * 4, "worker": [*"uvwx"], "label": [*"xyyy"]})
        >>> qc.MajorityVote().fit_predict_proba(votes, non_private=True).loc["a"].to_dict()
        {'x': 0.25, 'y': 0.75}
        """
        given = Given.of(data, mechanisms, non_private=non_private)
        estimate = self._fit(given, None, gold, None)
        if not isinstance(estimate, LabelEstimate):
            raise ParameterError(
                "inference.numbers-have-no-probabilities", type_name=type(self).__name__
            )
        return estimate.probabilities()

    def _fit(
        self,
        given: Given,
        init: TruthEstimate[Any] | None,
        gold: Any,
        n_jobs: int | None,
        round: int | None = None,  # noqa: A002
    ) -> TruthEstimate[Any]:
        number = None
        if self.follows_time or round is not None:
            number = round_of_fit(self, round)
        observed = Observations.read(given.data, self, backend=given.backend)
        if init is not None:
            self._check_start(init, observed.domain)
        options = observed.answers.options is not None
        if options:
            model, partitions, known = self._prepare_options(observed, gold, init)
        else:
            model, partition, known = self.prepare(observed, gold)
            if model.seeks_groups:
                model = model.with_groups(model.group_reports(partition))
            partitions = [partition]
        if number is not None:
            check_follows(model, observed.answers.options)
        first: Any = None
        if init is not None:
            earlier: Any = init.state_of(observed.answers.workers)
            first = model.start_from(earlier, init.method)
        warn_about_source(self, observed, 3)
        with Progress(type(self).__name__) as progress:
            result = run_loop(model, partitions, first, n_jobs, progress.count)
        warn_about_result(model, observed.mechanism, result, 3)
        swept = hash_ids(observed.answers.tasks) if options else partitions[0].draws
        estimate = self._estimate(model, observed, known, result, swept, partitions[0])
        if number is None:
            return estimate
        return evolve(estimate, over_time=first_history(estimate, number))

    @overload
    def extend(
        self,
        init: TruthEstimate[Any],
        data: pd.DataFrame | Answers | Reports | list[Any],
        *,
        gold: Any = None,
        round: int | None = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> TruthEstimate[pd.DataFrame]: ...
    @overload
    def extend(
        self,
        init: TruthEstimate[Any],
        data: pl.DataFrame | pl.LazyFrame,
        *,
        gold: Any = None,
        round: int | None = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> TruthEstimate[pl.DataFrame]: ...
    @overload
    def extend(
        self,
        init: TruthEstimate[Any],
        data: pa.Table,
        *,
        gold: Any = None,
        round: int | None = None,
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> TruthEstimate[pa.Table]: ...

    def extend(
        self,
        init: TruthEstimate[Any],
        data: Any,
        *,
        gold: Any = None,
        round: int | None = None,  # noqa: A002
        mechanisms: Iterable[Mechanism] = (),
        non_private: bool = False,
    ) -> TruthEstimate[Any]:
        """Infer the truths of new tasks, with the workers of an earlier estimate.

        Only the new answers are swept: the statistics of the earlier ones stay as in the last pass
        over them. `fit` with ``init=`` sweeps all answers again; do so from time to time.

        Parameters
        ----------
        init : TruthEstimate
            From `fit` or `extend` of an equal method; only the limit of iterations may differ.
        data : Reports, Answers or dataframe
            Answers to tasks that are not in `init`, otherwise as for `fit`. A frame has labels of
            the domain of `init`. Workers match if their ids print alike. With
            ``over_time="follow"``, tasks may be those of earlier rounds.
        gold : dataframe or pandas Series, optional
            Known truths of new tasks, as for `fit`.
        round : int, optional
            Number of the round, for a method with ``over_time="follow"``. It is greater than that
            of `init`; default: the next. Reports that were sent again do not count.
        mechanisms, non_private
            As for `fit`.

        Returns
        -------
        TruthEstimate
            Truths of the new tasks; workers of both, judged by all answers.

        Raises
        ------
        AnswerError
            As for `fit`, and if a task is in `init`.
        ParameterError
            If `init` is of another method, domain or channel.

        Warns
        -----
        NoiseIgnoredWarning, SimulatedNoiseWarning, NoSignalWarning
            As for `fit`.
        SuddenChangeWarning
            If many truths seem to have changed in this round at once.

        Examples
        --------
        >>> import quietcrowd as qc
        >>> crowd = qc.make_crowd(tasks=200, workers=20, random_state=1)
        >>> frame, method = crowd.answers.to_frame(), qc.WeightedVote()
        >>> new = frame["task"].isin(frame["task"].unique()[:20])
        >>> estimate = method.fit(frame[~new], non_private=True)
        >>> more = method.extend(estimate, frame[new], non_private=True)
        >>> len(more.truths), int(more.workers["answers"].sum()) == len(frame)
        (20, True)
        """
        self._check_start(init)
        if evolve(init.method, max_iter=self.max_iter) != self:
            raise ParameterError(
                "inference.start-of-another-method", other_method=self, method=init.method
            )
        number = round_of_extension(self, init, round)
        given = Given.of(data, mechanisms, non_private=non_private)
        if number is not None:
            given = given.first_sent(3)
        observed = Observations.read(given.data, self, init.answers.domain, given.backend)
        if observed.answers.options is not None:
            raise AnswerError("inference.options-without-start")
        self._check_start(init, observed.domain)
        if number is None:
            check_new_tasks(init, observed.answers)
        else:
            observed = join_tasks(init, observed)
        observed, earlier = join_workers(init, observed)
        joined = joined_summary(init.summary, observed.summary, earlier)
        model, partition, known = self.prepare(observed, gold, joined)
        model = model.continued(init.model)
        warn_about_source(self, observed, 2)
        if number is None:
            result = extend_loop(model, init, earlier, partition)
            warn_about_result(model, observed.mechanism, result, 2)
            swept = np.concatenate([init.swept, partition.draws])
            return self._estimate(model, observed, known, result, swept, partition)
        model, start, history = begin_round(model, init, number, partition, earlier)
        result = extend_loop(model, start, earlier, partition)
        found = with_predictions(model, partition, result.state, result.estimates)
        result = evolve(result, estimates=found)
        warn_about_result(model, observed.mechanism, result, 2)
        estimate = self._estimate(model, observed, known, result, partition.draws, partition)
        history = end_round(estimate, history, number)
        warn_each(change_warnings(history.last), 2)
        return evolve(estimate, over_time=history)

    def prepare(
        self, observed: Observations, truths: Any = None, summary: Summary | None = None
    ) -> tuple[Model[Any, Any, Any], Partition, npt.NDArray[Any]]:
        """Bind the method to answers; return model, scaled answers, and unscaled known truths."""
        tasks, known = observed.answers.tasks, None
        if truths is not None:
            known = self.known(tasks, observed.domain, truths)
        model = self.bind(summary or observed.summary, known)
        if known is None:
            known = model.unknown(len(tasks))
        partition = Partition.of(observed.answers, known, observed.participation)
        return model, model.scale(partition), known

    def _prepare_options(
        self, observed: Observations, truths: Any, init: Any
    ) -> tuple[Model[Any, Any, Any], list[Partition], npt.NDArray[Any]]:
        """Bind the method to tasks with options, as `prepare` does to others."""
        if init is not None:
            raise AnswerError("inference.options-without-start")
        answers = observed.answers
        known = np.full(len(answers.tasks), UNKNOWN, np.int32)
        if truths is not None:
            known = self.known(answers.tasks, observed.domain, truths)
        model = self.bind_options(observed.summary, answers, observed.mechanism, known)
        return model, model.partitions, known

    def _estimate(
        self,
        model: Model[Any, Any, Any],
        observed: Observations,
        known: npt.NDArray[Any],
        result: LoopResult,
        swept: npt.NDArray[np.uint64],
        partition: Partition,
    ) -> TruthEstimate[Any]:
        labels = isinstance(result.estimates, LabelEstimates)
        kind: Any = LabelEstimate if labels else NumericEstimate
        estimate: TruthEstimate[Any] = kind(
            model=model,
            estimates=model.finish(result.estimates, known),
            **model.workers(result.tally, result.state),
            answers=observed.answers,
            known=is_known(known),
            swept=swept,
            tally=result.tally,
            state=result.state,
            n_iter=result.n_iter,
            converged=result.converged,
            history=result.history,
            backend=observed.backend,
            notes=model.notes(result.tally, result.state),
            partition=partition if isinstance(model, HasPosterior) else None,
        )
        return estimate

    def _check_start(self, init: Any, domain: Domain | None = None) -> None:
        if not isinstance(init, TruthEstimate):
            raise ParameterError("inference.start-not-an-estimate", type_name=type(init).__name__)
        if init.answers.options is not None:
            raise AnswerError("inference.options-without-start")
        self.check_alike(init.method, init.domain, domain)

    def check_alike(
        self, method: TruthInference, earlier: Domain, domain: Domain | None = None
    ) -> None:
        """Raise ParameterError if an estimate by `method` on `earlier` cannot be the start."""
        if type(method) is not type(self):
            raise ParameterError(
                "inference.start-of-another-class",
                type_name=type(self).__name__,
                other_type=type(method).__name__,
            )
        if domain is not None and earlier != domain:
            raise ParameterError(
                "inference.start-on-another-domain",
                domain=domain.example(),
                other_domain=earlier.example(),
            )


def is_known(truths: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which truths are known; `truths` are stored as in `Partition`."""
    labels = truths.dtype.kind == "i"
    known: npt.NDArray[np.bool_] = truths != UNKNOWN if labels else ~np.isnan(truths)
    return known
