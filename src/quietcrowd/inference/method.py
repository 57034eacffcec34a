"""What every truth-inference method offers, and what it has to supply."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import asdict, field, frozen

from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference.further_report import FurtherReport
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import Estimates, Scatter, State, Tally
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.report_domains import OrNull
from quietcrowd.validation import at_least, plain, whole_number

__all__ = [
    "IterativeInference",
    "TruthInference",
]


StateT = TypeVar("StateT", bound=State)
TallyT = TypeVar("TallyT", bound=Tally)


@frozen(kw_only=True, slots=False)
class TruthInference(ABC, Generic[StateT, TallyT]):
    """A way to find the truths and the workers' quality from answers.

    A method is a value: it holds parameters alone. `quietcrowd.inference.loop` runs it.

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
