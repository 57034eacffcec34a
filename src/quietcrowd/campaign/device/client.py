"""Client for a worker in a campaign."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, field

from quietcrowd.accounting.spending import Spending
from quietcrowd.campaign.device.answering import Answering, upload_in
from quietcrowd.campaign.device.checked_terms import CampaignTask, Terms
from quietcrowd.campaign.device.draw import Report
from quietcrowd.campaign.device.folder import CampaignFolder, default_folder
from quietcrowd.campaign.device.http_client import CampaignServer
from quietcrowd.campaign.device.joining import Joining
from quietcrowd.campaign.device.ledger import Budget, DeviceLedger
from quietcrowd.campaign.device.noise_text import noise_sentences
from quietcrowd.campaign.device.reading import CampaignReading, round_of
from quietcrowd.campaign.device.receipt import HeldReports, WorkerReceipt
from quietcrowd.campaign.terms.near_copies import alike
from quietcrowd.campaign.terms.server_address import CampaignLink
from quietcrowd.exceptions import AnswerError, CampaignError
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.validation import check_real, check_whole

if TYPE_CHECKING:
    import httpx


@define(eq=False, init=False)
class Client:
    """A worker's device in one campaign.

    The client verifies the campaign's terms, randomizes answers locally, and stores the reports. It
    sends them until the server acknowledges them. This is one step, so no one can decide by the
    reports that were sampled. The client never writes an answer to a file.

    The directory `folder` contains the device's state: its files for each campaign and what it has
    spent in all of them. Every later client with this directory uses this state. After a crash it
    sends the same reports, byte for byte.

    Parameters
    ----------
    url : str
        Link as ``quietcrowd campaign invites create`` prints it: HTTPS, except for this machine.
    invite : str, optional
        Needed if the link contains none.
    folder : path, optional
        Directory of the device; default: ``quietcrowd`` in the user's data directory.
    budget : float, optional
        Maximum epsilon about all answers of all campaigns together, at least 0; default: no limit.
    delta : float
        Delta of the budget. At 0 losses are summed; some mechanisms then have no finite loss.
    patience : float
        How long to retry an unanswered request, in seconds.
    transport : httpx.BaseTransport, optional
        Transport of the requests; default: the network.
    clock : function, optional
        Clock of the rounds, in seconds since 1970; default: the system's.

    Raises
    ------
    ParameterError
        If the link is not a worker's link or lacks HTTPS, or a number is out of range.

    Notes
    -----
    Methods and properties that need the server raise `CampaignError` if it rejects a request or its
    documents are not what the worker agreed to. They raise `UnansweredError` if they cannot reach
    it; the same call may be repeated later. A damaged file of the device raises `FormatError`.

    Examples
    --------
    >>> client = Client("https://example.org/j/" + 32 * "0", folder="device", budget=20)
    >>> client.join()  # doctest: +SKIP
    >>> client.answer({"t1": "yes", "t2": "no"})  # doctest: +SKIP
    WorkerReceipt(accepted=2, duplicates=0, rejected=(), completion_code=None)
    """

    budget: Budget
    _server: CampaignServer
    _folder: CampaignFolder
    _ledger: DeviceLedger = field(repr=False)
    _read: CampaignReading = field(repr=False)
    _joining: Joining = field(repr=False)
    _answering: Answering = field(repr=False)

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
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_real("patience", patience, 0)
        device = default_folder() if folder is None else Path(folder).absolute()
        self.budget = Budget(most=budget, delta=delta)
        link = CampaignLink.read(url, invite)
        self._server = CampaignServer(link=link, patience=patience, transport=transport)
        self._folder = CampaignFolder.of(device, link)
        self._ledger = DeviceLedger.of(device)
        self._read = CampaignReading(
            link=link, server=self._server, folder=self._folder, clock=clock
        )
        self._joining = Joining(read=self._read, ledger=self._ledger)
        self._answering = Answering(read=self._read, ledger=self._ledger, budget=self.budget)

    @property
    def menu(self) -> tuple[Terms, ...]:
        """Terms of each choice, verified on this device and read once; without a menu, of one.

        The first has the smallest privacy loss.
        """
        return self._read.menu

    def choose(self, choice: int) -> None:
        """Choose an entry of `menu`, before joining; it stays the worker's.

        Raises ParameterError if there is none with this number, and CampaignError if the worker has
        joined with another.
        """
        check_whole("choice", choice, 0, len(self.menu) - 1)
        member = self._folder.membership()
        if len(self.menu) == 1:
            return
        if member is not None and member.choice != choice:
            raise CampaignError("campaign.choice-bound", choice=member.choice)
        self._read.choice = choice

    @property
    def terms(self) -> Terms:
        """Terms of the worker's choice; raises CampaignError before `choose` if there is a menu."""
        return self._read.terms

    @property
    def round(self) -> int | None:
        """Present round, if this worker can answer it; None otherwise, and without rounds."""
        return self._read.round

    @property
    def next_round(self) -> int | None:
        """Present or next round that this worker can answer; None after the last.

        Before joining it is unknown, and None. `Rounds.begin` returns when it begins.
        """
        rounds, member = self.terms.rounds, self._folder.membership()
        if rounds is None or member is None:
            return None
        answered = {*member.spent, *map(round_of, self._folder.commits())}
        number = rounds.next_own(self._read.now, member.slot)
        while number is not None and number in answered:
            number = rounds.next_own(rounds.end(number), member.slot)
        return number

    @property
    def consent(self) -> tuple[str, ...]:
        """Sentences that a worker agrees to by joining, computed on this device."""
        return self.terms.consent

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """Guarantee for a worker with as many answers as possible."""
        return self.terms.guarantee

    @property
    def tasks(self) -> tuple[CampaignTask, ...]:
        """Tasks that this worker may answer, ordered by id and read once.

        With an allotment they are the tasks that the worker was assigned on joining; otherwise all.
        Raises CampaignError if the device has not joined.
        """
        return tuple(self._read.questions.tasks)

    @property
    def not_asked(self) -> frozenset[str]:
        """Names of tasks that this worker was not assigned."""
        return self._read.not_asked

    @property
    def images(self) -> Mapping[str, Path]:
        """Files of the images that tasks name, by SHA-256 hash; removed after sending."""
        return self._folder.images()

    @property
    def noise_text(self) -> tuple[str, ...]:
        """Sentences, with examples, on how often each answer becomes which report.

        Workers should decide by them before they answer: after `answer` nothing is left to decide.
        """
        return noise_sentences(self.terms.mechanism, self.terms.tasks)

    @property
    def copies(self) -> tuple[tuple[str, ...], ...]:
        """Groups of at least two names of tasks that are one question, ordered by id.

        If noise is independent for each answer, they share one report, on the first answer among
        them.
        """
        return self._read.questions.copies

    @property
    def alike(self) -> tuple[tuple[str, ...], ...]:
        """Groups of names of tasks with the same prompt and different data.

        Each task gets its own report, so all of these reports reflect what the tasks have in
        common.
        """
        return alike([(task.name, task.data) for task in self.tasks])

    @property
    def reused(self) -> tuple[str, ...]:
        """Names of tasks on questions for which this requester already got a report at this server.

        The device sends the same report again, marked as such, whatever the answer is now. This has
        no further privacy loss about the answer. It shows the requester that the worker took part
        in an earlier campaign, and equal reports can show that two pseudonyms are one worker.
        """
        return () if self.committed else self._read.questions.among(self._read.earlier().known)

    @property
    def repeated(self) -> tuple[str, ...]:
        """Names of tasks whose question this device reported on before and that get fresh noise.

        The earlier report went to another server or requester, or through another channel. Both
        reports together reveal more about an answer than each of them, and their losses add up. The
        same holds for similar questions with the same letters, also about another day or with other
        possible answers. A question in other words is not recognized.
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
        """Whether reports were sampled and stored, whether or not they were sent.

        In rounds, this and `sent` are about the present round, or else the last answered one.
        """
        return self._read.place.upload() is not None

    @property
    def sent(self) -> bool:
        """Whether the server acknowledged the reports."""
        return self._read.place.receipt() is not None

    def spent(self) -> Spending:
        """Return this device's spending in all campaigns, at the budget's delta."""
        return self._ledger.spent(self.budget.delta)

    def spent_after(self, answers: int | None = None) -> Spending:
        """Return this device's maximum spending after this campaign.

        `answers` is the number of answers given; default: as many as possible.
        """
        return self._ledger.spent_after(self._answering.most_costs(answers), self.budget.delta)

    def spent_in_window(self, rounds: int | None = None) -> float:
        """Return the largest loss so far in any window of rounds of this campaign, at delta 0.

        `rounds` is their number; default: the campaign's window.
        """
        stated = self.terms.rounds
        if stated is None:
            raise CampaignError("campaign.no-rounds")
        return self._ledger.window(self._folder.campaign, rounds or stated.window)

    def used_after(self, answers: int | None = None) -> float:
        """Return at most how much of the budget is used after this campaign; 0 without a budget.

        `answers` is the number of answers given; default: as many as possible, and 0 for the use so
        far. At delta 0 this is the sum of all losses. Above 0 it is what a privacy filter counts,
        because whether a worker answers again may depend on earlier reports.
        """
        return self._ledger.used_after(self._answering.most_costs(answers), self.budget)

    def affordable(self) -> int:
        """Return how many answers the budget allows, at most the maximum of the campaign.

        After joining, this includes answers that cost nothing: to questions with an earlier report,
        and to copies of another task. Raises ParameterError if the budget allows none.
        """
        return self._answering.affordable(joined=self.joined)

    @property
    def code(self) -> str | None:
        """Code with which the worker can go on on another device; None once it is of no use."""
        return self._joining.code

    def join(self, code: str | None = None) -> None:
        """Agree to `consent` and take part; a second call has no effect.

        The device samples its credential once and stores it. If the mechanism allows, it also fixes
        all noise before any answer. It fetches all images, so that no request shows which task is
        open.

        Parameters
        ----------
        code : str, optional
            `code` of the same worker on another device. The worker continues here, with the same
            tasks.

        Raises
        ------
        ParameterError
            If `code` has another form.
        CampaignError
            If the campaign is closed or full, the invite is missing or used, the worker has
            answered and withdrawn before, or an image is not the one that the tasks name.
        """
        with self._folder.held():
            self._joining.join(code)

    def answer(self, answers: Mapping[str, Any]) -> WorkerReceipt:
        """Join, randomize answers, store the reports and send them, in one step.

        Nothing is shown in between, and no one can decide after the noise is sampled: sending only
        favorable reports would reveal more. If this call ends before the server acknowledges the
        stored reports, `resume` sends them. Before anything is sampled, the device takes the place
        at the server: no other device with the same link can send.

        Parameters
        ----------
        answers : mapping of str to answer
            By the names of tasks; None, or no entry, means no answer.

        Raises
        ------
        AnswerError
            If a task is unknown or not assigned to this worker, an answer is outside the domain,
            there are too many or none, or the campaign was answered before. No message repeats an
            answer.
        ParameterError
            If the loss would exceed the budget; nothing is sampled then.
        CampaignError
            If the server rejects a report; see `WorkerReceipt.require_all`.
        """
        self.join()
        with self._folder.held(), self._read.at_one_moment():
            self._joining.require_not_left()
            if self.terms.rounds is not None and self.round is None:
                raise AnswerError("campaign.not-this-round")
            if self.committed:
                raise AnswerError("campaign.already-answered")
            self._answering.commit(answers)
            return self._answering.send()

    def resume(self) -> WorkerReceipt:
        """Send the stored reports, byte for byte the same, until they are acknowledged.

        A second call returns the same receipt; errors as in `answer`.
        """
        with self._folder.held():
            if self._answering.pending():
                self._server.take_place(self._read.member.credential)
            return self._answering.send()

    def sent_reports(self) -> tuple[Report, ...]:
        """Return the reports that were sent, decoded; empty if a sketch was sent.

        To withdraw *because of* these reports reveals more than was agreed to. Raises AnswerError
        if the server has not acknowledged them.
        """
        if not self.sent:
            raise AnswerError("campaign.nothing-acknowledged")
        return upload_in(self._read.place).reports(self.terms.mechanism, self.tasks)

    def stored(self) -> HeldReports:
        """Return the server's data of this worker, compared with the sent data.

        Reports without an acknowledgment are not shown. They do not count as missing if the server
        stores none, because `resume` sends them again.
        """
        commits, rounds = self._folder.commits(), self.terms.rounds
        over = (
            0 if rounds is None else (self._read.now - rounds.begin(rounds.keep)) // rounds.length
        )
        return HeldReports.read(
            self._server.read_reports(self._read.member.credential),
            [upload_in(place) for place in commits],
            self.terms.mechanism,
            self.tasks,
            acknowledged=all(place.receipt() is not None for place in commits),
            deleted=range(max(0, int(over))),
        )

    def withdraw(self) -> None:
        """Delete the worker and all reports at the server, and the files of the campaign here.

        What was spent remains spent, and the device still stores each report under its question.
        After answering, this device cannot join again: fresh noise about the same answers would
        reveal more. A second call then has no effect.

        Workers may withdraw at any time. But the guarantee assumes that they do not decide by the
        sampled reports: withdrawing because of them reveals more.

        Raises
        ------
        CampaignError
            If this device takes no part or has lost its credential; nothing is deleted then.
        """
        self._joining.require_leavable()
        with self._folder.held():
            self._joining.leave()
            with self._ledger.held():
                self._answering.charge()
            self._folder.leave()
            self._read.forget_tasks()
