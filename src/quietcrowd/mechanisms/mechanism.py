"""Base class of local randomizers, and the reports that they return."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
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
    MECHANISM,
    Backend,
    dictionary_codes,
    positions_by_text,
    to_native,
    unmarked,
)
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.per_worker import ReportDistribution
from quietcrowd.mechanisms.randomness import (
    Randomness,
    RandomState,
    Secret,
    WordSource,
    generator_of,
)
from quietcrowd.mechanisms.report_meanings import ReportMeanings, meanings_in
from quietcrowd.mechanisms.sent_again import Marks
from quietcrowd.privacy.guarantee import PrivacyGuarantee, Tasks
from quietcrowd.privacy.loss import ReleaseLoss, pure_distribution
from quietcrowd.privacy.tails import TailBound, composed_tail
from quietcrowd.report_domains import OneOf, OrNull
from quietcrowd.task_options import TaskOptions
from quietcrowd.validation import check_names, check_proportion, find_described

_REGISTRY: dict[str, type[Mechanism]] = {}
_MAKERS: dict[str, type[Mechanism]] = {}  # without those that only describe reports

_REMOVED = {"sampled-variance": "mechanisms.sampled-variance-removed"}

_MARKED = Categorical([False, True])

STORED_AS = {"missing": "null", "distribution": "law"}
"""Names of parameters in descriptions of mechanisms, where they differ."""

LEAST_LOSS = 1e-6
"""A signal of this loss takes about 10^12 reports on a task to be detected."""


@frozen(kw_only=True)
class SketchBounds:
    """Bounds of a worker's report if it consists of numbers for all tasks together.

    It has `length` numbers from `low` to `high`; noise beyond is cut off. `whole`: integers only.
    """

    length: int
    low: float
    high: float
    whole: bool


@frozen(kw_only=True, slots=False)
class Mechanism(ABC):
    """Local randomizer: private answers in, reports out.

    A mechanism is a value of public parameters: two with equal parameters are equal. Its `channel`
    is the distribution of a report, its `guarantee` bounds the privacy loss.

    Attributes
    ----------
    domain : Domain
        Domain of the answers.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    no_memo: ClassVar[str | None] = (
        "how its random numbers depend on task and answer is not known here"
    )
    """Why a memo cannot contain its reports; None if it can: see `fixed_reports`."""

    randomizes: ClassVar[bool] = True
    """Whether it makes reports; a mixture only describes them."""

    is_taskwise: ClassVar[bool] = False
    """Whether it reports on each task separately: see `TaskwiseMechanism`."""

    domain: Domain

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            if cls.name in _REGISTRY:
                raise TypeError(f"the name {cls.name!r} is that of {_REGISTRY[cls.name].__name__}")
            _REGISTRY[cls.name] = cls
            if cls.randomizes:
                _MAKERS[cls.name] = cls

    @staticmethod
    def registry() -> Mapping[str, type[Mechanism]]:
        """Return every class that makes reports, by its name in files and on the command line.

        Each class with its own `name` is registered when it is defined.
        """
        return MappingProxyType(_MAKERS)

    @property
    def report_domain(self) -> Domain:
        """Domain of the reports."""
        return self.domain

    @property
    def options(self) -> TaskOptions | None:
        """The possible labels of each task, if answers are randomized among them."""
        return None

    @property
    def option_counts(self) -> tuple[int, ...]:
        """How many options the tasks of a campaign have if each task lists its own; else ()."""
        return ()

    @property
    def every_task(self) -> bool:
        """Whether every worker reports every task, answered or not."""
        return False

    def noise_draws(self, *, answers: int, tasks: int, workers: int) -> int:  # noqa: ARG002
        """Count the exact samples of noise, which are slow, for this many answers."""
        return 0

    @property
    def participation_domain(self) -> Domain | None:
        """Domain of the noisy participation bit with each report, if there is one."""
        return None

    @property
    def participation_protected(self) -> bool:
        """Whether the fact of having answered a task is protected as an answer is."""
        return self.guarantee(tasks=1).participation_protected

    @property
    def independent_reports(self) -> bool:
        """Whether reports have independent noise, so that one can serve all copies of a question.

        False if a worker's reports share a draw, such as a flip probability.
        """
        return False

    @property
    def filling_places(self) -> npt.NDArray[np.int32] | None:
        """Equally likely places on the grid that replace a missing answer; else None."""
        return None

    def sketch_bounds(self, tasks: int) -> SketchBounds | None:  # noqa: ARG002
        """Return bounds of a worker's report on this many tasks; None if reports are per task."""
        return None

    @property
    def is_uninformative(self) -> bool:
        """Whether reports are uninformative: the loss about two answers is at most `LEAST_LOSS`."""
        if self.report_epsilon > LEAST_LOSS:
            return False
        return self.guarantee(answers=2, tasks=2).total_epsilon <= LEAST_LOSS

    @property
    def report_epsilon(self) -> float:
        """Loss of one report about its answer; the largest if tasks have different channels."""
        return self.channel.epsilon

    @property
    def loss_depends_on_tasks(self) -> bool:
        """Whether the loss about all answers depends on the tasks, not only on their number."""
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of a file of reports."""
        return ("task", "worker", "label")

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """Distribution of one report given its answer."""

    @property
    def worker_channel(self) -> Channel | None:
        """Distribution of each report of one worker; None if only the worker knows it."""
        return self.channel

    @cached_property
    def report_meanings(self) -> ReportMeanings:
        """Meanings of reports; their codes depend on the order of labels."""
        return meanings_in(self.report_domain)

    @property
    def channel_identity(self) -> Mapping[str, Any]:
        """Identity of the channel, JSON-ready, in a canonical order.

        It maps each answer to the distribution of meanings of reports. Devices of two mechanisms
        with equal identities can send each other's reports, by meaning. A key of anything stored
        for a channel must be at least as fine.
        """
        domain = self.domain
        answers = domain.labels if isinstance(domain, FiniteDomain) else domain.to_dict()
        return {
            "law": self.channel.identity(answers, self.report_meanings),
            "every_task": self.every_task,
            "shared": None if self.independent_reports else self.to_dict(),
        }

    @cached_property
    def short_hash(self) -> str:
        """Hash of the description, in the column ``mechanism`` of frames and files of reports.

        It is ``qc-`` and the first 64 bits of SHA-256 of the canonical JSON. Two of a million
        mechanisms have equal hashes with probability 3e-8.
        """
        text = json.dumps(self._described(), sort_keys=True, separators=(",", ":"))
        return f"qc-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def _described(self) -> dict[str, Any]:
        kind = type(self)
        named = _REGISTRY.get(getattr(kind, "name", ""))
        if named is kind or self.options is not None:
            return self.to_dict()
        return {"mechanism": kind.__name__}  # an unregistered class: no file can be read with it

    @cached_property
    def report_distribution(self) -> ReportDistribution | None:
        """Public distribution of all reports of one worker; None if it is not a table.

        A mechanism whose workers draw something once overrides it with the possible draws.
        """
        return ReportDistribution.of(self.worker_channel)

    @cached_property
    def has_table(self) -> bool:
        """Whether `report_distribution` has a row for each answer and a column for each report.

        NULL is the last of both, if it exists.
        """
        distribution, answers, reports = self.report_distribution, self.domain, self.report_domain
        if distribution is None or not isinstance(answers, FiniteDomain):
            return False
        rows, columns = distribution.tables.shape[1:]
        if reports == OrNull(domain=answers):
            return bool(rows == columns == answers.size + 1)
        whole = reports.dtype.kind in "iu"
        return bool(whole and rows == answers.size and columns == getattr(reports, "size", columns))

    @classmethod
    def from_claimed_epsilon(cls, *, domain: Any, epsilon: float, **parameters: Any) -> Mechanism:
        """Return the mechanism for which the paper claims `epsilon` per answer.

        Parameters
        ----------
        domain : Domain
            Domain of the answers.
        epsilon : float
            Loss according to the paper's theorem.
        **parameters
            Other parameters of the mechanism.

        Raises
        ------
        ParameterError
            If there is no such mechanism, or a parameter is unknown.
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
        """Return upper bounds on a worker's privacy loss.

        Parameters
        ----------
        answers : int
            Number of answers that the worker gives.
        tasks : int, sequence or pyarrow.Array, optional
            Number of tasks, or their ids; required if every task is reported. With ids, the loss
            about all answers together may be less than for any tasks of that number. The reduction
            remains if the campaign has further tasks.
        linked : int
            Number of answers that may share one fact, as copies of a question do.

        Raises
        ------
        ParameterError
            Unless ``1 <= linked <= answers <= tasks``, if `tasks` is required and missing, or if it
            repeats a task. If every task is reported, `linked` may be as large as `tasks`.
        """

    def tail(
        self,
        probability: float,
        answers: int = 1,
        tasks: Tasks | None = None,
        *,
        linked: int = 1,
    ) -> TailBound:
        """Return losses that are each exceeded with at most a given probability.

        They follow from `loss` and never exceed a pure loss. Each is about one alternative that is
        fixed beforehand; see ``research/docs/theory/tail-bounds.md``.

        Parameters
        ----------
        probability : float
            Above 0 and below 1.
        answers, tasks, linked
            See `guarantee`.

        Raises
        ------
        ParameterError
            If the probability is out of range, or `guarantee` raises.
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
            total_epsilon=composed_tail([(loss.each, loss.count)], probability),
        )

    def loss(self, answers: int = 1, tasks: Tasks | None = None) -> ReleaseLoss:
        """Return the worst-case distribution of the loss of a worker's reports.

        By default all reports of the worker are one release, with the distribution that no
        mechanism of the same guarantee exceeds. For the parameters see `guarantee`.
        """
        guarantee = self.guarantee(answers, tasks)
        return ReleaseLoss(
            answer=pure_distribution(guarantee.epsilon, guarantee.delta),
            each=pure_distribution(guarantee.total_epsilon, guarantee.delta),
            count=1,
        )

    def fixed_reports(self, answers: Answers, secret: Secret) -> Reports:  # noqa: ARG002
        """Return one worker's reports, which are the same for the same answers and secret.

        A report is a function of only secret, task and answer. Random numbers of two answers to one
        task are independent. All tasks are processed in the same order, answered or not. `answers`
        are in the mechanism's domain, with tasks sorted by id. Raises ParameterError if `no_memo`
        states why there are no such reports.
        """
        raise ParameterError("mechanisms.no-memo", name=self.name, reason=self.no_memo)

    @abstractmethod
    def _randomize(self, answers: Answers, rng: Randomness) -> Reports:
        """Return the reports; the answers were checked and are in canonical order."""

    def read_reports(
        self, columns: pa.Table, tasks: pa.Array, workers: pa.Array, *, simulated: bool
    ) -> Reports:
        """Return the reports in a table that `Reports.to_frame` returned.

        The table has the mechanism's `columns`, and ``again`` and ``campaign`` if reports are
        marked. `tasks` and `workers` include those without a row. Reports that were sent again and
        do not count are dropped, with a DroppedRowsWarning; see `quietcrowd.mechanisms.sent_again`.

        Raises
        ------
        AnswerError
            If a report is invalid, repeated or, if every task is reported, missing; or if none
            counts.
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
        heard = workers.filter(pa.array((left > 0) | (sent == 0)))  # others are all repeats
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
            columns,
            self.report_domain,
            tasks=tasks,
            workers=workers,
            options=self.options,
            advice="reports",
        )
        return Reports(table=table, mechanism=self, simulated=simulated)

    def check_complete(
        self, workers: pa.Array, reports_per_worker: npt.NDArray[np.int64], tasks: int
    ) -> None:
        """Raise AnswerError if every task must be reported and a worker did not.

        `reports_per_worker`, shape (workers,), counts the reports of each worker id.
        """
        if self.every_task and (reports_per_worker < tasks).any():
            fewest = int(reports_per_worker.argmin())
            raise AnswerError(
                "mechanisms.all-tasks-needed",
                value=workers[fewest].as_py(),
                reports_per_worker=reports_per_worker[fewest],
                tasks=tasks,
            )

    def check_domain(self, domain: Domain) -> None:
        """Raise AnswerError unless answers are in the mechanism's domain."""
        if domain != self.domain:
            raise AnswerError(
                "mechanisms.domain-differs",
                domain=domain.example(),
                other_domain=self.domain.example(),
            )

    def check_left_out(self, rows: int, *, participation_is_public: bool) -> None:
        """Raise as `randomize` if rows were dropped because of their answer and this must not show.

        `rows` counts answers dropped because they were missing or not in the domain.
        """
        if not isinstance(participation_is_public, bool):
            raise ParameterError(
                "mechanisms.participation-public-not-boolean",
                participation_is_public=participation_is_public,
            )
        if rows and not participation_is_public and not self.participation_protected:
            raise AnswerError(
                "mechanisms.left-out-reveals-answers",
                rows=rows,
                type_name=type(self).__name__,
            )

    def randomize(self, answers: Any, *, participation_is_public: bool = False) -> Reports:
        """Randomize answers, as the workers' devices do: with the operating system's randomness.

        Parameters
        ----------
        answers : Answers or dataframe
            Private answers, in the mechanism's domain. Of a dataframe, `Answers.from_frame` reads
            the columns ``task``, ``worker`` and ``label``.
        participation_is_public : bool
            Whether everyone may know which rows ``out_of_domain="skip"`` dropped, and so that their
            answers were missing or not in the domain. No guarantee covers what that reveals. If
            False, a mechanism that does not protect participation rejects the remaining answers: a
            missing report would reveal its answer.

        Returns
        -------
        Reports
            All that leaves the devices. Tasks and workers are sorted by id, which hides the input
            order.

        Raises
        ------
        AnswerError
            If the domains differ, there is no task or no worker, or dropped answers would show.
        ParameterError
            If `participation_is_public` is invalid.
        """
        given = self._checked(answers, participation_is_public)
        return self.for_options(given.options)._randomize(given, None)

    def simulate(
        self,
        answers: Any,
        *,
        random_state: RandomState,
        participation_is_public: bool = False,
    ) -> Reports:
        """Return simulated reports: fast and reproducible, but without protection.

        Parameters
        ----------
        answers, participation_is_public
            As in `randomize`.
        random_state : int or numpy.random.Generator
            Seed, at least 0, or generator. The noise can be computed from it, and removed.

        Returns
        -------
        Reports
            Marked `simulated`.

        Raises
        ------
        AnswerError
            As in `randomize`.
        ParameterError
            If `random_state` or `participation_is_public` is invalid.
        """
        rng = generator_of(random_state)
        given = self._checked(answers, participation_is_public)
        return self.for_options(given.options)._randomize(given, rng)

    def reports_of_words(self, answers: Answers, words: WordSource) -> Reports:
        """Return the reports that given random words draw; see `randomize`.

        They are those of `randomize` if the operating system gives these words. Tests compare other
        implementations with it, such as that of the web page: the words, their order and their use.
        Reports protect the worker only if no one can predict the words.
        """
        given = self._checked(answers, participation_is_public=False)
        return self.for_options(given.options)._randomize(given, words)

    def for_options(self, options: TaskOptions | None) -> Mechanism:
        """Return the mechanism that randomizes answers among the options of their tasks.

        Parameters
        ----------
        options : TaskOptions or None
            The possible labels of each task, in the mechanism's domain; None for one list of labels
            for all tasks, which returns this mechanism.

        Raises
        ------
        ParameterError
            If the mechanism cannot randomize among a task's options.
        """
        if options is not None:
            raise ParameterError("mechanisms.options-unsupported", type_name=type(self).__name__)
        return self

    def among(self, domain: Domain, counts: Iterable[int]) -> Mechanism:  # noqa: ARG002
        """Return the mechanism of a campaign in which tasks list their options.

        Parameters
        ----------
        domain : Categorical or Ordinal
            The labels of all tasks; this mechanism may have another domain.
        counts : iterable of int
            How many options tasks have.

        Raises
        ------
        ParameterError
            If the mechanism cannot randomize among a task's options, or a number is invalid.
        """
        raise ParameterError("mechanisms.options-unsupported", type_name=type(self).__name__)

    def _checked(self, answers: Any, participation_is_public: bool) -> Answers:
        if isinstance(answers, Reports):
            raise AnswerError("mechanisms.not-answers", type_name="Reports")
        given = answers
        if not isinstance(given, Answers):
            given = Answers.from_frame(answers, self.domain, options=self.options)
        self.check_domain(given.domain)
        if not len(given.tasks) or not len(given.workers):
            raise AnswerError("mechanisms.nothing-to-randomize")
        self.check_left_out(
            given.dropped.out_of_domain, participation_is_public=participation_is_public
        )
        given = given.canonical
        if given.dropped != DroppedRows():  # counts of dropped rows stay on the device
            given = evolve(given, dropped=DroppedRows())
        return given

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters of `to_dict` except name, version and domain, JSON-ready.

        They may include public integers that follow from the others: `from_dict` checks them.
        """
        return {
            STORED_AS.get(name, name): getattr(self, name)
            for name in fields_dict(type(self))
            if name != "domain"
        }

    @classmethod
    def _from_parameters(cls, domain: Domain, parameters: Mapping[str, Any]) -> Mechanism:
        names = [name for name in fields_dict(cls) if name != "domain"]
        return cls(domain=domain, **{name: parameters[STORED_AS.get(name, name)] for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description for `from_dict`."""
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
            If the name or version is unknown, a key is missing, or the integers in the description
            do not follow from the parameters.
        RemovedMechanismError
            If only an earlier version had the mechanism.
        """
        if not isinstance(data, Mapping):
            raise FormatError("mechanisms.mechanism-not-an-object", data=data)
        try:
            name, version = data["mechanism"], data["version"]
            require_kept(name)
            domain = Domain.from_dict(data["domain"])
            kind = find_described("mechanism", name, version, _REGISTRY)
            mechanism: Mechanism = kind._from_parameters(domain, data)
        except KeyError as error:
            raise FormatError(
                "mechanisms.mechanism-key-missing", error=error, data=dict(data)
            ) from None
        except (TypeError, ParameterError) as error:
            raise FormatError("mechanisms.mechanism-unreadable", error=error) from None
        here = mechanism.to_dict()
        differing = sorted(k for k in {*here, *data} if here.get(k) != data.get(k))
        if not all(_is_of_earlier(name, data.get(name), here.get(name)) for name in differing):
            raise FormatError(
                "mechanisms.stored-channel-differs",
                name=name,
                differing=", ".join(differing),
                value=[here.get(k) for k in differing],
                other_value=[data.get(k) for k in differing],
            )
        return mechanism


@frozen(kw_only=True, eq=False, slots=False)
class Reports:
    """Reports that workers' devices sent, with their mechanism.

    Attributes
    ----------
    table : Answers
        One row per report, in the mechanism's report domain; input of the methods. If devices send
        sketches, the requester computes it from them.
    mechanism : Mechanism
        Public description of the randomization.
    simulated : bool
        Whether the noise came from a simulation; such reports protect no one.
    participation_codes : ndarray of int, shape (reports,), or None
        Noisy bit with each report, in the mechanism's `participation_domain`.
    sketches : ndarray, shape (workers, numbers), or None
        Numbers that each worker sent, if devices send sketches.
    again : ndarray of bool, shape (reports,), or None
        Which reports of a campaign their devices had sent before; None without marks.
    campaign : str or None
        Id of the campaign, if reports are marked.

    Reports of several mechanisms, see `join_reports`, have a `Mixture` as `mechanism`.

    Raises
    ------
    AnswerError
        If the table is not in the report domain, or a column has another length.
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
                "mechanisms.reports-of-another-domain",
                domain=self.table.domain.example(),
                other_domain=expected.example(),
            )
        if (self.table.options is None) != (self.mechanism.options is None):
            raise AnswerError("mechanisms.options-of-another-mechanism")
        bits = self.participation_codes
        if bits is not None and bits.shape != (len(self.table),):
            raise AnswerError(
                "mechanisms.participation-codes-shape", count=len(self.table), shape=bits.shape
            )
        if self.again is not None and self.again.shape != (len(self.table),):
            raise AnswerError(
                "mechanisms.again-shape", count=len(self.table), shape=self.again.shape
            )
        if self.sketches is not None and len(self.sketches) != len(self.table.workers):
            raise AnswerError(
                "mechanisms.sketches-shape",
                count=len(self.table.workers),
                total=len(self.sketches),
            )

    @property
    def participation(self) -> npt.NDArray[np.float64] | None:
        """Noisy 1 or 0 with each report, whether the worker answered the task; or None."""
        domain = self.mechanism.participation_domain
        if self.participation_codes is None or domain is None:
            return None
        return check_numeric(domain, "participation").numbers(self.participation_codes)

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Mechanisms of the reports: those of a mixture, or `mechanism`."""
        mixture: Any = self.mechanism
        return mixture.parts if isinstance(self.table.domain, OneOf) else (mixture,)

    @cached_property
    def part_codes(self) -> npt.NDArray[np.intp]:
        """Position of each report's mechanism in `mechanisms`, shape (reports,)."""
        domain = self.table.domain
        if isinstance(domain, OneOf):
            return domain.part_codes(self.table.values)
        return np.zeros(len(self.table), np.intp)

    def split(self) -> tuple[Reports, ...]:
        """Return the reports of each of `mechanisms`, with all tasks and the workers who sent them.

        `join_reports` joins them again.
        """
        domain = self.table.domain
        if not isinstance(domain, OneOf):
            return (self,)
        found = []
        for place, mechanism in enumerate(self.mechanisms):
            mine = self.part_codes == place
            table = self.table.of_rows(mine)
            own = domain.codes_of(place, table.values)
            found.append(
                evolve(
                    self,
                    table=evolve(table, domain=mechanism.report_domain, values=own),
                    mechanism=mechanism,
                    again=None if self.again is None else self.again[mine],
                )
            )
        return tuple(found)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return (
            f"Reports({len(self.table):,} reports, {len(self.table.tasks):,} tasks, "
            f"{len(self.table.workers):,} workers, mechanism={self.mechanism!r}"
            f"{', simulated' * self.simulated})"
        )

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Return all that left the devices as a dataframe, in an order that depends on ids only.

        Columns are ``task``, ``worker``, ``label``, ``participation`` if that is released,
        ``again`` and ``campaign`` if reports are marked as sent again, and ``mechanism``. With
        sketches they are ``worker``, ``coordinate``, ``number`` and ``mechanism``.

        The column ``mechanism`` has the `Mechanism.short_hash` of each row, and ends in
        ``-simulated`` for simulated reports. Functions that need answers reject it. Labels of
        several mechanisms become text, unless their types are equal.

        A JSON text under the key ``quietcrowd``, in ``attrs`` of pandas or the metadata of an Arrow
        schema, describes the mechanism. `write_table` and Parquet files of these libraries preserve
        it; Polars, CSV, and a conversion from Arrow to pandas, drop it; see `reports_from_frame`.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Kind of dataframe.
        """
        if self.sketches is not None:
            workers, length = self.sketches.shape
            who = np.repeat(np.arange(workers), length)
            sent = {
                "worker": self.table.workers.take(pa.array(who)),
                "coordinate": pa.array(np.tile(np.arange(length, dtype=np.int32), workers)),
                "number": pa.array(self.sketches.reshape(-1)),
            }
            return to_native(sent | self._hashes(len(who)), backend, self._mark())
        parts = [part._columns() for part in self.split()]
        if len({part["label"].type for part in parts}) > 1:
            parts = [part | {"label": part["label"].cast(pa.string())} for part in parts]
        places = [np.flatnonzero(self.part_codes == code) for code in range(len(parts))]
        order = pa.array(np.argsort(np.concatenate(places)))
        columns = {
            name: pa.chunked_array([part[name] for part in parts]).take(order) for name in parts[0]
        }
        return to_native(columns, backend, self._mark())

    def _columns(self) -> dict[str, pa.Array]:
        table, columns = self.table, {}
        for name, ids, codes in (
            ("task", table.tasks, table.task_codes),
            ("worker", table.workers, table.worker_codes),
        ):
            columns[name] = ids.take(pa.array(codes))
        columns["label"] = table.domain.decode(table.values)
        if self.participation is not None:
            columns["participation"] = pa.array(self.participation)
        if self.again is not None:
            columns["again"] = pa.array(self.again)
            columns["campaign"] = pa.array([self.campaign] * len(table), pa.string())
        return columns | self._hashes(len(table))

    def _hashes(self, rows: int) -> dict[str, pa.Array]:
        text = self.mechanism.short_hash + "-simulated" * self.simulated
        return {MECHANISM: pa.repeat(text, rows)}

    def _mark(self) -> str:
        described = self.mechanism._described()
        return json.dumps({"mechanism": described, "simulated": self.simulated})


def _is_of_earlier(name: str, said: Any, here: Any) -> bool:
    """Return whether a scale of noise is that of earlier versions for the same epsilon.

    They used the exact value of the float. If it is above the decimal that it prints as, the scale
    for the decimal may be the next float.
    """
    return (
        name.endswith("noise_scale")
        and isinstance(said, float)
        and here == math.nextafter(said, math.inf)
    )


def require_kept(name: Any) -> None:
    """Raise RemovedMechanismError if only earlier versions had a mechanism of this name."""
    if isinstance(name, str) and name in _REMOVED:
        raise RemovedMechanismError(_REMOVED[name])


def check_mechanism(value: Any) -> None:
    """Raise ParameterError unless `value` is a Mechanism."""
    if not isinstance(value, Mechanism):
        raise ParameterError("mechanisms.not-a-mechanism", value=value)


def check_reports(value: Any) -> None:
    """Raise ParameterError unless `value` is Reports."""
    if not isinstance(value, Reports):
        raise ParameterError("mechanisms.not-reports", type_name=type(value).__name__)
