"""Ledger of a device's privacy losses over all campaigns, charged once before reports are sent."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import evolve, field, frozen

from quietcrowd.accounting.ledger import PrivacyLedger
from quietcrowd.accounting.spending import Spending
from quietcrowd.exceptions import FormatError, ParameterError, RemovedMechanismError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.privacy.guarantee import show_loss
from quietcrowd.private_files import file_lock, read_private, replace_private
from quietcrowd.validation import check_delta, check_real, checked_by

_WORKER = "this device"


def _check_budget(_: object, __: object, most: float | None) -> None:
    if most is not None:
        check_real("budget", most, 0)


@frozen(kw_only=True)
class Budget:
    """Maximum epsilon of all answers over all campaigns of a device; None for no limit."""

    most: float | None = field(default=None, validator=_check_budget)
    delta: float = field(default=0.0, validator=checked_by(check_delta))


@frozen(kw_only=True)
class Cost:
    """Charge of a campaign, by `CampaignLink.name`, for `count` sampled reports; see `Charge`."""

    campaign: str
    mechanism: Mechanism
    count: int
    spared: float = 0.0


@frozen(kw_only=True)
class DeviceLedger:
    """Ledger of a device, a `PrivacyLedger` in a JSON file that only its owner can read."""

    path: Path

    @classmethod
    def of(cls, device: Path) -> DeviceLedger:
        """Return the ledger in the directory of a device."""
        return cls(path=device / "ledger.json")

    def read(self) -> PrivacyLedger:
        """Return the ledger, empty if missing; raise FormatError if it is damaged."""
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
                "campaign.ledger-of-removed-mechanism", path=self.path, error=error
            ) from None
        except FormatError as error:
            raise FormatError("campaign.ledger-damaged", path=self.path, error=error) from None

    def campaigns(self) -> frozenset[str]:
        """Return the names of all campaigns to which reports may have been sent."""
        return frozenset(charge.campaign for charge in self.read().charges)

    def charged(self, campaign: str) -> bool:
        """Return whether reports may have been sent to a campaign."""
        return campaign in self.campaigns()

    def charged_of(self, campaign: str) -> frozenset[str]:
        """Return the names under which a campaign is charged: its own, or those of its rounds."""
        rounds = f"{campaign}#"
        return frozenset(
            name for name in self.campaigns() if name == campaign or name.startswith(rounds)
        )

    def spent(self, delta: float) -> Spending:
        """Return the spending; see `PrivacyLedger.spent`."""
        return self.read().spent(_WORKER, delta)

    def window(self, campaign: str, rounds: int) -> float:
        """Return the largest loss in this many rounds in a row; see `PrivacyLedger.window`."""
        return self.read().window(_WORKER, campaign, rounds).total_epsilon

    def spent_after(self, costs: Iterable[Cost], delta: float) -> Spending:
        """Return the spending once campaigns, or rounds, have their reports."""
        return self._after(costs).spent(_WORKER, delta)

    def used_after(self, costs: Iterable[Cost], budget: Budget) -> float:
        """Return how much of a budget is then used; see `PrivacyLedger.used`."""
        if budget.most is None:
            return 0.0
        return self._after(costs).used(_WORKER, budget.most, budget.delta)

    def require(self, cost: Cost, budget: Budget) -> None:
        """Raise ParameterError if new reports would exceed a budget."""
        if budget.most is None or not cost.count or self.charged(cost.campaign):
            return
        used = self.used_after((), budget)
        after = self.used_after((cost,), budget)
        if after <= budget.most:
            return
        fewer = cost.count > 1 and not cost.mechanism.every_task
        raise ParameterError(
            "campaign.budget-exceeded",
            used=show_loss(used),
            budget=budget.most,
            delta=budget.delta,
            count=cost.count,
            total=show_loss(after),
            alternative=", give fewer answers" if fewer else "",
        )

    def affordable(self, most: Cost, budget: Budget) -> int:
        """Return how many reports a budget allows, up to `most.count`; if none, ParameterError."""

        def used(given: int) -> float:
            return self.used_after((evolve(most, count=given),), budget)

        every_task = most.mechanism.every_task
        self.require(most if every_task else evolve(most, count=1), budget)
        free = every_task or self.charged(most.campaign)
        if budget.most is None or free or used(most.count) <= budget.most:
            return most.count
        return bisect_right(range(1, most.count + 1), budget.most, key=used)

    def charge(self, cost: Cost) -> None:
        """Charge reports that are about to be sent, unless charged; the caller holds the lock."""
        if cost.count and not self.charged(cost.campaign):
            replace_private(self.path, self._after((cost,)).to_json().encode())

    def _after(self, costs: Iterable[Cost]) -> PrivacyLedger:
        ledger = self.read()
        charged = {one.campaign for one in ledger.charges}
        for cost in costs:
            if cost.count and cost.campaign not in charged:
                ledger = ledger.charge(
                    _WORKER,
                    cost.mechanism,
                    answers=cost.count,
                    tasks=cost.count,
                    campaign=cost.campaign,
                    spared=cost.spared,
                )
        return ledger

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the ledger against other processes, waiting for the lock."""
        with file_lock(self.path.with_name(f"{self.path.name}.lock"), wait=True):
            yield
