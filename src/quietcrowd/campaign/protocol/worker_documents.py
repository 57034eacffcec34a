"""Documents of workers' devices."""

from typing import Annotated, Literal

from pydantic import BaseModel, FailFast, Field, StringConstraints

from quietcrowd.campaign.protocol.fields import (
    Day,
    Hash,
    Id,
    JoinMode,
    JsonObject,
    Number,
    Request,
    State,
    Whole,
)
from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.mechanisms.channels.reading import MAX_NUMBERS


class PublicCampaign(BaseModel):
    """All that a worker needs to know before taking part."""

    state: State
    join_mode: JoinMode
    config_hash: Hash
    config: JsonObject = Field(description="Its RFC 8785 spelling has the SHA-256 `config_hash`.")
    closes_on: Day | None = Field(description="Not part of what is hashed: it may be changed.")


class JoinRequest(Request):
    """A request to join, after consent to a configuration."""

    config_hash: Hash
    invite: Annotated[str, StringConstraints(max_length=100)] | None = None


class Participation(BaseModel):
    """The record that the service has of a worker."""

    campaign: Id
    state: State
    pseudonym: str
    consent_hash: Hash
    reports: int


class TaskForParticipant(BaseModel):
    """A task, as a worker sees it."""

    task_id: Id
    task: str
    data: JsonObject


class TasksForParticipant(BaseModel):
    """All tasks at once, so that the order in which a worker reads them is not revealed."""

    config_hash: Hash
    tasks: list[TaskForParticipant]
    allotted: list[Id] | None = Field(
        default=None,
        description="Ids of those that this worker is asked, in order, where the campaign gives "
        "each worker some; left out where it does not.",
    )


class ReportItem(Request):
    """One randomized report."""

    report_id: Id = Field(description="16 random bytes in hex, drawn by the device.")
    task_id: Id
    value: Whole = Field(description="Position of a label, or steps of the grid.")
    bit: Whole | None = Field(default=None, description="Noisy participation bit, in its steps.")
    again: bool = Field(
        default=False,
        description="Whether the device had sent this very report before: for an earlier campaign "
        "of the requester, or for a copy of the question in this one.",
    )


class SketchItem(Request):
    """Noisy sums over all answers of a worker."""

    report_id: Id
    numbers: Annotated[list[Number], FailFast(), Field(min_length=1, max_length=MAX_NUMBERS)]


class Upload(Request):
    """Reports of one worker: one per task, or one sketch."""

    config_hash: Hash
    reports: Annotated[list[ReportItem], FailFast(), Field(max_length=MAX_REPORTS)] = []  # noqa: RUF012
    sketch: SketchItem | None = None


class Rejected(BaseModel):
    """A rejected report, and why."""

    report_id: Id
    code: Literal["conflict", "unknown-task", "out-of-domain", "budget"] = Field(
        description="unknown-task: there is no such task, or this worker was not given it."
    )


class Receipt(BaseModel):
    """The outcome of an upload; accepted and duplicate reports are stored permanently."""

    accepted: int
    duplicates: int
    rejected: list[Rejected]
    completion_code: str | None = Field(
        default=None, description="Of the campaign, if it has one, once nothing was rejected."
    )


class OwnReport(BaseModel):
    """A stored report."""

    report_id: Id
    task_id: Id
    value: int
    bit: int | None
    again: bool


class OwnSketch(BaseModel):
    """A stored sketch."""

    report_id: Id
    numbers: list[int | float]


class OwnReports(BaseModel):
    """All stored reports of a worker."""

    reports: list[OwnReport]
    sketch: OwnSketch | None
