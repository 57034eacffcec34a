"""What every truth-inference method offers, and what it has to supply."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import asdict, astuple, field, fields_dict, frozen

from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference.further_reports import FurtherReport
from quietcrowd.inference.kernels import integer_sums
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.mechanisms.channel import Channel
from quietcrowd.report_domains import OrNull
from quietcrowd.validation import at_least, plain, whole_number

__all__ = [
    "Estimates",
    "IterativeInference",
    "LabelEstimates",
    "NumericEstimates",
    "Scatter",
    "State",
    "Tally",
    "TruthInference",
    "add_up",
    "known_or_median",
]


class State(ABC):
    """What is believed of the workers: a frozen record of arrays, one entry per worker."""

    @abstractmethod
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of the workers at these positions; -1 stands for a new worker."""


def known_or_median(
    positions: npt.NDArray[np.intp], known: npt.NDArray[Any]
) -> npt.NDArray[np.intp]:
    """Return positions of workers, -1 being replaced by that of the one with the median number."""
    middle = np.argsort(known, kind="stable")[len(known) // 2]
    return np.where(positions >= 0, positions, middle)


def add_up(parts: Iterable[Any]) -> Any:
    """Return the sum of what passes tell, one at least; the first is changed, the others let go."""
    rest = iter(parts)
    total = next(rest)
    for part in rest:
        total += part
        del part  # the next one comes
    return total


def _added(total: Any, part: Any) -> Any:
    """Return a sum, in place of the first where that is an array that can hold it."""
    here = isinstance(total, np.ndarray) and total.shape == np.shape(part)
    if not here and not isinstance(total, Tally):
        return total + part
    if here and not (total.flags.writeable and total.dtype == part.dtype):
        return total + part
    total += part
    return total


@frozen(kw_only=True, eq=False)
class Tally:
    """What a pass over tasks tells of the workers: a frozen record that adds, field by field."""

    def __add__(self, other: Self) -> Self:
        names = fields_dict(type(self))
        return type(self)(**{name: getattr(self, name) + getattr(other, name) for name in names})

    def __iadd__(self, other: Self) -> Self:
        """Add to the arrays that are here: there are no others beside them and those that come."""
        names = fields_dict(type(self))
        return type(self)(
            **{name: _added(getattr(self, name), getattr(other, name)) for name in names}
        )

    def extended(self, extension: Extension) -> Self:
        """Return the tally of an earlier pass as one of the workers and units of more answers."""
        raise NotImplementedError(f"{type(self).__name__} is extended by its method")


@frozen(kw_only=True, eq=False)
class Estimates:
    """What a pass says of its tasks: a frozen record of arrays, one entry per task.

    Attributes
    ----------
    truths : ndarray
        What is estimated: codes of labels, or numbers.
    """

    truths: npt.NDArray[Any]

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        """All of them, which kernels fill."""
        return astuple(self, recurse=False)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join the estimates of consecutive tasks."""
        return cls(
            **{
                name: np.concatenate([getattr(part, name) for part in parts])
                for name in fields_dict(cls)
            }
        )


@frozen(kw_only=True, eq=False)
class LabelEstimates(Estimates):
    """Estimated labels.

    Attributes
    ----------
    truths : ndarray
        See `Estimates`.
    confidence : ndarray of float64
        From 0 to 1; see the method.
    tied : ndarray of bool
        Whether other labels were as good.
    """

    confidence: npt.NDArray[np.float64]
    tied: npt.NDArray[np.bool_]

    @classmethod
    def empty(cls, tasks: int, dtype: npt.DTypeLike) -> LabelEstimates:
        """Return room for the estimates of a number of tasks."""
        return cls(
            truths=np.zeros(tasks, dtype),
            confidence=np.zeros(tasks, np.float64),
            tied=np.zeros(tasks, np.bool_),
        )


@frozen(kw_only=True, eq=False)
class NumericEstimates(Estimates):
    """Estimated numbers.

    Attributes
    ----------
    truths : ndarray of float64
        See `Estimates`.
    standard_error : ndarray of float64
        Of the truth, as far as the method can tell; NaN where it cannot.
    spread : ndarray of float64
        Root mean square of the distances of the task's answers from the truth.
    """

    standard_error: npt.NDArray[np.float64]
    spread: npt.NDArray[np.float64]

    @classmethod
    def empty(cls, tasks: int) -> NumericEstimates:
        """Return room for the estimates of a number of tasks."""
        return cls(truths=np.zeros(tasks), standard_error=np.zeros(tasks), spread=np.zeros(tasks))


@frozen(kw_only=True)
class Scatter:
    """What tells how much estimates tell; those of partitions add up to those of all tasks.

    Of numbers these are moments, scaled as the numbers of the pass are: by `Summary.extent`.

    Attributes
    ----------
    inferred : int
        How many truths have a standard error above 0.
    mean : float
        Of these truths.
    squares : float
        Sum of their squared distances from the mean.
    errors : float
        Sum of their squared standard errors.
    labels : int
        How many labels were estimated with a confidence.
    wrong : int
        How many of them are expected to be wrong, by their confidences; in units of
        `integer_sums.ONE`.
    """

    inferred: int = 0
    mean: float = 0.0
    squares: float = 0.0
    errors: float = 0.0
    labels: int = 0
    wrong: int = 0

    @classmethod
    def of(cls, estimates: Estimates) -> Self:
        """Return those of some tasks."""
        if isinstance(estimates, LabelEstimates):
            told = estimates.confidence[~np.isnan(estimates.confidence)]
            unsure = np.rint((1.0 - told) * integer_sums.ONE).astype(np.int64)
            return cls(labels=len(unsure), wrong=int(unsure.sum()))
        if not isinstance(estimates, NumericEstimates):
            return cls()
        inferred = estimates.standard_error > 0
        truths, count = estimates.truths[inferred], int(inferred.sum())
        if not count:
            return cls()
        return cls(
            inferred=count,
            mean=float(np.mean(truths)),
            squares=float(np.var(truths)) * count,
            errors=float(np.sum(estimates.standard_error[inferred] ** 2)),
        )

    def __add__(self, other: Self) -> Self:
        labels = {"labels": self.labels + other.labels, "wrong": self.wrong + other.wrong}
        count = self.inferred + other.inferred
        if not count:
            return type(self)(**labels)
        apart, share = other.mean - self.mean, other.inferred / count
        return type(self)(
            inferred=count,
            mean=self.mean + apart * share,
            squares=self.squares + other.squares + apart**2 * share * self.inferred,
            errors=self.errors + other.errors,
            **labels,
        )

    @property
    def noise(self) -> float:
        """Root mean square of the standard errors."""
        return math.sqrt(self.errors / self.inferred)

    @property
    def spread(self) -> float:
        """Standard deviation of the truths."""
        return math.sqrt(self.squares / self.inferred)

    @property
    def error_rate(self) -> float:
        """Share of the labels that is expected to be wrong."""
        return self.wrong / integer_sums.ONE / self.labels


StateT = TypeVar("StateT", bound=State)
TallyT = TypeVar("TallyT", bound=Tally)


@frozen(kw_only=True, slots=False)
class TruthInference(ABC, Generic[StateT, TallyT]):
    """A way to find the truths and the workers' quality from answers.

    A method is a value: it holds parameters alone. `quietcrowd.inference.sweep` runs it.

    Parameters
    ----------
    max_iterations : int
        Most sweeps before the loop gives up.
    tolerance : float
        The loop has converged when the objective per answer changes by no more than this.
    seed : int
        For ties, which are broken by a hash of seed and task id.

    Attributes
    ----------
    reads_answers : bool
        Whether plain answers are enough.
    corrects_quality : bool
        Whether the noise is taken out of the workers' quality, though not out of the truths.
    counts_filled : bool
        Whether what was filled in for no answer counts as an answer, though the noise is known.
    errors_from_model : bool
        Whether standard errors of numbers are those of a model of the answers, and known for a
        single one; otherwise they come from how a task's answers spread, if the method gives any.
    has_posterior : bool
        Whether the method says how probable each truth is.
    enough_at_limit : bool
        Whether its usual limit of iterations is enough, though the objective seldom rests by then.
    tells_further : bool
        Whether it says what further reports would tell: see `further_report`.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    reads_answers: ClassVar[bool] = True
    corrects_quality: ClassVar[bool] = False
    counts_filled: ClassVar[bool] = False
    errors_from_model: ClassVar[bool] = False
    has_posterior: ClassVar[bool] = False
    enough_at_limit: ClassVar[bool] = False
    tells_further: ClassVar[bool] = False
    max_iterations: int = field(default=100, converter=plain, validator=whole_number(1))
    tolerance: float = field(default=1e-8, converter=plain, validator=at_least(0))
    seed: int = field(default=0, converter=plain, validator=whole_number(0, 2**64 - 1))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description; `method_from_dict` gives back an equal method."""
        return {"method": self.name, "version": self.version, **asdict(self)}

    @abstractmethod
    def infers_labels(self, domain: Domain) -> bool:
        """Return whether truths are labels where answers lie in such a domain, and not numbers."""

    def reads_reports(self, channel: Channel) -> bool:  # noqa: ARG002
        """Return whether reports of such a channel are enough for the method."""
        return True

    def models_noise(self, mechanism: Any) -> bool:  # noqa: ARG002
        """Return whether the method knows what such a mechanism did to the answers."""
        return False

    def refuse(self, mechanism: Any) -> None:
        """Raise AnswerError where the reports of a mechanism are not enough for the method."""

    def truth_domain(self, mechanism: Any) -> Domain:
        """Return what a truth can be that is found from the reports of a mechanism.

        By default what a report can be, but for NULL: reports are read as answers.
        """
        domain: Domain = mechanism.report_domain
        return domain.domain if isinstance(domain, OrNull) else domain

    @abstractmethod
    def domain_of(self, frame: nw.DataFrame[Any]) -> Domain:
        """Return the domain of the answers in a frame."""

    @abstractmethod
    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[Any]:
        """Return the known truth of each task, shape (tasks,), as `Partition` holds it.

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
    def summarize(self, summary: Summary, known: npt.NDArray[Any]) -> Summary:
        """Return what sweeps and updates of this method know of all answers.

        Parameters
        ----------
        summary : Summary
            Of all answers, as every method is given it.
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

    @abstractmethod
    def room(self, tasks: int, summary: Summary) -> Estimates:
        """Return room for the estimates of a number of tasks."""

    @abstractmethod
    def sweep(
        self,
        partition: Partition,
        summary: Summary,
        state: StateT | None,
        estimates: Any,
    ) -> TallyT:
        """Pass over the tasks of a partition once and tally.

        Parameters
        ----------
        partition : Partition
            Answers; not changed.
        summary : Summary
            Of all answers.
        state : State or None
            What is believed of the workers; None before the first update.
        estimates : Estimates or None
            Room for the estimates of the partition's tasks, to be filled where it is given.
        """

    def start_from(self, state: StateT, earlier: Any, summary: Summary) -> StateT:  # noqa: ARG002
        """Return what the first pass believes where an earlier estimate is the start.

        Parameters
        ----------
        state : State
            What that estimate believed of the workers.
        earlier : TruthInference
            The method that it is of, of the same class.
        summary : Summary
            Of all answers.
        """
        return state

    def extend_tally(self, tally: TallyT, extension: Extension) -> TallyT:
        """Return the tally of an earlier pass as one of the workers and units of more answers."""
        return tally.extended(extension)

    @abstractmethod
    def finish(self, estimates: Any, known: npt.NDArray[Any], summary: Summary) -> Estimates:
        """Return the estimates of some tasks as answers are, from what a pass says of them.

        Parameters
        ----------
        estimates : Estimates
            Of all tasks, or of a partition.
        known : ndarray, shape (tasks,)
            Known truths, not scaled.
        summary : Summary
            Of all answers.
        """

    @abstractmethod
    def qualities(
        self, summary: Summary, tally: TallyT, state: StateT | None
    ) -> dict[str, npt.NDArray[Any]]:
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

    def judge(
        self, partition: Partition, summary: Summary, state: StateT | None
    ) -> npt.NDArray[np.int64]:
        """Return what a last pass tells of the accuracies of `Partition.judged` workers.

        Only where its tally has such ``histograms``.
        """
        room = self.room(partition.tasks, summary)
        told: Any = self.sweep(partition, summary, state, room)
        histograms: npt.NDArray[np.int64] = told.histograms
        return histograms

    def posterior(self, partition: Partition, summary: Summary, state: StateT) -> Any:
        """Return what is believed of each task after the last pass; where `has_posterior`.

        Of labels the probability of each, shape (tasks, labels); of numbers levels, shape
        (levels,), and the quantiles of each task, shape (tasks, levels).
        """
        raise NotImplementedError(f"{type(self).__name__} has no posterior")

    def further_report(
        self,
        summary: Summary,  # noqa: ARG002
        state: StateT | None,  # noqa: ARG002
        worker: int | None,  # noqa: ARG002
    ) -> FurtherReport:
        """Return what one more report of a task would tell, as far as is believed now.

        Parameters
        ----------
        summary, state
            As of `qualities`.
        worker : int or None
            Code of who reports; None is a worker of whom nothing is known.

        Raises
        ------
        ParameterError
            Where the method does not say.
        """
        raise ParameterError(
            f"{type(self).__name__} does not say what a further report would tell; NoiseAware does"
        )

    def beliefs(
        self, partition: Partition, summary: Summary, state: StateT
    ) -> npt.NDArray[np.float64]:
        """Return what is believed of each task, as its `further_report` takes it."""
        raise NotImplementedError(f"{type(self).__name__} has no further_report")

    def notes(
        self,
        summary: Summary,  # noqa: ARG002
        state: StateT | None,  # noqa: ARG002
        tally: TallyT,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """Return what a reader of the estimates should know, a sentence each; see `qualities`."""
        return ()

    def signal_warnings(
        self,
        summary: Summary,  # noqa: ARG002
        tally: TallyT,  # noqa: ARG002
        state: StateT | None,  # noqa: ARG002
        scatter: Scatter,  # noqa: ARG002
    ) -> list[Warning]:
        """Return what to warn of where the noise hides what was to be found.

        Parameters
        ----------
        summary, tally, state
            As of `qualities`.
        scatter : Scatter
            Of all estimates.
        """
        return []


@frozen(kw_only=True, slots=False)
class IterativeInference(TruthInference[StateT, TallyT]):
    """A method that learns about the workers from a pass and passes again."""

    def first_state(self, summary: Summary, tally: TallyT) -> StateT | None:  # noqa: ARG002
        """Return what the first pass that learns believes, from one that counted alone.

        None where the very first pass is one to learn from.
        """
        return None

    @abstractmethod
    def update(self, summary: Summary, tally: TallyT, state: StateT | None) -> tuple[StateT, float]:
        """Return what is believed of the workers after a pass, and what the loop climbs.

        Parameters
        ----------
        summary : Summary
            Of all answers.
        tally : Tally
            Of the whole pass.
        state : State or None
            What the pass believed of the workers.

        Returns
        -------
        state : State
            For the next pass.
        objective : float
            Per answer; the loop ends when it rests.
        """

    def update_partly(
        self, summary: Summary, tally: TallyT, state: StateT | None
    ) -> tuple[StateT, float]:
        """Learn from a tally of which a part was made with an earlier state; as `update`.

        The same as `update` where that looks at nothing but the tally.
        """
        return self.update(summary, tally, state)
