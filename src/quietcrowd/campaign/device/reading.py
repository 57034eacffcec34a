"""Campaign documents that a device has read and verified."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import define, field

from quietcrowd.campaign.device.checked_terms import (
    CampaignTask,
    Terms,
    read_allotment,
    read_menu,
    read_tasks,
)
from quietcrowd.campaign.device.folder import CampaignFolder, Membership
from quietcrowd.campaign.device.http_client import CampaignServer
from quietcrowd.campaign.device.questions import TaskQuestions
from quietcrowd.campaign.device.records import EarlierReports
from quietcrowd.campaign.terms.server_address import CampaignLink
from quietcrowd.exceptions import AnswerError, CampaignError
from quietcrowd.mechanisms import Memo


@define(eq=False, kw_only=True)
class CampaignReading:
    """Cached reader of a campaign's documents, which rejects what was not agreed to."""

    link: CampaignLink
    server: CampaignServer
    folder: CampaignFolder
    clock: Callable[[], float] = time.time
    choice: int | None = field(default=None, init=False)
    listed: tuple[CampaignTask, ...] = field(default=(), init=False)
    _menu: tuple[Terms, ...] = field(default=(), init=False)
    _asked: tuple[CampaignTask, ...] | None = field(default=None, init=False)
    _moment: float | None = field(default=None, init=False)
    _questions: tuple[int | None, TaskQuestions] | None = field(default=None, init=False)

    @property
    def menu(self) -> tuple[Terms, ...]:
        """Verified terms of each choice; raises CampaignError unless they are as agreed to."""
        if not self._menu:
            menu = read_menu(self.server.read_campaign(), self.link.campaign)
            membership = self.folder.membership()
            if membership is not None and membership.config_hash != menu[0].config_hash:
                raise CampaignError("campaign.changed-since-consent")
            self._menu = menu
        return self._menu

    @property
    def terms(self) -> Terms:
        """Terms of the worker's choice; raises CampaignError before one is made."""
        if len(self.menu) == 1:
            return self.menu[0]
        membership = self.folder.membership()
        choice = self.choice if membership is None else membership.choice
        if choice is None:
            raise CampaignError("campaign.choice-missing", count=len(self.menu))
        return self.menu[choice]

    @property
    def now(self) -> float:
        """Time of the device, in seconds since 1970."""
        return self.clock() if self._moment is None else self._moment

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Stop the clock, so that a round does not end in the middle of a step."""
        self._moment = self.clock()
        try:
            yield
        finally:
            self._moment = None

    @property
    def round(self) -> int | None:
        """Present round, if it is the worker's and not spent; else None."""
        rounds, member = self.terms.rounds, self.folder.membership()
        number = None if rounds is None else rounds.at(self.now)
        if rounds is None or number is None or member is None:
            return None
        mine = rounds.is_own(number, member.slot) and number not in member.spent
        return number if mine else None

    @property
    def place(self) -> CampaignFolder:
        """Files of the reports: the campaign's, or those of the present or last answered round."""
        is_joined = self.folder.membership() is not None
        if not is_joined or self.folder.upload() is not None or self.terms.rounds is None:
            return self.folder
        number = self.round
        if number is not None:
            return self.folder.in_round(number)
        return next(iter(reversed(self.folder.commits())), self.folder.in_round(0))

    def names_ahead(self) -> list[str]:
        """Return the names under which a ledger charges the present and all later own rounds."""
        rounds, member = self.terms.rounds, self.folder.membership()
        if rounds is None:
            return [self.folder.campaign]
        slot = 0 if member is None else member.slot
        first = rounds.next_own(self.now, slot)
        ahead = range(rounds.cap if first is None else first, rounds.cap, rounds.slots)
        return [self.folder.in_round(number).campaign for number in ahead]

    def is_over(self, place: CampaignFolder) -> bool:
        """Return whether reports of a round are no longer accepted."""
        number = round_of(place)
        rounds = None if number is None else self.terms.rounds
        if number is None or rounds is None:
            return False
        return self.now > rounds.end(number) + rounds.grace

    @property
    def member(self) -> Membership:
        """Device's membership; raises CampaignError if the device has not joined."""
        member = self.folder.membership()
        if member is None:
            raise CampaignError("campaign.not-joined")
        return member

    @property
    def questions(self) -> TaskQuestions:
        """Tasks assigned to the worker; errors as in `member` and `read_tasks`."""
        return self.read_tasks(self.member)

    def read_tasks(self, member: Membership) -> TaskQuestions:
        """Read all tasks, and store which of them are assigned to this worker."""
        terms = self.terms
        if self._asked is None:
            answer = self.server.read_tasks(member.credential)
            listed = read_tasks(answer, self.terms)
            asked = read_allotment(answer, self.terms, listed)
            if self.terms.allotment is not None:
                ids = [task.id for task in asked]
                if self.folder.allotted(ids) != ids:
                    raise CampaignError("campaign.other-tasks-given")
            self.listed, self._asked = listed, asked
        number = round_of(self.place)
        if self._questions is None or self._questions[0] != number:
            occasion = {} if number is None else {"campaign": terms.campaign, "round": number}
            made = TaskQuestions(
                tasks=self._asked, mechanism=terms.mechanism, as_of=terms.as_of, occasion=occasion
            )
            self._questions = number, made
        return self._questions[1]

    @property
    def not_asked(self) -> frozenset[str]:
        """Names of tasks not assigned to this worker; errors as in `questions`."""
        asked = {task.name for task in self.questions.tasks}
        return frozenset(task.name for task in self.listed) - asked

    def require_asked(self, answers: Mapping[str, Any]) -> None:
        """Raise AnswerError if a task was not assigned to this worker."""
        others = self.not_asked.intersection(map(str, answers))
        if others:
            raise AnswerError(
                "campaign.tasks-not-asked",
                others=min(others),
                answers=self.terms.answers,
                tasks=self.terms.tasks,
            )

    def earlier(self) -> EarlierReports:
        """Return the records of all campaigns so far, also of this one after a withdrawal."""
        return EarlierReports.read(
            self.folder.path.parent,
            campaign=self.folder.campaign,
            origin=self.link.origin,
            requester=self.terms.requester_id,
            mechanism=self.terms.mechanism,
        )

    def open_memo(self, member: Membership) -> Memo | None:
        """Return the noise of all answers, sampled once if the mechanism allows, else None.

        In rounds, this destroys that of other rounds.
        """
        if self.terms.mechanism.no_memo is not None:
            return None
        place = self.place
        for other in self.folder.rounds().values():
            if other != place:
                other.forget_noise()
        place.open()
        return Memo.open(
            place.memo,
            mechanism=self.questions.randomizer,
            tasks=[task.name for task in self.questions.tasks],
            campaign=self.terms.campaign,
            worker=member.participant,
        )

    def forget_tasks(self) -> None:
        """Clear the cached tasks, so that the next access reads them again."""
        self._asked, self._questions, self.listed = None, None, ()


def round_of(place: CampaignFolder) -> int | None:
    """Return the round of some files; None without rounds."""
    number = place.campaign.partition("#")[2]
    return int(number) if number else None
