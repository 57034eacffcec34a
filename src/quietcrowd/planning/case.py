"""One planned campaign, and searches for changes that make its result good enough."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from attrs import evolve, frozen
from scipy.special import stdtrit

from quietcrowd.accounting.equal_loss import (
    Maker,
    exact_loss,
    mechanism_within,
    usual_makers,
    usual_total,
)
from quietcrowd.domains import Domain, FiniteDomain
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.planning.campaign_plan import PlanRow
from quietcrowd.planning.crowd_assumption import CrowdAssumption, CrowdSize
from quietcrowd.planning.error_interval import COVERAGE, transformed
from quietcrowd.planning.planner import (
    DRAWS_WITH_PILOT,
    PlannedCell,
    assumed,
    rows_of,
    score_of,
    sizes_of,
    usual_draws,
    why_not_planned,
)
from quietcrowd.planning.simulation import (
    FAIR_TASKS,
    fair_tasks,
    guess_of,
    simulate_size,
    simulated_size,
)
from quietcrowd.planning.theory import theory_error
from quietcrowd.planning.verdict import CLEAR

MOST_PER_QUESTION = 5_000
"""Most answers to a question in a search for people; more take long to simulate."""

MOST_TOTAL_OF_ANSWER = 16.0

BIAS = 0.02
"""By how much simulated errors exceed theoretical ones at most, usually, on their scale."""

STEP = 1.15
"""Ratio of neighboring numbers that a search tries."""

WORLDS = 3
"""Number of distributions after a pilot, over which a search averages the theoretical error."""

TRIES = 10
"""Most numbers that a search simulates."""

COUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 300, 500)
"""Numbers of questions per person that a search compares."""

BEST_COUNTS = 4
"""Number of them that it simulates: those with the least theoretical error."""

Progress = Callable[[str], None]
"""Receives the next number of a search, in words."""


@frozen(kw_only=True, eq=False, slots=False)
class Case:
    """A planned campaign: `maker` makes its mechanism, for a loss of `total` of all answers.

    `name` is that of the mechanism. `given` is the mechanism instead, if it does not follow from
    `total`. `target` is the desired error; None: a good result (`quietcrowd.planning.verdict`).
    """

    assumption: CrowdAssumption
    name: str
    maker: Maker
    size: CrowdSize
    total: float
    given: Mechanism | None = None
    target: float | None = None
    draws: int | None = None
    seed: int = 0

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism of the devices."""
        return self.given or self._within(self.maker)

    def _within(self, maker: Maker) -> Mechanism:
        counts = {"answers": self.size.answers, "tasks": self.size.tasks}
        return mechanism_within(maker, self.assumption.domain, self.total, "worker", **counts)

    def with_people(self, people: int) -> Case:
        """Return the campaign with another number of people."""
        return evolve(self, size=evolve(self.size, workers=people))

    def with_answers(self, answers: int) -> Case:
        """Return the campaign with another number of questions per person, at the same total."""
        return evolve(self, size=evolve(self.size, answers=answers), given=None)

    def with_total(self, total: float) -> Case:
        """Return the campaign with another total epsilon per person."""
        return evolve(self, total=total, given=None)

    def row(self) -> PlanRow:
        """Simulate the campaign, as `plan` does for a single row."""
        [errors] = simulate_size(
            self.assumption, self.size, [self.mechanism], self.crowds, self.seed, plain=False
        )
        cell = PlannedCell(name=self.name, mechanism=self.mechanism, size=self.size)
        return rows_of({cell: errors}, self.assumption)[0]

    @property
    def crowds(self) -> int:
        """Number of simulated crowds."""
        if self.draws is not None:
            return self.draws
        return usual_draws(self.assumption.domain, self.size.tasks)

    @property
    def _labels(self) -> bool:
        return isinstance(self.assumption.domain, FiniteDomain)

    def reached(self, row: PlanRow) -> bool:
        """Return whether a row is good enough."""
        return row.standing == "good" if self.target is None else row.error <= self.target

    def check(self) -> None:
        """Raise `ParameterError` if the campaign's error cannot be computed."""
        if reason := why_not_planned(self.mechanism, self.assumption.domain):
            reasons = f"{self.name} was dropped: {reason}"
            raise ParameterError("evaluation.all-skipped", reasons=reasons)
        if self.target is not None and self.target < self.assumption.floor():
            raise ParameterError(
                "planning.target-below-floor", target=self.target, floor=self.assumption.floor()
            )

    def theory(self) -> float | None:
        """Return the theoretical error, in which a question without an answer counts as wrong.

        A mechanism that is slow to compute is replaced by the default one at the same total.
        """
        mechanism = self.given
        if mechanism is None:
            known = getattr(self.maker, "for_answers", None) is None
            [usual] = usual_makers(self.assumption.domain).values()
            try:
                mechanism = self._within(self.maker if known else usual)
            except ParameterError:
                return None
        covered = min(1.0, self.size.per_task)
        everyone = max(self.size.workers, -(-self.size.tasks // self.size.answers))
        size = self.size if covered == 1 else evolve(self.size, workers=everyone)
        worlds = getattr(self.assumption, "worlds", (self.assumption,))[:WORLDS]
        errors = []
        for world in worlds:
            error = theory_error(world, size, mechanism)
            if error is None:
                return None
            missed = 1.0 if self._labels else math.sqrt(2 / math.pi) * getattr(world, "spread", 0.0)
            errors.append((1 - covered) * missed + covered * error)
        return float(np.mean(errors))

    def is_promising(self, guess: float) -> bool | None:
        """Return whether the campaign should be good enough in theory, next to a guess's error."""
        error = self.theory()
        if error is None or self.target is not None:
            return None if error is None or self.target is None else error <= self.target
        most = CLEAR[score_of(self.assumption.domain)] * guess
        tasks = max(self.size.tasks, FAIR_TASKS)
        simulated = simulated_size(self.assumption, self.size).tasks * self.crowds
        counts = 1 / tasks + 1 / simulated
        reach = float(stdtrit(self.crowds - 1, (1 + COVERAGE) / 2)) * math.sqrt(counts)
        if not self._labels:
            high = error * math.exp(BIAS + reach * math.sqrt(math.pi / 2 - 1))
            return high < guess and error * math.exp(BIAS) <= most
        angle = BIAS + float(transformed(np.array(error), tasks, labels=True))
        mean, high = (math.sin(min(angle + more, math.pi / 2)) ** 2 for more in (0.0, reach / 2))
        return high < guess and mean <= most

    def guess(self) -> float:
        """Return the error of a constant guess."""
        tasks = fair_tasks(self.assumption, self.size)
        guesses = [guess_of(self.assumption, tasks, draw, self.seed) for draw in range(self.crowds)]
        return float(np.mean(guesses))


C = TypeVar("C", bound=Case)


def case_of(
    *,
    tasks: int,
    workers: Sequence[int],
    answers: Sequence[int] | None,
    budget: int | None = None,
    domain: Domain,
    quality: Any,
    pilot: Any = None,
    mechanisms: Any = None,
    total_epsilon: Sequence[float] | None,
    epsilon: Sequence[float] | None,
    target: float | None,
    draws: int | None = None,
    random_state: int = 0,
) -> Case:
    """Return the campaign of a plan with a single row, from the parameters of `plan`."""
    [size] = sizes_of(tasks, workers, answers, budget)
    [(name, maker)] = (mechanisms or usual_makers(domain)).items()
    count = draws or (DRAWS_WITH_PILOT if pilot is not None else None)
    assumption = assumed(domain, quality, pilot, count or 1, random_state)
    return make_case(
        kind=Case,
        assumption=assumption,
        name=name,
        maker=maker,
        size=size,
        total=None if total_epsilon is None else total_epsilon[0],
        epsilon=None if epsilon is None else epsilon[0],
        target=target,
        draws=count,
        seed=random_state,
    )


def make_case(
    *,
    kind: type[C],
    assumption: CrowdAssumption,
    maker: Maker,
    size: CrowdSize,
    total: float | None,
    epsilon: float | None,
    given: Mechanism | None = None,
    **more: Any,
) -> C:
    """Return a campaign with a total loss, that of one answer, or a given mechanism.

    Raises ParameterError if its error cannot be computed.
    """
    counts = {"answers": size.answers, "tasks": size.tasks}
    if total is not None and epsilon is not None:
        raise ParameterError("planning.total-and-answer")
    if epsilon is not None:
        given = mechanism_within(maker, assumption.domain, epsilon, "answer", **counts)
    if total is None and given is not None:
        loss = float(f"{exact_loss(given, 'worker', **counts):.6g}")  # 5, and not 4.99999999
        total = loss if 0 < loss < math.inf else None
    if total is None:
        total = usual_total(size.answers)
    case = kind(
        assumption=assumption, maker=maker, size=size, total=float(total), given=given, **more
    )
    case.check()
    return case


def in_theory(case: Case) -> int | None:
    """Return about the fewest people that suffice in theory, without a simulation.

    It is accurate to about a quarter (``research/docs/plans.md``). None if it is unknown, or very
    large.
    """
    grid = _People(case)
    found = grid.promising(case.guess())
    return None if found is None else int(grid.values[found])


@frozen(kw_only=True, eq=False)
class Found:
    """A campaign that a search found, and its row."""

    case: Case
    row: PlanRow

    @property
    def suffices(self) -> bool:
        """Whether the row is good enough."""
        return self.case.reached(self.row)


def fewest_people(case: Case, progress: Progress = lambda _: None) -> Found | None:
    """Find about the fewest people that suffice; None if 5,000 answers per question do not."""
    return _People(case).search(progress)


def fewest_people_of_best_questions(
    case: Case, progress: Progress = lambda _: None
) -> Found | None:
    """Find about the fewest people that suffice with numbers of questions chosen for them."""
    return _PeopleAndQuestions(case).search(progress)


def least_total(case: Case, progress: Progress = lambda _: None) -> Found | None:
    """Find about the least total epsilon per person that suffices; None if none does."""
    return _Totals(case).search(progress)


def most_people(case: Case) -> int:
    """Return the most people that `fewest_people` tries."""
    return int(_People(case).values[-1])


def most_total(case: Case) -> float:
    """Return the largest total that `least_total` tries."""
    return _Totals(case).values[-1]


def best_questions(case: Case, progress: Progress = lambda _: None) -> Found:
    """Find the number of questions per person that has about the least error."""
    found = []
    for one in _best_in_theory(_roughly(case))[:BEST_COUNTS]:
        progress(f"{one.size.answers:,} questions per person")
        found.append(Found(case=one, row=one.row()))
    best = min(found, key=lambda one: (one.row.error, one.row.answers))
    return _exactly(best, case)


def _roughly(case: Case) -> Case:
    """Return the campaign with fewer crowds, if it has many because of few questions."""
    fewer = max(usual_draws(case.assumption.domain), case.crowds // 3)
    return evolve(case, draws=fewer) if case.draws is None else case


def _exactly(found: Found, case: Case) -> Found:
    """Simulate again with the number of crowds of a campaign, if a search simulated fewer."""
    if found.case.crowds == case.crowds:
        return found
    again = evolve(found.case, draws=case.draws)
    return Found(case=again, row=again.row())


def _best_in_theory(case: Case) -> list[Case]:
    """Return the campaign with other numbers of questions per person, the best in theory first."""
    most = max(1, MOST_PER_QUESTION * case.size.tasks // case.size.workers)
    counts = {min(count, case.size.tasks, most) for count in (*COUNTS, case.size.tasks)}
    cases = [case.with_answers(count) for count in sorted(counts)]
    errors = [(error, one) for one in cases if (error := one.theory()) is not None]
    known = [one for _, one in sorted(errors, key=lambda e: (e[0], e[1].size.answers))]
    return known or cases[:: max(1, len(cases) // BEST_COUNTS)]


@frozen(kw_only=False, eq=False, slots=False)
class _Grid(ABC):
    """Increasing numbers, of which a search looks for about the least that suffices."""

    case: Case

    @property
    @abstractmethod
    def values(self) -> list[float]:
        """The numbers, to two digits."""

    @abstractmethod
    def at(self, value: float) -> Case:
        """Return the campaign with a number."""

    @abstractmethod
    def words(self, value: float) -> str:
        """Describe a number."""

    def promising(self, guess: float) -> int | None:
        """Return the place of the least number that suffices in theory; None if none does."""
        values = self.values
        low, high = -1, len(values)
        while high - low > 1:
            middle = (low + high) // 2
            if self.at(values[middle]).is_promising(guess):
                high = middle
            else:
                low = middle
        return high if high < len(values) else None

    def search(self, progress: Progress) -> Found | None:
        """Search with few crowds first, and return the first that suffices with all."""
        rough = type(self)(_roughly(self.case))._search(progress)
        if rough is None:
            return None
        place, found = rough
        found = _exactly(found, self.case)
        for value in self.values[place + 1 :][:TRIES]:
            if found.suffices:
                break
            progress(self.words(value))
            one = self.at(value)
            found = Found(case=one, row=one.row())
        return found if found.suffices else None

    def _search(self, progress: Progress) -> tuple[int, Found] | None:
        """Simulate numbers near the one of theory until neighbors fail and suffice."""
        values = self.values
        start = self.promising(self.case.guess())
        if start is None and self.at(values[-1]).theory() is not None:
            return None
        place = len(values) // 2 if start is None else start
        low, high, best = -1, len(values), None
        for step in range(TRIES):
            progress(self.words(values[place]))
            one = self.at(values[place])
            found = Found(case=one, row=one.row())
            if found.suffices:
                high, best = place, (place, found)
            else:
                low = place
            if high - low <= 1 or (best is None and place == len(values) - 1):
                break
            if best is None:
                place = min(low + 2**step, len(values) - 1)
            else:
                place = max(high - 2**step, 0) if low < 0 else (low + high) // 2
        return best


class _People(_Grid):
    @property
    def values(self) -> list[float]:
        most = MOST_PER_QUESTION * self.case.size.tasks // self.case.size.answers
        return _numbers(1, max(most, 10))

    def at(self, value: float) -> Case:
        return self.case.with_people(int(value))

    def words(self, value: float) -> str:
        return f"{value:,.0f} people"


class _PeopleAndQuestions(_People):
    @property
    def values(self) -> list[float]:
        return _numbers(1, MOST_PER_QUESTION * self.case.size.tasks)

    def at(self, value: float) -> Case:
        return _best_in_theory(self.case.with_people(int(value)))[0]


class _Totals(_Grid):
    @property
    def values(self) -> list[float]:
        tenths = _numbers(1, round(10 * MOST_TOTAL_OF_ANSWER * self.case.size.answers))
        return [tenth / 10 for tenth in tenths]

    def at(self, value: float) -> Case:
        return self.case.with_total(value)

    def words(self, value: float) -> str:
        return f"a total of ε = {value:g}"


def _numbers(low: int, high: int) -> list[float]:
    """Return whole numbers of two significant digits whose ratios are about 1.15."""
    found = [float(low)]
    while found[-1] < high:
        larger = max(found[-1] * STEP, found[-1] + 1)
        scale = 10 ** max(0, math.floor(math.log10(larger)) - 1)
        found.append(math.ceil(larger / scale - 1e-9) * float(scale))
    return [number for number in found if number <= high]
