"""Joining a campaign, and the code that moves a worker to another device."""

from __future__ import annotations

import re

from attrs import frozen

from quietcrowd.campaign.device.folder import Membership
from quietcrowd.campaign.device.http_client import fetch_images
from quietcrowd.campaign.device.ledger import DeviceLedger
from quietcrowd.campaign.device.reading import CampaignReading
from quietcrowd.campaign.terms.tokens import read_code
from quietcrowd.exceptions import AnswerError, CampaignError, ParameterError, UnansweredError


@frozen(kw_only=True)
class Joining:
    """Joining and leaving a campaign; the caller locks the device's directory."""

    read: CampaignReading
    ledger: DeviceLedger

    @property
    def code(self) -> str | None:
        """Code for another device, in groups of four; None once it is of no use."""
        member = self.read.folder.membership()
        if member is None or member.code is None or self.read.link.invite is None:
            return None
        is_over = self.read.folder.upload() is not None
        return None if is_over else "-".join(re.findall("....", member.code))

    def join(self, code: str | None) -> None:
        """Join, and fetch all that is needed to answer; errors as in `Client.join`.

        If the server rejects the device, its files remain as they were. If it does not answer, it
        may have let the device in: the same call then sends the same request.
        """
        self.require_not_left()
        read, folder = self.read, self.read.folder
        committed = folder.upload() is not None
        typed = None if code is None else read_code(code)
        if code is not None and typed is None:
            raise ParameterError("campaign.code-invalid")
        if typed is not None and committed:
            raise AnswerError("campaign.already-answered")
        member = folder.enter(read.terms.config_hash, read.link.invite, typed)
        try:
            read.server.join(member)
        except UnansweredError:
            raise
        except CampaignError:
            folder.reject(member)
            raise
        if folder.accept(member):
            read.forget_tasks()
        if not committed:
            read.read_tasks(member)
            fetch_images(read.listed, folder, read.server, member.credential)
            read.open_memo(member)

    def require_not_left(self) -> None:
        """Raise CampaignError if fresh noise about the same answers would be sampled."""
        if self.read.folder.withdrawn:
            raise CampaignError("campaign.withdrawn-before")
        if self.read.folder.upload() is None and self.ledger.charged(self.read.link.name):
            raise CampaignError("campaign.device-files-lost")

    def leave(self) -> None:
        """Delete the worker at the server, with all credentials that it may have let in."""
        for member in self._members():
            self.read.server.withdraw(member.credential)

    def require_leavable(self) -> None:
        """Raise CampaignError if there is nothing to delete, or no credential to do it."""
        folder = self.read.folder
        if self._members() or folder.withdrawn:
            return
        if folder.upload() is not None or self.ledger.charged(self.read.link.name):
            raise CampaignError("campaign.credential-missing", credential=folder.credential)
        raise CampaignError("campaign.not-taking-part")

    def _members(self) -> list[Membership]:
        members = self.read.folder.membership(), self.read.folder.candidate()
        return [member for member in members if member is not None]
