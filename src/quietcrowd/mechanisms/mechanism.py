"""What every local randomiser offers, and the reports that it gives."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import evolve, field, fields_dict, frozen
from attrs.validators import instance_of

from quietcrowd.answers import Answers, DroppedRows
from quietcrowd.domains import Categorical, Domain, FiniteDomain, check_numeric
from quietcrowd.exceptions import (
    AnswerError,
    FormatError,
    ParameterError,
    RemovedMechanismError,
)
from quietcrowd.frames import (
    Backend,
    dictionary_codes,
    positions_by_text,
    to_native,
    unmarked,
)
from quietcrowd.mechanisms.channel import Channel
from quietcrowd.mechanisms.randomness import Randomness, Secret, WordSource
from quietcrowd.mechanisms.report_law import ReportLaw
from quietcrowd.mechanisms.report_meanings import ReportMeanings, meanings_in
from quietcrowd.mechanisms.sent_again import Marks
from quietcrowd.privacy.guarantee import PrivacyGuarantee, Tasks
from quietcrowd.privacy.loss_law import ReleaseLoss, pure_law
from quietcrowd.privacy.tail_bound import TailBound, composed_tail
from quietcrowd.validation import check_names, check_proportion, find_described

__all__ = [
    "Mechanism",
    "Reports",
    "SketchBounds",
    "check_mechanism",
    "check_reports",
    "require_kept",
]

_REGISTRY: dict[str, type[Mechanism]] = {}

_REMOVED = {
    "sampled-variance": (
        "The mechanism 'sampled-variance' was removed in version 0.1.0: the privacy pair that its "
        "paper claims does not hold. Its reports can no longer be read. Collect numbers with "
        "'piecewise' or 'laplace' instead."
    )
}

_MARKED = Categorical([False, True])

LEAST_LOSS = 1e-6
"""Nobody has the 10^12 reports on a task that a signal of this loss would take to be seen."""


@frozen(kw_only=True)
class SketchBounds:
    """What a worker can send, where it sends numbers for all tasks together.

    Attributes
    ----------
    length : int
        How many numbers.
    low, high : float
        Of each number; noise beyond is cut off.
    whole : bool
        Whether they are whole.
    """

    length: int
    low: float
    high: float
    whole: bool


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
    no_memo: ClassVar[str | None] = (
        "how its random numbers depend on task and answer is not known here"
    )
    """Why a memo cannot hold its reports; None where it can: see `fixed_reports`."""

    domain: Domain

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            if cls.name in _REGISTRY:
                raise TypeError(f"the name {cls.name!r} is that of {_REGISTRY[cls.name].__name__}")
            _REGISTRY[cls.name] = cls

    @staticmethod
    def registry() -> Mapping[str, type[Mechanism]]:
        """Return every mechanism by its name in files and on the command line.

        Each class with a `name` of its own is there from where it is defined.
        """
        return MappingProxyType(_REGISTRY)

    @property
    def report_domain(self) -> Domain:
        """What a report can be."""
        return self.domain

    @property
    def every_task(self) -> bool:
        """Whether every worker reports every task, answered or not."""
        return False

    def noise_draws(self, *, answers: int, tasks: int, workers: int) -> int:  # noqa: ARG002
        """Return how many exact, slow draws of noise the reports of so many answers take."""
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
    def independent_reports(self) -> bool:
        """Whether each report has noise of its own, so that one can serve all copies of a question.

        Not where a worker's reports share what it draws, as a flip probability.
        """
        return False

    @property
    def filling_places(self) -> npt.NDArray[np.int32] | None:
        """Places on the grid that stand for no answer, equally likely; None where none does."""
        return None

    def sketch_bounds(self, tasks: int) -> SketchBounds | None:  # noqa: ARG002
        """Return what a worker can send for so many tasks; None where reports are per task."""
        return None

    @property
    def tells_nothing(self) -> bool:
        """Whether reports hardly depend on the answers: two answers lose at most `LEAST_LOSS`."""
        if self.channel.epsilon > LEAST_LOSS:
            return False
        return self.guarantee(answers=2, tasks=2).worker_epsilon <= LEAST_LOSS

    @property
    def loss_depends_on_tasks(self) -> bool:
        """Whether what all answers lose depends on which tasks there are, not on their number."""
        return False

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

    @cached_property
    def report_meanings(self) -> ReportMeanings:
        """What reports mean: codes of labels and of sets depend on the order of labels."""
        return meanings_in(self.report_domain)

    @property
    def channel_identity(self) -> Mapping[str, Any]:
        """What makes this channel and another one the same, JSON-ready.

        It maps each answer to the distribution of what its report means, in a canonical order. The
        devices of two mechanisms with the same one can send each other's reports, by meaning. The
        key of whatever is stored for a channel must be this, or finer.
        """
        domain = self.domain
        answers = domain.labels if isinstance(domain, FiniteDomain) else domain.to_dict()
        return {
            "law": self.channel.identity(answers, self.report_meanings),
            "every_task": self.every_task,
            "shared": None if self.independent_reports else self.to_dict(),
        }

    @property
    def report_law(self) -> ReportLaw | None:
        """The law of all reports of one worker, as far as it is public; None where it is no table.

        A mechanism whose workers draw something once each, and keep it, says here what they may
        have drawn.
        """
        return ReportLaw.of(self.worker_channel)

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
    def guarantee(
        self, answers: int = 1, tasks: Tasks | None = None, *, linked: int = 1
    ) -> PrivacyGuarantee:
        """Return what a worker loses at most.

        Parameters
        ----------
        answers : int
            How many answers the worker gives.
        tasks : int, sequence or pyarrow.Array, optional
            How many tasks there are, or their ids; needed where every worker reports every task.
            For ids all answers together may lose less than for any tasks of that number. What they
            lose less then, they lose less beside further tasks of the campaign, too.
        linked : int
            How many of the answers may share one fact, as copies of a question do.

        Raises
        ------
        ParameterError
            Unless ``1 <= linked <= answers <= tasks``, where `tasks` is needed and missing, or
            where it names a task twice. (Where every worker reports every task, up to so many
            tasks may be linked.)
        """

    def tail(
        self,
        probability: float,
        answers: int = 1,
        tasks: Tasks | None = None,
        *,
        linked: int = 1,
    ) -> TailBound:
        """Return losses that are each exceeded with a probability at most.

        Parameters
        ----------
        probability : float
            Above 0 and below 1.
        answers, tasks, linked
            As those of `guarantee`.

        Notes
        -----
        Of `loss`, and never more than a pure loss. The loss is about one alternative that is fixed
        beforehand; ``docs/theory/tail-bounds.md``.

        Raises
        ------
        ParameterError
            Where the probability is out of its range, or as `guarantee`.
        """
        check_proportion("probability", probability)
        guarantee = self.guarantee(answers, tasks, linked=linked)
        loss = self.loss(answers, tasks)
        pure = math.inf if guarantee.delta else guarantee.linked_epsilon
        shared = [(loss.each, min(linked, loss.count))]
        return TailBound(
            probability=float(probability),
            epsilon=composed_tail([(loss.answer, 1)], probability),
            linked_epsilon=min(pure, composed_tail(shared, probability)),
            worker_epsilon=composed_tail([(loss.each, loss.count)], probability),
        )

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

    def fixed_reports(self, answers: Answers, secret: Secret) -> Reports:  # noqa: ARG002
        """Return the reports of one worker: the same ones for the same answers and secret.

        A report is a function of the secret, the task and the answer alone. Random numbers of two
        answers to one task are independent. All tasks are gone through in the same order, answered
        or not.

        Parameters
        ----------
        answers : Answers
            Of one worker, in the mechanism's domain; tasks sorted by id.
        secret : Secret
            Of the worker's device, for these tasks.

        Raises
        ------
        ParameterError
            Where `no_memo` says why there are no such reports.
        """
        raise ParameterError(
            f"the reports of {self.name!r} cannot be kept in a memo: {self.no_memo}."
        )

    @abstractmethod
    def _randomize(self, answers: Answers, rng: Randomness) -> Reports:
        """Return the reports; the answers were checked, and are in canonical order."""

    def read_reports(
        self, columns: pa.Table, tasks: pa.Array, workers: pa.Array, *, simulated: bool
    ) -> Reports:
        """Return the reports that `Reports.to_frame` gave as a table.

        Of reports that were sent again those are left out that do not count: see
        `quietcrowd.mechanisms.sent_again`.

        Parameters
        ----------
        columns : pyarrow.Table
            The mechanism's `columns`, and ``again`` and ``campaign`` if reports are marked.
        tasks, workers : pyarrow.Array
            All of them, also those that no row names.
        simulated : bool
            Whether the noise is simulated.

        Raises
        ------
        AnswerError
            Where a report is none that the mechanism can give, one stands there twice, or, where
            every worker reports every task, one is missing; or where no report counts.

        Warns
        -----
        LeftOutWarning
            Where reports that were sent again are left out.
        """
        columns = unmarked(columns)
        marks = Marks.of(columns)
        if marks is None:
            reports = self._read_reports(columns, tasks, workers, simulated=simulated)
            table = reports.table
            self.check_complete(table.workers, table.answers_per_worker, len(table.tasks))
            return reports
        codes, ids = dictionary_codes(columns["worker"])
        places = positions_by_text(ids, workers)[codes]
        sent = np.bincount(places[places >= 0], minlength=len(workers))
        self.check_complete(workers, sent, len(tasks))
        counted = marks.counted
        left = np.bincount(places[counted & (places >= 0)], minlength=len(workers))
        heard = workers.filter(pa.array((left > 0) | (sent == 0)))  # others say nothing new
        kept = columns.filter(pa.array(counted))
        reports = self._read_reports(kept, tasks, heard, simulated=simulated)
        marks.warn(2)
        if marks.campaign is None:
            return reports
        marked = Answers.from_frame(
            columns.append_column("_again", pa.array(marks.again)),
            _MARKED,
            label="_again",
            tasks=tasks,
            workers=workers,
            advice="reports",
        )
        return evolve(reports, again=marked.values.astype(np.bool_), campaign=marks.campaign)

    def _read_reports(
        self, columns: pa.Table, tasks: pa.Array, workers: pa.Array, *, simulated: bool
    ) -> Reports:
        """Return reports that all count; they may be incomplete."""
        table = Answers.from_frame(
            columns, self.report_domain, tasks=tasks, workers=workers, advice="reports"
        )
        return Reports(table=table, mechanism=self, simulated=simulated)

    def check_complete(
        self, workers: pa.Array, reports_per_worker: npt.NDArray[np.int64], tasks: int
    ) -> None:
        """Raise AnswerError where every worker reports every task, and one did not.

        `workers` are ids, `reports_per_worker`, shape (workers,), how many reports each sent.
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

    def check_left_out(self, rows: int, *, participation_public: bool) -> None:
        """Raise where rows were left out for their answer, and nobody said that this may show.

        Parameters
        ----------
        rows : int
            How many answers were left out because they were missing or not in the domain.
        participation_public : bool
            As of `randomize`.

        Raises
        ------
        AnswerError, ParameterError
            As of `randomize`.
        """
        if not isinstance(participation_public, bool):
            raise ParameterError(
                f"participation_public must be True or False; got {participation_public!r}"
            )
        if rows and not participation_public and not self.participation_protected:
            raise AnswerError(
                f"{rows:,} row{'s were' if rows > 1 else ' was'} left out for the answer, missing "
                "or outside of the domain: a report that is missing tells of it, and "
                f"{type(self).__name__} does not protect participation. Bring every answer into "
                "the domain by a rule that is fixed beforehand; or take a mechanism that hides who "
                "answered (on the command line: laplace, one-layer:null=category). Where everybody "
                "may know which rows these are, pass participation_public=True (on the command "
                "line: --participation-public)."
            )

    def randomize(
        self,
        answers: Answers,
        rng: np.random.Generator | None = None,
        *,
        participation_public: bool = False,
    ) -> Reports:
        """Randomise answers, as the workers' devices do.

        Parameters
        ----------
        answers : Answers
            Private answers, in the mechanism's domain.
        rng : numpy.random.Generator, optional
            For simulation: fast, reproducible, and private to nobody. The reports are marked
            `simulated`. Default: the operating system's randomness.
        participation_public : bool
            Whether everybody may know which rows were left out with ``out_of_domain="skip"``, and
            so that their answers were missing or not in the domain. Otherwise a mechanism that
            does not protect participation refuses what is left: a report that is missing would
            tell of the answer. No guarantee covers what that tells.

        Returns
        -------
        Reports
            All that leaves the devices, with the mechanism; tasks and workers sorted by id, so
            that the order of the rows that came in does not leave with them.

        Raises
        ------
        AnswerError
            Where the answers are in another domain, there is no task or no worker, or answers
            were left out for what they are and that would show.
        ParameterError
            Where `rng` is no NumPy generator, or `participation_public` neither True nor False.
        """
        if rng is not None and not isinstance(rng, np.random.Generator):
            raise ParameterError(f"rng must be a numpy.random.Generator or None; got {rng!r}")
        return self._randomize(self._checked(answers, participation_public), rng)

    def reports_of_words(self, answers: Answers, words: WordSource) -> Reports:
        """Return the reports that random words are drawn as.

        They are those of `randomize` where the operating system gives these words. Code for another
        machine, as that of a page, is held to it: which words it reads, in which order, and what
        they become.

        Parameters
        ----------
        answers : Answers
            Private answers, in the mechanism's domain.
        words : WordSource
            Where the randomness comes from. Reports protect the worker as far as nobody can tell
            the words.

        Raises
        ------
        AnswerError
            As of `randomize`.
        """
        return self._randomize(self._checked(answers, participation_public=False), words)

    def _checked(self, answers: Answers, participation_public: bool) -> Answers:
        """Return answers that can be randomised, in canonical order; raise as `randomize`."""
        if not isinstance(answers, Answers):
            raise AnswerError(
                f"only Answers can be randomised; got {type(answers).__name__}. "
                "Make them with Answers.from_frame or read_answers."
            )
        self.check_domain(answers.domain)
        if not len(answers.tasks) or not len(answers.workers):
            raise AnswerError("there is no task or no worker to randomise for")
        self.check_left_out(
            answers.dropped.out_of_domain, participation_public=participation_public
        )
        given = answers.canonical
        if given.dropped != DroppedRows():  # nothing of it may leave with the reports
            given = evolve(given, dropped=DroppedRows())
        return given

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters of `to_dict` besides name, version and domain, JSON-ready.

        Public integers that follow from them may stand beside: `from_dict` checks that they do.
        """
        return {name: getattr(self, name) for name in fields_dict(type(self)) if name != "domain"}

    @classmethod
    def _from_parameters(cls, domain: Domain, parameters: Mapping[str, Any]) -> Mechanism:
        """Build the mechanism from what `_parameters` gave."""
        names = [name for name in fields_dict(cls) if name != "domain"]
        return cls(domain=domain, **{name: parameters[name] for name in names})

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
        RemovedMechanismError
            If an earlier version had the mechanism, and this one does not.
        """
        if not isinstance(data, Mapping):
            raise FormatError(f"a mechanism must be a JSON object; got {data!r}")
        try:
            name, version = data["mechanism"], data["version"]
            require_kept(name)
            domain = Domain.from_dict(data["domain"])
            kind = find_described("mechanism", name, version, _REGISTRY)
            mechanism: Mechanism = kind._from_parameters(domain, data)
        except KeyError as error:
            raise FormatError(f"a mechanism lacks the key {error}: {dict(data)!r}") from None
        except (TypeError, ParameterError) as error:
            raise FormatError(f"a mechanism cannot be read: {error}") from None
        here = mechanism.to_dict()
        differing = sorted(k for k in {*here, *data} if here.get(k) != data.get(k))
        if not all(_is_of_earlier(name, data.get(name), here.get(name)) for name in differing):
            raise FormatError(
                f"mechanism {name!r}: its parameters give another channel here; "
                f"{', '.join(differing)} should be {[here.get(k) for k in differing]!r}, "
                f"not {[data.get(k) for k in differing]!r}"
            )
        return mechanism


@frozen(kw_only=True, eq=False)
class Reports:
    """What workers' devices sent, and the mechanism that made it, kept together.

    Attributes
    ----------
    table : Answers
        What the methods read: one row per report, in the mechanism's report domain. Where
        the devices send sketches, it is what the requester computes from them.
    mechanism : Mechanism
        What was done to the answers; public.
    simulated : bool
        Whether the noise came from a simulation: such reports protect nobody.
    participation_codes : ndarray of int, shape (reports,), or None
        A noisy bit beside each report, in the mechanism's `participation_domain`.
    sketches : ndarray, shape (workers, numbers), or None
        What each worker sent, where that is not the table itself.
    again : ndarray of bool, shape (reports,), or None
        Which reports of a campaign their devices had sent before; None if none is marked.
    campaign : str or None
        Id of the campaign, where reports are marked.

    Raises
    ------
    AnswerError
        Where the table is not in the report domain, or a column has another length.
    """

    table: Answers
    mechanism: Mechanism
    simulated: bool = field(default=False, validator=instance_of(bool))
    participation_codes: npt.NDArray[Any] | None = None
    sketches: npt.NDArray[Any] | None = None
    again: npt.NDArray[np.bool_] | None = None
    campaign: str | None = None

    def __attrs_post_init__(self) -> None:
        expected = self.mechanism.report_domain
        if self.table.domain != expected:
            raise AnswerError(
                f"the reports are in {self.table.domain.example()}, "
                f"the mechanism gives {expected.example()}"
            )
        bits = self.participation_codes
        if bits is not None and bits.shape != (len(self.table),):
            raise AnswerError(
                f"participation_codes must be {len(self.table):,} numbers; got {bits.shape}"
            )
        if self.again is not None and self.again.shape != (len(self.table),):
            raise AnswerError(f"again must be {len(self.table):,} booleans; got {self.again.shape}")
        if self.sketches is not None and len(self.sketches) != len(self.table.workers):
            raise AnswerError(
                f"sketches must be {len(self.table.workers):,} rows; got {len(self.sketches):,}"
            )

    @property
    def participation(self) -> npt.NDArray[np.float64] | None:
        """A noisy 1 or 0 beside each report: whether the worker answered the task; or None."""
        domain = self.mechanism.participation_domain
        if self.participation_codes is None or domain is None:
            return None
        return check_numeric(domain, "participation").numbers(self.participation_codes)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return (
            f"Reports({len(self.table):,} reports, {len(self.table.tasks):,} tasks, "
            f"{len(self.table.workers):,} workers, mechanism={self.mechanism!r}"
            f"{', simulated' * self.simulated})"
        )

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Return all that left the devices as a dataframe, in an order that depends on ids alone.

        Its columns are ``task``, ``worker``, ``label``, ``participation`` where that is
        released, and ``again`` and ``campaign`` where reports are marked as sent again; or
        ``worker``, ``coordinate``, ``number`` where sketches are sent.

        The frame says that it holds reports, in a JSON object with the keys ``mechanism``, a
        description, and ``simulated``. It stands as text under the key ``quietcrowd`` in ``attrs``
        of pandas and in the metadata of an Arrow schema, and goes with the frame into a file
        of `write_table`, or into a Parquet file of these libraries. Whatever reads such a frame as
        plain answers warns. Polars has no place for it; it is lost there, and where an Arrow table
        is made into a frame of pandas.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Which kind of dataframe.
        """
        if self.sketches is not None:
            workers, length = self.sketches.shape
            who = np.repeat(np.arange(workers), length)
            return to_native(
                {
                    "worker": self.table.workers.take(pa.array(who)),
                    "coordinate": pa.array(np.tile(np.arange(length, dtype=np.int32), workers)),
                    "number": pa.array(self.sketches.reshape(-1)),
                },
                backend,
                self._mark(),
            )
        table = self.table.to_frame("pyarrow")
        if self.participation is not None:
            table = table.append_column("participation", pa.array(self.participation))
        if self.again is not None:
            table = table.append_column("again", pa.array(self.again))
            campaigns = pa.array([self.campaign] * len(table), pa.string())
            table = table.append_column("campaign", campaigns)
        return to_native({name: table[name] for name in table.column_names}, backend, self._mark())

    def _mark(self) -> str:
        """Return what a frame says of the reports in it; see `quietcrowd.frames`."""
        mechanism = self.mechanism
        kind = type(mechanism)
        if mechanism.registry().get(getattr(kind, "name", "")) is kind:
            described = mechanism.to_dict()
        else:  # made for comparison: no file could be read with it
            described = {"mechanism": kind.__name__}
        return json.dumps({"mechanism": described, "simulated": self.simulated})


def _is_of_earlier(name: str, said: Any, here: Any) -> bool:
    """Return whether a scale of noise is what earlier versions made of the same epsilon.

    They took epsilon for the float that it is. If that is above the decimal that it prints as, the
    scale for the decimal may be the next float.
    """
    return (
        name.endswith("noise_scale")
        and isinstance(said, float)
        and here == math.nextafter(said, math.inf)
    )


def require_kept(name: Any) -> None:
    """Raise RemovedMechanismError if a name is that of a mechanism of earlier versions only."""
    if isinstance(name, str) and name in _REMOVED:
        raise RemovedMechanismError(_REMOVED[name])


def check_mechanism(value: Any) -> None:
    """Raise ParameterError unless `value` is a mechanism."""
    if not isinstance(value, Mechanism):
        raise ParameterError(
            "mechanism must be a Mechanism, as RandomizedResponse(domain=..., epsilon=1.0); "
            f"got {value!r}"
        )


def check_reports(value: Any) -> None:
    """Raise ParameterError unless `value` is what a mechanism sent."""
    if not isinstance(value, Reports):
        raise ParameterError(
            "reports must be Reports, as mechanism.randomize or read_reports gives them; "
            f"got {type(value).__name__}"
        )
