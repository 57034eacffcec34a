"""What this device has spent, over all campaigns: one ledger, of one worker.

It is charged before anything is sent, once for each campaign, by who holds its lock: two processes
cannot spend the same budget.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import evolve, field, frozen

from quietcrowd.accounting.ledger import PrivacyLedger
from quietcrowd.accounting.spending import Spending
from quietcrowd.campaign.terms.file_lock import file_lock
from quietcrowd.exceptions import FormatError, ParameterError, RemovedMechanismError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.memo.private_file import read_private, replace_private
from quietcrowd.privacy.guarantee import show_loss
from quietcrowd.validation import check_delta, check_real, checked_by

__all__ = ["Budget", "Cost", "DeviceLedger"]

_WORKER = "this device"


def _check_budget(_: object, __: object, most: float | None) -> None:
    if most is not None:
        check_real("budget", most, 0)


@frozen(kw_only=True)
class Budget:
    """The most that a worker wants to lose, over all campaigns of a device.

    Attributes
    ----------
    most : float or None
        Epsilon about all answers together; None: without a limit.
    delta : float
        Of the pair (epsilon, delta) of differential privacy, below 1; at 0 losses are summed.
    """

    most: float | None = field(default=None, validator=_check_budget)
    delta: float = field(default=0.0, validator=checked_by(check_delta))


@frozen(kw_only=True)
class Cost:
    """What a ledger counts of a campaign.

    Attributes
    ----------
    campaign : str
        A name of one campaign of one server.
    mechanism : Mechanism
        What randomises.
    count : int
        How many reports are drawn for it: one for each answer or, where every task is reported,
        for each task; at least 0.
    spared : float
        What all of them lose less than any of their number; see `Charge`.
    """

    campaign: str
    mechanism: Mechanism
    count: int
    spared: float = 0.0


@frozen(kw_only=True)
class DeviceLedger:
    """The ledger of a device.

    Attributes
    ----------
    path : Path
        Of its file, a `PrivacyLedger` as JSON, for its owner alone.
    """

    path: Path

    @classmethod
    def of(cls, device: Path) -> DeviceLedger:
        """Return the ledger of a device; parameters as those of `CampaignFolder.of`."""
        return cls(path=device / "ledger.json")

    def read(self) -> PrivacyLedger:
        """Return the ledger; an empty one where nothing was spent.

        Raises
        ------
        FormatError
            Where the file is no ledger, or others have rights to it.
        RemovedMechanismError
            If this version no longer has a mechanism that was charged.
        """
        try:
            text = read_private(self.path).decode()
        except FileNotFoundError:
            return PrivacyLedger()
        except UnicodeDecodeError:
            text = ""
        try:
            return PrivacyLedger.from_json(text)
        except RemovedMechanismError as error:
            raise RemovedMechanismError(
                f"{self.path}: {error} Without it nothing bounds what this device has spent. To "
                "answer other campaigns, name another folder with --folder, and count from 0 there."
            ) from None
        except FormatError as error:
            raise FormatError(
                f"{self.path}: {error}. Restore it from a copy: without it nobody knows what this "
                "device has spent."
            ) from None

    def campaigns(self) -> frozenset[str]:
        """Return the names of all campaigns to which something may have been sent."""
        return frozenset(charge.campaign for charge in self.read().charges)

    def charged(self, campaign: str) -> bool:
        """Return whether something was drawn for a campaign and may have been sent."""
        return campaign in self.campaigns()

    def spent(self, delta: float) -> Spending:
        """Return what was spent; see `PrivacyLedger.spent`."""
        return self.read().spent(_WORKER, delta)

    def spent_after(self, cost: Cost, delta: float) -> Spending:
        """Return what will have been spent when a campaign has its reports.

        Parameters
        ----------
        cost : Cost
            What is drawn for it.
        delta : float
            Of the pair (epsilon, delta) of differential privacy.
        """
        return self._after(cost).spent(_WORKER, delta)

    def used_after(self, cost: Cost, budget: Budget) -> float:
        """Return how much of a budget is used when a campaign has its reports.

        Whether a device answers once more may follow from what it saw of earlier campaigns, so this
        is what a privacy filter counts; see `PrivacyLedger.used`. Without a budget it is 0; other
        parameters as those of `spent_after`.
        """
        if budget.most is None:
            return 0.0
        return self._after(cost).used(_WORKER, budget.most, budget.delta)

    def require(self, cost: Cost, budget: Budget) -> None:
        """Raise ParameterError where reports would take the device above a budget.

        The message says what is used, what these would make of it, and the way out; parameters as
        those of `used_after`.
        """
        count = cost.count
        if budget.most is None or not count or self.charged(cost.campaign):
            return
        used = self.used_after(evolve(cost, count=0), budget)
        after = self.used_after(cost, budget)
        if after <= budget.most:
            return
        at = f" at delta = {budget.delta:g}" * bool(budget.delta)
        what = f"{count:,} answers" if count != 1 else "1 answer"
        ways = ["raise the budget", "give fewer answers", "take no part"]
        if cost.mechanism.every_task:
            what = f"reports on {count:,} tasks, answered or not,"
        if cost.mechanism.every_task or count == 1:
            ways.remove("give fewer answers")
        raise ParameterError(
            f"this device has used epsilon = {show_loss(used)} of a budget of "
            f"{budget.most:g}{at}, and {what} would make it {show_loss(after)}: nothing was sent. "
            f"You can {', '.join(ways[:-1])}, or {ways[-1]}."
        )

    def affordable(self, most: Cost, budget: Budget) -> int:
        """Return how many reports a budget allows to draw: at least 1, at most those of `most`.

        Where every task is reported that is all of them.

        Raises
        ------
        ParameterError
            Where it allows none. Parameters as those of `spent_after`.
        """

        def used(given: int) -> float:
            return self.used_after(evolve(most, count=given), budget)

        every_task = most.mechanism.every_task
        self.require(most if every_task else evolve(most, count=1), budget)
        free = every_task or self.charged(most.campaign)
        if budget.most is None or free or used(most.count) <= budget.most:
            return most.count
        return bisect_right(range(1, most.count + 1), budget.most, key=used)

    def charge(self, cost: Cost) -> None:
        """Count reports that are about to be sent, unless the campaign was charged before.

        Call it while the ledger is `held`.
        """
        if cost.count and not self.charged(cost.campaign):
            replace_private(self.path, self._after(cost).to_json().encode())

    def _after(self, cost: Cost) -> PrivacyLedger:
        ledger = self.read()
        if not cost.count or any(one.campaign == cost.campaign for one in ledger.charges):
            return ledger
        return ledger.charge(
            _WORKER,
            cost.mechanism,
            answers=cost.count,
            tasks=cost.count,
            campaign=cost.campaign,
            spared=cost.spared,
        )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes of the device out: what it may still spend stays what it is."""
        with file_lock(self.path.with_name(f"{self.path.name}.lock"), wait=True):
            yield
