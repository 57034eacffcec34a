"""Campaign documents that a device has read and verified."""

from collections.abc import Mapping
from typing import Any

from attrs import define, field

from quietcrowd.campaign.device.checked_terms import CampaignTask, Terms, read_allotment, read_tasks
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
    listed: tuple[CampaignTask, ...] = field(default=(), init=False)
    _terms: Terms | None = field(default=None, init=False)
    _asked: TaskQuestions | None = field(default=None, init=False)

    @property
    def terms(self) -> Terms:
        """Verified terms; raises CampaignError if they differ from what was agreed to."""
        if self._terms is None:
            terms = Terms.read(self.server.read_campaign(), self.link.campaign)
            membership = self.folder.membership()
            if membership is not None and membership.config_hash != terms.config_hash:
                raise CampaignError("campaign.changed-since-consent")
            self._terms = terms
        return self._terms

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
        return self._asked or self.read_tasks(self.member)

    def read_tasks(self, member: Membership) -> TaskQuestions:
        """Read all tasks, and store which of them are assigned to this worker."""
        if self._asked is None:
            answer = self.server.read_tasks(member.credential)
            listed = read_tasks(answer, self.terms)
            asked = read_allotment(answer, self.terms, listed)
            if self.terms.allotment is not None:
                ids = [task.id for task in asked]
                if self.folder.allotted(ids) != ids:
                    raise CampaignError("campaign.other-tasks-given")
            self.listed = listed
            self._asked = TaskQuestions(
                tasks=asked, mechanism=self.terms.mechanism, as_of=self.terms.as_of
            )
        return self._asked

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
            origin=self.link.origin,
            requester=self.terms.requester_id,
            mechanism=self.terms.mechanism,
        )

    def open_memo(self, member: Membership) -> Memo | None:
        """Return the noise of all answers, sampled once if the mechanism allows, else None."""
        if self.terms.mechanism.no_memo is not None:
            return None
        return Memo.open(
            self.folder.memo,
            mechanism=self.questions.randomizer,
            tasks=[task.name for task in self.questions.tasks],
            campaign=self.terms.campaign,
            worker=member.participant,
        )

    def forget_tasks(self) -> None:
        """Clear the cached tasks, so that the next access reads them again."""
        self._asked, self.listed = None, ()
