"""What a requester is told of results."""

from __future__ import annotations

from pydantic import (
    BaseModel,
    Field,
)

from quietcrowd.campaign.protocol.fields import Hash, Id, JsonObject

__all__ = [
    "Agreement",
    "Caution",
    "Requested",
    "ResultHead",
    "ResultRows",
    "Results",
    "Spent",
    "Tail",
]


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
        description="task, truth, reports, and confidence or standard_error, by the method; "
        "again, as above, where reports can be sent again. Copies of a question that one report "
        "serves have one truth, from each report once."
    )
    workers: list[JsonObject] = Field(
        description="worker, quality, of labels also agreement, quality_low and quality_high, "
        "reports, losses: answer_epsilon, total_epsilon, and their tails answer_tail, total_tail; "
        "by the method."
    )


class Requested(BaseModel):
    """An inference will be made."""

    campaign: Id
