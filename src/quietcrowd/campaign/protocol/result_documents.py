"""Documents of results."""

from pydantic import BaseModel, Field

from quietcrowd.campaign.protocol.fields import Hash, Id, JsonObject


class Agreement(BaseModel):
    """The agreement between workers; null if it cannot be estimated."""

    reports: float | None = Field(description="As their reports do: less than their answers.")
    answers: float | None = Field(
        description="Corrected for the noise; null where its error would be above 0.1."
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
        description="How many reports were sent again, rounded down to a multiple of `at_least`: "
        "their devices had sent them before, for an earlier campaign of the requester or for a "
        "copy of the question.",
    )
    excluded: list[str] = Field(
        default=[], description="Workers whom the requester leaves out: nothing here is of them."
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
        description="task, truth, reports, and confidence or standard_error, by the method; "
        "again, as above, where reports can be sent again. Copies of a question that one report "
        "serves have one truth, from each report once."
    )
    workers: list[JsonObject] = Field(
        description="worker, of labels agreement, accuracy, accuracy_low and "
        "accuracy_high, of numbers weight, "
        "reports, losses: answer_epsilon, total_epsilon, and their tails answer_tail, total_tail; "
        "by the method."
    )


class Requested(BaseModel):
    """A requested inference."""

    campaign: Id
