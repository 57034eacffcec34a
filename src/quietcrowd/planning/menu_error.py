"""Expected error of a campaign in which workers choose among mechanisms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import field, frozen

from quietcrowd.answers import Answers
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.joining import join_reports
from quietcrowd.mechanisms.mechanism import Mechanism, Reports
from quietcrowd.mechanisms.mixture import Mixture
from quietcrowd.mechanisms.randomness import RandomState, generator_of, seed_of
from quietcrowd.planning.campaign_plan import PlanRow
from quietcrowd.planning.crowd_assumption import CrowdAssumption
from quietcrowd.planning.planner import (
    PlannedCell,
    assumed,
    exact_losses,
    rows_of,
    sizes_of,
    usual_draws,
)
from quietcrowd.planning.simulation import simulate_size
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
    chosen = Choices(mechanisms=tuple(mechanisms), shares=tuple(shares))
    mixture = Mixture.of(mechanisms)
    [size] = sizes_of(tasks, [workers], answers, None)
    draws = usual_draws(mixture.domain, tasks) if draws is None else draws
    seed = seed_of(random_state)
    assumption = assumed(mixture.domain, quality, pilot, draws, seed)
    [errors] = simulate_size(assumption, size, [chosen], draws, seed, plain=False)
    name = " or ".join(one.name for one in chosen.mechanisms)
    return rows_of({PlannedCell(name=name, mechanism=mixture, size=size): errors}, assumption)[0]


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
    mixture = Mixture.of(mechanisms)
    kind: Any = "share" if all(estimates_shares(one) for one in mechanisms) else "mean"
    width = expected_half_width(mechanisms, shares, size.per_task)
    domain: Any = mixture.domain
    return PlanRow(
        mechanism=" or ".join(one.name for one in mechanisms),
        **exact_losses(mixture, size),
        workers=workers,
        tasks=tasks,
        answers=size.answers,
        score=kind,
        error=width,
        standard_error=0.0,
        low=width,
        high=width,
        constant=0.5 if kind == "share" else (domain.high - domain.low) / 2,
    )
