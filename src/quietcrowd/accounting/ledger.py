"""A ledger of the privacy that workers spend, over mechanisms and campaigns."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve, field, frozen

from quietcrowd.accounting.consent import show_most_sure
from quietcrowd.accounting.spending import (
    Charge,
    ChargeKey,
    Spending,
    add_charge,
    check_worker,
    read_charges,
    spend,
    used_of_budget,
    write_charges,
)
from quietcrowd.exceptions import ParameterError, SimulatedNoiseWarning
from quietcrowd.figures import new_panels
from quietcrowd.frames import Backend, to_native
from quietcrowd.mechanisms.mechanism import Mechanism, Reports, check_mechanism, check_reports
from quietcrowd.polls import shuffled_guarantee
from quietcrowd.privacy.guarantee import Tasks, are_named, check_counts
from quietcrowd.privacy.loss_grid import sum_losses
from quietcrowd.validation import (
    check_delta,
    check_proportion,
    check_real,
    check_text,
    check_whole,
)

NAMED = 25
"""Most workers with a name in a figure."""


def _copied(charges: Mapping[ChargeKey, Charge]) -> dict[ChargeKey, Charge]:
    return dict(charges)


@frozen(kw_only=True)
class PrivacyLedger:
    """Immutable record of the privacy that each worker has spent, per answer and in total.

    Within one campaign a worker reports each answer once, and one secret draw, if the mechanism
    makes any, serves all of that worker's answers. Counts of charges for one worker, campaign and
    mechanism therefore add up before the loss is computed. Losses compose over campaigns, also
    about one answer. To release the same answers again, or to draw afresh for a second batch,
    charge a campaign of another name.

    Ids count as text: 7, "7" and the 7.0 of a dataframe are one worker.

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
        """All charges, one per worker, campaign and mechanism, in the order first made."""
        return tuple(self._charges.values())

    @property
    def workers(self) -> tuple[str, ...]:
        """Ids of all charged workers, in the order of their first charge."""
        return tuple(dict.fromkeys(charge.worker for charge in self.charges))

    @classmethod
    def of_reports(cls, *reports: Reports, campaigns: Iterable[str] | None = None) -> PrivacyLedger:
        """Return a ledger with the charges for some reports.

        Parameters
        ----------
        *reports : Reports
            One campaign each. If every task is reported, all workers are charged for all tasks. Of
            reports of several mechanisms, a worker is charged for each mechanism.
        campaigns : iterable of str, optional
            Names, by default "1", "2" and so on. Two reports of one mechanism need different names.

        Raises
        ------
        ParameterError
            If an argument is invalid, or two reports of one mechanism have the same name.

        Warns
        -----
        SimulatedNoiseWarning
            If some reports are simulated. They are charged as if they were real.
        """
        names = _names_for(len(reports), campaigns)
        charges: dict[ChargeKey, Charge] = {}
        drawn: set[tuple[str, Mechanism]] = set()
        for name, one in zip(names, reports, strict=True):
            check_reports(one)
            for part in one.split():
                if (name, part.mechanism) in drawn:
                    raise ParameterError(
                        "privacy.campaign-twice", name=name, mechanism=part.mechanism.name
                    )
                drawn.add((name, part.mechanism))
                for charge in _charges_in(part, name):
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
        """Return a ledger with one more charge.

        Parameters
        ----------
        worker : str or int
            Id.
        mechanism : Mechanism
            Mechanism that randomizes the answers.
        answers : int
            Number of further answers; not charged if every task is reported.
        tasks : int, sequence or pyarrow.Array, optional
            Further tasks, or their number; required if every task is reported. See
            `Mechanism.guarantee`.
        campaign : str
            Name of the campaign.
        spared : float
            See `Charge`; 0 if it is unknown, or follows from the names of the tasks.

        Raises
        ------
        ParameterError
            If an argument is invalid or missing, or the campaign gets more than 10^7 of the
            worker's reports.
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
        """Return the spending of one worker; 0 without a charge.

        Parameters
        ----------
        worker : str or int
            Id.
        delta : float
            Of the pairs (epsilon, delta), at least 0 and below 1. At 0, losses are summed. Above 0
            they are composed, tightly if answers have independent noise, and never exceed their
            sum.

        Raises
        ------
        ParameterError
            If an argument is invalid.

        Notes
        -----
        At delta 0 the sum is valid at any time. Above 0 the result is valid for a schedule of
        mechanisms and answers that was fixed beforehand. If the schedule depended on earlier
        reports, it is an odometer read at a time that the data chose, and no guarantee. Then use
        `used`; see ``research/docs/theory/budgets.md``.
        """
        check_delta("delta", delta)
        one = check_worker(worker)
        return spend(one, self._charges_of(one), delta)

    def _charges_of(self, worker: str) -> list[Charge]:
        return [charge for charge in self.charges if charge.worker == worker]

    def spending(self, delta: float = 0.0) -> tuple[Spending, ...]:
        """Return the spending of each worker, in the order of `workers`; see `spent`."""
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

        Workers are (budget, delta)-private in total if they omit every report for which this is
        true, even if earlier reports determine which reports come next; see `used`.

        Parameters
        ----------
        worker, mechanism, answers, tasks, campaign
            See `charge`.
        budget : float
            Largest total loss, finite and at least 0; fixed beforehand.
        delta : float
            Total delta, below 1; fixed beforehand. Above 0, charge all answers that share one
            secret draw, such as those of a two-layer worker, at once.

        Raises
        ------
        ParameterError
            If an argument is invalid, or, at delta above 0, answers would share the draw of earlier
            ones.
        """
        check_real("budget", budget, 0)
        if delta:
            self._require_not_begun(check_worker(worker), campaign, mechanism)
        after = self.charge(worker, mechanism, answers=answers, tasks=tasks, campaign=campaign)
        return after.used(worker, budget, delta) > budget

    def _require_not_begun(self, worker: str, campaign: str, mechanism: Mechanism) -> None:
        """Raise if a draw already serves answers: earlier reports may determine what follows."""
        begun = (worker, campaign, mechanism) in self._charges
        if begun and mechanism.loss(answers=2, tasks=2).count == 1:
            raise ParameterError(
                "privacy.delta-needs-one-charge",
                worker=worker,
                campaign=campaign,
                name=mechanism.name,
            )

    def used(self, worker: str | int, budget: float, delta: float = 0.0) -> float:
        """Return how much of a budget a worker has used, however the releases were chosen.

        At delta 0 this is the sum of the losses. Above 0 it is the count of a privacy filter, which
        never exceeds the sum. It is usually more than `spent`, since it is valid even if earlier
        reports determine whether a worker goes on. See ``research/docs/theory/budgets.md``.

        Parameters
        ----------
        worker : str or int
            Id.
        budget, delta : float
            Totals, finite and at least 0, fixed before the first report; delta is below 1.

        Raises
        ------
        ParameterError
            If an argument is invalid.
        """
        check_real("budget", budget, 0)
        check_delta("delta", delta)
        own = self._charges_of(check_worker(worker))
        return used_of_budget(own, float(budget), float(delta))

    def window(self, worker: str | int, campaign: str, rounds: int, delta: float = 0.0) -> Spending:
        """Return the largest spending of one worker in `rounds` consecutive rounds of a campaign.

        Charges of round t are those of the campaign with this name, followed by ``#t``.

        Raises
        ------
        ParameterError
            If an argument is invalid.

        Examples
        --------
        >>> from quietcrowd import Categorical, RandomizedResponse
        >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0)
        >>> ledger = PrivacyLedger()
        >>> for number in (0, 7, 9):
        ...     ledger = ledger.charge("ann", mechanism, campaign=f"air#{number}")
        >>> [round(ledger.window("ann", "air", rounds).total_epsilon) for rounds in (1, 7, 30)]
        [1, 2, 3]
        """
        check_whole("rounds", rounds, 1)
        check_delta("delta", delta)
        one, start = check_worker(worker), f"{campaign}#"
        numbered = [
            (int(charge.campaign.removeprefix(start)), charge)
            for charge in self._charges_of(one)
            if charge.campaign.startswith(start) and charge.campaign[len(start) :].isdecimal()
        ]
        windows = [
            [charge for number, charge in numbered if first <= number < first + rounds]
            for first, _ in numbered
        ]
        found = [spend(one, charges, delta) for charges in windows or [[]]]
        return max(found, key=lambda spending: spending.total_epsilon)

    def shuffled(self, worker: str | int, *, honest: int, delta: float) -> float:
        """Return the epsilon of a worker with polls with shuffling only.

        It complements `spent`. It is valid only if `shuffled_assumption` is true in each campaign,
        and only against attackers that see nothing but one output of each campaign.

        Parameters
        ----------
        worker : str or int
            Id.
        honest : int
            Least number of honest reports in each campaign, including the worker's own.
        delta : float
            Total delta, above 0 and below 1, divided equally among the campaigns.

        Returns
        -------
        float
            Sum over all campaigns, at most the sum of their local losses; 0 without a charge.

        Raises
        ------
        ParameterError
            If the worker made several reports to a campaign, or `shuffled_guarantee` raises.
        """
        own = self._charges_of(check_worker(worker))
        check_proportion("delta", delta)
        several = next((charge for charge in own if charge.count > 1), None)
        if several is not None:
            raise ParameterError(
                "privacy.poll-answered-twice",
                worker=several.worker,
                count=several.count,
                campaign=several.campaign,
            )
        found = [
            shuffled_guarantee(charge.mechanism, honest=honest, delta=delta / len(own)).epsilon
            for charge in own
        ]
        return sum_losses([(epsilon, 1) for epsilon in found])

    def to_frame(self, delta: float = 0.0, backend: Backend = "pandas") -> Any:
        """Return the `spending` as a dataframe, with the numbers of reports and campaigns.

        Columns: ``worker``, ``reports``, ``campaigns``, ``answer_epsilon``, ``total_epsilon``,
        ``answer_tail``, ``total_tail``.
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

    def plot(self, delta: float = 0.0) -> Any:
        """Return a Matplotlib figure of the total epsilon of each worker; see `spent`.

        Below each epsilon stands how sure an attacker can become who was 50 % sure.

        Raises
        ------
        MissingExtraError
            If Matplotlib is not installed.
        """
        spending = sorted(self.spending(delta), key=lambda one: one.total_epsilon)
        bounded = [one for one in spending if math.isfinite(one.total_epsilon)]
        named = len(bounded) <= NAMED
        figure, (axes,) = new_panels(height=1.5 + 0.25 * len(bounded) if named else 4.5)
        places, losses = range(len(bounded)), [one.total_epsilon for one in bounded]
        if named:
            axes.barh(places, losses)
            axes.set_yticks(places, [one.worker for one in bounded])
        else:
            axes.fill_betweenx(places, losses)
            axes.set_ylabel("workers, from the lowest to the highest")
        axes.set_xlim(left=0)
        axes.margins(y=0.02)
        ticks = [tick for tick in axes.get_xticks() if tick <= axes.get_xlim()[1]]
        axes.set_xticks(ticks, [f"{tick:g}\n{show_most_sure(tick)}" for tick in ticks])
        axes.set_xlabel("total epsilon; below, the certainty that 50 % can become at most")
        without = len(spending) - len(bounded)
        more = f"; {without:,} without a limit" if without else ""
        workers = "1 worker" if len(spending) == 1 else f"{len(spending):,} workers"
        axes.set_title(f"Privacy loss of {workers}{more}")
        return figure

    def to_json(self) -> str:
        """Return the ledger as text for `from_json`."""
        return write_charges(self.charges)

    @classmethod
    def from_json(cls, text: str) -> PrivacyLedger:
        """Read a ledger from the text of `to_json`.

        Raises
        ------
        FormatError
            If the text is invalid or of another version.
        """
        return cls(charges=read_charges(text))


def _names_for(reports: int, campaigns: Any) -> list[str]:
    if campaigns is None:
        return [str(place + 1) for place in range(reports)]
    listed = isinstance(campaigns, Iterable) and not isinstance(campaigns, str)
    names = list(campaigns) if listed else campaigns
    if not listed or len(names) != reports:
        raise ParameterError("privacy.campaign-names-invalid", reports=reports, names=names)
    for name in names:
        check_text("campaign", name)
    return list(names)


def _warn_of_simulations(names: Iterable[str], reports: Iterable[Reports]) -> None:
    simulated = [name for name, one in zip(names, reports, strict=True) if one.simulated]
    if simulated:
        warnings.warn(
            SimulatedNoiseWarning(
                "privacy.simulated-reports", simulated=", ".join(map(repr, simulated))
            ),
            stacklevel=3,
        )


def _spared_by_names(mechanism: Mechanism, tasks: Tasks | None) -> float:
    """Return by how much the loss about named tasks is below that about any of their number."""
    if tasks is None or not mechanism.every_task or not are_named(tasks):
        return 0.0
    count = check_counts(1, tasks, every_task=True)
    unnamed = mechanism.guarantee(count, count).total_epsilon
    named = mechanism.guarantee(count, tasks).total_epsilon
    return max(0.0, math.nextafter(unnamed - named, 0.0)) if named < unnamed else 0.0


def _charges_in(reports: Reports, campaign: str) -> list[Charge]:
    """Return one charge per worker with reports, or per worker if every task is reported."""
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
    """Return an id as text; 7.0, as in dataframes with gaps, becomes 7."""
    whole = isinstance(worker, float) and worker.is_integer()
    return str(int(worker) if whole else worker)
