"""The device of a worker in a campaign: it randomises, and sends nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field

from quietcrowd.accounting.spending import Spending
from quietcrowd.campaign.device.checked_terms import (
    CampaignTask,
    Terms,
)
from quietcrowd.campaign.device.draw import CommittedReports, Draw, Report
from quietcrowd.campaign.device.folder import (
    CampaignFolder,
    Membership,
    default_folder,
)
from quietcrowd.campaign.device.http_client import CampaignServer
from quietcrowd.campaign.device.images import fetch_images
from quietcrowd.campaign.device.law import law_sentences
from quietcrowd.campaign.device.ledger import Budget, Cost, DeviceLedger
from quietcrowd.campaign.device.link import CampaignLink
from quietcrowd.campaign.device.questions import channel_hash
from quietcrowd.campaign.device.reading import CampaignReading
from quietcrowd.campaign.device.receipt import HeldReports, WorkerReceipt
from quietcrowd.campaign.device.records import (
    CampaignRecord,
    charge_records,
    read_record,
)
from quietcrowd.campaign.terms.near_copies import alike
from quietcrowd.exceptions import AnswerError, CampaignError, ParameterError
from quietcrowd.mechanisms import Memo
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.validation import check_real

if TYPE_CHECKING:
    import httpx

__all__ = ["Client"]


@define(eq=False, init=False)
class Client:
    """A worker's device in one campaign.

    It reads what the campaign asks for and refuses what does not follow from the mechanism,
    randomises answers on this device, keeps the reports, and sends them until the server
    acknowledges them: in one step, so that nobody can decide by what was drawn. Answers are never
    written to a file.

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
        Of the pair (epsilon, delta) of differential privacy that the budget is about. At 0 losses
        are summed; some mechanisms have no finite loss then.
    patience : float
        How long an unanswered request is sent again, in seconds.
    transport : httpx.BaseTransport, optional
        How requests travel; default: through the network.

    Raises
    ------
    ParameterError
        Where it is no worker's link, it leads through a network without HTTPS, or a number is out
        of range.

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
    WorkerReceipt(accepted=2, duplicates=0, rejected=(), completion_code=None)
    """

    budget: Budget
    _link: CampaignLink
    _server: CampaignServer
    _folder: CampaignFolder
    _ledger: DeviceLedger = field(repr=False)
    _read: CampaignReading = field(repr=False)

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
        self._ledger = DeviceLedger.of(device)
        self._read = CampaignReading(link=self._link, server=self._server, folder=self._folder)

    @property
    def terms(self) -> Terms:
        """What the campaign asks for and what it costs, checked here; read once.

        Raises
        ------
        CampaignError
            Where it is not what follows from its mechanism, or not what was agreed to before.
        """
        return self._read.terms

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
        """The tasks that this worker may answer, in the order of their ids; read once.

        All of the campaign, whoever may be going to answer which; or those that this worker was
        given as the device joined, where the campaign hands out some to each.

        Raises
        ------
        CampaignError
            Where the device has not joined, these are not the tasks that were agreed to, or not
            those that it was first given.
        """
        return tuple(self._read.questions.tasks)

    @property
    def not_asked(self) -> frozenset[str]:
        """Names of the campaign's other tasks, which this worker was not given; errors as above."""
        return self._read.not_asked

    @property
    def images(self) -> Mapping[str, Path]:
        """Files of the images that tasks name, by their hashes.

        This device has them from joining until its reports are acknowledged.
        """
        return self._folder.images()

    @property
    def law(self) -> tuple[str, ...]:
        """How often this device turns which answer into which report, in sentences, with examples.

        It is what to decide on, before answers are given: after `answer` nothing is left to decide.
        """
        return law_sentences(self.terms.mechanism, self.terms.tasks)

    @property
    def copies(self) -> tuple[tuple[str, ...], ...]:
        """Names of tasks that are one question, in the order of their ids; several at a time.

        Where the noise of each answer is its own they get one report: on the answer to the first
        of them that has one. Errors as of `tasks`.
        """
        return self._read.questions.copies

    @property
    def alike(self) -> tuple[tuple[str, ...], ...]:
        """Names of tasks that ask with the same words and show other data; several at a time.

        Each gets a report of its own: what they have in common shows in all of them.
        """
        return alike([(task.name, task.data) for task in self.tasks])

    @property
    def reused(self) -> tuple[str, ...]:
        """Tasks whose report was sent to this requester at this server before; names.

        The same report is sent again, marked as such, whatever the answer is now. It loses nothing
        more about the answer. It shows the requester that the worker took part in an earlier
        campaign, and equal reports can show that two pseudonyms are one worker.

        Raises
        ------
        CampaignError
            As of `tasks`.
        FormatError
            Where the file of another campaign is damaged.
        """
        return () if self.committed else self._read.questions.among(self._read.earlier().known)

    @property
    def repeated(self) -> tuple[str, ...]:
        """Tasks whose question this device reported on before, and that get fresh noise; names.

        In a campaign of another server or requester, or through another channel: both reports
        together tell more about an answer than each alone, and the losses about it add up. So do
        near-copies, and the same words about another day. A question with other words, or with
        other answers to choose from, is another one. Errors as of `reused`.
        """
        if self.committed:
            return ()
        questions, earlier = self._read.questions, self._read.earlier()
        return tuple(
            name
            for name, question in questions.hashes.items()
            if earlier.asked(question, questions.letters[name])
        )

    @property
    def joined(self) -> bool:
        """Whether this device has a credential for the campaign."""
        return self._folder.membership() is not None

    @property
    def committed(self) -> bool:
        """Whether reports were drawn and are kept: they are sent, or on their way."""
        return self._folder.upload() is not None

    @property
    def sent(self) -> bool:
        """Whether the server acknowledged the reports."""
        return self._folder.receipt() is not None

    def spent(self) -> Spending:
        """Return what this device has spent in all campaigns, at the budget's delta."""
        return self._ledger.spent(self.budget.delta)

    def spent_after(self, answers: int | None = None) -> Spending:
        """Return what it will have spent after this campaign, at most.

        Parameters
        ----------
        answers : int, optional
            How many are given; default: as many as possible.
        """
        return self._ledger.spent_after(self._cost(self._most_drawn(answers)), self.budget.delta)

    def used_after(self, answers: int | None = None) -> float:
        """Return how much of the budget is used after this campaign, at most; 0 without a budget.

        At a delta of 0 it is the sum of all losses; above, it is what a privacy filter counts, as
        whether a worker answers once more may follow from what came of earlier reports.

        Parameters
        ----------
        answers : int, optional
            How many are given; default: as many as possible. 0 is what is used by now.
        """
        return self._ledger.used_after(self._cost(self._most_drawn(answers)), self.budget)

    def affordable(self) -> int:
        """Return how many answers the budget allows, at most as many as the campaign takes.

        Whoever has joined gets on top those that cost nothing: to a question that was reported on,
        and to copies of one.

        Raises
        ------
        ParameterError
            Where it allows none.
        """
        terms, free = self.terms, self._free() if self.joined else 0
        drawn = terms.tasks - free if terms.mechanism.every_task else terms.answers
        try:
            allowed = self._ledger.affordable(self._cost(drawn), self.budget)
        except ParameterError:
            if not free or terms.mechanism.every_task:
                raise
            allowed = 0
        return terms.answers if terms.mechanism.every_task else min(terms.answers, allowed + free)

    def join(self) -> None:
        """Agree to `consent` and take part; again has no effect.

        The credential is drawn once and kept. So is, where the mechanism allows it, all noise:
        before anything is answered. All images are fetched, whichever task is going to be open.

        Raises
        ------
        CampaignError
            Where the campaign is closed or full, the invite is missing or used, the worker has left
            the campaign before, or an image is not what the tasks name.
        """
        with self._folder.held():
            self._require_not_left()
            member = self._folder.enter(self.terms.config_hash)
            self._server.join(member.participant, member.credential, member.config_hash)
            if not self.committed:
                self._read.read_tasks(member)
                fetch_images(self._read.listed, self._folder, self._server, member.credential)
                self._memo(member)

    def answer(self, answers: Mapping[str, Any]) -> WorkerReceipt:
        """Join, randomise answers, keep the reports, and send them: in one step.

        Nothing is shown in between, and nothing can be decided after the noise is drawn: who would
        send only what turned out well tells more. From the moment they are kept the reports are on
        their way. Where this call ends before they are acknowledged, `resume` sends them.

        Parameters
        ----------
        answers : mapping of str to answer
            By the names of tasks; None, or no entry, is no answer.

        Returns
        -------
        WorkerReceipt
            What became of them.

        Raises
        ------
        AnswerError
            Where a task is unknown or was not given to this worker, an answer outside the domain,
            there are too many or none, or the campaign was answered before. No message repeats an
            answer.
        ParameterError
            Where the loss would be above the budget: nothing is drawn then.
        CampaignError
            Where the server rejects a report; see `WorkerReceipt.require_all`.
        """
        self.join()
        with self._folder.held():
            self._require_not_left()
            if self.committed:
                raise AnswerError(
                    "this device has answered the campaign, and its reports stay as they are: send "
                    "what is on its way, or withdraw"
                )
            self._commit(answers)
            return self._send()

    def resume(self) -> WorkerReceipt:
        """Send what is on its way, byte by byte the same until it is acknowledged.

        A second call returns the same receipt; errors as of `answer`.
        """
        with self._folder.held():
            return self._send()

    def sent_reports(self) -> tuple[Report, ...]:
        """Return what was sent, as people read it; nothing where it was a sketch.

        Whoever withdraws *because of* what is here tells more than was agreed to.

        Raises
        ------
        AnswerError
            Where the server has not acknowledged it: until then there is nothing to look at.
        """
        if not self.sent:
            raise AnswerError("nothing was sent, or the server has not acknowledged it yet")
        return self._upload().reports(self.terms.mechanism, self.tasks)

    def stored(self) -> HeldReports:
        """Return what the server holds of this worker, compared with what was sent.

        Reports without an acknowledgement are not shown, and are not missing where the server holds
        none: `resume` sends them again.
        """
        return HeldReports.read(
            self._server.read_reports(self._read.member.credential),
            self._upload() if self.committed else None,
            self.terms.mechanism,
            self.tasks,
            acknowledged=self.sent,
        )

    def withdraw(self) -> None:
        """Leave: the server deletes the worker and all reports, this device all that it keeps.

        What was spent stays spent, and each report is kept under its question: what was sent was
        sent. Who has answered does not come back with this device: fresh noise about the same
        answers would tell more. After that a second call has no effect.

        It is a right at any time. But the guarantee is that of who does not decide by what was
        drawn: whoever withdraws because of it tells more.

        Raises
        ------
        CampaignError
            Where this device takes no part, or has lost its credential: nothing is deleted then.
        """
        self._require_leavable()
        with self._folder.held():
            member = self._folder.membership()
            if member is not None:
                self._server.withdraw(member.credential)
            if self.committed:
                with self._ledger.held():
                    self._charge()
            self._folder.leave()
            self._read.forget_tasks()

    def _commit(self, answers: Mapping[str, Any]) -> None:
        """Draw, commit the reports with their record, and charge them; nothing is shown."""
        member = self._read.member
        self._read.require_asked(answers)
        with self._ledger.held():
            earlier = self._read.earlier()
            charge_records(earlier.records, self._ledger)
            draw = Draw.of(
                answers,
                worker=member.participant,
                terms=self.terms,
                questions=self._read.questions,
                known=earlier.known,
            )
            self._check_count(len(draw.answers))
            self._ledger.require(self._cost(draw.count), self.budget)
            upload, reports = draw.commit(answers, self._memo(member))
            record = CampaignRecord(
                campaign=self._link.name,
                origin=self._link.origin,
                mechanism=self.terms.mechanism.to_dict(),
                channel=channel_hash(self.terms.mechanism),
                count=draw.count,
                spared=self._cost(draw.count).spared,
                letters=sorted(
                    {
                        letters
                        for task in draw.reported
                        for letters in self._read.questions.letters[task.name]
                    }
                ),
                reports=reports,
                requester=self.terms.requester_id,
            )
            self._folder.keep_upload(upload.content, record.content)
            self._charge()

    def _send(self) -> WorkerReceipt:
        """Send what is committed until it is acknowledged, and return the receipt."""
        member, upload = self._read.member, self._upload()
        self._folder.forget_noise()
        kept = self._folder.receipt()
        if kept is not None:
            return WorkerReceipt.from_dict(kept).require_all()
        with self._ledger.held():
            self._charge()
        answer = self._server.send(upload.content, member.credential)
        receipt = WorkerReceipt.read(answer, upload, self.tasks)
        self._folder.keep_receipt(receipt.to_dict())
        return receipt.require_all()

    def _charge(self) -> None:
        """Charge what this campaign was committed to get, unless that was done."""
        record = read_record(self._folder.path)
        if record is not None:
            record.keep(self._folder.path)
        charge_records(() if record is None else (record,), self._ledger)

    def _upload(self) -> CommittedReports:
        content = self._folder.upload()
        if content is None:
            raise AnswerError("nothing is on its way: answer first")
        return CommittedReports(content=content)

    def _cost(self, count: int) -> Cost:
        """Return what the ledger counts of the campaign."""
        return Cost(
            campaign=self._link.name,
            mechanism=self.terms.mechanism,
            count=count,
            spared=self.terms.spared if count == self.terms.tasks else 0.0,
        )

    def _most_drawn(self, answers: int | None) -> int:
        """Return how many reports so many answers take at most; None is as many as possible."""
        given = self.terms.answers if answers is None else answers
        return self.terms.tasks if given and self.terms.mechanism.every_task else given

    def _free(self) -> int:
        """Return how many tasks cost nothing: reported on before, or copies of another one."""
        if channel_hash(self.terms.mechanism) is None:
            return 0
        return len(self.tasks) - len(
            self._read.questions.groups.keys() - self._read.earlier().known.keys()
        )

    def _require_leavable(self) -> None:
        """Raise where there is nobody whose reports the server could be asked to delete."""
        if self.joined or self._folder.withdrawn:
            return
        if self.committed or self._ledger.charged(self._link.name):
            raise CampaignError(
                f"{self._folder.credential} is gone, without which this device cannot show the "
                "server who it is, so nothing was deleted: restore it from a copy"
            )
        raise CampaignError(
            "this device takes no part in the campaign, so nothing was deleted; if you answered "
            "from another folder, name it with --folder"
        )

    def _require_not_left(self) -> None:
        """Raise where fresh noise about answers that were given before would be drawn."""
        lost = not self.committed and self._ledger.charged(self._link.name)
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
        if self.terms.mechanism.no_memo is not None:
            return None
        return Memo.open(
            self._folder.memo,
            mechanism=self.terms.mechanism,
            tasks=[task.name for task in self.tasks],
            campaign=self.terms.campaign,
            worker=member.participant,
        )
