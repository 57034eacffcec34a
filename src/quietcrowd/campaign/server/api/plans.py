"""Plans: the expected error of a future campaign. No data is stored or read."""

from functools import partial
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter
from fastapi import Request as HTTPRequest
from pydantic import BaseModel, Field, StringConstraints

from quietcrowd.campaign.protocol.fields import Goal, Number, Request, Whole
from quietcrowd.campaign.server.problem_responses import documented
from quietcrowd.campaign.server.service import Requester, ServiceOf
from quietcrowd.campaign.terms.chosen_mechanism import LABELS, NUMBERS
from quietcrowd.campaign.terms.settings import PREFIX

MOST_SIZES, MOST_EPSILONS, MOST_MECHANISMS, MOST_LABELS = 8, 12, 8, 64
"""Maximum numbers per plan; the number of labels is that of a campaign."""

Label: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Sizes: TypeAlias = Annotated[list[Whole], Field(min_length=1, max_length=MOST_SIZES)]
Losses: TypeAlias = Annotated[list[Number], Field(min_length=1, max_length=MOST_EPSILONS)]
Least: TypeAlias = Literal["people", "questions", "total"]


class CrowdOrder(Request):
    """Assumptions about the crowd; missing members have the defaults of `quietcrowd plan`."""

    guessers: Number | None = Field(default=None, description="Fraction of the workers that guess.")
    accuracy: Number | None = Field(
        default=None, description="Labels: mean accuracy of the other workers."
    )
    accuracy_sd: Number | None = Field(
        default=None, description="Labels: standard deviation of the accuracy over workers."
    )
    truths: Annotated[list[Number], Field(max_length=MOST_LABELS)] | None = Field(
        default=None, description="Labels: frequency of each label among the truths."
    )
    misled: Number | None = Field(
        default=None, description="Labels: fraction of the tasks with a common error of workers."
    )
    pull: Number | None = Field(
        default=None, description="Labels: fraction of the answers there that are this error."
    )
    error: Number | None = Field(
        default=None, description="Numbers: standard deviation of a worker's individual errors."
    )
    error_factor: Number | None = Field(
        default=None, description="Numbers: factor by which `error` varies over workers."
    )
    spread: Number | None = Field(
        default=None, description="Numbers: standard deviation of the truths."
    )
    middle: Number | None = Field(default=None, description="Numbers: mean of the truths.")
    shared: Number | None = Field(
        default=None,
        description="Numbers: error that all answers to a task share, as a fraction of `error`.",
    )


class PlannedLevel(Request):
    """An entry of a menu."""

    total_epsilon: Number
    share: Number = Field(description="Share of the workers who choose it; together 1.")


class PlanOrder(Request):
    """An order for a plan. One of labels, levels and between defines the possible answers."""

    goal: Goal = Field(
        default="truths",
        description="The goal. shares: the precision of estimated shares, or of means "
        "of levels and numbers, is computed; nothing is simulated, and `crowd` has no effect.",
    )
    labels: Annotated[list[Label], Field(max_length=MOST_LABELS)] | None = None
    levels: Annotated[list[Number], Field(max_length=MOST_LABELS)] | None = None
    between: Annotated[list[Number], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="Lowest and highest possible answer."
    )
    tasks: Whole
    workers: Sizes | None = Field(
        default=None,
        description="Numbers of workers; each is planned separately. Null only with `least`: "
        "`people`.",
    )
    answers: Sizes | None = Field(
        default=None, description="Answers per worker; null: one to every task."
    )
    total_epsilon: Losses | None = Field(
        default=None,
        description="Largest privacy losses of all answers of a worker. Null: 5, or 2.2 per answer "
        "for one or two answers.",
    )
    mechanisms: Annotated[list[Label], Field(min_length=1, max_length=MOST_MECHANISMS)] | None = (
        Field(default=None, description="Names of mechanisms; null: the default.")
    )
    epsilon: Losses | None = Field(
        default=None, description="Losses of one answer, instead of `total_epsilon`."
    )
    menu: Annotated[list[PlannedLevel], Field(min_length=2, max_length=8)] | None = Field(
        default=None,
        description="Instead of `total_epsilon`, `epsilon`, `mechanisms` and `least`: each worker "
        "chooses one entry, independently of answers and accuracy. Losses of a row are the largest "
        "of any entry.",
    )
    target: Number | None = Field(default=None, description="Target of the expected error.")
    least: Least | None = Field(
        default=None,
        description="Returns one row: with the fewest people or the least total that have a good "
        "result, or reach the target; or with the number of questions per person that has the "
        "least error. All other members then have at most one number.",
    )
    crowd: CrowdOrder = CrowdOrder()


class PlanRowDocument(BaseModel):
    """The expected error of one mechanism, at one epsilon, with one crowd."""

    mechanism: str = Field(description="Its name; none: non-private answers.")
    total_epsilon: float | None = Field(
        description="Maximum privacy loss of all answers of a worker; null: no limit."
    )
    epsilon: float | None = Field(description="Maximum privacy loss of one answer.")
    workers: int
    answers: int = Field(description="Answers per worker.")
    error: float = Field(
        description="Expected error; for shares or means half the width of a 95 % interval."
    )
    standard_error: float = Field(description="Standard error of the expected error.")
    low: float = Field(
        description="With `high`: range of the errors of 9 campaigns in 10. For shares or means "
        "both are `error`."
    )
    high: float
    constant: float = Field(
        description="Expected error of the best constant guess; for shares .5, for means half of "
        "the range."
    )
    private: bool
    standing: Literal["good", "weak", "useless"] = Field(
        description="good: `error` is at most half of `constant`, for shares and means at most .3 "
        "of it. useless: `high`, for 100 tasks if there are fewer, reaches `constant`. weak: "
        "neither."
    )
    useless: bool = Field(description="Whether `standing` is useless.")
    heading: str = Field(description="The standing in words.")
    verdict: str = Field(description="The expected result, next to a guess, in words.")
    meets: bool = Field(description="Whether the expected error is at most the target.")


class PlanDocument(BaseModel):
    """The expected error of a campaign, before the first answer."""

    tasks: int
    score: Literal["error_rate", "mae", "share", "mean"] = Field(
        description="Fraction of wrong labels, or mean absolute error of numbers; precision of "
        "shares, or of means."
    )
    assumed: str = Field(description="The assumptions about the crowd, in words.")
    target: float | None
    draws: int = Field(description="Number of simulated crowds per size; 0 or 1 for shares.")
    rows: list[PlanRowDocument]
    skipped: list[str] = Field(description="Reasons why some mechanisms could not be planned.")


class PlanningLimits(BaseModel):
    """The mechanisms, epsilons and time limit of a server's plans."""

    labels: list[str] = Field(description="Mechanisms for labels and levels, the default first.")
    numbers: list[str] = Field(description="Mechanisms for numbers, the default first.")
    total_epsilon: list[float] = Field(description="Totals to start from.")
    seconds: float = Field(description="Time limit of a plan, and of its wait for other plans.")


router = APIRouter(prefix=f"{PREFIX}/plans", tags=["plans"])

TOTALS = (2.0, 5.0, 10.0, 20.0)


@router.get("", responses=documented("credential"))
async def planning_limits(
    requester: Requester,  # noqa: ARG001
    service: ServiceOf,
) -> PlanningLimits:
    """Return the mechanisms, epsilons and time limit of this server's plans."""
    return PlanningLimits(
        labels=list(LABELS),
        numbers=list(NUMBERS),
        total_epsilon=list(TOTALS),
        seconds=service.plans.longest,
    )


@router.post("", responses=documented("credential", "plan-too-long", "internal"))
async def make_plan(
    order: PlanOrder, requester: Requester, service: ServiceOf, request: HTTPRequest
) -> PlanDocument:
    """Return the expected error, for truths by simulating crowds; no data of campaigns is read.

    A requester can have one plan in progress. Closing the connection ends it.
    """
    found = await service.plans.make(requester, order.model_dump(), partial(_leaving, request))
    return PlanDocument.model_validate(found)


async def _leaving(request: HTTPRequest) -> None:
    """Wait until the client disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
