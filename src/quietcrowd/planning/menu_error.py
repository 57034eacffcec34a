"""Expected error of a campaign in which workers choose among mechanisms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd.accounting.equal_loss import exact_loss
from quietcrowd.answers import Answers
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.joining import join_reports
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.mechanisms.mixture import Mixture
from quietcrowd.mechanisms.randomness import RandomState, generator_of, seed_of
from quietcrowd.planning.campaign_plan import PlanRow
from quietcrowd.planning.case import Case
from quietcrowd.planning.crowd_assumption import CrowdAssumption, CrowdSize, assumption_for
from quietcrowd.planning.planner import (
    PlannedCell,
    assumed,
    rows_of,
    sizes_of,
    usual_draws,
)
from quietcrowd.planning.simulation import simulate_size
from quietcrowd.planning.survey_case import SurveyCase
from quietcrowd.survey.precision import estimates_shares, half_width


def _check_shares(chosen: Choices, _: Any, shares: tuple[float, ...]) -> None:
    valid = all(math.isfinite(share) and share > 0 for share in shares)
    if len(shares) != len(chosen.mechanisms) or not valid or abs(math.fsum(shares) - 1) > 1e-9:
        raise ParameterError("planning.shares-invalid", count=len(chosen.mechanisms))


@frozen(kw_only=True)
class Choices:
    """Mechanisms of a menu, and the share of workers who choose each, at random."""

    mechanisms: tuple[Mechanism, ...]
    shares: tuple[float, ...] = field(validator=_check_shares)

    def simulate(self, answers: Answers, *, random_state: RandomState) -> Reports:
        """Return simulated reports, each worker's by one mechanism."""
        rng = generator_of(random_state)
        ends = np.rint(np.cumsum(self.shares) * len(answers.workers))
        choice = np.searchsorted(ends, rng.permutation(len(answers.workers)), side="right")
        rows = [choice[answers.worker_codes] == place for place in range(len(self.mechanisms))]
        parts = [
            mechanism.simulate(answers.of_rows(mine), random_state=rng)
            for mechanism, mine in zip(self.mechanisms, rows, strict=True)
            if mine.any()
        ]
        return join_reports(*parts, mechanisms=self.mechanisms)


def expected_error(
    mechanisms: Sequence[Mechanism],
    shares: Sequence[float],
    *,
    tasks: int,
    workers: int,
    answers: int | None = None,
    quality: CrowdAssumption | Mapping[str, Any] | None = None,
    pilot: Answers | Reports | None = None,
    draws: int | None = None,
    random_state: RandomState = 0,
) -> PlanRow:
    """Return the expected error if given shares of the workers choose each mechanism.

    Workers are assumed to choose independently of their answers and their accuracy.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        At least one, over one domain.
    shares : sequence of float
        Expected share of the workers for each mechanism, above 0; their sum is 1.
    tasks, workers, answers, quality, pilot, draws, random_state
        As for `plan`, with one size.

    Returns
    -------
    PlanRow
        Its losses are the largest of any mechanism.

    Raises
    ------
    ParameterError
        If a parameter is out of its range, or reports of the mechanisms cannot be joined.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> domain = qc.Categorical(["no", "yes"])
    >>> menu = [qc.RandomizedResponse(domain=domain, epsilon=epsilon) for epsilon in (0.5, 4.0)]
    >>> size = {"tasks": 100, "workers": 60, "answers": 20, "draws": 4}
    >>> found = [expected_error(menu, shares, **size).error for shares in [(0.9, 0.1), (0.5, 0.5)]]
    >>> found[0] > found[1]
    True
    """
    domain = Mixture.of(mechanisms).domain
    [size] = sizes_of(tasks, [workers], answers, None)
    draws = usual_draws(domain, tasks) if draws is None else draws
    seed = seed_of(random_state)
    assumption = assumed(domain, quality, pilot, draws, seed)
    return menu_case(MenuCase, mechanisms, shares, assumption, size, draws=draws, seed=seed).row()


@frozen(kw_only=True, eq=False, slots=False)
class MenuCase(Case):
    """A planned campaign in which workers choose; a search can vary the number of people."""

    choices: Choices

    @override
    def row(self) -> PlanRow:
        [errors] = simulate_size(
            self.assumption, self.size, [self.choices], self.crowds, self.seed, plain=False
        )
        cell = PlannedCell(name=self.name, mechanism=self.mechanism, size=self.size)
        return rows_of({cell: errors}, self.assumption)[0]

    @override
    def theory(self) -> float | None:
        """Return the least error of the workers of one choice alone, which is an upper bound."""
        found = [
            Case(
                assumption=self.assumption,
                name=one.name,
                maker=self.maker,
                size=evolve(self.size, workers=max(1, round(share * self.size.workers))),
                total=self.total,
                given=one,
            ).theory()
            for one, share in zip(self.choices.mechanisms, self.choices.shares, strict=True)
        ]
        return min((one for one in found if one is not None), default=None)


@frozen(kw_only=True, eq=False, slots=False)
class MenuSurveyCase(SurveyCase):
    """A planned survey in which workers choose."""

    choices: Choices

    @property
    @override
    def score(self) -> str:
        return "share" if all(map(estimates_shares, self.choices.mechanisms)) else "mean"

    @override
    def theory(self) -> float:
        return expected_half_width(self.choices.mechanisms, self.choices.shares, self.size.per_task)

    @override
    def check(self) -> None:
        pass


M = TypeVar("M", MenuCase, MenuSurveyCase)


def menu_case(
    kind: type[M],
    mechanisms: Sequence[Mechanism],
    shares: Sequence[float],
    assumption: CrowdAssumption,
    size: CrowdSize,
    **more: Any,
) -> M:
    """Return a planned campaign in which given shares of the workers choose each mechanism."""
    mixture = Mixture.of(mechanisms)
    counts = {"answers": size.answers, "tasks": size.tasks}
    return kind(
        assumption=assumption,
        name=" or ".join(one.name for one in mechanisms),
        maker=type(mechanisms[0]).from_claimed_epsilon,
        size=size,
        total=exact_loss(mixture, "worker", **counts),
        given=mixture,
        choices=Choices(mechanisms=tuple(mechanisms), shares=tuple(shares)),
        **more,
    )


def expected_half_width(
    mechanisms: Sequence[Mechanism], shares: Sequence[float], people: float
) -> float:
    """Return the half-width of a survey's interval; people count equally, see `PooledShares`."""
    chosen = Choices(mechanisms=tuple(mechanisms), shares=tuple(shares))
    widths = [half_width(one, people) for one in chosen.mechanisms]
    return math.sqrt(
        sum(share * width**2 for share, width in zip(chosen.shares, widths, strict=True))
    )


def expected_of_survey(
    mechanisms: Sequence[Mechanism],
    shares: Sequence[float],
    *,
    tasks: int,
    workers: int,
    answers: int | None = None,
    quality: object = None,  # noqa: ARG001
) -> PlanRow:
    """Return the precision of a survey; its parameters are those of `expected_error`."""
    [size] = sizes_of(tasks, [workers], answers, None)
    assumption = assumption_for(Mixture.of(mechanisms).domain)
    return menu_case(MenuSurveyCase, mechanisms, shares, assumption, size).row()
