"""What truth inference found."""

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
from quietcrowd.inference.passes import Estimates, LabelEstimates, NumericEstimates, State

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from quietcrowd.inference.method import TruthInference
    from quietcrowd.inference.partition import Partition, Summary

__all__ = ["LabelEstimate", "NumericEstimate", "TruthEstimate", "truth_columns", "worker_columns"]

FrameT_co = TypeVar("FrameT_co", covariant=True, default="pd.DataFrame")
"""A dataframe of the library that came in; for a type checker."""


@frozen(kw_only=True, eq=False)
class TruthEstimate(ABC, Generic[FrameT_co]):
    """Truths of the tasks and quality of the workers.

    Attributes
    ----------
    method : TruthInference
        What found them.
    answers : Answers
        What they were found from.
    estimates : Estimates
        Arrays with one entry per task.
    known : ndarray of bool, shape (tasks,)
        Which truths were given, as `gold`, and not inferred.
    quality : ndarray of float64, shape (workers,)
        How good each worker is; NaN where nothing tells. See the kind of estimate.
    summary : Summary
        Of all answers that told of the workers; after `FittingMethod.extend` those of earlier
        estimates are among them.
    swept : ndarray of uint64
        Hashes of the ids of all tasks that these are answers to.
    tally : Tally
        What they told, at `state`.
    state : State or None
        What the method believes of the workers.
    iterations : int
        How many times the workers were weighed.
    converged : bool
        Whether the objective converged before the limit of iterations.
    history : tuple of float
        The objective per answer after each iteration.
    backend : {"pandas", "polars", "pyarrow"}
        Library of the frames.
    notes : tuple of str
        What a reader of the estimate should know, a sentence each.
    partition : Partition or None
        The answers as the last pass took them, where the method has a posterior.
    """

    method: TruthInference[Any, Any]
    answers: Answers
    estimates: Estimates
    known: npt.NDArray[np.bool_]
    quality: npt.NDArray[np.float64]
    summary: Summary
    swept: npt.NDArray[np.uint64]
    tally: Any
    state: State | None
    iterations: int
    converged: bool
    history: tuple[float, ...]
    backend: Backend = "pandas"
    notes: tuple[str, ...] = ()
    partition: Partition | None = None

    @property
    def domain(self) -> Domain:
        """What a truth can be."""
        return self.summary.domain

    @property
    def truths(self) -> FrameT_co:
        """Dataframe of the tasks; see the kind of estimate for its columns."""
        return cast("FrameT_co", self.truths_as(self.backend))

    @property
    def workers(self) -> FrameT_co:
        """Dataframe of the workers; see the kind of estimate for its columns."""
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
            self.known,
            answers.answers_per_task,
            self.summary.domain,
        )

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
            self.answers.workers, self._qualities(), self.summary.answers_per_worker
        )
        return to_native(columns, backend)

    @property
    def posterior(self) -> FrameT_co:
        """Dataframe of what is believed of each task; see the kind of estimate for its columns.

        It takes one more pass.

        Raises
        ------
        ParameterError
            Where the method has none.
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
        if self.partition is None:
            raise ParameterError(
                f"{type(self.method).__name__} has no posterior of the truths; NoiseAware and the "
                "other methods for labels have one"
            )
        return to_native(self._posterior(self.partition), backend)

    @abstractmethod
    def _posterior(self, partition: Partition) -> dict[str, pa.Array]:
        """Return the columns of `posterior`."""

    @overload
    def predictions(self: TruthEstimate[pd.DataFrame]) -> pd.Series[Any]: ...
    @overload
    def predictions(self) -> FrameT_co: ...

    def predictions(self) -> Any:
        """Return the truths as `FittingMethod.fit_predict` does."""
        if self.backend != "pandas":
            found = self._truth_columns()
            return to_native({"task": found["task"], "agg_label": found["truth"]}, self.backend)
        return self.truths_as("pandas").set_index("task")["truth"].rename("agg_label")

    def plot(self) -> Any:
        """Return a Matplotlib figure: how sure the truths are, and how good the workers.

        Of labels a histogram of confidences, and the workers' quality with its intervals; of
        numbers the truths with two standard errors either way, and the workers' errors.

        Raises
        ------
        MissingExtraError
            Where Matplotlib is not installed.
        """
        return plot_estimate(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def state_of(self, workers: pa.Array) -> State | None:
        """Return what is believed of workers with these ids, matched by what they print as."""
        if self.state is None:
            return None
        return self.state.take(positions_by_text(workers, self.answers.workers))

    @abstractmethod
    def _qualities(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of `workers` between the ids and the counts."""

    def __repr__(self) -> str:
        end = "converged" if self.converged else "not converged"
        return (
            f"{type(self).__name__}({len(self.answers.tasks):,} tasks, "
            f"{len(self.answers.workers):,} workers, {self.method!r}, "
            f"{self.iterations} iterations, {end})"
        )


@frozen(kw_only=True, eq=False, repr=False)
class LabelEstimate(TruthEstimate[FrameT_co]):
    """Estimated labels.

    ``truths`` has columns ``task``, ``truth``, ``confidence``, ``answers``, ``tied``, and what else
    the method says of tasks, as ``easiness``; ``workers`` has ``worker``, ``agreement``,
    ``quality``, ``quality_low``, ``quality_high``, ``answers``. A task without answers has no truth
    and no confidence unless its truth was known, a worker without answers no agreement and no
    quality.

    Attributes
    ----------
    estimates : LabelEstimates
        Codes, confidences and ties, one entry per task.
    agreement : ndarray of float64, shape (workers,)
        Share of each worker's answers that agree with the estimates.
    quality : ndarray of float64, shape (workers,)
        How often each worker's answers are right, the noise taken out where its law is known; NaN
        also where the reports tell hardly anything of that.
    quality_low, quality_high : ndarray of float64, shape (workers,)
        The ends of an interval that the accuracy lies in with a probability of 90 %.
    flag : ndarray of str or None, shape (workers,), or None
        What a worker looks like whose reports are not those of an honest one, and a column of
        ``workers``, where the method says so: "constant", "random", "opposite" or "not randomised".
    """

    estimates: LabelEstimates
    agreement: npt.NDArray[np.float64]
    quality_low: npt.NDArray[np.float64]
    quality_high: npt.NDArray[np.float64]
    flag: npt.NDArray[Any] | None = None

    @override
    def _qualities(self) -> dict[str, npt.NDArray[Any]]:
        names = ("agreement", "quality", "quality_low", "quality_high")
        known = {name: getattr(self, name) for name in names}
        return known if self.flag is None else {**known, "flag": self.flag}

    @override
    def _posterior(self, partition: Partition) -> dict[str, pa.Array]:
        """Return columns ``task``, ``label`` and ``probability``, a row per task and label."""
        chances = self._chances(partition)
        tasks, labels = chances.shape
        codes = np.tile(np.arange(labels), tasks).astype(self.domain.dtype)
        return {
            "task": self.answers.tasks.take(pa.array(np.repeat(np.arange(tasks), labels))),
            "label": self.domain.decode(pa.array(codes)),
            "probability": pa.array(chances.reshape(-1), from_pandas=True),
        }

    def _chances(self, partition: Partition) -> npt.NDArray[np.float64]:
        """Return the probability of each label, shape (tasks, labels); NaN where nobody tells."""
        found = np.array(self.method.posterior(partition, self.summary, self.state))
        found[(self.answers.answers_per_task == 0) & ~self.known] = np.nan
        return found

    def probabilities(self) -> FrameT_co:
        """Return the probability of every label as `FittingMethod.fit_predict_proba` does."""
        if self.partition is None:
            return self.posterior  # says what has one
        chances, domain = self._chances(self.partition), self.domain
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
    ``workers`` has ``worker``, ``error``, ``quality``, ``answers``. A task without answers has no
    spread, and no truth unless it was known; the standard error of a known truth is 0. Where
    nothing tells of it, as by the mean of a single answer, there is none. A worker without answers
    has no error and no quality. Standard errors cover the noise, but no bias of filled-in answers.

    Attributes
    ----------
    estimates : NumericEstimates
        Numbers, standard errors and spreads, one entry per task.
    error : ndarray of float64, shape (workers,)
        Root mean square of the distances of each worker's answers from the truths; of reports, the
        noise included.
    quality : ndarray of float64, shape (workers,)
        The worker's share of all weight: what its answers counted. They sum to 1.
    sigma : ndarray of float64, shape (workers,), or None
        Standard deviation of each worker's own errors, the noise taken out, and a column of
        ``workers``, where the method has a model of the noise.
    sigma_low, sigma_high : ndarray of float64, shape (workers,), or None
        Ends of a central 90 % interval of it, where the method has its posterior; NaN where that
        tells next to nothing.
    """

    estimates: NumericEstimates
    error: npt.NDArray[np.float64]
    sigma: npt.NDArray[np.float64] | None = None
    sigma_low: npt.NDArray[np.float64] | None = None
    sigma_high: npt.NDArray[np.float64] | None = None

    @override
    def _posterior(self, partition: Partition) -> dict[str, pa.Array]:
        """Return columns ``task``, ``level`` and ``quantile``: five rows per task."""
        levels, quantiles = self.method.posterior(partition, self.summary, self.state)
        tasks = np.repeat(np.arange(len(quantiles)), len(levels))
        return {
            "task": self.answers.tasks.take(pa.array(tasks)),
            "level": pa.array(np.tile(levels, len(quantiles))),
            "quantile": pa.array(quantiles.reshape(-1)),
        }

    @override
    def _qualities(self) -> dict[str, npt.NDArray[np.float64]]:
        given = {name: getattr(self, name) for name in ("sigma", "sigma_low", "sigma_high")}
        known = {name: column for name, column in given.items() if column is not None}
        return {"error": self.error, "quality": self.quality, **known}


def truth_columns(
    tasks: pa.Array,
    estimates: Estimates,
    known: npt.NDArray[np.bool_],
    counts: npt.NDArray[np.int64],
    domain: Domain,
) -> dict[str, pa.Array]:
    """Return the columns of `TruthEstimate.truths` for some tasks.

    Parameters
    ----------
    tasks : pyarrow.Array
        Their ids.
    estimates : LabelEstimates or NumericEstimates
        Of these tasks.
    known : ndarray of bool, shape (tasks,)
        Which truths were given.
    counts : ndarray of int64, shape (tasks,)
        How many answers each task has.
    domain : Domain
        What an answer can be.
    """
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
    qualities: Mapping[str, npt.NDArray[Any]],
    counts: npt.NDArray[np.int64],
) -> dict[str, pa.Array]:
    """Return the columns of `TruthEstimate.workers`.

    Parameters
    ----------
    workers : pyarrow.Array
        Their ids.
    qualities : mapping of str to ndarray, shape (workers,)
        What the method says of them; see `TruthInference.qualities`.
    counts : ndarray of int64, shape (workers,)
        How many answers each gave.
    """
    columns = {name: pa.array(values, from_pandas=True) for name, values in qualities.items()}
    return {"worker": workers, **columns, "answers": pa.array(counts)}
