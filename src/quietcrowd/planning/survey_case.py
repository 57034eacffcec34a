"""One planned survey: the precision of its shares or means, which needs no simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import frozen
from typing_extensions import override

from quietcrowd.accounting.equal_loss import usual_makers
from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.planning.campaign_plan import CampaignPlan, PlanRow
from quietcrowd.planning.case import Case, make_case
from quietcrowd.planning.crowd_assumption import assumption_for
from quietcrowd.planning.planner import exact_losses, sizes_of
from quietcrowd.planning.verdict import CLEAR
from quietcrowd.survey.precision import estimates_shares, half_width

ASSUMED = (
    "everyone answers all of their questions, and the shares or means are those that are hardest "
    "to estimate"
)


@frozen(kw_only=True, eq=False, slots=False)
class SurveyCase(Case):
    """A planned survey; of `assumption`, only the domain matters."""

    draws: int | None = 1

    @property
    def score(self) -> str:
        """Kind of the error."""
        return "share" if estimates_shares(self.mechanism) else "mean"

    @override
    def row(self) -> PlanRow:
        width = self.theory()
        return PlanRow(
            mechanism=self.name,
            **exact_losses(self.mechanism, self.size),
            workers=self.size.workers,
            tasks=self.size.tasks,
            answers=self.size.answers,
            score=self.score,
            error=width,
            standard_error=0.0,
            low=width,
            high=width,
            constant=self.guess(),
        )

    @override
    def theory(self) -> float:
        return half_width(self.mechanism, self.size.per_task)

    @override
    def is_promising(self, guess: float) -> bool:
        most = CLEAR[self.score] * guess if self.target is None else self.target
        return self.theory() <= most

    @override
    def guess(self) -> float:
        if self.score == "share":
            return 0.5
        domain: Any = self.mechanism.domain
        return float(domain.high - domain.low) / 2

    @override
    def check(self) -> None:
        try:
            half_width(self.mechanism, 1.0)
        except AnswerError as error:
            raise ParameterError(
                "evaluation.all-skipped", reasons=f"{self.name} was dropped: {error}"
            ) from None


def survey_cases(
    *,
    tasks: int,
    workers: Sequence[int],
    answers: Sequence[int] | None,
    budget: int | None = None,
    domain: Domain,
    mechanisms: Any,
    total_epsilon: Sequence[float] | None,
    epsilon: Sequence[float] | None,
    target: float | None,
) -> list[SurveyCase]:
    """Return the surveys of all combinations of the parameters, which are those of `plan`."""
    if total_epsilon is not None and epsilon is not None:
        raise ParameterError("planning.total-and-answer")
    assumption = assumption_for(domain)
    losses: Sequence[float | None] = total_epsilon or epsilon or [None]
    return [
        make_case(
            kind=SurveyCase,
            assumption=assumption,
            name=name,
            maker=maker,
            size=size,
            total=loss if epsilon is None else None,
            epsilon=None if epsilon is None else loss,
            target=target,
        )
        for size in sizes_of(tasks, workers, answers, budget)
        for name, maker in (mechanisms or usual_makers(domain)).items()
        for loss in losses
    ]


def survey_plan(cases: Sequence[SurveyCase]) -> CampaignPlan:
    """Return the plan of some surveys with one set of questions."""
    return CampaignPlan(
        rows=tuple(case.row() for case in cases),
        tasks=cases[0].size.tasks,
        score=cases[0].score,
        assumed=ASSUMED,
        floor=0.0,
        target=cases[0].target,
        draws=0,
    )
