"""Joining a campaign, and the code that moves a worker to another device."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

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
        return None if self.read.folder.commits() else "-".join(re.findall("....", member.code))

    def join(self, code: str | None) -> None:
        """Join, and fetch all that is needed to answer; errors as in `Client.join`.

        If the server rejects the device, its files remain as they were. If it does not answer, it
        may have let the device in: the same call then sends the same request. If the server binds
        the worker to another choice, the device does not take part before that one is chosen.
        """
        self.require_not_left()
        read, folder = self.read, self.read.folder
        terms, committed = read.terms, folder.commits()
        typed = None if code is None else read_code(code)
        if code is not None and typed is None:
            raise ParameterError("campaign.code-invalid")
        if typed is not None and committed:
            raise AnswerError("campaign.already-answered")
        by_crowd = terms.rounds is not None and terms.rounds.division == "crowd"
        member = folder.enter(
            terms.config_hash,
            read.link.invite,
            typed,
            choice=terms.choice,
            slots=terms.rounds.slots if by_crowd and terms.rounds else None,
        )
        if member.choice != terms.choice:
            raise CampaignError("campaign.choice-bound", choice=member.choice)
        try:
            member = self._bound(member, read.server.join(member))
        except UnansweredError:
            raise
        except CampaignError as error:
            if error.code != "campaign.choice-bound":
                folder.reject(member)
            raise
        if folder.accept(member):
            read.forget_tasks()
        if read.place.upload() is None:
            read.read_tasks(member)
            fetch_images(read.listed, folder, read.server, member.credential)
            if terms.rounds is None or read.round is not None:
                read.open_memo(member)

    def _bound(self, member: Membership, document: Mapping[str, Any]) -> Membership:
        """Return the membership to which the server binds the worker, from its response.

        Another device that the worker used before decides on the choice; the slot is this one's.
        """
        read, folder, terms = self.read, self.read.folder, self.read.terms
        choice, slot = document.get("choice"), document.get("slot")
        if terms.choice is None and terms.rounds is None:
            return member
        spent = document.get("rounds", [])
        mine = None if member.slot is None else range(member.slot, member.slot + 1)
        choices = range(len(read.menu)) if terms.choice is not None else None
        is_sound = _is_among(choice, choices) and _is_among(slot, mine)
        if not (is_sound and isinstance(spent, list) and all(type(one) is int for one in spent)):
            raise CampaignError("campaign.binding-invalid")
        bound = evolve(member, choice=choice)
        if member == folder.membership():
            if bound != member:
                raise CampaignError("campaign.binding-invalid")
            return member
        bound = folder.bind(evolve(bound, spent=tuple(spent)))
        if choice != terms.choice:
            raise CampaignError("campaign.choice-bound", choice=choice)
        return bound

    def require_not_left(self) -> None:
        """Raise CampaignError if fresh noise about the same answers would be sampled."""
        folder = self.read.folder
        if folder.withdrawn:
            raise CampaignError("campaign.withdrawn-before")
        if self.ledger.charged_of(folder.campaign) - {one.campaign for one in folder.commits()}:
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
        if folder.commits() or self.ledger.charged_of(folder.campaign):
            raise CampaignError("campaign.credential-missing", credential=folder.credential)
        raise CampaignError("campaign.not-taking-part")

    def _members(self) -> list[Membership]:
        members = self.read.folder.membership(), self.read.folder.candidate()
        return [member for member in members if member is not None]


def _is_among(value: Any, numbers: range | None) -> bool:
    """Return whether a value is one of some numbers, or None without any."""
    return value is None if numbers is None else type(value) is int and value in numbers
