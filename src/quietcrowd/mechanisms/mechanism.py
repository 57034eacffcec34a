"""What every local randomiser offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import fields_dict, frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.mechanisms.channel import Channel
from quietcrowd.mechanisms.reports import Reports
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.privacy.loss_law import pure_law
from quietcrowd.privacy.release_loss import ReleaseLoss
from quietcrowd.privacy.task_names import Tasks
from quietcrowd.validation import check_names, find_described

if TYPE_CHECKING:
    from quietcrowd.privacy.attack import AuditPlan

__all__ = ["Mechanism"]

_REGISTRY: dict[str, type[Mechanism]] = {}


@frozen(kw_only=True, slots=False)
class Mechanism(ABC):
    """A local randomiser: private answers in, reports out.

    A mechanism is a value: it holds public parameters alone, and two with equal parameters are
    equal. What it does to one answer is its `channel`, what that costs its `guarantee`.

    Attributes
    ----------
    domain : Domain
        What an answer can be.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    domain: Domain

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            if cls.name in _REGISTRY:
                raise TypeError(f"the name {cls.name!r} is that of {_REGISTRY[cls.name].__name__}")
            _REGISTRY[cls.name] = cls

    @staticmethod
    def registry() -> Mapping[str, type[Mechanism]]:
        """Return every mechanism by its name in files and on the command line."""
        return dict(_REGISTRY)

    @property
    def report_domain(self) -> Domain:
        """What a report can be."""
        return self.domain

    @property
    def every_task(self) -> bool:
        """Whether every worker reports every task, answered or not."""
        return False

    def noise_draws(self, *, answers: int, tasks: int, workers: int) -> int:  # noqa: ARG002
        """Return how many exact, slow draws of noise the reports of so many answers take.

        Parameters
        ----------
        answers, tasks, workers : int
            How many there are.
        """
        return 0

    @property
    def participation_domain(self) -> Domain | None:
        """What a noisy participation bit beside a report can be, if there is one."""
        return None

    @property
    def participation_protected(self) -> bool:
        """Whether the fact of having answered a task is protected as an answer is."""
        return self.guarantee(tasks=1).participation_protected

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of a file of reports."""
        return ("task", "worker", "label")

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """The law of one report given one answer."""

    @property
    def worker_channel(self) -> Channel | None:
        """The law of each report of one worker, or None where only the worker knows it."""
        return self.channel

    @classmethod
    def from_claimed_epsilon(cls, *, domain: Any, epsilon: float, **parameters: Any) -> Mechanism:
        """Return the mechanism for which the paper claims `epsilon` per answer.

        Parameters
        ----------
        domain : Domain
            What an answer can be.
        epsilon : float
            What the paper's theorem says.
        **parameters
            The mechanism's other parameters.

        Raises
        ------
        ParameterError
            Where there is none, or a parameter is unknown.
        """
        cls._check_names(parameters)
        return cls(domain=domain, epsilon=epsilon, **parameters)  # type: ignore[call-arg]

    @classmethod
    def _check_names(cls, parameters: Mapping[str, Any]) -> None:
        known = [name for name in fields_dict(cls) if name not in ("domain", "epsilon")]
        check_names(cls.name, parameters, known)

    @abstractmethod
    def guarantee(self, answers: int = 1, tasks: Tasks | None = None) -> PrivacyGuarantee:
        """Return what a worker loses at most.

        Parameters
        ----------
        answers : int
            How many answers the worker gives.
        tasks : int, sequence or pyarrow.Array, optional
            How many tasks there are, or their ids; needed where every worker reports every task.
            For ids all answers together may lose less than for any tasks of that number. What they
            lose less then, they lose less beside further tasks of the campaign, too.

        Raises
        ------
        ParameterError
            Unless ``1 <= answers <= tasks``, or where `tasks` is needed and missing, or names a
            task twice.
        """

    def loss(self, answers: int = 1, tasks: Tasks | None = None) -> ReleaseLoss:
        """Return how the loss of what a worker reports is distributed, in the worst case.

        Parameters
        ----------
        answers, tasks
            As those of `guarantee`.

        Notes
        -----
        Unless a mechanism knows more, it is what no mechanism of the same guarantee exceeds: all
        reports of the worker are one release.
        """
        guarantee = self.guarantee(answers, tasks)
        return ReleaseLoss(
            answer=pure_law(guarantee.epsilon, guarantee.delta),
            each=pure_law(guarantee.worker_epsilon, guarantee.delta),
            count=1,
        )

    def plan_audit(self, answers: int) -> AuditPlan:
        """Return how `quietcrowd.audit` puts the guarantee to the test.

        Parameters
        ----------
        answers : int
            How many answers a worker gives, or, where every task is reported, how many tasks.

        Raises
        ------
        ParameterError
            Where these are too many to enumerate.
        """
        from quietcrowd.mechanisms.attacks import plan_audit

        return plan_audit(self, answers)

    @abstractmethod
    def _randomize(self, answers: Answers, rng: np.random.Generator | None) -> Reports:
        """Return the reports; the answers were checked, and are in canonical order."""

    def read_reports(
        self, columns: pa.Table, tasks: pa.Array, workers: pa.Array, *, simulated: bool
    ) -> Reports:
        """Return the reports that `Reports.to_frame` gave as a table.

        Parameters
        ----------
        columns : pyarrow.Table
            The mechanism's `columns`.
        tasks, workers : pyarrow.Array
            All of them, also those that no row names.
        simulated : bool
            Whether the noise is simulated.

        Raises
        ------
        AnswerError
            Where a report is none that the mechanism can give, one stands there twice, or, where
            every worker reports every task, one is missing.
        """
        table = Answers.from_frame(
            columns, self.report_domain, tasks=tasks, workers=workers, advice="reports"
        )
        self.check_complete(table.workers, table.answers_per_worker, len(table.tasks))
        return Reports(table=table, mechanism=self, simulated=simulated)

    def check_complete(
        self, workers: pa.Array, reports_per_worker: npt.NDArray[np.int64], tasks: int
    ) -> None:
        """Raise AnswerError where every worker reports every task, and one did not.

        Parameters
        ----------
        workers : pyarrow.Array
            Ids.
        reports_per_worker : ndarray of int64, shape (workers,)
            How many reports each sent.
        tasks : int
            How many tasks there are.
        """
        if self.every_task and (reports_per_worker < tasks).any():
            fewest = int(reports_per_worker.argmin())
            raise AnswerError(
                f"every worker reports every task, but worker {workers[fewest].as_py()!r} "
                f"reports {reports_per_worker[fewest]:,} of {tasks:,}. All devices need the same "
                "public list of tasks."
            )

    def check_domain(self, domain: Domain) -> None:
        """Raise AnswerError unless answers are in the mechanism's domain."""
        if domain != self.domain:
            raise AnswerError(
                f"the answers are in {domain.example()}, the mechanism takes "
                f"{self.domain.example()}. Build the mechanism with domain=answers.domain."
            )

    def randomize(self, answers: Answers, rng: np.random.Generator | None = None) -> Reports:
        """Randomise answers, as the workers' devices do.

        Parameters
        ----------
        answers : Answers
            Private answers, in the mechanism's domain.
        rng : numpy.random.Generator, optional
            For simulation: fast, reproducible, and private to nobody. The reports are marked
            `simulated`. Default: the operating system's randomness.

        Returns
        -------
        Reports
            All that leaves the devices, with the mechanism; tasks and workers sorted by id, so
            that the order of the rows that came in does not leave with them.

        Raises
        ------
        AnswerError
            Where the answers are in another domain, or there is no task or no worker.
        ParameterError
            Where `rng` is no NumPy generator.
        """
        if not isinstance(answers, Answers):
            raise AnswerError(
                f"only Answers can be randomised; got {type(answers).__name__}. "
                "Make them with Answers.from_frame or read_answers."
            )
        self.check_domain(answers.domain)
        if rng is not None and not isinstance(rng, np.random.Generator):
            raise ParameterError(f"rng must be a numpy.random.Generator or None; got {rng!r}")
        if not len(answers.tasks) or not len(answers.workers):
            raise AnswerError("there is no task or no worker to randomise for")
        return self._randomize(answers.canonical, rng)

    @abstractmethod
    def _parameters(self) -> dict[str, Any]:
        """Return the parameters of `to_dict` besides name, version and domain."""

    @classmethod
    @abstractmethod
    def _from_parameters(cls, domain: Domain, parameters: Mapping[str, Any]) -> Mechanism:
        """Build the mechanism from what `_parameters` gave."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description; `from_dict` gives back an equal mechanism."""
        return {
            "mechanism": self.name,
            "version": self.version,
            "domain": self.domain.to_dict(),
            **self._parameters(),
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Mechanism:
        """Return the mechanism that `to_dict` described.

        Raises
        ------
        FormatError
            Where the name or version is unknown, a key is missing, or the integers in the
            description are not those that the parameters give.
        """
        if not isinstance(data, Mapping):
            raise FormatError(f"a mechanism must be a JSON object; got {data!r}")
        try:
            name, version = data["mechanism"], data["version"]
            domain = Domain.from_dict(data["domain"])
            kind = find_described("mechanism", name, version, _REGISTRY)
            mechanism: Mechanism = kind._from_parameters(domain, data)
        except KeyError as error:
            raise FormatError(f"a mechanism lacks the key {error}: {dict(data)!r}") from None
        except (TypeError, ParameterError) as error:
            raise FormatError(f"a mechanism cannot be read: {error}") from None
        if mechanism.to_dict() != dict(data):
            here = mechanism.to_dict()
            differing = sorted(k for k in {*here, *data} if here.get(k) != data.get(k))
            raise FormatError(
                f"mechanism {name!r}: its parameters give another channel here; "
                f"{', '.join(differing)} should be {[here.get(k) for k in differing]!r}, "
                f"not {[data.get(k) for k in differing]!r}"
            )
        return mechanism
