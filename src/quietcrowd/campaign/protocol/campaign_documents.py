"""What a requester sends and is told of campaigns: tasks, invites, workers and keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    Field,
)

from quietcrowd.campaign.protocol.fields import (
    Allotted,
    AsOf,
    AtLeast,
    CompletionCode,
    Count,
    Day,
    Description,
    Hash,
    Id,
    InviteToken,
    JoinMode,
    JsonObject,
    Request,
    Retention,
    State,
    Title,
    Words,
    Worker,
)
from quietcrowd.campaign.terms.promises import (
    LONGEST_CONTACT,
    LONGEST_PURPOSE,
    LONGEST_REQUESTER,
    USUAL_AT_LEAST,
    USUAL_RETENTION_DAYS,
)

__all__ = [
    "CampaignChange",
    "CampaignDocument",
    "CampaignDraft",
    "CampaignPage",
    "DashboardCode",
    "DashboardToken",
    "Exclusion",
    "Exclusions",
    "InviteCounts",
    "InviteOrder",
    "Invites",
    "KeyDocument",
    "Keys",
    "Revocation",
    "TaskCount",
    "TaskDocument",
    "TaskPage",
]


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
    max_participants: Count | None = Field(
        default=None,
        description="From so many participants on nobody else can join. They are counted at "
        "releases, so there may be more; null: 10,000 where it is open to all, else no limit.",
    )
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
    as_of: AsOf | None = None


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
    as_of: AsOf | None = None


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
    as_of: AsOf | None
    allotment: Allotted


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
