"""Documents of requesters: campaigns, tasks, invites, workers and keys."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field

from quietcrowd.campaign.protocol.fields import (
    Allotted,
    AsOf,
    AtLeast,
    CompletionCode,
    Count,
    Day,
    Description,
    Goal,
    Hash,
    Id,
    InviteToken,
    JoinMode,
    JsonObject,
    MechanismName,
    Number,
    OptionCounts,
    Request,
    Retention,
    State,
    Title,
    Whole,
    Words,
    Worker,
)
from quietcrowd.campaign.protocol.worker_documents import TaskForParticipant
from quietcrowd.campaign.terms.promises import (
    LONGEST_CONTACT,
    LONGEST_PURPOSE,
    LONGEST_REQUESTER,
    USUAL_AT_LEAST,
    USUAL_RETENTION_DAYS,
)

GoalOf: TypeAlias = Annotated[
    Goal,
    Field(
        description="The goal. truths: the right answer to each question. shares: how "
        "many people give each answer, or their mean; truths and the quality of workers are then "
        "not shown."
    ),
]
TotalOf: TypeAlias = Annotated[
    Number | None,
    Field(
        description="With `domain`: largest privacy loss of all answers of a worker. Null: 5, or "
        "2.2 per answer for one or two."
    ),
]
NameOf: TypeAlias = Annotated[
    MechanismName | None,
    Field(description="With `domain`: a mechanism that `GET /plans` lists; null: the default."),
]


class MenuEntry(Request):
    """An entry of a menu: a loss of a person, from which a mechanism follows, or a mechanism."""

    total_epsilon: TotalOf = None
    mechanism_name: NameOf = None
    mechanism: JsonObject | None = Field(
        default=None, description="For experts, instead of `total_epsilon`: as in a campaign."
    )
    share: Number = Field(
        description="Share of the workers that is assumed to choose it, above 0; together 1."
    )


class Expected(Request):
    """The expected error of a campaign with a menu, and that of a guess without reports."""

    error: Number
    guess: Number


class RoundsDraft(Request):
    """Rounds of a campaign: the same tasks are asked again and again. Durations are in seconds."""

    first: str = Field(description="Begin of the first round, such as 2026-12-01T00:00:00Z.")
    length: Whole
    count: Count | None = Field(default=None, description="Number of rounds; null: open end.")
    cap: Count | None = Field(
        default=None, description="With an open end: most rounds, which the losses count."
    )
    grace: Whole | None = Field(
        default=None,
        description="How long after its end reports of a round are accepted; null: a quarter of "
        "the length, at least a minute.",
    )
    window: Count = Field(default=1, description="Rounds in a row with a stated loss.")
    step: Count | None = Field(
        default=None, description="A worker answers every `step`-th round; null: `window`."
    )
    division: Literal["crowd", "budget"] = Field(
        default="crowd",
        description="crowd: each worker answers every `step`-th round with the whole loss. budget: "
        "each worker answers every round, with a `window`-th of the loss.",
    )
    facts: Literal["fresh", "lasting"] = Field(
        default="fresh",
        description="Whether each round asks about other facts, or several about the same.",
    )
    keep: Count = Field(
        default=30,
        description="Reports are deleted once this many later rounds were shown; results stay.",
    )


MenuOf: TypeAlias = Annotated[
    Annotated[list[MenuEntry], Field(min_length=2, max_length=8)] | None,
    Field(
        description="Instead of `total_epsilon`, `mechanism_name` and `mechanism`: entries from "
        "which each worker chooses one before seeing a task. They share the possible answers."
    ),
]
ExpectedOf: TypeAlias = Annotated[
    Expected | None,
    Field(description="With a menu: the requester's estimate, which workers see; see POST /plans."),
]
RoundsOf: TypeAlias = Annotated[
    RoundsDraft | None,
    Field(
        description="Rounds; numbers of answers, `linked` and losses are then those of one round. "
        "By budget, `total_epsilon` is the loss of a window. `at_least` must be at least 2."
    ),
]


class CampaignDraft(Request):
    """A new campaign."""

    title: Title
    description: Description = ""
    goal: GoalOf = "truths"
    domain: JsonObject | None = Field(
        default=None,
        description="Possible answers, in the format of `Domain.to_dict`. The mechanism for them "
        "follows from `total_epsilon`, `mechanism_name`, `answers_per_participant` and the number "
        "of tasks, whenever one of these changes.",
    )
    total_epsilon: TotalOf = None
    mechanism_name: NameOf = None
    option_counts: OptionCounts | None = Field(
        default=None,
        description="With `domain`: the different numbers of options, if each task lists its own "
        "in `options`. The domain has the options of all tasks.",
    )
    mechanism: JsonObject | None = Field(
        default=None,
        description="For experts, instead of `domain`: in the format of `Mechanism.to_dict`.",
    )
    menu: MenuOf = None
    expected: ExpectedOf = None
    rounds: RoundsOf = None
    method: JsonObject | None = Field(
        default=None,
        description="In the format of `method.to_dict`; null: noise-aware if it supports the "
        "mechanism, else the default method for these reports.",
    )
    join_mode: JoinMode = "invite"
    answers_per_participant: Count | None = Field(
        default=None, description="Most answers of a worker; null: to every task."
    )
    allotment: Allotted = None
    linked: Count | None = Field(
        default=None,
        description="Most answers of a worker that share one fact; null: the largest number of "
        "tasks with identical or similar questions.",
    )
    max_participants: Count | None = Field(
        default=None,
        description="Limit of participants. They are counted at releases, so there may be more. "
        "Null: 10,000 if the campaign is open to all, else no limit.",
    )
    requester: Annotated[
        Words,
        Field(max_length=LONGEST_REQUESTER, description="Name; required to open the campaign."),
    ] = ""
    contact: Annotated[
        Words,
        Field(
            max_length=LONGEST_CONTACT,
            description="How to reach the requester; required to open the campaign.",
        ),
    ] = ""
    purpose: Annotated[
        Description,
        Field(
            max_length=LONGEST_PURPOSE,
            description="Purpose of the answers; required to open the campaign.",
        ),
    ] = ""
    retention_days: Retention = USUAL_RETENTION_DAYS
    at_least: AtLeast = USUAL_AT_LEAST
    completion_code: CompletionCode | None = None
    closes_on: Day | None = None
    as_of: AsOf | None = None
    drafts: bool | None = Field(
        default=None,
        description="Whether devices may keep unsent answers; null: only with invites.",
    )


class CampaignChange(Request):
    """Changes of a campaign; missing members stay as they are."""

    title: Title | None = None
    description: Description | None = None
    goal: Goal | None = None
    domain: JsonObject | None = None
    total_epsilon: Number | None = None
    mechanism_name: MechanismName | None = None
    option_counts: OptionCounts | None = None
    menu: MenuOf = None
    expected: ExpectedOf = None
    rounds: RoundsOf = None
    method: JsonObject | None = None
    join_mode: JoinMode | None = Field(
        default=None, description="It sets `drafts`, too, unless that is given."
    )
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
    drafts: bool | None = None


class MenuEntryDocument(BaseModel):
    """An entry of a menu; `choice` is its position."""

    choice: int
    share: float
    total_epsilon: float | None = Field(description="As in a campaign; null: no bound.")
    answer_epsilon: float | None
    protection: str
    mechanism_name: MechanismName | None
    mechanism: JsonObject


class CampaignDocument(BaseModel):
    """A campaign, as its requester sees it.

    If workers are released in batches, participants and reports are those of the last release.
    """

    id: Id
    state: State
    version: int
    title: str
    description: str
    goal: Goal
    domain: JsonObject
    total_epsilon: float | None = Field(
        description="Largest privacy loss of all answers of a worker, as chosen; null: no bound. "
        "The loss of the mechanism may be slightly smaller."
    )
    answer_epsilon: float | None = Field(
        description="Largest privacy loss of one answer; null: no bound."
    )
    protection: str = Field(
        description="How sure someone can become of a fact about a worker of which they were 50 % "
        "sure, and whether that is strong (`total_epsilon` up to 1), medium (3) or weak protection."
    )
    mechanism_name: MechanismName | None = Field(
        description="The chosen name; null: the default, or described by the requester."
    )
    why: str = Field(description="Why the campaign has its mechanism.")
    mechanism: JsonObject
    menu: list[MenuEntryDocument] | None = Field(
        description="The smallest loss first; the members above are then of the largest loss."
    )
    expected: Expected | None
    rounds: JsonObject | None = Field(description="All members of the rounds, as workers see them.")
    losses: JsonObject | None = Field(
        description="With rounds, the largest losses of a worker: `round`, `window`, `campaign` "
        "(all rounds), and `fact`, about one fact."
    )
    shown_round: int | None = Field(description="The last round with results.")
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
        description="Null in campaigns of an older version: no data is deleted automatically."
    )
    at_least: int
    completion_code: str | None
    closes_on: Day | None
    as_of: AsOf | None
    allotment: Allotted
    drafts: bool | None = Field(description="Null in campaigns of an older version.")


class CampaignPage(BaseModel):
    """A page of a requester's campaigns."""

    items: list[CampaignDocument]
    next_cursor: str | None


class ReadinessProblem(BaseModel):
    """A reason why a draft cannot be opened."""

    field: str = Field(description="Member of the campaign at fault, or `tasks` or `images`.")
    message: str


class Readiness(BaseModel):
    """Whether a draft can be opened, and the terms that workers would agree to."""

    ready: bool
    problems: list[ReadinessProblem]
    notes: list[str] = Field(
        description="Sentences about questions that count as one; they do not prevent opening."
    )
    words: list[str] | None = Field(
        description="Lines that a worker sees before joining; null if a problem prevents them."
    )
    sentences: list[str] | None = Field(
        description="All sentences that a worker agrees to; null if a problem prevents them."
    )


class Preview(BaseModel):
    """The documents that the worker's page would get now."""

    config: JsonObject = Field(description="The configuration, as it is or as opening would fix it")
    tasks: list[TaskForParticipant]
    allotted: list[Id] | None = Field(
        description="Tasks that one worker may get; null if the campaign assigns no tasks."
    )


class TaskCount(BaseModel):
    """The number of tasks in a file, and in the campaign."""

    imported: int
    tasks: int


class FileColumn(BaseModel):
    """A column of a file of tasks, and its use."""

    name: str
    kind: Literal["shown", "task", "gold", "image", "left out"]
    looks_like_answers: bool = Field(
        description="Whether it seems to hold answers or ids of workers, which others must not see."
    )
    examples: list[str] = Field(description="Its first values, at most three.")


class FirstTask(BaseModel):
    """One of the first tasks of a file."""

    task: str
    data: JsonObject
    gold: Any = None


class FileReading(BaseModel):
    """The contents of a file of tasks."""

    format: str
    columns: list[FileColumn]
    tasks: int
    first: list[FirstTask] = Field(
        description="The first tasks, at most three; none if a note says why they cannot be added."
    )
    domain: JsonObject | None = Field(
        description="Possible answers that known truths or a column of answers suggest, in the "
        "format of `Domain.to_dict`; with a column `options`, all of them."
    )
    option_counts: list[int] | None = Field(
        description="Different numbers of options, if each task lists its own in a column "
        "`options`: set them with `domain` before the tasks are added."
    )
    notes: list[str] = Field(description="Sentences for the requester.")


class StoredImage(BaseModel):
    """An image that was stored."""

    sha256: Hash


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
    """Number of invites to create."""

    count: Annotated[int, Field(ge=1, le=1_000)]
    local: bool = Field(
        default=False,
        description="Whether links may open on the server's computer only, for a trial.",
    )


class Invites(BaseModel):
    """New invites, shown once: only their hashes are stored."""

    invites: list[str] = Field(description="Tokens, one per worker.")
    fragments: list[str] = Field(
        description="Paths with the token after #, which a browser never sends to a server."
    )


class Revocation(Request):
    """The invite to revoke or replace."""

    invite: InviteToken


class Exclusion(BaseModel):
    """A worker excluded from results, or to be included again."""

    worker: Worker
    state: Literal["excluded", "to-be-excluded", "to-be-included"] = Field(
        description="`excluded`: results omit the worker. If workers are released in batches, a "
        "change takes effect with the next release or the closing; until then the state is "
        "`to-be-excluded` or `to-be-included`. An unknown worker stays `to-be-excluded`."
    )


class Exclusions(BaseModel):
    """All excluded workers, by pseudonym."""

    items: list[Exclusion]


class InviteCounts(BaseModel):
    """Numbers of created and of used invites.

    An invite is used once its worker sends or withdraws. If workers are released in batches, it
    counts as used once its worker is released. Unused invites that were revoked together are not
    counted; those revoked or replaced by presenting them are, used or not.
    """

    invites: int
    used: int


class Funnel(BaseModel):
    """Numbers of people by their progress in a campaign.

    If workers are released in batches, all except `links` change only with releases. `left`, and
    the difference of `joined` and `sent`, are rounded down to multiples of `at_least` then.
    """

    links: int | None = Field(
        description="Links that were made; null if the campaign is open to all."
    )
    joined: int = Field(description="Workers who agreed to take part; never fewer than `sent`.")
    sent: int = Field(description="Workers whose reports are shown.")
    left: int = Field(description="Workers who withdrew.")


class KeyDocument(BaseModel):
    """A requester's key: all that is stored except its hash."""

    id: Id
    last4: str | None = Field(description="Its last characters; null for keys of an older version.")
    expires_at: int | None = Field(description="Seconds since 1970; null: never.")
    state: Literal["valid", "expired", "revoked"]
    shown: bool = Field(description="Whether this request uses the key.")


class Keys(BaseModel):
    """All keys of a requester, including those that have ended."""

    items: list[KeyDocument]


class DashboardCode(BaseModel):
    """A code with which a page reads a campaign's results, shown once: only its hash is stored."""

    code: str
    fragment: str = Field(
        description="Path with the code after #, which a browser never sends to a server."
    )
    seconds: int = Field(description="Validity of the code, which works once.")


class DashboardToken(BaseModel):
    """A token that reads one campaign's results without pseudonyms; stored in memory only."""

    token: str
    seconds: int = Field(description="Validity of the token.")
