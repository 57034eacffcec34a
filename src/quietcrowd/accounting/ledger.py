"""Who has spent how much privacy, over mechanisms and campaigns."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve, field, frozen

from quietcrowd.accounting.charges import (
    Charge,
    ChargeKey,
    add_charge,
    check_worker,
    read_charges,
    write_charges,
)
from quietcrowd.accounting.shuffled import shuffled_guarantee
from quietcrowd.accounting.spending import Spending, spend, used_of_budget
from quietcrowd.exceptions import ParameterError, SimulatedNoiseWarning
from quietcrowd.frames import Backend, to_native
from quietcrowd.mechanisms.mechanism import Mechanism, Reports, check_mechanism, check_reports
from quietcrowd.privacy.guarantee import Tasks, are_named, check_counts
from quietcrowd.privacy.loss_distribution import sum_losses
from quietcrowd.validation import check_delta, check_proportion, check_real, check_text

__all__ = ["PrivacyLedger"]


def _copied(charges: Mapping[ChargeKey, Charge]) -> dict[ChargeKey, Charge]:
    return dict(charges)


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

    _charges: Mapping[ChargeKey, Charge] = field(factory=dict, converter=_copied, repr=False)

    def __hash__(self) -> int:
        return hash(frozenset(self.charges))

    @property
    def charges(self) -> tuple[Charge, ...]:
        """All charges, those of one worker, campaign and mechanism together, as first made."""
        return tuple(self._charges.values())

    @property
    def workers(self) -> tuple[str, ...]:
        """Ids of all workers who were charged, as first charged."""
        return tuple(dict.fromkeys(charge.worker for charge in self.charges))

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
        charges: dict[ChargeKey, Charge] = {}
        drawn: set[tuple[str, Mechanism]] = set()
        for name, one in zip(names, reports, strict=True):
            check_reports(one)
            if (name, one.mechanism) in drawn:
                raise ParameterError(
                    f"campaign {name!r} has two reports of {one.mechanism.name}: each was drawn "
                    "afresh, and costs as a campaign of its own. Give them different names."
                )
            drawn.add((name, one.mechanism))
            for charge in _charges_in(one, name):
                add_charge(charges, charge)
        _warn_of_simulations(names, reports)
        return cls(charges=charges)

    def charge(
        self,
        worker: str | int,
        mechanism: Mechanism,
        *,
        answers: int = 1,
        tasks: Tasks | None = None,
        campaign: str = "1",
        spared: float = 0.0,
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
        tasks : int, sequence or pyarrow.Array, optional
            How many further tasks, or their ids; needed where every task is reported. All answers
            to tasks that are named may lose less; see `Mechanism.guarantee`.
        campaign : str
            To which the worker reports; see the class.
        spared : float
            What all further answers lose less than any of their number, where that is known and
            the tasks are not named; see `Charge`.

        Raises
        ------
        ParameterError
            Where the worker's id is neither text nor a whole number, there is no mechanism, or a
            count is missing or out of range: a worker makes at most 10^7 reports to a campaign.
        """
        check_real("spared", spared, 0)
        who = check_worker(worker)
        check_text("campaign", campaign)
        check_mechanism(mechanism)
        charge = Charge(
            worker=who,
            campaign=campaign,
            mechanism=mechanism,
            count=check_counts(answers, tasks, every_task=mechanism.every_task),
            spared=spared or _spared_by_names(mechanism, tasks),
        )
        charges = dict(self._charges)
        add_charge(charges, charge)
        return evolve(self, charges=charges)

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
        check_delta("delta", delta)
        one = check_worker(worker)
        return spend(one, self._charges_of(one), delta)

    def _charges_of(self, worker: str) -> list[Charge]:
        return [charge for charge in self.charges if charge.worker == worker]

    def spending(self, delta: float = 0.0) -> tuple[Spending, ...]:
        """Return what each worker has spent, in the order of `workers`; see `spent`."""
        check_delta("delta", delta)
        own: dict[str, list[Charge]] = {}
        for charge in self.charges:
            own.setdefault(charge.worker, []).append(charge)
        return tuple(spend(worker, charges, delta) for worker, charges in own.items())

    def would_exceed(
        self,
        worker: str | int,
        mechanism: Mechanism,
        budget: float,
        *,
        answers: int = 1,
        tasks: Tasks | None = None,
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
            Of the whole, below 1; fixed beforehand. Above 0 all that one secret draw serves, as
            the answers of a worker of the two-layer mechanism, is charged at once.

        Raises
        ------
        ParameterError
            Where the budget is negative or not finite; where, at a delta above 0, answers are to
            be added to others that share their draw; or as `charge` and `spent`.
        """
        check_real("budget", budget, 0)
        if delta:
            self._require_not_begun(check_worker(worker), campaign, mechanism)
        after = self.charge(worker, mechanism, answers=answers, tasks=tasks, campaign=campaign)
        return after.used(worker, budget, delta) > budget

    def _require_not_begun(self, worker: str, campaign: str, mechanism: Mechanism) -> None:
        """Raise where a draw serves answers already: whether to go on may follow from reports."""
        begun = (worker, campaign, mechanism) in self._charges
        if begun and mechanism.loss(answers=2, tasks=2).count == 1:
            raise ParameterError(
                f"{worker!r} has reported to campaign {campaign!r}, and further answers would "
                f"share a draw of {mechanism.name!r} with those before: a budget with a delta "
                "takes all of them in one charge. Ask for all at once, or take delta 0."
            )

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
        check_delta("delta", delta)
        own = self._charges_of(check_worker(worker))
        return used_of_budget(own, float(budget), float(delta))

    def shuffled(self, worker: str | int, *, honest: int, delta: float) -> float:
        """Return the epsilon of a worker whose every campaign was a poll with shuffling.

        A second number, beside `spent`: it holds only if `shuffled_assumption` does in each of the
        campaigns, and about those who see one output of each campaign alone.

        Parameters
        ----------
        worker : str or int
            Id.
        honest : int
            How many reports of each campaign are honest at least, the worker's own among them.
        delta : float
            Of the pair, above 0 and below 1: as much for each campaign as for another.

        Returns
        -------
        float
            Sum over all campaigns; never more than the sum of their own losses. 0 where there is
            no charge.

        Raises
        ------
        ParameterError
            Where the worker made more than one report to a campaign; or as `shuffled_guarantee`.
        """
        own = self._charges_of(check_worker(worker))
        check_proportion("delta", delta)
        several = next((charge for charge in own if charge.count > 1), None)
        if several is not None:
            raise ParameterError(
                f"{several.worker!r} made {several.count:,} reports to campaign "
                f"{several.campaign!r}: a poll with shuffling has one question, and one report of "
                "each worker."
            )
        found = [
            shuffled_guarantee(charge.mechanism, honest=honest, delta=delta / len(own)).epsilon
            for charge in own
        ]
        return sum_losses([(epsilon, 1) for epsilon in found])

    def to_frame(self, delta: float = 0.0, backend: Backend = "pandas") -> Any:
        """Return what each worker has spent as a dataframe.

        Its columns are ``worker``, ``reports``, ``campaigns``, ``answer_epsilon``,
        ``total_epsilon``, ``answer_tail`` and ``total_tail``; see `Spending`.
        """
        spending = self.spending(delta)
        reports: dict[str, int] = {}
        campaigns: dict[str, set[str]] = {}
        for charge in self.charges:
            reports[charge.worker] = reports.get(charge.worker, 0) + charge.count
            campaigns.setdefault(charge.worker, set()).add(charge.campaign)
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
        return write_charges(self.charges)

    @classmethod
    def from_json(cls, text: str) -> PrivacyLedger:
        """Return the ledger that `to_json` wrote.

        Raises
        ------
        FormatError
            Where the text is none, of another version, or a charge in it cannot be.
        """
        return cls(charges=read_charges(text))


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


def _spared_by_names(mechanism: Mechanism, tasks: Tasks | None) -> float:
    """Return by how much all named tasks together lose less than any of their number."""
    if tasks is None or not mechanism.every_task or not are_named(tasks):
        return 0.0
    count = check_counts(1, tasks, every_task=True)
    unnamed = mechanism.guarantee(count, count).worker_epsilon
    named = mechanism.guarantee(count, tasks).worker_epsilon
    return max(0.0, math.nextafter(unnamed - named, 0.0)) if named < unnamed else 0.0


def _charges_in(reports: Reports, campaign: str) -> list[Charge]:
    """Return what each worker with reports, or, where every task is reported, each is charged."""
    table, mechanism = reports.table, reports.mechanism
    counts = table.answers_per_worker.tolist()
    if mechanism.every_task:
        counts = [len(table.tasks)] * len(table.workers)
    less = _spared_by_names(mechanism, table.tasks)
    return [
        Charge(
            worker=_as_text(worker),
            campaign=campaign,
            mechanism=mechanism,
            count=count,
            spared=less,
        )
        for worker, count in zip(table.workers.to_pylist(), counts, strict=True)
        if count or mechanism.every_task
    ]


def _as_text(worker: Any) -> str:
    """Return an id as text; 7.0, as dataframes with gaps hold it, is 7."""
    whole = isinstance(worker, float) and worker.is_integer()
    return str(int(worker) if whole else worker)
