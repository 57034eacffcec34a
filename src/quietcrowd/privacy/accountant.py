"""Who has spent how much privacy, over mechanisms and campaigns."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import Factory, evolve, field, frozen

from quietcrowd.exceptions import FormatError, ParameterError, SimulatedNoiseWarning
from quietcrowd.frames import Backend, to_native
from quietcrowd.privacy.budget_filter import filter_used
from quietcrowd.privacy.guarantee import MOST_REPORTS, check_counts
from quietcrowd.privacy.loss_distribution import compose_losses
from quietcrowd.privacy.loss_tail import composed_tail
from quietcrowd.privacy.mechanism_access import check_mechanism, check_reports, read_mechanism
from quietcrowd.validation import check_real, check_text, check_whole, plain

if TYPE_CHECKING:
    from quietcrowd.mechanisms.mechanism import Mechanism
    from quietcrowd.mechanisms.reports import Reports

__all__ = ["Charge", "PrivacyLedger", "Spending"]

VERSION = 1


@frozen(kw_only=True)
class Charge:
    """What a worker has reported to one campaign with one mechanism.

    Attributes
    ----------
    worker : str
        Id, as text.
    campaign : str
        Name.
    mechanism : Mechanism
        What randomised the answers.
    count : int
        How many answers, or, where every task is reported, how many tasks.
    """

    worker: str
    campaign: str
    mechanism: Mechanism
    count: int


@frozen(kw_only=True)
class Spending:
    """What a worker has spent at most; losses are natural logarithms, rounded up.

    At a delta above 0 `answer_epsilon` and `total_epsilon` are pairs (epsilon, delta) of
    differential privacy. How likely a loss is larger they do not say; the two tails do.

    Attributes
    ----------
    worker : str
        Id, as text.
    answer_epsilon : float
        About one answer that was asked for in every campaign, given all others.
    total_epsilon : float
        About all answers together.
    delta : float
        Of the pairs; 0 for pure losses.
    answer_tail, total_tail : float
        Each is exceeded with probability `delta` at most; at a delta of 0 the losses themselves.
    """

    worker: str
    answer_epsilon: float
    total_epsilon: float
    delta: float = 0.0
    answer_tail: float = field(default=Factory(lambda self: self.answer_epsilon, takes_self=True))
    total_tail: float = field(default=Factory(lambda self: self.total_epsilon, takes_self=True))


_Key: TypeAlias = "tuple[str, str, Mechanism]"


def _copied(counts: Mapping[_Key, int]) -> dict[_Key, int]:
    return dict(counts)


@frozen(kw_only=True)
class PrivacyLedger:
    """What each worker has spent, per answer and in total; a value, which charging leaves as it is.

    Within one campaign a worker reports each answer once, and one secret draw of a mechanism that
    makes any serves all of that worker's answers, however many charges they come in: counts of
    charges for one worker, campaign and mechanism add up before the loss is computed. Campaigns
    are independent of each other: noise and draws are fresh, and losses are composed. The same
    answer may be asked for in every campaign, so losses about one answer add up over campaigns,
    too. Whoever releases the same answers a second time, or draws afresh for a second batch,
    charges that to a campaign of another name.

    Ids count as text: 7, "7" and the 7.0 of a dataframe are one worker, as the same table comes
    back from Parquet or CSV.
    A mechanism that reports every task is charged for every task: the server never learns how many
    were answered.

    Examples
    --------
    >>> from quietcrowd import Categorical, RandomizedResponse
    >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0)
    >>> ledger = PrivacyLedger().charge("ann", mechanism, answers=50, campaign="spring")
    >>> round(ledger.spent("ann").total_epsilon, 2)
    50.0
    >>> round(ledger.spent("ann", delta=1e-6).total_epsilon, 2)
    47.65
    >>> ledger.would_exceed("ann", mechanism, budget=48, campaign="autumn", delta=1e-6)
    True
    """

    _counts: Mapping[_Key, int] = field(factory=dict, converter=_copied, repr=False)

    def __hash__(self) -> int:
        return hash(frozenset(self._counts.items()))

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All charges, those of one worker, campaign and mechanism together, as first made."""
        return tuple(
            Charge(worker=worker, campaign=campaign, mechanism=mechanism, count=count)
            for (worker, campaign, mechanism), count in self._counts.items()
        )

    @property
    def workers(self) -> tuple[str, ...]:
        """Ids of all workers who were charged, as first charged."""
        return tuple(dict.fromkeys(worker for worker, _, _ in self._counts))

    @classmethod
    def of_reports(cls, *reports: Reports, campaigns: Iterable[str] | None = None) -> PrivacyLedger:
        """Return what the workers of some reports have spent.

        Parameters
        ----------
        *reports : Reports
            Each is a campaign of its own. Where every task is reported all workers are charged
            for all tasks.
        campaigns : iterable of str, optional
            Their names; default: "1", "2" and so on. Two reports of one mechanism are two draws,
            so they have different names.

        Raises
        ------
        ParameterError
            Where something else than reports is given, there are not as many names as reports, or
            two reports of one mechanism have the same name.

        Warns
        -----
        SimulatedNoiseWarning
            Where some of the reports are simulated: what they would have cost counts as if they
            were real.
        """
        names = _names_for(len(reports), campaigns)
        counts: dict[_Key, int] = {}
        drawn: set[tuple[str, Mechanism]] = set()
        for name, one in zip(names, reports, strict=True):
            check_reports(one)
            if (name, one.mechanism) in drawn:
                raise ParameterError(
                    f"campaign {name!r} has two reports of {one.mechanism.name}: each was drawn "
                    "afresh, and costs as a campaign of its own. Give them different names."
                )
            drawn.add((name, one.mechanism))
            for worker, count in _counts_of(one):
                _add(counts, (worker, name, one.mechanism), count)
        _warn_of_simulations(names, reports)
        return cls(counts=counts)

    def charge(
        self,
        worker: str | int,
        mechanism: Mechanism,
        *,
        answers: int = 1,
        tasks: int | None = None,
        campaign: str = "1",
    ) -> PrivacyLedger:
        """Return a ledger in which a worker has spent more.

        Parameters
        ----------
        worker : str or int
            Id.
        mechanism : Mechanism
            What randomises the answers.
        answers : int
            How many further answers; of no matter where every task is reported.
        tasks : int, optional
            How many further tasks; needed where every task is reported.
        campaign : str
            To which the worker reports; see the class.

        Raises
        ------
        ParameterError
            Where the worker's id is neither text nor a whole number, there is no mechanism, or a
            count is missing or out of range: a worker makes at most 10^7 reports to a campaign.
        """
        who = _check_worker(worker)
        check_text("campaign", campaign)
        check_mechanism(mechanism)
        count = check_counts(answers, tasks, every_task=mechanism.every_task)
        counts = dict(self._counts)
        _add(counts, (who, campaign, mechanism), count)
        return evolve(self, counts=counts)

    def spent(self, worker: str | int, delta: float = 0.0) -> Spending:
        """Return what a worker has spent; nothing, where there is no charge.

        Parameters
        ----------
        worker : str or int
            Id.
        delta : float
            Of the pairs (epsilon, delta), below 1. At 0 losses are summed; above it they are
            composed, tightly where answers have noise of their own, and never to more than their
            sum.

        Raises
        ------
        ParameterError
            Where delta is out of range.

        Notes
        -----
        The sum holds whenever it is looked at. Above delta 0 what is returned holds for a schedule
        of mechanisms and answers that was fixed beforehand. Where it depended on earlier reports
        how many there are, it is the reading of an odometer at a time that the data chose, and no
        guarantee: then `used` says what holds. See ``docs/theory/budgets.md``.
        """
        _check_delta(delta)
        one = _check_worker(worker)
        counts = self._counts.items()
        own = [(mechanism, count) for (who, _, mechanism), count in counts if who == one]
        return _spending(one, own, delta)

    def spending(self, delta: float = 0.0) -> tuple[Spending, ...]:
        """Return what each worker has spent, in the order of `workers`; see `spent`."""
        _check_delta(delta)
        own: dict[str, list[tuple[Mechanism, int]]] = {}
        for (worker, _, mechanism), count in self._counts.items():
            own.setdefault(worker, []).append((mechanism, count))
        return tuple(_spending(worker, parts, delta) for worker, parts in own.items())

    def would_exceed(
        self,
        worker: str | int,
        mechanism: Mechanism,
        budget: float,
        *,
        answers: int = 1,
        tasks: int | None = None,
        campaign: str = "1",
        delta: float = 0.0,
    ) -> bool:
        """Return whether a charge would take a worker's total above a budget: a privacy filter.

        Who makes no report where this says so is (budget, delta)-private in total, also where it
        depends on earlier reports which come next; see `used`.

        Parameters
        ----------
        worker, mechanism, answers, tasks, campaign
            As those of `charge`.
        budget : float
            The most that a worker may lose in total, finite and at least 0; fixed beforehand.
        delta : float
            Of the whole, below 1; fixed beforehand.

        Raises
        ------
        ParameterError
            Where the budget is negative or not finite, or as `charge` and `spent`.
        """
        check_real("budget", budget, 0)
        after = self.charge(worker, mechanism, answers=answers, tasks=tasks, campaign=campaign)
        return after.used(worker, budget, delta) > budget

    def used(self, worker: str | int, budget: float, delta: float = 0.0) -> float:
        """Return how much of a budget a worker has used, however the releases were chosen.

        At delta 0 it is the sum of the losses. Above it, it is what a filter counts: as a rule
        more than `spent`, since it holds for a worker who stops, or goes on, because of earlier
        reports; and never more than the sum.

        Parameters
        ----------
        worker : str or int
            Id.
        budget, delta : float
            Of the whole, fixed before the first report; finite and at least 0, delta below 1.

        Raises
        ------
        ParameterError
            Where a number is out of its range.

        References
        ----------
        See `would_exceed` and ``docs/theory/budgets.md``.
        """
        check_real("budget", budget, 0)
        _check_delta(delta)
        one = _check_worker(worker)
        own = [(mechanism, n) for (who, _, mechanism), n in self._counts.items() if who == one]
        return _used(tuple(own), float(budget), float(delta))

    def to_frame(self, delta: float = 0.0, backend: Backend = "pandas") -> Any:
        """Return what each worker has spent as a dataframe.

        Its columns are ``worker``, ``reports``, ``campaigns``, ``answer_epsilon``,
        ``total_epsilon``, ``answer_tail`` and ``total_tail``; see `Spending`.
        """
        spending = self.spending(delta)
        reports: dict[str, int] = {}
        campaigns: dict[str, set[str]] = {}
        for (worker, campaign, _), count in self._counts.items():
            reports[worker] = reports.get(worker, 0) + count
            campaigns.setdefault(worker, set()).add(campaign)
        return to_native(
            {
                "worker": list(reports),
                "reports": list(reports.values()),
                "campaigns": [len(names) for names in campaigns.values()],
                "answer_epsilon": [one.answer_epsilon for one in spending],
                "total_epsilon": [one.total_epsilon for one in spending],
                "answer_tail": [one.answer_tail for one in spending],
                "total_tail": [one.total_tail for one in spending],
            },
            backend,
        )

    def to_json(self) -> str:
        """Return the ledger as text; `from_json` gives back an equal one."""
        mechanisms = list(dict.fromkeys(mechanism for _, _, mechanism in self._counts))
        places = {mechanism: place for place, mechanism in enumerate(mechanisms)}
        return json.dumps(
            {
                "ledger": "quietcrowd",
                "version": VERSION,
                "mechanisms": [mechanism.to_dict() for mechanism in mechanisms],
                "charges": [
                    [worker, campaign, places[mechanism], count]
                    for (worker, campaign, mechanism), count in self._counts.items()
                ],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> PrivacyLedger:
        """Return the ledger that `to_json` wrote.

        Raises
        ------
        FormatError
            Where the text is none, of another version, or a charge in it cannot be.
        """
        try:
            return cls(counts=_read_counts(text))
        except RecursionError:
            raise FormatError("this is no ledger: what is in it is nested too deeply") from None


def _names_for(reports: int, campaigns: Any) -> list[str]:
    """Return the name of the campaign of each reports."""
    if campaigns is None:
        return [str(place + 1) for place in range(reports)]
    listed = isinstance(campaigns, Iterable) and not isinstance(campaigns, str)
    names = list(campaigns) if listed else campaigns
    if not listed or len(names) != reports:
        raise ParameterError(
            f"campaigns must be one name for each of {reports} reports; got {names!r}"
        )
    for name in names:
        check_text("campaign", name)
    return list(names)


def _warn_of_simulations(names: Iterable[str], reports: Iterable[Reports]) -> None:
    simulated = [name for name, one in zip(names, reports, strict=True) if one.simulated]
    if simulated:
        several = len(simulated) > 1
        warnings.warn(
            f"the reports of campaign{'s' * several} {', '.join(map(repr, simulated))} are "
            "simulated: they protect nobody, whatever the ledger says.",
            SimulatedNoiseWarning,
            stacklevel=3,
        )


def _add(counts: dict[_Key, int], key: _Key, count: int) -> None:
    """Count further reports of a worker, campaign and mechanism."""
    worker, campaign, _ = key
    total = counts.get(key, 0) + count
    check_whole(f"all that {worker!r} reports to campaign {campaign!r}", total, 1, MOST_REPORTS)
    counts[key] = total


def _read_counts(text: Any) -> dict[_Key, int]:
    """Return the charges that a text says."""
    data = _read_ledger(text)
    charges, described = data.get("charges"), data.get("mechanisms")
    if not isinstance(charges, list) or not isinstance(described, list):
        raise FormatError("a ledger needs the lists 'mechanisms' and 'charges'")
    mechanisms = [read_mechanism(one) for one in described]
    counts: dict[_Key, int] = {}
    for place, charge in enumerate(charges):
        key, count = _read_charge(place, charge, mechanisms)
        if key in counts:
            raise FormatError(f"charge {place} of the ledger, {charge!r}, stands there twice")
        counts[key] = count
    return counts


def _read_ledger(text: Any) -> dict[str, Any]:
    if not isinstance(text, str):
        raise FormatError(
            f"a ledger must be text, as PrivacyLedger.to_json gives it; got {type(text).__name__}"
        )
    try:
        data = json.loads(text, object_pairs_hook=_named_once)
    except ValueError as error:
        raise FormatError(f"a ledger must be JSON: {error}") from None
    if not isinstance(data, dict) or data.get("ledger") != "quietcrowd":
        raise FormatError(
            "this is no ledger: the key 'ledger' is missing. PrivacyLedger.to_json writes one."
        )
    version = data.get("version")
    if version != VERSION or isinstance(version, bool):
        raise FormatError(f"the ledger has version {version!r}; this quietcrowd reads {VERSION}")
    return data


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for name, value in pairs:
        if name in named:
            raise ValueError(f"{name!r} is named twice in one object")
        named[name] = value
    return named


def _read_charge(place: int, charge: Any, mechanisms: list[Mechanism]) -> tuple[_Key, int]:
    try:
        worker, campaign, which, count = charge
        who = _check_worker(worker)
        check_text("campaign", campaign)
        check_whole("mechanism", which, 0, len(mechanisms) - 1)
        check_whole("count", count, 1, MOST_REPORTS)
    except (TypeError, ValueError) as error:
        raise FormatError(
            f"charge {place} of the ledger must be worker, campaign, mechanism and count; got "
            f"{charge!r}: {error}"
        ) from None
    return (who, campaign, mechanisms[which]), count


def _counts_of(reports: Reports) -> list[tuple[str, int]]:
    """Return each worker's id and number of reports."""
    workers = [_as_text(worker) for worker in reports.table.workers.to_pylist()]
    if reports.mechanism.every_task:
        return [(worker, len(reports.table.tasks)) for worker in workers]
    counts = reports.table.answers_per_worker.tolist()
    return [(worker, count) for worker, count in zip(workers, counts, strict=True) if count]


def _as_text(worker: Any) -> str:
    """Return an id as text; 7.0, as dataframes with gaps hold it, is 7."""
    whole = isinstance(worker, float) and worker.is_integer()
    return str(int(worker) if whole else worker)


def _spending(worker: str, parts: Iterable[tuple[Mechanism, int]], delta: float) -> Spending:
    answer, total, answer_tail, total_tail = _composed(tuple(parts), delta)
    return Spending(
        worker=worker,
        answer_epsilon=answer,
        total_epsilon=total,
        delta=delta,
        answer_tail=answer_tail,
        total_tail=total_tail,
    )


@lru_cache(maxsize=4096)
def _composed(
    parts: tuple[tuple[Mechanism, int], ...], delta: float
) -> tuple[float, float, float, float]:
    """Return the loss about one answer and about all, and their tails, of counts per campaign."""
    losses = [mechanism.loss(answers=count, tasks=count) for mechanism, count in parts]
    answer = [(loss.answer, 1) for loss in losses]
    total = [(loss.each, loss.count) for loss in losses]
    pairs = compose_losses(answer, delta), compose_losses(total, delta)
    if delta and len(parts) == 1:
        ((mechanism, count),) = parts
        tail = mechanism.tail(delta, answers=count, tasks=count)
        return *pairs, tail.epsilon, tail.worker_epsilon
    return *pairs, composed_tail(answer, delta), composed_tail(total, delta)


@lru_cache(maxsize=4096)
def _used(parts: tuple[tuple[Mechanism, int], ...], budget: float, delta: float) -> float:
    losses = [mechanism.loss(answers=count, tasks=count) for mechanism, count in parts]
    return filter_used([(loss.each, loss.count) for loss in losses], budget, delta)


def _check_delta(delta: float) -> None:
    check_real("delta", delta, 0)
    if not delta < 1:
        raise ParameterError(f"delta must be below 1: at 1 everything is allowed; got {delta!r}")


def _check_worker(worker: Any) -> str:
    """Return an id as text."""
    known = plain(worker)
    if isinstance(known, bool) or not isinstance(known, str | int):
        raise ParameterError(f"worker must be an id, text or a whole number; got {worker!r}")
    if isinstance(known, str):
        check_text("worker", known)
    return str(known)
