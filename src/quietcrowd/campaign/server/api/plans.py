"""Plans: the expected error of a future campaign. No data is stored or read."""

from functools import partial
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter
from fastapi import Request as HTTPRequest
from pydantic import BaseModel, Field, StringConstraints

from quietcrowd.campaign.protocol.fields import Number, Request, Whole
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Requester, ServiceOf
from quietcrowd.campaign.terms.settings import PREFIX

MOST_SIZES, MOST_EPSILONS, MOST_MECHANISMS, MOST_LABELS = 8, 12, 8, 64
"""Maximum numbers per plan; the number of labels is that of a campaign."""

Label: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Sizes: TypeAlias = Annotated[list[Whole], Field(min_length=1, max_length=MOST_SIZES)]


class CrowdOrder(Request):
    """Assumptions about the crowd; missing members have the defaults of `quietcrowd plan`."""

    guessers: Number | None = Field(default=None, description="Share of the workers who guess.")
    accuracy: Number | None = Field(
        default=None, description="Labels: how often the other workers are right."
    )
    accuracy_sd: Number | None = Field(
        default=None, description="Labels: its standard deviation over workers."
    )
    truths: Annotated[list[Number], Field(max_length=MOST_LABELS)] | None = Field(
        default=None, description="Labels: how frequent each is among the truths."
    )
    misled: Number | None = Field(
        default=None, description="Labels: share of the tasks on which workers err together."
    )
    pull: Number | None = Field(
        default=None, description="Labels: share of the answers there that are one error."
    )
    error: Number | None = Field(
        default=None, description="Numbers: standard deviation of a worker's own errors."
    )
    error_factor: Number | None = Field(
        default=None, description="Numbers: by which factor that varies over workers."
    )
    spread: Number | None = Field(
        default=None, description="Numbers: standard deviation of the truths."
    )
    middle: Number | None = Field(default=None, description="Numbers: mean of the truths.")
    shared: Number | None = Field(
        default=None,
        description="Numbers: the error that all answers to a task share, as a part of error.",
    )


class PlanOrder(Request):
    """An order for a plan. One of labels, levels and between defines the possible answers."""

    labels: Annotated[list[Label], Field(max_length=MOST_LABELS)] | None = None
    levels: Annotated[list[Number], Field(max_length=MOST_LABELS)] | None = None
    between: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="Lowest and highest number that an answer can be."
    )
    tasks: Whole
    workers: Sizes = Field(description="How many are asked; each number is planned with.")
    answers: Sizes | None = Field(
        default=None, description="Of each worker; null: one to every task."
    )
    mechanisms: Annotated[list[Label], Field(min_length=1, max_length=MOST_MECHANISMS)] | None = (
        Field(default=None, description="By their names; null: the usual one.")
    )
    epsilon: Annotated[list[Number], Field(min_length=1, max_length=MOST_EPSILONS)]
    per: Literal["answer", "worker"] = Field(
        default="answer",
        description="Whether epsilon is what one answer loses, or all of a worker together.",
    )
    target: Number | None = Field(default=None, description="The error that is wanted.")
    crowd: CrowdOrder = CrowdOrder()


class PlanRowDocument(BaseModel):
    """The expected error of one mechanism, at one epsilon, with one crowd."""

    mechanism: str = Field(description="Its name; none: answers come in plain.")
    epsilon: float | None = Field(description="What one answer loses at most; null: no limit.")
    total_epsilon: float | None = Field(description="What all answers of a worker lose together.")
    claimed_epsilon: float | None = Field(
        description="Which epsilon to create a campaign with, so that it has this mechanism."
    )
    workers: int
    answers: int = Field(description="Of each worker.")
    error: float = Field(description="Expected.")
    standard_error: float = Field(description="Of the expected error.")
    low: float = Field(description="With `high`: where the error of 9 campaigns in 10 lies.")
    high: float
    constant: float = Field(description="Expected error of the best constant guess.")
    private: bool
    useless: bool = Field(description="Whether a constant guess does as well.")
    meets: bool = Field(description="Whether the expected error is at most the target.")


class PlanDocument(BaseModel):
    """The expected error of a campaign, before the first answer."""

    tasks: int
    score: Literal["error_rate", "mae"] = Field(
        description="Share of wrong labels, or mean absolute error of numbers."
    )
    assumed: str = Field(description="What was assumed of the crowd, in words.")
    target: float | None
    draws: int = Field(description="How many crowds were simulated for each size.")
    rows: list[PlanRowDocument]
    skipped: list[str] = Field(description="What could not be planned with, and why.")


class PlanningLimits(BaseModel):
    """The mechanisms, epsilons and time limit of a server's plans."""

    labels: list[str] = Field(description="Mechanisms for labels and levels, the usual one first.")
    numbers: list[str] = Field(description="Mechanisms for numbers, the usual one first.")
    epsilon: list[float] = Field(description="The usual ones.")
    seconds: float = Field(
        description="After which a plan is ended; and for how long it waits for others' at most."
    )


router = APIRouter(prefix=f"{PREFIX}/plans", tags=["plans"])

LABELS = ("one-layer", "subset-selection", "optimal", "two-layer")
NUMBERS = ("laplace:fill=none", "laplace", "duchi", "hybrid", "piecewise")
"""Mechanisms that plans and campaigns support; the default first."""

EPSILONS = (0.5, 1.0, 2.0, 4.0)
"""Same as in `quietcrowd plan`, which requires more imports than a server needs."""


@router.get("", responses=documented("credential"))
async def planning_limits(
    requester: Requester,  # noqa: ARG001
    service: ServiceOf,
) -> PlanningLimits:
    """Return the mechanisms, epsilons and time limit of this server's plans."""
    return PlanningLimits(
        labels=list(LABELS),
        numbers=list(NUMBERS),
        epsilon=list(EPSILONS),
        seconds=service.plans.longest,
    )


@router.post("", responses=documented("credential", "plan-too-long", "internal"))
async def make_plan(
    order: PlanOrder, requester: Requester, service: ServiceOf, request: HTTPRequest
) -> PlanDocument:
    """Return the expected error by simulating crowds; no data of any campaign is read.

    A requester can have one plan in progress. Closing the connection ends it.
    """
    found = await service.plans.make(requester, order.model_dump(), partial(_leaving, request))
    return PlanDocument.model_validate(found)


async def _leaving(request: HTTPRequest) -> None:
    """Wait until the client disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
