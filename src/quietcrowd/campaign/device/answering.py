"""Randomizing and sending a worker's answers, in one step, and its cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from quietcrowd.campaign.device.draw import CommittedReports, Draw
from quietcrowd.campaign.device.folder import CampaignFolder
from quietcrowd.campaign.device.ledger import Budget, Cost, DeviceLedger
from quietcrowd.campaign.device.questions import channel_hash
from quietcrowd.campaign.device.reading import CampaignReading
from quietcrowd.campaign.device.receipt import WorkerReceipt
from quietcrowd.campaign.device.records import CampaignRecord, charge_records, read_record
from quietcrowd.exceptions import AnswerError, ParameterError


@frozen(kw_only=True)
class Answering:
    """Answers to a campaign that the device has joined; the caller locks its directory."""

    read: CampaignReading
    ledger: DeviceLedger
    budget: Budget

    def commit(self, answers: Mapping[str, Any]) -> None:
        """Sample reports, store them with their record, and charge the ledger."""
        member, terms, questions = self.read.member, self.read.terms, self.read.questions
        place = self.read.place
        self.read.require_asked(answers)
        with self.ledger.held():
            earlier = self.read.earlier()
            charge_records(earlier.records, self.ledger)
            draw = Draw.of(
                answers,
                worker=member.participant,
                terms=terms,
                questions=questions,
                known=earlier.known,
            )
            self._check_count(len(draw.answers))
            cost = self.cost(draw.count)
            self.ledger.require(cost, self.budget)
            self.read.server.take_place(member.credential)
            upload, reports = draw.commit(answers, self.read.open_memo(member))
            letters = {key for task in draw.reported for key in questions.letters[task.name]}
            record = CampaignRecord(
                campaign=place.campaign,
                origin=self.read.link.origin,
                mechanism=terms.mechanism.to_dict(),
                channel=channel_hash(terms.mechanism),
                count=draw.count,
                spared=cost.spared,
                letters=sorted(letters),
                reports=reports,
                requester=terms.requester_id,
            )
            place.open()
            place.keep_upload(upload.content, record.content)
            self.charge()

    def send(self) -> WorkerReceipt:
        """Send committed reports until acknowledged; errors as in `Client.answer`.

        Reports of a round are never sent after its grace. Returns the last receipt.
        """
        member, places = self.read.member, self.read.folder.commits()
        if not places:
            raise AnswerError("campaign.nothing-pending")
        with self.ledger.held():
            self.charge()
        for place in places:
            place.forget_noise()
        for place in self.pending():
            upload = upload_in(place)
            answer = self.read.server.send(upload.content, member.credential)
            receipt = WorkerReceipt.read(answer, upload, self.read.questions.tasks)
            place.keep_receipt(receipt.to_dict())
        kept = places[-1].receipt()
        if kept is None:
            raise AnswerError("campaign.round-over")
        return WorkerReceipt.from_dict(kept).require_all()

    def pending(self) -> list[CampaignFolder]:
        """Return where reports are committed and not acknowledged, and can still be sent."""
        places = self.read.folder.commits()
        return [one for one in places if one.receipt() is None and not self.read.is_over(one)]

    def charge(self) -> None:
        """Charge the committed reports unless charged; the caller holds the ledger's lock."""
        for place in self.read.folder.commits():
            record = read_record(place.path)
            if record is not None:
                record.keep(place.path)
                charge_records((record,), self.ledger)

    def cost(self, count: int) -> Cost:
        """Return the cost of this many sampled reports."""
        terms = self.read.terms
        return Cost(
            campaign=self.read.place.campaign,
            mechanism=terms.mechanism,
            count=count,
            spared=terms.spared if count == terms.tasks else 0.0,
        )

    def most_costs(self, answers: int | None) -> list[Cost]:
        """Return the maximum cost of answers, in each round; `answers` defaults to the maximum."""
        terms = self.read.terms
        given = terms.answers if answers is None else answers
        cost = self.cost(terms.tasks if given and terms.mechanism.every_task else given)
        return [evolve(cost, campaign=name) for name in self.read.names_ahead()]

    def affordable(self, *, joined: bool) -> int:
        """Return how many answers the budget allows; see `Client.affordable`."""
        terms, free = self.read.terms, self._free() if joined else 0
        every_task = terms.mechanism.every_task
        drawn = terms.tasks - free if every_task else terms.answers
        try:
            allowed = self.ledger.affordable(self.cost(drawn), self.budget)
        except ParameterError:
            if not free or every_task:
                raise
            allowed = 0
        return terms.answers if every_task else min(terms.answers, allowed + free)

    def _free(self) -> int:
        """Return how many tasks cost nothing: with an earlier report, or copies of another task."""
        if channel_hash(self.read.terms.mechanism) is None:
            return 0
        questions, known = self.read.questions, self.read.earlier().known
        return len(questions.tasks) - len(questions.groups.keys() - known.keys())

    def _check_count(self, given: int) -> None:
        terms = self.read.terms
        if given > terms.answers:
            raise AnswerError("campaign.too-many-answers", answers=terms.answers, given=given)
        if not given and not terms.mechanism.every_task:
            raise AnswerError("campaign.no-answer")


def upload_in(place: CampaignFolder) -> CommittedReports:
    """Return the committed reports; raise AnswerError without any."""
    content = place.upload()
    if content is None:
        raise AnswerError("campaign.nothing-pending")
    return CommittedReports(content=content)
