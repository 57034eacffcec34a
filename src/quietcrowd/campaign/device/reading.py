"""What a device has read of a campaign, and checked: the terms, and the tasks that it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import define, field

from quietcrowd.campaign.device.checked_terms import (
    CampaignTask,
    Terms,
    read_allotment,
    read_tasks,
)
from quietcrowd.campaign.device.folder import CampaignFolder, Membership
from quietcrowd.campaign.device.http_client import CampaignServer
from quietcrowd.campaign.device.link import CampaignLink
from quietcrowd.campaign.device.questions import TaskQuestions
from quietcrowd.campaign.device.records import EarlierReports
from quietcrowd.exceptions import AnswerError, CampaignError

__all__ = ["CampaignReading"]


@define(eq=False, kw_only=True)
class CampaignReading:
    """Reads each document of a campaign once, and refuses what was not agreed to.

    Attributes
    ----------
    link : CampaignLink
        Of the campaign.
    server : CampaignServer
        That gives the documents out.
    folder : CampaignFolder
        Where the device keeps what it agreed to, and which tasks it was given.
    listed : tuple of CampaignTask
        All tasks of the campaign, once they are read.
    """

    link: CampaignLink
    server: CampaignServer
    folder: CampaignFolder
    listed: tuple[CampaignTask, ...] = field(default=(), init=False)
    _terms: Terms | None = field(default=None, init=False)
    _asked: TaskQuestions | None = field(default=None, init=False)

    @property
    def terms(self) -> Terms:
        """What the campaign asks for and what it costs.

        Raises
        ------
        CampaignError
            Where it is not what follows from its mechanism, or not what was agreed to before.
        """
        if self._terms is None:
            terms = Terms.read(self.server.read_campaign(), self.link.campaign)
            membership = self.folder.membership()
            if membership is not None and membership.config_hash != terms.config_hash:
                raise CampaignError(
                    "the campaign has changed since you agreed to it: nothing is sent. Withdraw, "
                    "and ask who invited you"
                )
            self._terms = terms
        return self._terms

    @property
    def member(self) -> Membership:
        """Who the worker is in the campaign.

        Raises
        ------
        CampaignError
            Where the device has not joined.
        """
        member = self.folder.membership()
        if member is None:
            raise CampaignError("this device takes no part in the campaign: join it first")
        return member

    @property
    def questions(self) -> TaskQuestions:
        """The tasks that the worker is asked; errors as of `member` and `read_tasks`."""
        return self._asked or self.read_tasks(self.member)

    def read_tasks(self, member: Membership) -> TaskQuestions:
        """Read all tasks, and keep which of them this worker is asked, where those are some.

        Raises
        ------
        CampaignError
            Where these are not the tasks that were agreed to, or not those that were first given.
        """
        if self._asked is None:
            answer = self.server.read_tasks(member.credential)
            listed = read_tasks(answer, self.terms)
            asked = read_allotment(answer, self.terms, listed)
            if self.terms.allotment is not None:
                self._keep_allotment([task.id for task in asked])
            self.listed = listed
            self._asked = TaskQuestions(
                tasks=asked, mechanism=self.terms.mechanism, as_of=self.terms.as_of
            )
        return self._asked

    def _keep_allotment(self, ids: list[str]) -> None:
        """Keep what the server gives first, and raise where it gives something else later."""
        if self.folder.allotted(ids) != ids:
            raise CampaignError(
                "the server gives this device other tasks than before: some at a time, it could "
                "ask about all of them. Nothing more is sent: withdraw, and ask who invited you"
            )

    @property
    def not_asked(self) -> frozenset[str]:
        """Names of the campaign's other tasks; errors as of `questions`."""
        asked = {task.name for task in self.questions.tasks}
        return frozenset(task.name for task in self.listed) - asked

    def require_asked(self, answers: Mapping[str, Any]) -> None:
        """Raise AnswerError where there are answers to tasks of other workers."""
        others = self.not_asked.intersection(map(str, answers))
        if others:
            raise AnswerError(
                f"this worker was not asked {min(others)!r}: the campaign gives each worker "
                f"{self.terms.answers:,} of its {self.terms.tasks:,} tasks. Leave it out."
            )

    def earlier(self) -> EarlierReports:
        """Return what the device has sent by now, also to this campaign where it has left."""
        return EarlierReports.read(
            self.folder.path.parent,
            origin=self.link.origin,
            requester=self.terms.requester_id,
            mechanism=self.terms.mechanism,
        )

    def forget_tasks(self) -> None:
        """Read the tasks again, where they are asked for again."""
        self._asked, self.listed = None, ()
