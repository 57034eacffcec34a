"""Results of truth inference: truths of the tasks, quality of the workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, cast, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import fields_dict, frozen
from typing_extensions import TypeVar, override

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.frames import Backend, positions_by_text, to_native
from quietcrowd.inference.display import as_html, plot_estimate
from quietcrowd.inference.method import TruthInference
from quietcrowd.inference.model import Model, State
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.rounds.history import RoundHistory
from quietcrowd.inference.rounds.results import round_columns
from quietcrowd.inference.shared_errors import SharedErrors
from quietcrowd.inference.suggesting import suggested_gold, suggested_tasks
from quietcrowd.inference.task_estimates import Estimates, LabelEstimates, NumericEstimates
from quietcrowd.several_labels import label_sets

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


FrameT_co = TypeVar("FrameT_co", covariant=True, default="pd.DataFrame")
"""Dataframe of the library of the data, for type checkers."""


@frozen(kw_only=True, eq=False)
class TruthEstimate(ABC, Generic[FrameT_co]):
    """Truths of the tasks and quality of the workers.

    Attributes
    ----------
    model : Model
        The method, bound to the answers.
    answers : Answers
        The answers, or reports read as answers.
    estimates : Estimates
        Arrays with one entry per task.
    known : ndarray of bool, shape (tasks,)
        Which truths were given as ``gold``.
    swept : ndarray of uint64
        Hashes of the ids of all tasks, those of earlier estimates included.
    tally : Tally
        Statistics of the last pass.
    state : State or None
        State of the model in the last pass.
    n_iter : int
        Number of updates.
    converged : bool
        Whether the objective converged before the limit of iterations.
    history : tuple of float
        The objective per answer after each iteration.
    backend : {"pandas", "polars", "pyarrow"}
        Library of the frames.
    notes : tuple of str
        Sentences that a reader of the estimate should know.
    partition : Partition or None
        The scaled answers, if the model has a posterior.
    over_time : RoundHistory or None
        The rounds so far, of a method with ``over_time="follow"``.
    """

    model: Model[Any, Any, Any]
    answers: Answers
    estimates: Estimates
    known: npt.NDArray[np.bool_]
    swept: npt.NDArray[np.uint64]
    tally: Any
    state: State | None
    n_iter: int
    converged: bool
    history: tuple[float, ...]
    backend: Backend = "pandas"
    notes: tuple[str, ...] = ()
    partition: Partition | None = None
    over_time: RoundHistory | None = None

    @property
    def method(self) -> TruthInference:
        """The method."""
        method: TruthInference = self.model.method
        return method

    @property
    def shared_errors(self) -> SharedErrors | None:
        """Estimated errors that most workers share; None for methods without it."""
        return self.model.shared_errors(self.state)

    @property
    def summary(self) -> Summary:
        """Summary of all answers, those of earlier estimates included after `extend`."""
        return self.model.summary

    @property
    def domain(self) -> Domain:
        """Domain of the truths."""
        return self.summary.domain

    @property
    def truths(self) -> FrameT_co:
        """Dataframe of the tasks; the subclass defines the columns."""
        return cast("FrameT_co", self.truths_as(self.backend))

    @property
    def workers(self) -> FrameT_co:
        """Dataframe of the workers; the subclass defines the columns."""
        return cast("FrameT_co", self.workers_as(self.backend))

    @overload
    def truths_as(self, backend: Literal["pandas"]) -> pd.DataFrame: ...
    @overload
    def truths_as(self, backend: Literal["polars"]) -> pl.DataFrame: ...
    @overload
    def truths_as(self, backend: Literal["pyarrow"]) -> pa.Table: ...
    @overload
    def truths_as(self, backend: Backend) -> Any: ...

    def truths_as(self, backend: Backend) -> Any:
        """Return `truths` as a dataframe of another library."""
        return to_native(self._truth_columns(), backend)

    def _truth_columns(self) -> dict[str, pa.Array]:
        answers = self.answers
        return truth_columns(
            answers.tasks,
            self.estimates,
            self.known | self._predicted,
            answers.answers_per_task,
            self.summary.domain,
        )

    @property
    def _predicted(self) -> npt.NDArray[np.bool_]:
        """Which tasks have an estimate from earlier rounds."""
        if self.over_time is None:
            return np.zeros(len(self.known), np.bool_)
        return self.over_time.last.met

    @property
    def round(self) -> int | None:
        """Number of the last round; None unless the truths follow time."""
        return None if self.over_time is None else self.over_time.last.number

    @property
    def rounds(self) -> FrameT_co:
        """Dataframe of the truths of the last 32 rounds, each as its round showed them.

        Columns are ``round`` and those of ``truths`` up to ``answers``. Tasks without a report so
        far are missing.

        Raises
        ------
        ParameterError
            If the method has no ``over_time="follow"``.
        """
        return cast("FrameT_co", to_native(round_columns(self, smoothed=False), self.backend))

    def smoothed(self) -> FrameT_co:
        """Return `rounds` with the truths of each round as all rounds show them.

        Raises
        ------
        ParameterError
            If the method has no ``over_time="follow"``.

        Examples
        --------
        >>> import quietcrowd as qc
        >>> crowd = qc.make_crowd(tasks=50, workers=30, answers_per_task=6, random_state=1)
        >>> method = qc.NoiseAware(over_time="follow")
        >>> estimate = method.extend(method.fit(crowd.answers), crowd.answers)
        >>> estimate.smoothed().groupby("round").size().to_dict()
        {1: 50, 2: 50}
        """
        return cast("FrameT_co", to_native(round_columns(self, smoothed=True), self.backend))

    @overload
    def workers_as(self, backend: Literal["pandas"]) -> pd.DataFrame: ...
    @overload
    def workers_as(self, backend: Literal["polars"]) -> pl.DataFrame: ...
    @overload
    def workers_as(self, backend: Literal["pyarrow"]) -> pa.Table: ...
    @overload
    def workers_as(self, backend: Backend) -> Any: ...

    def workers_as(self, backend: Backend) -> Any:
        """Return `workers` as a dataframe of another library."""
        columns = worker_columns(
            self.answers.workers, self._worker_columns(), self.summary.answers_per_worker
        )
        return to_native(columns, backend)

    @property
    def posterior(self) -> FrameT_co:
        """Dataframe of the posterior of each task, by one more pass over the answers.

        Raises
        ------
        ParameterError
            If the method has no posterior.
        """
        return cast("FrameT_co", self.posterior_as(self.backend))

    @overload
    def posterior_as(self, backend: Literal["pandas"]) -> pd.DataFrame: ...
    @overload
    def posterior_as(self, backend: Literal["polars"]) -> pl.DataFrame: ...
    @overload
    def posterior_as(self, backend: Literal["pyarrow"]) -> pa.Table: ...
    @overload
    def posterior_as(self, backend: Backend) -> Any: ...

    def posterior_as(self, backend: Backend) -> Any:
        """Return `posterior` as a dataframe of another library."""
        return to_native(self._posterior(), backend)

    @abstractmethod
    def _posterior(self) -> dict[str, pa.Array]:
        """Return the columns of `posterior`."""

    def _pass_for_posterior(self) -> Any:
        if self.partition is None:
            raise ParameterError("inference.no-posterior", type_name=type(self.method).__name__)
        model: Any = self.model
        return model.posterior(self.partition, self.state)

    @overload
    def predictions(self: TruthEstimate[pd.DataFrame]) -> pd.Series[Any]: ...
    @overload
    def predictions(self) -> FrameT_co: ...

    def predictions(self) -> Any:
        """Return the truths like `FittingMethod.fit_predict`."""
        if self.backend != "pandas":
            found = self._truth_columns()
            return to_native({"task": found["task"], "agg_label": found["truth"]}, self.backend)
        return self.truths_as("pandas").set_index("task")["truth"].rename("agg_label")

    @overload
    def label_sets(self, *, threshold: float = 0.5, backend: None = None) -> FrameT_co: ...
    @overload
    def label_sets(self, *, threshold: float = 0.5, backend: Backend | None) -> Any: ...

    def label_sets(self, *, threshold: float = 0.5, backend: Backend | None = None) -> Any:
        """Return the set of labels of each task.

        The answers are those of `Answers.from_label_sets`, or reports of them. A task has a label
        if the posterior of "yes" is at least `threshold`.

        Parameters
        ----------
        threshold : float
            Above 0 and below 1.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the frame; default: that of the estimate.

        Returns
        -------
        dataframe
            One row per task: ``task``, a text; ``labels``, a list of texts; and one column per
            label with its posterior, such as ``p(cat)``. A question without answers has no
            posterior, and its label is not in the list; a task without any answers has no list.

        Raises
        ------
        ParameterError
            If the threshold is out of range, the method has no posterior, or the estimate is not
            about the questions of `Answers.from_label_sets`.

        Examples
        --------
        >>> import pandas as pd
        >>> import quietcrowd as qc
        >>> frame = pd.DataFrame({"task": [7], "worker": ["a"], "label": [["cat"]]})
        >>> qc.MajorityVote().fit(qc.Answers.from_label_sets(frame, ["cat", "dog"])).label_sets()
          task labels  p(cat)  p(dog)
        0    7  [cat]     1.0     0.0
        """
        return to_native(label_sets(self, threshold), backend or self.backend)

    @overload
    def suggest_tasks(
        self,
        answers: int = 100,
        *,
        per_task: int | None = None,
        worker: Any = None,
        backend: None = None,
    ) -> FrameT_co: ...
    @overload
    def suggest_tasks(
        self,
        answers: int = 100,
        *,
        per_task: int | None = None,
        worker: Any = None,
        backend: Backend | None,
    ) -> Any: ...

    def suggest_tasks(
        self,
        answers: int = 100,
        *,
        per_task: int | None = None,
        worker: Any = None,
        backend: Backend | None = None,
    ) -> Any:
        """Return the tasks to ask next, and how many answers to request for each.

        With much noise, one further report rarely changes a label. So blocks of up to 64 reports
        are evaluated. The value of a task is the expected drop of its error per report in the best
        block. Answers go to the tasks of the largest value. Further reports may change these
        values, so ask for few answers, infer again, and repeat.

        Parameters
        ----------
        answers : int
            Number of answers to assign, at least 1.
        per_task : int, optional
            Most answers for one task. Default: three times the even share, rounded up.
        worker : id, optional
            Who is to answer. Tasks that this worker answered are excluded, and each other task is
            asked at most once. Default: a typical worker of the crowd.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the frame; default: that of the estimate.

        Returns
        -------
        dataframe
            One row per task with at least one answer, by decreasing value: ``task``; ``answers``;
            ``value``, the expected drop of the error per report; and ``error``, the error expected
            now. The error is the probability of a wrong label, or the mean absolute error of a
            number. Tasks with known truths are excluded.

        Raises
        ------
        ParameterError
            If the method has no posterior or no model of a further report; if every worker reports
            every task; if a number is out of range; or if the worker is not in the estimate.

        Examples
        --------
        >>> import quietcrowd as qc
        >>> crowd = qc.make_crowd(tasks=50, workers=30, answers_per_task=6, random_state=1)
        >>> asked = qc.NoiseAware().fit(crowd.answers).suggest_tasks(20)
        >>> int(asked["answers"].sum()), asked["value"].is_monotonic_decreasing
        (20, True)
        """
        return to_native(suggested_tasks(self, answers, per_task, worker), backend or self.backend)

    def suggest_gold(self, tasks: int = 20, *, backend: Backend | None = None) -> Any:
        """Return the tasks to check, for ``gold``.

        Half of them are a random sample, which tells how often most workers err together. The other
        half are the least certain ones. If only uncertain tasks are checked, confidences stay too
        high. Known truths correct the confidences of `NoiseAware` from about 20 on.

        Parameters
        ----------
        tasks : int
            Number of tasks, at least 1.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the frame; default: that of the estimate.

        Returns
        -------
        dataframe
            One row per task: ``task``; ``chosen``, "at random" or "uncertain"; and ``error``, the
            error expected now, as in `suggest_tasks` for labels, and the standard error of a
            number. Tasks without answers, and those with known truths, are excluded.

        Raises
        ------
        ParameterError
            If the number is below 1, or the method has no posterior.

        Examples
        --------
        >>> import quietcrowd as qc
        >>> crowd = qc.make_crowd(tasks=50, workers=30, answers_per_task=6, random_state=1)
        >>> checked = qc.NoiseAware().fit(crowd.answers).suggest_gold(6)
        >>> checked["chosen"].value_counts().to_dict()
        {'at random': 3, 'uncertain': 3}
        """
        return to_native(suggested_gold(self, tasks), backend or self.backend)

    def plot(self) -> Any:
        """Return a Matplotlib figure of the truths' uncertainty and the workers' quality.

        For labels a histogram of confidences and intervals of accuracies; for numbers the truths
        with two standard errors, and the workers' errors.

        Raises
        ------
        MissingExtraError
            If Matplotlib is not installed.
        """
        return plot_estimate(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def state_of(self, workers: pa.Array) -> State | None:
        """Return the state of workers with these ids; ids match if they print alike."""
        if self.state is None:
            return None
        return self.state.take(positions_by_text(workers, self.answers.workers))

    @abstractmethod
    def _worker_columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of `workers` between ids and counts."""

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        return (
            f"{type(self).__name__}({len(self.answers.tasks):,} tasks, "
            f"{len(self.answers.workers):,} workers, {self.method!r}, "
            f"{self.n_iter} iterations, {end})"
        )


@frozen(kw_only=True, eq=False, repr=False)
class LabelEstimate(TruthEstimate[FrameT_co]):
    """Estimated labels.

    ``truths`` has columns ``task``, ``truth``, ``confidence``, ``answers``, ``tied``, and those of
    the method, such as ``easiness``; ``workers`` has ``worker``, ``agreement``, ``accuracy``,
    ``accuracy_low``, ``accuracy_high``, ``answers``. Values are missing for a task without answers
    or known truth, and for a worker without answers.

    Attributes
    ----------
    estimates : LabelEstimates
        Codes, confidences and ties, one entry per task.
    agreement : ndarray of float64, shape (workers,)
        Fraction of each worker's answers that agree with the estimates.
    accuracy : ndarray of float64, shape (workers,)
        Accuracy of each worker's answers, without the noise if its channel is known; NaN also if
        the reports carry too little information.
    accuracy_low, accuracy_high : ndarray of float64, shape (workers,)
        Ends of a 90 % interval of the accuracy.
    flag : ndarray of str or None, shape (workers,), or None
        Column of ``workers`` if the method flags workers whose reports look like those of no honest
        worker: "constant", "random", "opposite" or "unrandomized".
    """

    estimates: LabelEstimates
    agreement: npt.NDArray[np.float64]
    accuracy: npt.NDArray[np.float64]
    accuracy_low: npt.NDArray[np.float64]
    accuracy_high: npt.NDArray[np.float64]
    flag: npt.NDArray[Any] | None = None

    @override
    def _worker_columns(self) -> dict[str, npt.NDArray[Any]]:
        names = ("agreement", "accuracy", "accuracy_low", "accuracy_high")
        known = {name: getattr(self, name) for name in names}
        return known if self.flag is None else {**known, "flag": self.flag}

    @override
    def _posterior(self) -> dict[str, pa.Array]:
        chances, options = self._chances(), self.answers.options
        if options is not None:
            found = chances[options.task_codes, options.codes]
            return {
                "task": options.tasks.take(pa.array(options.task_codes)),
                "label": self.domain.decode(options.codes),
                "probability": pa.array(found, from_pandas=True),
            }
        tasks, labels = chances.shape
        codes = np.tile(np.arange(labels), tasks).astype(self.domain.dtype)
        return {
            "task": self.answers.tasks.take(pa.array(np.repeat(np.arange(tasks), labels))),
            "label": self.domain.decode(pa.array(codes)),
            "probability": pa.array(chances.reshape(-1), from_pandas=True),
        }

    def _chances(self) -> npt.NDArray[np.float64]:
        """Return the probability of each label, shape (tasks, labels); NaN without answers."""
        found = np.array(self._pass_for_posterior())
        found[(self.answers.answers_per_task == 0) & ~(self.known | self._predicted)] = np.nan
        return found

    def probabilities(self) -> FrameT_co:
        """Return the probability of every label like `FittingMethod.fit_predict_proba`."""
        chances, domain = self._chances(), self.domain
        names = domain.decode(pa.array(np.arange(chances.shape[1]).astype(domain.dtype)))
        if self.backend == "pandas":
            import pandas as pd

            columns = pd.Index(names.to_pandas(), name="label")
            index = pd.Index(self.answers.tasks.to_pandas(), name="task")
            return cast("FrameT_co", pd.DataFrame(chances, index=index, columns=columns))
        shares = {
            str(name): pa.array(column, from_pandas=True)
            for name, column in zip(names.to_pylist(), chances.T, strict=True)
        }
        return cast("FrameT_co", to_native({"task": self.answers.tasks, **shares}, self.backend))


@frozen(kw_only=True, eq=False, repr=False)
class NumericEstimate(TruthEstimate[FrameT_co]):
    """Estimated numbers.

    ``truths`` has columns ``task``, ``truth``, ``standard_error``, ``spread``, ``answers``;
    ``workers`` has ``worker``, ``error``, ``weight``, ``answers``. Values are missing for tasks
    and workers without answers, and standard errors that the method does not know, such as that of
    the mean of a single answer. The standard error of a known truth is 0. Standard errors include
    the noise, but no bias of filled-in answers.

    Attributes
    ----------
    estimates : NumericEstimates
        Numbers, standard errors and spreads, one entry per task.
    error : ndarray of float64, shape (workers,)
        Root mean square error of each worker's answers, or of its reports, noise included.
    weight : ndarray of float64, shape (workers,)
        Weight of each worker's answers; the weights sum to 1.
    error_sd : ndarray of float64, shape (workers,), or None
        Standard deviation of each worker's errors without the noise, if the method models it.
    error_sd_low, error_sd_high : ndarray of float64, shape (workers,), or None
        Ends of a central 90 % interval of ``error_sd``, if the method has its posterior; NaN if it
        is almost uninformative.
    """

    estimates: NumericEstimates
    error: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]
    error_sd: npt.NDArray[np.float64] | None = None
    error_sd_low: npt.NDArray[np.float64] | None = None
    error_sd_high: npt.NDArray[np.float64] | None = None

    @override
    def _posterior(self) -> dict[str, pa.Array]:
        levels, quantiles = self._pass_for_posterior()
        tasks = np.repeat(np.arange(len(quantiles)), len(levels))
        return {
            "task": self.answers.tasks.take(pa.array(tasks)),
            "level": pa.array(np.tile(levels, len(quantiles))),
            "quantile": pa.array(quantiles.reshape(-1)),
        }

    @override
    def _worker_columns(self) -> dict[str, npt.NDArray[np.float64]]:
        given = {
            name: getattr(self, name) for name in ("error_sd", "error_sd_low", "error_sd_high")
        }
        known = {name: column for name, column in given.items() if column is not None}
        return {"error": self.error, "weight": self.weight, **known}


def truth_columns(
    tasks: pa.Array,
    estimates: Estimates,
    known: npt.NDArray[np.bool_],
    counts: npt.NDArray[np.int64],
    domain: Domain,
) -> dict[str, pa.Array]:
    """Return the columns of `TruthEstimate.truths`; `counts` are the numbers of answers."""
    nobody: npt.NDArray[np.bool_] = counts == 0
    untold = nobody & ~known
    answers = pa.array(counts)
    if isinstance(estimates, NumericEstimates):
        return {
            "task": tasks,
            "truth": pa.array(estimates.truths, mask=untold),
            "standard_error": pa.array(estimates.standard_error, from_pandas=True),
            "spread": pa.array(estimates.spread, mask=nobody),
            "answers": answers,
        }
    assert isinstance(estimates, LabelEstimates)
    usual = fields_dict(LabelEstimates)
    more = [name for name in fields_dict(type(estimates)) if name not in usual]
    return {
        "task": tasks,
        "truth": domain.decode(pa.array(estimates.truths, mask=untold)),
        "confidence": pa.array(estimates.confidence, mask=untold),
        "answers": answers,
        "tied": pa.array(estimates.tied & ~untold),
        **{name: pa.array(getattr(estimates, name), mask=untold) for name in more},
    }


def worker_columns(
    workers: pa.Array,
    found: Mapping[str, npt.NDArray[Any]],
    counts: npt.NDArray[np.int64],
) -> dict[str, pa.Array]:
    """Return the columns of `TruthEstimate.workers`, from those of `Model.workers`."""
    columns = {name: pa.array(values, from_pandas=True) for name, values in found.items()}
    return {"worker": workers, **columns, "answers": pa.array(counts)}
