"""The device of a worker in a campaign: it randomises, and sends nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field

from quietcrowd.answers import Answers
from quietcrowd.campaign.canonical import canonical_json
from quietcrowd.campaign.client_folder import (
    CampaignFolder,
    Membership,
    default_folder,
    device_ledger,
)
from quietcrowd.campaign.client_http import CampaignServer, checked, read_object
from quietcrowd.campaign.client_ledger import Budget, DeviceLedger
from quietcrowd.campaign.client_link import CampaignLink
from quietcrowd.campaign.client_questions import AskedQuestions, question_hash
from quietcrowd.campaign.client_terms import CampaignTask, Terms, read_tasks
from quietcrowd.campaign.client_upload import HeldReports, Receipt, Report, Upload
from quietcrowd.exceptions import AnswerError, CampaignError
from quietcrowd.mechanisms import Memo, Reports
from quietcrowd.mechanisms.memo_reports import Memoisable
from quietcrowd.mechanisms.worker_table import worker_table
from quietcrowd.privacy.accountant import Spending
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.validation import check_real

if TYPE_CHECKING:
    import httpx

__all__ = ["Client"]

_UNAUTHORIZED = 401


@define(eq=False, init=False)
class Client:
    """A worker's device in one campaign.

    It reads what the campaign asks for and refuses what does not follow from the mechanism,
    randomises answers on this device, keeps the reports, and sends them until the server
    acknowledges them. Answers are never written to a file.

    A device is a folder. What it keeps of a campaign, and what it has spent in all campaigns, is
    found again by every later client with the same folder: after a crash the same reports are sent,
    byte by byte.

    Parameters
    ----------
    url : str
        The link, as ``quietcrowd campaign invite`` prints it. HTTPS, unless it is this machine.
    invite : str, optional
        Where it is not in the link.
    folder : path, optional
        Of the device; default: ``quietcrowd`` in the user's own data folder.
    budget : float, optional
        The most that the worker wants to lose about all answers of all campaigns together:
        epsilon, at least 0. Default: without a limit.
    delta : float
        Probability that may be outside of the budget. Some mechanisms have no loss without one.
    patience : float
        How long an unanswered request is sent again, in seconds.
    transport : httpx.BaseTransport, optional
        How requests travel; default: through the network.

    Raises
    ------
    ParameterError
        Where the link is none, leads through a network without HTTPS, or a number is out of range.

    Notes
    -----
    Everything that speaks to the server can raise `CampaignError`, where it refuses or says what
    is not so, and `UnansweredError`, where it cannot be reached: then the same call may be made
    again later.

    Examples
    --------
    >>> client = Client("https://example.org/j/" + 32 * "0", folder="device", budget=20)
    >>> client.join()  # doctest: +SKIP
    >>> client.answer({"t1": "yes", "t2": "no"})  # doctest: +SKIP
    Receipt(accepted=2, duplicates=0, rejected=())
    """

    budget: Budget
    _link: CampaignLink
    _server: CampaignServer
    _folder: CampaignFolder
    _ledger: DeviceLedger = field(repr=False)
    _terms: Terms | None = field(default=None, repr=False)
    _tasks: tuple[CampaignTask, ...] | None = field(default=None, repr=False)

    def __init__(
        self,
        url: str,
        invite: str | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        budget: float | None = None,
        delta: float = 0.0,
        patience: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        check_real("patience", patience, 0)
        device = default_folder() if folder is None else Path(folder).absolute()
        self.budget = Budget(most=budget, delta=delta)
        self._link = CampaignLink.read(url, invite)
        self._server = CampaignServer(link=self._link, patience=patience, transport=transport)
        self._folder = CampaignFolder.of(device, self._link)
        self._ledger = device_ledger(device)
        self._terms = self._tasks = None

    @property
    def terms(self) -> Terms:
        """What the campaign asks for and what it costs, checked here; read once.

        Raises
        ------
        CampaignError
            Where it is not what follows from its mechanism, or not what was agreed to before.
        """
        if self._terms is None:
            path = f"/public/campaigns/{self._link.campaign}"
            terms = Terms.read(read_object(self._server.ask("GET", path)), self._link.campaign)
            membership = self._folder.membership()
            if membership is not None and membership.config_hash != terms.config_hash:
                raise CampaignError(
                    "the campaign has changed since you agreed to it: nothing is sent. Withdraw, "
                    "and ask who invited you"
                )
            self._terms = terms
        return self._terms

    @property
    def consent(self) -> tuple[str, ...]:
        """What a worker agrees to by joining, in sentences; computed from the mechanism here."""
        return self.terms.consent

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What a worker who gives as many answers as possible loses at most."""
        return self.terms.guarantee

    @property
    def tasks(self) -> tuple[CampaignTask, ...]:
        """All tasks, in the order of their ids, whoever may be going to answer which; read once.

        Raises
        ------
        CampaignError
            Where the device has not joined, or these are not the tasks that were agreed to.
        """
        if self._tasks is None:
            answer = self._server.ask("GET", "/me/tasks", credential=self._member().credential)
            self._tasks = read_tasks(read_object(answer), self.terms)
        return self._tasks

    @property
    def repeated(self) -> tuple[str, ...]:
        """Tasks whose question this device reported on in another campaign of the server; names.

        Their noise is fresh: both reports together tell more about an answer than each alone, and
        the losses about it add up. Where answers are locked, only tasks that are reported on count,
        and none once they may have been sent: the same reports again tell nothing new. A question
        with other words, or with other answers to choose from, is another one.

        Raises
        ------
        CampaignError
            As of `tasks`.
        FormatError
            Where the file of another campaign is damaged.
        """
        if self._ledger.charged(self._link.name):
            return ()
        asked = self._asked.elsewhere()
        tasks = self._reported() if self.locked else self.tasks
        return tuple(task.name for task in tasks if asked and self._question(task) in asked)

    @property
    def joined(self) -> bool:
        """Whether this device has a credential for the campaign."""
        return self._folder.membership() is not None

    @property
    def locked(self) -> bool:
        """Whether answers are locked: reports are kept here, and cannot be changed any more."""
        return self._folder.upload() is not None

    @property
    def upload(self) -> Upload:
        """What is locked, as it is sent; AnswerError where nothing is."""
        content = self._folder.upload()
        if content is None:
            raise AnswerError("no answers are locked: give answers first")
        return Upload(content=content)

    @property
    def sent(self) -> bool:
        """Whether the server acknowledged the reports."""
        return self._folder.receipt() is not None

    def spent(self) -> Spending:
        """Return what this device has spent in all campaigns, at the budget's delta."""
        return self._ledger.spent(self.budget.delta)

    def spent_after(self, answers: int | None = None) -> Spending:
        """Return what it will have spent after this campaign.

        Parameters
        ----------
        answers : int, optional
            How many are given; default: as many as possible.
        """
        given = self.terms.answers if answers is None else answers
        return self._ledger.spent_after(*self._cost(given), self.budget.delta)

    def affordable(self) -> int:
        """Return how many answers the budget allows, at most as many as the campaign takes.

        Raises
        ------
        ParameterError
            Where it allows none.
        """
        return self._ledger.affordable(*self._cost(self.terms.answers), self.budget)

    def join(self) -> None:
        """Agree to `consent` and take part; again has no effect.

        The credential is drawn once and kept. So is, where the mechanism allows it, all noise:
        before anything is answered.

        Raises
        ------
        CampaignError
            Where the campaign is closed or full, the invite is missing or used, or the worker has
            left the campaign before.
        """
        with self._folder.held():
            self._require_not_left()
            member = self._folder.enter(self.terms.config_hash)
            body = {"config_hash": member.config_hash}
            if self._link.invite is not None:
                body["invite"] = self._link.invite
            path = f"/public/campaigns/{self._link.campaign}/participants/{member.participant}"
            read_object(
                self._server.ask(
                    "PUT", path, content=canonical_json(body), credential=member.credential
                )
            )
            if not self.locked:
                self._memo(member)

    def prepare(self, answers: Mapping[str, Any]) -> Upload:
        """Lock answers: randomise them and keep the reports, which can then be sent or withdrawn.

        Nothing is sent. What is locked cannot be changed: who saw the reports and answered again
        would tell more.

        Parameters
        ----------
        answers : mapping of str to answer
            By the names of tasks; None, or no entry, is no answer.

        Returns
        -------
        Upload
            What `send` sends.

        Raises
        ------
        AnswerError
            Where a task is unknown, an answer outside the domain, there are too many or none, or
            answers were locked before. No message repeats an answer.
        ParameterError
            Where the loss would be above the budget.
        """
        member, tasks = self._member(), self.tasks
        table = worker_table(
            answers,
            domain=self.terms.mechanism.domain,
            tasks=sorted(task.name for task in tasks),
            worker=member.participant,
            campaign=self.terms.campaign,
        )
        self._check_count(len(table))
        with self._folder.held():
            self._require_not_left()
            if self.locked:
                raise AnswerError(
                    "answers to this campaign are locked already, and stay as they are: send what "
                    "is locked, or withdraw"
                )
            self._ledger.require(*self._cost(len(table)), self.budget)
            upload = Upload.of(self._randomize(table, answers, member), self.terms, tasks)
            self._folder.keep_upload(upload.content)
        return upload

    def preview(self) -> tuple[Report, ...]:
        """Return the locked reports as people read them; none where a sketch is sent.

        Raises
        ------
        AnswerError
            Where nothing is locked.
        """
        return self.upload.reports(self.terms.mechanism, self.tasks)

    def send(self) -> Receipt:
        """Send the locked reports, byte by byte the same until they are acknowledged.

        The ledger is charged before, once. A second call returns the same receipt.

        Raises
        ------
        AnswerError
            Where nothing is locked.
        ParameterError
            Where the loss would be above the budget: nothing is sent then.
        CampaignError
            Where the server rejects a report; see `Receipt.require_all`.
        """
        with self._folder.held():
            member, upload = self._member(), self.upload
            self._folder.forget_noise()
            kept = self._folder.receipt()
            if kept is None:
                count, questions = len(upload.items), map(self._question, self._reported())
                self._ledger.charge(*self._cost(count or self.terms.tasks), self.budget)
                self._asked.keep(questions)
                answer = self._server.ask(
                    "POST", "/me/reports", content=upload.content, credential=member.credential
                )
                receipt = Receipt.read(read_object(answer), upload, self.tasks)
                self._folder.keep_receipt(receipt.to_dict())
            else:
                receipt = Receipt.from_dict(kept)
        return receipt.require_all()

    def answer(self, answers: Mapping[str, Any]) -> Receipt:
        """Join, lock answers, and send their reports; see `join`, `prepare` and `send`."""
        self.join()
        self.prepare(answers)
        return self.send()

    def stored(self) -> HeldReports:
        """Return what the server holds of this worker, compared with what was sent.

        Reports that are locked and were not sent are not missing; nor are those that were sent
        without an acknowledgement where the server holds none: `send` sends them again.
        """
        answer = self._server.ask("GET", "/me/reports", credential=self._member().credential)
        content = self._folder.upload()
        begun = self.sent or self._ledger.charged(self._link.name)
        return HeldReports.read(
            read_object(answer),
            Upload(content=content) if begun and content is not None else None,
            self.terms.mechanism,
            self.tasks,
            acknowledged=self.sent,
        )

    def withdraw(self) -> None:
        """Leave: the server deletes the worker and all reports, this device all that it keeps.

        What was spent stays spent, and `repeated` knows what was asked: what was sent was sent. Who
        had locked answers does not come back with this device: fresh noise about the same answers
        would tell more. After that a second call has no effect.

        Raises
        ------
        CampaignError
            Where this device takes no part, or has lost its credential: nothing is deleted then.
        """
        self._require_leavable()
        with self._folder.held():
            member = self._folder.membership()
            if member is not None:
                answer = self._server.ask("DELETE", "/me", credential=member.credential)
                if answer.status_code != _UNAUTHORIZED:  # then it knows of no such worker
                    checked(answer)
            self._folder.leave()
            self._tasks = None

    def _cost(self, answers: int) -> tuple[str, Any, int, int]:
        """Return what the ledger counts of the campaign."""
        return self._link.name, self.terms.mechanism, answers, self.terms.tasks

    @property
    def _asked(self) -> AskedQuestions:
        return AskedQuestions(folder=self._folder.path, origin=self._link.origin)

    def _question(self, task: CampaignTask) -> str:
        return question_hash(task, self.terms.mechanism.domain)

    def _reported(self) -> tuple[CampaignTask, ...]:
        """Return the tasks that the locked reports are on; a sketch is on all."""
        ids = {item["task_id"] for item in self.upload.items}
        return tuple(task for task in self.tasks if not ids or task.id in ids)

    def _member(self) -> Membership:
        member = self._folder.membership()
        if member is None:
            raise CampaignError("this device takes no part in the campaign: join it first")
        return member

    def _require_leavable(self) -> None:
        """Raise where there is nobody whose reports the server could be asked to delete."""
        if self.joined or self._folder.withdrawn:
            return
        if self.locked or self._ledger.charged(self._link.name):
            raise CampaignError(
                f"{self._folder.credential} is gone, without which this device cannot show the "
                "server who it is, so nothing was deleted: restore it from a copy"
            )
        raise CampaignError(
            "this device takes no part in the campaign, so nothing was deleted; if you answered "
            "from another folder, name it with --folder"
        )

    def _require_not_left(self) -> None:
        """Raise where fresh noise about answers that were locked before would be drawn."""
        lost = not self.locked and self._ledger.charged(self._link.name)
        if self._folder.withdrawn or lost:
            why = "you withdrew from it" if self._folder.withdrawn else "its files are gone"
            raise CampaignError(
                f"this device has answered the campaign before, and {why}: fresh noise about the "
                "same answers would tell more, so it does not answer again"
            )

    def _check_count(self, given: int) -> None:
        terms = self.terms
        if given > terms.answers:
            raise AnswerError(
                f"the campaign takes at most {terms.answers:,} answers of a worker; got {given:,}. "
                "Leave some out."
            )
        if not given and not terms.mechanism.every_task:
            raise AnswerError("there is no answer: give at least one")

    def _memo(self, member: Membership) -> Memo | None:
        """Return what fixes the noise; None where the mechanism's reports are drawn at once."""
        if not isinstance(self.terms.mechanism, Memoisable):
            return None
        return Memo.open(
            self._folder.memo,
            mechanism=self.terms.mechanism,
            tasks=[task.name for task in self.tasks],
            campaign=self.terms.campaign,
            worker=member.participant,
        )

    def _randomize(self, table: Answers, answers: Mapping[str, Any], member: Membership) -> Reports:
        memo = self._memo(member)
        if memo is None:
            return self.terms.mechanism.randomize(table)
        return memo.report(answers)
