"""Documents of results."""

from typing import Any

from pydantic import BaseModel, Field

from quietcrowd.campaign.protocol.fields import Goal, Hash, Id, JsonObject


class Agreement(BaseModel):
    """The agreement between workers; null if it cannot be estimated."""

    reports: float | None = Field(description="Agreement of the reports, lowered by the noise.")
    answers: float | None = Field(
        description="Corrected for the noise; null if its standard error would exceed 0.1."
    )
    answers_error: float | None = Field(
        default=None, description="Standard error of `answers`, by the jackknife over workers."
    )


class Tail(BaseModel):
    """Privacy losses that are each exceeded with at most this probability; null if unbounded."""

    probability: float
    answer_epsilon: float | None
    worker_epsilon: float | None


class Spent(BaseModel):
    """The maximum privacy loss of a worker who gives all answers; null if unbounded.

    With a delta above 0, losses are pairs (epsilon, delta), and `tail` bounds the probability of
    more.
    """

    mechanism: str
    answer_epsilon: float | None
    worker_epsilon: float | None
    delta: float
    tail: Tail | None
    participation_protected: bool


class Caution(BaseModel):
    """A reason why results may be misleading."""

    code: str
    message: str


class _Found(BaseModel):
    config_hash: Hash
    method: JsonObject | None
    reports: int
    participants: int
    iterations: int
    converged: bool
    again: int = Field(
        default=0,
        description="Number of reports that were sent again, rounded down to a multiple of "
        "`at_least`. Their devices had sent them before, for an earlier campaign of the requester "
        "or for a copy of the question.",
    )
    excluded: list[str] = Field(
        default=[],
        description="Workers excluded by the requester; the results use none of their reports.",
    )
    no_estimates: str | None = Field(
        default=None, description="Reason why there are no estimated shares or means."
    )
    round: int | None = Field(default=None, description="Number of the round; null without rounds.")
    decided_from: float = Field(
        description="Least confidence of a decided truth; a tied one is never decided."
    )
    privacy: Spent | None
    agreement: Agreement | None
    warnings: list[Caution]


class ResultHead(_Found):
    """Results without their rows, and the numbers of truths and workers."""

    truths: int
    workers: int


class ResultRows(BaseModel):
    """A page of truths or workers, with the rows of `Results`."""

    items: list[JsonObject]
    next_cursor: str | None


class Results(_Found):
    """The results of an inference."""

    truths: list[JsonObject] = Field(
        description="task, truth, reports and, depending on the method, standard_error, or "
        "confidence and decided: not tied, and at least `decided_from` sure; again, as above, if "
        "reports can be sent again. Copies of a question that share reports have one truth, and "
        "each report counts once."
    )
    workers: list[JsonObject] = Field(
        description="worker; for labels agreement, accuracy, accuracy_low and accuracy_high, for "
        "numbers weight, depending on the method; reports; losses: answer_epsilon, total_epsilon, "
        "and their tails answer_tail, total_tail."
    )


class ShownRound(BaseModel):
    """A round with results."""

    round: int
    begins: str = Field(description="Such as 2026-12-01T00:00:00Z.")
    participants: int
    reports: int
    failed: bool = Field(description="Whether its results have no truths.")


class ShownRounds(BaseModel):
    """The rounds with results, the earliest first."""

    present: int | None = Field(description="The round that began last; null before the first.")
    items: list[ShownRound]


class Series(BaseModel):
    """The results of one task over the rounds."""

    task: str
    goal: Goal
    items: list[JsonObject] = Field(
        description="round, begins, and the members of a row of truths or of estimates: one item "
        "per round, or per round and possible answer."
    )


class EstimatedShare(BaseModel):
    """The estimated share of people with one answer to a question."""

    task: str
    label: Any = Field(description="The answer; null: no answer, if that is randomized, too.")
    share: float | None = Field(
        description="It may be below 0 or above 1; null without reports. `low` and `high` may not."
    )
    low: float
    high: float
    reports: int


class Bar(BaseModel):
    """The estimated share of people with an answer from one edge to the other."""

    low_edge: float
    high_edge: float
    share: float | None
    low: float
    high: float


class EstimatedMean(BaseModel):
    """The estimated mean answer to a question with levels or numbers."""

    task: str
    mean: float | None = Field(description="Null without reports.")
    low: float
    high: float
    reports: int
    histogram: list[Bar] | None = Field(
        description="A bar per level; null for numbers, whose noise leaves their shares open."
    )


class EstimatePage(BaseModel):
    """A page of estimates, from the reports that are shown."""

    goal: Goal
    confidence: float = Field(
        description="Fraction of intervals that hold the share, or the mean, in the population of "
        "which the workers are a random sample."
    )
    shown: int = Field(description="Number of workers whose reports are shown.")
    reports: int
    items: list[EstimatedShare | EstimatedMean] = Field(
        description="All answers of a question are on one page. A question with labels has an item "
        "per possible answer, one with levels or numbers has one item."
    )
    why_none: str | None = Field(description="Reason why there are none.")
    warnings: list[Caution] = Field(description="Reasons why estimates may be misleading.")
    next_cursor: str | None


class Requested(BaseModel):
    """A requested inference."""

    campaign: Id
