"""Models: a truth-inference method bound to the data, and the records that its sweeps exchange."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
from attrs import fields_dict, frozen

from quietcrowd.inference.further_report import FurtherReport
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.shared_errors import SharedErrors
from quietcrowd.inference.task_estimates import Estimates, Scatter


class State(ABC):
    """State of a model: a frozen record, most of it arrays with one entry per worker."""

    @abstractmethod
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of the workers at these positions; -1 is a new worker."""


def known_or_median(
    positions: npt.NDArray[np.intp], known: npt.NDArray[Any]
) -> npt.NDArray[np.intp]:
    """Return positions in which -1 is replaced by that of the worker with the median number."""
    middle = np.argsort(known, kind="stable")[len(known) // 2]
    return np.where(positions >= 0, positions, middle)


@frozen(kw_only=True, eq=False)
class Tally:
    """Statistics of a sweep: a frozen record; tallies of partitions add up field by field."""

    def __add__(self, other: Self) -> Self:
        names = fields_dict(type(self))
        return type(self)(**{name: getattr(self, name) + getattr(other, name) for name in names})

    def __iadd__(self, other: Self) -> Self:
        names = fields_dict(type(self))
        return type(self)(
            **{name: _added(getattr(self, name), getattr(other, name)) for name in names}
        )

    def extended(self, extension: "Extension") -> Self:
        """Return the tally for the workers and units of more answers."""
        raise NotImplementedError(f"{type(self).__name__} is extended by its model")


def _added(total: Any, part: Any) -> Any:
    """Return a sum, in the memory of `total` if that is an array that can hold it."""
    here = isinstance(total, np.ndarray) and total.shape == np.shape(part)
    if not here and not isinstance(total, Tally):
        return total + part
    if here and not (total.flags.writeable and total.dtype == part.dtype):
        return total + part
    total += part
    return total


def add_up(parts: Iterable[Any]) -> Any:
    """Return the sum of at least one tally or array; the first is changed, the others freed."""
    rest = iter(parts)
    total = next(rest)
    for part in rest:
        total += part
        del part  # before the next one is computed
    return total


StateT = TypeVar("StateT", bound=State)
TallyT = TypeVar("TallyT", bound=Tally)
MethodT = TypeVar("MethodT")


@frozen(kw_only=True, eq=False, slots=False)
class Model(ABC, Generic[MethodT, StateT, TallyT]):
    """A method bound to the data: domain, channel and sizes are known.

    A sweep keeps nothing, and tallies add up exactly, so partitions and threads change no bit of
    the result.
    """

    method: MethodT
    summary: Summary

    def scale(self, partition: Partition) -> Partition:
        """Return a partition as `sweep` takes it, from values and truths as they are stored."""
        return partition

    @abstractmethod
    def unknown(self, tasks: int) -> npt.NDArray[Any]:
        """Return the truths of n tasks, all unknown, as `Partition` stores them."""

    @abstractmethod
    def empty(self, tasks: int) -> Estimates:
        """Allocate estimates of n tasks."""

    @abstractmethod
    def sweep(self, partition: Partition, state: StateT | None, estimates: Any) -> TallyT:
        """Pass over scaled answers once; fill `estimates` of `empty`, unless None.

        `state` is None before the first update.
        """

    @abstractmethod
    def finish(self, estimates: Any, known: npt.NDArray[Any]) -> Estimates:
        """Return filled estimates in the unit of the answers, given unscaled known truths."""

    @abstractmethod
    def workers(self, tally: TallyT, state: StateT | None) -> dict[str, npt.NDArray[Any]]:
        """Return columns of `TruthEstimate.workers` after the last pass; NaN if unknown."""

    def histograms(self, partition: Partition, state: StateT | None) -> npt.NDArray[np.int64]:
        """Return the `histograms` of a last pass, for the workers of `Partition.judged`."""
        tally: Any = self.sweep(partition, state, self.empty(partition.tasks))
        histograms: npt.NDArray[np.int64] = tally.histograms
        return histograms

    def start_from(self, state: StateT, earlier: Any) -> StateT:  # noqa: ARG002
        """Return the first state, from that of an earlier estimate by the method `earlier`."""
        return state

    def extend_tally(self, tally: TallyT, extension: "Extension") -> TallyT:
        """Return the tally of an earlier pass for the workers and units of more answers."""
        return tally.extended(extension)

    @property
    def seeks_groups(self) -> bool:
        """Whether `with_groups` is called before the first sweep."""
        return False

    def group_reports(self, partition: Partition) -> Any:
        """Return statistics of a partition for `with_groups`, which are added up."""
        raise NotImplementedError(f"{type(self).__name__} has no groups of workers")

    def with_groups(self, reports: Any) -> Self:
        """Return the model with the groups of workers that these reports show."""
        raise NotImplementedError(f"{type(self).__name__} has no groups of workers")

    def continued(self, earlier: Self) -> Self:  # noqa: ARG002
        """Return the model of more answers with the groups of an earlier one."""
        return self

    def notes(self, tally: TallyT, state: StateT | None) -> tuple[str, ...]:  # noqa: ARG002
        """Return sentences that a reader of the estimates should know."""
        return ()

    def shared_errors(self, state: StateT | None) -> SharedErrors | None:  # noqa: ARG002
        """Return the estimated errors that most workers share; None for most methods."""
        return None

    def warnings(
        self,
        tally: TallyT,  # noqa: ARG002
        state: StateT | None,  # noqa: ARG002
        scatter: Scatter,  # noqa: ARG002
    ) -> list[Warning]:
        """Return warnings that the noise hides the truths; `scatter` is that of all estimates."""
        return []


@frozen(kw_only=True, eq=False, slots=False)
class LearningModel(Model[MethodT, StateT, TallyT]):
    """A model that learns about the workers from each sweep, and sweeps again."""

    def first_state(self, tally: TallyT) -> StateT | None:  # noqa: ARG002
        """Return the state after a sweep that only counted; None if the first sweep learns."""
        return None

    @abstractmethod
    def update(self, tally: TallyT, state: StateT | None) -> tuple[StateT, float]:
        """Return the next state, and the objective per answer, on whose change the loop ends."""

    def completed(self, state: StateT, tally: TallyT, earlier: StateT | None) -> StateT:  # noqa: ARG002
        """Return the last state with all that no sweep reads; learned from these two."""
        return state

    def update_partly(self, tally: TallyT, state: StateT | None) -> tuple[StateT, float]:
        """Update from a tally that was partly made with an earlier state."""
        return self.update(tally, state)


@runtime_checkable
class HasPosterior(Protocol):
    """A model that knows how probable each truth is."""

    def posterior(self, partition: Partition, state: Any) -> Any:
        """Return the posterior of each task after the last pass.

        For labels probabilities, shape (tasks, labels); for numbers levels, shape (levels,), and
        quantiles in the unit of the answers, shape (tasks, levels).
        """


@runtime_checkable
class SuggestsTasks(Protocol):
    """A model that knows how much a further report would lower the error of a task."""

    def further_report(self, state: Any, worker: int | None) -> FurtherReport:
        """Return the distribution of one more report of a worker, by code; None for a new one."""

    def beliefs(self, partition: Partition, state: Any) -> npt.NDArray[np.float64]:
        """Return the posterior of each task, as its `further_report` takes it."""


@runtime_checkable
class FollowsTime(Protocol):
    """A model with a prior for each truth: its prediction from earlier rounds.

    States of an apparent truth are labels or bins.
    """

    task_priors: npt.NDArray[np.float64] | None

    def transitions(self, tally: Any, state: Any) -> Any:
        """Return the `Transitions` of the apparent truths from round to round."""

    def check_size(self) -> None:
        """Raise ParameterError if tables are too large."""

    def next_round(self, partition: Partition, priors: npt.NDArray[np.float64]) -> Any:
        """Return the model of a round's answers, with the log-priors of the truths."""

    def at_rest(self, tally: Any, state: Any) -> tuple[Any, Any]:
        """Return tally and state after a round as the next one begins with them."""

    def messages(self, partition: Partition, state: Any) -> npt.NDArray[np.float64]:
        """Return log-likelihoods of the reports given each state, shape (tasks, states).

        Neither the prior nor known truths are part of them.
        """

    def predicted(self, partition: Partition, state: Any) -> Any:
        """Return estimates by `task_priors` and known truths only."""


@frozen(kw_only=True, eq=False)
class Extension:
    """More answers, from more workers, than those of a tally of the `old` model.

    `positions`, shape (workers,), are those of the new workers in the old model; -1 for a new one.
    """

    positions: npt.NDArray[np.intp]
    old: Any
    new: Any

    @property
    def stretch(self) -> float:
        """Factor for a scaled distance, since the range of all numbers may have grown."""
        return float(self.old.summary.extent / self.new.summary.extent)

    def sums(
        self,
        sums: npt.NDArray[np.int64],
        unit: Callable[[Any], float] | None = None,
        power: int = 0,
    ) -> npt.NDArray[np.int64]:
        """Return sums for the workers of the new model, 0 for a new one.

        `unit` returns what a model stores 1.0 as; the same in both by default. The summands are
        scaled by the range of all numbers to a `power`.
        """
        moved = sums[np.maximum(self.positions, 0)]
        moved[self.positions < 0] = 0
        return self.total(moved, unit, power)

    def total(
        self,
        sums: npt.NDArray[np.int64],
        unit: Callable[[Any], float] | None = None,
        power: int = 0,
    ) -> npt.NDArray[np.int64]:
        """Return sums that have no entry per worker; parameters as for `sums`."""
        factor = self.stretch**power
        if unit is not None:
            factor *= unit(self.new) / unit(self.old)
        return sums if factor == 1.0 else np.rint(sums * factor).astype(np.int64)
