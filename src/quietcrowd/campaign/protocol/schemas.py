"""What requests and responses hold. A member that is not named here is refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from quietcrowd.campaign.terms.allotment import AllotmentKind
from quietcrowd.campaign.terms.canonical import LARGEST_WHOLE
from quietcrowd.campaign.terms.channel_config import MAX_NUMBERS
from quietcrowd.campaign.terms.promises import (
    LONGEST_CONTACT,
    LONGEST_PURPOSE,
    LONGEST_REQUESTER,
    MAX_AT_LEAST,
    MAX_RETENTION_DAYS,
    USUAL_AT_LEAST,
    USUAL_RETENTION_DAYS,
)
from quietcrowd.campaign.terms.settings import MAX_COMPLETION_CODE, MAX_REPORTS
from quietcrowd.campaign.terms.tokens import PSEUDONYM

__all__ = [
    "Agreement",
    "CampaignChange",
    "CampaignDocument",
    "CampaignDraft",
    "CampaignPage",
    "Caution",
    "DashboardCode",
    "DashboardToken",
    "Exclusion",
    "Exclusions",
    "Hash",
    "Id",
    "InviteCounts",
    "InviteOrder",
    "Invites",
    "JoinRequest",
    "KeyDocument",
    "Keys",
    "OwnReport",
    "OwnReports",
    "OwnSketch",
    "PageQuery",
    "Participation",
    "PublicCampaign",
    "Receipt",
    "Rejected",
    "ReportItem",
    "Request",
    "Requested",
    "ResultHead",
    "ResultRows",
    "Results",
    "Revocation",
    "SketchItem",
    "Spent",
    "State",
    "Tail",
    "TaskCount",
    "TaskDocument",
    "TaskForParticipant",
    "TaskPage",
    "TasksForParticipant",
    "Upload",
    "Worker",
]

Id: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{32}$"), Field(description="16 bytes in hex.")
]
Hash: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{64}$"), Field(description="SHA-256 in hex.")
]
Title: TypeAlias = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"
    ),
    Field(description="One line, without control characters."),
]
Description: TypeAlias = Annotated[str, StringConstraints(max_length=4_000, pattern=r"^[^\x00]*$")]
Words: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$")
]
Retention: TypeAlias = Annotated[
    int,
    Field(
        ge=1,
        le=MAX_RETENTION_DAYS,
        description="Days after closing until all that is held of workers is deleted.",
    ),
]
AtLeast: TypeAlias = Annotated[
    int,
    Field(
        ge=1,
        le=MAX_AT_LEAST,
        description="Least new workers whose reports are shown at a time; 1: each at once.",
    ),
]
CompletionCode: TypeAlias = Annotated[
    str,
    StringConstraints(
        min_length=1,
        max_length=MAX_COMPLETION_CODE,
        pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*$",
    ),
    Field(
        description="Given to every worker whose reports are stored, and the same for all: one "
        "line, to be shown to whoever pays.",
    ),
]
Day: TypeAlias = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
    Field(
        json_schema_extra={"format": "date"},
        description="The last day on which anything is taken in, in UTC; null: until it is closed.",
    ),
]
Worker: TypeAlias = Annotated[
    str, StringConstraints(pattern=PSEUDONYM), Field(description="A worker's pseudonym.")
]
InviteToken: TypeAlias = Annotated[
    str, StringConstraints(pattern=r"^qci_[A-Za-z0-9_-]{43}$"), Field(description="An invite.")
]
JsonObject: TypeAlias = dict[str, Any]
Whole: TypeAlias = Annotated[int, Field(ge=-LARGEST_WHOLE, le=LARGEST_WHOLE)]
Count: TypeAlias = Annotated[int, Field(ge=1, le=10**7)]
Number: TypeAlias = Whole | Annotated[float, Field(allow_inf_nan=False)]
State: TypeAlias = Literal["draft", "open", "closed"]
JoinMode: TypeAlias = Literal["invite", "open"]
Allotted: TypeAlias = Annotated[
    AllotmentKind | None,
    Field(
        description="How each worker is given some of the tasks as they join, "
        "answers_per_participant of them; null: any worker may answer any. random: those that the "
        "fewest were asked until then, ties at random. suggested: those where further reports are "
        "expected to help most, by the results shown at that time, ties at random; random until "
        "there are some. The method must say what further reports would tell, as noise-aware does."
    ),
]


class Request(BaseModel):
    """What a request holds; types are not converted, and unknown members are refused."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _has_no_crowd_of_members(cls, value: Any) -> Any:
        """Refuse an object of too many members at once: telling of each takes long."""
        if isinstance(value, dict) and len(value) > len(cls.model_fields):
            raise PydanticCustomError("too_many_members", "There are unknown members")
        return value


class CampaignDraft(Request):
    """A campaign that is to be."""

    title: Title
    description: Description = ""
    mechanism: JsonObject = Field(description="What `Mechanism.to_dict` gives.")
    method: JsonObject | None = Field(
        default=None,
        description="What `method.to_dict` gives; null takes noise-aware where it knows the noise, "
        "else what suits such reports.",
    )
    join_mode: JoinMode = "invite"
    answers_per_participant: Count | None = Field(
        default=None, description="Most answers of a worker; null: to every task."
    )
    allotment: Allotted = None
    linked: Count | None = Field(
        default=None,
        description="Most answers of a worker that share one fact; null: as many as there are "
        "copies and near-copies of one question among the tasks.",
    )
    max_participants: Count | None = None
    requester: Annotated[
        Words,
        Field(max_length=LONGEST_REQUESTER, description="Who asks; an open campaign has to say."),
    ] = ""
    contact: Annotated[
        Words,
        Field(
            max_length=LONGEST_CONTACT,
            description="How to reach whoever asks; an open campaign has to say.",
        ),
    ] = ""
    purpose: Annotated[
        Description,
        Field(
            max_length=LONGEST_PURPOSE,
            description="What the answers are for; an open campaign has to say.",
        ),
    ] = ""
    retention_days: Retention = USUAL_RETENTION_DAYS
    at_least: AtLeast = USUAL_AT_LEAST
    completion_code: CompletionCode | None = None
    closes_on: Day | None = None
    max_joined: Count | None = Field(
        default=None,
        description="Where it is open to all: most workers who have joined and not left; null: ten "
        "times `max_participants`, or 10,000. At least `at_least`.",
    )


class CampaignChange(Request):
    """What is to change of a campaign; what is not named stays."""

    title: Title | None = None
    description: Description | None = None
    method: JsonObject | None = None
    answers_per_participant: Count | None = None
    allotment: Allotted = None
    linked: Count | None = None
    max_participants: Count | None = None
    requester: Annotated[Words, Field(max_length=LONGEST_REQUESTER)] | None = None
    contact: Annotated[Words, Field(max_length=LONGEST_CONTACT)] | None = None
    purpose: Annotated[Description, Field(max_length=LONGEST_PURPOSE)] | None = None
    retention_days: Retention | None = None
    at_least: AtLeast | None = None
    completion_code: CompletionCode | None = None
    closes_on: Day | None = None
    max_joined: Count | None = Field(
        default=None,
        description="Once the campaign is open it can be raised, by at least `at_least`.",
    )


class CampaignDocument(BaseModel):
    """A campaign, as its requester sees it.

    Participants and reports are those of the last release, where workers are shown together.
    """

    id: Id
    state: State
    version: int
    title: str
    description: str
    mechanism: JsonObject
    method: JsonObject | None
    join_mode: JoinMode
    answers_per_participant: int | None
    linked: int | None
    max_participants: int | None
    tasks: int
    participants: int
    reports: int
    config_hash: Hash | None
    requester: str
    contact: str
    purpose: str
    retention_days: int | None = Field(
        description="Null in campaigns of an older version: nothing is deleted by itself."
    )
    at_least: int
    completion_code: str | None
    closes_on: Day | None
    max_joined: int | None = Field(
        description="Most workers who have joined and not left; null where invites are needed, and "
        "in drafts that do not say."
    )
    allotment: Allotted


class PageQuery(BaseModel):
    """Which page is wanted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cursor: Annotated[str | None, Field(max_length=100)] = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class CampaignPage(BaseModel):
    """Some campaigns of a requester."""

    items: list[CampaignDocument]
    next_cursor: str | None


class TaskCount(BaseModel):
    """How many tasks were read from a file."""

    imported: int
    tasks: int


class TaskDocument(BaseModel):
    """A task, as the requester sees it."""

    task_id: Id
    task: str
    data: JsonObject
    gold: Any = None


class TaskPage(BaseModel):
    """Some tasks of a campaign, in the order of their file."""

    items: list[TaskDocument]
    next_cursor: str | None


class InviteOrder(Request):
    """How many invites are wanted."""

    count: Annotated[int, Field(ge=1, le=1_000)]


class Invites(BaseModel):
    """New invites: shown once; hashes are what is kept."""

    invites: list[str] = Field(description="Tokens, one per worker.")
    fragments: list[str] = Field(
        description="Paths with the token after #, which a browser never sends to a server."
    )


class Revocation(Request):
    """The invite that lets nobody in any more."""

    invite: InviteToken


class Exclusion(BaseModel):
    """A worker whom the requester leaves out of results, or takes back in."""

    worker: Worker
    state: Literal["excluded", "to-be-excluded", "to-be-included"] = Field(
        description="`excluded`: results leave the worker out. Where workers are shown together, a "
        "change comes with the next release, or the closing: `to-be-excluded`, which a worker whom "
        "nobody knows stays, or `to-be-included`."
    )


class Exclusions(BaseModel):
    """All workers whom the requester leaves out, by pseudonym."""

    items: list[Exclusion]


class InviteCounts(BaseModel):
    """How many invites were made, and how many of them were used.

    Where workers are shown together: used by those who are shown. Unused ones that were revoked all
    at once are not counted; those that were revoked by presenting them are, used or not.
    """

    invites: int
    used: int


class PublicCampaign(BaseModel):
    """All that a worker needs to know before taking part."""

    state: State
    join_mode: JoinMode
    config_hash: Hash
    config: JsonObject = Field(description="Its RFC 8785 spelling has the SHA-256 `config_hash`.")
    closes_on: Day | None = Field(description="Not part of what is hashed: it may be changed.")


class JoinRequest(Request):
    """A worker takes part, having agreed to a configuration."""

    config_hash: Hash
    invite: Annotated[str, StringConstraints(max_length=100)] | None = None


class Participation(BaseModel):
    """What the service knows of a worker."""

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
    """All tasks, at once: in which order they are read does not show."""

    config_hash: Hash
    tasks: list[TaskForParticipant]
    allotted: list[Id] | None = Field(
        default=None,
        description="Ids of those that this worker is asked, in order, where the campaign gives "
        "each worker some; left out where it does not.",
    )


class ReportItem(Request):
    """One randomised report."""

    report_id: Id = Field(description="16 random bytes in hex, drawn by the device.")
    task_id: Id
    value: Whole = Field(description="Position of a label, or steps of the grid.")
    bit: Whole | None = Field(default=None, description="Noisy participation bit, in its steps.")


class SketchItem(Request):
    """Noisy sums over all answers of a worker."""

    report_id: Id
    numbers: Annotated[list[Number], FailFast(), Field(min_length=1, max_length=MAX_NUMBERS)]


class Upload(Request):
    """Reports of one worker: one per task, or one sketch."""

    config_hash: Hash
    reports: Annotated[list[ReportItem], FailFast(), Field(max_length=MAX_REPORTS)] = []
    sketch: SketchItem | None = None


class Rejected(BaseModel):
    """A report that was not taken in, and why."""

    report_id: Id
    code: Literal["conflict", "unknown-task", "out-of-domain", "budget"] = Field(
        description="unknown-task: there is no such task, or this worker was not given it."
    )


class Receipt(BaseModel):
    """What became of an upload; what is counted as accepted or duplicate is stored for good."""

    accepted: int
    duplicates: int
    rejected: list[Rejected]
    completion_code: str | None = Field(
        default=None, description="Of the campaign, if it has one, once nothing was rejected."
    )


class OwnReport(BaseModel):
    """A report as it is stored."""

    report_id: Id
    task_id: Id
    value: int
    bit: int | None


class OwnSketch(BaseModel):
    """A sketch as it is stored."""

    report_id: Id
    numbers: list[int | float]


class OwnReports(BaseModel):
    """All that the service holds of a worker's reports."""

    reports: list[OwnReport]
    sketch: OwnSketch | None


class Agreement(BaseModel):
    """How much workers agree; null where nothing tells."""

    reports: float | None = Field(description="As their reports do: less than their answers.")
    answers: float | None = Field(
        description="Corrected for the noise; null where its error would be above 0.1."
    )
    answers_error: float | None = Field(
        default=None, description="Standard error of `answers`, by the jackknife over workers."
    )


class Tail(BaseModel):
    """Losses that are each exceeded with a probability at most; null where nothing limits them."""

    probability: float
    answer_epsilon: float | None
    worker_epsilon: float | None


class Spent(BaseModel):
    """What a worker who gives all answers loses at most; null where that is without limit.

    With a delta above 0 the losses are pairs (epsilon, delta), and `tail` says how rare more is.
    """

    mechanism: str
    answer_epsilon: float | None
    worker_epsilon: float | None
    delta: float
    tail: Tail | None
    participation_protected: bool


class Caution(BaseModel):
    """Why results may not be what they seem."""

    code: str
    message: str


class _Found(BaseModel):
    """What an inference found, but for the rows."""

    config_hash: Hash
    method: JsonObject | None
    reports: int
    participants: int
    iterations: int
    converged: bool
    excluded: list[str] = Field(
        default=[], description="Workers whom the requester leaves out: nothing here is of them."
    )
    privacy: Spent | None
    agreement: Agreement | None
    warnings: list[Caution]


class ResultHead(_Found):
    """What an inference found, and how many truths and workers there are on pages."""

    truths: int
    workers: int


class ResultRows(BaseModel):
    """A page of truths or workers; its rows are those that `Results` has of them."""

    items: list[JsonObject]
    next_cursor: str | None


class Results(_Found):
    """What an inference found."""

    truths: list[JsonObject] = Field(
        description="task, truth, reports, and confidence or standard_error, by the method."
    )
    workers: list[JsonObject] = Field(
        description="worker, quality, of labels also agreement, quality_low and quality_high, "
        "reports, losses: answer_epsilon, total_epsilon, and their tails answer_tail, total_tail; "
        "by the method."
    )


class Requested(BaseModel):
    """An inference will be made."""

    campaign: Id


class KeyDocument(BaseModel):
    """A requester's key, by all that is stored of it but its hash."""

    id: Id
    last4: str | None = Field(
        description="Its last characters; null of keys that an older version made."
    )
    expires_at: int | None = Field(description="Seconds since 1970; null: never.")
    state: Literal["valid", "expired", "revoked"]
    shown: bool = Field(description="Whether it is the key of this very request.")


class Keys(BaseModel):
    """All keys of a requester, those that have ended too."""

    items: list[KeyDocument]


class DashboardCode(BaseModel):
    """What lets a page read a campaign's results: shown once; a hash is what is kept."""

    code: str
    fragment: str = Field(
        description="Path with the code after #, which a browser never sends to a server."
    )
    seconds: int = Field(description="For which the code is good, once.")


class DashboardToken(BaseModel):
    """What reads the results of one campaign, without pseudonyms: for a page's memory alone."""

    token: str
    seconds: int = Field(description="For which the token is good.")
