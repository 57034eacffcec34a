"""Documents of requesters: campaigns, tasks, invites, workers and keys."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

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


class CampaignDraft(Request):
    """A new campaign."""

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
    """Changes of a campaign; missing members stay as they are."""

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

    If workers are released in batches, participants and reports are those of the last release.
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
    """A page of a requester's campaigns."""

    items: list[CampaignDocument]
    next_cursor: str | None


class TaskCount(BaseModel):
    """The number of tasks in a file, and in the campaign."""

    imported: int
    tasks: int


class TaskDocument(BaseModel):
    """A task, as the requester sees it."""

    task_id: Id
    task: str
    data: JsonObject
    gold: Any = None


class TaskPage(BaseModel):
    """A page of a campaign's tasks, in the order of their file."""

    items: list[TaskDocument]
    next_cursor: str | None


class InviteOrder(Request):
    """How many invites to create."""

    count: Annotated[int, Field(ge=1, le=1_000)]


class Invites(BaseModel):
    """New invites, shown once: only their hashes are stored."""

    invites: list[str] = Field(description="Tokens, one per worker.")
    fragments: list[str] = Field(
        description="Paths with the token after #, which a browser never sends to a server."
    )


class Revocation(Request):
    """The invite to revoke."""

    invite: InviteToken


class Exclusion(BaseModel):
    """A worker excluded from results, or to be included again."""

    worker: Worker
    state: Literal["excluded", "to-be-excluded", "to-be-included"] = Field(
        description="`excluded`: results leave the worker out. Where workers are shown together, a "
        "change comes with the next release, or the closing: `to-be-excluded`, which a worker whom "
        "nobody knows stays, or `to-be-included`."
    )


class Exclusions(BaseModel):
    """All excluded workers, by pseudonym."""

    items: list[Exclusion]


class InviteCounts(BaseModel):
    """How many invites were made, and how many of them were used.

    If workers are released in batches, an invite counts as used once its worker is released. Unused
    invites that were revoked together are not counted; those revoked by presenting them are, used
    or not.
    """

    invites: int
    used: int


class KeyDocument(BaseModel):
    """A requester's key: all that is stored except its hash."""

    id: Id
    last4: str | None = Field(
        description="Its last characters; null of keys that an older version made."
    )
    expires_at: int | None = Field(description="Seconds since 1970; null: never.")
    state: Literal["valid", "expired", "revoked"]
    shown: bool = Field(description="Whether it is the key of this very request.")


class Keys(BaseModel):
    """All keys of a requester, including those that have ended."""

    items: list[KeyDocument]


class DashboardCode(BaseModel):
    """A code with which a page reads a campaign's results, shown once: only its hash is stored."""

    code: str
    fragment: str = Field(
        description="Path with the code after #, which a browser never sends to a server."
    )
    seconds: int = Field(description="For which the code is good, once.")


class DashboardToken(BaseModel):
    """A token that reads one campaign's results without pseudonyms; stored in memory only."""

    token: str
    seconds: int = Field(description="For which the token is good.")
