"""What this device has spent, over all campaigns: one ledger, of one worker.

It is charged before anything is sent, once for each campaign, under a lock: two processes cannot
spend the same budget.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import field, frozen

from quietcrowd.campaign.file_lock import file_lock
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.private_file import read_private, replace_private
from quietcrowd.privacy.accountant import PrivacyLedger, Spending
from quietcrowd.privacy.guarantee import show_loss
from quietcrowd.validation import check_real

__all__ = ["Budget", "DeviceLedger"]

_WORKER = "this device"


def _check_budget(_: object, __: object, most: float | None) -> None:
    if most is not None:
        check_real("budget", most, 0)


def _check_delta(_: object, __: object, delta: float) -> None:
    check_real("delta", delta, 0)
    if not delta < 1:
        raise ParameterError(f"delta must be below 1: at 1 everything is allowed; got {delta!r}")


@frozen(kw_only=True)
class Budget:
    """The most that a worker wants to lose, over all campaigns of a device.

    Attributes
    ----------
    most : float or None
        Epsilon about all answers together; None: without a limit.
    delta : float
        Probability that may be outside, below 1; at 0 losses are summed.
    """

    most: float | None = field(default=None, validator=_check_budget)
    delta: float = field(default=0.0, validator=_check_delta)


@frozen(kw_only=True)
class DeviceLedger:
    """The ledger of a device.

    Attributes
    ----------
    path : Path
        Of its file, a `PrivacyLedger` as JSON, for its owner alone.
    """

    path: Path

    def read(self) -> PrivacyLedger:
        """Return the ledger; an empty one where nothing was spent.

        Raises
        ------
        FormatError
            Where the file is no ledger, or others have rights to it.
        """
        try:
            text = read_private(self.path).decode()
        except FileNotFoundError:
            return PrivacyLedger()
        except UnicodeDecodeError:
            text = ""
        try:
            return PrivacyLedger.from_json(text)
        except FormatError as error:
            raise FormatError(
                f"{self.path}: {error}. Restore it from a copy: without it nobody knows what this "
                "device has spent."
            ) from None

    def charged(self, campaign: str) -> bool:
        """Return whether something may have been sent to a campaign."""
        return any(charge.campaign == campaign for charge in self.read().charges)

    def spent(self, delta: float) -> Spending:
        """Return what was spent; see `PrivacyLedger.spent`."""
        return self.read().spent(_WORKER, delta)

    def spent_after(
        self, campaign: str, mechanism: Mechanism, answers: int, tasks: int, delta: float
    ) -> Spending:
        """Return what will have been spent when a campaign has its reports.

        Parameters
        ----------
        campaign : str
            A name of one campaign of one server.
        mechanism : Mechanism
            What randomises.
        answers, tasks : int
            How many are given, and how many there are.
        delta : float
            Probability that may be outside.
        """
        return self._after(campaign, mechanism, answers, tasks).spent(_WORKER, delta)

    def require(
        self, campaign: str, mechanism: Mechanism, answers: int, tasks: int, budget: Budget
    ) -> None:
        """Raise ParameterError where reports would take the device above a budget.

        The message says what is spent, what these would make of it, and the way out; parameters as
        those of `spent_after`.
        """
        if budget.most is None or self.charged(campaign):
            return
        spent = self.spent(budget.delta).total_epsilon
        after = self.spent_after(campaign, mechanism, answers, tasks, budget.delta).total_epsilon
        if after <= budget.most:
            return
        at = f" at delta = {budget.delta:g}" * bool(budget.delta)
        what = f"{answers:,} answers" if answers != 1 else "1 answer"
        ways = ["raise the budget", "give fewer answers", "take no part"]
        if mechanism.every_task:
            what = f"reports on {tasks:,} tasks, answered or not,"
        if mechanism.every_task or answers == 1:
            ways.remove("give fewer answers")
        if not math.isfinite(after):
            ways[0] = "give a delta above 0, without which this loss has no bound"
        raise ParameterError(
            f"this device has spent epsilon = {show_loss(spent)} of a budget of "
            f"{budget.most:g}{at}, and {what} would make it {show_loss(after)}: nothing was sent. "
            f"You can {', '.join(ways[:-1])}, or {ways[-1]}."
        )

    def affordable(
        self, campaign: str, mechanism: Mechanism, answers: int, tasks: int, budget: Budget
    ) -> int:
        """Return how many answers a budget allows: at least 1, at most `answers`.

        Where every task is reported their number costs nothing, and all are allowed.

        Raises
        ------
        ParameterError
            Where it allows none. Parameters as those of `spent_after`.
        """

        def loss(given: int) -> float:
            after = self.spent_after(campaign, mechanism, given, tasks, budget.delta)
            return after.total_epsilon

        self.require(campaign, mechanism, 1, tasks, budget)
        free = mechanism.every_task or self.charged(campaign)
        if budget.most is None or free or loss(answers) <= budget.most:
            return answers
        return bisect_right(range(1, answers + 1), budget.most, key=loss)

    def charge(
        self, campaign: str, mechanism: Mechanism, answers: int, tasks: int, budget: Budget
    ) -> None:
        """Count reports that are about to be sent, unless they were counted before.

        Raises
        ------
        ParameterError
            Where that would be above the budget: then nothing is counted. Parameters as those of
            `spent_after`.
        """
        with self._held():
            self.require(campaign, mechanism, answers, tasks, budget)
            if not self.charged(campaign):
                after = self._after(campaign, mechanism, answers, tasks)
                replace_private(self.path, after.to_json().encode())

    def _after(
        self, campaign: str, mechanism: Mechanism, answers: int, tasks: int
    ) -> PrivacyLedger:
        ledger = self.read()
        if any(charge.campaign == campaign for charge in ledger.charges):
            return ledger
        given = max(1, answers)  # where every task is reported there may be none
        return ledger.charge(_WORKER, mechanism, answers=given, tasks=tasks, campaign=campaign)

    @contextmanager
    def _held(self) -> Iterator[None]:
        with file_lock(self.path.with_name(f"{self.path.name}.lock"), wait=True):
            yield
