"""What every truth-inference method offers, and what it has to supply."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import asdict, field, fields_dict, frozen

from quietcrowd.inference.carrying import Move
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.validation import at_least, check_whole, plain

__all__ = [
    "Estimates",
    "IterativeInference",
    "LabelEstimates",
    "NumericEstimates",
    "State",
    "Tally",
    "TruthInference",
]


class State(ABC):
    """What is believed of the workers: a frozen record of arrays, one entry per worker."""

    @abstractmethod
    def take(self, positions: npt.NDArray[np.intp]) -> Self:
        """Return the state of the workers at these positions; -1 stands for a new worker."""


class Tally(ABC):
    """What a pass over tasks tells of the workers: a frozen record that adds."""

    @abstractmethod
    def __add__(self, other: Self) -> Self: ...

    def carried(self, move: Move) -> Self:
        """Return the tally of an earlier pass as one of the workers and units of more answers."""
        raise NotImplementedError(f"{type(self).__name__} is carried by its method")


@frozen(kw_only=True, eq=False)
class Estimates:
    """What a pass says of its tasks: a frozen record of arrays, one entry per task.

    Attributes
    ----------
    truths : ndarray
        What is estimated: codes of labels, or numbers.
    """

    truths: npt.NDArray[Any]

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


StateT = TypeVar("StateT", bound=State)
TallyT = TypeVar("TallyT", bound=Tally)


def _check_limit(_: object, attribute: Any, value: Any) -> None:
    check_whole(attribute.name, value, 1)


def _check_seed(_: object, attribute: Any, value: Any) -> None:
    check_whole(attribute.name, value, 0, 2**64 - 1)


@frozen(kw_only=True, slots=False)
class TruthInference(ABC, Generic[StateT, TallyT]):
    """A way to find the truths and the workers' quality from answers.

    A method is a value: it holds parameters alone. `quietcrowd.inference.sweep` runs it.

    Parameters
    ----------
    max_iterations : int
        Most sweeps before the loop gives up.
    tolerance : float
        The loop rests when the objective per answer changes by no more than this.
    seed : int
        For ties, which are broken by a hash of seed and task id.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    max_iterations: int = field(default=100, converter=plain, validator=_check_limit)
    tolerance: float = field(default=1e-8, converter=plain, validator=at_least(0))
    seed: int = field(default=0, converter=plain, validator=_check_seed)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description; `method_from_dict` gives back an equal method."""
        return {"method": self.name, "version": self.version, **asdict(self)}

    def carry(self, tally: TallyT, move: Move) -> TallyT:
        """Return the tally of an earlier pass as one of the workers and units of more answers."""
        return tally.carried(move)

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


@frozen(kw_only=True, slots=False)
class IterativeInference(TruthInference[StateT, TallyT]):
    """A method that learns about the workers from a pass and passes again."""

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
